/* SPDX-License-Identifier: MIT */
/* Statistics never crash, hang or give an index out of range, whatever the numbers. */
#include "../lib/stat_properties.h"
#include "util/rng.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static double any_bits(struct xr_rng *rng)
{
	union {
		uint64_t bits;
		double number;
	} any = {xr_rng_next(rng)};
	return any.number;
}

static double odd(struct xr_rng *rng)
{
	static const double number[] = {0,         -0.0,    1,        -1,      NAN,       -NAN,   INFINITY,
	                                -INFINITY, DBL_MAX, -DBL_MAX, DBL_MIN, 0x1p-1074, 1e-300, 2};
	return number[xr_rng_below(rng, sizeof number / sizeof *number)];
}

static double few_values(struct xr_rng *rng)
{
	return (double)xr_rng_below(rng, 4);
}

static double signed_values(struct xr_rng *rng)
{
	return 20 * xr_rng_unit(rng) - 10;
}

static double times(struct xr_rng *rng)
{
	static const double level[] = {4, 14, 60, 300};
	double y = level[xr_rng_below(rng, 4)] * (1 + 0.01 * xr_rng_unit(rng));
	return xr_rng_below(rng, 5) ? y : y * (1 + 30 * xr_rng_unit(rng));
}

static double mostly_times(struct xr_rng *rng)
{
	return xr_rng_below(rng, 10) ? times(rng) : odd(rng);
}

static void check_kind(double (*draw)(struct xr_rng *), int trials)
{
	const char *deep = getenv("XR_DEEP");
	if (deep && atoi(deep) > trials)
		trials = atoi(deep);
	for (int trial = 0; trial < trials; trial++) {
		struct xr_rng rng = {(uint64_t)trial};
		/* the smallest sizes hold most of the surprises */
		size_t n = (size_t)xr_rng_below(&rng, trial % 20 ? 20 : 150);
		double parameter = xr_rng_below(&rng, 2) ? 3 * xr_rng_unit(&rng) : odd(&rng);
		double *x = malloc(n ? n * sizeof *x : 1); /* exact, so that sanitizers see an overrun */
		assert_non_null(x);
		for (size_t i = 0; i < n; i++)
			x[i] = draw(&rng);
		const char *violated = xr_stat_violation(x, n, parameter);
		free(x);
		if (violated)
			fail_msg("trial %d, %zu numbers, parameter %g: %s", trial, n, parameter, violated);
	}
}

static void any_bits_do_no_harm(void **state)
{
	(void)state;
	check_kind(any_bits, 500);
}

static void odd_numbers_do_no_harm(void **state)
{
	(void)state;
	check_kind(odd, 500);
}

static void ties_keep_all_promises(void **state)
{
	(void)state;
	check_kind(few_values, 500);
}

static void negative_numbers_keep_all_promises(void **state)
{
	(void)state;
	check_kind(signed_values, 500);
}

static void times_keep_all_promises(void **state)
{
	(void)state;
	check_kind(times, 500);
}

static void odd_numbers_among_times_do_no_harm(void **state)
{
	(void)state;
	check_kind(mostly_times, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bits_do_no_harm),     cmocka_unit_test(odd_numbers_do_no_harm),
		cmocka_unit_test(ties_keep_all_promises),  cmocka_unit_test(negative_numbers_keep_all_promises),
		cmocka_unit_test(times_keep_all_promises), cmocka_unit_test(odd_numbers_among_times_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
