/* SPDX-License-Identifier: MIT */
/* Hardware counters of this thread, where the OS gives them: never taken for granted, see xr_count_open(). */
#ifndef XR_AGENT_COUNT_H
#define XR_AGENT_COUNT_H

enum xr_counter {
	XR_COUNT_CYCLES,
	XR_COUNT_INSNS,
	XR_COUNT_L1D,  /* loads that miss the first cache of data */
	XR_COUNT_DTLB, /* … and its TLB */
	XR_COUNT_L1I,  /* the same of code */
	XR_COUNT_ITLB,
	XR_COUNT_SWITCHES,
	XR_COUNT_FAULTS,
	XR_COUNTERS
};

/* Events of one run of `work`, by counter; -1: there is no such counter, or it was shared with others while it
 * ran. The least of eight runs, the least that a run of nothing counts taken off. Counters are used one at a
 * time, so that none is multiplexed. */
void xr_count(void (*work)(void *self), void *self, double events[XR_COUNTERS]);

void xr_count_release(void);

#endif
