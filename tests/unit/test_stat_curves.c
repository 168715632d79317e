/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double wobble(struct xr_rng *rng, double share)
{
	return 1 + share * (2 * xr_rng_unit(rng) - 1);
}

static void monotone_pools_violators_into_their_mean(void **state)
{
	(void)state;
	const double y[] = {1, 3, 2, 4, 3.5, 3, 7}, want[] = {1, 2.5, 2.5, 3.5, 3.5, 3.5, 7};
	double out[7];
	xr_monotone(y, 7, out);
	for (size_t i = 0; i < 7; i++)
		assert_true(fabs(out[i] - want[i]) < 1e-12);
}

static void monotone_l1_pools_violators_into_their_median(void **state)
{
	(void)state;
	const double y[] = {1, 9, 2, 2, 2, 5}, want[] = {1, 2, 2, 2, 2, 5};
	double out[6];
	xr_monotone_l1(y, 6, out);
	for (size_t i = 0; i < 6; i++)
		assert_true(out[i] == want[i]);
}

static void running_min_believes_the_lowest(void **state)
{
	(void)state;
	const double y[] = {5, 4, 6, 1, 7}, want[] = {1, 1, 1, 1, 7};
	double out[5];
	xr_running_min(y, 5, out);
	for (size_t i = 0; i < 5; i++)
		assert_true(out[i] == want[i]);
}

static void monotone_curves_stay_as_they_are_and_may_be_made_in_place(void **state)
{
	(void)state;
	void (*const make[])(const double *, size_t, double *) = {xr_monotone, xr_monotone_l1, xr_running_min};
	for (size_t f = 0; f < COUNT(make); f++) {
		double y[150];
		for (size_t i = 0; i < COUNT(y); i++)
			y[i] = 0.1 * (double)(i / 3);
		make[f](y, COUNT(y), y);
		for (size_t i = 0; i < COUNT(y); i++)
			assert_true(y[i] == 0.1 * (double)(i / 3));
		for (size_t i = 0; i < COUNT(y); i++)
			y[i] = -0.1 * (double)i;
		make[f](y, COUNT(y), y);
		for (size_t i = 1; i < COUNT(y); i++)
			assert_true(y[i] == y[0]);
		make[f](y, 0, y);
	}
}

static void steps_are_found_where_they_are(void **state)
{
	(void)state;
	const double y[] = {1, 1.01, 1.3, 1.3, 2, 2.9};
	assert_int_equal(xr_first_step(y, 6, 1.1), 1);
	assert_int_equal(xr_biggest_step(y, 6, 1.1), 3);
	assert_int_equal(xr_biggest_scaled_step(y, 6, 0), 4);
	assert_int_equal(xr_first_step(y, 6, 2), -1);
	assert_int_equal(xr_biggest_step(y, 6, 2), -1);
	assert_int_equal(xr_biggest_scaled_step(y, 6, 100), -1);
	assert_int_equal(xr_first_step(y, 1, 1.1), -1);
	assert_int_equal(xr_biggest_step(y, 0, 1.1), -1);
	const double zero[] = {0, 0, 1, 2};
	assert_int_equal(xr_first_step(zero, 4, 1.1), 1);
	assert_int_equal(xr_biggest_step(zero, 4, 1.1), 1);
}

static void two_segments_find_the_split_the_medians_and_the_gain(void **state)
{
	(void)state;
	const double y[] = {1, 1.2, 0.8, 1, 9, 3, 3, 3.2, 2.8};
	struct xr_fit2 fit = xr_two_segments(y, COUNT(y));
	assert_int_equal(fit.split, 3);
	assert_true(fit.left == 1 && fit.right == 3);
	/* cost of two: 0.4 + 6.4; of one (median 2.8): 1.8 + 1.6 + 2 + 1.8 + 6.2 + .2 + .2 + .4 */
	assert_true(fabs(fit.gain - (1 - 6.8 / 14.2)) < 1e-9);
	assert_true(fabs(fit.noise - 6.8 / 9) < 1e-9);
}

static void two_segments_of_nothing_have_no_split(void **state)
{
	(void)state;
	const double flat[] = {0.1, 0.1, 0.1, 0.1, 0.1};
	for (size_t n = 0; n <= COUNT(flat); n++) {
		struct xr_fit2 fit = xr_two_segments(flat, n);
		assert_int_equal(fit.split, -1);
		assert_true(fit.gain == 0 && fit.noise == 0);
		assert_true(n == 0 ? isnan(fit.left) : fit.left == 0.1 && fit.right == 0.1);
	}
	const double pair[] = {1, 2};
	assert_int_equal(xr_two_segments(pair, 2).split, 0);
	assert_true(xr_two_segments(pair, 2).gain == 1);
}

static void single_step_wants_a_rise_of_that_ratio(void **state)
{
	(void)state;
	const double up[] = {4, 4, 4, 5, 5, 5, 5}, down[] = {5, 5, 5, 4, 4, 4, 4};
	struct xr_fit2 fit;
	assert_int_equal(xr_single_step(up, 7, 1.2, &fit), 2);
	assert_true(fabs(exp(fit.left) - 4) < 1e-9 && fabs(exp(fit.right) - 5) < 1e-9);
	assert_int_equal(xr_single_step(up, 7, 1.3, NULL), -1);
	assert_int_equal(xr_single_step(down, 7, 1.2, NULL), -1);
	assert_int_equal(xr_single_step(up, 0, 1.2, NULL), -1);
}

/* Flat, then linear, as misses in flight are; one in `off` points far too high. Counts what is right of 100. */
static int bends_found(uint64_t off)
{
	int right = 0;
	for (int trial = 0; trial < 100; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		enum { N = 30 };
		long bend = 6 + (long)xr_rng_below(&rng, N - 12);
		double x[N], y[N];
		for (long i = 0; i < N; i++) {
			x[i] = (double)(i + 1);
			y[i] = 390 * wobble(&rng, 0.002) + (i > bend ? 30 * (double)(i - bend) : 0);
			if (xr_rng_below(&rng, off) == 0)
				y[i] *= 1.5;
		}
		struct xr_fit2_lines fit = xr_two_lines(x, y, N);
		right += labs(fit.split - bend) <= 1 && fabs(fit.left_b) < 3 && fabs(fit.right_b - 30) < 5;
	}
	return right;
}

static void two_lines_find_the_bend(void **state)
{
	(void)state;
	assert_int_equal(bends_found(UINT64_C(1) << 60), 100);
	/* A few outliers together on a short side have a line of their own. */
	assert_true(bends_found(10) >= 90);
}

static void two_lines_of_one_line_have_no_split(void **state)
{
	(void)state;
	double x[10], y[10];
	for (size_t i = 0; i < 10; i++) {
		x[i] = (double)i;
		y[i] = 3 + 0.1 * (double)i;
	}
	for (size_t n = 0; n <= 10; n++) {
		struct xr_fit2_lines fit = xr_two_lines(x, y, n);
		assert_int_equal(fit.split, -1);
		assert_true(fit.gain == 0);
		if (n > 1)
			assert_true(fabs(fit.left_a - 3) < 1e-9 && fabs(fit.right_b - 0.1) < 1e-9);
	}
	const double same[] = {1, 1, 1, 1, 1, 1};
	assert_true(isfinite(xr_two_lines(same, y, 6).left_a));
}

static const struct {
	size_t end;
	double level;
} hierarchy[] = {{23, 5}, {55, 14}, {79, 60}, {119, 330}};

static double hierarchy_at(size_t i)
{
	size_t k = 0;
	while (i > hierarchy[k].end)
		k++;
	return hierarchy[k].level;
}

static void check_hierarchy(const size_t *ends, const double *levels, size_t count)
{
	assert_int_equal(count, COUNT(hierarchy));
	for (size_t k = 0; k < count; k++) {
		assert_int_equal(ends[k], hierarchy[k].end);
		assert_true(fabs(levels[k] / hierarchy[k].level - 1) < 0.02);
	}
}

static void segments_are_the_levels_of_a_hierarchy(void **state)
{
	(void)state;
	for (int trial = 0; trial < 50; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		double y[120], levels[6];
		size_t ends[6];
		for (size_t i = 0; i < COUNT(y); i++)
			y[i] = hierarchy_at(i) * (trial ? wobble(&rng, 0.02) : 1); /* the first without noise */
		check_hierarchy(ends, levels, xr_segments_log(y, COUNT(y), 0, 0.12, 6, ends, levels));
		check_hierarchy(ends, levels, xr_segments(y, COUNT(y), trial ? 20 : 0, 0.12, 6, ends, levels));
	}
}

static void segments_of_noise_are_one(void **state)
{
	(void)state;
	int more = 0;
	for (int trial = 0; trial < 200; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		double y[60];
		for (size_t i = 0; i < COUNT(y); i++)
			y[i] = 10 * wobble(&rng, 0.3);
		more += xr_segments(y, COUNT(y), 0, 0, 6, NULL, NULL) != 1;
	}
	assert_true(more <= 4);
}

static void segments_merge_the_nearest_first_and_never_pass_max(void **state)
{
	(void)state;
	const double y[] = {10, 10, 10, 11, 11, 11, 12, 12, 12, 12, 30, 30, 30, 30};
	double levels[4];
	size_t ends[4];
	assert_int_equal(xr_segments(y, 14, 0.1, 0, 4, ends, levels), 4);
	assert_int_equal(ends[1], 5);
	/* 11 and 12 are nearest; their median of 12 is too far from 10 for 12 % */
	assert_int_equal(xr_segments(y, 14, 0.1, 0.12, 4, ends, levels), 3);
	assert_int_equal(ends[0], 2);
	assert_int_equal(ends[1], 9);
	assert_true(levels[1] == 12);
	assert_int_equal(xr_segments(y, 14, 0.1, 0, 2, ends, levels), 2);
	assert_int_equal(ends[0], 9);
	assert_int_equal(xr_segments(y, 14, 0.1, 0, 0, ends, levels), 0);
	assert_int_equal(xr_segments(y, 0, 0.1, 0, 4, ends, levels), 0);
	assert_int_equal(xr_segments(y, 1, 0, 0, 4, ends, levels), 1);
	assert_int_equal(ends[0], 0);
	assert_int_equal(xr_segments(y, 2, 0, 0, 4, ends, levels), 1);
}

/* All ways to cut, against the dynamic programme. */
static double cheapest(const double *y, size_t n, double penalty, size_t max)
{
	double best = HUGE_VAL;
	for (unsigned cuts = 0; cuts < 1U << (n - 1); cuts++) {
		double cost = 0;
		size_t from = 0, count = 0;
		for (size_t i = 0; i < n; i++) {
			if (i + 1 < n && !(cuts >> i & 1))
				continue;
			double middle = xr_median(y + from, i + 1 - from);
			for (size_t k = from; k <= i; k++)
				cost += fabs(y[k] - middle);
			from = i + 1;
			count++;
		}
		if (count <= max)
			best = fmin(best, cost + penalty * (double)(count - 1));
	}
	return best;
}

static void segments_are_optimal(void **state)
{
	(void)state;
	struct xr_rng rng = {3};
	for (int trial = 0; trial < 200; trial++) {
		enum { N = 9 };
		double y[N], penalty = 0.1 + 3 * xr_rng_unit(&rng), cost = 0;
		size_t ends[N], max = 1 + (size_t)xr_rng_below(&rng, N);
		for (size_t i = 0; i < N; i++)
			y[i] = (double)xr_rng_below(&rng, 8);
		size_t count = xr_segments(y, N, penalty, 0, max, ends, NULL);
		for (size_t k = 0, from = 0; k < count; from = ends[k++] + 1) {
			double middle = xr_median(y + from, ends[k] + 1 - from);
			for (size_t i = from; i <= ends[k]; i++)
				cost += fabs(y[i] - middle);
		}
		cost += penalty * (double)(count - 1);
		assert_true(count <= max && ends[count - 1] == N - 1);
		assert_true(fabs(cost - cheapest(y, N, penalty, max)) < 1e-9);
	}
}

/* A loose bound for a slow and busy machine with sanitizers; a few ms are usual, and thousands of calls depend on
 * it. */
static void segments_of_200_points_take_milliseconds(void **state)
{
	(void)state;
	struct xr_rng rng = {4};
	double y[200];
	for (size_t i = 0; i < COUNT(y); i++)
		y[i] = hierarchy_at(i % 120) * wobble(&rng, 0.05);
	clock_t start = clock();
	for (int k = 0; k < 10; k++)
		xr_segments(y, COUNT(y), 0, 0.12, 8, NULL, NULL);
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotone_pools_violators_into_their_mean),
		cmocka_unit_test(monotone_l1_pools_violators_into_their_median),
		cmocka_unit_test(running_min_believes_the_lowest),
		cmocka_unit_test(monotone_curves_stay_as_they_are_and_may_be_made_in_place),
		cmocka_unit_test(steps_are_found_where_they_are),
		cmocka_unit_test(two_segments_find_the_split_the_medians_and_the_gain),
		cmocka_unit_test(two_segments_of_nothing_have_no_split),
		cmocka_unit_test(single_step_wants_a_rise_of_that_ratio),
		cmocka_unit_test(two_lines_find_the_bend),
		cmocka_unit_test(two_lines_of_one_line_have_no_split),
		cmocka_unit_test(segments_are_the_levels_of_a_hierarchy),
		cmocka_unit_test(segments_of_noise_are_one),
		cmocka_unit_test(segments_merge_the_nearest_first_and_never_pass_max),
		cmocka_unit_test(segments_are_optimal),
		cmocka_unit_test(segments_of_200_points_take_milliseconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
