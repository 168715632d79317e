/* SPDX-License-Identifier: MIT */
/* A period is found among random events and bursts, and none is found where there is none. */
#include "stat/period.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* One second: ticks every `period` ms (0: none), random events, bursts of five. */
static size_t make(double *event, double period, int random, int bursts, uint64_t seed)
{
	struct xr_rng rng = {seed};
	size_t n = 0;
	for (double t = 0.3; period > 0 && t < 1000; t += period)
		event[n++] = 1e6 * (t + 0.005 * xr_rng_unit(&rng));
	for (int i = 0; i < random; i++)
		event[n++] = 1e9 * xr_rng_unit(&rng);
	for (int i = 0; i < bursts; i++) {
		double t = 1e9 * xr_rng_unit(&rng);
		for (int k = 0; k < 5; k++)
			event[n++] = t += 4e5 * xr_rng_unit(&rng);
	}
	qsort(event, n, sizeof *event, rising);
	return n;
}

static void ticks_are_found_among_noise(void **state)
{
	(void)state;
	static const double periods[] = {1, 10.0 / 3, 4, 10};
	double event[8192];
	for (int p = 0; p < 4; p++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			size_t n = make(event, periods[p], 300, 20, seed);
			double found = xr_period(event, n, 5e5, 2.5e7, 25000);
			assert_true(fabs(found - 1e6 * periods[p]) < 0.02e6 * periods[p] + 12500);
		}
}

static void noise_has_no_period(void **state)
{
	(void)state;
	double event[8192];
	int wrong = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		size_t n = make(event, 0, 800, 60, seed);
		wrong += xr_period(event, n, 5e5, 2.5e7, 25000) > 0;
	}
	assert_true(wrong <= 1);
	assert_true(xr_period(event, 5, 5e5, 2.5e7, 25000) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_found_among_noise),
		cmocka_unit_test(noise_has_no_period),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
