/* SPDX-License-Identifier: MIT */
/* Statistics: pure numbers in, numbers out. No allocation is left behind, no state, no randomness but the seed
 * given.
 *
 * Which serves where (see also docs/statistics.md):
 *   one point from samples      xr_lower() (3rd lowest of 9); xr_median() for two-sided things
 *   one step in a curve         xr_two_segments()
 *   a value from repetitions    xr_mode() with its share as confidence
 */
#ifndef XR_STAT_STAT_H
#define XR_STAT_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Nothing here crashes, hangs or leaves memory behind on any input. An empty sample has no statistic: NaN. NaN among
 * samples counts as slower than everything else. Pointers to further results (share, p, fast, slow, ...) may be
 * NULL. */

/* Order statistics. Input is not changed. */
double xr_quantile(const double *x, size_t n, double q); /* linear interpolation, q in 0..1 */
double xr_kth_lowest(const double *x, size_t n, size_t k); /* k from 0 */
double xr_lower(const double *x, size_t n);  /* the point statistic: 3rd lowest of 9, the same share of other n */
double xr_median(const double *x, size_t n);
double xr_mean(const double *x, size_t n);
double xr_min(const double *x, size_t n);
double xr_max(const double *x, size_t n);
double xr_mad(const double *x, size_t n);    /* median absolute deviation x 1.4826: estimates sigma */
double xr_densest(const double *x, size_t n, double *range); /* median of the half that lies closest together; how close */
double xr_spread(const double *x, size_t n); /* (p50 - p10) / p25; 0 for one sample */

/* Two modes more than `gap` (relative, e.g. 0.25) apart, each holding >= 15 % of the samples and at least
 * 3 of them, each narrow beside their distance? *fast, *slow: their medians, else both the median of all. */
bool xr_bimodal(const double *x, size_t n, double gap, double *fast, double *slow);

/* Two constant segments by least absolute deviations. When nothing can be split (n < 2, or all equal): split -1, gain
 * 0, left = right = the median. */
struct xr_fit2 {
	long split;        /* last index of the left segment, or -1 */
	double left, right; /* medians */
	double gain;       /* 1 - cost(two) / cost(one), 0..1 */
	double noise;      /* mean absolute residual */
};
struct xr_fit2 xr_two_segments(const double *y, size_t n);

/* An answer that need not be there. */
enum xr_verdict { XR_UNDECIDED, XR_NO, XR_YES };

/* Most frequent value; *share: how often, 0..1. Ties: the smallest. NaN is one value: "no answer". */
double xr_mode(const double *x, size_t n, double *share);
/* Mode of a continuous sample: median of the members of the fullest window two bins of the given width wide. */
double xr_mode_binned(const double *x, size_t n, double width, double *share);

/* The nearest integer if |x - integer| <= tolerance, else x. */
double xr_snap_integer(double x, double tolerance);

#endif
