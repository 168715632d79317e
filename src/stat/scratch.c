/* SPDX-License-Identifier: MIT */
#include "stat/scratch.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *xr_scratch_array(size_t count, size_t size)
{
	return xr_calloc(count, size);
}

double *xr_scratch_init(struct xr_scratch *scratch, size_t n)
{
	scratch->x = n <= XR_SCRATCH_LOCAL ? scratch->local : xr_scratch_array(n, sizeof *scratch->x);
	return scratch->x;
}

double *xr_scratch_sorted(struct xr_scratch *scratch, const double *x, size_t n)
{
	xr_scratch_init(scratch, n);
	if (n)
		memcpy(scratch->x, x, n * sizeof *x);
	xr_sort(scratch->x, n);
	return scratch->x;
}

void xr_scratch_release(struct xr_scratch *scratch)
{
	if (scratch->x != scratch->local)
		free(scratch->x);
	scratch->x = NULL;
}

static void insertion_sort(double *x, size_t n, size_t gap)
{
	for (size_t i = gap; i < n; i++) {
		double v = x[i];
		size_t j = i;
		for (; j >= gap && x[j - gap] > v; j -= gap)
			x[j] = x[j - gap];
		x[j] = v;
	}
}

/* Shell's sort, for it needs no memory and no comparison function: gaps by Ciura, continued by 2.25. */
size_t xr_sort(double *x, size_t n)
{
	static const size_t ciura[] = {1, 4, 10, 23, 57, 132, 301, 701};
	size_t numbers = 0;

	for (size_t i = 0; i < n; i++) {
		if (isnan(x[i]))
			continue;
		double v = x[i];
		x[i] = x[numbers];
		x[numbers++] = v;
	}

	size_t big = ciura[7];
	while (big < numbers / 3)
		big = big * 9 / 4;
	for (; big > ciura[7]; big = big * 4 / 9)
		insertion_sort(x, numbers, big);
	for (size_t g = sizeof ciura / sizeof *ciura; g-- > 0;)
		if (ciura[g] == 1 || ciura[g] < numbers / 2)
			insertion_sort(x, numbers, ciura[g]);
	return numbers;
}

double xr_sorted_median(const double *x, size_t n)
{
	if (!n)
		return NAN;
	double low = x[(n - 1) / 2], high = x[n / 2];
	return low == high ? low : low / 2 + high / 2;
}

double xr_sorted_add(double *sorted, size_t n, double v)
{
	double cost = 0;
	size_t from = 0, to = n;

	if (n) {
		double low = sorted[(n - 1) / 2], high = sorted[n / 2];
		cost = v < low ? low - v : v > high ? v - high : 0;
	}
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (sorted[middle] > v)
			to = middle;
		else
			from = middle + 1;
	}
	memmove(sorted + from + 1, sorted + from, (n - from) * sizeof *sorted);
	sorted[from] = v;
	return cost;
}
