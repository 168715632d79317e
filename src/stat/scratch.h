/* SPDX-License-Identifier: MIT */
/* Private to this room: sorted copies and small work arrays that stay on the stack for the usual sizes.
 *
 * The functions here run inside bootstraps and on thousands of simulated points, mostly on nine samples or forty
 * points, so that a malloc per call would cost more than the work. Release is needed always, it frees only what was
 * allocated.
 */
#ifndef XR_STAT_SCRATCH_H
#define XR_STAT_SCRATCH_H

#include <stddef.h>

enum { XR_SCRATCH_LOCAL = 64 };

struct xr_scratch {
	double local[XR_SCRATCH_LOCAL];
	double *x; /* local, or from the heap when n is bigger */
};

/* Room for n numbers, not set. Aborts when there is no memory, as the arenas do. */
double *xr_scratch_init(struct xr_scratch *scratch, size_t n);
/* A sorted copy of x (see xr_sort()). */
double *xr_scratch_sorted(struct xr_scratch *scratch, const double *x, size_t n);
void xr_scratch_release(struct xr_scratch *scratch);

/* Memory for count things of the given size, zeroed; never NULL, free() it. */
void *xr_scratch_array(size_t count, size_t size);

/* Sorts rising, NaN last; returns how many are numbers. */
size_t xr_sort(double *x, size_t n);
/* Of a sorted array; NaN when empty. */
double xr_sorted_median(const double *x, size_t n);

/* Puts v into a sorted array of n numbers with room for one more; returns by how much that raises the sum of distances
 * from the median. Exact: of an even count everything between the two middle values is a median, so v costs its
 * distance from that interval and the others nothing. */
double xr_sorted_add(double *sorted, size_t n, double v);

#endif
