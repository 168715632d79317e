/* SPDX-License-Identifier: MIT */
#include "stat/period.h"

#include "stat/stat.h"
#include "util/memory.h"

#include <math.h>
#include <stdlib.h>

/* How often each distance occurs among pairs of events. */
static void count_distances(const double *event, size_t n, double width, double *bin, size_t bins)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			size_t k = (size_t)((event[j] - event[i]) / width);
			if (k >= bins)
				break;
			bin[k]++;
		}
}

/* How far a distance stands out of those around it, in standard deviations of chance. Bursts make short distances more
 * frequent than long ones, so what chance gives is read from the neighbourhood. */
static double stands_out(const double *pair, size_t bins, size_t k, size_t around)
{
	size_t from = k > around ? k - around : 0, to = k + around + 1 < bins ? k + around + 1 : bins;
	double chance = xr_median(pair + from, to - from);
	return (pair[k] - chance) / sqrt(chance + 1);
}

/* The same for a period: its double must stand out too, and enough events must share it. 0: no candidate. */
static double rate(const double *pair, size_t bins, size_t k, size_t around, double events)
{
	double once = stands_out(pair, bins, k, around), twice = 0;
	for (size_t i = 2 * k; i <= 2 * k + 2 && i < bins; i++)
		twice = fmax(twice, stands_out(pair, bins, i, around));
	return once > 6 && twice > 4 && pair[k] > events / 3 ? once : 0;
}

double xr_period(const double *event, size_t n, double lo, double hi, double width)
{
	if (n < 20 || !(width > 0) || !(hi > lo))
		return 0;
	size_t bins = (size_t)(2.1 * hi / width) + 4, around = (size_t)(lo / width) + 4;
	size_t first = (size_t)(lo / width), last = (size_t)(hi / width);
	double *bin = xr_calloc(bins + 1, sizeof *bin), *pair = xr_calloc(bins, sizeof *pair);
	double *rated = xr_calloc(last + 2, sizeof *rated), highest = 0, period = 0;
	count_distances(event, n, width, bin, bins + 1);
	for (size_t k = 0; k < bins; k++)
		pair[k] = bin[k] + bin[k + 1];
	for (size_t k = first; k <= last; k++) {
		rated[k] = rate(pair, bins, k, around, (event[n - 1] - event[0]) / (((double)k + 1) * width));
		highest = fmax(highest, rated[k]);
	}
	for (size_t k = first; k <= last && !(period > 0); k++) { /* its multiples stand out as well: the smallest */
		if (!(highest > 0) || rated[k] < 0.6 * highest)
			continue;
		while (rated[k + 1] > rated[k])
			k++;
		period = width * (bin[k] * ((double)k + 0.5) + bin[k + 1] * ((double)k + 1.5)) / (bin[k] + bin[k + 1]);
	}
	free(bin);
	free(pair);
	free(rated);
	return period;
}
