/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include "engine/quality.h"
#include "engine/refine.h"
#include "engine/run.h"
#include "engine/types.h"
#include "facts/trust.h"

#include <math.h>
#include <string.h>

/* Estimates of cost are rough: so many times as long is not yet suspicious. */
static const double overdraft = 3;
/* Of the cost, when in a hurry. */
static const double quick_cost = 0.6;
/* --quick says so in the confidence. */
static const double quick_confidence = 0.9;
/* After so many micro-benchmarks in a row that lost the target at once there is no target any more. */
enum { LOSSES_MAX = 2 };

/* ---- facts that are not there ---------------------------------------------------------------------------------- */

static bool any_fact_under(const struct xr_description *d, const char *pattern)
{
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (xr_id_is(xr_description_at(d, i)->id, pattern))
			return true;
	return false;
}

/* Every fact that this step was to find and did not gets the reason; a family of which none was found, under its
 * pattern. */
static void explain(struct xr_run *run, enum xr_status status, const char *reason)
{
	for (const char *const *find = run->step->micro->finds; find && *find; find++) {
		bool family = strchr(*find, '*') != NULL;
		if (family && run->end == XR_END_DONE)
			continue; /* a machine need not have any of the family */
		if (xr_order_wants(&run->order, run->step, *find) && !any_fact_under(run->description, *find))
			xr_fact_none(run->description, *find, status, "%s", reason);
	}
}

/* ---- one micro-benchmark ----------------------------------------------------------------------------------------- */

static const char *const kind_names[] = {
	[XR_CLOCK] = "a clock to look at",       [XR_OPS] = "operations",       [XR_CHAIN] = "memory of its own",
	[XR_WALK] = "code placed at an address", [XR_TEAM] = "several threads", [XR_FLOW] = "memory of its own",
};

/* Whatever else may be missing, a target without threads has no use for what needs them. */
static const char *why_impossible(struct xr_run *run)
{
	const struct xr_micro *micro = run->step->micro;
	const struct xr_target_info *info = xr_target_info(run->target);
	if ((micro->kinds & XR_WITH_COMPILER) && info->no_compiler)
		return "needs a C compiler";
	for (unsigned kind = 0; kind < sizeof kind_names / sizeof *kind_names; kind++)
		if (micro->kinds & ~info->kinds & (1u << kind))
			return xr_arena_printf(&run->arena, "this target cannot time %s", kind_names[kind]);
	return NULL;
}

static const char *why_unsupported(struct xr_run *run)
{
	const struct xr_micro *micro = run->step->micro;
	const char *untimed = xr_target_info(run->target)->untimed;
	if (untimed && !(micro->kinds & XR_WITHOUT_TIME))
		return untimed;
	return micro->supported ? micro->supported(run) : NULL;
}

static bool fact_found(const struct xr_description *d, const char *need, const struct xr_fact **bad)
{
	*bad = NULL;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (!xr_id_matches(fact->id, need))
			continue;
		if (fact->status == XR_OK)
			return true;
		*bad = fact;
	}
	return false;
}

static const char *why_blocked(struct xr_run *run, const enum xr_end *ends)
{
	const struct xr_micro *micro = run->step->micro;
	const struct xr_fact *bad;
	if (run->step->missing)
		return xr_arena_printf(&run->arena, "needs %s, which this build does not have", run->step->missing);
	for (const char *const *need = micro->needs; need && *need; need++) {
		if (strchr(*need, '.')) {
			if (!fact_found(run->description, *need, &bad))
				return xr_arena_printf(&run->arena, "needs %s, which was not found%s%s", *need,
				                       bad ? ": " : "", bad ? xr_fact_reason(bad) : "");
			continue;
		}
		for (size_t i = 0; i < run->index; i++)
			if (!strcmp(run->order.step[i].micro->id, *need) && ends[i] != XR_END_DONE &&
			    ends[i] != XR_END_BUDGET) /* what it had time for is there */
				return xr_arena_printf(&run->arena, "needs %s, which could not be measured", *need);
	}
	return NULL;
}

static uint64_t text_seed(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h;
}

/* ---- the budget ---- */

/* What --quick allows on a real machine: with a look around before, the last experiment being stopped, and the report after,
 * five seconds in all. */
static const double quick_s = 4.2;

static double budget_s(const struct xr_run *run)
{
	bool real = !strcmp(xr_target_info(run->target)->kind, "host");
	return run->plan->budget_s > 0 ? run->plan->budget_s : run->plan->quick && real ? quick_s : 0;
}

/* Long ones give most of what they find early: they need not have all their time. */
static const double long_s = 2;

static double weight_s(const struct xr_micro *micro)
{
	return micro->cost_s < long_s ? micro->cost_s : long_s;
}

/* What takes little and matters: the long ones leave it somewhat more than what it says it takes, and it may take
 * longer. */
static const double cheap_s = 0.5, grace = 1.5;

static double needs_s(const struct xr_run *run, const struct xr_micro *micro)
{
	bool cheap = xr_micro_is_main(micro) && micro->cost_s <= cheap_s;
	return cheap ? micro->cost_s * xr_run_truth(run) * (run->quick ? quick_cost : 1) : 0;
}

static double kept_s(const struct xr_run *run)
{
	double sum_s = 0;
	for (size_t i = run->index + 1; i < run->order.n; i++)
		sum_s += grace * needs_s(run, run->order.step[i].micro);
	return sum_s;
}

/* What is asked for most comes first, and none of it may eat the time of the others: each gets its share of what
 * is left, by its cost among those that are still to come and matter as much; what it does not use is the
 * others'. One that takes much longer than it said is stopped all the same. */
static double deadline_s(const struct xr_run *run)
{
	double now_s = xr_now_s(), end_s = run->end_s, ahead_s = 0;
	double hurry = run->quick ? quick_cost : 1;
	bool matters = xr_micro_is_main(run->step->micro);
	if (!(end_s > 0) || run->refining)
		return end_s;
	for (size_t i = run->index; i < run->order.n; i++)
		if (xr_micro_is_main(run->order.step[i].micro) == matters)
			ahead_s += weight_s(run->order.step[i].micro);
	double share_s = (end_s - now_s) * weight_s(run->step->micro) / (ahead_s > 0 ? ahead_s : 1);
	double patience_s = overdraft * xr_run_cost_s(run, run->step->micro) * xr_run_truth(run) * hurry + 1;
	if (run->index + 1 == run->order.n || !matters)
		share_s = end_s - now_s;
	/* costs are rough, and the first to come is needed by the others: twice its share; more for a short one, which has
	 * found nothing when it is stopped */
	double generous_s = share_s * (run->step->micro->cost_s < long_s ? overdraft : 2);
	double allowed_s = generous_s < patience_s ? generous_s : patience_s;
	if (matters) {
		double left_s = end_s - now_s, most_s = fmax(left_s - kept_s(run), left_s / 2);
		allowed_s = fmax(fmin(allowed_s, most_s), overdraft * needs_s(run, run->step->micro));
	}
	return now_s + allowed_s < end_s ? now_s + allowed_s : end_s;
}

/* ---- one micro-benchmark: the run ---- */

static void lower_confidence(struct xr_run *run, size_t first)
{
	for (size_t i = first; run->quick && i < xr_description_count(run->description); i++) {
		struct xr_fact *fact =
			xr_description_edit(run->description, xr_description_at(run->description, i)->id);
		fact->confidence *= quick_confidence;
	}
}

void xr_run_step(struct xr_run *run, uint64_t seed, const enum xr_end *ends)
{
	const struct xr_micro *micro = run->step->micro;
	size_t first = xr_description_count(run->description);
	const char *reason;
	run->step_start_s = xr_now_s();
	run->step_fraction = 0;
	run->watch = (struct xr_watch){deadline_s(run), run->plan->interrupt};
	run->rng.state = seed ^ text_seed(micro->id);
	run->end = XR_END_DONE;
	xr_description_set_micro(run->description, micro->id);
	if (run->plan->interrupt && *run->plan->interrupt) {
		run->end = XR_END_INTERRUPTED;
		explain(run, XR_FAILED, "interrupted before it was measured");
	} else if ((reason = why_impossible(run))) {
		run->end = XR_END_UNSUPPORTED;
		explain(run, XR_UNSUPPORTED, reason);
	} else if ((reason = why_unsupported(run))) {
		run->end = XR_END_UNSUPPORTED;
		explain(run, XR_UNSUPPORTED, reason);
	} else if (!xr_target_info(run->target)->untimed && (reason = why_blocked(run, ends))) {
		run->end = XR_END_BLOCKED;
		explain(run, XR_FAILED, reason);
	} else {
		xr_run_report(run, "", false);
		xr_target_until(run->target, run->watch.end_s, run->watch.interrupt);
		xr_target_settle(run->target);
		if (micro->run(run) && run->end == XR_END_DONE)
			run->end = XR_END_BROKEN;
		lower_confidence(run, first);
		switch (run->end) {
		case XR_END_INTERRUPTED:
			explain(run, XR_FAILED, "interrupted while it was measured");
			break;
		case XR_END_BUDGET:
			explain(run, XR_FAILED,
			        run->plan->budget_s > 0 ? "the time allowed was used up; a larger --budget measures it"
			                                : "--quick had no time for it");
			break;
		case XR_END_LOST:
			explain(run, XR_FAILED,
			        xr_arena_printf(&run->arena, "the target was lost: %s", run->error.text));
			break;
		default:
			explain(run, XR_FAILED, "the micro-benchmark gave no answer");
		}
	}
	xr_description_set_micro(run->description, NULL);
	xr_arena_release(&run->arena);
	xr_arena_init(&run->arena);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void note_spent(struct xr_run *run)
{
	json_t *target = xr_description_target(run->description);
	json_t *spent = json_object_get(target, "spent");
	double spent_s = xr_now_s() - run->step_start_s;
	if (!spent) {
		spent = json_object();
		json_object_set_new(target, "spent", spent);
	}
	json_object_set_new(spent, run->step->micro->id, json_real(spent_s));
	if (run->end == XR_END_DONE) { /* only those that ran to their end show what estimates are worth */
		const int kind = xr_micro_mostly_compiles(run->step->micro);
		run->cost_done_s[kind] += xr_run_cost_s(run, run->step->micro) * (run->quick ? quick_cost : 1);
		run->spent_done_s[kind] += spent_s;
	}
	run->step_fraction = 1;
	xr_run_report(run, "", true);
}

/* Facts named one by one that are not even known by a reason: the machine has nothing of that name. */
static void explain_named(struct xr_run *run)
{
	for (size_t s = 0; s < run->order.n_select; s++) {
		const char *sel = run->order.select[s];
		bool named = false, found = false;
		for (size_t i = 0; i < run->order.n; i++) {
			const struct xr_micro *micro = run->order.step[i].micro;
			for (const char *const *find = micro->finds; find && *find; find++)
				named |= xr_id_matches(*find, sel);
		}
		for (size_t i = 0; i < xr_description_count(run->description); i++)
			found |= xr_id_matches(xr_description_at(run->description, i)->id, sel);
		if (named && !found)
			xr_fact_none(run->description, sel, XR_UNSUPPORTED,
			             "there is nothing of this name on this target");
	}
}

static bool named_alone(const struct xr_run *run, const char *id)
{
	for (size_t s = 0; s < run->order.n_select; s++)
		if (!strcmp(id, run->order.select[s]))
			return true;
	return false;
}

static const struct xr_step *step_of(const struct xr_run *run, const struct xr_fact *fact)
{
	for (size_t i = 0; i < run->order.n; i++)
		if (fact->micro && !strcmp(run->order.step[i].micro->id, fact->micro))
			return &run->order.step[i];
	return NULL;
}

/* Counts the facts asked for, and what the run amounts to: an `unsupported` one is an answer unless it was asked for by
 * its own name. */
static void sum_up(const struct xr_run *run, struct xr_outcome *outcome)
{
	bool missed = false, doubted = false;
	for (size_t i = 0; i < xr_description_count(run->description); i++) {
		const struct xr_fact *fact = xr_description_at(run->description, i);
		const struct xr_step *step = step_of(run, fact);
		bool alone = named_alone(run, fact->id);
		if (!alone && (!step || !xr_order_asked(&run->order, step, fact->id)))
			continue;
		outcome->ok += fact->status == XR_OK;
		outcome->unsupported += fact->status == XR_UNSUPPORTED;
		outcome->unreliable += fact->status == XR_UNRELIABLE;
		outcome->failed += fact->status == XR_FAILED;
		missed |= fact->status == XR_FAILED || (alone && fact->status == XR_UNSUPPORTED);
		doubted |= alone && fact->status == XR_UNRELIABLE;
	}
	if (missed || outcome->interrupted || outcome->over_budget)
		outcome->exit = XR_EXIT_SOME;
	else if (doubted || outcome->unreliable > outcome->ok)
		outcome->exit = XR_EXIT_NOISY;
	else
		outcome->exit =
			outcome->unreliable || (run->order.n_select && !outcome->ok) ? XR_EXIT_SOME : XR_EXIT_OK;
}

static void run_all(struct xr_run *run, uint64_t seed, enum xr_end *ends, struct xr_outcome *outcome)
{
	int losses = 0;
	for (run->index = 0; run->index < run->order.n; run->index++) {
		run->step = &run->order.step[run->index];
		if (losses >= LOSSES_MAX) {
			run->end = ends[run->index] = XR_END_LOST;
			xr_description_set_micro(run->description, run->step->micro->id);
			explain(run, XR_FAILED, run->error.text);
			continue;
		}
		xr_run_step(run, seed, ends);
		ends[run->index] = run->end;
		losses = run->end == XR_END_LOST ? losses + 1 : 0;
		outcome->interrupted |= run->end == XR_END_INTERRUPTED;
		outcome->over_budget |= run->end == XR_END_BUDGET;
		note_spent(run);
	}
	xr_description_set_micro(run->description, NULL);
}

static bool all_lost(const struct xr_order *order, const enum xr_end *ends)
{
	for (size_t i = 0; i < order->n; i++)
		if (ends[i] != XR_END_LOST && ends[i] != XR_END_BLOCKED && ends[i] != XR_END_UNSUPPORTED)
			return false;
	for (size_t i = 0; i < order->n; i++)
		if (ends[i] == XR_END_LOST)
			return true;
	return false;
}

int xr_engine_run(struct xr_target *target, const struct xr_micro *const *table, const struct xr_plan *plan,
                  uint64_t seed, void *self, struct xr_description *d, struct xr_outcome *outcome, struct xr_error *err)
{
	struct xr_arena arena = {0};
	struct xr_run run = {
		.target = target,
		.description = d,
		.plan = plan,
		.self = self,
		.quick = plan->quick,
		.reference_cycles = 1,
		.start_s = xr_now_s(),
	};
	*outcome = (struct xr_outcome){.exit = XR_EXIT_OK};
	int rc = xr_order_make(&run.order, &arena, table, plan->select, plan->n_select, budget_s(&run) > 0, err);
	if (rc)
		goto out;
	run.quick |= budget_s(&run) > 0 && xr_run_estimate_s(&run) > budget_s(&run);
	run.end_s = budget_s(&run) > 0 ? run.start_s + budget_s(&run) : 0;
	enum xr_end *ends = xr_arena_array(&arena, enum xr_end, run.order.n + 1);
	run_all(&run, seed, ends, outcome);
	if (!plan->quick && !outcome->interrupted)
		xr_refine_after(&run, seed, ends, outcome);
	if (!outcome->interrupted && !outcome->over_budget) {
		xr_types_after(&run, seed, ends);
		xr_quality_after(&run, ends);
	}
	xr_describe_target(d, target, seed, run.quick, xr_now_s() - run.start_s);
	xr_trust_apply(d);
	explain_named(&run);
	sum_up(&run, outcome);
	if (all_lost(&run.order, ends))
		rc = xr_fail(err, XR_EXIT_TARGET, "%s", run.error.text);
	else if (!strcmp(xr_target_info(target)->kind, "host"))
		xr_claims_add(d, xr_target_info(target));
out:
	xr_target_until(target, 0, NULL); /* what the plan points to may go */
	xr_arena_release(&arena);
	return rc;
}
