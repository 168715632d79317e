/* SPDX-License-Identifier: MIT */
/* The noise of readings; see noise.h. */
#include "infer/noise.h"

#include "stat/stat.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* What is believed before the first repetition, as if so many readings had shown it. */
static const struct xr_noise before = {.sigma = 0.03, .tail = 0.1, .scale = 0.3, .anything = 0.01};
enum { WEIGHT_BEFORE = 6 };
/* A reading that says nothing may lie anywhere within this factor, in either direction: e^5 is about 150. */
static const double reach = 5;
/* No clock is better: resolution and rounding leave this much. */
static const double least_sigma = 2e-4;

struct xr_noise xr_noise_unknown(void)
{
	return before;
}

static double normal(double y, double sigma)
{
	return exp(-y * y / (2 * sigma * sigma)) / (sigma * sqrt(2 * M_PI));
}

/* An exponential to the right, smeared by the bulk: the density of a sum of both. */
static double lengthened(double y, double sigma, double scale)
{
	double z = (sigma / scale - y / sigma) / M_SQRT2;

	if (z > 25) /* erfc underflows where the exponential overflows: no density far to the left */
		return 0;
	return exp(sigma * sigma / (2 * scale * scale) - y / scale) * erfc(z) / (2 * scale);
}

static bool plausible(double x)
{
	return isfinite(x) && x > 0;
}

double xr_noise_log(const struct xr_noise *n, double predicted, double seen, double slack)
{
	double nothing = n->anything / (2 * reach), sigma = xr_noise_both(n->sigma, slack), y;

	if (!plausible(seen) || !plausible(predicted))
		return log(nothing);
	y = log(seen / predicted);
	return log((1 - n->tail - n->anything) * normal(y, sigma) + n->tail * lengthened(y, sigma, n->scale) + nothing);
}

double xr_noise_log_none(const struct xr_noise *n, double least, double most, double seen)
{
	double nothing = n->anything / (2 * reach);

	if (!plausible(seen) || !plausible(least) || !(most > least))
		return log(nothing);
	return log((seen >= least && seen <= most ? (1 - n->anything) / log(most / least) : 0) + nothing);
}

double xr_noise_of_mean(const struct xr_noise *n, double k)
{
	return n->sigma * sqrt(M_PI / 2) / sqrt(fmax(1, k)); /* of a median: sqrt(pi / 2) wider than a mean */
}

/* The middle of what is left of the median, doubled: what lengthens readings is to the right of it. */
static double low_half_sigma(const double *y, size_t n, double *scratch)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (y[i] <= 0)
			scratch[k++] = -y[i];
	return k ? xr_median(scratch, k) / 0.6745 : 0; /* the quartile of a normal law */
}

/* Deviations from the median of each group, as logarithms; their number. */
static size_t deviations(const double *reading, const size_t *group, size_t n, double *y, double *scratch)
{
	size_t n_groups = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		n_groups = group[i] + 1 > n_groups ? group[i] + 1 : n_groups;
	for (size_t g = 0; g < n_groups; g++) {
		size_t m = 0;
		double middle;

		for (size_t i = 0; i < n; i++)
			if (group[i] == g && plausible(reading[i]))
				scratch[m++] = log(reading[i]);
		if (m < 2)
			continue;
		middle = xr_median(scratch, m);
		for (size_t i = 0; i < m; i++)
			y[k++] = (scratch[i] - middle) * sqrt((double)m / (double)(m - 1));
	}
	return k;
}

struct xr_noise xr_noise_fit(const double *reading, const size_t *group, size_t n)
{
	struct xr_noise noise = before;
	double *y = calloc(2 * n + 1, sizeof *y), sigma, over = 0, far = 0;
	size_t k, n_over = 0;

	if (!y)
		return noise;
	k = deviations(reading, group, n, y, y + n);
	if (k == 0)
		goto out;
	sigma = fmax(least_sigma, low_half_sigma(y, k, y + n));
	for (size_t i = 0; i < k; i++) {
		if (y[i] > 3 * sigma) { /* one in 700 of the bulk is */
			over += y[i];
			n_over++;
		}
		far += y[i] < -5 * sigma; /* none of the bulk is: quicker than possible */
	}
	{
		double w = WEIGHT_BEFORE, all = (double)k + w;

		noise.sigma = exp(((double)k * log(sigma) + w * log(before.sigma)) / all);
		noise.tail = ((double)n_over + w * before.tail) / all;
		noise.scale = (over + w * before.tail * before.scale) / ((double)n_over + w * before.tail);
		noise.anything = (far + w * before.anything) / all;
	}
out:
	free(y);
	return noise;
}
