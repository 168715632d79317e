/* SPDX-License-Identifier: MIT */
/* How many go on at once, from curves: exact ones, busy ones, noisy ones, and such as have no edge. */
#include "infer/knee.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { POINTS = 40 };

static struct xr_knee find(double most, double latency, double load, double noisy, uint64_t seed)
{
	struct xr_arena arena = {0};
	struct xr_rng rng = {seed};
	struct xr_noise noise = {.sigma = fmax(noisy, 0.003), .tail = 0.05, .scale = 0.05, .anything = 0.01};
	struct xr_knee law = {.most = most, .latency = latency, .load = load};
	double k[POINTS], t[POINTS];
	for (int i = 0; i < POINTS; i++) {
		k[i] = i + 1;
		t[i] = xr_knee_at(&law, k[i]) * (1 + noisy * (xr_rng_unit(&rng) + xr_rng_unit(&rng) - 1));
	}
	struct xr_knee found = xr_knee_find(&arena, k, t, POINTS, &noise, 64, 1);
	xr_arena_release(&arena);
	return found;
}

static void every_number_is_found_on_exact_curves(void **state)
{
	(void)state;
	for (int most = 1; most <= 32; most++)
		for (int busy = 0; busy < 2; busy++) {
			struct xr_knee found = find(most, 300, busy ? 30.0 / most : 0, 0, 1);
			if (found.most != most || found.p < 0.8)
				fail_msg("%g (%g), not %d", found.most, found.p, most);
		}
}

static void noise_costs_certainty_before_it_costs_the_answer(void **state)
{
	int right = 0, sure_wrong = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct xr_knee found = find(12, 250, 1, 0.02, seed);
		right += found.most == 12;
		sure_wrong += found.most != 12 && found.p >= 0.9;
	}
	assert_true(right >= 48);
	assert_int_equal(sure_wrong, 0);
}

static void what_has_no_edge_is_not_told(void **state)
{
	struct xr_arena arena = {0};
	struct xr_noise noise = {.sigma = 0.003, .tail = 0.05, .scale = 0.05, .anything = 0.01};
	double k[POINTS], t[POINTS];
	(void)state;
	for (int i = 0; i < POINTS; i++) {
		k[i] = i + 1;
		t[i] = i % 3 ? 100 + 40 * (i % 5) : 30; /* follows nothing */
	}
	struct xr_knee found = xr_knee_find(&arena, k, t, POINTS, &noise, 64, 1);
	assert_true(found.most == 0 || found.p < 0.5);
	assert_true(find(50, 300, 0, 0, 1).beyond);
	xr_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_is_found_on_exact_curves),
		cmocka_unit_test(noise_costs_certainty_before_it_costs_the_answer),
		cmocka_unit_test(what_has_no_edge_is_not_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
