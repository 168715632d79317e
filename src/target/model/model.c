/* SPDX-License-Identifier: MIT */
/* The model target: specifications in, samples out.
 *
 * A simulated machine is asked and answers as hardware does. What is exact about it stays inside: prepare() works out
 * what one operation costs in the steady state, and rounds() lets so much time pass on a noisy clock and looks at it
 * through a coarse timer.
 */
#include "target/model/model.h"

#include "target/open.h"
#include "util/memory.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct xr_model *model_of(struct xr_target *target)
{
	return (struct xr_model *)(void *)target;
}

void xr_model_refuse(struct xr_model *model, struct xr_reading *out, enum xr_reading_status status, const char *format,
                     ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	out->status = status;
	out->reason = xr_arena_strdup(&model->target.arena, text);
}

double xr_model_reference(struct xr_model *model)
{
	double length = fmax(fmin(model->sample_ns / 4, 5e3), 500 * model->machine.timer_ns);
	return xr_sim_reference(&model->clock, xr_core_reference(&model->machine), length);
}

/* The reference is read on both sides; an interrupt in one of them must not count. */
double xr_model_reference_around(double before, double after)
{
	return fabs(before - after) <= 0.01 * before ? (before + after) / 2 : fmin(before, after);
}

void xr_model_prepare_ops(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_ops_spec *ops = &job->spec->ops;
	struct xr_demand demand;
	char reason[128];
	int status = xr_core_demand(&model->machine, ops, &demand, reason);
	if (status) {
		out->refused = status == -2;
		xr_model_refuse(model, out, out->refused ? XR_READ_FAILED : XR_READ_UNSUPPORTED, "%s", reason);
		return;
	}
	int length = 0, unroll = ops->unroll ? ops->unroll : 64;
	for (int i = 0; i < ops->n_streams; i++)
		length += ops->stream[i].share ? ops->stream[i].share : ops->stream[i].n;
	assert(length > 0);
	job->quantum = (unroll + length - 1) / length * length;
	job->one.cycles = xr_core_cycles(&model->machine, &demand);
	for (int i = 0; i < ops->n_streams && model->machine.vector_mhz > 0; i++)
		job->one.vectors |= xr_types[ops->stream[i].type].vector &&
		                    xr_types[ops->stream[i].type].bytes >= model->machine.vector_from;
	out->look = (struct xr_look){true, demand.insns, demand.stack_refs, demand.calls, 0};
	if (model->machine.counters)
		out->events = (struct xr_events){.counted = true, .cycles = job->one.cycles, .insns = demand.insns};
}

/* Looks at the clock back to back. One observation: the cost of a look, from as many as a coarse clock needs. */
static void sample_clock(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	struct xr_sim_clock *clock = &model->clock;
	double looks = fmax(64, ceil(20 * model->machine.timer_ns / fmax(model->machine.timer_cost_ns, 0.01)));
	(void)job;
	clock->now_ns += model->machine.timer_ns * xr_rng_unit(&clock->rng);
	double start = xr_sim_look(clock);
	struct xr_sim_work work = {.ns = (looks - 1) * model->machine.timer_cost_ns};
	struct xr_raw raw = {.long_ops = 1};
	xr_sim_run(clock, &work, &raw.hit);
	raw.long_ns = (xr_sim_look(clock) - start) / looks;
	raw.ref_ns = xr_model_reference(model);
	xr_raw_add(list, raw);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* As the agent finds it: a coarse clock stands still and jumps, then the smallest jump; a fine one advances with every
 * look, by a little more or less, then the smallest difference between two advances. */
static double find_granule(struct xr_sim_clock *clock)
{
	enum { LOOKS = 2000 };
	double delta[LOOKS], last = xr_sim_look(clock), cost = fmax(clock->machine->timer_cost_ns, 0.1);
	double patience = clock->now_ns + 1e9;
	bool stood = false;
	int n = 0;
	while (n < LOOKS && clock->now_ns < patience && !(stood && n >= 20)) {
		if (stood &&
		    clock->machine->timer_ns > 10 * cost) /* nobody would notice that these looks are skipped */
			clock->now_ns = fmax(clock->now_ns, last + clock->machine->timer_ns - 2 * cost);
		clock->now_ns += cost * 0.3 * xr_rng_unit(&clock->rng);
		double now = xr_sim_look(clock);
		stood |= !(now > last);
		if (now > last)
			delta[n++] = now - last;
		last = now;
	}
	if (!n)
		return 1e9;
	qsort(delta, (size_t)n, sizeof *delta, ascending);
	double least = delta[0];
	for (int i = 1; i < n && !stood; i++)
		if (delta[i] - delta[i - 1] > 1e-4 && delta[i] - delta[i - 1] < least)
			least = delta[i] - delta[i - 1];
	return least;
}

static void prepare_clock(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	out->granule_ns = find_granule(&model->clock);
	job->sample = sample_clock;
}

/* Cores own whole lines: the longest of the data caches that are not shared by all of them. */
uint64_t xr_model_granule(const struct xr_machine *m)
{
	uint64_t granule = 0;
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA && (m->cache[i].shared_by < m->cores || !granule) &&
		    m->cache[i].line_bytes > granule)
			granule = m->cache[i].line_bytes;
	return granule;
}

int xr_model_type_of(const struct xr_model *model, int cpu)
{
	int type = model->n_types - 1;
	while (type > 0 && cpu < model->type[type].first_cpu)
		type--;
	return type;
}

void xr_model_enter(struct xr_model *model, int type)
{
	if (model->mem == model->type[type].mem)
		return;
	model->machine = model->type[type].machine;
	model->mem = model->type[type].mem;
}

/* ---- beside a sibling ---- */

static void prepare_kind(struct xr_model *model, struct xr_job *job, struct xr_reading *out);

/* The same job, prepared on what a busy sibling leaves: how much longer does it take? */
void xr_model_find_sibling(struct xr_model *model, struct xr_job *job)
{
	struct xr_model_type *type = &model->type[job->type];
	if (!type->beside || job->spec->kind == XR_TEAM || job->spec->kind == XR_CLOCK)
		return;
	struct xr_job there = {.spec = job->spec, .quantum = 1, .type = job->type};
	struct xr_reading out = {0};
	model->machine = *type->beside;
	model->mem = type->beside_mem;
	prepare_kind(model, &there, &out);
	model->machine = type->machine;
	model->mem = type->mem;
	const double alone = job->script_cycles > 0 ? job->script_cycles : job->one.cycles;
	const double beside = there.script_cycles > 0 ? there.script_cycles : there.one.cycles;
	if (out.status == XR_READ_OK && alone > 0)
		job->one.beside = fmax(1, beside / alone);
	if (there.own_free)
		there.own_free(there.own);
}

/* ---- counters that lie ---- */

static void swap(double *a, double *b)
{
	const double c = *a;
	*a = *b;
	*b = c;
}

static void lie(struct xr_model *model, struct xr_events *e)
{
	struct xr_rng fixed = {model->seed ^ UINT64_C(0x6c696573)}; /* the same for the whole machine */
	const double scale = 0.25 * pow(12, xr_rng_unit(&fixed));   /* a quarter … three times */
	for (int i = 0; i < XR_EVENT_LEVELS; i++) {
		double *count[2] = {&e->cache_miss[i], &e->tlb_miss[i]};
		for (int k = 0; k < 2; k++)
			switch ((enum xr_lies)model->machine.lies) {
			case XR_LIES_ZERO:
				*count[k] = 0;
				break;
			case XR_LIES_SCALED:
				*count[k] *= scale;
				break;
			case XR_LIES_RANDOM:
				*count[k] *= 2 * xr_rng_unit(&model->rng);
				break;
			default:
				break;
			}
		if (model->machine.lies == XR_LIES_SWAPPED)
			swap(count[0], count[1]);
	}
}

static void prepare_job(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	job->quantum = 1;
	job->type = xr_model_type_of(model, model->cpu);
	xr_model_enter(model, job->type);
	prepare_kind(model, job, out);
	if (out->status == XR_READ_OK)
		xr_model_find_sibling(model, job);
	if (model->machine.lies && out->events.counted)
		lie(model, &out->events);
	if (out->status != XR_READ_OK || !(job->one.cycles > 0 || job->one.ns > 0))
		return;
	double one_ns = job->one.cycles / (model->machine.mhz * 1e-3) + job->one.ns;
	double turns = fmax(2, ceil(model->sample_ns / (one_ns * job->quantum)));
	job->long_ops = turns * job->quantum;
	job->short_ops = fmax(1, floor(turns / 4)) * job->quantum;
}

static void prepare_kind(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	switch (job->spec->kind) {
	case XR_CLOCK:
		prepare_clock(model, job, out);
		break;
	case XR_OPS:
		xr_model_prepare_ops(model, job, out);
		break;
	case XR_CHAIN:
		xr_model_prepare_chain(model, job, out);
		break;
	case XR_WALK:
		xr_model_prepare_walk(model, job, out);
		break;
	case XR_TEAM:
		xr_model_prepare_team(model, job, out);
		break;
	case XR_FLOW:
		xr_model_prepare_flow(model, job, out);
		break;
	}
}

static void done(struct xr_target *target)
{
	struct xr_model *model = model_of(target);
	for (size_t i = 0; i < model->n_jobs; i++)
		if (model->job[i].own_free)
			model->job[i].own_free(model->job[i].own);
	free(model->job);
	model->job = NULL;
	model->n_jobs = 0;
}

static int prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	struct xr_model *model = model_of(target);
	done(target);
	model->samples = effort ? effort->samples_max : 0;
	model->sample_ns = effort && effort->sample_ns > 0 ? effort->sample_ns : xr_sim_sample_ns(&model->machine);
	model->job = xr_calloc(n, sizeof *model->job);
	model->n_jobs = n;
	for (size_t i = 0; i < n; i++) {
		if (xr_watch_over(&target->watch)) /* simulating takes its time, too */
			return xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(&target->watch));
		model->job[i].spec = &specs[i];
		prepare_job(model, &model->job[i], &out[i]);
	}
	return 0;
}

static struct xr_sim_work times(struct xr_sim_work one, double ops)
{
	one.cycles *= ops;
	one.ns *= ops;
	return one;
}

void xr_model_sample_lengths(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	struct xr_raw raw = {.long_ops = job->long_ops, .short_ops = job->short_ops};
	struct xr_sim_work longer = times(job->one, job->long_ops), shorter = times(job->one, job->short_ops);
	double before = xr_model_reference(model);
	raw.short_ns = xr_sim_time(&model->clock, &shorter, &raw.hit);
	raw.long_ns = xr_sim_time(&model->clock, &longer, &raw.hit);
	raw.ref_ns = xr_model_reference_around(before, xr_model_reference(model));
	xr_raw_add(list, raw);
}

static int rounds(struct xr_target *target, const size_t *idx, size_t k, int n_rounds, struct xr_raw_list *lists,
                  struct xr_reading *out, struct xr_error *err)
{
	struct xr_model *model = model_of(target);
	(void)err;
	for (int r = 0; r < n_rounds; r++)
		for (size_t j = 0; j < k; j++) {
			struct xr_job *job = &model->job[idx[j]];
			xr_model_enter(model, job->type);
			if (out[idx[j]].status == XR_READ_OK)
				(job->sample ? job->sample : xr_model_sample_lengths)(model, job, &lists[idx[j]]);
		}
	return 0;
}

static void model_free(struct xr_target *target)
{
	struct xr_model *model = model_of(target);
	done(target);
	xr_model_forget_teams(model);
	xr_model_forget_flows(model);
	xr_model_forget_chains(model);
	free(model->cpu_ids);
	for (int i = 0; i < model->n_types; i++) {
		xr_mem_free(model->type[i].beside_mem);
		free(model->type[i].beside);
		xr_mem_free(model->type[i].mem);
	}
	xr_target_deinit(target);
	free(model);
}

static int move(struct xr_target *target, int cpu, struct xr_error *err)
{
	struct xr_model *model = model_of(target);
	(void)err;
	model->cpu = target->info.cpu_used = cpu;
	return 0;
}

static const struct xr_backend backend = {
	.prepare = prepare, .rounds = rounds, .done = done, .move = move, .free = model_free};

static void describe(struct xr_model *model)
{
	struct xr_target_info *info = &model->target.info;
	const struct xr_machine *m = &model->machine;
	const struct xr_model_type *last = &model->type[model->n_types - 1];
	int n = last->first_cpu + last->n_cpus;
	model->cpu_ids = xr_calloc((size_t)n, sizeof *model->cpu_ids);
	for (int i = 0; i < n; i++)
		model->cpu_ids[i] = i;
	*info = (struct xr_target_info){
		.kind = "simulated",
		.name = m->name,
		.cpu = m->name,
		.compiler = "model",
		.cflags = "",
		.os = "none",
		.cpu_ids = model->cpu_ids,
		.n_cpus = n,
		.cpu_used = 0,
		.can_pin = true,
		.memory_bytes = m->memory_bytes,
		.page_bytes = m->page_bytes,
		.has_flavour = {true, true},
		.counters = m->counters,
		.kinds = 1u << XR_CLOCK | 1u << XR_OPS | 1u << XR_CHAIN | 1u << XR_WALK | 1u << XR_FLOW,
	};
	if (n > 1 || m->timeslice_ms > 0) /* else there are no threads */
		info->kinds |= 1u << XR_TEAM;
}

static void add_type(struct xr_model *model, const struct xr_machine *machine)
{
	struct xr_model_type *type = &model->type[model->n_types++];
	type->machine = *machine;
	type->first_cpu = model->n_types > 1 ? type[-1].first_cpu + type[-1].n_cpus : 0;
	type->n_cpus = machine->cores * machine->smt;
	type->mem = xr_mem_new(&type->machine, xr_rng_next(&model->rng));
	if (machine->sibling > 0) {
		type->beside = xr_calloc(1, sizeof *type->beside);
		*type->beside = xr_machine_beside(machine);
		type->beside_mem = xr_mem_new_over(type->beside, type->mem, xr_rng_next(&model->rng));
	}
}

/* What is the machine's and not a core's. */
static struct xr_machine seated(struct xr_machine second, const struct xr_machine *first)
{
	second.timer_ns = first->timer_ns;
	second.timer_cost_ns = first->timer_cost_ns;
	second.memory_bytes = first->memory_bytes;
	second.page_bytes = first->page_bytes;
	second.timeslice_ms = first->timeslice_ms;
	second.switch_us = first->switch_us;
	second.near_ns = first->near_ns;
	second.far_ns = first->far_ns;
	second.jitter = first->jitter;
	second.interrupts_hz = first->interrupts_hz;
	second.interrupt_us = first->interrupt_us;
	second.drift = first->drift;
	second.preempt_hz = first->preempt_hz;
	second.preempt_ms = first->preempt_ms;
	second.step = first->step;
	second.step_ms = first->step_ms;
	second.ramp = first->ramp;
	second.ramp_ms = first->ramp_ms;
	second.low = first->low;
	second.timer_spread = first->timer_spread;
	second.sibling = first->sibling;
	second.sibling_ms = first->sibling_ms;
	second.sibling_takes = first->sibling_takes;
	second.migrate_hz = first->migrate_hz;
	second.migrate_us = first->migrate_us;
	return second;
}

struct xr_target *xr_model_open_hybrid(const struct xr_machine *machine, const struct xr_machine *second, uint64_t seed)
{
	struct xr_model *model = xr_calloc(1, sizeof *model);
	xr_target_init(&model->target, &backend);
	model->machine = *machine;
	model->seed = seed;
	model->rng.state = seed ^ UINT64_C(0x6d6f64656c);
	xr_sim_init(&model->clock, &model->machine, seed);
	model->sample_ns = xr_sim_sample_ns(&model->machine);
	add_type(model, machine);
	if (second) {
		struct xr_machine other = seated(*second, machine);
		add_type(model, &other);
	}
	xr_model_enter(model, 0);
	describe(model);
	return &model->target;
}

struct xr_target *xr_model_open_machine(const struct xr_machine *machine, uint64_t seed)
{
	return xr_model_open_hybrid(machine, NULL, seed);
}

static struct xr_target *open_read(const char *path, const struct xr_machine *machine, uint64_t seed,
                                   struct xr_error *err)
{
	struct xr_machine second;
	char beside[4096];
	if (!machine->second[0])
		return xr_model_open_machine(machine, seed);
	const char *slash = strrchr(path, '/');
	snprintf(beside, sizeof beside, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, machine->second);
	if (xr_machine_read(&second, beside, err))
		return NULL;
	return xr_model_open_hybrid(machine, &second, seed);
}

struct xr_target *xr_model_open(const char *path, uint64_t seed, struct xr_error *err)
{
	struct xr_machine machine;
	return xr_machine_read(&machine, path, err) ? NULL : open_read(path, &machine, seed, err);
}

struct xr_target *xr_model_open_text(const char *path, const char *text, size_t bytes, uint64_t seed,
                                     struct xr_error *err)
{
	struct xr_machine machine;
	return xr_machine_parse(&machine, path, text, bytes, err) ? NULL : open_read(path, &machine, seed, err);
}
