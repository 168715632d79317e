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

static void snapping_goes_only_as_far_as_allowed(void **state)
{
	(void)state;
	assert_true(xr_snap_integer(4.02, 0.05) == 4);
	assert_true(xr_snap_integer(4.2, 0.05) == 4.2);
	assert_true(isnan(xr_snap_integer(NAN, 0.05)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mode_is_the_most_frequent_and_of_equals_the_smallest),
		cmocka_unit_test(binned_mode_does_not_depend_on_where_bins_begin),
		cmocka_unit_test(snapping_goes_only_as_far_as_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
