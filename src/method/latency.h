/* SPDX-License-Identifier: MIT */
/* The latency of the level behind the first cache, exactly: by walks long enough for any clock.
 *
 * One line of each of so many pages that the first level is full and this one is not, against a twin that costs
 * the TLB the same and stays in the first level. Whoever else uses the core only adds to it: what was timed in
 * peace counts, and what was not leaves it in doubt, however close together it lies. (Of a farther level: too
 * many pages for that.)
 */
#ifndef XR_METHOD_LATENCY_H
#define XR_METHOD_LATENCY_H

#include "method/evict.h"

struct xr_latency {
	double cycles;
	double spread; /* how far walks are apart, as a share of it; INFINITY: not looked yet */
	bool peace;    /* nobody else used the core */
};

/* What is known of it. */
struct xr_second {
	const struct xr_evict *evict;
	uint32_t *order;   /* items; is shuffled */
	size_t n_items;
	double fill, room; /* items that fill the first level, and this one */
	uint64_t lines;    /* that the first level holds */
	double hit, about; /* latency of the first; this one's, as staircases have it */
};

/* Takes another look, and keeps it in *latency if it is better than what is there. 0, or -1 as xr_run_time(). */
int xr_latency_of_second(const struct xr_second *second, struct xr_latency *latency);

#endif
