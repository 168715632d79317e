/* SPDX-License-Identifier: MIT */
/* Belief and noise: what they promise, on numbers. */
#include "infer/belief.h"
#include "infer/noise.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double normal(struct xr_rng *rng)
{
	double u = xr_rng_unit(rng), v = xr_rng_unit(rng);

	return sqrt(-2 * log(u + 1e-300)) * cos(2 * M_PI * v);
}

/* Readings of truth 100: narrow, some lengthened. */
static double reading(struct xr_rng *rng, double truth, double sigma, double tail, double scale)
{
	double y = sigma * normal(rng);

	if (xr_rng_unit(rng) < tail)
		y -= scale * log(xr_rng_unit(rng) + 1e-300);
	return truth * exp(y);
}

static void a_fitted_law_finds_the_bulk_and_the_tail(void **state)
{
	enum { GROUPS = 60, SIZE = 5 };
	struct xr_rng rng = {7};
	double x[GROUPS * SIZE];
	size_t group[GROUPS * SIZE];
	struct xr_noise n;

	(void)state;
	for (size_t i = 0; i < GROUPS * SIZE; i++) {
		group[i] = i / SIZE;
		x[i] = reading(&rng, 10 + (double)group[i], 0.004, 0.15, 0.2);
	}
	n = xr_noise_fit(x, group, GROUPS * SIZE);
	assert_true(n.sigma > 0.002 && n.sigma < 0.008);
	assert_true(n.tail > 0.05 && n.tail < 0.3);
	assert_true(n.scale > 0.05 && n.scale < 0.4);
}

static void readings_that_are_no_numbers_say_nothing(void **state)
{
	struct xr_noise n = xr_noise_unknown();
	const double bad[] = {NAN, INFINITY, -1, 0};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(xr_noise_log(&n, 5, bad[i], 0) == xr_noise_log(&n, 50, bad[i], 0));
		assert_true(xr_noise_log_none(&n, 1, 100, bad[i]) == xr_noise_log(&n, 50, bad[i], 0));
	}
	assert_true(isfinite(xr_noise_fit(bad, (size_t[]){0, 0, 0, 0}, 4).sigma));
}

static void the_law_is_a_density(void **state)
{
	struct xr_noise n = {.sigma = 0.01, .tail = 0.2, .scale = 0.1, .anything = 0.02};
	double sum = 0, step = 1e-4;

	(void)state;
	for (double y = -4.9; y < 4.9; y += step)
		sum += exp(xr_noise_log(&n, 10, 10 * exp(y), 0)) * step;
	assert_true(fabs(sum - 1) < 0.01);
}

static void longer_is_likelier_than_shorter(void **state)
{
	struct xr_noise n = {.sigma = 0.01, .tail = 0.1, .scale = 0.2, .anything = 0.01};

	(void)state;
	assert_true(xr_noise_log(&n, 10, 11, 0) > xr_noise_log(&n, 10, 9.1, 0) + 1);
}

static void evidence_finds_the_true_hypothesis(void **state)
{
	struct xr_arena arena = {0};
	struct xr_noise n = {.sigma = 0.05, .tail = 0.1, .scale = 0.2, .anything = 0.01};
	struct xr_belief b = xr_belief_new(&arena, 4, NULL);
	struct xr_rng rng = {3};
	double p;

	(void)state;
	for (int i = 0; i < 20; i++) {
		double seen = reading(&rng, 12, 0.05, 0.1, 0.2), log[4];

		for (size_t h = 0; h < 4; h++)
			log[h] = xr_noise_log(&n, 10 + (double)h, seen, 0);
		xr_belief_add(&b, log, xr_noise_log_none(&n, 1, 1000, seen), 1);
	}
	assert_int_equal(xr_belief_best(&b, &p), 2);
	assert_true(p > 0.99);
	for (size_t h = 0; h <= 4; h++)
		assert_true(xr_belief_all(&arena, &b)[h] == xr_belief_p(&b, h));
	xr_arena_release(&arena);
}

static void none_of_these_wins_where_nothing_fits(void **state)
{
	struct xr_arena arena = {0};
	struct xr_noise n = {.sigma = 0.01, .tail = 0.05, .scale = 0.1, .anything = 0.01};
	struct xr_belief b = xr_belief_new(&arena, 3, NULL);
	double p, best;

	(void)state;
	for (int i = 0; i < 6; i++) {
		double seen = 40 + i, log[3];

		for (size_t h = 0; h < 3; h++)
			log[h] = xr_noise_log(&n, 10 + (double)h, seen, 0);
		xr_belief_add(&b, log, xr_noise_log_none(&n, 1, 1000, seen), 1);
	}
	assert_int_equal(xr_belief_best(&b, &p), 3);
	assert_true(p > 0.9);
	assert_true(xr_belief_of(&b, (double[]){1, 1, 2}, &best) > 0.9 && isnan(best));
	xr_arena_release(&arena);
}

static void hypotheses_that_answer_alike_count_together(void **state)
{
	struct xr_arena arena = {0};
	struct xr_belief b = xr_belief_new(&arena, 3, (double[]){2, 2, 3});
	double best, p = xr_belief_of(&b, (double[]){8, 8, 16}, &best);

	(void)state;
	assert_true(best == 8);
	assert_true(fabs(p - 0.98 * 4 / 7) < 1e-9);
	xr_arena_release(&arena);
}

static void the_telling_question_is_the_one_they_differ_on(void **state)
{
	struct xr_arena arena = {0};
	struct xr_belief b = xr_belief_new(&arena, 2, NULL);
	double alike = xr_belief_tells(&b, (double[]){2, 2}, 0.1), apart = xr_belief_tells(&b, (double[]){2, 3}, 0.1);

	(void)state;
	assert_true(alike < 1e-9 && apart > 1);
	xr_belief_add(&b, (double[]){0, -50}, -50, 1); /* decided: nothing is left to tell */
	assert_true(xr_belief_tells(&b, (double[]){2, 3}, 0.1) < 1e-6);
	xr_arena_release(&arena);
}

static void votes_with_one_cause_count_as_one(void **state)
{
	double same[40], mixed[40];
	struct xr_rng rng = {11};

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		same[i] = i / 8 % 2 ? 1 : -1;
		mixed[i] = xr_rng_below(&rng, 2) ? 1 : -1;
	}
	assert_true(xr_belief_independent(same, 40, 8) < 0.15);
	assert_true(xr_belief_independent(mixed, 40, 8) > 0.4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fitted_law_finds_the_bulk_and_the_tail),
		cmocka_unit_test(readings_that_are_no_numbers_say_nothing),
		cmocka_unit_test(the_law_is_a_density),
		cmocka_unit_test(longer_is_likelier_than_shorter),
		cmocka_unit_test(evidence_finds_the_true_hypothesis),
		cmocka_unit_test(none_of_these_wins_where_nothing_fits),
		cmocka_unit_test(hypotheses_that_answer_alike_count_together),
		cmocka_unit_test(the_telling_question_is_the_one_they_differ_on),
		cmocka_unit_test(votes_with_one_cause_count_as_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
