/* SPDX-License-Identifier: MIT */
/* Order statistics of one sample, and what is read off a sorted sample: spread, modes.
 *
 * An empty sample has no statistic: the answer is NaN, which no comparison accepts.
 * NaN among the samples counts as slower than everything, so a failed reading cannot pose as a fast one.
 */
#include "stat/stat.h"

#include <math.h>
#include <string.h>

#include "stat/scratch.h"

static double sorted_quantile(const double *x, size_t n, double q)
{
	if (!n || isnan(q))
		return NAN;
	double position = fmin(fmax(q, 0), 1) * (double)(n - 1);
	size_t i = (size_t)position;
	double part = position - (double)i;
	if (part == 0 || i + 1 >= n || x[i] == x[i + 1])
		return x[i];
	return x[i] * (1 - part) + x[i + 1] * part;
}

double xr_quantile(const double *x, size_t n, double q)
{
	struct xr_scratch s;
	double answer = sorted_quantile(xr_scratch_sorted(&s, x, n), n, q);
	xr_scratch_release(&s);
	return answer;
}

double xr_kth_lowest(const double *x, size_t n, size_t k)
{
	if (!n)
		return NAN;
	struct xr_scratch s;
	double answer = xr_scratch_sorted(&s, x, n)[k < n ? k : n - 1];
	xr_scratch_release(&s);
	return answer;
}

/* A quarter of the way up, rounded so that from three samples on one low outlier is never the answer. Always a value
 * that was seen: between the fast and the slow samples of a noisy point there may be nothing real. */
double xr_lower(const double *x, size_t n)
{
	return xr_kth_lowest(x, n, (n + 1) / 4);
}

double xr_median(const double *x, size_t n)
{
	struct xr_scratch s;
	double answer = xr_sorted_median(xr_scratch_sorted(&s, x, n), n);
	xr_scratch_release(&s);
	return answer;
}

double xr_mean(const double *x, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += x[i];
	return n ? sum / (double)n : NAN;
}

/* The shorth: of the stretches of a sorted sample that hold more than half of it, the shortest. What is disturbed
 * in either direction, as long as that is less than half, is not in it. */
double xr_densest(const double *x, size_t n, double *range)
{
	struct xr_scratch s;
	const double *sorted = xr_scratch_sorted(&s, x, n);
	size_t half = n / 2 + 1, best = 0;
	double answer = NAN;
	if (range)
		*range = NAN;
	if (n) {
		for (size_t i = 1; i + half <= n; i++)
			if (sorted[i + half - 1] - sorted[i] < sorted[best + half - 1] - sorted[best])
				best = i;
		answer = xr_sorted_median(sorted + best, half);
		if (range)
			*range = sorted[best + half - 1] - sorted[best];
	}
	xr_scratch_release(&s);
	return answer;
}

double xr_min(const double *x, size_t n)
{
	double best = NAN;
	for (size_t i = 0; i < n; i++)
		best = fmin(best, x[i]);
	return best;
}

double xr_max(const double *x, size_t n)
{
	double best = NAN;
	for (size_t i = 0; i < n; i++)
		best = fmax(best, x[i]);
	return best;
}

double xr_mad(const double *x, size_t n)
{
	struct xr_scratch s;
	double *deviation = xr_scratch_sorted(&s, x, n);
	double middle = xr_sorted_median(deviation, n);

	for (size_t i = 0; i < n; i++)
		deviation[i] = fabs(deviation[i] - middle);
	xr_sort(deviation, n);
	double answer = 1.4826 * xr_sorted_median(deviation, n);
	xr_scratch_release(&s);
	return answer;
}

double xr_spread(const double *x, size_t n)
{
	struct xr_scratch s;
	const double *sorted = xr_scratch_sorted(&s, x, n);
	double width = sorted_quantile(sorted, n, 0.5) - sorted_quantile(sorted, n, 0.1);
	double level = fabs(sorted_quantile(sorted, n, 0.25));

	xr_scratch_release(&s);
	if (width == 0)
		return 0;
	return width / level;
}

/* How far from the median of a sorted array three quarters of it reach, by walking outwards from the middle. */
static double sorted_reach(const double *x, size_t n)
{
	double middle = xr_sorted_median(x, n), reach = 0;
	size_t right = n / 2, left = right; /* taken so far: x[left .. right - 1] */

	for (size_t taken = 0; taken < (3 * n + 3) / 4; taken++) {
		bool go_right = left == 0 || (right < n && x[right] - middle < middle - x[left - 1]);
		reach = go_right ? x[right++] - middle : middle - x[--left];
	}
	return reach;
}

/* How many times its reach two halves of a sorted sample are apart; 0 when some samples are nearer to the other
 * half. */
static double separation(const double *x, size_t split, size_t n, double a, double b)
{
	double border = a / 2 + b / 2;
	if (!(x[split - 1] < border && border <= x[split]))
		return 0;
	return (b - a) / fmax(sorted_reach(x, split), sorted_reach(x + split, n - split));
}

/* All splits of the sorted sample are tried, for the widest gap is fooled by one stray sample in the middle of it. Two
 * halves are modes when each is narrow beside the distance between them: the halves of an even spread are 2.7 times
 * their reach apart, those of a normal one or a tail less, two normal peaks 4.6 sigma apart are at 4. A quarter of each
 * may be strays. */
bool xr_bimodal(const double *x, size_t n, double gap, double *fast, double *slow)
{
	enum { MOST = 256 };
	const double apart = 4;
	struct xr_scratch s;
	double thinned[MOST];
	const double *sorted = xr_scratch_sorted(&s, x, n);
	double low = xr_sorted_median(sorted, n), high = low, best = 0;

	if (n > MOST) { /* as many quantiles tell as much */
		for (size_t i = 0; i < MOST; i++)
			thinned[i] = sorted[i * (n - 1) / (MOST - 1)];
		sorted = thinned;
		n = MOST;
	}
	size_t least = (15 * n + 99) / 100;
	if (least < 3)
		least = 3;
	for (size_t split = least; split + least <= n; split++) {
		double a = xr_sorted_median(sorted, split), b = xr_sorted_median(sorted + split, n - split);
		if (!(b - a > gap * fabs(a)))
			continue;
		double score = separation(sorted, split, n, a, b);
		if (score >= apart && score > best) {
			best = score;
			low = a;
			high = b;
		}
	}
	xr_scratch_release(&s);
	if (fast)
		*fast = low;
	if (slow)
		*slow = high;
	return best > 0;
}
