/* SPDX-License-Identifier: MIT */
/* The levels of the memory hierarchy, from staircases: where these stay for a while, and agree. */
#ifndef XR_METHOD_LEVELS_H
#define XR_METHOD_LEVELS_H

#include "method/stairs.h"

enum { XR_LEVELS_MAX = 6 };

struct xr_level {
	double latency;   /* cycles */
	double items;     /* others that push a page out of this level: median of the staircases; 0: not seen */
	int seen;         /* steps on it, over all staircases */
	int witnesses;    /* staircases that have been on it */
	double spread;    /* how far they are apart, as a share of the latency */
	bool weak;        /* a few steps, but always the same: is one only if each line of a page says so */
};

/* Plateaus of staircases that are no level. */
struct xr_unsettled {
	size_t dropped; /* far from the levels, but seen by too few, or not for long: another staircase may tell */
	size_t between; /* close to one, and seen by more than one */
};

/* Pure: the levels that the staircases agree on, nearest first, the last one being memory. hit: latency of the first
 * level. */
size_t xr_levels_from(const struct xr_staircase *stairs, size_t n, double hit, struct xr_level *level,
                      struct xr_unsettled *unsettled);

/* Pure: finds `items` of the first k levels. */
void xr_levels_sizes(const struct xr_staircase *stairs, size_t n, struct xr_level *level, size_t k);

#endif
