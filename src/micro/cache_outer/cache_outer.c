/* SPDX-License-Identifier: MIT */
/* Parameter: the caches beyond the first: how many levels; of each, latency, ways, capacity, line.
 *
 * Idea (paper 000 §4.6 asks with strides, which takes contiguous physical memory): the page is the grain. All
 * lines of a page go the same way, so pages can be sorted by whether they push each other out, without knowing
 * where any of them is. Works alike for physical and virtual indices, small and huge pages.
 *
 * Algorithm:
 *   Staircases (method/levels.h) of a few pages give the levels and their latencies.
 *   For the second level: pages of one class, one too many for its ways (method/classes.h), several times over; what most
 *   of these say. Distances in the page at which two halves of a class still meet give the line and, when the way is
 *   smaller than a page, the way. Else how often random pages belong to a class tells the number of classes, a power of
 *   two (method/colours.h), and C = A · classes · page.
 *   For a level that is shared, hashed or too large for that: the effective capacity, by random walks over all lines of
 *   more and more bytes (half way up from the level's latency to the next).
 *
 * When it fails: a level as small or as slow as its neighbour is not seen. Who else uses the cache makes misses
 * too: then classes differ, and the fact says how many agree.
 */
#include "method/effective.h"
#include "method/geometry.h"
#include "method/latency.h"
#include "method/hierarchy.h"
#include "method/rows.h"
#include "micro/cache_outer/second.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BUFFER = 20, /* id; twins and packed lines follow, then dense walks */
	PAGES_WANTED = 8192,
	POOL = 4096,       /* pages */
	PAGES_NONE = 4096, /* grain where there are no pages */
	LINES = 8,
	LIMIT = 4, /* times what pushes a page out of a level: overflows it */
	STRANGERS_MORE = 3,
};
static const uint64_t dense_wanted = UINT64_C(64) << 20, most_wanted = UINT64_C(256) << 20;
/* Where every instruction is simulated: walks over more lines would take minutes, and what is simulated in such
 * detail has caches of kilobytes. */
static const uint64_t exact_wanted = UINT64_C(8) << 20;
static const double coarse_ns = 100;
static const double patience_ns = 0.8e9; /* for a neighbour to pause, all in all */
static const double most_sure = 0.88;    /* of what a convention cuts out of a slope */
static const double moves = 0.25;        /* too much to be a capacity */
static const double beside_others = 0.7; /* the same in a cache whose other users come and go from minute to minute */
static const double MIB = 1 << 20;
static const double least_sample_ns = 4e3, granules = 200; /* of a lap */

struct outer {
	struct xr_run *run;
	struct xr_evict evict;
	struct xr_peace peace;
	uint64_t room, most; /* bytes of the buffer; of the largest walk */
	uint64_t pool;       /* bytes of the pages that classes are looked for in */
	struct xr_first first;
	uint32_t *order; /* items in random order */
	size_t n_items;
	double hit;
	size_t l1_ways, strangers;
	uint64_t line; /* of the first level; 64 when not known */
	struct xr_hierarchy h;
	struct xr_latency second;
	bool spread_out;          /* the second latency is that of lines all over the level */
	struct xr_effective last; /* the level before memory, if it is not the second one */
};

/* Is the first level indexed by physical addresses? Then nobody knows which pages compete in it. */
static bool first_by_pages(struct xr_run *run)
{
	const struct xr_fact *index = xr_description_fact(xr_run_description(run), "cache.l1d.index");

	return index && index->status == XR_OK && json_is_string(index->value) &&
	       strcmp(json_string_value(index->value), "physical") == 0;
}

static void set_up(struct outer *o, struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	double way = xr_run_number(run, "cache.l1d.capacity", 0) / fmax(1, xr_run_number(run, "cache.l1d.ways", 1));
	uint64_t item = info->page_bytes ? info->page_bytes : PAGES_NONE;
	const uint64_t dense = info->exact ? exact_wanted : dense_wanted,
		       most = info->exact ? exact_wanted : most_wanted;
	uint64_t room = xr_run_room(run) < dense ? xr_run_room(run) : dense;

	memset(o, 0, sizeof *o);
	o->run = run;
	o->peace.left_ns = patience_ns;
	o->second.spread = INFINITY;
	o->hit = xr_run_number(run, "cache.l1d.latency", 0);
	o->l1_ways = (size_t)xr_run_number(run, "cache.l1d.ways", 8);
	o->line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	if (first_by_pages(run) && way > (double)item) { /* as if all classes of pages were one with all their ways */
		o->l1_ways *= (size_t)(way / (double)item);
		way = (double)item;
	}
	/* Enough pages to fill the sets of the first level that a line of a page may be in, wherever the page is. */
	o->strangers = (size_t)((double)(o->l1_ways + STRANGERS_MORE) * fmin(16, fmax(1, way / (double)item)));
	o->first = (struct xr_first){o->l1_ways, (uint64_t)way};
	o->room = room / item * item;
	o->pool = (uint64_t)fmin(POOL * fmax((double)item, way), (double)o->room);
	o->most = xr_run_room(run) < most ? xr_run_room(run) : most;
	o->n_items = o->room / item < PAGES_WANTED ? (size_t)(o->room / item) : PAGES_WANTED;
	o->evict = (struct xr_evict){
		.run = run, .page = info->page_bytes, .buffer = {BUFFER, o->room, XR_SMALL}, .peace = &o->peace};
	xr_evict_shape(&o->evict, item, o->line, LINES);
	if (xr_run_number(run, "timer.resolution", 1) > coarse_ns) { /* then only means of many repetitions tell */
		o->evict.exact = true;
		o->evict.effort = (struct xr_effort){
			.samples = 5, .samples_max = 5, .sample_ns = 2000 * xr_run_number(run, "timer.resolution", 1)};
	}
	o->order = xr_arena_array(xr_run_arena(run), uint32_t, o->n_items);
	for (uint32_t i = 0; i < o->n_items; i++)
		o->order[i] = i;
}

/* Walks over all lines. */
static struct xr_walk walk_for(const struct outer *o)
{
	return (struct xr_walk){.run = o->run,
	                        .buffer = BUFFER + 3,
	                        .page = o->evict.page,
	                        .line = o->line,
	                        .tlbs = xr_tlbs_known(o->run)};
}

/* ---- levels ---------------------------------------------------------------------------------------------------- */

static int find_levels(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	const struct xr_staircase *first = &o->h.first, *walk = &o->h.walk;

	o->h.evict = o->evict;
	o->h.all = walk_for(o);
	o->h.room = o->room;
	o->h.most = o->most;
	o->h.n_items = o->n_items;
	o->h.hit = o->hit;
	o->h.exact = xr_run_info(o->run)->exact;
	o->h.inner = o->first.ways * o->first.way;
	if (xr_hierarchy_find(&o->h) != 0)
		return -1;
	xr_series_put(d, "cache.staircase", "pages visited in between", "", first->pages, "time of a line of the page",
	              "cycles", first->cycles, first->n);
	xr_series_put(d, "cache.walk", "pages walked over", "", walk->pages, "time per access", "cycles", walk->cycles,
	              walk->n);
	return 0;
}

/* The latency of the second level, again where staircases are noisy. */
static int refine_latency(struct outer *o)
{
	struct xr_level *l = &o->h.level[1];
	const struct xr_second second = {.evict = &o->evict,
	                                 .order = o->order,
	                                 .n_items = o->n_items,
	                                 .fill = (double)o->strangers,
	                                 .room = l->items,
	                                 .lines = o->first.ways * o->first.way / o->line,
	                                 .hit = o->hit,
	                                 .about = l->latency};

	if (o->h.n < 3 || o->spread_out || fmax(o->h.noise / l->latency, l->spread) < 0.01)
		return 0;
	if (xr_latency_of_second(&second, &o->second) != 0)
		return -1;
	if (o->second.spread < INFINITY) {
		l->latency = o->second.cycles;
		l->spread = o->second.spread;
	}
	return 0;
}

static const char *level_id(struct outer *o, size_t level, const char *what)
{
	return xr_arena_printf(xr_run_arena(o->run), "cache.l%zu.%s", level + 1, what);
}

static double latency_of(const struct outer *o, size_t level)
{
	return xr_snap_integer(o->h.level[level].latency, fmax(0.15, 0.02 * o->h.level[level].latency));
}

/* A cache this near is whole cycles away. Else others were in the way, or lines stayed in the nearer one by chance. */
static double sure_of_latency(const struct outer *o, size_t level)
{
	return latency_of(o, level) == round(latency_of(o, level)) ? 1 : 0.85;
}

static void put_levels(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	double sure = xr_hierarchy_sure(&o->h), hz = xr_run_number(o->run, "cpu.frequency", 0);
	bool quick = hz > 0 && xr_walk_may_be_cached(o->run, o->h.level[o->h.n - 1].latency / hz * 1e9);
	struct xr_fact *fact = xr_fact_count(d, "cache.levels", (long long)(o->h.n - 1), "",
	                                     quick ? fmin(sure, 0.8) : sure, "staircases of pages");

	if (quick)
		xr_fact_note(fact,
		             "what is behind them is quick for memory: a cache larger than all that was walked over?");
	xr_fact_add_series(fact, "cache.staircase");
	xr_fact_add_series(fact, "cache.walk");
	for (size_t l = 1; l + 1 < o->h.n; l++) {
		/* Within 2 %, if what was seen varies by so much. And somebody who was there all the time adds
		 * always the same. */
		double within = o->h.level[l].spread > 0 ? erf(0.02 / o->h.level[l].spread / M_SQRT2) : 1;
		bool beside = l == 1 && o->second.spread < INFINITY && !o->second.peace;

		fact = xr_fact_number(d, level_id(o, l, "latency"), latency_of(o, l), "cycles",
		                      fmin(fmin(sure, beside ? 0.7 : sure_of_latency(o, l)), fmax(0.3, 0.97 * within)),
		                      "staircases of pages");
		xr_fact_add_series(fact, "cache.staircase");
	}
}

/* ---- one level ------------------------------------------------------------------------------------------------- */

/* What laps need to know about a level. */
static struct xr_laps laps_for(struct outer *o, size_t level)
{
	uint64_t page = o->evict.page ? o->evict.page : o->evict.item,
		 way = o->first.way < page ? o->first.way : page; /* items lie in the same part of a larger one */
	struct xr_laps laps = {.run = o->run,
	                       .buffer = {BUFFER + 4, o->pool, XR_SMALL},
	                       .twin = {BUFFER + 5, o->pool, XR_SMALL},
	                       .page = page,
	                       .item = o->evict.item > o->first.way ? o->evict.item : o->first.way,
	                       .line = o->line,
	                       .most = (size_t)(o->first.ways * way / o->line * 9 / 10),
	                       .sets = (size_t)(way / o->line),
	                       .base = o->h.level[level].latency - o->hit,
	                       .miss = o->h.level[level + 1].latency - o->h.level[level].latency,
	                       .disturbed = xr_hierarchy_is_restless(&o->h),
	                       .peace = &o->peace,
	                       .effort = o->evict.effort};

	if (o->h.level[level].items > 0)
		laps.limit = (size_t)(LIMIT * o->h.level[level].items) + 4 * o->strangers;
	laps.sample_ns = fmax(least_sample_ns, granules * xr_run_number(o->run, "timer.resolution", 1));
	return laps;
}

/* ---- facts of one level ---------------------------------------------------------------------------------------- */

static struct xr_effective effective_for(struct outer *o, size_t level);

static void put_line(struct outer *o, size_t level, double line, double sure)
{
	struct xr_description *d = xr_run_description(o->run);
	struct xr_fact *fact;

	if (line < (double)o->line) {
		xr_fact_none(d, level_id(o, level, "line"), XR_UNRELIABLE,
		             "members of a class meet at no or at every distance");
	} else if (line == 2.0 * (double)o->line) {
		fact = xr_fact_count(d, level_id(o, level, "line"), (long long)o->line, "bytes", 0.75,
		                     "members side by side");
		xr_fact_note(fact,
		             "lines come in pairs: %.0f bytes at a time, by a prefetcher or because they are one line",
		             line);
	} else {
		xr_fact_count(d, level_id(o, level, "line"), (long long)line, "bytes", sure,
		              "members side by side in their pages");
	}
}

/* How likely it is no accident that so many classes of so many say the same: each has shown that every one of its
 * pages is needed, so one alone is rarely wrong, and wrong ones differ. */
static double sure_of_votes(size_t agree, size_t of)
{
	return of ? fmin(0.98, fmax(0.3, 1 - pow(1.15 - (double)agree / (double)of, (double)agree))) : 0;
}

/* way: what distances in a page say; a page or more: it is as many pages as there are classes of them. Items are
 * larger than pages where ways of the first level are: as long as physical addresses decide, that makes no
 * difference, unless all pages lie in a row: then how many pages push one out tells a way as large as an item
 * from one as large as a page. */
static struct xr_fact *put_capacity(struct outer *o, size_t level, const struct xr_geometry *g, double way, double sure)
{
	struct xr_laps laps = laps_for(o, level);
	double classes = 1, clear = 1, pushed = o->h.level[level].items * (double)laps.page;
	bool even = false;
	struct xr_fact *fact;

	if (!(way > 0 && way < (double)laps.page)) {
		bool seen = way > 0;

		classes = xr_geometry_classes(g, &clear, &even);
		if (classes == 1 &&
		    !seen) /* it is no larger than a page, and distances, which could tell more, do not */
			clear = fmin(clear, 0.5);
		way = classes * (double)(even ? laps.item : laps.page);
		for (; classes == 1 && 2 * way <= (double)laps.item && pushed > M_SQRT2 * (double)g->ways * way;
		     way *= 2)
			clear = fmin(clear, most_sure);
	}
	fact = xr_fact_count(xr_run_description(o->run), level_id(o, level, "capacity"),
	                     (long long)((double)g->ways * way), "bytes", fmin(sure, clear),
	                     "classes of pages that push each other out");
	if (clear < 0.9)
		xr_fact_note(fact, "%.0f classes of pages fit best, but not by far", classes);
	return fact;
}

/* What walks over all lines find of a level; 0: all of them were larger than it. Of one that hardly differs from
 * the next level, that difference is as much error as what was kept. */
static double walks_find(struct outer *o, size_t level)
{
	const double outmost = 0.2;
	const struct xr_effective e = effective_for(o, level);
	struct xr_staircase inner = {.n = 0};

	for (size_t i = 0; i < o->h.walk.n; i++)
		if (o->h.walk.cycles[i] < e.far - outmost * (e.far - e.near)) {
			inner.pages[inner.n] = o->h.walk.pages[i];
			inner.cycles[inner.n++] = o->h.walk.cycles[i];
		}
	return o->h.walk.n && 2 * o->h.walk.cycles[0] < e.near + e.far ? xr_effective_of(&e, &inner) : 0;
}

static void put_geometry(struct outer *o, size_t level, const struct xr_geometry *g)
{
	const double contradicts = 4, differs = 1.6;
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_votes(g->agree, g->n_said), line, way, share, kept = walks_find(o, level), bytes;
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item);
	struct xr_fact *fact[2];

	/* Where lines stay in the first level by chance, a class needs more members than it has ways. */
	if (!xr_hierarchy_is_restless(&o->h))
		sure = fmin(sure, sure_of_latency(o, level));
	if (g->weak)
		sure = fmin(sure, most_sure);
	/* What a miss takes is known from the next level; if that may be none, this may be wrong, too. */
	if (xr_hierarchy_is_narrow(&o->h, level) || xr_hierarchy_is_narrow(&o->h, level + 1))
		sure = fmin(sure, xr_hierarchy_sure(&o->h));
	xr_geometry_sum(g, (uint64_t)page, &line, &way, &share);
	fact[0] = xr_fact_count(d, level_id(o, level, "ways"), (long long)g->ways, "", sure,
	                        "classes of pages that push each other out");
	put_line(o, level, line, sure * share);
	/* Walks are the other witness. Beside a busy neighbour members seemed to meet where they do not, … */
	if (way > 0 && way < page && kept > contradicts * (double)g->ways * way)
		way = 0;
	fact[1] = put_capacity(o, level, g, way, way > 0 && way < page ? sure * share : sure);
	for (size_t i = 0; i < 2; i++) {
		xr_fact_add_series(fact[i], "cache.staircase");
		if (g->agree * 2 <= g->n_said && g->n_said > 1)
			xr_fact_doubt(fact[i], "only %zu of %zu classes of pages say so", g->agree, g->n_said);
	}
	/* … and the number of classes, a power of two, to be the one before, or the one after (but others may
	 * leave less of it than there is: then pages are still not pushed out by fewer); … */
	bytes = xr_description_number(d, level_id(o, level, "capacity"), kept);
	if (kept > differs * bytes || (kept > 0 && differs * fmax(kept, o->h.level[level].items * page) < bytes))
		fact[1]->confidence = fmin(fact[1]->confidence, most_sure);
	/* … and pages to be of far fewer classes than they are; or there were more members than there are ways, where
	 * replacement is by chance. */
	if (kept > contradicts * bytes)
		for (size_t i = 0; i < 2; i++)
			xr_fact_doubt(fact[i], "walks over all lines find %.0f KiB in it", kept / 1024);
}

/* ---- effective capacity ---------------------------------------------------------------------------------------- */

static struct xr_effective effective_for(struct outer *o, size_t level)
{
	double inner = level == 1 ? (double)(o->first.ways * o->first.way)
	                          : xr_run_number(o->run, level_id(o, level - 1, "capacity"),
	                                          o->h.level[level - 1].items * (double)o->evict.item);

	return (struct xr_effective){.walk = walk_for(o),
	                             .page = (double)(o->evict.page ? o->evict.page : o->evict.item),
	                             .near = o->h.level[level].latency,
	                             .far = o->h.level[level + 1].latency,
	                             .most = o->most,
	                             .inner = inner,
	                             .last = level + 2 == o->h.n};
}

/* After xr_effective_find(). */
static int put_effective(struct outer *o, size_t level, const struct xr_effective *found, const char *why)
{
	struct xr_description *d = xr_run_description(o->run);
	const struct xr_effective e = *found;
	struct xr_fact *fact;
	double line;

	if (xr_effective_line(&e, &line) != 0)
		return -1;
	xr_fact_none(d, level_id(o, level, "ways"), XR_UNRELIABLE, "%s", why);
	if (line > 0)
		put_line(o, level, line, fmax(0.3, most_sure - e.spread));
	else
		xr_fact_none(d, level_id(o, level, "line"), XR_UNRELIABLE, "%s", why);
	if (e.bytes < e.page) {
		xr_fact_none(d, level_id(o, level, "capacity"), XR_UNRELIABLE, "neighbours leave nothing of it");
		return 0;
	}
	fact = xr_fact_number(d, level_id(o, level, "capacity"), e.bytes, "bytes",
	                      fmax(0.3, (e.others ? beside_others : most_sure) - 2 * e.spread),
	                      e.others ? "lines asked for again after more and more others"
	                               : "random walks over more and more bytes");
	if (e.spread > moves)
		xr_fact_doubt(fact, "neighbours make it move: %.1f to %.1f MiB while it was measured", e.low / MIB,
		              e.high / MIB);
	else if (!e.last && xr_hierarchy_is_restless(&o->h))
		xr_fact_doubt(fact, "only walks tell, and somebody else has a part of it");
	else if (e.others)
		xr_fact_note(fact,
		             "effective, beside others who use this cache: %.1f to %.1f MiB while it was measured; "
		             "about %.1f MiB for who waits for each line before asking for the next",
		             e.low / MIB, e.high / MIB, fmin(e.alone, e.low) / MIB);
	else
		xr_fact_note(fact, "effective: what a program gets now, beside whoever shares this cache");
	xr_fact_add_series(fact, "cache.walk");
	return 0;
}

/* ---- one level after the other ----------------------------------------------------------------------------------- */

static const char too_large[] = "too large or too much shared to sort pages into classes";

static struct xr_second_level second_for(struct outer *o)
{
	return (struct xr_second_level){.run = o->run,
	                                .buffer = BUFFER + 4,
	                                .page = o->evict.page ? o->evict.page : o->evict.item,
	                                .line = o->line,
	                                .first_ways = o->first.ways,
	                                .first_way = o->first.way,
	                                .near = o->h.level[1].latency,
	                                .far = o->h.level[2].latency,
	                                .room = o->room,
	                                .tlb_pages = xr_run_number(o->run, "tlb.d1.entries", 0),
	                                .shared_core = xr_hierarchy_is_restless(&o->h),
	                                .effort = o->evict.effort};
}

static void put_second(struct outer *o, const struct xr_second_level *l)
{
	const double without_ways = 0.7; /* the law has the steepness of a curve from the ways, or from the policy */
	struct xr_description *d = xr_run_description(o->run);
	double x[XR_SECOND_POINTS], y[XR_SECOND_POINTS];
	struct xr_fact *fact;

	for (size_t i = 0; i < l->n_curve; i++) {
		x[i] = l->curve[i].lines;
		y[i] = l->curve[i].cycles;
	}
	if (l->n_curve)
		xr_series_put(d, "cache.l2.scatter", "lines drawn at random", "", x, "time per access", "cycles", y,
		              l->n_curve);
	if (l->ways > 0) {
		fact = xr_fact_count(d, level_id(o, 1, "ways"), (long long)l->ways, "", l->p_ways, "conflict sets");
		xr_fact_note(fact, "%zu of %zu conflict sets have so many members", l->sets_found, l->sets_tried);
	} else {
		xr_fact_none(d, level_id(o, 1, "ways"), XR_UNRELIABLE, "%s",
		             l->trouble ? l->trouble : "conflict sets disagree");
	}
	if (isfinite(l->law.capacity)) {
		fact = xr_fact_count(d, level_id(o, 1, "capacity"), (long long)l->law.capacity, "bytes",
		                     l->law.p_capacity * (l->ways ? l->p_ways : without_ways),
		                     "random lines against the law of full sets");
		xr_fact_add_series(fact, "cache.l2.scatter");
	} else {
		fact = xr_fact_none(d, level_id(o, 1, "capacity"), XR_UNRELIABLE,
		                    "no cache fills with random lines as this one does");
		xr_fact_add_series(fact, "cache.l2.scatter");
	}
	put_line(o, 1, (double)l->outer_line, l->p_line);
}

/* Its latency by lines all over it, where that can be had: lines of one set may take longer. */
static int spread_latency(struct outer *o, const struct xr_second_level *l)
{
	double cycles, spread;

	if (xr_second_latency(l, &cycles, &spread) != 0)
		return -1;
	/* Both can only be too long: lines of one set, or pages that the TLB does not hold after all. */
	o->spread_out = cycles > o->hit && cycles < o->h.level[1].latency * 1.02;
	if (o->spread_out) {
		o->h.level[1].latency = cycles;
		o->h.level[1].spread = spread;
		o->second.spread = INFINITY;
	}
	return 0;
}

static int latency_of_few_ways(struct outer *o, double bytes)
{
	const double alone_spread = 0.02; /* so that what is told within 2 % is told with one sigma */
	struct xr_second_level l = second_for(o);

	l.ways = 4;
	l.law.capacity = bytes;
	if (spread_latency(o, &l) != 0)
		return -1;
	if (!o->spread_out) /* lines of one set alone say so, and may take longer: right two times in three */
		o->h.level[1].spread = fmax(o->h.level[1].spread, alone_spread);
	return 0;
}

/* Ways and capacity of the second level whatever its index; *found: they are known. */
static int find_anyhow(struct outer *o, bool *found)
{
	struct xr_second_level l = second_for(o);

	if (xr_second_ways(&l) != 0)
		return -1;
	*found = l.ways > 0;
	if (!*found)
		return 0;
	if (xr_second_capacity(&l) != 0 || xr_second_line(&l) != 0)
		return -1;
	put_second(o, &l);
	return spread_latency(o, &l);
}

/* Where times repeat exactly, a level with a plain index shows all of its geometry; *found: this is one, and
 * walks agree. */
static int find_regular(struct outer *o, size_t level, bool *found)
{
	static const char how[] = "lines at equal distances";
	const double sure = 0.97;
	struct xr_description *d = xr_run_description(o->run);
	struct xr_data_level l = {.walk = walk_for(o),
	                          .hit = o->hit,
	                          .near = o->h.level[level].latency,
	                          .far = o->h.level[level + 1].latency,
	                          .kept = o->h.level[level].items *
	                                  (double)(o->evict.page ? o->evict.page : o->evict.item),
	                          .room = xr_run_room(o->run) < most_wanted ? xr_run_room(o->run) : most_wanted};

	if (xr_data_level_find(&l) != 0)
		return -1;
	*found = l.ways > 0;
	if (!*found)
		return 0;
	xr_fact_count(d, level_id(o, level, "capacity"), (long long)l.bytes, "bytes", sure, how);
	xr_fact_count(d, level_id(o, level, "ways"), l.ways, "", sure, how);
	if (l.line)
		xr_fact_count(d, level_id(o, level, "line"), (long long)l.line, "bytes", sure, how);
	else
		xr_fact_none(d, level_id(o, level, "line"), XR_UNRELIABLE, "lines meet at every distance");
	return 0;
}

/* Does the law of random lines, which knows no pages, bear out what classes of pages say? They are right where
 * lines of a page go together. Where few walks contradict, many are asked. */
static int bear_out(struct outer *o, const struct xr_geometry *g, bool *borne_out)
{
	/* half of the way, in logarithms, to the nearest other capacity that is built, 4/3 of it; what is less
	 * likely than that was said by somebody who was wrong */
	const double built = 0.14, contradiction = 0.01;
	const double bytes = xr_description_number(xr_run_description(o->run), level_id(o, 1, "capacity"), 0);
	struct xr_second_level l = second_for(o);

	*borne_out = true;
	l.ways = g->ways;
	l.regular = true;
	l.expected = bytes;
	if (!(bytes > 0) || l.ways > XR_SECOND_WAYS)
		return 0;
	for (int closely = 0; closely < 2; closely++) {
		if ((closely ? xr_second_capacity(&l) : xr_second_estimate(&l)) != 0)
			return -1;
		if (closely && isfinite(l.law.capacity) && xr_second_line(&l) != 0)
			return -1;
		/* pairs fill half of a line that is as long as four */
		const double p = closely && l.outer_line == 4 * l.line ? l.law.p_half : l.law.p_expected;
		*borne_out = !(l.law.mean > 0) || l.law.none > 0.5 ||
		             (closely ? p > contradiction : fabs(log(l.law.mean / bytes)) < built);
		if (*borne_out)
			return 0;
	}
	return 0;
}

static int find_second(struct outer *o)
{
	struct xr_geometry g = {.trouble = "the first cache, which hides who meets in this one, is not known"};
	struct xr_laps laps = laps_for(o, 1);
	struct xr_effective e;
	bool found = false;
	bool again = xr_hierarchy_is_restless(&o->h) && o->peace.left_ns > 0.2 * patience_ns;

	if (o->h.exact && find_regular(o, 1, &found) != 0)
		return -1;
	if (found)
		return 0;
	if (o->first.way > 0 && laps.miss > 0 && find_anyhow(o, &found) != 0)
		return -1;
	if (found)
		return 0;
	/* Once more where somebody may have been in the way, and is not there all the time. */
	for (int i = 0; i < (again ? 2 : 1) && g.n_said == 0; i++)
		if (o->first.way > 0 && laps.miss > 0 && xr_geometry_find(&laps, &o->first, &g) != 0)
			return -1;
	if (g.n_said > 0) {
		bool borne_out;

		put_geometry(o, 1, &g);
		if (bear_out(o, &g, &borne_out) != 0)
			return -1;
		if (borne_out)
			return 0;
	}
	/* No classes: perhaps lines of a page do not go together. Then nothing must be known of the index. */
	if (o->first.way > 0 && laps.miss > 0 && find_anyhow(o, &found) != 0)
		return -1;
	if (found)
		return 0;
	if (g.n_said > 0) {
		static const char *const said[] = {"ways", "capacity"};

		for (int i = 0; i < 2; i++)
			xr_fact_doubt(xr_description_edit(xr_run_description(o->run), level_id(o, 1, said[i])),
			              "random lines do not fill it as classes of pages say");
		return 0;
	}
	e = effective_for(o, 1);
	if (xr_effective_find(&e, &o->h.walk) != 0 ||
	    put_effective(o, 1, &e, g.trouble ? g.trouble : "pages disagree about the number of ways") != 0)
		return -1;
	/* Lines that few ways would keep, of as much as walks find: enough to have its latency from. */
	return e.bytes < e.page ? 0 : latency_of_few_ways(o, e.bytes);
}

/* Those between the second and the last one; that, too, where nobody else can be in the way. */
static int find_others(struct outer *o)
{
	for (size_t l = 2; l + (o->h.exact ? 1 : 2) < o->h.n; l++) {
		struct xr_effective e = effective_for(o, l);
		bool found = false;

		if (o->h.exact && find_regular(o, l, &found) != 0)
			return -1;
		if (found)
			continue;

		if (xr_effective_find(&e, &o->h.walk) != 0 || put_effective(o, l, &e, too_large) != 0)
			return -1;
	}
	return 0;
}

/* Now and then, from one part of the work to the next: what others leave of it moves. */
static int watch_last(struct outer *o)
{
	if (o->h.n < 4 || o->h.exact)
		return 0;
	if (o->last.curves > 0)
		return xr_effective_go_on(&o->last);
	o->last = effective_for(o, o->h.n - 2);
	return xr_effective_find(&o->last, &o->h.walk);
}

/* From this level on there is nothing to be told. */
static void put_absent(struct outer *o, size_t from, const char *why)
{
	static const char *const what[] = {"capacity", "ways", "line", "latency"};

	for (size_t level = from; level < 3; level++)
		for (size_t i = 0; i < sizeof what / sizeof *what; i++)
			xr_fact_none(xr_run_description(o->run), level_id(o, level, what[i]), XR_UNSUPPORTED, "%s",
			             why);
}

/* Too little memory, or no cache that another could be behind. */
static void put_nothing(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	const struct xr_fact *first = xr_description_fact(d, "cache.l1d.capacity");
	const char *why = "the first cache is not known";

	if (o->hit > 0)
		why = xr_arena_printf(xr_run_arena(o->run), "only %.0f KiB of memory to walk in",
		                      (double)o->room / 1024);
	xr_fact_none(d, "cache.levels", XR_UNSUPPORTED, "%s", why);
	if (first && first->status == XR_UNSUPPORTED) {
		why = xr_fact_reason(first);
		xr_fact_count(d, "cache.levels", 0, "", 0.95, "no set of addresses takes longer than another");
	}
	put_absent(o, 1, why);
}

static int run(struct xr_run *run)
{
	const double close_together = 0.005;
	struct outer o;

	set_up(&o, run);
	if (o.n_items < 16 || o.hit <= 0) {
		put_nothing(&o);
		return 0;
	}
	if (find_levels(&o) != 0 || refine_latency(&o) != 0)
		return -1;
	put_levels(&o);
	if (o.h.n > 2 && (watch_last(&o) != 0 || find_second(&o) != 0 || watch_last(&o) != 0 || find_others(&o) != 0))
		return -1;
	/* Whoever was there may have gone meanwhile. */
	for (int i = 0; i < 2 && o.second.spread < INFINITY && (o.second.spread > close_together || !o.second.peace);
	     i++)
		if (refine_latency(&o) != 0)
			return -1;
	if (watch_last(&o) != 0 || (o.h.n > 3 && !o.h.exact && put_effective(&o, o.h.n - 2, &o.last, too_large) != 0))
		return -1;
	put_levels(&o);
	put_absent(&o, o.h.n > 1 ? o.h.n - 1 : 1,
	           xr_arena_printf(xr_run_arena(run), "there are %zu levels", o.h.n - 1));
	return 0;
}

static const char *const finds[] = {
	"cache.levels",      "cache.l2.capacity", "cache.l2.ways", "cache.l2.line",    "cache.l2.latency",
	"cache.l3.capacity", "cache.l3.ways",     "cache.l3.line", "cache.l3.latency", NULL,
};
static const char *const needs[] = {"cache_l1d", "tlb", NULL};

const struct xr_micro xr_micro_cache_outer = {
	.id = "cache_outer",
	.title = "caches beyond the first: levels, capacity, ways, line, latency",
	.finds = finds,
	.needs = needs,
	.cost_s = 3,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
