/* SPDX-License-Identifier: MIT */
/* Many levels in a curve: the constant segments that cost least, sum of absolute residuals plus a price per change.
 *
 * Exact by dynamic programming over the last segment. The ends j are walked from the left; for each, the costs of all
 * segments that end there fall out of adding points one by one to the left, so no n x n table is kept.
 */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>

#include "stat/scratch.h"

static double default_penalty(const double *y, size_t n)
{
	struct xr_scratch differences;

	if (n < 2)
		return 0;
	xr_scratch_init(&differences, n - 1);
	for (size_t i = 0; i + 1 < n; i++)
		differences.x[i] = y[i + 1] - y[i];
	double sigma = xr_mad(differences.x, n - 1) / sqrt(2); /* a difference carries the noise of two points */
	xr_scratch_release(&differences);
	return 3 * log((double)n) * sigma;
}

/* cost[k * n + j]: the least for y[0..j] in k + 1 segments; start[k * n + j]: where the last of them begins. */
static void fill_tables(const double *y, size_t n, size_t max, double *cost, size_t *start)
{
	double *last = xr_scratch_array(n, sizeof *last); /* last[i]: cost of y[i..j] as one segment */
	double *sorted = xr_scratch_array(n, sizeof *sorted);

	for (size_t j = 0; j < n; j++) {
		double sum = 0;
		for (size_t i = j + 1; i-- > 0;)
			last[i] = sum += xr_sorted_add(sorted, j - i, y[i]);
		cost[j] = last[0];
		for (size_t k = 1; k < max && k <= j; k++) {
			const double *shorter = cost + (k - 1) * n;
			double best = HUGE_VAL;
			size_t from = j;
			for (size_t i = k; i <= j; i++) {
				double c = shorter[i - 1] + last[i];
				if (c < best) {
					best = c;
					from = i;
				}
			}
			cost[k * n + j] = best;
			start[k * n + j] = from;
		}
	}
	free(sorted);
	free(last);
}

/* Writes the last index of each segment; returns how many. */
static size_t partition(const double *y, size_t n, double penalty, size_t max, size_t *ends)
{
	double *cost = xr_scratch_array(max * n, sizeof *cost);
	size_t *start = xr_scratch_array(max * n, sizeof *start), count = 1;

	fill_tables(y, n, max, cost, start);
	/* Not even a free change is made for the sake of a rounding error. */
	double price = fmax(penalty > 0 ? penalty : default_penalty(y, n), 1e-9 * cost[n - 1]), least = cost[n - 1];
	for (size_t k = 1; k < max; k++) {
		double total = cost[k * n + n - 1] + (double)k * price;
		if (total < least) {
			least = total;
			count = k + 1;
		}
	}
	for (size_t k = count, end = n; k-- > 0;) {
		ends[k] = end - 1;
		end = k ? start[k * n + end - 1] : 0;
	}
	free(start);
	free(cost);
	return count;
}

static double level_of(const double *y, const size_t *ends, size_t k)
{
	size_t from = k ? ends[k - 1] + 1 : 0;
	return xr_median(y + from, ends[k] + 1 - from);
}

/* The nearest two first, for a merge moves the level and with it the next distance. */
static size_t merge_near(const double *y, size_t *ends, double *levels, size_t count, double merge)
{
	while (count > 1) {
		size_t best = 0;
		double nearest = HUGE_VAL;
		for (size_t k = 0; k + 1 < count; k++) {
			double lower = fmin(fabs(levels[k]), fabs(levels[k + 1]));
			double distance = fabs(levels[k + 1] - levels[k]) / lower;
			if (distance < nearest) {
				nearest = distance;
				best = k;
			}
		}
		if (!(nearest < merge))
			break;
		for (size_t k = best; k + 1 < count; k++) {
			ends[k] = ends[k + 1];
			levels[k] = levels[k + 1];
		}
		count--;
		levels[best] = level_of(y, ends, best);
	}
	return count;
}

/* Fits on `scaled`, merges and reports levels of y. */
static size_t fit(const double *scaled, const double *y, size_t n, double penalty, double merge, size_t max,
                  size_t *ends, double *levels)
{
	if (max > n)
		max = n;
	if (!max)
		return 0;
	size_t *end = xr_scratch_array(max, sizeof *end);
	double *level = xr_scratch_array(max, sizeof *level);
	size_t count = partition(scaled, n, penalty, max, end);

	for (size_t k = 0; k < count; k++)
		level[k] = level_of(y, end, k);
	count = merge_near(y, end, level, count, merge);
	for (size_t k = 0; k < count; k++) {
		if (ends)
			ends[k] = end[k];
		if (levels)
			levels[k] = level[k];
	}
	free(level);
	free(end);
	return count;
}

size_t xr_segments(const double *y, size_t n, double penalty, double merge, size_t max, size_t *ends, double *levels)
{
	return fit(y, y, n, penalty, merge, max, ends, levels);
}

size_t xr_segments_log(const double *y, size_t n, double penalty, double merge, size_t max, size_t *ends,
                       double *levels)
{
	struct xr_scratch logs;

	xr_scratch_init(&logs, n);
	for (size_t i = 0; i < n; i++)
		logs.x[i] = log(y[i]);
	size_t count = fit(logs.x, y, n, penalty, merge, max, ends, levels);
	xr_scratch_release(&logs);
	return count;
}
