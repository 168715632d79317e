/* SPDX-License-Identifier: MIT */
/* Sweeps: all lines of so many bytes, page after page, again and again, on a target whose times repeat exactly.
 *
 * A line comes again after all others, so a level that is too small answers none of them (LRU, FIFO) or hardly
 * any (random replacement, from four times its size on), and one that is large enough answers all. Translation is
 * looked up once a page: it hardly counts, and what it costs is known.
 */
#ifndef XR_METHOD_SWEEP_H
#define XR_METHOD_SWEEP_H

#include "method/levels.h"
#include "method/walk.h"

/* Cycles of a line of so many bytes, what translation costs taken off; *cycles < 0: could not be read. */
int xr_sweep_time(const struct xr_walk *walk, uint64_t bytes, double *cycles);

/* The same whatever translation costs, known or not: by sweeps of two densities. For a size that one level answers. */
int xr_sweep_latency(const struct xr_walk *walk, uint64_t bytes, double *cycles);

/* The levels: sizes of more and more bytes, closer where they differ, and where they stay the same. curve: the
 * sweeps, in pages; level[0] is the first cache, of `inner` bytes and this hit latency, the last one memory. *n
 * levels; 0, or -1 as xr_run_time(). */
int xr_sweep_levels(const struct xr_walk *walk, uint64_t inner, uint64_t most, double hit, struct xr_staircase *curve,
                    struct xr_level *level, size_t *n);

#endif
