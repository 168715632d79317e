/* SPDX-License-Identifier: MIT */
/* Address chains on a simulated machine.
 *
 * Endless walks: what one step costs in the steady state is found by walking a few laps for warming up and a few
 * for counting; the samples then are so many of these. Walks over more places than can be simulated quickly are
 * walked smaller on a machine made smaller by the same factor: every ratio that decides about hits stays what it
 * was. Scripts: repetitions are simulated until they repeat, or enough of them are known to draw from. One with a
 * phase over more places than that is simulated on a smaller machine, too, its short phases as they are.
 */
#include "target/model/model.h"
#include "target/model/trip.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLAIN_MAX = 4096,     /* places of a walk in few spans that are all simulated */
	LISTED_MAX = 160000,  /* the same for a walk that lists places one by one: it means those */
	SCRIPT_STEPS = 12000, /* of all repetitions of a script together, about */
	SCRIPT_REPS = 64,
	SCRIPT_PHASE_MAX = 400000,
	SCRIPT_PLAIN_MAX = 16384, /* places of a phase in few spans */
	FEW_SPANS = 16,
	IRQ_LINES = 64,
	IRQ_LOOK = 512, /* visits: what an interrupt costs shorter laps is simulated, longer ones reckoned */
};

struct chain {
	struct xr_mem_buffer *buffer;
	bool huge; /* pages that the costs below were found with */
	/* scripts */
	double *rep_cycles; /* timed cycles of the repetitions that were simulated */
	size_t n_reps;
	double untimed_cycles; /* per repetition, about */
	double accesses;       /* timed, per repetition */
	int timed_phases;
	double reps; /* per sample */
};

static void chain_free(void *own)
{
	struct chain *c = own;
	if (c)
		free(c->rep_cycles);
	free(c);
}

/* ---- endless walks ---- */

/* Steady state of one endless walk on this memory; sets job->one. */
static void settle(const struct xr_machine *m, struct xr_mem *mem, struct xr_trip *trip, struct xr_job *job,
                   struct xr_reading *out)
{
	struct xr_tally tally, after = {0};
	xr_trip_settle(trip, mem, m, 0, &tally);
	job->one.cycles = xr_trip_cycles(trip, m, mem, &tally);
	if (out)
		xr_trip_events(&tally, job->one.cycles, m, &out->events);

	size_t lap = trip->n < 4096 ? trip->n : 4096;
	job->one.cold_cycles = m->memory_latency * (double)lap;
	if (!(m->interrupts_hz > 0))
		return;
	if (lap >
	    IRQ_LOOK) { /* of the lines that leave the first level, those that are used from there have to come back */
		double share = 1 - tally.miss[0] / tally.n;
		double way = xr_mem_latency(mem, XR_USE_READ, 1) - xr_mem_latency(mem, XR_USE_READ, 0);
		job->one.refill_cycles = IRQ_LINES * share * fmax(0, way);
		return;
	}
	xr_mem_interrupt(mem, 0, IRQ_LINES);
	xr_trip_run(trip, mem, m, 0, lap, &after);
	job->one.refill_cycles = fmax(0, xr_trip_cycles(trip, m, mem, &after) - job->one.cycles) * (double)lap;
}

static void walk_endless(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_chain_spec *spec = &job->spec->chain;
	const struct xr_phase *phase = &spec->phase[0];
	struct chain *c = job->own;
	struct xr_trip trip;
	uint64_t n = xr_trip_count(phase), by = 1, most = phase->n_spans > FEW_SPANS ? LISTED_MAX : PLAIN_MAX;
	while (n / by > most)
		by *= 2;
	if (by == 1) {
		xr_trip_init(&trip, c->buffer, phase, spec->cursors, 1);
		trip.unsettled = spec->unsettled;
		trip.once = spec->rolling;
		trip.storing = spec->storing > 0;
		settle(&model->machine, model->mem, &trip, job, out);
	} else {
		struct xr_machine small = xr_machine_scaled(&model->machine, by, xr_trip_stride(phase));
		struct xr_mem *mem = xr_mem_new(&small, xr_rng_next(&model->rng));
		struct xr_mem_buffer *buffer = xr_mem_buffer(mem, &spec->buffer, false);
		if (c->huge)
			xr_mem_promote(mem, buffer);
		xr_trip_init(&trip, buffer, phase, spec->cursors, by);
		trip.once = spec->rolling;
		settle(&small, mem, &trip, job, out);
		xr_mem_free(mem);
	}
	xr_trip_release(&trip);
}

/* A walk of which nothing is left when it comes round costs the same the next time: what it cost is remembered. */
struct xr_rolled {
	uint64_t key;
	struct xr_sim_work one;
	struct xr_events events;
};

static uint64_t mixed_in(uint64_t key, uint64_t value)
{
	struct xr_rng mix = {key ^ value};
	return xr_rng_next(&mix);
}

static uint64_t key_of(const struct xr_model *model, const struct xr_chain_spec *spec, bool huge)
{
	const struct xr_phase *phase = &spec->phase[0];
	const uint64_t plain[] = {(uintptr_t)model->mem, spec->buffer.id, spec->buffer.bytes,
	                          spec->buffer.backing,  spec->cursors,   spec->unsettled,
	                          phase->access,         phase->seed,     huge};
	uint64_t key = phase->n_spans;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		key = mixed_in(key, plain[i]);
	for (size_t i = 0; i < phase->n_spans; i++)
		key = mixed_in(mixed_in(mixed_in(key, phase->span[i].base), phase->span[i].stride),
		               phase->span[i].count);
	return key;
}

static void simulate_endless(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	struct xr_events none = {0}, *events = out ? &out->events : &none;
	const struct chain *c = job->own;
	if (!job->spec->chain.rolling || xr_machine_has_neighbours(&model->machine) ||
	    xr_machine_replaces_data_randomly(&model->machine)) { /* chance is asked anew */
		walk_endless(model, job, out);
		return;
	}
	const uint64_t key = key_of(model, &job->spec->chain, c->huge);
	for (size_t i = 0; i < model->n_rolled; i++)
		if (model->rolled[i].key == key) {
			job->one = model->rolled[i].one;
			*events = model->rolled[i].events;
			return;
		}
	walk_endless(model, job, out);
	if (!(model->n_rolled & (model->n_rolled + 1))) /* room for a power of two, less one */
		model->rolled = xr_realloc(model->rolled, 2 * (model->n_rolled + 1), sizeof *model->rolled);
	model->rolled[model->n_rolled++] = (struct xr_rolled){key, job->one, *events};
}

void xr_model_forget_chains(struct xr_model *model)
{
	free(model->rolled);
}

/* ---- scripts ---- */

static size_t bounded(uint64_t n)
{
	return n < SCRIPT_PHASE_MAX ? (size_t)n : SCRIPT_PHASE_MAX;
}

static bool is_plain(const struct xr_phase *phase)
{
	return phase->n_spans <= FEW_SPANS && xr_trip_count(phase) > SCRIPT_PLAIN_MAX;
}

/* By how much smaller the machine must be on which this script is simulated; *stride: of its long phase. */
static uint64_t smaller_by(const struct xr_chain_spec *spec, uint64_t *stride)
{
	uint64_t by = 1;
	*stride = 0;
	for (unsigned i = 0; i < spec->n_phases; i++)
		if (is_plain(&spec->phase[i])) {
			while (xr_trip_count(&spec->phase[i]) / by > SCRIPT_PLAIN_MAX)
				by *= 2;
			*stride = xr_trip_stride(&spec->phase[i]);
		}
	return by;
}

/* One repetition; *untimed gets the cycles of what is not timed, *counted the events of what is. */
static double repeat(const struct xr_machine *machine, struct xr_mem *mem, const struct xr_chain_spec *spec,
                     struct xr_trip *trip, double *untimed, struct xr_tally *counted)
{
	double timed = 0;
	*untimed = 0;
	*counted = (struct xr_tally){0};
	for (unsigned i = 0; i < spec->n_phases; i++) {
		const struct xr_phase *phase = &spec->phase[i];
		struct xr_tally tally = {0};
		trip[i].at = 0;
		for (unsigned pass = 0; pass < phase->passes; pass++)
			xr_trip_run(&trip[i], mem, machine, 0, bounded(trip[i].n), &tally);
		double each = xr_trip_cycles(&trip[i], machine, mem, &tally);
		double all = each * (double)xr_trip_count(phase) * phase->passes;
		if (trip[i].use == XR_USE_READ && !trip[i].dependent)
			all += tally.last; /* all in flight at once; the last one still has to come home */
		if (phase->timed) {
			timed += all;
			xr_tally_add(counted, &tally);
		} else {
			*untimed += all;
		}
	}
	return timed;
}

static void simulate_script(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	struct xr_tally counted;
	const struct xr_chain_spec *spec = &job->spec->chain;
	struct chain *c = job->own;
	struct xr_trip trip[XR_PHASES_MAX];
	uint64_t stride, by = smaller_by(spec, &stride);
	struct xr_machine machine = by > 1 ? xr_machine_scaled(&model->machine, by, stride) : model->machine;
	struct xr_mem *mem = by > 1 ? xr_mem_new(&machine, xr_rng_next(&model->rng)) : model->mem;
	struct xr_mem_buffer *buffer = by > 1 ? xr_mem_buffer(mem, &spec->buffer, false) : c->buffer;
	double steps = 0;
	if (by > 1 && c->huge)
		xr_mem_promote(mem, buffer);
	for (unsigned i = 0; i < spec->n_phases; i++) {
		xr_trip_init(&trip[i], buffer, &spec->phase[i], 1, is_plain(&spec->phase[i]) ? by : 1);
		steps += (double)bounded(trip[i].n) * spec->phase[i].passes;
		c->timed_phases += spec->phase[i].timed;
		c->accesses += spec->phase[i].timed ? (double)trip[i].n * spec->phase[i].passes : 0;
	}
	bool random = xr_machine_replaces_data_randomly(&machine) || xr_machine_has_neighbours(&machine);
	size_t most =
		(size_t)fmax(random && steps < 3000 ? 5 : 3, fmin(SCRIPT_REPS, ceil(SCRIPT_STEPS / fmax(steps, 1))));
	free(c->rep_cycles);
	c->rep_cycles = xr_calloc(most, sizeof *c->rep_cycles);
	c->n_reps = 0;
	double before = repeat(&machine, mem, spec, trip, &c->untimed_cycles, &counted); /* warming up */
	if (model->samples == 1 && model->machine.mhz * 1e-3 * model->sample_ns < c->untimed_cycles)
		most = 1; /* nobody asks for a second repetition */
	while (c->n_reps < most) {
		double cycles = repeat(&machine, mem, spec, trip, &c->untimed_cycles, &counted);
		c->rep_cycles[c->n_reps++] = cycles;
		size_t same = 1;
		while (same < c->n_reps && cycles == c->rep_cycles[c->n_reps - 1 - same])
			same++;
		same += same == c->n_reps && cycles == before;
		if (!random && same >= (steps > 1000 ? 2u : 3u)) {
			c->rep_cycles[0] = cycles; /* so it goes on for ever */
			c->n_reps = 1;
			break;
		}
	}
	for (unsigned i = 0; i < spec->n_phases; i++)
		xr_trip_release(&trip[i]);
	if (out && c->accesses > 0)
		xr_trip_events(&counted, c->rep_cycles[0] / c->accesses, &model->machine, &out->events);
	job->script_cycles = 0;
	for (size_t i = 0; i < c->n_reps; i++)
		job->script_cycles += c->rep_cycles[i] / (double)c->n_reps;
	double first = xr_mem_latency(mem, XR_USE_READ, 0), second = xr_mem_latency(mem, XR_USE_READ, 1);
	job->one.refill_cycles = IRQ_LINES / 4.0 * fmax(0, second - first);
	if (by > 1)
		xr_mem_free(mem);
}

/* Mean cycles of `reps` repetitions drawn from those known. */
static double drawn_cycles(struct xr_model *model, const struct chain *c, double reps)
{
	double sum = 0;
	int draws = (int)fmin(reps, 256);
	if (c->n_reps == 1)
		return c->rep_cycles[0];
	for (int i = 0; i < draws; i++)
		sum += c->rep_cycles[xr_rng_below(&model->rng, c->n_reps)];
	return sum / draws;
}

/* The OS may have noticed how hard a buffer is used: then it is on huge pages from now on. */
static void notice(struct xr_model *model, struct xr_job *job, double ns);

static void sample_script(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	struct chain *c = job->own;
	struct xr_sim_clock *clock = &model->clock;
	double start = clock->now_ns, before = xr_model_reference(model);
	struct xr_raw raw = {.long_ops = c->accesses * c->reps};
	struct xr_sim_work untimed = {.cycles = c->untimed_cycles * c->reps};
	struct xr_sim_work timed = {.cycles = drawn_cycles(model, c, c->reps) * c->reps,
	                            .refill_cycles = job->one.refill_cycles,
	                            .beside = job->one.beside};
	double looks = c->reps * c->timed_phases;

	xr_sim_run(clock, &untimed, &raw.hit);
	double begun = clock->now_ns;
	xr_sim_run(clock, &timed, &raw.hit);
	raw.long_ns = clock->now_ns - begun;
	/* Each timed phase begins and ends anywhere within a granule: the differences of two such errors add up. */
	for (int i = 0; i < 12 && looks > 1; i++)
		raw.long_ns += model->machine.timer_ns * sqrt(looks / 6) * (xr_rng_unit(&clock->rng) - 0.5);
	if (looks <= 1)
		raw.long_ns = floor(raw.long_ns / model->machine.timer_ns + xr_rng_unit(&clock->rng)) *
		              model->machine.timer_ns;
	clock->now_ns += 2 * looks * model->machine.timer_cost_ns;
	double after = xr_model_reference(model);
	raw.ref_ns = xr_model_reference_around(before, after);
	xr_raw_add(list, raw);
	notice(model, job, clock->now_ns - start);
}

static void sample_endless(struct xr_model *model, struct xr_job *job, struct xr_raw_list *list)
{
	double start = model->clock.now_ns;
	xr_model_sample_lengths(model, job, list);
	notice(model, job, model->clock.now_ns - start);
}

/* ---- both ---- */

static void find_costs(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_chain_spec *spec = &job->spec->chain;
	struct chain *c = job->own;
	c->huge = c->buffer->huge;
	if (!spec->phase[0].passes) {
		simulate_endless(model, job, out);
		job->sample = sample_endless;
		return;
	}
	c->timed_phases = 0;
	c->accesses = 0;
	simulate_script(model, job, out);
	job->sample = sample_script;
	double ghz = model->machine.mhz * 1e-3;
	double rep_ns =
		(c->untimed_cycles + c->rep_cycles[0]) / ghz + 2 * c->timed_phases * model->machine.timer_cost_ns;
	c->reps = fmax(1, floor(model->sample_ns / rep_ns));
}

static void notice(struct xr_model *model, struct xr_job *job, double ns)
{
	struct chain *c = job->own;
	const struct xr_machine *m = &model->machine;
	double reps = c->reps;
	c->buffer->used_ns += ns;
	if (m->resizing && m->huge_bytes && c->buffer->backing == XR_ANY && c->buffer->bytes >= m->huge_bytes &&
	    c->buffer->used_ns > m->resizing_ms * 1e6)
		xr_mem_promote(model->mem, c->buffer);
	if (c->huge == c->buffer->huge)
		return;
	find_costs(model, job, NULL);
	xr_model_find_sibling(model, job);
	c->reps = reps; /* samples of one reading keep their length */
}

static bool may_store(const struct xr_chain_spec *spec)
{
	const struct xr_phase *p = &spec->phase[0];
	return !p->passes && p->access == XR_READ && spec->cursors <= 1 && !spec->rolling &&
	       xr_trip_count(p) <= PLAIN_MAX;
}

static const char *wrong_with(const struct xr_chain_spec *spec)
{
	if (spec->n_phases < 1 || spec->n_phases > XR_PHASES_MAX)
		return "a chain has 1 to 6 phases";
	if (spec->storing && !may_store(spec))
		return "who stores beside is a short endless walk of one cursor that reads";
	for (unsigned i = 0; i < spec->n_phases; i++) {
		const struct xr_phase *phase = &spec->phase[i];
		if (!phase->passes && (spec->n_phases > 1 || !phase->timed))
			return "an endless walk is a phase alone";
		if (!xr_trip_count(phase))
			return "a phase visits at least one address";
		for (size_t k = 0; k < phase->n_spans; k++) {
			const struct xr_span *s = &phase->span[k];
			uint64_t last = s->count ? (s->count - 1) * s->stride : 0;
			if (s->base > spec->buffer.bytes || last > spec->buffer.bytes - s->base ||
			    s->base + last + 8 > spec->buffer.bytes)
				return "an address outside the buffer";
		}
	}
	return NULL;
}

void xr_model_prepare_chain(struct xr_model *model, struct xr_job *job, struct xr_reading *out)
{
	const struct xr_chain_spec *spec = &job->spec->chain;
	const char *wrong = wrong_with(spec);
	if (wrong) {
		xr_model_refuse(model, out, XR_READ_FAILED, "%s", wrong);
		return;
	}
	struct xr_mem_buffer *buffer = xr_mem_buffer(model->mem, &spec->buffer, false);
	if (!buffer) {
		xr_model_refuse(model, out, XR_READ_FAILED, "no memory for a buffer of %llu bytes",
		                (unsigned long long)spec->buffer.bytes);
		return;
	}
	struct chain *c = xr_calloc(1, sizeof *c);
	c->buffer = buffer;
	job->own = c;
	job->own_free = chain_free;
	find_costs(model, job, out);
}
