/* SPDX-License-Identifier: MIT */
#include "method/sharers.h"

#include "method/teams.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64 /* where it is not known */, VICTIM_ID = 7100, CORES_MAX = 4096, LOOKS = 6, BEYOND = 4, SIZES = 6 };

/* A loss must show so many times more: who else uses the level comes and goes. */
enum { TWICE = 1, OFTEN = 4 };
static const double calm = 0.03; /* spread of the samples of a walk that nobody disturbs */

static const double hurt = 0.25, unhurt = 0.1; /* share of accesses that find their line gone because of others */

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Lines of the level at hand, all of so many bytes. */
static struct xr_spec walk_over(struct xr_sharers *s, double bytes, enum xr_access access)
{
	const double least = 8 * (double)s->line, most = (double)xr_run_room(s->run);
	return xr_spec_walkabout(xr_run_arena(s->run), VICTIM_ID,
	                         (uint64_t)fmin(fmax(bytes, least), most) / s->line * s->line, s->line, access, XR_ANY);
}

enum { HOME, NEAR, FAR, NEAR_ATTACKED, FAR_ATTACKED, N_WALKS };

/* The share of accesses that go beyond the level, of a walk that takes so long; home: where none does, far: where all
 * do. */
static double gone(double cycles, double home, double far)
{
	return far > home ? fmin(fmax((cycles - home) / (far - home), 0), 1) : 0;
}

static enum xr_verdict judge(const double *cycles)
{
	for (int i = 0; i < N_WALKS; i++)
		if (!(cycles[i] > 0)) /* not read yet */
			return XR_UNDECIDED;
	if (cycles[FAR] < 1.3 * cycles[HOME]) /* nothing beyond that would be slower */
		return XR_UNDECIDED;
	double alone = gone(cycles[NEAR], cycles[HOME], cycles[FAR]);
	double attacked = gone(cycles[NEAR_ATTACKED], cycles[HOME], fmax(cycles[FAR], cycles[FAR_ATTACKED]));
	return attacked - alone >= hurt ? XR_YES : (attacked - alone <= unhurt ? XR_NO : XR_UNDECIDED);
}

/* A sample of many laps through a large cache is long: what disturbs for a moment is a small part of it, and one is as good
 * as several short ones. */
static struct xr_effort effort_of(const struct xr_sharers *s)
{
	const double enough_ns = 1e8;
	const int samples = (int)fmin(fmax(enough_ns / s->sample_ns, 1), 3);
	return (struct xr_effort){
		.samples = samples, .samples_max = samples > 1 ? samples + 2 : 1, .sample_ns = s->sample_ns};
}

/* Does the victim lose lines to cores from..to-1? Best of several looks: neighbours only add time. */
static int ask(struct xr_sharers *s, int from, int to, enum xr_verdict *verdict)
{
	struct xr_arena *arena = xr_run_arena(s->run);
	int n = to - from + 1, *cpu = xr_arena_array(arena, int, n), *place = xr_arena_array(arena, int, n);
	struct xr_spec spec[N_WALKS];
	struct xr_reading r[N_WALKS];
	double best[N_WALKS] = {0};
	bool restless = false;
	cpu[0] = s->cpu[0];
	for (int i = 1; i < n; i++) {
		place[i] = from + i - 1;
		cpu[i] = s->cpu[place[i]];
	}
	for (int i = 0; i < N_WALKS; i++) {
		bool attacked = i >= NEAR_ATTACKED;
		spec[i] = xr_spec_team(arena, XR_TOGETHER, cpu, place, attacked ? (unsigned)n : 1,
		                       &s->walk[attacked ? i - NEAR_ATTACKED + NEAR : i], &s->attacker);
	}
	const struct xr_effort effort = effort_of(s);
	for (int look = 0; look < LOOKS; look++) {
		xr_run_progress(s->run, s->begun + s->share * look / LOOKS, s->level);
		if (xr_run_time_with(s->run, &effort, spec, N_WALKS, r))
			return -1;
		for (int i = 0; i < N_WALKS; i++)
			if (r[i].status == XR_READ_OK && r[i].cycles > 0)
				best[i] = best[i] > 0 ? fmin(best[i], r[i].cycles) : r[i].cycles;
		s->far_cycles = fmax(best[FAR], best[FAR_ATTACKED]);
		s->home_cycles = best[HOME];
		*verdict = judge(best);
		for (int i = 0; i < N_WALKS; i++)
			restless = restless || r[i].spread > calm;
		if (*verdict == XR_NO || (*verdict == XR_YES && look >= (restless ? OFTEN : TWICE)))
			return 0;
		s->shaky |= look > 0;
	}
	return 0;
}

/* Cores that share with the victim, itself included; 0: cannot tell. */
static int find_sharers(struct xr_sharers *s, int *sharers)
{
	enum xr_verdict verdict;
	double room = (double)xr_run_room(s->run) / s->capacity;
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

/* All sharers walk over the same share of the level; the largest share that none of them loses lines of. */
static int busy_capacity(struct xr_sharers *s, int sharers)
{
	static const double share[SIZES] = {1. / 8, 1. / 4, 1. / 2, 3. / 4, 1, 1.5}; /* of what is everybody's */
	struct xr_arena *arena = xr_run_arena(s->run);
	struct xr_spec spec[2 * SIZES];
	struct xr_reading r[2 * SIZES];
	double x[SIZES], y[SIZES], largest = 0, fair = s->capacity / sharers;
	for (int i = 0; i < SIZES; i++) {
		struct xr_spec walk = walk_over(s, fair * share[i], XR_READ);
		spec[2 * i] = xr_spec_team(arena, XR_TOGETHER, s->cpu, NULL, 1, &walk, NULL);
		spec[2 * i + 1] = xr_spec_team(arena, XR_TOGETHER, s->cpu, NULL, (unsigned)sharers, &walk, &walk);
	}
	const struct xr_effort effort = effort_of(s);
	if (xr_run_time_with(s->run, &effort, spec, 2 * SIZES, r))
		return -1;
	int n = 0;
	for (int i = 0; i < SIZES; i++) {
		if (r[2 * i].status != XR_READ_OK || r[2 * i + 1].status != XR_READ_OK || !(r[2 * i].cycles > 0))
			break;
		x[n] = fair * share[i];
		y[n] = gone(r[2 * i + 1].cycles, s->home_cycles, s->far_cycles) -
		       gone(r[2 * i].cycles, s->home_cycles, s->far_cycles);
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
		             "with all sharers busy, even an eighth of a fair share does not stay");
		return 0;
	}
	struct xr_fact *fact = xr_fact_count(d, id, (long long)largest, "bytes", 0.8, "all sharers walk");
	const char *series = xr_arena_printf(arena, "%s.lost", id);
	xr_series_put(d, series, "footprint per core", "bytes", x, "accesses lost to others", "", y, (size_t)n);
	xr_fact_add_series(fact, series);
	return 0;
}

/* ---- a level ----------------------------------------------------------------------------------------------------- */

/* The far walk stays in the level behind this one, where there is one. Samples are long enough for the attacker to get
 * through the cache before and while the victim is timed. */
static int prepare(struct xr_sharers *s, double behind)
{
	double near = 0.6 * s->capacity,
	       far = behind > 3 * s->capacity ? fmin(4 * s->capacity, behind / 2) : 4 * s->capacity;
	struct xr_effort once = {.samples = 3, .samples_max = 3};
	struct xr_reading r;
	s->walk[HOME] = walk_over(s, 0.2 * s->capacity, XR_READ);
	s->walk[NEAR] = walk_over(s, near, XR_READ);
	s->walk[FAR] = walk_over(s, far, XR_READ);
	s->attacker = walk_over(s, 0.9 * s->capacity, XR_TOUCH);
	if (xr_run_time_with(s->run, &once, &s->walk[NEAR], 1, &r))
		return -1;
	double pass_ns = r.status == XR_READ_OK ? r.ns * near / (double)s->line : 0;
	s->sample_ns = fmin(fmax(2 * pass_ns, 5e4), 1e8);
	return 0;
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
static void choose_cores(struct xr_sharers *s)
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

const char *xr_sharers_init(struct xr_sharers *s, struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	*s = (struct xr_sharers){.run = run, .share = 1};
	if (info->n_cpus > 1 && !info->can_pin)
		return "threads cannot be pinned to CPUs here";
	if (info->n_cpus > 1)
		choose_cores(s);
	return NULL;
}

/* How sure it is that there is such a level. */
static double is_there(const struct xr_description *d, const char *level)
{
	const struct xr_fact *capacity = xr_description_fact(d, "cache.l1d.capacity");
	const struct xr_fact *levels = strcmp(level, "l1d") != 0 ? xr_description_fact(d, "cache.levels") : capacity;
	return levels ? levels->confidence : 1;
}

/* Nobody who may be used here shares it. */
static int put_alone(const struct xr_sharers *s, const char *level, double capacity)
{
	struct xr_description *d = xr_run_description(s->run);
	struct xr_arena *arena = xr_run_arena(s->run);
	const char *method = "only one core may be used";
	const struct xr_fact *cores = xr_description_fact(d, "threads.cores"); /* may all CPUs be of one? */
	const double sure = fmin(is_there(d, level), cores ? cores->confidence : 1);
	xr_fact_count(d, xr_arena_printf(arena, "cache.%s.shared_by", level), 1, "cores", fmin(sure, 0.99), method);
	xr_fact_count(d, xr_arena_printf(arena, "cache.%s.busy_capacity", level), (long long)capacity, "bytes",
	              fmin(sure, 0.9), method);
	return 0;
}

int xr_sharers_measure(struct xr_sharers *s, const char *level, double capacity, double behind, bool vague)
{
	struct xr_description *d = xr_run_description(s->run);
	const char *id = xr_arena_printf(xr_run_arena(s->run), "cache.%s.shared_by", level);
	int sharers;
	if (s->n < 2)
		return put_alone(s, level, capacity);
	s->level = level;
	s->line = (uint64_t)xr_run_number(s->run, xr_arena_printf(xr_run_arena(s->run), "cache.%s.line", level), LINE);
	s->capacity = capacity;
	s->vague = vague;
	s->shaky = false;
	if (prepare(s, behind) || find_sharers(s, &sharers))
		return -1;
	if (!sharers) {
		const char *why = "others slow a walk through this level down sometimes, or a little: no clear answer";
		xr_fact_none(d, id, XR_UNRELIABLE, "%s", why);
		xr_fact_none(d, xr_arena_printf(xr_run_arena(s->run), "cache.%s.busy_capacity", level), XR_UNRELIABLE,
		             "%s", why);
		return 0;
	}
	struct xr_fact *fact = xr_fact_count(d, id, sharers, "cores", fmin(is_there(d, level), s->shaky ? 0.8 : 0.95),
	                                     "a walk disturbed by another core's");
	if (!s->cores_known && sharers > 1)
		xr_fact_doubt(fact, "counts CPUs: which of them are one core is not known");
	else if (s->vague && sharers == 1)
		xr_fact_doubt(fact,
		              "this level may be larger than what a program gets of it, and then sharing it does not "
		              "show");
	else if (s->shaky)
		xr_fact_note(fact, "some answers needed a second look: somebody else uses this level too");
	if (sharers > 1)
		return busy_capacity(s, sharers);
	struct xr_fact *all = xr_fact_count(d, xr_arena_printf(xr_run_arena(s->run), "cache.%s.busy_capacity", level),
	                                    (long long)capacity, "bytes", 0.9, "nobody shares it");
	if (fact->status != XR_OK)
		xr_fact_doubt(all, "whether others share it does not show");
	return 0;
}

void xr_sharers_explain(const struct xr_sharers *s, const char *level, const char *why_not)
{
	static const char *const facts[] = {"shared_by", "busy_capacity"};
	struct xr_arena *arena = xr_run_arena(s->run);
	struct xr_description *d = xr_run_description(s->run);
	const struct xr_fact *capacity = xr_description_fact(d, xr_arena_printf(arena, "cache.%s.capacity", level));
	bool absent = capacity && capacity->status == XR_UNSUPPORTED;
	for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
		xr_fact_none(d, xr_arena_printf(arena, "cache.%s.%s", level, facts[i]),
		             why_not || absent ? XR_UNSUPPORTED : XR_UNRELIABLE, "%s",
		             absent    ? xr_fact_reason(capacity)
		             : why_not ? why_not
		                       : "the capacity of this cache is not known");
}
