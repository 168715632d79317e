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

double xr_period(const double *event, size_t n, double lo, double hi, double width)
{
	if (n < 20 || !(width > 0) || !(hi > lo))
		return 0;
	size_t bins = (size_t)(2.1 * hi / width) + 4, around = (size_t)(lo / width) + 4, best = 0;
	double *bin = xr_calloc(bins + 1, sizeof *bin), *pair = xr_calloc(bins, sizeof *pair), highest = 0, period = 0;
	count_distances(event, n, width, bin, bins + 1);
	for (size_t k = 0; k < bins; k++)
		pair[k] = bin[k] + bin[k + 1];
	double span = event[n - 1] - event[0];
	for (size_t k = (size_t)(lo / width); (double)k * width < hi; k++) {
		double once = stands_out(pair, bins, k, around), twice = 0;
		for (size_t i = 2 * k; i <= 2 * k + 2 && i < bins; i++)
			twice = fmax(twice, stands_out(pair, bins, i, around));
		double expected = span / (((double)k + 1) * width); /* events that such a period makes */
		if (once > 6 && twice > 4 && pair[k] > expected / 3 && once > highest) {
			highest = once;
			best = k;
		}
	}
	if (highest > 0)
		period = width * (bin[best] * ((double)best + 0.5) + bin[best + 1] * ((double)best + 1.5)) /
		         (bin[best] + bin[best + 1]);
	free(bin);
	free(pair);
	return period;
}
