/* SPDX-License-Identifier: MIT */
/* Trips through memory: a phase of an address chain as a list of places, and what going there costs. */
#ifndef XR_TARGET_MODEL_TRIP_H
#define XR_TARGET_MODEL_TRIP_H

#include "nano/spec.h"
#include "target/model/mem.h"
#include "target/target.h"

struct xr_trip {
	struct xr_mem_buffer *buffer;
	uint64_t *offset;
	size_t n;
	size_t at;            /* where the next step goes */
	unsigned cursors;
	enum xr_use use;
	bool unsettled;       /* nobody drives strangers out first */
	bool once;          /* each lap is as good as the first one: nothing of it is left when it comes round */
	uint64_t last_place;  /* offset of the step before, and how far that went */
	int64_t last_step;
	bool storing;         /* to each place, after it was read; nobody waits for it */
	bool dependent;       /* each place is known only when the one before was read */
};

/* Counts places without listing them. */
uint64_t xr_trip_count(const struct xr_phase *phase);
uint64_t xr_trip_stride(const struct xr_phase *phase); /* of neighbouring places; large: they are listed one by one */
/* Lists the places of a phase; with keep > 1 only about one in so many (of each span, or of the spans). */
void xr_trip_init(struct xr_trip *trip, struct xr_mem_buffer *buffer, const struct xr_phase *phase, unsigned cursors,
                  uint64_t keep);
void xr_trip_shuffle(struct xr_trip *trip, uint64_t seed); /* another order */
void xr_trip_release(struct xr_trip *trip);

/* What a number of steps cost. */
struct xr_tally {
	double n;
	double latency;     /* one after the other */
	double flow;        /* as many at a time as the machine can */
	double last;        /* latency of the last one */
	double from_memory; /* lines */
	double disturbed;   /* steps that missed the first level, cache or TLB */
	double miss[XR_MACHINE_CACHES], tlb_miss[XR_MACHINE_TLBS];
};

void xr_tally_add(struct xr_tally *sum, const struct xr_tally *tally);

/* As counters would show it, per step. */
void xr_trip_events(const struct xr_tally *tally, double cycles, const struct xr_machine *machine, struct xr_events *out);

/* Takes `steps` steps on a core; adds to the tally (NULL: nobody counts). */
void xr_trip_run(struct xr_trip *trip, struct xr_mem *mem, const struct xr_machine *machine, int core, size_t steps,
                 struct xr_tally *tally);

/* Walks until the steady state is reached, and counts it: a few laps when these repeat exactly, else some thousand
 * steps. */
void xr_trip_settle(struct xr_trip *trip, struct xr_mem *mem, const struct xr_machine *machine, int core,
                    struct xr_tally *tally);

/* Cycles per step of one cursor, by what the tally holds. */
double xr_trip_cycles(const struct xr_trip *trip, const struct xr_machine *machine, const struct xr_mem *mem,
                      const struct xr_tally *tally);

#endif
