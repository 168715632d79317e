/* SPDX-License-Identifier: MIT */
/* Sets that overflow softly: the share of visits that miss, and the ways read back from curves of such sets. */
#include "method/soft.h"

#include "infer/array.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void nothing_misses_that_fits(void **state)
{
	(void)state;
	for (int goes = 0; goes < XR_N_GOES; goes++)
		for (size_t ways = 1; ways <= 24; ways++)
			assert_true(xr_soft_share((enum xr_goes)goes, ways, ways) == 0.0);
}

/* With one place too many, and any one going: the one that goes is met again after half a lap on average. */
static void one_too_many_misses_twice_a_lap(void **state)
{
	(void)state;
	for (size_t ways = 4; ways <= 64; ways *= 2) {
		double laps = xr_soft_share(XR_GOES_ANY, ways, ways + 1) * (double)(ways + 1);
		assert_true(fabs(laps - 2) < 0.35);
		assert_true(xr_soft_share(XR_GOES_OLDEST, ways, ways + 1) == 1.0);
	}
}

static void twice_too_many_do_not_all_miss_where_any_goes(void **state)
{
	(void)state;
	for (size_t ways = 4; ways <= 64; ways *= 2) {
		assert_true(fabs(xr_soft_share(XR_GOES_ANY, ways, 2 * ways) - 0.8) < 0.05);
		assert_true(xr_soft_share(XR_GOES_UNUSED, ways, 2 * ways) > 0.97);
	}
}

static void all_miss_where_a_tree_is_far_too_small(void **state)
{
	(void)state;
	for (size_t ways = 4; ways <= 72; ways += 4)
		assert_true(xr_soft_share(XR_GOES_TREE, ways, 4 * ways) == 1.0);
}

/* Laps over n places on the simulator's own array, which the fit knows nothing of. */
static double walk(enum xr_policy policy, size_t ways, size_t n, uint64_t seed)
{
	struct xr_rng rng = {seed};
	struct xr_array a;
	size_t missed = 0;
	enum { LAPS = 60 };

	xr_array_init(&a, 1, ways, (int)policy, &rng);
	for (size_t i = 0; i < (32 + LAPS) * n; i++) {
		uint64_t place = i < 32 * n ? xr_rng_below(&rng, n) : i % n, *line = xr_array_find(&a, 0, place);
		struct xr_victim victim;

		if (line) {
			xr_array_use(&a, 0, line);
			continue;
		}
		xr_array_put(&a, 0, place, &victim);
		missed += i >= 32 * n;
	}
	xr_array_release(&a);
	return (double)missed / (double)(LAPS * n);
}

static void trees_are_as_on_the_simulator(void **state)
{
	(void)state;
	for (size_t ways = 8; ways <= 72; ways += 8)
		for (size_t n = ways + 2; n < 3 * ways; n += 1 + ways / 4)
			assert_true(fabs(xr_soft_share(XR_GOES_TREE, ways, n) - walk(XR_PLRU, ways, n, n)) < 0.12);
}

static void ways_are_read_back_from_a_noisy_curve(void **state)
{
	(void)state;
	struct xr_rng rng = {7};
	for (size_t ways = 8; ways <= 64; ways *= 2)
		for (int turn = 0; turn < 5; turn++) {
			size_t n[14], found = ways + ways / 8;
			double cost[14];

			for (size_t i = 0; i < 14; i++) {
				double at = i < 12 ? 0.65 + 0.7 * (double)i / 11 : i == 12 ? 1.75 : 2;

				n[i] = (size_t)lround(at * (double)found);
				cost[i] = 20 * walk(XR_RANDOM, ways, n[i], xr_rng_next(&rng)) +
				          0.1 * (xr_rng_unit(&rng) - 0.5);
			}
			struct xr_soft_fit fit = xr_soft_fit(n, cost, 14, found / 2, found + 1);
			assert_int_equal(fit.goes, XR_GOES_ANY);
			assert_true(fabs((double)fit.ways - (double)ways) <= 1);
			assert_true(fabs(fit.miss - 20) < 1);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_misses_that_fits),
		cmocka_unit_test(one_too_many_misses_twice_a_lap),
		cmocka_unit_test(twice_too_many_do_not_all_miss_where_any_goes),
		cmocka_unit_test(all_miss_where_a_tree_is_far_too_small),
		cmocka_unit_test(trees_are_as_on_the_simulator),
		cmocka_unit_test(ways_are_read_back_from_a_noisy_curve),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
