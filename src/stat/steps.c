/* SPDX-License-Identifier: MIT */
/* One step in a curve: where does it go up? */
#include "stat/stat.h"

#include <math.h>

#include "stat/scratch.h"

/* How many times a is b; only a rise from zero is infinite, nothing can be said below zero. */
static double rise(double a, double b)
{
	if (a > 0)
		return b / a;
	return a == 0 && b > 0 ? HUGE_VAL : 0;
}

long xr_first_step(const double *y, size_t n, double ratio)
{
	for (size_t i = 0; i + 1 < n; i++)
		if (rise(y[i], y[i + 1]) >= ratio)
			return (long)i;
	return -1;
}

long xr_biggest_step(const double *y, size_t n, double ratio)
{
	long best = -1;
	double most = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		double r = rise(y[i], y[i + 1]);
		if (r >= ratio && (best < 0 || r > most)) {
			best = (long)i;
			most = r;
		}
	}
	return best;
}

long xr_biggest_scaled_step(const double *y, size_t n, double threshold)
{
	long best = -1;
	double most = 0;

	for (size_t i = 0; i + 1 < n; i++) {
		double scaled = (y[i + 1] - y[i]) * y[i + 1];
		if (scaled >= threshold && (best < 0 || scaled > most)) {
			best = (long)i;
			most = scaled;
		}
	}
	return best;
}

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

long xr_single_step(const double *y, size_t n, double ratio, struct xr_fit2 *fit)
{
	struct xr_scratch logs;

	xr_scratch_init(&logs, n);
	for (size_t i = 0; i < n; i++)
		logs.x[i] = log(y[i]);
	struct xr_fit2 found = xr_two_segments(logs.x, n);
	xr_scratch_release(&logs);
	if (fit)
		*fit = found;
	double height = found.right - found.left;
	return found.split >= 0 && height >= log(ratio) && height >= 5 * found.noise ? found.split : -1;
}
