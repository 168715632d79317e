/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static double normal(struct xr_rng *rng)
{
	double sum = -6;
	for (int i = 0; i < 12; i++)
		sum += xr_rng_unit(rng);
	return sum;
}

static void empty_samples_have_no_statistic(void **state)
{
	(void)state;
	assert_true(isnan(xr_quantile(NULL, 0, 0.5)));
	assert_true(isnan(xr_kth_lowest(NULL, 0, 0)));
	assert_true(isnan(xr_lower(NULL, 0)));
	assert_true(isnan(xr_median(NULL, 0)));
	assert_true(isnan(xr_mean(NULL, 0)));
	assert_true(isnan(xr_min(NULL, 0)));
	assert_true(isnan(xr_max(NULL, 0)));
	assert_true(isnan(xr_mad(NULL, 0)));
	assert_true(isnan(xr_spread(NULL, 0)));
	assert_false(xr_bimodal(NULL, 0, 0.25, NULL, NULL));
}

static void one_sample_is_its_own_statistic(void **state)
{
	(void)state;
	const double x[] = {7};
	assert_true(xr_quantile(x, 1, 0.9) == 7);
	assert_true(xr_kth_lowest(x, 1, 5) == 7);
	assert_true(xr_lower(x, 1) == 7);
	assert_true(xr_median(x, 1) == 7);
	assert_true(xr_mean(x, 1) == 7);
	assert_true(xr_min(x, 1) == 7);
	assert_true(xr_max(x, 1) == 7);
	assert_true(xr_mad(x, 1) == 0);
	assert_true(xr_spread(x, 1) == 0);
}

static void quantiles_interpolate_and_leave_the_input_alone(void **state)
{
	(void)state;
	double x[] = {4, 1, 3, 2};
	assert_true(xr_quantile(x, 4, 0) == 1);
	assert_true(xr_quantile(x, 4, 1) == 4);
	assert_true(fabs(xr_quantile(x, 4, 0.5) - 2.5) < 1e-12);
	assert_true(fabs(xr_quantile(x, 4, 0.25) - 1.75) < 1e-12);
	assert_true(xr_quantile(x, 4, -3) == 1 && xr_quantile(x, 4, 3) == 4);
	assert_true(xr_median(x, 4) == 2.5);
	assert_true(x[0] == 4 && x[1] == 1 && x[2] == 3 && x[3] == 2);
}

static void lower_is_the_third_of_nine_and_the_same_share_of_others(void **state)
{
	(void)state;
	static const size_t n[] = {1, 2, 3, 5, 6, 7, 9, 45}, k[] = {0, 0, 1, 1, 1, 2, 2, 11};
	double x[45];
	for (size_t i = 0; i < COUNT(x); i++)
		x[i] = (double)(i * 17 % 45);
	for (size_t i = 0; i < COUNT(n); i++)
		assert_true(xr_lower(x, n[i]) == xr_kth_lowest(x, n[i], k[i]));
	assert_true(xr_lower(x, 45) == 11);
}

static void sorting_works_at_every_size(void **state)
{
	(void)state;
	struct xr_rng rng = {1};
	double *x = malloc(5000 * sizeof *x);
	for (size_t n = 1; n <= 5000; n += n < 200 ? 1 : 977) {
		for (size_t i = 0; i < n; i++)
			x[i] = (double)(i * 7919 % n);
		for (size_t i = n; i > 1; i--) { /* shuffle; what n shares with 7919 is 1 for all but n = 7919 */
			size_t j = (size_t)xr_rng_below(&rng, i);
			double t = x[i - 1];
			x[i - 1] = x[j];
			x[j] = t;
		}
		for (size_t k = 0; k < n; k += n < 200 ? 1 : 173)
			assert_true(xr_kth_lowest(x, n, k) == (double)k);
	}
	free(x);
}

static void nan_counts_as_slowest(void **state)
{
	(void)state;
	const double x[] = {NAN, 3, -NAN, 1, 2};
	assert_true(xr_kth_lowest(x, 5, 0) == 1 && xr_kth_lowest(x, 5, 2) == 3);
	assert_true(isnan(xr_kth_lowest(x, 5, 3)));
	assert_true(xr_median(x, 5) == 3 && xr_min(x, 5) == 1 && xr_max(x, 5) == 3);
}

static void mad_estimates_sigma_and_shrugs_off_outliers(void **state)
{
	(void)state;
	struct xr_rng rng = {2};
	double x[2000];
	for (size_t i = 0; i < COUNT(x); i++)
		x[i] = i % 10 ? 100 + 3 * normal(&rng) : 1e6;
	assert_true(fabs(xr_mad(x, COUNT(x)) - 3) < 0.7);
}

static void densest_ignores_strays_on_both_sides(void **state)
{
	(void)state;
	const double x[] = {12, 9.4, 12, 10.4, 11.5, 12, 10.4, 12, 30}, two[] = {3, 1};
	double range;
	assert_true(xr_densest(x, 9, &range) == 12 && range <= 0.5);
	assert_true(xr_densest(two, 2, NULL) == 2 && xr_densest(two, 1, &range) == 3 && range == 0);
	assert_true(isnan(xr_densest(NULL, 0, &range)) && isnan(range));
}

static void spread_is_small_for_tight_samples_and_infinite_at_zero(void **state)
{
	(void)state;
	const double tight[] = {100, 100.1, 100.2, 100.1, 100.3, 100, 100.2, 500, 900};
	const double zero[] = {0, 0, 0, 0, 1, 1, 1, 1};
	assert_true(xr_spread(tight, 9) < 0.01);
	assert_true(isinf(xr_spread(zero, 8)));
}

static void bimodal_tells_two_peaks_from_wide_ones_and_from_tails(void **state)
{
	(void)state;
	enum { N = 60 };
	int two = 0, even = 0, bell = 0, tail = 0, stray = 0;
	for (int trial = 0; trial < 500; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		double x[N], fast, slow;
		for (size_t i = 0; i < N; i++)
			x[i] = (i % 3 ? 10 : 16) * (1 + 0.02 * normal(&rng));
		two += xr_bimodal(x, N, 0.25, &fast, &slow) && fabs(fast - 10) < 0.3 && fabs(slow - 16) < 0.5;
		for (size_t i = 0; i < N; i++)
			x[i] = 10 + 10 * xr_rng_unit(&rng);
		even += xr_bimodal(x, N, 0.25, &fast, &slow);
		for (size_t i = 0; i < N; i++)
			x[i] = 10 + 2 * normal(&rng);
		bell += xr_bimodal(x, N, 0.25, &fast, &slow);
		for (size_t i = 0; i < N; i++)
			x[i] = 10 * (1 + 0.004 * normal(&rng)) * (i % 5 ? 1 : 1 + 2 * xr_rng_unit(&rng));
		tail += xr_bimodal(x, N, 0.25, &fast, &slow);
		for (size_t i = 0; i < N; i++) /* two peaks, and a twelfth of the samples anywhere above */
			x[i] = i % 12 ? (i % 2 ? 10 : 16) * (1 + 0.01 * normal(&rng)) : 10 + 60 * xr_rng_unit(&rng);
		stray += xr_bimodal(x, N, 0.25, &fast, &slow) && fabs(fast - 10) < 0.3 && fabs(slow - 16) < 1;
	}
	print_message("bimodal of 500: two peaks %d, with strays %d; even %d, bell %d, one peak with a tail %d\n", two,
	              stray, even, bell, tail);
	assert_true(two >= 498 && stray >= 480);
	assert_true(even <= 15 && bell <= 5 && tail <= 50);
}

static void bimodal_needs_the_gap_and_enough_of_both(void **state)
{
	(void)state;
	const double near[] = {10, 10, 10, 10, 11, 11, 11, 11}, few[] = {10, 10, 10, 10, 10, 10, 20, 20};
	const double good[] = {10, 20, 10, 20, 10, 20, 10, 20};
	double fast, slow;
	assert_false(xr_bimodal(near, 8, 0.25, &fast, &slow));
	assert_true(fast == 10.5 && slow == 10.5);
	assert_false(xr_bimodal(few, 8, 0.25, &fast, &slow));
	assert_true(xr_bimodal(good, 8, 0.25, &fast, &slow) && fast == 10 && slow == 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_samples_have_no_statistic),
		cmocka_unit_test(one_sample_is_its_own_statistic),
		cmocka_unit_test(quantiles_interpolate_and_leave_the_input_alone),
		cmocka_unit_test(lower_is_the_third_of_nine_and_the_same_share_of_others),
		cmocka_unit_test(sorting_works_at_every_size),
		cmocka_unit_test(nan_counts_as_slowest),
		cmocka_unit_test(mad_estimates_sigma_and_shrugs_off_outliers),
		cmocka_unit_test(densest_ignores_strays_on_both_sides),
		cmocka_unit_test(spread_is_small_for_tight_samples_and_infinite_at_zero),
		cmocka_unit_test(bimodal_tells_two_peaks_from_wide_ones_and_from_tails),
		cmocka_unit_test(bimodal_needs_the_gap_and_enough_of_both),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
