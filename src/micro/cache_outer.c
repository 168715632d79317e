/* Parameter: the caches beyond the first: how many levels; of each, latency, ways, capacity, line.
 *
 * Idea (paper 000 §4.6 asks with strides, which takes contiguous physical memory): the page is the grain. All lines of a
 * page go the same way, so pages can be sorted by whether they push each other out, without knowing where any of them
 * is. Works alike for physical and virtual indices, small and huge pages.
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
 * When it fails: a level as small or as slow as its neighbour is not seen. Who else uses the cache makes misses too: then
 * classes differ, and the fact says how many agree.
 */
#include "method/effective.h"
#include "method/geometry.h"
#include "method/latency.h"
#include "method/levels.h"
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
	STAIRS = 2,        /* of pages; */
	STAIRS_MAX = 5,    /* beside a neighbour */
	LINES = 8,
	LIMIT = 4, /* times what pushes a page out of a level: overflows it */
	STRANGERS_MORE = 3,
	SEEN_WELL = 10, /* steps, and on a quiet machine */
	LONG_EACH = 4,  /* so many in each staircase: then it is a level */
	VOTES = 2,      /* for or against it, that others do not outweigh */
};
static const uint64_t dense_wanted = UINT64_C(64) << 20, most_wanted = UINT64_C(256) << 20;
static const double coarse_ns = 100;
static const double patience_ns = 1.5e9, waited_little = 0.95; /* for a neighbour to pause, all in all */
static const double varies = 0.15;                             /* of the latency of a level: too much for one */
static const double most_sure = 0.88;                          /* of what a convention cuts out of a slope */
static const double moves = 0.25;                              /* too much to be a capacity */
static const double beside_others = 0.7; /* the same in a cache whose other users come and go from minute to minute */
static const double shared = 1.5;        /* times as much is kept by who comes back sooner: others take it away */
static const double MIB = 1 << 20;
static const double least_sample_ns = 4e3, granules = 200; /* of a lap */
static const double restless =
	0.05; /* of the first latency: what nothing in between may make of it on a quiet machine */

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
	uint64_t line;                        /* of the first level; 64 when not known */
	struct xr_level level[XR_LEVELS_MAX]; /* [0] is the first cache; the last one is memory */
	size_t n_levels;
	struct xr_staircase walk;
	struct xr_unsettled unsettled;
	struct xr_latency second;
	double noise; /* range of what should be equal in the staircases, cycles */
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
	uint64_t room = xr_run_room(run) < dense_wanted ? xr_run_room(run) : dense_wanted;

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
	o->most = xr_run_room(run) < most_wanted ? xr_run_room(run) : most_wanted;
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

/* ---- levels ---------------------------------------------------------------------------------------------------- */

static uint32_t *random_order(struct outer *o, size_t n)
{
	uint32_t *order = xr_arena_array(xr_run_arena(o->run), uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	xr_shuffle(order, n, xr_run_rng(o->run));
	return order;
}

/* The staircases, and what others each of them visits, nearest first, the page looked at being the last of them. */
struct stairs {
	struct xr_staircase of[STAIRS_MAX + 2];
	uint32_t *order[STAIRS_MAX + 2];
	size_t n;
};
enum { NEAR, FAR, CLIMBS /* of pages, from here on */ };

/* Is the clock so coarse that only means of many repetitions tell? */
static bool is_coarse(const struct outer *o)
{
	return o->evict.effort.samples > 0;
}

static bool is_restless(const struct outer *o)
{
	return o->noise > restless * o->hit || o->peace.left_ns < waited_little * patience_ns;
}

/* Takes out what only looks like a level, see xr_staircase_check(). */
static int check_levels(struct outer *o, const struct stairs *stairs)
{
	if (is_coarse(o))
		return 0;
	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		int sum = 0;
		bool long_each = o->level[l].seen >= LONG_EACH * o->level[l].witnesses;
		bool plain = o->level[l].seen >= SEEN_WELL && (long_each || is_restless(o));

		for (size_t s = 0; s < stairs->n && !plain && abs(sum) < VOTES; s++) {
			int vote = 0;

			if (s != FAR && xr_staircase_check(&o->evict, s == NEAR ? 0 : stairs->order[s][o->n_items - 1],
			                                   stairs->order[s], &stairs->of[s], o->level[l - 1].latency,
			                                   o->level[l].latency, o->level[l + 1].latency, &vote) != 0)
				return -1;
			sum += vote;
		}
		if (sum >= 0)
			continue;
		memmove(&o->level[l], &o->level[l + 1], (o->n_levels - l - 1) * sizeof *o->level);
		o->n_levels--;
		o->unsettled.dropped++; /* votes may be wrong, too, beside a neighbour */
		l--;
		xr_levels_sizes(stairs->of, stairs->n, o->level, o->n_levels);
	}
	return 0;
}

static int climb(struct outer *o, struct stairs *stairs)
{
	size_t s = stairs->n++;
	const struct xr_staircase *first = &stairs->of[CLIMBS];

	stairs->order[s] = random_order(o, o->n_items);
	if (xr_staircase_climb(&o->evict, stairs->order[s][o->n_items - 1], stairs->order[s], o->n_items - 1, o->hit,
	                       s > CLIMBS ? first->cycles[first->n - 1] : 0, &stairs->of[s]) != 0)
		return -1;
	o->noise = fmax(o->noise, stairs->of[s].range);
	xr_run_progress(o->run, 0.1 * (double)(s - FAR), "levels");
	return 0;
}

/* Is there something in the staircases that another one might clear up? */
static bool is_unclear(const struct outer *o, size_t climbs)
{
	bool unclear = o->unsettled.dropped > 0 || (is_restless(o) && o->unsettled.between > 0);

	for (size_t l = 1; l + 1 < o->n_levels && is_restless(o); l++)
		unclear = unclear || o->level[l].witnesses < 2;
	return unclear && climbs < STAIRS_MAX;
}

static int find_levels(struct outer *o)
{
	struct stairs stairs = {.n = CLIMBS};
	struct xr_staircase *near = &stairs.of[NEAR], *far = &stairs.of[FAR], *first = &stairs.of[CLIMBS];
	struct xr_description *d = xr_run_description(o->run);
	struct xr_walk all = {.run = o->run,
	                      .buffer = BUFFER + 3,
	                      .page = o->evict.page,
	                      .line = o->line,
	                      .tlbs = xr_tlbs_known(o->run)};

	stairs.order[NEAR] = o->order;
	if (climb(o, &stairs) != 0 || xr_staircase_near(&o->evict, o->hit, near) != 0 ||
	    xr_staircase_far(&all, o->room / 256, o->room, o->most, first->cycles[first->n - 1], far) != 0)
		return -1;
	do {
		if (climb(o, &stairs) != 0)
			return -1;
		o->n_levels = xr_levels_from(stairs.of, stairs.n, o->hit, o->level, &o->unsettled);
	} while (is_unclear(o, stairs.n - CLIMBS));
	if (check_levels(o, &stairs) != 0)
		return -1;
	o->walk = *far;
	xr_series_put(d, "cache.staircase", "pages visited in between", "", first->pages, "time of a line of the page",
	              "cycles", first->cycles, first->n);
	xr_series_put(d, "cache.walk", "pages walked over", "", far->pages, "time per access", "cycles", far->cycles,
	              far->n);
	return 0;
}

/* The latency of the second level, again where staircases are noisy. */
static int refine_latency(struct outer *o)
{
	struct xr_level *l = &o->level[1];
	const struct xr_second second = {.evict = &o->evict,
	                                 .order = o->order,
	                                 .n_items = o->n_items,
	                                 .fill = (double)o->strangers,
	                                 .room = l->items,
	                                 .lines = o->first.ways * o->first.way / o->line,
	                                 .hit = o->hit,
	                                 .about = l->latency};

	if (o->n_levels < 3 || fmax(o->noise / l->latency, l->spread) < 0.01)
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

/* Memory, seen by so many pages that a further level of translation, of which nothing is known, misses: as much slower as
 * that costs, it looks like a level of its own behind a cache that is none. */
static bool may_be_translation(const struct outer *o)
{
	return o->evict.page && o->n_levels > 2 &&
	       o->level[o->n_levels - 1].latency < XR_TOO_CLOSE * o->level[o->n_levels - 2].latency;
}

/* How sure it is that each of the levels is one. The odds double with every second step on it, but only as far as the
 * machine is quiet: a neighbour makes them all alike wrong. Two other pages that say the same are better evidence. */
static double sure_of_levels(const struct outer *o)
{
	double quiet = fmax(0, 1 - o->noise / o->hit), least = SEEN_WELL;
	bool mixed =
		false; /* one that takes now so long and now so long may be lines of two; the last is shared, and may */

	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		least = fmin(least, fmax(2.0 * o->level[l].witnesses, quiet * o->level[l].seen / 2));
		mixed = mixed || (l + 2 < o->n_levels && o->level[l].spread > varies);
	}
	return fmin(may_be_translation(o)                                   ? 0.6
	            : o->unsettled.dropped || o->unsettled.between || mixed ? 0.8
	                                                                    : 0.97,
	            1 - exp2(-least));
}

static void put_levels(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_levels(o);
	struct xr_fact *fact =
		xr_fact_count(d, "cache.levels", (long long)(o->n_levels - 1), "", sure, "staircases of pages");

	xr_fact_add_series(fact, "cache.staircase");
	xr_fact_add_series(fact, "cache.walk");
	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		double latency = xr_snap_integer(o->level[l].latency, fmax(0.15, 0.02 * o->level[l].latency));
		double whole = latency == round(latency) ? 1 : 0.85; /* a cache this near is whole cycles away */

		/* Within 2 %, if what was seen varies by so much. And somebody who was there all the time adds always the same. */
		double within = o->level[l].spread > 0 ? erf(0.02 / o->level[l].spread / M_SQRT2) : 1;
		bool beside = l == 1 && o->second.spread < INFINITY && !o->second.peace;

		fact = xr_fact_number(d, level_id(o, l, "latency"), latency, "cycles",
		                      fmin(fmin(sure, beside ? 0.7 : whole), fmax(0.3, 0.97 * within)),
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
	                       .base = o->level[level].latency - o->hit,
	                       .miss = o->level[level + 1].latency - o->level[level].latency,
	                       .disturbed = is_restless(o),
	                       .peace = &o->peace,
	                       .effort = o->evict.effort};

	if (o->level[level].items > 0)
		laps.limit = (size_t)(LIMIT * o->level[level].items) + 4 * o->strangers;
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

/* How likely it is no accident that so many classes of so many say the same: each has shown that every one of its pages is
 * needed, so one alone is rarely wrong, and wrong ones differ. */
static double sure_of_votes(size_t agree, size_t of)
{
	return of ? fmin(0.98, fmax(0.3, 1 - pow(1.15 - (double)agree / (double)of, (double)agree))) : 0;
}

/* way: what distances in a page say; a page or more: it is as many pages as there are classes of them. Items are larger
 * than pages where ways of the first level are: as long as physical addresses decide, that makes no difference. */
static struct xr_fact *put_capacity(struct outer *o, size_t level, const struct xr_geometry *g, double way, double sure)
{
	struct xr_laps laps = laps_for(o, level);
	double classes = 1, clear = 1;
	bool even = false;
	struct xr_fact *fact;

	if (!(way > 0 && way < (double)laps.page)) {
		classes = xr_geometry_classes(g, &clear, &even);
		way = classes * (double)(even ? laps.item : laps.page);
	}
	fact = xr_fact_count(xr_run_description(o->run), level_id(o, level, "capacity"),
	                     (long long)((double)g->ways * way), "bytes", fmin(sure, clear),
	                     "classes of pages that push each other out");
	if (clear < 0.9)
		xr_fact_note(fact, "%.0f classes of pages fit best, but not by far", classes);
	return fact;
}

/* What walks over all lines find of a level; 0: all of them were larger than it. Of one that hardly differs from the next
 * level, that difference is as much error as what was kept. */
static double walks_find(struct outer *o, size_t level)
{
	const double outmost = 0.2;
	const struct xr_effective e = effective_for(o, level);
	struct xr_staircase inner = {.n = 0};

	for (size_t i = 0; i < o->walk.n; i++)
		if (o->walk.cycles[i] < e.far - outmost * (e.far - e.near)) {
			inner.pages[inner.n] = o->walk.pages[i];
			inner.cycles[inner.n++] = o->walk.cycles[i];
		}
	return o->walk.n && 2 * o->walk.cycles[0] < e.near + e.far ? xr_effective_of(&e, &inner) : 0;
}

static void put_geometry(struct outer *o, size_t level, const struct xr_geometry *g)
{
	const double contradicts = 4;
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_votes(g->agree, g->n_said), line, way, share, kept = walks_find(o, level);
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item);
	struct xr_fact *fact[2];

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
	/* … and pages to be of far fewer classes than they are; or there were more members than there are ways, where
	 * replacement is by chance. */
	if (kept > contradicts * xr_description_number(d, level_id(o, level, "capacity"), kept))
		for (size_t i = 0; i < 2; i++)
			xr_fact_doubt(fact[i], "walks over all lines find %.0f KiB in it", kept / 1024);
}

/* ---- effective capacity ---------------------------------------------------------------------------------------- */

static struct xr_effective effective_for(struct outer *o, size_t level)
{
	double inner = level == 1 ? (double)(o->first.ways * o->first.way)
	                          : xr_run_number(o->run, level_id(o, level - 1, "capacity"),
	                                          o->level[level - 1].items * (double)o->evict.item);

	return (struct xr_effective){.walk = {.run = o->run,
	                                      .buffer = BUFFER + 3,
	                                      .page = o->evict.page,
	                                      .line = o->line,
	                                      .tlbs = xr_tlbs_known(o->run)},
	                             .page = (double)(o->evict.page ? o->evict.page : o->evict.item),
	                             .near = o->level[level].latency,
	                             .far = o->level[level + 1].latency,
	                             .most = o->most,
	                             .inner = inner,
	                             .last = level + 2 == o->n_levels};
}

static int put_effective(struct outer *o, size_t level, const char *why)
{
	struct xr_description *d = xr_run_description(o->run);
	struct xr_effective e = effective_for(o, level);
	struct xr_fact *fact;
	double line;
	bool others;

	if (xr_effective_find(&e, &o->walk) != 0 || xr_effective_line(&e, &line) != 0)
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
	others = e.last && e.alone * shared < e.bytes;
	fact = xr_fact_number(d, level_id(o, level, "capacity"), e.bytes, "bytes",
	                      fmax(0.3, (others ? beside_others : most_sure) - 2 * e.spread),
	                      "random walks over more and more bytes");
	if (e.spread > moves)
		xr_fact_doubt(fact, "neighbours make it move: %.1f to %.1f MiB while it was measured", e.low / MIB,
		              e.high / MIB);
	else if (!e.last && is_restless(o))
		xr_fact_doubt(fact, "only walks tell, and somebody else has a part of it");
	else if (others)
		xr_fact_note(fact,
		             "effective, beside others who use this cache: %.1f to %.1f MiB while it was measured; "
		             "about %.1f MiB for who waits for each line before asking for the next",
		             e.low / MIB, e.high / MIB, e.alone / MIB);
	else
		xr_fact_note(fact, "effective: what a program gets now, beside whoever shares this cache");
	xr_fact_add_series(fact, "cache.walk");
	return 0;
}

static int find_level(struct outer *o, size_t level)
{
	struct xr_geometry g = {.trouble = "too large or too much shared to sort pages into classes"};
	struct xr_laps laps = laps_for(o, level);

	if (o->first.way == 0)
		g.trouble = "the first cache, which hides who meets in this one, is not known";
	/* Once more where somebody may have been in the way. */
	for (int i = 0; i < (is_restless(o) ? 2 : 1) && g.n_said == 0; i++)
		if (level == 1 && o->first.way > 0 && laps.miss > 0 && xr_geometry_find(&laps, &o->first, &g) != 0)
			return -1;
	if (g.n_said > 0) {
		put_geometry(o, level, &g);
		return 0;
	}
	return put_effective(o, level, g.trouble ? g.trouble : "pages disagree about the number of ways");
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
	if (find_levels(&o) != 0)
		return -1;
	if (refine_latency(&o) != 0)
		return -1;
	put_levels(&o);
	for (size_t l = 1; l + 1 < o.n_levels; l++)
		if (find_level(&o, l) != 0)
			return -1;
	/* Whoever was there may have gone meanwhile. */
	for (int i = 0; i < 2 && o.second.spread < INFINITY && (o.second.spread > close_together || !o.second.peace);
	     i++)
		if (refine_latency(&o) != 0)
			return -1;
	put_levels(&o);
	put_absent(&o, o.n_levels > 1 ? o.n_levels - 1 : 1,
	           xr_arena_printf(xr_run_arena(run), "there are %zu levels", o.n_levels - 1));
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
