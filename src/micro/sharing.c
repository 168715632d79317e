/* Which cores share a cache, and what each gets of it when all are busy.
 *
 * Parameter: cache.X.shared_by (cores that use one cache of level X together), cache.X.busy_capacity (bytes per core
 * that still come at the level's own speed when all of them walk through it).
 *
 * Idea: a walk over 60 % of a cache is slowed down by somebody who sweeps through 90 % of the same cache, and not at
 * all by somebody with a cache of his own. The victim's accesses depend on each other; the attacker's do not, so that
 * it is the faster one even while it misses: of two dependent walks the one that hits starves the other one out and
 * sees nothing.
 *
 * Algorithm: one CPU speaks for each core. All other cores attack at once: not slowed means that the cache is private.
 * Otherwise the cores are put in order of their distance (comm.latency where known, else by number), and the farthest
 * one that still hurts is bisected, since sharing follows distance; then a group beyond it must not hurt. Logarithmic
 * in the number of cores, and at most a handful of buffers as large as the cache.
 *
 * When it fails: needs the capacity of the level, two cores and pinning. A level that the neighbours in other virtual
 * machines use too is noisy: the best of several looks counts, and a slowdown between 1.12 and 1.3 decides nothing.
 */
#include "method/teams.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VICTIM_ID = 7100, CORES_MAX = 4096, LOOKS = 5, BEYOND = 4, SIZES = 7 };

static const double hurt = 1.3, unhurt = 1.12;

struct sharing {
	struct xr_run *run;
	const char *level;
	double capacity;
	const int *cpu; /* one per core, the victim first, the others in order of distance from it */
	int n;
	bool cores_known; /* else every CPU speaks for itself */
	double sample_ns;
	struct xr_spec victim, attacker;
	bool outermost; /* no larger cache is known */
	bool shaky;     /* some answer needed more than one look */
};

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Does the victim suffer from cores from..to-1? Best of several looks: neighbours only add time. */
static int ask(struct sharing *s, int from, int to, enum xr_verdict *verdict)
{
	struct xr_arena *arena = xr_run_arena(s->run);
	int n = to - from + 1, *cpu = xr_arena_array(arena, int, n), *place = xr_arena_array(arena, int, n);
	cpu[0] = s->cpu[0];
	for (int i = 1; i < n; i++) {
		place[i] = from + i - 1;
		cpu[i] = s->cpu[place[i]];
	}
	const struct xr_spec spec[2] = {
		xr_spec_team(arena, XR_TOGETHER, cpu, place, 1, &s->victim, NULL),
		xr_spec_team(arena, XR_TOGETHER, cpu, place, (unsigned)n, &s->victim, &s->attacker),
	};
	struct xr_effort effort = {.samples = 3, .samples_max = 5, .sample_ns = s->sample_ns};
	double best[2] = {INFINITY, INFINITY};
	for (int look = 0; look < LOOKS; look++) {
		struct xr_reading r[2];
		if (xr_run_time_with(s->run, &effort, spec, 2, r))
			return -1;
		for (int i = 0; i < 2; i++)
			if (r[i].status == XR_READ_OK && r[i].cycles > 0)
				best[i] = fmin(best[i], r[i].cycles);
		double slowdown = best[1] / best[0];
		*verdict = slowdown >= hurt ? XR_YES : (slowdown < unhurt ? XR_NO : XR_UNDECIDED);
		if (*verdict == XR_NO || (*verdict == XR_YES && look > 0)) /* a slowdown must show twice */
			return 0;
		s->shaky |= look > 0;
	}
	return 0;
}

/* Cores that share with the victim, itself included; 0: cannot tell. */
static int find_sharers(struct sharing *s, int *sharers)
{
	enum xr_verdict verdict;
	double room = (double)xr_run_info(s->run)->memory_bytes / 4 / s->capacity;
	int attackers = room < s->n - 1 ? (room < 1 ? 1 : (int)room) : s->n - 1;
	*sharers = 0;
	if (ask(s, 1, 1 + attackers, &verdict))
		return -1;
	if (verdict != XR_YES) {
		*sharers = verdict == XR_NO ? 1 : 0;
		return 0;
	}
	int lo = 0, hi = s->n; /* lo hurts (or is the victim itself), hi does not (or is not there) */
	for (int at = s->n - 1; hi - lo > 1; at = lo + (hi - lo) / 2) {
		if (ask(s, at, at + 1, &verdict))
			return -1;
		if (verdict == XR_UNDECIDED)
			return 0;
		if (verdict == XR_YES)
			lo = at;
		else
			hi = at;
	}
	if (lo > 0 && lo < s->n - 1) { /* nobody beyond */
		int to = lo + 1 + BEYOND < s->n ? lo + 1 + BEYOND : s->n;
		if (ask(s, lo + 1, to, &verdict))
			return -1;
		if (verdict != XR_NO)
			return 0;
	}
	s->shaky |= lo == 0; /* all together hurt and none alone: the pressure came from a level further out */
	*sharers = lo + 1;
	return 0;
}

/* ---- what each gets ---------------------------------------------------------------------------------------------- */

/* All sharers walk over the same share of the level; the largest share at which nobody is slower than alone. */
static int busy_capacity(struct sharing *s, int sharers)
{
	static const double share[SIZES] = {1. / 16, 1. / 8, 3. / 16, 1. / 4, 3. / 8, 1. / 2, 3. / 4};
	struct xr_arena *arena = xr_run_arena(s->run);
	struct xr_spec spec[2 * SIZES];
	struct xr_reading r[2 * SIZES];
	double x[SIZES], y[SIZES], largest = 0;
	for (int i = 0; i < SIZES; i++) {
		uint64_t bytes = (uint64_t)(s->capacity * share[i]) / 4096 * 4096;
		struct xr_spec walk =
			xr_spec_walkabout(arena, VICTIM_ID, bytes > 4096 ? bytes : 4096, 64, XR_READ, XR_ANY);
		spec[2 * i] = xr_spec_team(arena, XR_TOGETHER, s->cpu, NULL, 1, &walk, NULL);
		spec[2 * i + 1] = xr_spec_team(arena, XR_TOGETHER, s->cpu, NULL, (unsigned)sharers, &walk, &walk);
	}
	struct xr_effort effort = {.samples = 3, .samples_max = 5, .sample_ns = s->sample_ns};
	if (xr_run_time_with(s->run, &effort, spec, 2 * SIZES, r))
		return -1;
	int n = 0;
	for (int i = 0; i < SIZES; i++) {
		if (r[2 * i].status != XR_READ_OK || r[2 * i + 1].status != XR_READ_OK || !(r[2 * i].cycles > 0))
			break;
		x[n] = s->capacity * share[i];
		y[n] = r[2 * i + 1].cycles / r[2 * i].cycles;
		if (y[n] < hurt)
			largest = x[n];
		else
			i = SIZES;
		n++;
	}
	struct xr_description *d = xr_run_description(s->run);
	const char *id = xr_arena_printf(arena, "cache.%s.busy_capacity", s->level);
	if (!(largest > 0)) {
		xr_fact_none(d, id, XR_UNRELIABLE,
		             "with all sharers busy even a sixteenth of the level is slower than alone");
		return 0;
	}
	struct xr_fact *fact = xr_fact_count(d, id, (long long)largest, "bytes", 0.8, "all sharers walk");
	const char *series = xr_arena_printf(arena, "%s.slowdown", id);
	xr_series_put(d, series, "footprint per core", "bytes", x, "slowdown", "", y, (size_t)n);
	xr_fact_add_series(fact, series);
	return 0;
}

/* ---- the micro-benchmark ----------------------------------------------------------------------------------------- */

/* Long enough for the attacker to get through the cache before and while the victim is timed. */
static int prepare(struct sharing *s)
{
	struct xr_arena *arena = xr_run_arena(s->run);
	uint64_t bytes = (uint64_t)(0.6 * s->capacity) / 64 * 64;
	struct xr_reading r;
	s->victim = xr_spec_walkabout(arena, VICTIM_ID, bytes, 64, XR_READ, XR_ANY);
	s->attacker =
		xr_spec_walkabout(arena, VICTIM_ID, (uint64_t)(0.9 * s->capacity) / 64 * 64, 64, XR_TOUCH, XR_ANY);
	struct xr_effort once = {.samples = 3, .samples_max = 3};
	if (xr_run_time_with(s->run, &once, &s->victim, 1, &r))
		return -1;
	double pass_ns = r.status == XR_READ_OK ? r.ns * (double)bytes / 64 : 0;
	s->sample_ns = fmin(fmax(2 * pass_ns, 5e4), 1e8);
	return 0;
}

static int measure_level(struct sharing *s)
{
	struct xr_arena *arena = xr_run_arena(s->run);
	struct xr_description *d = xr_run_description(s->run);
	const char *id = xr_arena_printf(arena, "cache.%s.shared_by", s->level);
	int sharers;
	s->shaky = false;
	if (prepare(s) || find_sharers(s, &sharers))
		return -1;
	if (!sharers) {
		xr_fact_none(d, id, XR_UNRELIABLE,
		             "others slow a walk through this level down sometimes, or a little: no clear answer");
		return 0;
	}
	bool shaky = s->shaky || (s->outermost && sharers == 1);
	struct xr_fact *fact =
		xr_fact_count(d, id, sharers, "cores", shaky ? 0.8 : 0.95, "a walk disturbed by another core's");
	if (!s->cores_known && sharers > 1)
		xr_fact_doubt(fact, "counts CPUs: which of them are one core is not known");
	else if (s->outermost && sharers == 1)
		xr_fact_note(fact, "if this level is larger than what is measured of it, sharing it does not show");
	else if (s->shaky)
		xr_fact_note(fact, "some answers needed a second look: somebody else uses this level too");
	return sharers > 1 ? busy_capacity(s, sharers) : 0;
}

struct distance {
	int cpu;
	double ns;
};

static int by_distance(const void *a, const void *b)
{
	const struct distance *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return (x->cpu > y->cpu) - (x->cpu < y->cpu);
}

/* ns from one CPU to another as comm found it, in classes of a tenth so that noise does not shuffle equals; 0:
 * unknown. */
static double distance_between(const struct xr_description *d, int from, int to)
{
	const struct xr_fact *fact = xr_description_fact(d, "comm.latency");
	const json_t *cpus = fact && fact->status == XR_OK ? json_object_get(fact->value, "cpus") : NULL;
	long row = -1, column = -1;
	for (size_t i = 0; i < json_array_size(cpus); i++) {
		int cpu = (int)json_integer_value(json_array_get(cpus, i));
		row = cpu == from ? (long)i : row;
		column = cpu == to ? (long)i : column;
	}
	if (!fact || row < 0 || column < 0)
		return 0;
	double ns = json_number_value(
		json_array_get(json_array_get(json_object_get(fact->value, "rows"), (size_t)row), (size_t)column));
	return ns > 0 ? exp(round(log(ns) / log(1.25)) * log(1.25)) : 0;
}

/* One CPU per core, the first one's distance from each. */
static void choose_cores(struct sharing *s)
{
	const struct xr_target_info *info = xr_run_info(s->run);
	struct xr_description *d = xr_run_description(s->run);
	const struct xr_fact *fact = xr_description_fact(d, "threads.siblings");
	bool known = fact && fact->status == XR_OK;
	int n = known ? (int)json_array_size(fact->value) : info->n_cpus;
	n = n < CORES_MAX ? n : CORES_MAX;
	int *cpu = xr_arena_array(xr_run_arena(s->run), int, n);
	struct distance *order = xr_arena_array(xr_run_arena(s->run), struct distance, n);
	for (int i = 0; i < n; i++)
		order[i].cpu =
			known ? (int)json_integer_value(json_array_get(json_array_get(fact->value, (size_t)i), 0))
			      : info->cpu_ids[i];
	for (int i = 1; i < n; i++)
		order[i].ns = distance_between(d, order[0].cpu, order[i].cpu);
	qsort(order + 1, (size_t)n - 1, sizeof *order, by_distance);
	for (int i = 0; i < n; i++)
		cpu[i] = order[i].cpu;
	s->cpu = cpu;
	s->n = n;
	s->cores_known = known;
}

static int run_sharing(struct xr_run *run)
{
	static const char *const levels[] = {"l1d", "l2", "l3", "l4"};
	enum { N = sizeof levels / sizeof *levels };
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_description *d = xr_run_description(run);
	struct sharing s = {.run = run};
	bool able = info->n_cpus > 1 && info->can_pin;
	if (able)
		choose_cores(&s);
	for (int i = 0; i < N; i++) {
		s.level = levels[i];
		s.capacity = xr_run_number(run, xr_arena_printf(xr_run_arena(run), "cache.%s.capacity", levels[i]), 0);
		if (!(s.capacity > 0))
			continue;
		s.outermost = i > 0; /* the first level is small and measured exactly */
		for (int k = i + 1; k < N; k++)
			s.outermost &=
				!(xr_run_number(run, xr_arena_printf(xr_run_arena(run), "cache.%s.capacity", levels[k]),
			                        0) > 0);
		xr_run_progress(run, (double)i / N, levels[i]);
		if (!able || s.n < 2) {
			xr_fact_none(d, xr_arena_printf(xr_run_arena(run), "cache.%s.shared_by", levels[i]),
			             XR_UNSUPPORTED, "%s",
			             info->n_cpus > 1 && !info->can_pin
			                     ? "threads cannot be pinned to CPUs here"
			                     : "only one core may be used here: nobody to share with");
			continue;
		}
		if (measure_level(&s))
			return -1;
	}
	return 0;
}

static const char *const finds[] = {"cache.*.shared_by", "cache.*.busy_capacity", NULL};
static const char *const needs[] = {"threads", "comm", "cache_l1d", NULL};

const struct xr_micro xr_micro_sharing = {
	.id = "sharing",
	.title = "which cores share a cache, and what each gets",
	.finds = finds,
	.needs = needs,
	.cost_s = 3,
	.kinds = 1u << XR_TEAM | 1u << XR_CHAIN,
	.run = run_sharing,
};
