/* SPDX-License-Identifier: MIT */
/* The value most samples agree on, and the values hardware comes in. */
#include "stat/stat.h"

#include <math.h>

#include "stat/scratch.h"

static double share_of(size_t count, size_t n)
{
	return n ? (double)count / (double)n : 0;
}

/* All NaN count as one value, "no answer": when most repetitions found nothing, that is the answer. */
double xr_mode(const double *x, size_t n, double *share)
{
	struct xr_scratch s;
	double *sorted = xr_scratch_sorted(&s, x, n), answer = NAN;
	size_t most = 0, run = 0;

	for (size_t i = 0; i < n; i++) {
		bool same = i > 0 && (sorted[i] == sorted[i - 1] || (isnan(sorted[i]) && isnan(sorted[i - 1])));
		run = same ? run + 1 : 1;
		if (run > most) {
			most = run;
			answer = sorted[i];
		}
	}
	xr_scratch_release(&s);
	if (share)
		*share = share_of(most, n);
	return answer;
}

/* A window two bins wide that slides over the sorted sample: no bin border can cut the peak in two. */
double xr_mode_binned(const double *x, size_t n, double width, double *share)
{
	struct xr_scratch s;
	double *sorted = xr_scratch_sorted(&s, x, n);
	size_t most = 0, best = 0;

	for (size_t i = 0, j = 0; i < n; i++) {
		if (j < i)
			j = i;
		while (j < n && (sorted[j] - sorted[i] <= 2 * width || sorted[j] == sorted[i]))
			j++;
		if (j - i > most) {
			most = j - i;
			best = i;
		}
	}
	double answer = xr_sorted_median(sorted + best, most);
	xr_scratch_release(&s);
	if (share)
		*share = share_of(most, n);
	return answer;
}

double xr_snap_integer(double x, double tolerance)
{
	double nearest = round(x);
	return fabs(x - nearest) <= tolerance ? nearest : x;
}
