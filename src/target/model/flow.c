/* SPDX-License-Identifier: MIT */
/* Flows of bytes on a simulated machine.
 *
 * One lap after the other of the lines that a flow goes over, with nobody fetching ahead, says from where they
 * come; the rates follow from the file. The time of a line is the longest of: its accesses, at as many a cycle as
 * there are units; its latency over the misses in flight; its way out of each level, and back where it was written,
 * at the bandwidth of that level; the same for memory. Prefetchers change nothing: they share the misses in flight.
 * /
 */
#include "target/model/flow.h"

#include "target/model/trip.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 4096, LAPS = 3 };

static uint64_t line_of(const struct xr_machine *m)
{
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA)
			return m->cache[i].line_bytes;
	return 64;
}

static int path_of(const struct xr_machine *m, int path[XR_MACHINE_CACHES])
{
	int n = 0;
	for (int kind = 0; kind < 2; kind++) /* those that hold one kind are nearer */
		for (int i = 0; i < m->n_caches; i++)
			if (m->cache[i].holds == (kind ? XR_HOLDS_BOTH : XR_HOLDS_DATA))
				path[n++] = i;
	return n;
}

double xr_flow_in_flight(const struct xr_machine *m, int level)
{
	int path[XR_MACHINE_CACHES], n = path_of(m, path);
	double least = m->parallelism;
	for (int i = 0; i < level && i < n; i++)
		if (m->cache[path[i]].misses > 0)
			least = fmin(least, m->cache[path[i]].misses);
	return least;
}

double xr_flow_door(const struct xr_machine *m)
{
	return m->bandwidth_gbs / (m->mhz * 1e-3);
}

/* Accesses of one line by a flow, at the core. */
static double issue_cycles(const struct xr_machine *m, const struct xr_flow_spec *flow, double line)
{
	int unit = xr_core_mem_unit(m);
	double ports = unit < 0 ? m->width : fmin(m->unit[unit].count, m->width);
	double widest = m->registers_vector ? fmin(m->vector_bytes, 64) : 8;
	double width = flow->width ? fmin(flow->width, fmax(8, widest)) : fmax(8, widest);
	return line / width / ports;
}

double xr_flow_width_of(const struct xr_machine *m, const struct xr_flow_spec *flow)
{
	double widest = m->registers_vector ? fmax(8, fmin(m->vector_bytes, 64)) : 8;
	return flow->width && flow->width < widest ? flow->width : widest;
}

double xr_flow_line_cycles(const struct xr_machine *m, const struct xr_flow_spec *flow, const double *share)
{
	int path[XR_MACHINE_CACHES], n = path_of(m, path);
	double line = (double)line_of(m), cycles = issue_cycles(m, flow, line), waits = 0, behind = 1;
	bool dirty = flow->kind == XR_FLOW_WRITE || flow->kind == XR_FLOW_COPY;
	double ways = dirty ? flow->kind == XR_FLOW_COPY ? 1.5 : 2 : 1; /* in, and what was written out again */
	if (flow->kind == XR_FLOW_PAST)
		return fmax(fmax(cycles, line / xr_flow_door(m)), m->memory_latency / m->parallelism);
	for (int level = 0; level <= n; level++) {
		double latency = level < n ? m->cache[path[level]].latency : m->memory_latency;
		if (level > 0 || !n)
			waits += share[level] * latency / xr_flow_in_flight(m, level);
		double bandwidth = level < n ? m->cache[path[level]].bandwidth : xr_flow_door(m);
		if (level > 0 && bandwidth > 0)
			cycles = fmax(cycles, behind * ways * line / bandwidth);
		behind -= share[level];
	}
	return fmax(cycles, waits);
}

/* From where the lines of one lap come. */
static void find_shares(const struct xr_machine *machine, const struct xr_flow_spec *flow, uint64_t seed, double *share)
{
	uint64_t line = line_of(machine), n = flow->bytes / line, by = 1;
	while (n / by > LINES_MAX)
		by *= 2;
	struct xr_machine m = xr_machine_scaled(machine, by, line);
	m.prefetch_adjacent = m.prefetch_stride = m.prefetch_stream = 0;
	struct xr_mem *mem = xr_mem_new(&m, seed);
	struct xr_buffer small = {.id = flow->buffer.id, .bytes = flow->buffer.bytes, .backing = flow->buffer.backing};
	struct xr_mem_buffer *buffer = xr_mem_buffer(mem, &small, false);
	struct xr_span span = {0, line, (uint32_t)n};
	struct xr_phase phase = {.span = &span, .n_spans = 1, .access = XR_TOUCH, .timed = true};
	struct xr_trip trip;
	struct xr_tally tally = {0};
	int levels = xr_mem_levels(mem, XR_USE_READ);
	xr_trip_init(&trip, buffer, &phase, 1, by);
	for (int lap = 0; lap < LAPS; lap++) {
		tally = (struct xr_tally){0};
		xr_trip_run(&trip, mem, &m, 0, trip.n, &tally);
	}
	double before = tally.n;
	for (int i = 0; i < levels; i++) {
		share[i] = (before - tally.miss[i]) / tally.n;
		before = tally.miss[i];
	}
	share[levels] = before / tally.n;
	xr_trip_release(&trip);
	xr_mem_free(mem);
}

/* What was found once is so again: the next flow over as many bytes goes the same way, whoever's they are. */
struct xr_flowed {
	const struct xr_mem *mem; /* of which machine: of a type of cores, or beside a busy sibling */
	uint64_t bytes, of_bytes;
	enum xr_backing backing;
	double share[XR_MACHINE_CACHES + 1];
};

static const double *shares_of(struct xr_model *model, const struct xr_flow_spec *flow)
{
	for (size_t i = 0; i < model->n_flowed; i++) {
		const struct xr_flowed *f = &model->flowed[i];
		if (f->mem == model->mem && f->bytes == flow->bytes && f->of_bytes == flow->buffer.bytes &&
		    f->backing == flow->buffer.backing)
			return f->share;
	}
	if (!(model->n_flowed & (model->n_flowed + 1))) /* room for a power of two, less one */
		model->flowed = xr_realloc(model->flowed, 2 * (model->n_flowed + 1), sizeof *model->flowed);
	struct xr_flowed *f = &model->flowed[model->n_flowed++];
	*f = (struct xr_flowed){.mem = model->mem,
	                        .bytes = flow->bytes,
	                        .of_bytes = flow->buffer.bytes,
	                        .backing = flow->buffer.backing};
	find_shares(&model->machine, flow, model->seed, f->share);
	return f->share;
}

void xr_model_forget_flows(struct xr_model *model)
{
	free(model->flowed);
}

double xr_model_flow(struct xr_model *model, const struct xr_flow_spec *flow, double *memory_bytes)
{
	const struct xr_machine *m = &model->machine;
	double share[XR_MACHINE_CACHES + 1] = {0}, line = (double)line_of(m);
	int path[XR_MACHINE_CACHES], n = path_of(m, path);
	if (flow->kind == XR_FLOW_PAST)
		share[n] = 1;
	else
		memcpy(share, shares_of(model, flow), sizeof share);
	double ways = flow->kind == XR_FLOW_WRITE ? 2 : flow->kind == XR_FLOW_COPY ? 1.5 : 1;
	*memory_bytes = share[n] * 64 * ways;
	/* the chain of two operations after each KiB */
	return xr_flow_line_cycles(m, flow, share) * 64 / line + flow->pause * 2 / 16.0 * xr_core_reference(m);
}

const char *xr_flow_wrong_with(const struct xr_machine *m, const struct xr_flow_spec *flow)
{
	if (flow->bytes < 2048 || flow->bytes > flow->buffer.bytes ||
	    (flow->kind == XR_FLOW_COPY && flow->buffer.bytes - flow->bytes < XR_FLOW_APART))
		return "a flow goes over what is in its buffer";
	if (flow->buffer.bytes > m->memory_bytes)
		return "no memory for the buffer of a flow";
	return NULL;
}

void xr_model_prepare_flow(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_flow_spec *flow = &job->spec->flow;
	const char *wrong = xr_flow_wrong_with(&model->machine, flow);
	double bytes;
	if (wrong) {
		xr_model_refuse(model, out, XR_READ_FAILED, "%s", wrong);
		return;
	}
	job->one.cycles = xr_model_flow(model, flow, &bytes);
	job->quantum = 16;
	out->code_bytes = xr_flow_width_of(&model->machine, flow);
}
