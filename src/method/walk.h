/* SPDX-License-Identifier: MIT */
/* Random walks over all lines of so many bytes, what translation costs taken off. */
#ifndef XR_METHOD_WALK_H
#define XR_METHOD_WALK_H

#include "micro/micro.h"

/* Levels of TLB, entries 0: none. */
enum { XR_TLB_LEVELS = 3 };
struct xr_tlbs {
	double entries[XR_TLB_LEVELS], penalty[XR_TLB_LEVELS];
};

struct xr_tlbs xr_tlbs_known(const struct xr_run *run); /* from the facts found so far */

struct xr_walk {
	struct xr_run *run;
	unsigned buffer;          /* id */
	uint64_t page, line;      /* page 0: none */
	struct xr_tlbs tlbs;
	struct xr_effort effort;  /* {0}: 5 samples */
};

/* One of few sizes, so that few have to be made, with room for so many bytes. */
struct xr_buffer xr_walk_buffer(const struct xr_walk *walk, uint64_t bytes);

/* Cycles per access, as little disturbed as can be; *cycles < 0: could not be read. *cycle_ns (may be NULL): what a
 * cycle took meanwhile. */
int xr_walk_time(const struct xr_walk *walk, uint64_t bytes, double *cycles, double *cycle_ns);

/* The same, all of the reading (its samples are gone with the next call). */
int xr_walk_read(const struct xr_walk *walk, uint64_t bytes, struct xr_reading *reading);

/* The same over a few lines of each page of so many bytes, others in each page: the same translations, few lines. */
int xr_walk_sparse(const struct xr_walk *walk, uint64_t bytes, uint32_t lines, double *cycles);

/* Cycles that a line takes when it is asked for again, after all lines of so many bytes, as soon as they can be
 * had: many of them under way at once, where a walk waits for each. In a cache that others use, too, that is less
 * of a race against time (see effective.h); and as only lines asked for again are timed, one by one, it says what
 * was kept, whoever else may slow the core down meanwhile. *cycles < 0: could not be read. */
int xr_walk_return(const struct xr_walk *walk, uint64_t bytes, int samples, double *cycles);

/* No memory of a gigabyte or more answers within so few ns: its cells alone take most of 40. What does so,
 * however many bytes were walked over, may be a cache that is larger still. A simulated clock says nothing about
 * cells. */
bool xr_walk_may_be_cached(const struct xr_run *run, double ns);

/* Two latencies that differ by less may be one, with and without a miss in a TLB that is not known. */
#define XR_TOO_CLOSE 1.25

#endif
