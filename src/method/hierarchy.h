/* SPDX-License-Identifier: MIT */
/* The levels of the memory of a machine: staircases are climbed until they are clear, and what only looks like a
 * level is taken out.
 */
#ifndef XR_METHOD_HIERARCHY_H
#define XR_METHOD_HIERARCHY_H

#include "method/levels.h"

struct xr_hierarchy {
	struct xr_evict evict;                /* pages of its buffer are climbed with */
	struct xr_walk all;                   /* how to walk over all lines */
	uint64_t room, most;                  /* bytes walked over; at most, if need be */
	size_t n_items;                       /* of the buffer */
	double hit;                           /* latency of the first level */
	uint64_t inner;                       /* bytes of it */
	struct xr_level level[XR_LEVELS_MAX]; /* result: [0] is the first cache; the last one is memory */
	size_t n;
	struct xr_staircase first, walk;      /* result: the first staircase, the walks */
	struct xr_unsettled unsettled;        /* result */
	double noise;                         /* result: range of what should be equal in the staircases, cycles */
	bool exact;                           /* times repeat exactly: sweeps tell (sweep.h) */
	bool mixed;                           /* result: one that takes now so long and now so long may be lines of two */
};

/* 0, or -1 as xr_run_time(). */
int xr_hierarchy_find(struct xr_hierarchy *h);

/* Did others use the core, or was the clock too coarse for it? */
bool xr_hierarchy_is_restless(const struct xr_hierarchy *h);

/* Is this level so much like its neighbours, in size or in time, that it may be none? Pages stay between two
 * levels for a while where lines leave one after the other, by chance. */
bool xr_hierarchy_is_narrow(const struct xr_hierarchy *h, size_t level);

/* How sure it is that each of the levels is one. */
double xr_hierarchy_sure(const struct xr_hierarchy *h);

#endif
