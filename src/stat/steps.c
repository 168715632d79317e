/* SPDX-License-Identifier: MIT */
/* One step in a curve: where does it go up? */
#include "stat/stat.h"

#include <math.h>

#include "stat/scratch.h"

struct xr_fit2 xr_two_segments(const double *y, size_t n)
{
	struct xr_scratch sorted, tail; /* tail[i]: cost of y[i..] as one segment */
	double middle = xr_median(y, n), cost = 0, best;
	struct xr_fit2 fit = {.split = -1, .left = middle, .right = middle};

	if (n < 2)
		return fit;
	xr_scratch_init(&sorted, n);
	xr_scratch_init(&tail, n);
	for (size_t i = n; i-- > 0;)
		tail.x[i] = cost += xr_sorted_add(sorted.x, n - 1 - i, y[i]);
	best = tail.x[0];
	cost = 0;
	for (size_t i = 0; i + 1 < n; i++) {
		cost += xr_sorted_add(sorted.x, i, y[i]);
		if (cost + tail.x[i + 1] < best) {
			best = cost + tail.x[i + 1];
			fit.split = (long)i;
		}
	}
	if (fit.split >= 0) {
		size_t left = (size_t)fit.split + 1;
		fit.left = xr_median(y, left);
		fit.right = xr_median(y + left, n - left);
		fit.gain = 1 - best / tail.x[0];
	}
	fit.noise = best / (double)n;
	xr_scratch_release(&tail);
	xr_scratch_release(&sorted);
	return fit;
}
