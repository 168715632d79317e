/* The agent's clock and its reference chain.
 *
 * Portable: clock_gettime() where POSIX is, clock() elsewhere; a target with neither gives -DXR_NOW_NS='expression'.
 */
#ifndef XR_AGENT_CLOCK_H
#define XR_AGENT_CLOCK_H

double xr_now_ns(void);

/* Call once. Measures what a look at the clock costs and how fine it is, and sizes the reference chain by it. */
void xr_clock_init(void);
double xr_clock_cost_ns(void);
double xr_clock_granule_ns(void);

/* ns of one operation of the reference chain (dependent integer adds of two registers), read now; takes about 10 us. */
double xr_reference_ns(void);

/* Spins until the clock frequency is steady: three windows of 1 ms within 0.5 %, at most 2 s. */
void xr_warm_up(void);

#endif
