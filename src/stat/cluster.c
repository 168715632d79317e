/* SPDX-License-Identifier: MIT */
/* Quality-threshold clustering in one dimension ([001] section 3): the diameter a cluster may have is a share of its
 * own mean, so that a plateau of 300 cycles may be wider than one of 4.
 *
 * In one dimension a cluster is a stretch of the sorted points; the stretch with most points is taken away until none
 * is left. A stretch never spans one taken before: together with it, it would have been the longer of the two.
 */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>

#include "stat/scratch.h"

struct ranked {
	double value;
	size_t index;
};

static int by_value(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;
	if (isnan(a->value) || isnan(b->value))
		return isnan(a->value) - isnan(b->value);
	return (a->value > b->value) - (a->value < b->value);
}

/* The longest stretch of free points that is narrow enough: *first, and how many. Of equals the narrowest, relative to
 * its mean. sum[i]: of the points before i. The ends are free and nothing between is taken. */
static size_t longest(const struct ranked *point, const double *sum, const int *taken, size_t n, double diameter,
                      size_t *first)
{
	size_t most = 0;
	double narrowest = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = i; j < n && taken[j] < 0; j++) {
			size_t count = j - i + 1;
			double width = point[j].value - point[i].value;
			double mean = fabs(sum[j + 1] - sum[i]) / (double)count;
			if (count > 1 && !(width <= diameter * mean) && !(width == 0))
				continue;
			double relative = mean > 0 ? width / mean : 0;
			if (count > most || (count == most && relative < narrowest)) {
				most = count;
				narrowest = relative;
				*first = i;
			}
		}
	}
	return most;
}

size_t xr_cluster(const double *x, size_t n, double diameter, int *label)
{
	struct ranked *point = xr_scratch_array(n, sizeof *point);
	double *sum = xr_scratch_array(n + 1, sizeof *sum);
	int *taken = xr_scratch_array(n, sizeof *taken);
	size_t first = 0, count, clusters = 0;

	for (size_t i = 0; i < n; i++) {
		point[i] = (struct ranked){x[i], i};
		taken[i] = -1;
	}
	qsort(point, n, sizeof *point, by_value);
	for (size_t i = 0; i < n; i++)
		sum[i + 1] = sum[i] + (isfinite(point[i].value) ? point[i].value : 0);

	int round = 0;
	while ((count = longest(point, sum, taken, n, diameter, &first)) > 0) {
		for (size_t i = first; i < first + count; i++)
			taken[i] = round;
		round++;
	}
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || taken[i] != taken[i - 1])
			clusters++;
		if (label)
			label[point[i].index] = (int)clusters - 1;
	}
	free(taken);
	free(sum);
	free(point);
	return clusters;
}
