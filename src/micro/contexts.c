/* Execution contexts: how many threads compute at full speed at the same time.
 *
 * Parameter: threads.contexts.int, .fp, .mem: the most threads that divide and multiply integers, divide and multiply
 * floating-point numbers, or walk memory in the first-level cache, without one of them being delayed.
 *
 * Idea (BlackjackBench, paper 001 §3.3): with N contexts, M <= N threads of equal fixed work end together when one
 * would have ended alone; with M > N the last one ends later. Threads are not pinned: where they go is the business of
 * the OS, and its answer is what a program gets.
 *
 * Algorithm: y(M) = wall(M) / wall(1), both read interleaved, the best of a few windows that span many time slots. M
 * doubles until y jumps by a quarter over the last flat value (clocks that drop with the load bend the flat part by
 * less than that from one doubling to the next), then the step is bisected: log n windows instead of the paper's 2 n.
 * M ends at the number of CPUs, for a thread needs one; twice as many only prove that waiting would have been seen (one
 * thread more than CPUs need not show it: a fair scheduler spreads the delay over all).
 * The paper's rule, the first increment above the mean increment, fires on flat noisy data and is not used. At the
 * end both sides of the step are asked once more.
 *
 * When it fails: other programs, a hypervisor or a quota take time away, which looks like fewer contexts. Two things
 * tell: a lone thread's wall clock against what its work costs undisturbed, and pinned threads on all CPUs, in samples
 * too short for anybody else to matter, which must slow each other down if there are fewer contexts than CPUs. Where
 * these contradict, the fact is unreliable and says so.
 */
#include "micro/micro.h"
#include "method/teams.h"
#include "stat/stat.h"

#include <math.h>

enum { WALK_ID = 7900, WALK_BYTES = 4096, ASKED_MAX = 64, VICTIMS = 4, CHAINS = 4 };

static const double jump = 1.25;       /* y above the flat part by this much: somebody waits */
static const double lost_much = 0.10;  /* share of time taken by others that makes the answer doubtful */
static const double units_taken = 1.5; /* slowdown of pinned threads that the wall clock could not have missed */

struct contexts {
	struct xr_run *run;
	struct xr_spec work;
	double window_ns;
	double lost;                       /* worst share of a lone thread's time that others took */
	double m[ASKED_MAX], y[ASKED_MAX]; /* everything asked, for the series */
	size_t n_asked;
};

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
	if (r[0].status == XR_READ_OK && r[1].status == XR_READ_OK && r[0].ns > 0)
		c->lost = fmax(c->lost, 1 - best_ns(&r[1]) / best_ns(&r[0]));
	return 0;
}

/* A thread needs a CPU, so there are at most as many contexts as CPUs; whether fewer, doubling and bisection tell.
 * *contexts: 0 when even twice as many threads as CPUs see no delay, which no clock should say. */
static int find(struct contexts *c, int logical, int *contexts)
{
	int members[20], n = 0;
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

/* Second witness: all CPUs at once, pinned, in samples too short for anybody else to matter. *slowdown: of the worst of
 * a few CPUs; 0 when threads cannot be pinned. */
static int ask_hardware(struct contexts *c, double *slowdown)
{
	const struct xr_target_info *info = xr_run_info(c->run);
	struct xr_arena *arena = xr_run_arena(c->run);
	int n = info->n_cpus, k = 0;
	struct xr_spec spec[2 * VICTIMS];
	struct xr_reading r[2 * VICTIMS];
	*slowdown = 0;
	if (!info->can_pin || n < 2)
		return 0;
	for (int v = 0; v < n && k<2 * VICTIMS; v += n> VICTIMS ? n / VICTIMS : 1) {
		int *cpu = xr_arena_array(arena, int, n), *place = xr_arena_array(arena, int, n);
		for (int i = 0; i < n; i++) {
			place[i] = (v + i) % n;
			cpu[i] = info->cpu_ids[place[i]];
		}
		spec[k++] = xr_spec_team(arena, XR_TOGETHER, cpu, place, 1, &c->work, NULL);
		spec[k++] = xr_spec_team(arena, XR_TOGETHER, cpu, place, (unsigned)n, &c->work, &c->work);
	}
	if (xr_run_time(c->run, spec, (size_t)k, r))
		return -1;
	for (int i = 0; i < k; i += 2)
		if (r[i].status == XR_READ_OK && r[i + 1].status == XR_READ_OK && r[i].cycles > 0)
			*slowdown = fmax(*slowdown, r[i + 1].cycles / r[i].cycles);
	return 0;
}

/* Both sides of the step again: still flat, still delayed? */
static int confirm(struct contexts *c, int found, int logical, bool *confirmed)
{
	const int members[2] = {found, found < logical ? found + 1 : 2 * logical};
	double y[2];
	if (ask(c, members, 2, y))
		return -1;
	*confirmed = y[1] >= jump * fmax(y[0], 1) && y[0] < jump * jump;
	return 0;
}

/* Why the answer is in doubt, or NULL. */
static const char *doubt(const struct contexts *c, int found, bool confirmed, double slowdown)
{
	const struct xr_target_info *info = xr_run_info(c->run);
	struct xr_arena *arena = xr_run_arena(c->run);
	if (info->cpu_quota > 0 && info->cpu_quota < info->n_cpus)
		return xr_arena_printf(arena, "a quota allows the time of %.2g CPUs only", info->cpu_quota);
	if (found < info->n_cpus && slowdown > 0 && slowdown < jump)
		return xr_arena_printf(
			arena,
			"%d threads waited for each other, yet %d pinned ones do not slow each other down: "
			"others use the CPUs",
			found + 1, info->n_cpus);
	if (c->lost > lost_much)
		return xr_arena_printf(arena, "others took %.0f %% of a lone thread's time", 100 * c->lost);
	if (found == info->n_cpus && slowdown >= units_taken)
		return xr_arena_printf(arena, "pinned to all CPUs, threads slow each other down by %.1f", slowdown);
	return confirmed ? NULL : "a second look contradicted the first";
}

static void put(struct contexts *c, const char *id, int found, const char *why)
{
	struct xr_description *d = xr_run_description(c->run);
	if (!found) {
		xr_fact_none(d, id, XR_UNRELIABLE, "twice as many threads as CPUs were not slower than one");
		return;
	}
	struct xr_fact *fact = xr_fact_count(d, id, found, "", 0.95, "fixed work on unpinned threads");
	char *series = xr_arena_printf(xr_run_arena(c->run), "%s.wall", id);
	xr_series_put(d, series, "threads", "", c->m, "wall time", "of one thread", c->y, c->n_asked);
	xr_fact_add_series(fact, series);
	if (why)
		xr_fact_doubt(fact, "%s", why);
}

/* Divisions and multiplications in the proportion that keeps both units busy: a division a round, and as many
 * multiplications as their chains get done in that time. Machines without a division multiply, or add. */
static int choose_stream(struct xr_run *run, enum xr_type type, struct xr_spec *work, bool *have)
{
	const struct xr_spec spec[] = {xr_spec_stream(XR_DIV, type, CHAINS), xr_spec_stream(XR_MUL, type, 1),
	                               xr_spec_stream(XR_MUL, type, CHAINS), xr_spec_stream(XR_ADD, type, CHAINS)};
	enum { DIV, MUL_ONE, MUL, ADD, N };
	struct xr_reading r[N];
	bool can[N];
	struct xr_effort once = {.samples = 5, .samples_max = 5};
	if (xr_run_time_with(run, &once, spec, N, r))
		return -1;
	for (int i = 0; i < N; i++)
		can[i] = r[i].status == XR_READ_OK && r[i].cycles > 0;
	*have = true;
	if (can[DIV] && can[MUL_ONE]) {
		double fit = round(CHAINS * r[DIV].cycles / r[MUL_ONE].cycles);
		const struct xr_stream streams[2] = {
			{.op = XR_DIV, .type = type, .n = CHAINS, .share = 1},
			{.op = XR_MUL, .type = type, .n = CHAINS, .share = (int)fmin(fmax(fit, 1), 8)}};
		*work = xr_spec_mix(streams, 2);
	} else if (can[MUL] || can[ADD] || can[DIV]) {
		*work = spec[can[MUL] ? MUL : (can[ADD] ? ADD : DIV)];
	} else {
		*have = false;
	}
	return 0;
}

static int measure(struct xr_run *run, const char *id, const struct xr_spec *work)
{
	struct contexts c = {.run = run, .work = *work, .window_ns = xr_run_quick(run) ? 2e7 : 3e7};
	int logical = xr_run_info(run)->n_cpus, found;
	bool confirmed = false;
	double slowdown;
	if (find(&c, logical, &found) || (found && confirm(&c, found, logical, &confirmed)) ||
	    ask_hardware(&c, &slowdown))
		return -1;
	const char *why = doubt(&c, found, confirmed, slowdown);
	bool not_hardware = found && found < logical && slowdown > 0 && slowdown < jump;
	put(&c, id, not_hardware ? logical : found, why); /* what it would be if the machine were ours */
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

const struct xr_micro xr_micro_contexts = {
	.id = "contexts",
	.title = "threads that compute at full speed at once: int, fp, mem",
	.finds = finds,
	.needs = NULL,
	.cost_s = 4,
	.kinds = 1u << XR_TEAM | 1u << XR_OPS | 1u << XR_CHAIN,
	.run = run_contexts,
};
