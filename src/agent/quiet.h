/* SPDX-License-Identifier: MIT */
/* Does somebody else use this core, as far as running code can tell?
 *
 * The core's other hardware thread, when busy, slows every jump, takes its share of the instruction cache and, on
 * some machines, half of the instruction TLB. It comes and goes, for microseconds or for seconds; what a code
 * walk shows then is not the machine. A short row of jumps tells: while nobody is there it takes the same time
 * again and again, and less than ever else.
 */
#ifndef XR_AGENT_QUIET_H
#define XR_AGENT_QUIET_H

/* One look, of some microseconds. 0: nobody else is there, or this target gives no way to know; else how much longer it
 * took than it should, in thousandths, at least 1. The caches hold a row of blocks afterwards. */
int xr_quiet_look(void);

/* Looks until nobody is there; what was waited goes off *patience_ns. Returns what the last look said. */
int xr_quiet_wait(double *patience_ns);

/* The reference (clock.h) as the last look saw it, from a chain of a microsecond; 0: looks are not to be had. */
double xr_quiet_reference_ns(void);

#endif
