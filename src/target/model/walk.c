/* SPDX-License-Identifier: MIT */
/* Code walks on a simulated machine.
 *
 * A jump nobody could foresee costs the misprediction and the latency of the cache level that has the line; one
 * that could be foreseen costs a cycle, and the latency when the line is not in the first level, or a part of it
 * where several lines are fetched at once. For that its target must be known: a jump that no BTB knows waits for
 * all by itself. Straight-line code is fetched in order: a line that is not in the first level stops the front
 * end for the latency of the one that has it, unless the machine fetches code ahead: then only for memory. Code
 * that is there decoded needs no line.
 */
#include "target/model/front.h"
#include "target/model/model.h"
#include "target/model/trip.h"

#include <math.h>
#include <stdlib.h>

enum {
	VISITS_MAX = 20000,
	LINES_MAX = 4096, /* the same of straight-line code */
	WARM_VISITS = 768,
	COUNT_VISITS = 2048,
	LAPS_MIN = 24,
	STATEMENT_BYTES = 4,
	BLOCK_BYTES = 16,
	OP_BYTES = 2, /* of a statement in a block */
	IRQ_LINES = 64,
	DATA_BUFFER = 1 << 30 /* id */
};

static const double same_laps = 0.03; /* laps of long trips that differ by less: it has settled */

/* What a walk goes through. */
struct scene {
	struct xr_model *model;
	const struct xr_machine *machine; /* as large as the walk: see xr_machine_scaled() */
	struct xr_mem *mem;
	struct xr_front front;
	const struct xr_walk_spec *walk;
	double statement; /* cycles of one in straight-line code */
};

/* What a visit met. */
struct visit {
	struct xr_met met;
	bool decoded, known;
	double btb;
};

static double visit_cycles(const struct scene *s, const struct visit *v)
{
	const struct xr_machine *m = s->machine;
	const struct xr_met *met = &v->met;
	const int levels = xr_mem_levels(s->mem, XR_USE_FETCH);
	bool near = v->decoded || (levels > 0 && met->level == 0);
	if (s->walk->kind == XR_STRAIGHT && m->prefetch_code)
		near = v->decoded || met->level < levels;
	const double line = near ? 0 : met->latency;
	switch (s->walk->kind) {
	case XR_JUMPS:
		return m->mispredict + (v->decoded ? 1 : met->latency) + met->tlb;
	case XR_PATTERN:
		if (!v->known)
			return fmax(1, m->btb_miss) + line + met->tlb;
		return fmax(1 + v->btb, line / m->lines_ahead) + met->tlb / m->pages_ahead;
	default:
		return line / m->lines_ahead + met->tlb / m->pages_ahead;
	}
}

/* Statements of a line that have to be decoded first, and take longer for it. */
static double decode_cycles(const struct scene *s, double statements)
{
	return s->machine->decode > 0 ? fmax(0, statements * (1 / s->machine->decode - s->statement)) : 0;
}

/* Data read after each lap. */
struct reads {
	struct xr_mem_buffer *buffer;
	uint64_t bytes, step;
};

struct walked {
	double cycles, visits;
	struct xr_tally tally; /* misses */
};

static uint64_t block_bytes(const struct xr_walk_spec *walk)
{
	uint64_t bytes = BLOCK_BYTES;
	while (walk->kind == XR_JUMPS && bytes < BLOCK_BYTES + OP_BYTES * (uint64_t)walk->statements)
		bytes *= 2;
	return bytes;
}

/* A block whose statements reach into further lines waits for the slowest of them: they are fetched one behind
 * the other. */
static struct xr_met fetch_block(struct xr_mem *mem, const struct xr_trip *trip, uint64_t bytes, uint64_t line)
{
	const uint64_t at = trip->offset[trip->at];
	struct xr_met met = xr_mem_access(mem, 0, trip->buffer, at, XR_USE_FETCH);
	for (uint64_t further = line - at % line; further < bytes; further += line) {
		const struct xr_met next = xr_mem_access(mem, 0, trip->buffer, at + further, XR_USE_FETCH);
		if (next.latency + next.tlb > met.latency + met.tlb)
			met = next;
	}
	return met;
}

/* One visit; the trip stays where it is. */
static double visit(struct scene *s, const struct xr_trip *trip, uint64_t bytes, uint64_t line, struct xr_met *met)
{
	const bool straight = s->walk->kind == XR_STRAIGHT;
	const uint64_t at = trip->offset[trip->at];
	const double statements = straight ? (double)line / STATEMENT_BYTES : s->walk->statements;
	struct visit v = {.known = true};
	if (s->walk->kind == XR_PATTERN)
		v.known = xr_front_knows(&s->front, trip->buffer->address + at, &v.btb);
	v.decoded =
		xr_front_decoded(&s->front, s->mem, trip->buffer, at, straight ? line : bytes, statements + !straight);
	if (!v.decoded)
		v.met = straight ? xr_mem_access(s->mem, 0, trip->buffer, at, XR_USE_FETCH)
		                 : fetch_block(s->mem, trip, bytes, line);
	else if (s->machine->decoded_index == XR_PHYSICAL)
		v.met = xr_mem_translation(s->mem, 0, trip->buffer, at, XR_USE_FETCH);
	*met = v.met;
	double cycles = visit_cycles(s, &v) + (v.decoded ? 0 : decode_cycles(s, straight ? statements : 0));
	return s->walk->kind == XR_JUMPS ? cycles + statements / s->machine->width : cycles;
}

/* Adds `visits` visits; jumps take a new order every lap. */
static void run(struct scene *s, struct xr_trip *trip, const struct reads *reads, size_t visits, struct walked *sum)
{
	const uint64_t bytes = block_bytes(s->walk), line = xr_mem_first_line(s->mem, XR_USE_FETCH);
	const bool neighbours = xr_machine_has_neighbours(s->machine);
	for (size_t i = 0; i < visits; i++) {
		struct xr_met met;
		if (trip->at == 0 && s->walk->kind == XR_JUMPS)
			xr_trip_shuffle(trip, xr_rng_next(&s->model->rng) | 1);
		const double cycles = visit(s, trip, bytes, line, &met);
		sum->cycles += cycles;
		if (neighbours)
			xr_mem_pass(s->mem, 0, cycles);
		sum->tally.n++;
		sum->tally.disturbed += met.level > 0 || met.tlb_level > 0;
		for (int k = 0; k < met.level; k++)
			sum->tally.miss[k]++;
		for (int k = 0; k < met.tlb_level; k++)
			sum->tally.tlb_miss[k]++;
		trip->at = trip->at + 1 == trip->n ? 0 : trip->at + 1;
		for (uint64_t at = 0; trip->at == 0 && at < reads->bytes; at += reads->step) {
			met = xr_mem_access(s->mem, 0, reads->buffer, at, XR_USE_READ);
			sum->cycles += met.latency + met.tlb;
			sum->tally.disturbed += met.level > 0 || met.tlb_level > 0;
		}
	}
	sum->visits += (double)visits;
}

/* Visits of whole laps: about `visits` accesses, the data's among them, but of so many visits at least LAPS_MIN
 * laps. */
static size_t laps(size_t n, const struct reads *reads, size_t visits)
{
	size_t accesses = n + (size_t)(reads->bytes ? reads->bytes / reads->step : 0);
	size_t enough = (visits + accesses - 1) / accesses, most = (visits + n - 1) / n;
	size_t least = most < LAPS_MIN ? most : LAPS_MIN;
	return n * (enough > least ? enough : least);
}

static void settle(struct scene *s, struct xr_trip *trip, const struct reads *reads, struct xr_job *job,
                   struct xr_events *events)
{
	const enum xr_walk_kind kind = s->walk->kind;
	struct walked counted = {0}, after = {0};
	const bool jumps = kind == XR_JUMPS, one_by_one = trip->n >= COUNT_VISITS;
	const int most = !jumps ? 3 : one_by_one ? 4 : 2;
	/* a front end takes its time, too, to know all that it can */
	const bool habits = s->machine->n_btbs > 0 || s->machine->decoded_ops > 0;
	double before = -1;
	bool same = false;
	for (int lap = 0; lap < most && !same; lap++) {
		counted = (struct walked){0};
		run(s, trip, reads, trip->n, &counted);
		same = (lap && !(counted.tally.disturbed > 0) && (!habits || counted.cycles == before)) ||
		       (!jumps && counted.cycles == before) ||
		       (jumps && one_by_one && fabs(counted.cycles - before) < same_laps * before);
		before = counted.cycles;
	}
	/* laps in the same order that cost the same go on so; or the last lap was long enough, or more have to be
	 * walked */
	if (!same && trip->n < COUNT_VISITS) {
		run(s, trip, reads, laps(trip->n, reads, WARM_VISITS), &counted);
		counted = (struct walked){0};
		run(s, trip, reads, laps(trip->n, reads, COUNT_VISITS), &counted);
	}
	job->one.cycles = counted.cycles / counted.visits;
	xr_trip_events(&counted.tally, job->one.cycles, s->machine, events);
	size_t lap = trip->n < 4096 ? trip->n : 4096;
	job->one.cold_cycles = s->machine->memory_latency * (double)lap;
	if (!(s->machine->interrupts_hz > 0))
		return;
	xr_mem_interrupt(s->mem, 0, IRQ_LINES);
	run(s, trip, reads, lap, &after);
	job->one.refill_cycles = fmax(0, after.cycles / after.visits - job->one.cycles) * (double)lap;
}

/* Lines of a straight run as places. */
static struct xr_span lines_of(const struct xr_model *model, const struct xr_walk_spec *walk)
{
	uint64_t bytes = walk->span[0].count * walk->span[0].stride, line = xr_mem_first_line(model->mem, XR_USE_FETCH);
	return (struct xr_span){walk->span[0].base, line, (uint32_t)fmin(fmax(1, (double)(bytes / line)), UINT32_MAX)};
}

/* Cycles that the statements themselves take: integer additions on several variables. */
static double statement_cycles(const struct xr_machine *machine)
{
	struct xr_spec adds = xr_spec_stream(XR_ADD, XR_I32, 4);
	struct xr_demand demand;
	char reason[128];
	return xr_core_demand(machine, &adds.ops, &demand, reason) ? 1.0 / machine->width
	                                                           : xr_core_cycles(machine, &demand);
}

static const char *wrong_with(const struct xr_walk_spec *walk)
{
	if (!walk->n_spans)
		return "a walk visits at least one block";
	for (size_t i = 0; i < walk->n_spans; i++) {
		const struct xr_span *s = &walk->span[i];
		if (!s->count || s->base + (uint64_t)(s->count - 1) * s->stride + block_bytes(walk) > walk->bytes)
			return "a block outside the region";
	}
	return NULL;
}

void xr_model_prepare_walk(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_walk_spec *walk = &job->spec->walk;
	struct xr_buffer region = {walk->region, walk->bytes, XR_SMALL};
	const char *wrong = wrong_with(walk);
	struct xr_mem_buffer *buffer = wrong ? NULL : xr_mem_buffer(model->mem, &region, true);
	if (!buffer) {
		xr_model_refuse(model, out, XR_READ_FAILED, "%s", wrong ? wrong : "no memory for the region");
		return;
	}
	bool straight = walk->kind == XR_STRAIGHT;
	struct xr_span lines = lines_of(model, walk);
	struct xr_phase places = {.span = straight ? &lines : walk->span,
	                          .n_spans = straight ? 1 : walk->n_spans,
	                          .seed = straight ? 0 : walk->seed};
	struct xr_trip trip;
	uint64_t by = 1;
	while (xr_trip_count(&places) / by > (straight ? LINES_MAX : VISITS_MAX))
		by *= 2;
	struct xr_machine small = xr_machine_scaled(&model->machine, by, xr_trip_stride(&places));
	struct xr_mem *mem = by > 1 ? xr_mem_new(&small, xr_rng_next(&model->rng)) : model->mem;
	xr_trip_init(&trip, by > 1 ? xr_mem_buffer(mem, &region, true) : buffer, &places, 1, by);
	struct xr_buffer data = {DATA_BUFFER, walk->data_bytes / by, XR_SMALL};
	struct reads reads = {.bytes = data.bytes, .step = xr_mem_first_line(mem, XR_USE_READ)};
	if (reads.bytes)
		reads.buffer = xr_mem_buffer(mem, &data, false);
	if (reads.bytes && !reads.buffer) {
		xr_model_refuse(model, out, XR_READ_FAILED, "no memory for the data");
	} else {
		const bool forgotten = walk->kind == XR_PATTERN && small.learns && trip.n > small.learns;
		struct xr_walk_spec as = *walk;
		as.kind = forgotten ? XR_JUMPS : walk->kind;
		struct scene scene = {.model = model,
		                      .machine = by > 1 ? &small : &model->machine,
		                      .mem = mem,
		                      .walk = &as,
		                      .statement = statement_cycles(&model->machine)};
		xr_front_init(&scene.front, scene.machine);
		settle(&scene, &trip, &reads, job, &out->events);
		xr_front_release(&scene.front);
	}
	xr_trip_release(&trip);
	if (by > 1)
		xr_mem_free(mem);
	out->code_bytes = (double)block_bytes(walk);
	if (straight) {
		double statements = fmax(1, (double)lines.stride / STATEMENT_BYTES);
		job->one.cycles = job->one.cycles / statements + statement_cycles(&model->machine);
		out->code_bytes = STATEMENT_BYTES;
	}
}
