/* SPDX-License-Identifier: MIT */
/* Execution contexts: how many threads compute at full speed at the same time.
 *
 * Parameter: threads.contexts.int, .fp, .mem: the most threads that keep integer units, or floating-point units, busy,
 * or walk memory in the first-level cache, without one of them being delayed.
 *
 * Idea (BlackjackBench, paper 001 §3.3): with N contexts, M <= N threads of equal fixed work end together when one
 * would have ended alone; with M > N the last one ends later. Threads are not pinned: where they go is the business of
 * the OS, and its answer is what a program gets. A second witness: pinned threads in samples too short for anybody else
 * to matter, one on each core, two on each core …: how many to a core before they slow each other down.
 *
 * Algorithm: of streams of additions, multiplications and divisions the one that suffers most when all CPUs run it is
 * the work (they saturate different units, and not all need be shared). The pinned witness says how many contexts there
 * should be; so many unpinned threads must end together, one more must not, and twice as many as CPUs must not either
 * (which proves that waiting would have been seen). Only where the wall clock contradicts is it searched by itself:
 * y(M) = wall(M) / wall(1), the best of a few windows; M doubles until y jumps by a quarter over the last flat value
 * (clocks that drop with the load bend the flat part by less than that from one doubling to the next), then the step is
 * bisected. The paper's rule, the first increment above the mean increment, fires on flat noisy data and is not used.
 *
 * When it fails: other programs, a hypervisor or a quota take time away, which looks like fewer contexts. A lone
 * thread's wall clock against what its work costs undisturbed tells how much: then the pinned witness alone is
 * believed, less surely. Where nobody took time and the two still contradict, or where threads cannot be pinned and
 * others were busy, the fact is unreliable and says so. A quota limits what a program gets whatever the contexts are:
 * in doubt.
 */
#include "method/teams.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { WALK_ID = 7900, WALK_BYTES = 4096, ASKED_MAX = 64, VICTIMS = 4, LOOKS = 4, SMT_MAX = 16 };

static const double jump = 1.25;      /* y above the flat part by this much: somebody waits */
static const double lost_much = 0.05; /* share of time taken by others that may look like waiting */

struct contexts {
	struct xr_run *run;
	struct xr_spec work;
	double window_ns;
	double lost;                       /* worst share of a lone thread's time that others took */
	double m[ASKED_MAX], y[ASKED_MAX]; /* everything asked, for the series */
	size_t n_asked;
};

/* ---- the wall clock, unpinned -------------------------------------------------------------------------------- */

static struct xr_spec wall(struct contexts *c, int members)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	int *cpu = xr_arena_array(arena, int, members);
	for (int i = 0; i < members; i++)
		cpu[i] = -1;
	struct xr_spec spec = xr_spec_team(arena, XR_WALL, cpu, NULL, (unsigned)members, &c->work, &c->work);
	spec.team.window_ns = c->window_ns;
	return spec;
}

/* The best window: everything that disturbs makes a window longer. */
static double best_ns(const struct xr_reading *r)
{
	return r->sample && r->samples > 0 ? xr_min(r->sample, (size_t)r->samples) * r->cycle_ns : r->ns;
}

/* y for each of n team sizes; 0 where it could not be read. */
static int ask(struct contexts *c, const int *members, int n, double *y)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, n + 2);
	struct xr_reading *r = xr_arena_array(arena, struct xr_reading, n + 2);
	int anywhere = -1;
	spec[0] = wall(c, 1);
	spec[1] = xr_spec_team(arena, XR_TOGETHER, &anywhere, NULL, 1, &c->work, NULL);
	for (int i = 0; i < n; i++)
		spec[i + 2] = wall(c, members[i]);
	int windows = xr_run_quick(c->run) ? 2 : 3;
	struct xr_effort effort = {.samples = windows, .samples_max = windows};
	if (xr_run_time_with(c->run, &effort, spec, (size_t)n + 2, r))
		return -1;
	for (int i = 0; i < n; i++) {
		bool ok = r[0].status == XR_READ_OK && r[i + 2].status == XR_READ_OK && r[0].ns > 0;
		y[i] = ok ? best_ns(&r[i + 2]) / best_ns(&r[0]) : 0;
		if (ok && c->n_asked < ASKED_MAX) {
			c->m[c->n_asked] = members[i];
			c->y[c->n_asked++] = y[i];
		}
	}
	c->lost = fmax(c->lost, 1 - r[1].ns / r[0].median_ns); /* one that failed is NaN, which fmax() leaves out */
	return 0;
}

/* Do `expected` threads end together, and no more than that? */
static int confirm(struct contexts *c, int expected, bool *confirmed)
{
	int logical = xr_run_info(c->run)->n_cpus, members[3], n = 0;
	double y[3];
	members[n++] = expected;
	if (expected < logical)
		members[n++] = expected + 1;
	members[n++] = 2 * logical;
	if (ask(c, members, n, y))
		return -1;
	*confirmed = y[0] > 0 && y[0] < jump;
	for (int i = 1; i < n; i++)
		*confirmed &= y[i] >= jump * fmax(y[0], 1);
	return 0;
}

/* A thread needs a CPU, so there are at most as many contexts as CPUs; whether fewer, doubling and bisection tell.
 * *contexts: 0 when even twice as many threads as CPUs see no delay, which no clock should say. */
static int search(struct contexts *c, int *contexts)
{
	int logical = xr_run_info(c->run)->n_cpus, members[20], n = 0;
	double y[20], flat = 1;
	*contexts = 0;
	for (int m = 2; m < logical && n < 18; m *= 2)
		members[n++] = m;
	if (logical > 1)
		members[n++] = logical;
	members[n++] = 2 * logical;
	if (ask(c, members, n, y))
		return -1;
	if (y[n - 1] < jump)
		return 0;
	int lo = 1, hi = 0;
	for (int i = 0; i < n - 1 && !hi; i++) {
		if (y[i] >= jump * flat) {
			hi = members[i];
		} else if (y[i] > 0) {
			lo = members[i];
			flat = fmax(flat, y[i]);
		}
	}
	while (hi - lo > 1) {
		int mid = lo + (hi - lo) / 2;
		if (ask(c, &mid, 1, y))
			return -1;
		if (y[0] >= jump * flat)
			hi = mid;
		else
			lo = mid;
	}
	*contexts = lo;
	return 0;
}

/* ---- short samples, pinned -------------------------------------------------------------------------------------- */

/* Groups of CPUs that are one core each; NULL: not known. */
static const json_t *siblings(struct xr_run *run)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(run), "threads.siblings");
	return fact && fact->status == XR_OK ? fact->value : NULL;
}

/* CPUs with `each` of every core, the first of core `first` in front. Without knowledge of cores: all CPUs. */
static int crowd(struct xr_run *run, int each, int first, int *cpu)
{
	const struct xr_target_info *info = xr_run_info(run);
	const json_t *cores = siblings(run);
	int n = 0, n_cores = cores ? (int)json_array_size(cores) : info->n_cpus;
	for (int k = 0; k < n_cores; k++) {
		int core = (first + k) % n_cores;
		const json_t *group = cores ? json_array_get(cores, (size_t)core) : NULL;
		for (int i = 0; group && i < each && i < (int)json_array_size(group); i++)
			cpu[n++] = (int)json_integer_value(json_array_get(group, (size_t)i));
		if (!group)
			cpu[n++] = info->cpu_ids[core];
	}
	return n;
}

static int place_of(const struct xr_target_info *info, int cpu)
{
	int place = 0;
	while (place < info->n_cpus - 1 && info->cpu_ids[place] != cpu)
		place++;
	return place;
}

/* The slowdown of works (n of them) when `each` threads of every core run them, the worst of a few cores. Best of
 * several looks: others only ever add time. Ends as soon as nothing is slowed. */
static int ask_pinned(struct xr_run *run, const struct xr_spec *work, int n, int each, double *slowdown)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_arena *arena = xr_run_arena(run);
	int n_cores = siblings(run) ? (int)json_array_size(siblings(run)) : info->n_cpus, n_victims = 0;
	int step = n_cores > VICTIMS ? n_cores / VICTIMS : 1;
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * VICTIMS * n);
	struct xr_reading *r = xr_arena_array(arena, struct xr_reading, 2 * VICTIMS * n);
	double *best = xr_arena_array(arena, double, 2 * VICTIMS * n);
	int *cpu = xr_arena_array(arena, int, info->n_cpus + 1), *place = xr_arena_array(arena, int, info->n_cpus + 1);
	for (int v = 0; v < n_cores && n_victims < VICTIMS; v += step, n_victims++)
		for (int w = 0; w < n; w++) {
			int members = crowd(run, each, v, cpu);
			for (int i = 0; i < members; i++)
				place[i] = place_of(info, cpu[i]);
			struct xr_spec *s = &spec[2 * (n_victims * n + w)];
			s[0] = xr_spec_team(arena, XR_TOGETHER, cpu, place, 1, &work[w], NULL);
			s[1] = xr_spec_team(arena, XR_TOGETHER, cpu, place, (unsigned)members, &work[w], &work[w]);
		}
	bool slowed = true;
	for (int look = 0; look < LOOKS && slowed; look++) {
		struct xr_effort effort = {.samples = 5, .samples_max = 9};
		if (xr_run_time_with(run, &effort, spec, (size_t)(2 * n_victims * n), r))
			return -1;
		for (int i = 0; i < 2 * n_victims * n; i++)
			if (r[i].status == XR_READ_OK && r[i].cycles > 0)
				best[i] = best[i] > 0 ? fmin(best[i], r[i].cycles) : r[i].cycles;
		slowed = false;
		for (int w = 0; w < n; w++) {
			slowdown[w] = 0;
			for (int v = 0; v < n_victims; v++) {
				const double *b = &best[2 * (v * n + w)];
				slowdown[w] = b[0] > 0 && b[1] > 0 ? fmax(slowdown[w], b[1] / b[0]) : slowdown[w];
			}
			slowed |= !(slowdown[w] < jump);
		}
	}
	return 0;
}

/* How many threads on each core do not slow each other down; *contexts: on all cores together. 0: cannot be told. */
static int count_pinned(struct contexts *c, int *contexts)
{
	const struct xr_target_info *info = xr_run_info(c->run);
	const json_t *cores = siblings(c->run);
	double slowdown;
	size_t smt = 1, k;
	json_t *group;
	*contexts = 0;
	if (!info->can_pin)
		return 0;
	json_array_foreach(cores, k, group) smt = json_array_size(group) > smt ? json_array_size(group) : smt;
	int *cpu = xr_arena_array(xr_run_arena(c->run), int, info->n_cpus + 1);
	for (int each = (int)smt < SMT_MAX ? (int)smt : SMT_MAX; each > 0; each--) {
		if (ask_pinned(c->run, &c->work, 1, each, &slowdown))
			return -1;
		if (slowdown > 0 && slowdown < jump) {
			*contexts = crowd(c->run, each, 0, cpu);
			return 0;
		}
	}
	return 0;
}

/* ---- what the two say ------------------------------------------------------------------------------------------- */

struct answer {
	int contexts;      /* 0: none */
	double confidence; /* 0: in doubt */
	const char *why;   /* a note, or the doubt */
};

static struct answer weigh(struct contexts *c, int pinned, int unpinned, bool confirmed)
{
	const struct xr_target_info *info = xr_run_info(c->run);
	struct xr_arena *arena = xr_run_arena(c->run);
	char *busy = xr_arena_printf(arena, "others took %.0f %% of a lone thread's time", 100 * c->lost);
	if (info->cpu_quota > 0 && info->cpu_quota < info->n_cpus)
		return (struct answer){
			pinned ? pinned : unpinned, 0,
			xr_arena_printf(arena, "a quota allows the time of %.2g CPUs only", info->cpu_quota)};
	if (confirmed)
		return (struct answer){pinned, 0.97, NULL};
	if (pinned && (unpinned == pinned || c->lost > lost_much)) /* time that others took looks like waiting */
		return (struct answer){pinned, unpinned == pinned ? 0.9 : 0.75,
		                       c->lost > lost_much ? xr_arena_printf(arena, "by pinned threads, for %s", busy)
		                                           : NULL};
	if (pinned)
		return (struct answer){pinned, 0,
		                       xr_arena_printf(arena,
		                                       "%d threads pinned do not slow each other down, but of those "
		                                       "that are not pinned only %d do not wait",
		                                       pinned, unpinned)};
	if (unpinned && info->can_pin && info->n_cpus > 1)
		return (struct answer){
			unpinned, 0,
			siblings(c->run)
				? "pinned to one CPU of each core, threads slow each other down: somebody else "
				  "uses the cores"
				: "pinned to all CPUs, threads slow each other down, and which CPUs are one "
				  "core is not known"};
	if (c->lost > lost_much)
		return (struct answer){unpinned, 0, busy};
	return (struct answer){unpinned, 0.85, NULL};
}

static void put(struct contexts *c, const char *id, const struct answer *a)
{
	struct xr_description *d = xr_run_description(c->run);
	if (!a->contexts) {
		xr_fact_none(d, id, XR_UNRELIABLE, "twice as many threads as CPUs were not slower than one");
		return;
	}
	struct xr_fact *fact = xr_fact_count(d, id, a->contexts, "", a->confidence,
	                                     "fixed work on unpinned threads, short samples on pinned ones");
	char *series = xr_arena_printf(xr_run_arena(c->run), "%s.wall", id);
	xr_series_put(d, series, "threads", "", c->m, "wall time", "of one thread", c->y, c->n_asked);
	xr_fact_add_series(fact, series);
	if (!(a->confidence > 0))
		xr_fact_doubt(fact, "%s", a->why);
	else if (a->why)
		xr_fact_note(fact, "%s", a->why);
}

static int measure(struct xr_run *run, const char *id, const struct xr_spec *work)
{
	struct contexts c = {.run = run, .work = *work, .window_ns = xr_run_quick(run) ? 2e7 : 3e7};
	int pinned, unpinned = 0;
	bool confirmed = false;
	if (count_pinned(&c, &pinned) || (pinned && confirm(&c, pinned, &confirmed)) ||
	    (!confirmed && search(&c, &unpinned)))
		return -1;
	struct answer a = weigh(&c, pinned, unpinned, confirmed);
	put(&c, id, &a);
	return 0;
}

/* Of streams that keep different units busy the one that suffers most when all CPUs run it; where nobody can be pinned,
 * the slowest, for that is the unit there are fewest of. */
static int choose_stream(struct xr_run *run, enum xr_type type, struct xr_spec *work, bool *have)
{
	enum { DIVS = 4, OTHERS = 6, N = 3 };
	const struct xr_target_info *info = xr_run_info(run);
	const struct xr_spec spec[N] = {xr_spec_stream(XR_DIV, type, DIVS), xr_spec_stream(XR_MUL, type, OTHERS),
	                                xr_spec_stream(XR_ADD, type, OTHERS)};
	struct xr_spec there[N];
	struct xr_reading r[N];
	double slowdown[N] = {0};
	int n = 0, worst = 0;
	struct xr_effort once = {.samples = 3, .samples_max = 3};
	if (xr_run_time_with(run, &once, spec, N, r))
		return -1;
	for (int i = 0; i < N; i++)
		if (r[i].status == XR_READ_OK && r[i].cycles > 0)
			there[n++] = spec[i];
	*have = n > 0;
	if (n && info->can_pin && info->n_cpus > 1 && ask_pinned(run, there, n, SMT_MAX, slowdown))
		return -1;
	for (int i = 1; i < n; i++)
		worst = slowdown[i] > 1.1 * slowdown[worst] ? i : worst;
	if (n)
		*work = there[worst];
	return 0;
}

static int run_contexts(struct xr_run *run)
{
	static const struct {
		const char *id, *name;
		enum xr_type type;
		bool walks;
	} classes[] = {
		{"threads.contexts.int", "int", XR_I64, false},
		{"threads.contexts.fp", "fp", XR_F64, false},
		{"threads.contexts.mem", "mem", XR_I64, true},
	};
	enum { N = sizeof classes / sizeof *classes };
	for (int i = 0; i < N; i++) {
		struct xr_spec work = xr_spec_walkabout(xr_run_arena(run), WALK_ID, WALK_BYTES, 64, XR_READ, XR_ANY);
		bool have = true;
		if (!xr_run_wants(run, classes[i].id))
			continue;
		xr_run_progress(run, (double)i / N, classes[i].name);
		if (!classes[i].walks && choose_stream(run, classes[i].type, &work, &have))
			return -1;
		if (!have)
			xr_fact_none(xr_run_description(run), classes[i].id, XR_UNSUPPORTED,
			             "this machine has no such operation");
		else if (measure(run, classes[i].id, &work))
			return -1;
	}
	return 0;
}

static const char *const finds[] = {"threads.contexts.int", "threads.contexts.fp", "threads.contexts.mem", NULL};

static const char *const needs[] = {"threads", NULL};

const struct xr_micro xr_micro_contexts = {
	.id = "contexts",
	.title = "threads that compute at full speed at once: int, fp, mem",
	.finds = finds,
	.needs = needs,
	.cost_s = 2,
	.kinds = 1u << XR_TEAM | 1u << XR_OPS | 1u << XR_CHAIN,
	.run = run_contexts,
};
