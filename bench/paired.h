/* SPDX-License-Identifier: MIT */
/* Is one program slower than another? Both are timed in the same rounds, so that a busy moment hits both; the ratio of a
 * round is what counts. Its median lies between two of the ordered ratios with a probability that does not depend on what the
 * noise looks like (the sign test). Rounds go on until it is clear, PAIRED_FIRST of them and then twice as many each time:
 * each look may err with PAIRED_ERROR, so that all of them together err in one case of a hundred. */
#ifndef PAIRED_H
#define PAIRED_H

#include "stat/stat.h"

#include <math.h>

enum { PAIRED_FIRST = 15, PAIRED_LOOKS = 7, PAIRED_MOST = PAIRED_FIRST << (PAIRED_LOOKS - 1) };
#define PAIRED_ERROR (0.01 / PAIRED_LOOKS)

struct paired {
	double ratio, low, high; /* of the times: above 1 the first one is slower */
	int rounds;
};

/* How many of n ratios may be left out at each end: the most at which both ends together leave out the median with a
 * probability of at most PAIRED_ERROR; -1: too few ratios to say anything. */
static inline int paired_left_out(int n)
{
	double term = pow(0.5, n), tail = 0;
	int k = -1;
	for (int i = 0; i < n / 2; i++) {
		tail += term;
		if (2 * tail > PAIRED_ERROR)
			break;
		k = i;
		term *= (double)(n - i) / (i + 1);
	}
	return k;
}

static inline struct paired paired_compare(const double *first_s, const double *second_s, int n)
{
	double ratio[PAIRED_MOST] = {0};
	n = n < PAIRED_MOST ? n : PAIRED_MOST;
	for (int i = 0; i < n; i++)
		ratio[i] = first_s[i] / second_s[i];
	struct paired p = {.ratio = n ? xr_median(ratio, (size_t)n) : 1, .low = 0, .high = INFINITY, .rounds = n};
	int k = paired_left_out(n);
	if (k >= 0) {
		p.low = xr_kth_lowest(ratio, (size_t)n, (size_t)k);
		p.high = xr_kth_lowest(ratio, (size_t)n, (size_t)(n - 1 - k));
	}
	return p;
}

/* May the first one take `factor` times as long as the second one? */
enum paired_verdict { PAIRED_HOLDS, PAIRED_FAILS, PAIRED_UNDECIDED };

/* Fails where it is surely slower than that. An interval that spans the limit cannot tell, but it holds all the same as soon
 * as the interval is narrow: whatever difference there may be is less than `fine`. */
static inline enum paired_verdict paired_judge(const struct paired *p, double factor, double fine)
{
	if (p->low > factor)
		return PAIRED_FAILS;
	return p->high <= factor || p->high / p->low <= 1 + fine ? PAIRED_HOLDS : PAIRED_UNDECIDED;
}

#endif
