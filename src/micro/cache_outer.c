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
 *   smaller than a page, the way. Else laps over more and more random pages tell the number of classes, a power of two
 *   (method/colours.h), and C = A · classes · page.
 *   For a level that is shared, hashed or too large for that: the effective capacity, by random walks over all lines of
 *   more and more bytes (half way up from the level's latency to the next).
 *
 * When it fails: a level as small or as slow as its neighbour is not seen. Who else uses the cache makes misses too: then
 * classes differ, and the fact says how many agree.
 */
#include "method/colours.h"
#include "method/geometry.h"
#include "method/levels.h"
#include "method/places.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 20, /* id; twins and packed lines follow, then dense walks */
	PAGES_WANTED = 2048,
	POOL = 4096,       /* pages */
	PAGES_NONE = 4096, /* grain where there are no pages */
	STAIRS = 2,
	LINES = 8,
	STRANGERS_MORE = 3,
	SEEN_WELL = 10, /* steps: then it is a level */
};
static const uint64_t dense_wanted = UINT64_C(64) << 20, most_wanted = UINT64_C(256) << 20;
static const double coarse_ns = 100;

struct outer {
	struct xr_run *run;
	struct xr_evict evict;
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
	double noise; /* range of what should be equal in the staircases, cycles */
};

static void set_up(struct outer *o, struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	double way = xr_run_number(run, "cache.l1d.capacity", 0) / fmax(1, xr_run_number(run, "cache.l1d.ways", 1));
	uint64_t item = info->page_bytes ? info->page_bytes : PAGES_NONE;
	uint64_t room = info->memory_bytes / 4 < dense_wanted ? info->memory_bytes / 4 : dense_wanted;

	memset(o, 0, sizeof *o);
	o->run = run;
	o->hit = xr_run_number(run, "cache.l1d.latency", 0);
	o->l1_ways = (size_t)xr_run_number(run, "cache.l1d.ways", 8);
	o->line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	/* Enough pages to fill the sets of the first level that a line of a page may be in, wherever the page is. */
	o->strangers = (size_t)((double)(o->l1_ways + STRANGERS_MORE) * fmin(16, fmax(1, way / (double)item)));
	o->first = (struct xr_first){o->l1_ways, (uint64_t)way};
	o->room = room / item * item;
	o->pool = (uint64_t)fmin(POOL * fmax((double)item, way), (double)o->room);
	o->most = info->memory_bytes / 4 < most_wanted ? info->memory_bytes / 4 : most_wanted;
	o->n_items = o->room / item < PAGES_WANTED ? (size_t)(o->room / item) : PAGES_WANTED;
	o->evict = (struct xr_evict){.run = run, .page = info->page_bytes, .buffer = {BUFFER, o->room, XR_SMALL}};
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

/* Takes out what only looks like a level, see xr_staircase_check(). */
static int check_levels(struct outer *o, const struct xr_staircase *stairs, uint32_t *const *order)
{
	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		int no = 0, yes = 0;

		for (size_t s = 0; s <= STAIRS && o->level[l].seen < SEEN_WELL; s++) {
			bool real;

			if (xr_staircase_check(&o->evict, s < STAIRS ? order[s][o->n_items - 1] : 0, order[s],
			                       &stairs[s], o->level[l - 1].latency, o->level[l].latency,
			                       o->level[l + 1].latency, &real) != 0)
				return -1;
			no += !real;
			yes += real;
		}
		if (no <= yes)
			continue;
		memmove(&o->level[l], &o->level[l + 1], (o->n_levels - l - 1) * sizeof *o->level);
		o->n_levels--;
		l--;
		xr_levels_sizes(stairs, STAIRS + 2, o->level, o->n_levels);
	}
	return 0;
}

static int find_levels(struct outer *o)
{
	struct xr_staircase stairs[STAIRS + 2], *near = &stairs[STAIRS], *far = near + 1;
	struct xr_description *d = xr_run_description(o->run);
	uint32_t *order[STAIRS + 1];
	struct xr_walk all = {.run = o->run,
	                      .buffer = BUFFER + 3,
	                      .page = o->evict.page,
	                      .line = o->line,
	                      .tlbs = xr_tlbs_known(o->run)};

	order[STAIRS] = xr_arena_array(xr_run_arena(o->run), uint32_t, o->n_items);
	for (uint32_t i = 0; i < o->n_items; i++)
		order[STAIRS][i] = i;
	for (size_t s = 0; s < STAIRS; s++) {
		order[s] = random_order(o, o->n_items);
		if (xr_staircase_climb(&o->evict, order[s][o->n_items - 1], order[s], o->n_items - 1, o->hit,
		                       &stairs[s]) != 0)
			return -1;
		xr_run_progress(o->run, 0.1 * (double)(s + 1), "levels");
	}
	if (xr_staircase_near(&o->evict, o->hit, near) != 0 ||
	    xr_staircase_far(&all, o->room / 256, o->room, o->most, far) != 0)
		return -1;
	o->n_levels = xr_levels_from(stairs, STAIRS + 2, o->hit, o->level);
	if (check_levels(o, stairs, order) != 0)
		return -1;
	o->walk = *far;
	for (size_t s = 0; s < STAIRS; s++)
		o->noise = fmax(o->noise, stairs[s].range);
	xr_series_put(d, "cache.staircase", "pages visited in between", "", stairs[0].pages,
	              "time of a line of the page", "cycles", stairs[0].cycles, stairs[0].n);
	xr_series_put(d, "cache.walk", "pages walked over", "", far->pages, "time per access", "cycles", far->cycles,
	              far->n);
	return 0;
}

/* The latency of the second level, which staircases have found, again where these are noisy, by walks long enough to be
 * exact: one line of each of so many pages that the first level is full and this one is not, against a twin that costs the
 * TLB the same and stays in the first level. (Of a farther level, too many pages for that.) */
static int refine_latency(struct outer *o)
{
	enum { WALKS = 9, TWIN_SHARE = 4 /* of the first level, at most, is taken by a twin */, level = 1 };
	struct xr_arena *arena = xr_run_arena(o->run);
	double fill = (double)o->strangers, room = o->level[level].items, value[WALKS];
	size_t n = (size_t)(room > 4 * fill ? sqrt(fill * room) : 2 * fill);
	struct xr_spec spec[2 * WALKS];
	struct xr_reading reading[2 * WALKS];
	struct xr_effort effort = {.samples = 9, .samples_max = 18};

	if (o->n_levels < 3 || n < 2 || n > o->first.ways * o->first.way / o->line / TWIN_SHARE || n >= o->n_items ||
	    o->noise < 0.01 * o->level[level].latency)
		return 0;
	for (size_t i = 0; i < WALKS; i++) {
		struct xr_places set = xr_places_new(arena, n), twin;

		xr_shuffle(o->order, o->n_items, xr_run_rng(o->run));
		for (size_t k = 0; k < n; k++)
			xr_places_add(&set, o->order[k] * o->evict.item);
		twin = xr_places_twin(arena, &set, o->evict.page);
		spec[2 * i] = xr_places_cycle(arena, &set, o->evict.buffer, 0);
		spec[2 * i + 1] = xr_places_cycle(arena, &twin, (struct xr_buffer){BUFFER + 1, o->room, XR_SMALL}, 0);
	}
	if (xr_run_time_with(o->run, &effort, spec, 2 * WALKS, reading) != 0)
		return -1;
	for (size_t i = 0; i < WALKS; i++)
		value[i] = reading[2 * i].cycles - reading[2 * i + 1].cycles + o->hit;
	value[0] = xr_lower(value, WALKS); /* a set of pages may by chance overflow this level, too */
	if (fabs(value[0] / o->level[level].latency - 1) < 0.3)
		o->level[level].latency = value[0];
	return 0;
}

static const char *level_id(struct outer *o, size_t level, const char *what)
{
	return xr_arena_printf(xr_run_arena(o->run), "cache.l%zu.%s", level + 1, what);
}

/* Steps seen on the level seen least: the odds that it is one double with every second step. */
static double sure_of_levels(const struct outer *o)
{
	int least = SEEN_WELL;

	for (size_t l = 1; l + 1 < o->n_levels; l++)
		least = o->level[l].seen < least ? o->level[l].seen : least;
	return fmin(0.97, 1 - exp2(-least / 2.0));
}

static void put_levels(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_levels(o), spread = o->noise / o->hit;
	struct xr_fact *fact =
		xr_fact_count(d, "cache.levels", (long long)(o->n_levels - 1), "", sure, "staircases of pages");

	xr_fact_add_series(fact, "cache.staircase");
	xr_fact_add_series(fact, "cache.walk");
	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		double latency = xr_snap_integer(o->level[l].latency, fmax(0.15, 0.02 * o->level[l].latency));

		fact = xr_fact_number(d, level_id(o, l, "latency"), latency, "cycles",
		                      fmin(sure, fmax(0.85, 0.97 - spread)), "staircases of pages");
		xr_fact_add_series(fact, "cache.staircase");
	}
}

/* ---- one level ------------------------------------------------------------------------------------------------- */

/* What laps need to know about a level. */
static struct xr_laps laps_for(const struct outer *o, size_t level)
{
	struct xr_laps laps = {.run = o->run,
	                       .buffer = {BUFFER + 4, o->pool, XR_SMALL},
	                       .twin = {BUFFER + 5, o->pool, XR_SMALL},
	                       .page = o->evict.page ? o->evict.page : o->evict.item,
	                       .item = o->evict.item > o->first.way ? o->evict.item : o->first.way,
	                       .line = o->line,
	                       .most = (size_t)(o->first.ways * o->first.way / o->line * 9 / 10),
	                       .base = o->level[level].latency - o->hit,
	                       .miss = o->level[level + 1].latency - o->level[level].latency,
	                       .effort = o->evict.effort};

	if (laps.effort.samples == 0)
		laps.effort = (struct xr_effort){.samples = 3, .samples_max = 6};
	return laps;
}

/* ---- facts of one level ---------------------------------------------------------------------------------------- */

static double find_effective(const struct outer *o, size_t level);

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

static struct xr_fact *put_capacity(struct outer *o, size_t level, const struct xr_geometry *g, double way, double sure)
{
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item), misfit, rival, classes;
	const char *id = level_id(o, level, "capacity"), *method = "classes of pages that push each other out";
	struct xr_description *d = xr_run_description(o->run);
	struct xr_fact *fact;

	if (way > 0 && way < page)
		return xr_fact_count(d, id, (long long)((double)g->ways * way), "bytes", sure, method);
	classes = xr_colours_fit(g->pages, g->share, g->n_points, (double)g->ways, &misfit, &rival);
	/* Twice or half as many classes should fit far worse. */
	fact = xr_fact_count(d, id, (long long)((double)g->ways * classes * page), "bytes",
	                     misfit * 2 < rival ? sure : fmin(sure, 0.7), method);
	if (misfit * 2 >= rival)
		xr_fact_note(fact, "%.0f classes of pages fit best, but not by far", classes);
	return fact;
}

static void put_geometry(struct outer *o, size_t level, const struct xr_geometry *g)
{
	const double contradicts = 4;
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_votes(g->agree, g->n_said), line, way, share;
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item);
	struct xr_fact *fact[2];

	xr_geometry_sum(g, (uint64_t)page, &line, &way, &share);
	fact[0] = xr_fact_count(d, level_id(o, level, "ways"), (long long)g->ways, "", sure,
	                        "classes of pages that push each other out");
	put_line(o, level, line, sure * share);
	fact[1] = put_capacity(o, level, g, way, way > 0 && way < page ? sure * share : sure);
	for (size_t i = 0; i < 2; i++) {
		xr_fact_add_series(fact[i], "cache.staircase");
		if (g->agree * 2 <= g->n_said && g->n_said > 1)
			xr_fact_doubt(fact[i], "only %zu of %zu classes of pages say so", g->agree, g->n_said);
	}
	/* Walks are the other witness: beside a busy neighbour, pages seemed to be of far fewer classes than they are. */
	double kept = find_effective(o, level);
	if (kept > contradicts * xr_description_number(d, level_id(o, level, "capacity"), kept))
		xr_fact_doubt(fact[1], "walks over all lines find %.0f KiB in it", kept / 1024);
}

/* ---- effective capacity ---------------------------------------------------------------------------------------- */

/* Of a walk over so many bytes, those that the level answered. */
static double bytes_kept(const struct outer *o, size_t level, double bytes, double cycles)
{
	double near = o->level[level].latency, far = o->level[level + 1].latency;

	return bytes * fmin(1, fmax(0, (far - cycles) / (far - near)));
}

/* Two estimates, one low and one high. Low: the most bytes that the level kept of any walk; where sets fill unevenly, it
 * never keeps all. High: the largest walk of which it kept half; policies that resist large walks keep half of one of
 * twice their size. */
static double find_effective(const struct outer *o, size_t level)
{
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item), most = 0, half = 0;

	for (size_t i = 0; i < o->walk.n; i++) {
		double bytes = o->walk.pages[i] * page, kept = bytes_kept(o, level, bytes, o->walk.cycles[i]);

		most = fmax(most, kept);
		if (kept >= bytes / 2)
			half = fmax(half, bytes * fmin(1.2, 2 * kept / bytes));
	}
	return sqrt(most * fmax(half, most));
}

/* Walks between those taken so far, around the one of which the level kept most. */
static int refine_walk(struct outer *o, size_t level)
{
	struct xr_walk all = {.run = o->run,
	                      .buffer = BUFFER + 3,
	                      .page = o->evict.page,
	                      .line = o->line,
	                      .tlbs = xr_tlbs_known(o->run)};
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item), center = 0, most = 0;

	for (size_t i = 0; i < o->walk.n; i++) {
		double kept = bytes_kept(o, level, o->walk.pages[i] * page, o->walk.cycles[i]);

		center = kept > most ? o->walk.pages[i] : center;
		most = fmax(most, kept);
	}
	for (int i = -3; i <= 3 && o->walk.n < XR_STAIRS_MAX && center > 0; i++) {
		double pages = floor(center * exp2(i / 6.0));

		if (i == 0 || pages * page > (double)o->most)
			continue;
		o->walk.pages[o->walk.n] = pages;
		if (xr_walk_time(&all, (uint64_t)(pages * page), &o->walk.cycles[o->walk.n], NULL) != 0)
			return -1;
		o->walk.n += o->walk.cycles[o->walk.n] > 0;
	}
	return 0;
}

/* The line of a level whose sets are hashed: a walk that is too large for the level, over every line or over every second
 * one: that is half as many lines, unless two of them are one. 0: not seen. */
static int find_far_line(struct outer *o, size_t level, double bytes, double *line)
{
	struct xr_walk all = {.run = o->run,
	                      .buffer = BUFFER + 3,
	                      .page = o->evict.page,
	                      .line = o->line,
	                      .tlbs = xr_tlbs_known(o->run),
	                      .effort = {.samples = 7, .samples_max = 7}};
	double kept[3];
	uint64_t walked = (uint64_t)(1.5 * bytes) / 4096 * 4096;

	*line = 0;
	if (walked > o->most)
		return 0;
	for (int i = 0; i < 3; i++, all.line *= 2) {
		double cycles;

		if (xr_walk_time(&all, walked, &cycles, NULL) != 0)
			return -1;
		kept[i] = bytes_kept(o, level, 1, cycles);
	}
	if (kept[1] > kept[0] + 0.2)
		*line = (double)o->line;
	else if (kept[2] > kept[1] + 0.2)
		*line = 2.0 * (double)o->line;
	return 0;
}

static int put_effective(struct outer *o, size_t level, const char *why)
{
	struct xr_description *d = xr_run_description(o->run);
	struct xr_fact *fact;
	double bytes, line;

	if (refine_walk(o, level) != 0)
		return -1;
	bytes = find_effective(o, level);
	if (find_far_line(o, level, bytes, &line) != 0)
		return -1;
	xr_fact_none(d, level_id(o, level, "ways"), XR_UNRELIABLE, "%s", why);
	if (line > 0)
		put_line(o, level, line, 0.85);
	else
		xr_fact_none(d, level_id(o, level, "line"), XR_UNRELIABLE, "%s", why);
	fact = xr_fact_number(d, level_id(o, level, "capacity"), bytes, "bytes", 0.7,
	                      "random walks over more and more bytes");
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
	if (level == 1 && o->first.way > 0 && laps.miss > 0 && xr_geometry_find(&laps, &o->first, &g) != 0)
		return -1;
	if (g.n_said > 0) {
		put_geometry(o, level, &g);
		return 0;
	}
	return put_effective(o, level, g.trouble ? g.trouble : "pages disagree about the number of ways");
}

static void put_absent(struct outer *o, size_t level)
{
	static const char *const what[] = {"capacity", "ways", "line", "latency"};

	for (size_t i = 0; i < sizeof what / sizeof *what; i++)
		xr_fact_none(xr_run_description(o->run), level_id(o, level, what[i]), XR_UNSUPPORTED,
		             "there are %zu levels", o->n_levels - 1);
}

static int run(struct xr_run *run)
{
	struct outer o;

	set_up(&o, run);
	if (o.n_items < 16 || o.hit <= 0) {
		xr_fact_none(xr_run_description(run), "cache.levels", XR_UNSUPPORTED,
		             "only %.0f KiB of memory to walk in", (double)o.room / 1024);
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
	for (size_t l = o.n_levels > 1 ? o.n_levels - 1 : 1; l < 3; l++)
		put_absent(&o, l);
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
