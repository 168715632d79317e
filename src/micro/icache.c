/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l1i.capacity, .ways, .line, .latency, .miss_penalty.
 *
 * Idea: straight-line code does not show the instruction cache of a core that fetches ahead (paper 003's curve is
 * flat to the size of the second level there); a jump that nobody can foresee does, since nothing is fetched
 * ahead of it: it takes the time of a misprediction plus that of fetching its target. So the questions of paper
 * 002 §4.3-4.4 (ways, capacity, line) are put with blocks of code for lines and with jumps for loads, over fresh
 * random permutations, and each walk is compared with a twin of as many jumps in the same pages that conflict
 * nowhere. A cache of decoded code keeps lean blocks for itself; blocks full of statements need several of its
 * entries each, so both are asked.
 *
 * Algorithm: hypotheses (infer/stack.h) of sets, ways, policy, with decoded code before the cache, a level behind
 * it, or neither, compete. First the curve of one stride, with lean and with full blocks; then the strides and
 * counts on which the leading hypotheses differ most. Line: A blocks at strides of one way and A more, delta
 * further on: as long as delta is less than a line they are 2 A lines of one set and miss; every length is a
 * hypothesis. Latency of a hit: what a jump takes less the misprediction (micro/branch.c); only where paper 003's
 * straight-line code (micro/code.c) sees the same capacity, since a core that fetches ahead has no such latency.
 *
 * When it fails: no executable memory (unsupported); everything fits (no cache, or a very large one:
 * unsupported); nothing that a cache can do makes these curves (unreliable): the core's other thread is busy; a
 * way is larger than a page in a physically indexed cache, so conflicts are a matter of luck (unreliable, and
 * said: looks at other pages see other numbers). Blocks are 16
 * bytes or more apart, so a shorter line cannot be told from that. Paper 003's answer is reported, too, where it
 * differs; where jumps show nothing it stands alone.
 */
#include "infer/ways.h"
#include "method/hunt.h"
#include "method/regular.h"
#include "method/walks.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	REGION = 1,    /* and the next one for full blocks; also code.c's and itlb.c's, each with a size of its own */
	PAGE = 4096,   /* for laying out; also the first stride */
	UNIT = 128,    /* of rows: as long as lines are, or longer */
	SPACING = 64,  /* of a plain row */
	ROWS = 4,      /* asked at once: one visit in four goes to a set of its own */
	SHORTEST = 16, /* lines thought of: nothing shorter can be asked, … */
	LONGEST = 512, /* and nothing as long was ever heard of */
	LINES = 6,
	LOOKS = 3,
	SAMPLES = 6,
};
static const uint64_t region_bytes = 4 << 20;
static const double whole =
	0.25; /* cycles: latencies are whole numbers of them, and this is a difference of two readings */

static void place_lines(const struct xr_hunt *h, uint64_t stride, unsigned count, unsigned rows, uint64_t block,
                        uint64_t *address, uint64_t *twin)
{
	xr_jumps_place(stride, count, rows, h->j.unit, PAGE, block, address, twin);
}

/* ---- line ------------------------------------------------------------------------------------------------------ */

/* In each of some sets `ways` lines, and as many more, delta bytes further on. delta 0: all in one set. */
static void ask_delta(struct xr_jumps *j, uint64_t way, unsigned ways, unsigned rows, uint64_t delta,
                      unsigned statements)
{
	struct xr_arena *arena = xr_run_arena(j->run);
	const unsigned n = 2 * ways * rows;
	uint64_t *address = xr_arena_array(arena, uint64_t, 2 * n), *twin = address + n;
	unsigned at = 0;
	for (unsigned i = 0; i < 2 * ways; i++)
		for (unsigned k = 0; k < rows; k++, at++)
			address[at] = i * way + k * LONGEST + (i < ways ? 0 : delta);
	xr_jumps_pack(address, n, PAGE, j->block[statements > 0], twin);
	xr_jumps_add(j, 0, statements, (unsigned)delta, address, twin, n);
}

/* What a line of this length makes of the questions. */
static double log_of_line(const struct xr_jumps *j, struct xr_misses *misses, const struct xr_stack_hypothesis *best,
                          uint64_t line)
{
	struct xr_arena *arena = xr_run_arena(j->run);
	struct xr_conflict_point *point = xr_arena_copy(arena, j->point, j->n * sizeof *point);
	struct xr_conflict c = {.misses = misses, .watch = xr_run_watch(j->run)};
	struct xr_conflict_model m = best->model;
	double penalty[2];
	for (size_t i = 0; i < j->n; i++) {
		uint64_t *place = xr_arena_array(arena, uint64_t, point[i].n);
		for (unsigned k = 0; k < point[i].n; k++)
			place[k] = point[i].place[k] * j->unit / line;
		point[i].place = place;
	}
	xr_conflict_init(&c, arena, point, j->n);
	m.first.sets = m.first.sets * UNIT / line;
	m.second.sets = m.second.sets * UNIT / line;
	if (!m.first.sets || (m.second.ways && !m.second.sets))
		return -INFINITY;
	return xr_conflict_log(&c, &m, XR_CONFLICT_ALL, penalty);
}

/* *line: the likeliest length, 0: none of these; *p: its probability. */
static int find_line(const struct xr_hunt *h, uint64_t *line, double *p)
{
	const struct xr_stack_hypothesis *best = &h->s.h[h->best];
	const struct xr_conflict_array *a = xr_stack_array(best);
	const uint64_t way = a->sets * UNIT;
	const unsigned statements = best->decoded ? XR_BLOCK_SOME : 0;
	const unsigned rows = way / LONGEST > ROWS ? ROWS : way > LONGEST ? (unsigned)(way / LONGEST) : 1;
	struct xr_jumps *j = xr_arena_alloc(xr_run_arena(h->j.run), sizeof *j);
	double log_line[LINES];
	if (xr_jumps_init(j, h->j.run, REGION, h->j.bytes, SHORTEST, PAGE) != 0)
		return -1;
	j->patience_ns = h->j.patience_ns;
	if (xr_jumps_learn(j, statements) != 0)
		return -1;
	ask_delta(j, way, a->ways, rows, 0, statements);
	size_t which[LINES + 2] = {0};
	for (uint64_t delta = j->block[statements > 0]; delta < LONGEST && delta <= way / 2; delta *= 2)
		ask_delta(j, way, a->ways, rows, delta, statements);
	for (size_t i = 0; i < j->n; i++)
		which[i] = i;
	for (int i = 0; i < LOOKS && !j->trouble; i++)
		if (xr_jumps_look(j, which, j->n, SAMPLES, 0.5) != 0)
			return -1;
	struct xr_belief belief = xr_belief_new(xr_run_arena(h->j.run), LINES, NULL);
	for (int i = 0; i < LINES; i++)
		log_line[i] = log_of_line(j, h->s.c.misses, best, (uint64_t)SHORTEST << i);
	struct xr_conflict c = {0};
	xr_conflict_init(&c, xr_run_arena(h->j.run), j->point, j->n);
	xr_belief_add(&belief, log_line, xr_conflict_none(&c, XR_CONFLICT_ALL), 1);
	const size_t at = xr_belief_best(&belief, p);
	if (xr_run_go_on(h->j.run) != 0)
		return -1;
	*line = at < LINES ? (uint64_t)SHORTEST << at : 0;
	return 0;
}

/* ---- latency --------------------------------------------------------------------------------------------------- */

/* A jump that hits: read like the branches it will be compared with, not at its quickest. */
static int time_hit(const struct xr_jumps *j, double *cycles)
{
	enum { TIMES = 5 };
	const struct xr_span row = {.stride = SPACING, .count = PAGE / SPACING};
	struct xr_spec spec[TIMES];
	struct xr_reading reading[TIMES];
	double each[TIMES];
	for (int i = 0; i < TIMES; i++) {
		spec[i] = (struct xr_spec){.kind = XR_WALK};
		spec[i].walk = (struct xr_walk_spec){.kind = XR_JUMPS,
		                                     .region = j->region,
		                                     .bytes = j->bytes,
		                                     .span = &row,
		                                     .n_spans = 1,
		                                     .seed = (uint64_t)i + 1};
	}
	if (xr_run_time(j->run, spec, TIMES, reading) != 0)
		return -1;
	for (int i = 0; i < TIMES; i++)
		each[i] = reading[i].cycles;
	*cycles = xr_median(each, TIMES);
	return 0;
}

/* ---- facts ----------------------------------------------------------------------------------------------------- */

static const char *const finds[] = {
	"cache.l1i.capacity", "cache.l1i.ways", "cache.l1i.line", "cache.l1i.latency", "cache.l1i.miss_penalty", NULL,
};
static const char *const needs[] = {"branch", "code", NULL};
static const char method[] = "unforeseen jumps", paper[] = "straight-line additions (paper 003)";
static const double most_sure = 0.98; /* the posterior knows nothing of what nobody has thought of */

static void put_none(struct xr_description *d, enum xr_status status, const char *const *ids, const char *reason)
{
	for (; *ids; ids++)
		xr_fact_none(d, *ids, status, "%s", reason);
}

/* Does paper 003's method see this capacity? Its last body that runs at full speed may be larger, since few sets
 * overflow at first, and some policies keep part of what is run in order. */
static bool straight_agrees(const struct xr_run *run, double capacity)
{
	double limit = xr_run_number(run, "code.unroll_limit", 0);
	return limit > 0.9 * capacity && limit < 3 * capacity;
}

struct found {
	unsigned ways;
	uint64_t way, line; /* bytes; line 0: none fits */
	double p, p_capacity, p_line;
	double penalty, hit;
	bool decoded;
	bool series;    /* there is one */
	bool by_chance; /* lines are evicted so: what is left of them makes the penalty seem less */
};

static void put_geometry(struct xr_run *run, const struct found *found)
{
	struct xr_description *d = xr_run_description(run);
	const double bytes = (double)(found->ways * found->way), limit = xr_run_number(run, "code.unroll_limit", 0);
	struct xr_fact *capacity = xr_fact_count(d, "cache.l1i.capacity", (long long)bytes, "bytes",
	                                         fmin(most_sure, found->p_capacity), method);
	struct xr_fact *ways = xr_fact_count(d, "cache.l1i.ways", found->ways, "", fmin(most_sure, found->p), method);
	if (found->series) {
		xr_fact_add_series(capacity, "cache.l1i.way");
		xr_fact_add_series(ways, "cache.l1i.way");
	}
	if (found->decoded) {
		xr_fact_add_series(ways, "cache.l1i.lean");
		xr_fact_note(ways, "short blocks come from a cache of decoded code, so full ones were timed");
	}
	if (found->line)
		xr_fact_count(d, "cache.l1i.line", (long long)found->line, "bytes",
		              fmin(most_sure, found->p_line * found->p), method);
	else
		xr_fact_none(d, "cache.l1i.line", XR_UNRELIABLE, "no line size explains these times");
	if (limit > 0 && !straight_agrees(run, bytes))
		xr_fact_note(capacity, "straight-line code runs at full speed up to %.0f KiB: this core fetches ahead",
		             limit / 1024);
}

static void put_costs(struct xr_run *run, const struct found *found)
{
	struct xr_description *d = xr_run_description(run);
	const double sure = fmin(found->p, xr_run_info(run)->exact ? most_sure : 0.85),
		     mispredict = xr_run_number(run, "branch.mispredict", 0);
	/* what chance leaves of lines makes it seem less, and no whole number */
	xr_fact_number(d, "cache.l1i.miss_penalty", found->penalty, "cycles",
	               found->by_chance && found->penalty != round(found->penalty) ? fmin(sure, 0.7) : sure, method);
	if (!straight_agrees(run, (double)(found->ways * found->way)))
		xr_fact_none(d, "cache.l1i.latency", XR_UNSUPPORTED,
		             "this core fetches ahead, which hides the latency of a hit");
	else if (mispredict <= 0 || found->hit <= mispredict)
		xr_fact_none(d, "cache.l1i.latency", XR_UNSUPPORTED, "a jump cannot be told from its misprediction");
	else
		xr_fact_number(d, "cache.l1i.latency", xr_snap_integer(found->hit - mispredict, whole), "cycles", sure,
		               "unforeseen jump less branch.mispredict");
}

/* Jumps tell nothing: does paper 003's method? */
static void put_nothing(struct xr_run *run, const struct xr_hunt *h)
{
	struct xr_description *d = xr_run_description(run);
	const double limit = xr_run_number(run, "code.unroll_limit", 0), tried = (double)h->tried * PAGE;
	put_none(d, h->no_step ? XR_UNSUPPORTED : XR_UNRELIABLE, finds,
	         h->no_step ? xr_arena_printf(xr_run_arena(run), "no instruction cache to be seen in %.0f KiB of code",
	                                      tried / 1024)
	         : h->luck  ? "how much fits depends on where pages lie: the first cache of code has sets by physical "
	                      "addresses"
	                    : "no cache explains these curves");
	if (h->no_step && limit > 0 && limit < 0.9 * tried)
		xr_fact_doubt(xr_fact_number(d, "cache.l1i.capacity", limit, "bytes", 0.5, paper),
		              "jumps show no such cache");
}

static int put_found(struct xr_run *run, struct xr_hunt *h)
{
	const struct xr_stack_hypothesis *best = &h->s.h[h->best];
	const struct xr_conflict_array *a = xr_stack_array(best);
	struct found found = {.ways = a->ways,
	                      .way = a->sets * UNIT,
	                      .p = xr_ways_weigh(h->p, a->ways),
	                      .p_capacity = xr_ways_weigh(h->p_capacity, a->ways),
	                      .penalty = xr_hunt_penalty(h),
	                      .decoded = best->decoded,
	                      .series = true};
	if (find_line(h, &found.line, &found.p_line) != 0 || time_hit(&h->j, &found.hit) != 0)
		return -1;
	if (best->decoded) /* one block alone is there decoded, and nothing is fetched for it */
		found.hit += best->penalty[0];
	xr_hunt_series(h, best->decoded, "cache.l1i.way", "lines");
	if (best->decoded)
		xr_hunt_series(h, 0, "cache.l1i.lean", "lines");
	put_geometry(run, &found);
	put_costs(run, &found);
	return 0;
}

/* Where times repeat exactly: a plain index needs no hypotheses. *found: it is one. */
static int find_regular(struct xr_hunt *h, bool *found)
{
	enum { WAYS_MOST = 64, WAY_MOST = 64 << 10 };
	struct xr_run *run = h->j.run;
	struct found f = {.p = 1, .p_capacity = 1, .p_line = 1};
	struct xr_regular r = {.fits = xr_hunt_fits,
	                       .self = h,
	                       .unit = SHORTEST,
	                       .largest = WAY_MOST,
	                       .room = h->j.bytes - PAGE,
	                       .most = WAYS_MOST};
	bool fit;
	*found = false;
	if (xr_hunt_fits(h, &(struct xr_rows){.stride = PAGE, .n = 1}, &fit) != 0) /* also says how large a block is */
		return -1;
	r.unit = h->j.block[0] > SHORTEST ? h->j.block[0] : SHORTEST;
	if (h->j.trouble || xr_regular_find(&r) != 0)
		return h->j.trouble ? 0 : -1;
	if (!r.ways)
		return 0;
	f.ways = r.ways;
	f.way = r.way;
	if (xr_regular_line(&r, LONGEST, &f.line) != 0 ||
	    xr_hunt_cost(h, f.way, f.ways, &f.penalty, &f.by_chance) != 0 || time_hit(&h->j, &f.hit) != 0)
		return -1;
	*found = f.line > 0 && f.penalty > 0;
	if (*found) {
		put_geometry(run, &f);
		put_costs(run, &f);
	}
	return 0;
}

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	bool found = false;
	struct xr_hunt *h = xr_arena_alloc(xr_run_arena(run), sizeof *h);
	*h = (struct xr_hunt){
		.stride = PAGE,
		.first = 1,
		.enough = 20,
		.most = 320,
		.rows = ROWS,
		.spare = PAGE,
		.may_decode = true,
		.physical = true,
		.place = place_lines,
	};
	if (xr_jumps_init(&h->j, run, REGION, xr_walks_region(run, region_bytes), UNIT, PAGE) != 0 ||
	    (xr_run_info(run)->exact && find_regular(h, &found) != 0))
		return -1;
	if (found)
		return 0;
	if (xr_hunt_run(h) != 0)
		return -1;
	if (h->j.trouble) {
		put_none(d, h->j.unsupported ? XR_UNSUPPORTED : XR_FAILED, finds, h->j.trouble);
		return 0;
	}
	if (h->no_step || h->luck || h->best >= h->s.n) {
		put_nothing(run, h);
		return 0;
	}
	return put_found(run, h);
}

const struct xr_micro xr_micro_icache = {
	.id = "icache",
	.title = "first instruction cache: capacity, ways, line, cost of a miss",
	.finds = finds,
	.needs = needs,
	.cost_s = 1,
	.kinds = 1u << XR_WALK,
	.supported = xr_walks_supported,
	.run = run,
};
