/* SPDX-License-Identifier: MIT */
/* Parameter: the caches beyond the first: how many levels; of each, latency, ways, capacity, line.
 *
 * Idea (paper 000 §4.6 asks with strides, which takes contiguous physical memory): the page is the grain. All
 * lines of a page go the same way, so pages can be sorted by whether they push each other out, without knowing
 * where any of them is. Works alike for physical and virtual indices, small and huge pages.
 *
 * Algorithm:
 *   Staircases (method/levels.h) of a few pages give the levels and their latencies.
 *   For the second level: find_second.c.
 *   For a level that is shared or too large for that: the effective capacity, by random walks over all lines of
 *   more and more bytes (half way up from the level's latency to the next).
 *
 * When it fails: a level as small or as slow as its neighbour is not seen. Who else uses the cache makes misses
 * too: then witnesses differ, and the fact says so.
 */
#include "micro/cache_outer/outer.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGES_WANTED = 8192,
	POOL = 4096,       /* pages */
	PAGES_NONE = 4096, /* grain where there are no pages */
	LINES = 8,
	STRANGERS_MORE = 3,
};
static const uint64_t dense_wanted = UINT64_C(64) << 20;
/* Where every instruction is simulated: walks over more lines would take minutes, and what is simulated in such
 * detail has caches of kilobytes. */
static const uint64_t exact_wanted = UINT64_C(8) << 20;
static const double coarse_ns = 100;
static const double moves = 0.25;        /* too much to be a capacity */
static const double beside_others = 0.7; /* the same in a cache whose other users come and go from minute to minute */
static const double MIB = 1 << 20;

/* Is the first level indexed by physical addresses? Then nobody knows which pages compete in it. */
static bool first_by_pages(struct xr_run *run)
{
	const struct xr_fact *index = xr_description_fact(xr_run_description(run), "cache.l1d.index");

	return index && index->status == XR_OK && json_is_string(index->value) &&
	       strcmp(json_string_value(index->value), "physical") == 0;
}

static void set_up(struct xr_outer *o, struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	double way = xr_run_number(run, "cache.l1d.capacity", 0) / fmax(1, xr_run_number(run, "cache.l1d.ways", 1));
	uint64_t item = info->page_bytes ? info->page_bytes : PAGES_NONE;
	const uint64_t dense = info->exact ? exact_wanted : dense_wanted,
		       most = info->exact ? exact_wanted : XR_OUTER_MOST;
	uint64_t room = xr_run_room(run) < dense ? xr_run_room(run) : dense;

	memset(o, 0, sizeof *o);
	o->run = run;
	o->peace.left_ns = XR_OUTER_PATIENCE_NS;
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
	o->evict = (struct xr_evict){.run = run,
	                             .page = info->page_bytes,
	                             .buffer = {XR_OUTER_BUFFER, o->room, XR_SMALL},
	                             .peace = &o->peace};
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
struct xr_walk xr_outer_walk(const struct xr_outer *o)
{
	return (struct xr_walk){.run = o->run,
	                        .buffer = XR_OUTER_BUFFER + 3,
	                        .page = o->evict.page,
	                        .line = o->line,
	                        .tlbs = xr_tlbs_known(o->run)};
}

/* ---- levels ---------------------------------------------------------------------------------------------------- */

static int find_levels(struct xr_outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	const struct xr_staircase *first = &o->h.first, *walk = &o->h.walk;

	o->h.evict = o->evict;
	o->h.all = xr_outer_walk(o);
	o->h.room = o->room;
	o->h.most = o->most;
	o->h.n_items = o->n_items;
	o->h.hit = o->hit;
	o->h.exact = xr_run_info(o->run)->exact;
	o->h.inner = o->first.ways * o->first.way;
	if (xr_hierarchy_find(&o->h) != 0)
		return -1;
	o->stairs = o->h.level[1].latency;
	o->stairs_off = hypot(o->h.noise, o->h.level[1].spread * o->stairs);
	xr_series_put(d, "cache.staircase", "pages visited in between", "", first->pages, "time of a line of the page",
	              "cycles", first->cycles, first->n);
	xr_series_put(d, "cache.walk", "pages walked over", "", walk->pages, "time per access", "cycles", walk->cycles,
	              walk->n);
	return 0;
}

double xr_outer_off_stairs(const struct xr_outer *o, double cycles)
{
	return o->stairs > 0 ? fmax(0, fabs(cycles - o->stairs) - 2 * o->stairs_off) / cycles : 0;
}

/* The latency of the second level, again where staircases are noisy. */
static int refine_latency(struct xr_outer *o)
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
		l->spread = hypot(o->second.spread, xr_outer_off_stairs(o, l->latency));
	}
	return 0;
}

const char *xr_outer_id(const struct xr_outer *o, size_t level, const char *what)
{
	return xr_arena_printf(xr_run_arena(o->run), "cache.l%zu.%s", level + 1, what);
}

static double latency_of(const struct xr_outer *o, size_t level)
{
	return xr_snap_integer(o->h.level[level].latency, fmax(0.15, 0.02 * o->h.level[level].latency));
}

/* A cache this near is whole cycles away. Else others were in the way, or lines stayed in the nearer one by chance. And
 * where others come and go, they may have been in the way by whole cycles, too. */
double xr_outer_sure_of_latency(const struct xr_outer *o, size_t level)
{
	const bool whole = latency_of(o, level) == round(latency_of(o, level));

	return whole && !xr_hierarchy_is_restless(&o->h) ? 1 : 0.85;
}

static void put_levels(struct xr_outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	double sure = xr_hierarchy_sure(&o->h), hz = xr_run_number(o->run, "cpu.frequency", 0);
	bool quick = hz > 0 && xr_walk_may_be_cached(o->run, o->h.level[o->h.n - 1].latency / hz * 1e9);
	struct xr_fact *fact = xr_fact_count(d, "cache.levels", (long long)(o->h.n - 1), "",
	                                     quick ? fmin(sure, 0.8) : sure, "staircases of pages");

	if (quick)
		xr_fact_note(fact,
		             "what is behind them is quick for memory: a cache larger than all that was walked over?");
	if (o->h.n == 3 &&
	    xr_outer_walks_find(o, 1) > XR_OUTER_CONTRADICTS * xr_run_number(o->run, "cache.l2.capacity", INFINITY))
		xr_fact_doubt(fact, "walks find %.0f KiB before memory: a level may have been overlooked",
		              xr_outer_walks_find(o, 1) / 1024);
	xr_fact_add_series(fact, "cache.staircase");
	xr_fact_add_series(fact, "cache.walk");
	for (size_t l = 1; l + 1 < o->h.n; l++) {
		/* Within 2 %, if what was seen varies by so much. And somebody who was there all the time adds
		 * always the same. */
		double within = o->h.level[l].spread > 0 ? erf(0.02 / o->h.level[l].spread / M_SQRT2) : 1;
		bool beside = l == 1 && o->second.spread < INFINITY && !o->second.peace;

		fact = xr_fact_number(
			d, xr_outer_id(o, l, "latency"), latency_of(o, l), "cycles",
			fmin(fmin(sure, beside ? 0.7 : xr_outer_sure_of_latency(o, l)), fmax(0.3, 0.97 * within)),
			"staircases of pages");
		xr_fact_add_series(fact, "cache.staircase");
	}
}

void xr_outer_put_line(struct xr_outer *o, size_t level, double line, double sure)
{
	struct xr_description *d = xr_run_description(o->run);
	struct xr_fact *fact;

	if (line < (double)o->line) {
		xr_fact_none(d, xr_outer_id(o, level, "line"), XR_UNRELIABLE,
		             "members of a class conflict at no distance, or at every one");
	} else if (line == 2.0 * (double)o->line) {
		fact = xr_fact_count(d, xr_outer_id(o, level, "line"), (long long)o->line, "bytes", 0.75,
		                     "members side by side");
		xr_fact_note(fact,
		             "lines come in pairs: %.0f bytes at a time, by a prefetcher or because they are one line",
		             line);
	} else {
		xr_fact_count(d, xr_outer_id(o, level, "line"), (long long)line, "bytes", sure,
		              "members side by side in their pages");
	}
}

/* ---- effective capacity ---------------------------------------------------------------------------------------- */

struct xr_effective xr_outer_effective(struct xr_outer *o, size_t level)
{
	double inner = level == 1 ? (double)(o->first.ways * o->first.way)
	                          : xr_run_number(o->run, xr_outer_id(o, level - 1, "capacity"),
	                                          o->h.level[level - 1].items * (double)o->evict.item);

	return (struct xr_effective){.walk = xr_outer_walk(o),
	                             .page = (double)(o->evict.page ? o->evict.page : o->evict.item),
	                             .near = o->h.level[level].latency,
	                             .far = o->h.level[level + 1].latency,
	                             .most = o->most,
	                             .inner = inner,
	                             .last = level + 2 == o->h.n};
}

/* After xr_effective_find(). */
int xr_outer_put_effective(struct xr_outer *o, size_t level, const struct xr_effective *found, const char *why)
{
	struct xr_description *d = xr_run_description(o->run);
	const struct xr_effective e = *found;
	struct xr_fact *fact;
	double line;

	if (xr_effective_line(&e, &line) != 0)
		return -1;
	xr_fact_none(d, xr_outer_id(o, level, "ways"), XR_UNRELIABLE, "%s", why);
	if (line > 0)
		xr_outer_put_line(o, level, line, fmax(0.3, XR_OUTER_MOST_SURE - e.spread));
	else
		xr_fact_none(d, xr_outer_id(o, level, "line"), XR_UNRELIABLE, "%s", why);
	if (e.bytes < e.page) {
		xr_fact_none(d, xr_outer_id(o, level, "capacity"), XR_UNRELIABLE, "neighbours leave nothing of it");
		return 0;
	}
	fact = xr_fact_number(d, xr_outer_id(o, level, "capacity"), e.bytes, "bytes",
	                      fmax(0.3, (e.others ? beside_others : XR_OUTER_MOST_SURE) - 2 * e.spread),
	                      e.others ? "lines asked for again after more and more others"
	                               : "random walks over more and more bytes");
	if (e.spread > moves)
		xr_fact_doubt(fact, "neighbours make it move: %.1f to %.1f MiB while it was measured", e.low / MIB,
		              e.high / MIB);
	else if (!e.last && xr_hierarchy_is_restless(&o->h))
		xr_fact_doubt(fact, "from walks alone, and others use a part of it");
	else if (e.others)
		xr_fact_note(fact,
		             "effective, beside others who use this cache: %.1f to %.1f MiB while it was measured; "
		             "about %.1f MiB for a pointer chase",
		             e.low / MIB, e.high / MIB, fmin(e.alone, e.low) / MIB);
	else
		xr_fact_note(fact, "effective: what a program gets now, beside whoever shares this cache");
	xr_fact_add_series(fact, "cache.walk");
	return 0;
}

/* ---- one level after the other ----------------------------------------------------------------------------------- */

static const char too_large[] = "too large or too much shared to sort pages into classes";

/* Those between the second and the last one; that, too, where nobody else can be in the way. */
static int find_others(struct xr_outer *o)
{
	for (size_t l = 2; l + (o->h.exact ? 1 : 2) < o->h.n; l++) {
		struct xr_effective e = xr_outer_effective(o, l);
		bool found = false;

		if (o->h.exact && xr_outer_find_regular(o, l, &found) != 0)
			return -1;
		if (found)
			continue;

		if (xr_effective_find(&e, &o->h.walk) != 0 || xr_outer_put_effective(o, l, &e, too_large) != 0)
			return -1;
	}
	return 0;
}

/* Now and then, from one part of the work to the next: what others leave of it moves. */
static int watch_last(struct xr_outer *o)
{
	if (o->h.n < 4 || o->h.exact)
		return 0;
	if (o->last.curves > 0)
		return xr_effective_go_on(&o->last);
	o->last = xr_outer_effective(o, o->h.n - 2);
	return xr_effective_find(&o->last, &o->h.walk);
}

/* From this level on there is nothing to be told. */
static void put_absent(struct xr_outer *o, size_t from, const char *why)
{
	static const char *const what[] = {"capacity", "ways", "line", "latency"};

	for (size_t level = from; level < 3; level++)
		for (size_t i = 0; i < sizeof what / sizeof *what; i++)
			xr_fact_none(xr_run_description(o->run), xr_outer_id(o, level, what[i]), XR_UNSUPPORTED, "%s",
			             why);
}

/* Too little memory, or no cache that another could be behind. */
static void put_nothing(struct xr_outer *o)
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
	struct xr_outer o;

	set_up(&o, run);
	if (o.n_items < 16 || o.hit <= 0) {
		put_nothing(&o);
		return 0;
	}
	if (find_levels(&o) != 0 || refine_latency(&o) != 0)
		return -1;
	put_levels(&o);
	if (o.h.n > 2 &&
	    (watch_last(&o) != 0 || xr_outer_find_second(&o) != 0 || watch_last(&o) != 0 || find_others(&o) != 0))
		return -1;
	/* Whoever was there may have gone meanwhile. */
	for (int i = 0; i < 2 && o.second.spread < INFINITY && (o.second.spread > close_together || !o.second.peace);
	     i++)
		if (refine_latency(&o) != 0)
			return -1;
	if (watch_last(&o) != 0 ||
	    (o.h.n > 3 && !o.h.exact && xr_outer_put_effective(&o, o.h.n - 2, &o.last, too_large) != 0))
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
	.cost_s = 6,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
