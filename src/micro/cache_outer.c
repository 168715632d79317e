/* Parameter: the caches beyond the first: how many levels; of each, latency, ways, capacity, line.
 *
 * Idea (paper 000 §4.6 asks with strides, which takes contiguous physical memory; ALGORITHMS §11): the page is the
 * grain. All lines of a page go the same way, so pages can be sorted by whether they push each other out, without
 * knowing where any of them is. Works alike for physical and virtual indices, small and huge pages.
 *
 * Algorithm:
 *   Staircases (method/levels.h) of a few pages give the levels and their latencies, and about how many pages fill each.
 *   For each level that few enough pages fill: the class of a page (method/classes.h), its ways by walks over members
 *   (method/ways.h), the mode over several pages. Distances in the page at which members still meet give the line and,
 *   when the way is smaller than a page, the way. Else pages / members is the number of classes, a power of two, and
 *   C = A · classes · page.
 *   For a level that is shared, hashed or too large for that: the effective capacity, by random walks over all lines of
 *   more and more bytes (half way up from the level's latency to the next).
 *
 * When it fails: a level as small or as slow as its neighbour is not seen. Random replacement blurs the classes: such
 * levels get an effective capacity. Neighbours on the same core push pages out; tests carry a control, so time is lost,
 * not truth.
 */
#include "method/classes.h"
#include "method/levels.h"
#include "method/places.h"
#include "method/ways.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 20, /* id; twins and packed lines follow, then dense walks */
	PAGES_WANTED = 3072,
	PAGES_NONE = 4096, /* grain where there are no pages */
	STAIRS = 3,
	LINES = 8,
	CLASS_PAGES_MAX = 1600, /* a level that takes more pages to fill is not sorted into classes */
	CLASSES_WANTED = 3,
	CLASSES_TRIED = 5,
	STRANGERS_MORE = 3,
	DELTAS = 10,
};
static const uint64_t dense_wanted = UINT64_C(64) << 20, most_wanted = UINT64_C(512) << 20;
static const double coarse_ns = 100, visits_quiet = 1.6e6, visits_noisy = 8e6;

struct outer {
	struct xr_run *run;
	struct xr_evict evict;
	uint64_t room, most; /* bytes of the buffer; of the largest walk */
	uint32_t *order;     /* items in random order */
	size_t n_items;
	double hit;
	size_t l1_ways, strangers;
	uint64_t line;                        /* of the first level; 64 when not known */
	struct xr_level level[XR_LEVELS_MAX]; /* [0] is the first cache; the last one is memory */
	size_t n_levels;
	struct xr_staircase walk;
	double noise; /* range of what should be equal in the staircases, cycles */
};

/* What one class says about a level. */
struct testimony {
	size_t ways;
	double pages, members; /* looked at, found: their ratio is the number of classes */
	bool hidden;           /* perhaps, by the first level: there was nothing to push members out of it */
	bool meets[DELTAS];
	bool has_meets;
};

/* What was found about one level. */
struct geometry {
	struct testimony said[CLASSES_TRIED];
	size_t n_said;
	size_t ways; /* the mode */
	size_t agree;
	const char *trouble;
};

static void shuffle(uint32_t *item, size_t n, struct xr_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(rng, i);
		uint32_t swap = item[i - 1];

		item[i - 1] = item[j];
		item[j] = swap;
	}
}

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
	o->room = room / item * item;
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

static int find_levels(struct outer *o)
{
	struct xr_staircase stairs[STAIRS + 2], *near = &stairs[STAIRS], *far = near + 1;
	struct xr_description *d = xr_run_description(o->run);
	struct xr_walk all = {.run = o->run,
	                      .buffer = BUFFER + 3,
	                      .page = o->evict.page,
	                      .line = o->line,
	                      .tlbs = xr_tlbs_known(o->run)};

	for (size_t s = 0; s < STAIRS; s++) {
		shuffle(o->order, o->n_items, xr_run_rng(o->run));
		if (xr_staircase_climb(&o->evict, o->order[o->n_items - 1], o->order, o->n_items - 1, o->hit,
		                       &stairs[s]) != 0)
			return -1;
		xr_run_progress(o->run, 0.1 * (double)(s + 1), "levels");
	}
	if (xr_staircase_near(&o->evict, o->hit, near) != 0 ||
	    xr_staircase_far(&all, o->room / 256, o->room, o->most, far) != 0)
		return -1;
	o->n_levels = xr_levels_from(stairs, STAIRS + 2, o->hit, o->level);
	o->walk = *far;
	for (size_t s = 0; s < STAIRS; s++)
		o->noise = fmax(o->noise, stairs[s].range);
	xr_series_put(d, "cache.staircase", "pages visited in between", "", stairs[0].pages,
	              "time of a line of the page", "cycles", stairs[0].cycles, stairs[0].n);
	xr_series_put(d, "cache.walk", "pages walked over", "", far->pages, "time per access", "cycles", far->cycles,
	              far->n);
	return 0;
}

/* The latency of a level that staircases have found, again, by walks long enough to be exact: one line of each of so many
 * pages that the nearer level is full and this one is not, against a twin that costs the TLB the same. */
static int refine_latency(struct outer *o, size_t level)
{
	enum { WALKS = 9 };
	struct xr_arena *arena = xr_run_arena(o->run);
	double fill = level > 1 ? o->level[level - 1].items : (double)o->strangers, room = o->level[level].items,
	       value[WALKS];
	size_t n = (size_t)(room > 4 * fill ? sqrt(fill * room) : 2 * fill);
	struct xr_spec spec[2 * WALKS];
	struct xr_reading reading[2 * WALKS];
	struct xr_effort effort = {.samples = 9, .samples_max = 18};

	if (fill <= 0 || n < 2 || n >= o->n_items || o->noise < 0.01 * o->level[level].latency)
		return 0;
	if (level > 1 && (double)n < 2 * fill)
		n = (size_t)(2 * fill);
	for (size_t i = 0; i < WALKS; i++) {
		struct xr_places set = xr_places_new(arena, n), twin;

		shuffle(o->order, o->n_items, xr_run_rng(o->run));
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

static void put_levels(struct outer *o)
{
	struct xr_description *d = xr_run_description(o->run);
	double sure = o->noise < 0.05 * o->hit ? 0.97 : 0.85;
	struct xr_fact *fact =
		xr_fact_count(d, "cache.levels", (long long)(o->n_levels - 1), "", sure, "staircases of pages");

	xr_fact_add_series(fact, "cache.staircase");
	xr_fact_add_series(fact, "cache.walk");
	for (size_t l = 1; l + 1 < o->n_levels; l++) {
		double latency = xr_snap_integer(o->level[l].latency, fmax(0.15, 0.02 * o->level[l].latency));

		fact = xr_fact_number(d, level_id(o, l, "latency"), latency, "cycles", fmin(sure, 0.95),
		                      "staircases of pages");
		xr_fact_add_series(fact, "cache.staircase");
	}
}

/* ---- one level ------------------------------------------------------------------------------------------------- */

/* Items that push x out of the nearer level and no further; none when there are no such. */
static int find_flush(struct outer *o, uint32_t x, size_t level, struct xr_evict *e)
{
	size_t want = o->strangers, tries = 0;

	if (level != 1 || want > o->n_items / 4)
		return 0;
	for (; tries < 4; tries++) {
		uint32_t *flush = xr_arena_array(xr_run_arena(o->run), uint32_t, want);
		struct xr_items nothing = {NULL, 0};
		double value;

		for (size_t i = 0; i < want; i++)
			do
				flush[i] = o->order[xr_rng_below(xr_run_rng(o->run), o->n_items)];
			while (flush[i] == x);
		e->flush = flush;
		e->n_flush = want;
		if (xr_evict_values(e, x, &nothing, 1, &value) != 0)
			return -1;
		if (value < o->level[level].latency + 0.2 * (o->level[level + 1].latency - o->level[level].latency))
			return 0;
	}
	e->n_flush = 0;
	return 0;
}

/* Where (nearly) every page is of the class, all of them are: the few others were wrong answers. */
static void settle_strangers(struct xr_class *c)
{
	if (c->n_strangers * 3 >= c->n_members - c->n_core + 1)
		return;
	memcpy(c->member + c->n_members, c->stranger, c->n_strangers * sizeof *c->member);
	c->n_members += c->n_strangers;
	c->n_strangers = 0;
}

static int ask_distances(struct outer *o, const struct xr_ways *w, struct testimony *said)
{
	uint64_t page = o->evict.page ? o->evict.page : o->evict.item;
	size_t deltas = 0;

	while (deltas < DELTAS && (UINT64_C(8) << deltas) < page)
		deltas++;
	said->has_meets = true;
	return xr_ways_meet(w, said->ways, deltas, said->meets);
}

/* Adds what this class says to the geometry, when it says something. */
static int ask_class(struct outer *o, size_t level, struct xr_class *c, struct geometry *g)
{
	struct xr_ways w = {.class = c,
	                    .strangers = o->strangers,
	                    .nearer = o->level[level - 1].latency,
	                    .twin = {BUFFER + 1, o->room, XR_SMALL}};
	struct testimony *said = &g->said[g->n_said];
	size_t tested, found = c->n_members, want = c->n_core + c->n_core / 2 + 4, wrong;

	if (xr_class_grow(c, o->order + c->straw, o->n_items - 1 - c->straw, want, &tested) != 0)
		return -1;
	settle_strangers(c);
	if (c->n_members < c->n_core + 2)
		return 0;
	if (xr_ways_count(&w, &said->ways, &wrong) != 0)
		return -1;
	if (said->ways == 0 || wrong * 3 > said->ways)
		return 0;
	g->n_said++;
	said->hidden = c->n_strangers < o->strangers / 2 && said->ways <= o->l1_ways * 3 / 2;
	said->pages = (double)(c->straw + tested);
	said->members = (double)(c->n_core + c->n_members - found);
	if (c->n_members + 1 >= 2 * (said->ways - said->ways / 4))
		return ask_distances(o, &w, said);
	return 0;
}

static void count_votes(struct geometry *g)
{
	double value[CLASSES_TRIED], share;

	for (size_t i = 0; i < g->n_said; i++)
		value[i] = (double)g->said[i].ways;
	if (g->n_said == 0)
		return;
	g->ways = (size_t)xr_mode(value, g->n_said, &share);
	g->agree = (size_t)lround(share * (double)g->n_said);
}

static int find_geometry(struct outer *o, size_t level, struct geometry *g)
{
	/* Where answers have to be asked for again and again, there must be room for that. */
	bool quiet = o->noise < 0.01 * o->level[level].latency;
	size_t wanted = quiet ? CLASSES_WANTED - 1 : CLASSES_WANTED;
	double left = quiet ? visits_quiet : visits_noisy;

	memset(g, 0, sizeof *g);
	for (size_t t = 0; t < CLASSES_TRIED && g->agree < wanted && left > 0; t++) {
		struct xr_evict e = o->evict;
		struct xr_class c = {.evict = &e,
		                     .near = o->level[level].latency,
		                     .far = o->level[level + 1].latency,
		                     .left = quiet ? visits_quiet / 2 : visits_noisy / 5};
		size_t enough = (size_t)(o->level[level].items * 2.5) + 16;

		shuffle(o->order, o->n_items, xr_run_rng(o->run));
		c.x = o->order[o->n_items - 1];
		if (find_flush(o, c.x, level, &e) != 0)
			return -1;
		if (xr_class_find(&c, o->order, enough < o->n_items - 1 ? enough : o->n_items - 1) != 0)
			return -1;
		left -= c.spent;
		if (c.trouble)
			g->trouble = c.trouble;
		else if (ask_class(o, level, &c, g) != 0)
			return -1;
		count_votes(g);
		xr_run_progress(o->run, 0.4 + 0.1 * (double)t, "classes of pages");
	}
	return 0;
}

/* ---- facts of one level ---------------------------------------------------------------------------------------- */

/* From the distances at which members meet: below the line they do, from the line on they do not, until the way. */
static void read_distances(const bool *meets, uint64_t page, uint64_t *line, uint64_t *way)
{
	size_t i = 0, n = 0;

	while (n < DELTAS && (UINT64_C(8) << n) < page)
		n++;
	*line = *way = 0;
	while (i < n && meets[i])
		i++;
	if (i == n)
		return;
	*line = UINT64_C(8) << i;
	while (i < n && !meets[i])
		i++;
	*way = UINT64_C(8) << i;
	for (; i < n; i++)
		if (!meets[i])
			*line = *way = 0; /* no way has such gaps */
}

/* Of those that agree about the ways: most frequent line and way, and classes of pages. */
static void sum_up(const struct geometry *g, uint64_t page, double *line, double *way, double *pages, double *members)
{
	double lines[CLASSES_TRIED], ways[CLASSES_TRIED], share;
	size_t n = 0;

	*line = *way = *pages = *members = 0;
	for (size_t i = 0; i < g->n_said; i++) {
		const struct testimony *said = &g->said[i];
		uint64_t l, w;

		if (said->ways != g->ways)
			continue;
		*pages += said->pages;
		*members += said->members;
		if (!said->has_meets)
			continue;
		read_distances(said->meets, page, &l, &w);
		lines[n] = (double)l;
		ways[n++] = (double)w;
	}
	if (n == 0)
		return;
	*line = xr_mode(lines, n, &share);
	*way = xr_mode(ways, n, &share);
}

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

/* Classes of pages: a power of two, near what the members say, and what the walk says. */
static double count_classes(const struct outer *o, size_t level, const struct geometry *g, double pages, double members,
                            bool *odd)
{
	double item = (double)o->evict.item, by_members = log2(pages / members);
	double bytes = find_effective(o, level),
	       by_walk = bytes > 0 ? log2(bytes / ((double)g->ways * item)) : by_members;
	double weight = fmin(8, sqrt(members)), mean = (weight * by_members + 2 * by_walk) / (weight + 2),
	       power = fmax(0, round(mean));

	*odd = fabs(by_members - power) > 0.5 || fabs(by_walk - power) > 1.5 || members < 6;
	return exp2(power);
}

static void put_geometry(struct outer *o, size_t level, const struct geometry *g)
{
	struct xr_description *d = xr_run_description(o->run);
	const char *method = "classes of pages that push each other out";
	double sure = g->agree >= 3 && g->agree * 4 >= g->n_said * 3 ? 0.88
	              : g->agree == 2 && g->n_said == 2              ? 0.85
	              : g->agree >= 2 && g->agree * 2 > g->n_said    ? 0.8
	                                                             : 0.5;
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item), line, way, pages, members;
	struct xr_fact *fact[2];

	sum_up(g, (uint64_t)page, &line, &way, &pages, &members);
	fact[0] = xr_fact_count(d, level_id(o, level, "ways"), (long long)g->ways, "", sure, method);
	put_line(o, level, line, sure);
	if (way > 0 && way < page) {
		fact[1] = xr_fact_count(d, level_id(o, level, "capacity"), (long long)((double)g->ways * way), "bytes",
		                        sure, method);
	} else {
		bool odd;
		double classes = count_classes(o, level, g, pages, members, &odd);

		fact[1] = xr_fact_count(d, level_id(o, level, "capacity"),
		                        (long long)((double)g->ways * classes * (double)o->evict.item), "bytes",
		                        odd ? 0.6 : sure, method);
		if (odd)
			xr_fact_note(fact[1], "about %.1f classes of pages, taken for %.0f", pages / members, classes);
	}
	for (size_t i = 0; i < 2; i++) {
		xr_fact_add_series(fact[i], "cache.staircase");
		if (sure < 0.8)
			xr_fact_doubt(fact[i], "only %zu of %zu pages say so", g->agree, g->n_said);
		else if (g->said[0].hidden)
			xr_fact_doubt(fact[i], "the first level, of about as many ways, may hide this one");
	}
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
	struct geometry g = {.trouble = "too large or too much shared to sort pages into classes"};
	double items = o->level[level].items;

	if (items > 0 && items <= CLASS_PAGES_MAX && level == 1 && find_geometry(o, level, &g) != 0)
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
	for (size_t l = 1; l + 1 < o.n_levels; l++)
		if (refine_latency(&o, l) != 0)
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
