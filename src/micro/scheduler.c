/* SPDX-License-Identifier: MIT */
/* The scheduler: time slot, context switch, tick, throttling.
 *
 * Parameter: os.timeslice (how long a thread runs before another one that waits for the CPU gets it), os.context_switch
 * (what a switch costs), os.tick (the period at which the OS interrupts every CPU to look after things), os.throttled
 * (is even a lone thread stopped at regular intervals, as by a quota).
 *
 * Idea: threads on one CPU look at the clock all the time; a step of more than 200 us means that the thread was off.
 * BlackjackBench (paper 001 §3.5) takes the most frequent length of these gaps; that is a multiple of the slot as soon
 * as more than two threads wait. The thread's own run length between two gaps is the slot whatever the load.
 *
 * Algorithm: two and then three threads on one CPU; the mode of the run lengths of each, in bins of 0.1 ms; both must
 * agree within a tenth. A switch: two threads on one CPU wake each other through a pipe; the same calls by one thread
 * alone are taken off. Throttling: a lone thread whose runs end after the same time again and again, in gaps too long
 * for a handful of neighbours taking their turns. The tick: a lone thread watches the clock that only the tick moves; steps
 * count that it saw without having been off in between. Its stops of more than a microsecond tell who else ticks: on a
 * virtual machine with a tick of 4 ms they came every 1 ms, by the hypervisor's.
 *
 * When it fails: without pinning, twice as many threads as CPUs take the place of two on one. Schedulers that let a
 * thread run until somebody sleeps (batch, real time) give no gaps: nothing is seen, and that is said.
 */
#include "micro/micro.h"
#include "method/teams.h"
#include "stat/period.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { RIVALS_MAX = 5, RUNS_MIN = 12, RUNS_WANTED = 50, STOP_NS = 1000 };
enum { TICK_MIN_NS = 500000, TICK_MAX_NS = 25000000, TICK_BIN_NS = 25000 };

static const double bin_ns = 1e5;
static const double agree = 0.10;
static const double clear_share = 0.3; /* of runs at the mode: below, there is no such thing as the slot */
static const double window_first_ns = 3e8, window_last_ns = 4e9; /* watched for slots: at first; where they are long */
static const double lost_little = 0.01; /* of a lone thread's time: below, nobody stops it for long */

/* Threads that watch the clock: `per_cpu` on one CPU, or that many times all CPUs when they cannot be pinned. */
static struct xr_spec watch(struct xr_run *run, int per_cpu, double window_ns)
{
	const struct xr_target_info *info = xr_run_info(run);
	int n = info->can_pin ? per_cpu : per_cpu * info->n_cpus;
	int *cpu = xr_arena_array(xr_run_arena(run), int, n);
	for (int i = 0; i < n; i++)
		cpu[i] = info->can_pin ? info->cpu_ids[info->n_cpus - 1] : -1;
	struct xr_spec spec = xr_spec_team(xr_run_arena(run), XR_SLICES, cpu, NULL, (unsigned)n, NULL, NULL);
	spec.team.window_ns = window_ns;
	return spec;
}

/* The most frequent run length in ns, 0 when there is none. */
static double mode_of(const struct xr_reading *r, double *share)
{
	*share = 0;
	if (r->status != XR_READ_OK || r->samples < RUNS_MIN)
		return 0;
	double width = fmax(bin_ns, 0.02 * xr_median(r->sample, (size_t)r->samples));
	return xr_mode_binned(r->sample, (size_t)r->samples, width, share);
}

static void put_series(struct xr_run *run, const char *id, const struct xr_reading *r)
{
	double *x = xr_arena_array(xr_run_arena(run), double, r->samples);
	double *y = xr_arena_array(xr_run_arena(run), double, r->samples);
	for (int i = 0; i < r->samples; i++) {
		x[i] = i;
		y[i] = r->sample[i];
	}
	xr_series_put(xr_run_description(run), id, "run", "", x, "length", "ns", y, (size_t)r->samples);
}

/* Two and three threads on a CPU, for as long as it takes to see a fair number of turns. */
static int watch_turns(struct xr_run *run, struct xr_reading r[static 2], double *window_ns)
{
	struct xr_effort once = {.samples = 1, .samples_max = 1};
	for (*window_ns = window_first_ns;; *window_ns *= 4) {
		*window_ns = fmin(*window_ns, window_last_ns);
		struct xr_spec spec[2] = {watch(run, 2, *window_ns), watch(run, 3, *window_ns)};
		if (xr_run_time_with(run, &once, spec, 2, r))
			return -1;
		int wanted = xr_run_quick(run) ? RUNS_MIN : RUNS_WANTED;
		bool enough = r[0].status == XR_READ_OK && r[0].samples >= wanted; /* no turn at all gives no reading */
		if (enough || r[0].status == XR_READ_UNSUPPORTED || !(*window_ns < window_last_ns))
			return 0;
	}
}

static void put_no_slot(struct xr_run *run, const struct xr_reading r[static 2], double window_ns)
{
	struct xr_description *d = xr_run_description(run);
	if (r[0].status != XR_READ_OK)
		xr_fact_none(d, "os.timeslice", r[0].status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_FAILED, "%s",
		             r[0].reason ? r[0].reason : "the threads could not be watched");
	else
		xr_fact_none(d, "os.timeslice", XR_UNRELIABLE,
		             "threads on one CPU took turns %d times in %.1f s, too few to tell",
		             r[0].samples + r[1].samples, 2 * window_ns / 1e9);
}

static int time_slot(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_reading r[2];
	double share[2], slot[2], window_ns;
	if (watch_turns(run, r, &window_ns))
		return -1;
	for (int i = 0; i < 2; i++)
		slot[i] = mode_of(&r[i], &share[i]);
	if (!(slot[0] > 0) && !(slot[1] > 0)) {
		put_no_slot(run, r, window_ns);
		return 0;
	}
	int best = share[1] > share[0];
	struct xr_fact *fact =
		xr_fact_number(d, "os.timeslice", slot[best] / 1e9, "s", 0.95, "own run length between gaps");
	for (int i = 0; i < 2; i++)
		if (r[i].status == XR_READ_OK) {
			char *id = xr_arena_printf(xr_run_arena(run), "os.timeslice.%d_threads", i + 2);
			put_series(run, id, &r[i]);
			xr_fact_add_series(fact, id);
		}
	if (fabs(slot[0] - slot[1]) > agree * slot[best])
		xr_fact_doubt(fact, "two threads on a CPU run %.2f ms at a time, three %.2f ms", slot[0] / 1e6,
		              slot[1] / 1e6);
	else if (share[best] < clear_share)
		xr_fact_doubt(fact, "only %.0f %% of the runs have that length", 100 * share[best]);
	return 0;
}

static int context_switch(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_target_info *info = xr_run_info(run);
	if (!info->can_pin && info->n_cpus > 1) {
		xr_fact_none(d, "os.context_switch", XR_UNSUPPORTED, "two threads cannot be held on one CPU here");
		return 0;
	}
	int cpu = info->can_pin ? info->cpu_ids[info->n_cpus - 1] : -1;
	struct xr_spec spec = xr_spec_pair(xr_run_arena(run), XR_SWITCH, cpu, cpu, 0);
	struct xr_reading r;
	struct xr_effort effort = {.samples = 15, .samples_max = 45, .sample_ns = 2e5};
	if (xr_run_time_with(run, &effort, &spec, 1, &r))
		return -1;
	if (r.status != XR_READ_OK || !(r.ns > 0)) {
		xr_fact_none(d, "os.context_switch", r.status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_FAILED, "%s",
		             r.reason ? r.reason : "the switches were too quick to see");
		return 0;
	}
	struct xr_fact *fact = xr_fact_number(d, "os.context_switch", r.ns / 1e9, "s", r.spread < 0.1 ? 0.9 : 0.7,
	                                      "two threads on a CPU, a pipe, less the calls");
	if (r.spread > 0.5)
		xr_fact_doubt(fact, "switches took from %.1f to %.1f us and more", r.ns / 1e3, r.median_ns / 1e3);
	return 0;
}

/* A lone thread, and gaps that no handful of neighbours makes by taking their turns. */
static int throttling(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	if (xr_run_number(run, "noise.lost", 1) < lost_little) {
		xr_fact_bool(d, "os.throttled", false, 0.9, "a lone thread loses no time");
		return 0;
	}
	double slot_ns = 1e9 * xr_run_number(run, "os.timeslice", 4e-3), share = 0, length = 0;
	struct xr_spec spec = watch(run, 1, xr_run_quick(run) ? 4e8 : 6e8);
	spec.team.n_members = 1;
	spec.team.bytes = (uint64_t)(RIVALS_MAX * slot_ns);
	struct xr_reading r;
	struct xr_effort once = {.samples = 1, .samples_max = 1};
	if (xr_run_time_with(run, &once, &spec, 1, &r))
		return -1;
	/* no gap at all is a reading without samples: nobody stopped the thread */
	int stops = r.status == XR_READ_OK ? r.samples : 0;
	if (stops >= 3)
		length = xr_mode_binned(r.sample, (size_t)stops, 0.1 * xr_median(r.sample, (size_t)stops), &share);
	bool throttled = share >= 0.6 && length > 1.5 * slot_ns; /* neighbours leave one slot at a time */
	struct xr_fact *fact = xr_fact_bool(d, "os.throttled", throttled, stops >= 3 && !throttled ? 0.6 : 0.9,
	                                    "gaps in a lone thread's run");
	if (throttled)
		xr_fact_note(fact, "a lone thread is stopped again and again after %.0f ms", length / 1e6);
	else if (xr_run_number(run, "noise.lost", 0) > 0.3) /* who gets less than the quota anyhow never meets it */
		xr_fact_doubt(fact, "others take %.0f %% of the time, which would hide it",
		              100 * xr_run_number(run, "noise.lost", 0));
	else if (stops >= 3)
		xr_fact_note(fact, "stopped %d times, but at no regular interval: neighbours", stops);
	return 0;
}

/* A lone thread watches for a window; what it sees are the samples. -1: no more time; how many samples otherwise. */
static int watch_alone(struct xr_run *run, enum xr_team_kind kind, double window_ns, struct xr_reading *r)
{
	struct xr_effort once = {.samples = 1, .samples_max = 1};
	struct xr_spec spec = watch(run, 1, window_ns);
	spec.team.kind = kind;
	spec.team.n_members = 1;
	spec.team.bytes = kind == XR_SLICES ? STOP_NS : 0;
	if (xr_run_time_with(run, &once, &spec, 1, r))
		return -1;
	return r->status == XR_READ_OK ? r->samples : 0;
}

/* Runs between short stops, laid end to end, are the times of the stops: the stops themselves hardly take any. 0: no
 * period stands out. */
static double period_of_stops(struct xr_run *run, const struct xr_reading *r, int n)
{
	double *event = xr_arena_array(xr_run_arena(run), double, n + 1), at = 0;
	for (int i = 0; i < n; i++)
		event[i] = at += r->sample[i];
	return xr_period(event, (size_t)n, TICK_MIN_NS, TICK_MAX_NS, TICK_BIN_NS);
}

/* Stops tell that somebody ticks, not who: below a virtual machine the hypervisor does, too. Only the OS's own tick
 * moves its clock. */
static int tick(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_reading r, stops;
	double share = 0, tick_ns = 0;
	int n = 0, n_stops;
	for (double window = 4e8; n < RUNS_MIN && window <= (xr_run_quick(run) ? 4e8 : 1.6e9); window *= 4) {
		n = watch_alone(run, XR_TICKS, window, &r);
		if (n < 0)
			return -1;
		if (r.status == XR_READ_UNSUPPORTED || r.status == XR_READ_FAILED)
			break;
	}
	if (n >= RUNS_MIN)
		tick_ns = xr_mode_binned(r.sample, (size_t)n, 0.05 * xr_median(r.sample, (size_t)n), &share);
	n_stops = watch_alone(run, XR_SLICES, 4e8, &stops);
	if (n_stops < 0)
		return -1;
	double period = period_of_stops(run, &stops, n_stops);
	if (tick_ns > 0) {
		struct xr_fact *fact = xr_fact_number(d, "os.tick", tick_ns / 1e9, "s", 0.95,
		                                      "steps of the clock that the tick moves");
		if (share < clear_share)
			xr_fact_doubt(fact, "only %.0f %% of the clock's steps come after that time", 100 * share);
		else if (period > 0 && fabs(period - tick_ns) > agree * tick_ns)
			xr_fact_note(fact,
			             "a lone thread is also stopped every %.1f ms: the hypervisor's tick, or a timer",
			             period / 1e6);
	} else if (period > 0) {
		xr_fact_doubt(xr_fact_number(d, "os.tick", period / 1e9, "s", 0.7, "period of short stops"),
		              "a lone thread is stopped that often, by the OS's tick or by a hypervisor's");
	} else {
		xr_fact_none(
			d, "os.tick", stops.status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_UNRELIABLE,
			"no clock that the tick moves, and among %d short stops of a lone thread none come at regular "
			"intervals",
			n_stops);
	}
	return 0;
}

static int run_scheduler(struct xr_run *run)
{
	xr_run_progress(run, 0, "time slot");
	if (xr_run_wants(run, "os.timeslice") && time_slot(run))
		return -1;
	xr_run_progress(run, 0.4, "context switch");
	if (xr_run_wants(run, "os.context_switch") && context_switch(run))
		return -1;
	xr_run_progress(run, 0.5, "throttling");
	if (xr_run_wants(run, "os.throttled") && throttling(run))
		return -1;
	xr_run_progress(run, 0.7, "tick");
	return xr_run_wants(run, "os.tick") ? tick(run) : 0;
}

static const char *const finds[] = {"os.timeslice", "os.context_switch", "os.tick", "os.throttled", NULL};

static const char *const needs[] = {"noise", NULL};

const struct xr_micro xr_micro_scheduler = {
	.id = "scheduler",
	.title = "the scheduler's time slot, context switch, tick, throttling",
	.finds = finds,
	.needs = needs,
	.cost_s = 2,
	.kinds = 1u << XR_TEAM,
	.run = run_scheduler,
};
