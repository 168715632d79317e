/* SPDX-License-Identifier: MIT */
#include "engine/run.h"

#include <math.h>
#include <string.h>

/* --quick: enough samples for the order statistic to leave out the worst, no more. */
enum { QUICK_SAMPLES = 5, QUICK_SAMPLES_MAX = 15 };

double xr_now_s(void)
{
	return xr_clock_s();
}

static int stop(struct xr_run *run, enum xr_end why)
{
	run->end = why;
	return -1;
}

int xr_run_go_on(struct xr_run *run)
{
	if (run->plan->interrupt && *run->plan->interrupt)
		return stop(run, XR_END_INTERRUPTED);
	if (xr_watch_over(&run->watch))
		return stop(run, XR_END_BUDGET);
	return 0;
}

const struct xr_watch *xr_run_watch(const struct xr_run *run)
{
	return &run->watch;
}

static struct xr_effort quick_effort(const struct xr_effort *asked)
{
	struct xr_effort effort = asked ? *asked : (struct xr_effort){0};
	if (!effort.samples) /* who asks for a number has counted on it, and on xr_run_quick() */
		effort.samples = QUICK_SAMPLES;
	if (!effort.samples_max)
		effort.samples_max = effort.samples > QUICK_SAMPLES_MAX ? effort.samples : QUICK_SAMPLES_MAX;
	return effort;
}

static bool samples_in_cycles(const struct xr_spec *spec)
{
	return spec->kind != XR_CLOCK &&
	       !(spec->kind == XR_TEAM && (spec->team.kind == XR_SLICES || spec->team.kind == XR_TICKS));
}

/* Readings come in reference operations; from `frequency` on it is known how many core cycles one takes. */
static void to_core_cycles(struct xr_run *run, const struct xr_spec *spec, struct xr_reading *reading)
{
	double scale = run->reference_cycles;
	if (scale == 1 || reading->status != XR_READ_OK)
		return;
	reading->cycles *= scale;
	reading->median_cycles *= scale;
	reading->cycle_ns /= scale;
	if (!reading->sample || !samples_in_cycles(spec))
		return;
	double *sample = xr_arena_array(&run->arena, double, reading->samples);
	for (int i = 0; i < reading->samples; i++)
		sample[i] = reading->sample[i] * scale;
	reading->sample = sample;
}

int xr_run_time_with(struct xr_run *run, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                     struct xr_reading *out)
{
	struct xr_effort quick;
	if (xr_run_go_on(run))
		return -1;
	if (run->quick) {
		quick = quick_effort(effort);
		effort = &quick;
	}
	int rc = xr_target_time(run->target, effort, specs, n, out, &run->error);
	if (run->plan->interrupt && *run->plan->interrupt)
		return stop(
			run,
			XR_END_INTERRUPTED); /* the interrupt may have hit the target too: whatever it says is void */
	if (rc)                              /* the target stops, too, when there is no more time */
		return xr_run_go_on(run) ? -1 : stop(run, XR_END_LOST);
	for (size_t i = 0; i < n; i++)
		to_core_cycles(run, &specs[i], &out[i]);
	return 0;
}

int xr_run_time(struct xr_run *run, const struct xr_spec *specs, size_t n, struct xr_reading *out)
{
	return xr_run_time_with(run, NULL, specs, n, out);
}

struct xr_description *xr_run_description(struct xr_run *run)
{
	return run->description;
}

double xr_run_number(const struct xr_run *run, const char *id, double otherwise)
{
	return xr_description_number(run->description, id, otherwise);
}

bool xr_run_wants(const struct xr_run *run, const char *id)
{
	return xr_order_wants(&run->order, run->step, id);
}

bool xr_run_quick(const struct xr_run *run)
{
	return run->quick;
}

enum xr_oracle xr_run_oracle(const struct xr_run *run)
{
	return run->plan->oracle;
}

const struct xr_target_info *xr_run_info(const struct xr_run *run)
{
	return xr_target_info(run->target);
}

/* A quarter of the memory: there are several buffers, and others want some, too. Half, where there is so little
 * that a cache may be as large as a quarter. */
uint64_t xr_run_room(const struct xr_run *run)
{
	const uint64_t memory = xr_run_info(run)->memory_bytes, little = 1 << 20;
	return memory > little ? memory / 4 : memory / 2;
}

struct xr_arena *xr_run_arena(struct xr_run *run)
{
	return &run->arena;
}

struct xr_rng *xr_run_rng(struct xr_run *run)
{
	return &run->rng;
}

void xr_run_cycle(struct xr_run *run, double reference_cycles)
{
	if (reference_cycles > 0)
		run->reference_cycles = reference_cycles;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Two compilations at a time take half as long; the last of many, and linking, wait for nobody: more CPUs gain little. */
double xr_run_cost_s(const struct xr_run *run, const struct xr_micro *micro)
{
	const double n = run->target ? xr_target_info(run->target)->n_cpus : 1;
	const double pairs = n * (n - 1), pairs_of_16 = 16 * 15;
	return micro->cost_s * (micro->by_pairs ? pairs / pairs_of_16 : 1) /
	       (xr_micro_mostly_compiles(micro) && n > 1 ? 2 : 1);
}

double xr_run_truth(const struct xr_run *run)
{
	/* the estimates carry the weight of one second, so that the first quick step does not decide alone */
	return (run->spent_done_s[0] + run->spent_done_s[1] + 1) / (run->cost_done_s[0] + run->cost_done_s[1] + 1);
}

bool xr_micro_mostly_compiles(const struct xr_micro *micro)
{
	return !(micro->kinds & ~(1u << XR_OPS | XR_WITH_COMPILER | XR_WITHOUT_TIME)) && micro->kinds & 1u << XR_OPS;
}

/* How far costs of this kind are to be trusted beside what was seen of it, in seconds. Whether programs are there from the
 * last run is soon clear; that this machine, or its crowd, is slower than usual is not. */
static const double trusted_s[2] = {8, 1};

double xr_run_estimate_s(const struct xr_run *run)
{
	double ahead_s[2] = {0, 0}, sum_s = 0;
	for (size_t i = 0; i < run->order.n && run->index < run->order.n; i++) {
		const struct xr_micro *micro = run->order.step[i].micro;
		double share = i > run->index ? 1 : i == run->index ? 1 - run->step_fraction : 0;
		share += i < run->index && !strcmp(micro->id, "noise"); /* it is looked at once more at the end */
		ahead_s[xr_micro_mostly_compiles(micro)] += xr_run_cost_s(run, micro) * share;
	}
	for (int i = 0; i < 2; i++)
		sum_s += ahead_s[i] * (run->spent_done_s[i] + trusted_s[i]) / (run->cost_done_s[i] + trusted_s[i]);
	return sum_s;
}

/* A budget that is too small for everything is used up: what is left of it goes into what is in doubt. */
double xr_run_remaining_s(const struct xr_run *run)
{
	double left_s = run->end_s > 0 ? fmax(run->end_s - xr_now_s(), 0) : INFINITY;
	return run->end_s > 0 && (run->refining || run->quick) ? left_s : fmin(xr_run_estimate_s(run), left_s);
}

void xr_run_report(struct xr_run *run, const char *what, bool finished)
{
	double elapsed_s = xr_now_s() - run->start_s, remaining_s = xr_run_remaining_s(run);
	struct xr_progress progress = {
		.micro = run->step->micro->id,
		.title = run->step->micro->title,
		.what = what ? what : "",
		.index = (int)run->index + 1,
		.count = (int)run->order.n,
		.fraction = elapsed_s + remaining_s > 0 ? elapsed_s / (elapsed_s + remaining_s) : 1,
		.elapsed_s = elapsed_s,
		.remaining_s = remaining_s,
		.finished = finished,
	};
	if (run->plan->progress)
		run->plan->progress(run->plan->self, &progress);
}

void xr_run_progress(struct xr_run *run, double fraction, const char *what)
{
	run->step_fraction = fraction > 0 ? (fraction < 1 ? fraction : 1) : 0;
	xr_run_report(run, what, false);
}
