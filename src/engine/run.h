/* SPDX-License-Identifier: MIT */
/* Behind xr_run_*: what a micro-benchmark is given while it runs. */
#ifndef XR_ENGINE_RUN_H
#define XR_ENGINE_RUN_H

#include "engine/plan.h"
#include "micro/micro.h"
#include "util/watch.h"

enum xr_end {
	XR_END_DONE,
	XR_END_UNSUPPORTED,  /* this target cannot */
	XR_END_BLOCKED,      /* something it needs is not there */
	XR_END_INTERRUPTED,
	XR_END_BUDGET,
	XR_END_LOST,         /* the target stopped answering */
	XR_END_BROKEN,       /* gave up without a reason of ours: a defect of the micro-benchmark */
};

struct xr_run {
	struct xr_target *target;
	struct xr_description *description;
	const struct xr_plan *plan;
	struct xr_order order;
	const struct xr_step *step;      /* at work */
	size_t index;                    /* its place in the order */
	struct xr_arena arena;           /* of the micro-benchmark at work */
	struct xr_rng rng;
	void *self;                      /* for micro-benchmarks made at run time (statement.c) */
	bool quick;
	double reference_cycles;         /* core cycles of one reference operation */
	double start_s, step_start_s;
	double end_s;                    /* of the budget; 0: none */
	bool refining;                   /* what is in doubt, once more and with all effort, while the budget lasts */
	struct xr_watch watch;           /* of the micro-benchmark at work */
	double step_fraction;
	/* estimated and true time of those that ended: their ratio scales what remains. [1]: of those that mostly compile,
	 * which take next to nothing where their programs are still there from the last run */
	double cost_done_s[2], spent_done_s[2];
	enum xr_end end;                 /* why xr_run_time() said stop */
	struct xr_error error;           /* XR_END_LOST: the target's words */
};

double xr_now_s(void);
double xr_run_cost_s(const struct xr_run *run, const struct xr_micro *micro); /* on this many CPUs */
/* Runs run->step, the run->index-th of the order; ends: how those before it ended. */
void xr_run_step(struct xr_run *run, uint64_t seed, const enum xr_end *ends);
void xr_run_report(struct xr_run *run, const char *what, bool finished);
bool xr_micro_mostly_compiles(const struct xr_micro *micro);
double xr_run_truth(const struct xr_run *run);       /* time taken so far over time estimated for it */
double xr_run_estimate_s(const struct xr_run *run);  /* from the costs still to come, scaled by how true they were so far */
double xr_run_remaining_s(const struct xr_run *run); /* the same, where there is a budget, within it */

#endif
