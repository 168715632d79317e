/* SPDX-License-Identifier: MIT */
#include "engine/quality.h"

#include "xray.h"

#include <math.h>
#include <string.h>

enum { FACTS = 4 };
static const char *const ids[FACTS] = {"noise.lost", "noise.interrupts", "noise.drift", "noise.neighbour"};

static const struct xr_step *find_noise(const struct xr_run *run, const enum xr_end *ends)
{
	for (size_t i = 0; i < run->order.n; i++)
		if (!strcmp(run->order.step[i].micro->id, "noise") && ends[i] == XR_END_DONE)
			return &run->order.step[i];
	return NULL;
}

/* Three, and all before the decimal point. */
static int figures(double value)
{
	return value >= 1000 ? 1 + (int)log10(value) : 3;
}

static void keep_the_worse(struct xr_fact *fact, double before)
{
	double after = json_is_boolean(fact->value) ? json_is_true(fact->value) : json_number_value(fact->value);
	if (json_is_boolean(fact->value)) {
		if (before != after)
			xr_fact_note(fact, "%s the run, not %s it", before > 0 ? "before" : "after",
			             before > 0 ? "after" : "before");
		if (before > after) {
			json_decref(fact->value);
			fact->value = json_true();
		}
		return;
	}
	if (before > after) {
		json_decref(fact->value);
		fact->value = json_real(before);
	}
	xr_fact_note(fact, "%.*g before the run, %.*g after it", figures(before), before, figures(after), after);
}

/* Where virtual CPUs are moved about, which of them are one core is true for a while only. */
static void doubt_cores(struct xr_description *d)
{
	static const char *const cores[] = {"threads.cores", "threads.smt", "threads.siblings"};
	if (!(xr_description_number(d, "noise.moved", 0) > 0))
		return;
	for (size_t i = 0; i < sizeof cores / sizeof *cores; i++) {
		const struct xr_fact *fact = xr_description_fact(d, cores[i]);
		if (fact && fact->status == XR_OK)
			xr_fact_doubt(
				xr_description_edit(d, cores[i]),
				"asked again at the end, the CPUs were on other cores: the hypervisor moves them");
	}
}

void xr_quality_after(struct xr_run *run, const enum xr_end *ends)
{
	const struct xr_step *noise = find_noise(run, ends);
	double before[FACTS];
	if (!noise)
		return;
	if (run->order.n > 1) {
		for (int i = 0; i < FACTS; i++)
			before[i] = xr_description_number(run->description, ids[i], -1);
		run->step = noise;
		run->end = XR_END_DONE;
		run->watch.end_s = run->plan->budget_s > 0 ? run->start_s + run->plan->budget_s : 0;
		xr_target_until(run->target, run->watch.end_s, run->plan->interrupt);
		xr_description_set_micro(run->description, noise->micro->id);
		bool again = noise->micro->run(run) == 0;
		xr_description_set_micro(run->description, NULL);
		xr_arena_release(&run->arena);
		xr_arena_init(&run->arena);
		for (int i = 0; i < FACTS && again; i++) {
			const struct xr_fact *fact = xr_description_fact(run->description, ids[i]);
			if (before[i] >= 0 && fact && fact->status == XR_OK)
				keep_the_worse(xr_description_edit(run->description, ids[i]), before[i]);
		}
		doubt_cores(run->description);
	}
}
