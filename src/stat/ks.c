/* SPDX-License-Identifier: MIT */
/* Two-sample Kolmogorov-Smirnov test: do two sets of samples come from one distribution, whatever its shape? */
#include "stat/stat.h"

#include <math.h>

#include "stat/scratch.h"

/* P(K > x) of Kolmogorov's distribution; of its two series the one that converges fast at x. */
static double kolmogorov_tail(double x)
{
	const double pi = 3.14159265358979323846;
	double sum = 0;

	if (!(x > 0.04))
		return 1;
	if (x < 1.18) {
		for (int k = 1; k <= 7; k += 2)
			sum += exp(-k * k * pi * pi / (8 * x * x));
		return 1 - sqrt(2 * pi) / x * sum;
	}
	for (int k = 1; k <= 5; k++)
		sum += (k % 2 ? 2 : -2) * exp(-2 * k * k * x * x);
	return sum;
}

double xr_ks(const double *a, size_t na, const double *b, size_t nb, double *p)
{
	struct xr_scratch sa, sb;
	double *x = xr_scratch_sorted(&sa, a, na), *y = xr_scratch_sorted(&sb, b, nb), distance = 0;
	size_t i = 0, j = 0;

	while (na > 0 && isnan(x[na - 1])) /* sorted last */
		na--;
	while (nb > 0 && isnan(y[nb - 1]))
		nb--;
	while (i < na && j < nb) {
		double at = x[i] < y[j] ? x[i] : y[j];
		while (i < na && x[i] <= at) /* past all ties at once: between them the difference means nothing */
			i++;
		while (j < nb && y[j] <= at)
			j++;
		distance = fmax(distance, fabs((double)i / (double)na - (double)j / (double)nb));
	}
	xr_scratch_release(&sb);
	xr_scratch_release(&sa);
	if (p) {
		/* Stephens' correction makes the asymptotic formula good from four samples a side. */
		double root = na && nb ? sqrt((double)na * (double)nb / (double)(na + nb)) : 0;
		*p = root > 0 ? fmin(fmax(kolmogorov_tail((root + 0.12 + 0.11 / root) * distance), 0), 1) : 1;
	}
	return distance;
}
