/* SPDX-License-Identifier: MIT */
/* The agent's clock and its reference chain.
 *
 * Portable: clock_gettime() where POSIX is, clock() elsewhere; a target with neither gives -DXR_NOW_NS='expression'.
 */
#ifndef XR_AGENT_CLOCK_H
#define XR_AGENT_CLOCK_H

double xr_now_ns(void);

/* What is wrong with the clock, or NULL. Asked once, first, and apart from the look itself: on a simulator all that a
 * look does shows in the readings, and a clock that is refused would be looked at for ever. */
const char *xr_clock_fault(void);

/* Call once. Measures what a look at the clock costs and how fine it is, and sizes the reference chain by it. Finds out
 * whether times repeat exactly, as they do on a simulator, unless that is known (0 or 1; -1: it is not). */
void xr_clock_init(int known_repeats);
int xr_clock_repeats(void);
double xr_clock_cost_ns(void);
double xr_clock_granule_ns(void);

/* The reference: ns of one addition on a core that nobody else uses, read now; takes about 10 us.
 *
 * Read from a chain of multiplications. A chain of additions starts one every cycle, and whoever uses the core's other
 * thread makes it miss some: 10 % were seen on a virtual machine, which made every multiplication look 10 % quicker
 * than it is. A multiplication every third cycle leaves room. How many additions one takes is found out once, by
 * xr_reference_find(0), and told to the agents that follow, so that all mean the same. */
double xr_reference_ns(void);
double xr_short_reference_ns(void); /* of a fixed number of them, about a microsecond, with the look at the clock */
void xr_reference_find(int adds);
double xr_reference_spin(unsigned long reps, double *ns); /* so many repetitions; returns the operations done */
int xr_reference_adds(void);

/* Does nobody else use this core just now? The core's other hardware thread, which on a virtual machine may be
 * anybody's, takes its share of the units, for microseconds at a time: beside a busy neighbour, between 2 and 70
 * % of such short stretches were still quick. Some independent additions tell: they take longer than they did at
 * their best. Where the clock is too coarse to tell, the answer is yes. Their best has to be found first: known
 * is what xr_core_find() said in an earlier agent, 0: nothing yet. */
double xr_core_find(double known);
int xr_core_is_ours(void);
double xr_core_slowdown(void); /* how many times as long as at their best such additions take; 1: too coarse a clock */

/* Spins until the clock frequency is steady: three windows of 1 ms within 0.5 %, at most 2 s. */
void xr_warm_up(void);

#endif
