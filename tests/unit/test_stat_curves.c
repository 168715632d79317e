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

enum { POINTS = 40, TRIALS = 400 };

/* Every fifth sample is slowed by something else on the machine, every hundredth reads too fast (a clock step, a
 * correction that took off too much). */
static double noisy(struct xr_rng *rng, double level)
{
	double y = level * (1 + 0.004 * (2 * xr_rng_unit(rng) - 1)), luck = xr_rng_unit(rng);
	if (luck < 0.2)
		return y * (1 + 2 * xr_rng_unit(rng));
	return luck < 0.21 ? y * (1 - 0.4 * xr_rng_unit(rng)) : y;
}

/* Of curves with one step, each point the k-th lowest of m samples: per cent whose step is found where it is. */
static double found(size_t m, size_t k)
{
	int right = 0;
	for (int trial = 0; trial < TRIALS; trial++) {
		struct xr_rng rng = {(uint64_t)trial * 7919 + 1};
		long step = 4 + (long)xr_rng_below(&rng, POINTS - 8);
		double y[POINTS], sample[16];
		for (long i = 0; i < POINTS; i++) {
			for (size_t j = 0; j < m; j++)
				sample[j] = noisy(&rng, i <= step ? 10 : 11.5);
			y[i] = log(xr_kth_lowest(sample, m, k - 1));
		}
		right += xr_two_segments(y, POINTS).split == step;
	}
	return 100.0 * right / TRIALS;
}

/* Why xr_lower() is what it is; the numbers are in docs/statistics.md. */
static void third_of_nine_finds_every_step(void **state)
{
	(void)state;
	assert_true(found(9, 3) >= 99);
	assert_true(found(7, 1) <= 97); /* the minimum believes what reads too fast */
	assert_true(found(7, 4) <= 97); /* the median wastes samples */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_segments_find_the_split_the_medians_and_the_gain),
		cmocka_unit_test(two_segments_of_nothing_have_no_split),
		cmocka_unit_test(third_of_nine_finds_every_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
