/* SPDX-License-Identifier: MIT */
/* Monotone curves: the non-decreasing curve nearest to noisy points.
 *
 * More work never takes less time, so a point above its right neighbour is noise in one of the two. The papers ([001]
 * "Monotonicity enforcement") always believe the lower one; a single low outlier then pulls down everything left of it.
 * Pooling adjacent violators believes in neither and puts their mean (or median) in place of both.
 */
#include "stat/stat.h"

#include <stdlib.h>
#include <string.h>

#include "stat/scratch.h"

void xr_monotone(const double *y, size_t n, double *out)
{
	struct block {
		double sum;
		size_t count;
	} local[XR_SCRATCH_LOCAL], *block = n <= XR_SCRATCH_LOCAL ? local : xr_scratch_array(n, sizeof *block);
	size_t blocks = 0;

	for (size_t i = 0; i < n; i++) {
		block[blocks++] = (struct block){y[i], 1};
		while (blocks > 1) {
			struct block *last = &block[blocks - 1], *before = &block[blocks - 2];
			if (!(before->sum * (double)last->count > last->sum * (double)before->count))
				break;
			before->sum += last->sum;
			before->count += last->count;
			blocks--;
		}
	}
	for (size_t b = 0, i = 0; b < blocks; b++) {
		/* A block left alone keeps its value to the last bit; rounding must not make a step down either. */
		double mean = block[b].count == 1 ? block[b].sum : block[b].sum / (double)block[b].count;
		if (i > 0 && mean < out[i - 1])
			mean = out[i - 1];
		for (size_t k = 0; k < block[b].count; k++)
			out[i++] = mean;
	}
	if (block != local)
		free(block);
}

/* Merges the sorted neighbours x[0..a-1] and x[a..a+b-1]; room for a numbers in spare. */
static void merge(double *x, size_t a, size_t b, double *spare)
{
	memcpy(spare, x, a * sizeof *x);
	for (size_t i = 0, j = a, k = 0; i < a; k++)
		x[k] = j < a + b && x[j] < spare[i] ? x[j++] : spare[i++];
}

/* Blocks lie side by side in one array, each sorted, so that pooling two is one merge and a median one look. */
void xr_monotone_l1(const double *y, size_t n, double *out)
{
	size_t local[XR_SCRATCH_LOCAL], *count = n <= XR_SCRATCH_LOCAL ? local : xr_scratch_array(n, sizeof *count);
	size_t blocks = 0;
	struct xr_scratch values, spare;

	xr_scratch_init(&values, n);
	xr_scratch_init(&spare, n);
	for (size_t i = 0; i < n; i++) {
		double *end = values.x + i + 1;
		end[-1] = y[i];
		count[blocks++] = 1;
		while (blocks > 1) {
			size_t a = count[blocks - 2], b = count[blocks - 1];
			if (!(xr_sorted_median(end - b - a, a) > xr_sorted_median(end - b, b)))
				break;
			merge(end - b - a, a, b, spare.x);
			count[blocks - 2] += b;
			blocks--;
		}
	}
	for (size_t b = 0, i = 0; b < blocks; b++) {
		double median = xr_sorted_median(values.x + i, count[b]);
		for (size_t k = 0; k < count[b]; k++)
			out[i++] = median;
	}
	xr_scratch_release(&spare);
	xr_scratch_release(&values);
	if (count != local)
		free(count);
}

void xr_running_min(const double *y, size_t n, double *out)
{
	for (size_t i = n; i-- > 0;)
		out[i] = i + 1 < n && out[i + 1] < y[i] ? out[i + 1] : y[i];
}
