/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void clusters_are_labelled_by_rising_centre(void **state)
{
	(void)state;
	const double x[] = {330, 5, 14, 5.2, 310, 13, 5.1, 14.5};
	const int want[] = {2, 0, 1, 0, 2, 1, 0, 1};
	int label[8];
	assert_int_equal(xr_cluster(x, 8, 0.25, label), 3);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(label[i], want[i]);
	assert_int_equal(xr_cluster(x, 0, 0.25, label), 0);
	assert_int_equal(xr_cluster(x, 1, 0.25, label), 1);
	assert_int_equal(label[0], 0);
	assert_int_equal(xr_cluster(x, 8, 0.25, NULL), 3);
}

static void clusters_take_the_biggest_first(void **state)
{
	(void)state;
	/* 10..12 would do as a cluster, but 12..14.5 has more points. */
	const double x[] = {10, 11, 12, 13, 13.5, 14, 14.5};
	const int want[] = {0, 0, 1, 1, 1, 1, 1};
	int label[7];
	assert_int_equal(xr_cluster(x, 7, 0.25, label), 2);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(label[i], want[i]);
	const double equal[] = {0, 0, 0, 1, 1};
	assert_int_equal(xr_cluster(equal, 5, 0, label), 2);
}

static void votes_decide_at_four_to_nothing(void **state)
{
	(void)state;
	struct xr_vote vote;
	xr_vote_init(&vote);
	for (int i = 0; i < 3; i++)
		assert_int_equal(xr_vote_cast(&vote, true), XR_UNDECIDED);
	assert_int_equal(xr_vote_cast(&vote, true), XR_YES);
	assert_int_equal(vote.yes, 4);
	xr_vote_init(&vote);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(xr_vote_cast(&vote, true), XR_UNDECIDED);
		assert_int_equal(xr_vote_cast(&vote, false), XR_UNDECIDED);
	}
	for (int i = 0; i < 3; i++)
		assert_int_equal(xr_vote_cast(&vote, false), XR_UNDECIDED);
	assert_int_equal(xr_vote_cast(&vote, false), XR_NO);
}

static void votes_err_as_seldom_as_promised(void **state)
{
	(void)state;
	struct xr_rng rng = {5};
	int wrong = 0, asked = 0;
	for (int trial = 0; trial < 4000; trial++) {
		struct xr_vote vote;
		enum xr_verdict verdict;
		bool truth = trial % 2;
		xr_vote_init(&vote);
		do
			verdict = xr_vote_cast(&vote, (xr_rng_unit(&rng) < 0.8) == truth);
		while (verdict == XR_UNDECIDED);
		wrong += verdict != (truth ? XR_YES : XR_NO);
		asked += vote.yes + vote.no;
	}
	assert_true(wrong <= 60);
	assert_true(asked < 9 * 4000);
}

static void mode_is_the_most_frequent_and_of_equals_the_smallest(void **state)
{
	(void)state;
	const double x[] = {12, 8, 12, 8, 7};
	double share;
	assert_true(xr_mode(x, 5, &share) == 8 && share == 0.4);
	assert_true(xr_mode(x, 3, &share) == 12 && fabs(share - 2.0 / 3) < 1e-12);
	assert_true(isnan(xr_mode(x, 0, &share)) && share == 0);
	assert_true(xr_mode(x, 1, NULL) == 12);
	const double silent[] = {NAN, 3, NAN};
	assert_true(isnan(xr_mode(silent, 3, &share)) && fabs(share - 2.0 / 3) < 1e-12);
	const double half[] = {NAN, 3, NAN, 3};
	assert_true(xr_mode(half, 4, &share) == 3 && share == 0.5);
}

static void binned_mode_does_not_depend_on_where_bins_begin(void **state)
{
	(void)state;
	for (int shift = 0; shift < 20; shift++) {
		struct xr_rng rng = {(uint64_t)shift};
		double x[100], slot = 4 + 0.01 * shift, share;
		for (size_t i = 0; i < COUNT(x); i++)
			x[i] = i % 3 == 0 ? 20 * xr_rng_unit(&rng) : slot + 0.05 * (xr_rng_unit(&rng) - 0.5);
		assert_true(fabs(xr_mode_binned(x, COUNT(x), 0.05, &share) - slot) < 0.02);
		assert_true(share > 0.6 && share < 0.75);
	}
	double share;
	const double x[] = {1, 2, 2, 3};
	assert_true(xr_mode_binned(x, 4, 0, &share) == 2 && share == 0.5);
	assert_true(isnan(xr_mode_binned(x, 0, 1, &share)) && share == 0);
}

static void ks_tells_samples_apart_when_they_are(void **state)
{
	(void)state;
	int alike = 0, differ = 0;
	for (int trial = 0; trial < 400; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		double a[40], b[30], c[30], p;
		for (size_t i = 0; i < COUNT(a); i++)
			a[i] = xr_rng_unit(&rng);
		for (size_t i = 0; i < COUNT(b); i++) {
			b[i] = xr_rng_unit(&rng);
			c[i] = 0.6 + xr_rng_unit(&rng);
		}
		xr_ks(a, COUNT(a), b, COUNT(b), &p);
		alike += p < 0.05;
		double d = xr_ks(a, COUNT(a), c, COUNT(c), &p);
		assert_true(d == xr_ks(c, COUNT(c), a, COUNT(a), NULL));
		differ += p < 0.01;
	}
	assert_in_range(alike, 4, 36); /* 5 % of 400, the formula being a little careful */
	assert_true(differ >= 398);
}

static void ks_counts_ties_once_and_needs_two_samples(void **state)
{
	(void)state;
	const double a[] = {1, 1, 1, 2}, b[] = {1, 1, 1, 2, 1, 1, 1, 2}, c[] = {5, 6};
	double p;
	assert_true(xr_ks(a, 4, b, 8, &p) == 0 && p == 1);
	assert_true(xr_ks(a, 4, c, 2, &p) == 1);
	assert_true(xr_ks(a, 0, b, 8, &p) == 0 && p == 1);
	assert_true(xr_ks(a, 4, NULL, 0, &p) == 0 && p == 1);
	/* D = 0.5 of 50 and 50: the sum of the series, by hand */
	double x[50], y[50];
	for (size_t i = 0; i < 50; i++) {
		x[i] = (double)i;
		y[i] = (double)i + 24.5;
	}
	assert_true(fabs(xr_ks(x, 50, y, 50, &p) - 0.5) < 1e-12);
	double k = (5 + 0.12 + 0.022) * 0.5;
	assert_true(fabs(p - 2 * (exp(-2 * k * k) - exp(-8 * k * k))) < 1e-9);
}

static double step_of(const double *y, size_t n, void *self)
{
	(void)self;
	long step = xr_single_step(y, n, 1.08, NULL);
	return step < 0 ? NAN : (double)step;
}

static void bootstrap_is_sure_of_clear_steps_only(void **state)
{
	(void)state;
	enum { N = 20, M = 9 };
	struct xr_rng rng = {6};
	double clear[N][M], vague[N][M], value;
	const double *clear_row[N], *vague_row[N];
	for (size_t i = 0; i < N; i++) {
		for (size_t k = 0; k < M; k++) {
			clear[i][k] = (i <= 11 ? 10 : 12) * (1 + 0.01 * xr_rng_unit(&rng));
			vague[i][k] = 10 + 0.25 * (double)i + 4 * xr_rng_unit(&rng);
		}
		clear_row[i] = clear[i];
		vague_row[i] = vague[i];
	}
	assert_true(xr_bootstrap_share(clear_row, N, M, 500, 1, step_of, NULL, &value) > 0.99);
	assert_true(value == 11);
	double share = xr_bootstrap_share(vague_row, N, M, 500, 1, step_of, NULL, &value);
	assert_true(share < 0.9 || isnan(value));
	assert_true(share == xr_bootstrap_share(vague_row, N, M, 500, 1, step_of, NULL, NULL));
	assert_true(xr_bootstrap_share(clear_row, N, M, 0, 1, step_of, NULL, &value) == 0 && isnan(value));
	xr_bootstrap_share(NULL, 0, M, 10, 1, step_of, NULL, &value);
	assert_true(isnan(value));
}

static void bootstrap_interval_holds_the_truth_as_often_as_asked(void **state)
{
	(void)state;
	int inside = 0;
	for (int trial = 0; trial < 300; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		double x[60], lo, hi;
		for (size_t i = 0; i < COUNT(x); i++)
			x[i] = xr_rng_unit(&rng);
		xr_bootstrap_interval(x, COUNT(x), 300, (uint64_t)trial, xr_mean, 0.9, &lo, &hi);
		assert_true(lo <= hi);
		inside += lo <= 0.5 && 0.5 <= hi;
	}
	assert_in_range(inside, 250, 290);
	double lo, hi;
	xr_bootstrap_interval(NULL, 0, 300, 1, xr_mean, 0.9, &lo, &hi);
	assert_true(isnan(lo) && isnan(hi));
}

static void snapping_goes_only_as_far_as_allowed(void **state)
{
	(void)state;
	assert_true(xr_snap_pow2(1000, 1, 0.06) == 1024);
	assert_true(xr_snap_pow2(900, 1, 0.06) == 900);
	assert_true(xr_snap_pow2(1530, 12, 0.06) == 1536);
	assert_true(xr_snap_pow2(48, 12, 0) == 48);
	assert_true(xr_snap_pow2(11.5, 12, 0.06) == 12);
	assert_true(xr_snap_pow2(3, 12, 0.06) == 3);
	assert_true(xr_snap_pow2(0, 1, 0.06) == 0 && xr_snap_pow2(-5, 1, 0.06) == -5);
	assert_true(isinf(xr_snap_pow2(INFINITY, 1, 0.06)) && isnan(xr_snap_pow2(NAN, 1, 0.06)));
	assert_true(xr_snap_pow2(1e308, 1e-300, 1e-9) == 1e308);
	assert_true(xr_snap_integer(4.02, 0.05) == 4);
	assert_true(xr_snap_integer(4.2, 0.05) == 4.2);
	assert_true(isnan(xr_snap_integer(NAN, 0.05)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clusters_are_labelled_by_rising_centre),
		cmocka_unit_test(clusters_take_the_biggest_first),
		cmocka_unit_test(votes_decide_at_four_to_nothing),
		cmocka_unit_test(votes_err_as_seldom_as_promised),
		cmocka_unit_test(mode_is_the_most_frequent_and_of_equals_the_smallest),
		cmocka_unit_test(binned_mode_does_not_depend_on_where_bins_begin),
		cmocka_unit_test(ks_tells_samples_apart_when_they_are),
		cmocka_unit_test(ks_counts_ties_once_and_needs_two_samples),
		cmocka_unit_test(bootstrap_is_sure_of_clear_steps_only),
		cmocka_unit_test(bootstrap_interval_holds_the_truth_as_often_as_asked),
		cmocka_unit_test(snapping_goes_only_as_far_as_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
