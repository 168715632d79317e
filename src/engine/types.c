/* SPDX-License-Identifier: MIT */
#include "engine/types.h"

#include <string.h>

/* Without threads: about one core. */
static bool about_a_core(const struct xr_micro *micro)
{
	return !(micro->kinds & 1u << XR_TEAM);
}

static bool has(const json_t *cpus, int cpu)
{
	size_t i;
	json_t *id;
	json_array_foreach(cpus, i, id) if (json_integer_value(id) == cpu) return true;
	return false;
}

static void adopt(struct xr_run *run, const struct xr_description *from, size_t type)
{
	struct xr_description *to = run->description;
	struct xr_arena *arena = &run->arena;
	for (size_t i = 0; i < xr_description_series_count(from); i++) {
		const struct xr_series *s = xr_description_series_at(from, i);
		xr_series_put(to, xr_arena_printf(arena, "type.%zu.%s", type, s->id), s->x_name, s->x_unit, s->x,
		              s->y_name, s->y_unit, s->y, s->n);
	}
	for (size_t i = 0; i < xr_description_count(from); i++) {
		const struct xr_fact *f = xr_description_at(from, i);
		const char *id = xr_arena_printf(arena, "type.%zu.%s", type, f->id);
		xr_description_set_micro(to, f->micro);
		if (!f->value) {
			xr_fact_none(to, id, f->status, "%s", xr_fact_reason(f));
			continue;
		}
		struct xr_fact *copy = xr_fact_put(to, id, json_deep_copy(f->value), f->unit, f->confidence, f->method);
		if (f->status != XR_OK)
			xr_fact_doubt(copy, "%s", xr_fact_reason(f));
		else if (f->reason)
			xr_fact_note(copy, "%s", f->reason);
		for (size_t k = 0; k < f->n_series; k++)
			xr_fact_add_series(copy, xr_arena_printf(arena, "type.%zu.%s", type, f->series[k]));
	}
	xr_description_set_micro(to, NULL);
}

/* The order once more, on the CPU that the target is on now. */
static struct xr_description *measure_core(struct xr_run *run, uint64_t seed, const enum xr_end *before)
{
	struct xr_description *d = xr_description_new(), *all = run->description;
	struct xr_arena arena = {0};
	enum xr_end *ends = xr_arena_array(&arena, enum xr_end, run->order.n + 1);
	double reference_cycles = run->reference_cycles;
	run->description = d;
	run->reference_cycles = 1;
	for (run->index = 0; run->index < run->order.n; run->index++) {
		run->step = &run->order.step[run->index];
		ends[run->index] = before[run->index];
		if (!about_a_core(run->step->micro))
			continue;
		xr_run_step(run, seed, ends);
		ends[run->index] = run->end;
		if (run->end == XR_END_INTERRUPTED || run->end == XR_END_BUDGET || run->end == XR_END_LOST)
			break;
	}
	run->description = all;
	run->reference_cycles = reference_cycles;
	xr_arena_release(&arena);
	return d;
}

void xr_types_after(struct xr_run *run, uint64_t seed, const enum xr_end *ends)
{
	const struct xr_fact *types = xr_description_fact(run->description, "threads.types");
	int here = xr_target_info(run->target)->cpu_used;
	bool any = false, moved = false;
	size_t type;
	json_t *cpus;
	for (size_t i = 0; i < run->order.n; i++)
		any |= about_a_core(run->order.step[i].micro);
	if (!any || here < 0 || !types || types->status != XR_OK || json_array_size(types->value) < 2)
		return;
	json_t *groups = json_deep_copy(types->value); /* facts move in memory while others are put */
	json_array_foreach(groups, type, cpus)
	{
		int cpu = (int)json_integer_value(json_array_get(cpus, 0));
		if (has(cpus, here))
			continue;
		if (xr_target_move(run->target, cpu, &run->error)) {
			xr_fact_note(xr_description_edit(run->description, "threads.types"),
			             "facts are those of CPU %d; --cpu measures another type", here);
			break;
		}
		moved = true;
		struct xr_description *d = measure_core(run, seed, ends);
		adopt(run, d, type);
		xr_description_free(d);
	}
	if (moved && xr_target_move(run->target, here, &run->error))
		run->end = XR_END_LOST;
	json_decref(groups);
	xr_arena_release(&run->arena);
	xr_arena_init(&run->arena);
}
