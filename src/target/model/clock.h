/* SPDX-License-Identifier: MIT */
/* Time on a simulated machine: a core clock that wanders, disturbances that come by themselves, and a timer that shows
 * it all with a granularity and at a cost.
 *
 * Nothing here is asked what the time of some work "is": work runs, time passes, the timer is looked at before and
 * after, as on hardware.
 */
#ifndef XR_TARGET_MODEL_CLOCK_H
#define XR_TARGET_MODEL_CLOCK_H

#include "target/model/machine.h"
#include "util/rng.h"

struct xr_sim_clock {
	const struct xr_machine *machine;
	struct xr_rng rng;
	double now_ns;
	double next_interrupt_ns, next_preempt_ns, next_step_ns; /* < 0: never */
	double stepped;          /* factor of the last step */
	double phase[2];         /* of the slow wander */
	unsigned interrupts;     /* so far */
	unsigned preemptions;
	double next_migrate_ns;  /* < 0: never */
	unsigned migrations;     /* so far: who depends on where its CPUs are looks at this */
	double next_sibling_ns;  /* when the other thread of the core comes or goes; < 0: never */
	bool sibling;            /* it is there */
	double vector_until_ns;  /* the clock is that of wide vectors until then */
};

/* Work: so many core cycles plus so much time that does not depend on the core's clock. */
struct xr_sim_work {
	double cycles, ns;
	double refill_cycles;  /* more after an interrupt, for lines that it evicted */
	double cold_cycles;    /* more after a preemption, for everything that is gone */
	double beside;         /* so many times as long while the other thread of the core is there; 0 as 1 */
	bool vectors;          /* wide ones, which lower the clock */
};

void xr_sim_init(struct xr_sim_clock *clock, const struct xr_machine *machine, uint64_t seed);
double xr_sim_ghz(const struct xr_sim_clock *clock); /* core cycles per ns, now */

/* Lets work run; *hit is set (never cleared) when the OS would know that it was disturbed. */
void xr_sim_run(struct xr_sim_clock *clock, const struct xr_sim_work *work, bool *hit);

/* One look at the timer: takes its cost, shows whole granules. */
double xr_sim_look(struct xr_sim_clock *clock);

/* Looks, runs, looks: what a program would see, the cost of one look included. */
double xr_sim_time(struct xr_sim_clock *clock, const struct xr_sim_work *work, bool *hit);

/* One cycle of the reference chain in ns as a program would see it, from a run of about `length_ns`. */
double xr_sim_reference(struct xr_sim_clock *clock, double reference_cycles, double length_ns);

/* How long a sample should be on this clock. */
double xr_sim_sample_ns(const struct xr_machine *machine);

#endif
