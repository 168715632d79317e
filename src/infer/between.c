/* SPDX-License-Identifier: MIT */
/* A level that laps show and nobody has found yet, see between.h. */
#include "infer/between.h"

#include <math.h>

/* The least of laps i and larger. */
static double least_from(const double *time, size_t n, size_t i)
{
	double t = time[i];

	for (; i < n; i++)
		t = fmin(t, time[i]);
	return t;
}

bool xr_between_find(const double *size, const double *time, size_t n, double near, double far, double least,
                     struct xr_between *between)
{
	double flattest = 2; /* times the excess of a lap half as large: what one cache may have, see between.h */
	bool found = false;

	for (size_t large = 0; large < n; large++) {
		const double t = least_from(time, n, large), excess = t - near;
		const double holds = size[large] * (far - t) / (far - near);

		if (excess < least || far - t < least)
			continue;
		for (size_t small = 0; small < large && size[small] <= holds / 2; small++) {
			const double less = least_from(time, n, small) - near;

			if (less < least || excess >= flattest * less)
				continue;
			flattest = excess / less;
			*between = (struct xr_between){.latency = t, .small = size[small], .large = size[large]};
			found = true;
		}
	}
	for (size_t i = 0; i < n && found; i++)
		if (least_from(time, n, i) < sqrt(between->latency * far))
			between->holds = size[i];
	return found;
}
