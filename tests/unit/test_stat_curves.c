/* SPDX-License-Identifier: MIT */
#include "stat/stat.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_segments_find_the_split_the_medians_and_the_gain),
		cmocka_unit_test(two_segments_of_nothing_have_no_split),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
