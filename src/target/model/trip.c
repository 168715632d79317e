/* SPDX-License-Identifier: MIT */
#include "target/model/trip.h"

#include "target/model/core.h"
#include "target/model/flow.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
	PICKS = 8, /* of each place, before walks over few; the agent can afford more of them */
	PICKS_UP_TO = 512,
	SHORT_LAP = 16, /* … of which several make one */
	SHORT_LAPS = 8,
	LONG_LAP = 256,
	AHEAD = 8, /* steps that a simulated access takes as long as the machine at hand to fetch from its memory */
	COUNT_STEPS = 1536,
	ONCE_STEPS = 8192,   /* of laps of which nothing is left, all as good: enough to count */
	RANDOM_STEPS = 2000, /* where replacement is random, averages need more, … */
	RANDOM_LAPS = 6,     /* … and laps do not repeat: so many, and what is there is there by chance */
};

uint64_t xr_trip_count(const struct xr_phase *phase)
{
	uint64_t n = 0;
	for (size_t i = 0; i < phase->n_spans; i++)
		n += phase->span[i].count;
	return n;
}

/* Single places listed one by one: a smaller trip leaves out whole spans. */
static bool is_listed(const struct xr_phase *phase)
{
	return phase->n_spans > xr_trip_count(phase) / 8;
}

uint64_t xr_trip_stride(const struct xr_phase *phase)
{
	uint64_t stride = 0;
	for (size_t i = 0; i < phase->n_spans; i++)
		stride = phase->span[i].stride > stride ? phase->span[i].stride : stride;
	return is_listed(phase) ? UINT32_MAX : stride;
}

static void shuffle(uint64_t *x, size_t n, uint64_t seed)
{
	struct xr_rng rng = {seed};
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(&rng, i);
		uint64_t swap = x[i - 1];
		x[i - 1] = x[j];
		x[j] = swap;
	}
}

void xr_trip_init(struct xr_trip *trip, struct xr_mem_buffer *buffer, const struct xr_phase *phase, unsigned cursors,
                  uint64_t keep)
{
	uint64_t total = xr_trip_count(phase), every = 1;
	if (keep > 1 && is_listed(phase)) {
		every = keep;
		keep = 1;
	}
	*trip = (struct xr_trip){.buffer = buffer,
	                         .cursors = cursors ? cursors : 1,
	                         .dependent = phase->access == XR_READ,
	                         .use = phase->access == XR_WRITE ? XR_USE_WRITE : XR_USE_READ};
	trip->offset =
		xr_calloc((size_t)(total / (keep > every ? keep : every)) + phase->n_spans + 1, sizeof *trip->offset);
	for (size_t i = 0; i < phase->n_spans; i += (size_t)every) {
		const struct xr_span *s = &phase->span[i];
		uint64_t count = s->count / keep ? s->count / keep : s->count > 0;
		for (uint64_t k = 0; k < count; k++)
			trip->offset[trip->n++] = s->base + k * s->stride;
	}
	if (phase->seed)
		shuffle(trip->offset, trip->n, phase->seed);
}

void xr_trip_shuffle(struct xr_trip *trip, uint64_t seed)
{
	shuffle(trip->offset, trip->n, seed);
}

void xr_trip_release(struct xr_trip *trip)
{
	free(trip->offset);
	*trip = (struct xr_trip){0};
}

struct pace {
	double issue, line; /* cycles; of a line from memory */
	double per_miss[XR_MACHINE_CACHES +
	                1]; /* by the level that answers: share of its latency, so many being on their way */
	double per_walk;
	int n_levels;
};

/* fmax() of numbers, which compilers make a call of because of those that are none. */
static inline double larger(double a, double b)
{
	return a > b ? a : b;
}

static inline double flow_of(const struct pace *pace, const struct xr_met *met)
{
	bool missed = met->level > 0 || pace->n_levels == 0;
	double flow = ((missed ? met->latency : 0) + met->tlb + met->down) * pace->per_miss[met->level];
	if (met->walked)
		flow = larger(flow, met->tlb * pace->per_walk);
	return larger(pace->issue, flow);
}

/* How long it takes from this step to the next; xr_trip_cycles() says so of many. */
static double time_of(const struct xr_trip *trip, const struct pace *pace, const struct xr_met *met)
{
	double flow = larger(flow_of(pace, met), met->level == pace->n_levels ? pace->line : 0);
	return trip->dependent ? larger((met->latency + met->tlb) / trip->cursors, flow) : flow;
}

/* Was the place guessed before it was read? So it is where the step before was as long and as the one before that. */
static bool guess(struct xr_trip *trip, const struct xr_machine *machine, uint64_t place)
{
	if (!machine->value_prediction || !trip->dependent || trip->cursors > 1)
		return false;
	const int64_t step = (int64_t)(place - trip->last_place), before = trip->last_step;
	trip->last_place = place;
	trip->last_step = step;
	return step == before;
}

static void count(struct xr_tally *tally, const struct pace *pace, const struct xr_met *met, bool guessed)
{
	const double flow = flow_of(pace, met);
	tally->n++;
	tally->latency +=
		guessed ? larger(flow, met->level == pace->n_levels ? pace->line : 0) : met->latency + met->tlb;
	tally->last = met->latency + met->tlb;
	tally->flow += flow;
	tally->from_memory += met->level == pace->n_levels;
	tally->disturbed += met->level > 0 || met->tlb_level > 0;
	for (int i = 0; i < met->level && i < XR_MACHINE_CACHES; i++)
		tally->miss[i]++;
	for (int i = 0; i < met->tlb_level && i < XR_MACHINE_TLBS; i++)
		tally->tlb_miss[i]++;
}

void xr_tally_add(struct xr_tally *sum, const struct xr_tally *tally)
{
	sum->n += tally->n;
	sum->latency += tally->latency;
	sum->flow += tally->flow;
	sum->last = tally->last;
	sum->from_memory += tally->from_memory;
	sum->disturbed += tally->disturbed;
	for (int i = 0; i < XR_MACHINE_CACHES; i++)
		sum->miss[i] += tally->miss[i];
	for (int i = 0; i < XR_MACHINE_TLBS; i++)
		sum->tlb_miss[i] += tally->tlb_miss[i];
}

void xr_trip_events(const struct xr_tally *tally, double cycles, const struct xr_machine *machine,
                    struct xr_events *out)
{
	if (!machine->counters || !(tally->n > 0))
		return;
	*out = (struct xr_events){.counted = true, .cycles = cycles, .insns = 1};
	for (int i = 0; i < XR_EVENT_LEVELS && i < XR_MACHINE_CACHES; i++)
		out->cache_miss[i] = tally->miss[i] / tally->n;
	for (int i = 0; i < XR_EVENT_LEVELS && i < XR_MACHINE_TLBS; i++)
		out->tlb_miss[i] = tally->tlb_miss[i] / tally->n;
}

/* Of a line from memory, however many are on their way. */
static double line_cycles(const struct xr_trip *trip, const struct xr_machine *machine, const struct xr_mem *mem)
{
	return (double)xr_mem_line(mem, trip->use) / machine->bandwidth_gbs * machine->mhz * 1e-3;
}

static double walks_in_flight(const struct xr_machine *machine)
{
	int walks = machine->parallelism;
	for (int i = 0; i < machine->n_tlbs; i++)
		if (machine->tlb[i].holds & XR_HOLDS_DATA && machine->tlb[i].walks > 0)
			walks = machine->tlb[i].walks;
	return walks;
}

void xr_trip_run(struct xr_trip *trip, struct xr_mem *mem, const struct xr_machine *machine, int core, size_t steps,
                 struct xr_tally *tally)
{
	int unit = xr_core_mem_unit(machine);
	double ports = unit < 0 ? machine->width : fmin(machine->unit[unit].count, machine->width);
	struct pace pace = {.issue = 1 / ports,
	                    .line = line_cycles(trip, machine, mem),
	                    .per_walk = 1 / walks_in_flight(machine),
	                    .n_levels = xr_mem_levels(mem, trip->use)};
	for (int i = 0; i <= pace.n_levels; i++)
		pace.per_miss[i] = 1 / xr_flow_in_flight(machine, i);
	bool neighbours = xr_machine_has_neighbours(machine);
	const bool far = trip->n >= LONG_LAP && xr_mem_is_far(mem, trip->use);
	unsigned cursor =
		(unsigned)(trip->at % trip->cursors); /* cursors are spread evenly over the cycle and take turns */
	size_t step = trip->at / trip->cursors;
	for (size_t i = 0; i < steps; i++) {
		size_t at = step;
		if (trip->cursors > 1) {
			at += (size_t)cursor * trip->n / trip->cursors;
			at -= at >= trip->n ? trip->n : 0;
		}
		if (far) {
			const size_t ahead = at + AHEAD < trip->n ? at + AHEAD : at + AHEAD - trip->n;
			xr_mem_expect(mem, core, trip->buffer, trip->offset[ahead], trip->use);
		}
		struct xr_met met = xr_mem_access(mem, core, trip->buffer, trip->offset[at], trip->use);
		if (trip->storing)
			xr_mem_access(mem, core, trip->buffer, trip->offset[at], XR_USE_WRITE);
		const bool guessed = guess(trip, machine, trip->offset[at]);
		if (tally)
			count(tally, &pace, &met, guessed);
		if (neighbours)
			xr_mem_pass(mem, core, time_of(trip, &pace, &met));
		if (++cursor == trip->cursors) {
			cursor = 0;
			step = step + 1 == trip->n ? 0 : step + 1;
		}
	}
	trip->at = step * trip->cursors + cursor;
}

static size_t whole_laps(size_t lap, size_t at_least, size_t steps)
{
	return lap * at_least > steps ? lap * at_least : (steps + lap - 1) / lap * lap;
}

/* Places at random for a while, as the agent does before a walk over few of them (src/agent/chain.c says why), or until
 * all of them stay. */
static void drive_strangers_out(struct xr_trip *trip, struct xr_mem *mem, int core)
{
	struct xr_rng rng = {trip->n};
	size_t undisturbed = 0;
	for (size_t i = 0; i < PICKS * trip->n && undisturbed < 3 * trip->n; i++) {
		struct xr_met met =
			xr_mem_access(mem, core, trip->buffer, trip->offset[xr_rng_below(&rng, trip->n)], trip->use);
		undisturbed = met.level > 0 || met.tlb_level > 0 ? 0 : undisturbed + 1;
	}
}

/* Could strangers be what disturbs the second lap? Not in a cache or TLB that replaces by LRU. */
static bool may_be_strangers(const struct xr_tally *lap, const struct xr_mem *mem, enum xr_use use)
{
	for (int i = 0; i < XR_MACHINE_CACHES && lap->miss[i] > 0; i++)
		if (!xr_mem_throws_out_by_age(mem, use, i, false))
			return true;
	for (int i = 0; i < XR_MACHINE_TLBS && lap->tlb_miss[i] > 0; i++)
		if (!xr_mem_throws_out_by_age(mem, use, i, true))
			return true;
	return false;
}

void xr_trip_settle(struct xr_trip *trip, struct xr_mem *mem, const struct xr_machine *machine, int core,
                    struct xr_tally *tally)
{
	bool neighbours = xr_machine_has_neighbours(machine), small = trip->n < 2048;
	bool random = xr_machine_replaces_data_randomly(machine) || neighbours;
	size_t lap = trip->n;             /* together the cursors go round once */
	const bool few = lap >= LONG_LAP; /* long laps that do not repeat: their mean is known after fewer of them */
	int same = 0, most = neighbours || (small && random) ? RANDOM_LAPS : small ? few ? 6 : 12 : trip->once ? 2 : 3;
	double before = -1;
	if (lap < SHORT_LAP)
		lap *= SHORT_LAPS;
	for (int i = 0; i < most; i++) {
		*tally = (struct xr_tally){0};
		xr_trip_run(trip, mem, machine, core, i && trip->once && lap > ONCE_STEPS ? ONCE_STEPS : lap, tally);
		bool by_age = !may_be_strangers(tally, mem, trip->use);
		if (i && !(tally->disturbed > 0)) /* nothing changes any more */
			return;
		if (i && !small && !random && by_age) /* the oldest go: nor here */
			return;
		if (i == 1 && trip->n > 1 && trip->n <= PICKS_UP_TO && trip->dependent && trip->cursors == 1 &&
		    !trip->unsettled && !by_age)
			drive_strangers_out(trip, mem, core);
		same = tally->latency + tally->flow == before ? same + 1 : 0;
		before = tally->latency + tally->flow;
		/* Where the oldest go, a lap that took as long as the one before goes on so; in a short one
		 * elsewhere that may be chance. */
		bool once = by_age || trip->n < lap || lap >= LONG_LAP;
		if ((same >= (once ? 1 : 2) && (by_age || !random)) || (!small && i + 1 == most))
			return;
	}
	*tally = (struct xr_tally){0};
	xr_trip_run(trip, mem, machine, core,
	            whole_laps(lap, small ? few ? 2 : 4 : 1, random ? RANDOM_STEPS : COUNT_STEPS), tally);
}

double xr_trip_cycles(const struct xr_trip *trip, const struct xr_machine *machine, const struct xr_mem *mem,
                      const struct xr_tally *tally)
{
	double flow = fmax(tally->flow, tally->from_memory * line_cycles(trip, machine, mem)) / tally->n;
	return trip->dependent ? fmax(tally->latency / tally->n, trip->cursors > 1 ? trip->cursors * flow : 0) : flow;
}
