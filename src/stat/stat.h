/* SPDX-License-Identifier: MIT */
/* Statistics: pure numbers in, numbers out. No allocation is left behind, no state, no randomness but the seed
 * given.
 *
 * Which serves where (see also docs/statistics.md):
 *   one point from samples      xr_lower() (3rd lowest of 9); xr_median() for two-sided things (votes, permutations)
 *   a monotone curve            xr_monotone() (pool adjacent violators); xr_running_min() is the papers', for comparison
 *   one step in a curve         xr_single_step() (registers, TLB ways, block size, saturation)
 *   many levels in a curve      xr_segments(), xr_segments_log() (change points with penalty)
 *   are two sample sets alike   xr_ks()
 *   a yes or no from noisy asks xr_vote_*
 *   a value from repetitions    xr_mode() with its share as confidence
 *   how sure is a statistic     xr_bootstrap_share()
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

/* Monotone curves (non-decreasing). out may be y itself. */
void xr_monotone(const double *y, size_t n, double *out);     /* PAVA, least squares */
void xr_monotone_l1(const double *y, size_t n, double *out);  /* PAVA, medians of blocks */
void xr_running_min(const double *y, size_t n, double *out);  /* papers: running minimum from the right */

/* Steps: index i such that the step lies between i and i + 1; -1 when there is none above the threshold. */
long xr_first_step(const double *y, size_t n, double ratio);   /* first y[i+1] / y[i] >= ratio */
long xr_biggest_step(const double *y, size_t n, double ratio); /* biggest y[i+1] / y[i], at least ratio */
long xr_biggest_scaled_step(const double *y, size_t n, double threshold); /* biggest (y[i+1]-y[i]) * y[i+1] (paper 001) */

/* Two constant segments by least absolute deviations. When nothing can be split (n < 2, or all equal): split -1, gain
 * 0, left = right = the median. */
struct xr_fit2 {
	long split;        /* last index of the left segment, or -1 */
	double left, right; /* medians */
	double gain;       /* 1 - cost(two) / cost(one), 0..1 */
	double noise;      /* mean absolute residual */
};
struct xr_fit2 xr_two_segments(const double *y, size_t n);
/* Where a curve of positive numbers steps up once: the split of two segments on log y, when right / left >= ratio and
 * the step is at least 5 times the noise (mean absolute residual); else -1. *fit (may be NULL) is in logarithms. */
long xr_single_step(const double *y, size_t n, double ratio, struct xr_fit2 *fit);
/* The same with lines: y = a + b x on each side, least absolute deviations approximated by iterated weights. At
 * least two points a side; n < 4 or all on one line: split -1, gain 0, that line on both sides. */
struct xr_fit2_lines {
	long split;
	double left_a, left_b, right_a, right_b, gain;
};
struct xr_fit2_lines xr_two_lines(const double *x, const double *y, size_t n);

/* Many constant segments: exact dynamic programming, L1 cost, `penalty` per change (<= 0: 3 ln(n) sigma, sigma from the
 * MAD of first differences; 0 without noise, then only max limits), neighbours closer than `merge` (relative to the
 * lower) merged. Writes the last index of each segment to ends[] and its median to levels[] (either may be NULL);
 * returns the number of segments, at most max. Time n^2 max, memory n max. */
size_t xr_segments(const double *y, size_t n, double penalty, double merge, size_t max, size_t *ends, double *levels);
/* The same with the fit, hence the penalty, on log y (y > 0): for curves whose noise grows with their level. */
size_t xr_segments_log(const double *y, size_t n, double penalty, double merge, size_t max, size_t *ends, double *levels);

/* Quality-threshold clustering in one dimension: max - min <= diameter x mean in each (paper 001: 0.25).
 * label[i] = 0.. in order of rising centre. Returns the number of clusters. */
size_t xr_cluster(const double *x, size_t n, double diameter, int *label);

/* Sequential vote (SPRT) between p0 (answer no) and p1 (answer yes) shares of yes votes. */
enum xr_verdict { XR_UNDECIDED, XR_NO, XR_YES };
struct xr_vote {
	double llr;
	int yes, no;
};
void xr_vote_init(struct xr_vote *vote);
enum xr_verdict xr_vote_cast(struct xr_vote *vote, bool yes); /* p0 = .2, p1 = .8, error 1 % each way */

/* Most frequent value; *share: how often, 0..1. Ties: the smallest. NaN is one value: "no answer". */
double xr_mode(const double *x, size_t n, double *share);
/* Mode of a continuous sample: median of the members of the fullest window two bins of the given width wide. */
double xr_mode_binned(const double *x, size_t n, double width, double *share);

/* Two-sample Kolmogorov-Smirnov: *p gets the asymptotic p-value (may be NULL); returns D. */
double xr_ks(const double *a, size_t na, const double *b, size_t nb, double *p);

/* Bootstrap: resample each point's samples (sample[i][0..m-1]), take xr_lower(), hand the curve to `decide`, `times`
 * times; *value gets the most frequent answer; returns its share. */
typedef double xr_decide_fn(const double *y, size_t n, void *self);
double xr_bootstrap_share(const double *const *sample, size_t n, size_t m, int times, uint64_t seed, xr_decide_fn *decide,
                          void *self, double *value);
/* Confidence interval of a statistic of one sample by bootstrap percentiles. */
void xr_bootstrap_interval(const double *x, size_t n, int times, uint64_t seed, double (*statistic)(const double *, size_t),
                           double level, double *lo, double *hi);

/* Snap to the nearest value of a * 2^k (a >= 1, k >= 0), or x itself when none is within `limit` (relative). */
double xr_snap_pow2(double x, double a, double limit);
/* The nearest integer if |x - integer| <= tolerance, else x. */
double xr_snap_integer(double x, double tolerance);

#endif
