/* SPDX-License-Identifier: MIT */
#include "engine/refine.h"

#include "facts/trust.h"

#include <string.h>

/* Of the noise's cost, kept for looking at it once more at the end (quality.h); it is as rough as all costs. */
static const double kept = 2;

static bool is_of(const struct xr_fact *fact, const struct xr_micro *micro)
{
	return fact->micro && !strcmp(fact->micro, micro->id);
}

/* Does the step leave something to be wished for? */
static bool is_wanting(const struct xr_run *run, const struct xr_step *step)
{
	for (size_t i = 0; i < xr_description_count(run->description); i++) {
		const struct xr_fact *fact = xr_description_at(run->description, i);
		if (is_of(fact, step->micro) && fact->status != XR_UNSUPPORTED &&
		    (fact->status != XR_OK || !xr_trust_enough(fact->confidence, xr_trust_usual)))
			return true;
	}
	return false;
}

static void put_back(struct xr_description *to, const struct xr_description *from, const struct xr_micro *micro)
{
	for (size_t i = 0; i < xr_description_series_count(from); i++) {
		const struct xr_series *s = xr_description_series_at(from, i);
		xr_series_put(to, s->id, s->x_name, s->x_unit, s->x, s->y_name, s->y_unit, s->y, s->n);
	}
	for (size_t i = 0; i < xr_description_count(from); i++)
		if (is_of(xr_description_at(from, i), micro))
			xr_fact_copy(to, xr_description_at(from, i));
}

static struct xr_description *copy_of(const struct xr_description *d)
{
	struct xr_error err;
	json_t *json = xr_description_to_json(d);
	struct xr_description *copy = json ? xr_description_from_json(json, &err) : NULL;
	json_decref(json);
	return copy;
}

/* Asks one step again; what it said before stays unless it comes to an end. */
static void ask_again(struct xr_run *run, uint64_t seed, enum xr_end *ends)
{
	struct xr_description *before = copy_of(run->description);
	if (!before)
		return;
	xr_run_step(run, seed, ends);
	if (run->end == XR_END_DONE)
		ends[run->index] = XR_END_DONE;
	else
		put_back(run->description, before, run->step->micro);
	xr_description_free(before);
}

static double kept_for_noise(const struct xr_run *run)
{
	for (size_t i = 0; i < run->order.n; i++)
		if (!strcmp(run->order.step[i].micro->id, "noise"))
			return kept * run->order.step[i].micro->cost_s * xr_run_truth(run);
	return 0;
}

void xr_refine_after(struct xr_run *run, uint64_t seed, enum xr_end *ends, struct xr_outcome *outcome)
{
	const double end_s = run->end_s;
	if (!run->quick || !(end_s > 0))
		return;
	run->refining = true;
	run->quick = false;
	run->end_s -= kept_for_noise(run);
	for (run->index = 0; run->index < run->order.n; run->index++) {
		const enum xr_end ended = ends[run->index];
		run->step = &run->order.step[run->index];
		double cost_s = xr_run_cost_s(run, run->step->micro) * xr_run_truth(run);
		bool ran = ended == XR_END_DONE || ended == XR_END_BUDGET || ended == XR_END_BLOCKED;
		if (!ran || xr_now_s() + cost_s > run->end_s || !is_wanting(run, run->step))
			continue;
		ask_again(run, seed, ends);
		if (run->end == XR_END_INTERRUPTED || run->end == XR_END_LOST)
			break;
	}
	outcome->interrupted |= run->end == XR_END_INTERRUPTED;
	outcome->over_budget = false;
	for (size_t i = 0; i < run->order.n; i++)
		outcome->over_budget |= ends[i] == XR_END_BUDGET;
	run->end_s = end_s;
	run->refining = false;
	run->quick = true; /* the run as a whole was a hurried one */
}
