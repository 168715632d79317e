/* SPDX-License-Identifier: MIT */
/* What `make bench` calls slower (bench/paired.h): a difference, not the noise of a busy machine. */
#include "../../bench/paired.h"
#include "util/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ROUNDS = 120, MACHINES = 400 };

/* Rounds of two programs on a busy machine: a neighbour slows whole rounds by a fifth, each time has noise of its own,
 * and now and then something takes the CPU away from one of the two. */
static struct paired busy(uint64_t seed, double first, double second, double noise, int rounds)
{
	struct xr_rng rng = {.state = seed};
	double a[ROUNDS], b[ROUNDS];
	for (int i = 0; i < rounds; i++) {
		double neighbour = xr_rng_unit(&rng) < 0.4 ? 1.2 : 1;
		a[i] = first * neighbour * (1 + noise * xr_rng_unit(&rng)) * (xr_rng_unit(&rng) < 0.05 ? 3 : 1);
		b[i] = second * neighbour * (1 + noise * xr_rng_unit(&rng)) * (xr_rng_unit(&rng) < 0.05 ? 3 : 1);
	}
	return paired_compare(a, b, rounds);
}

static int count(enum paired_verdict verdict, double first, double second, double limit, double noise, int rounds)
{
	int n = 0;
	for (uint64_t seed = 1; seed <= MACHINES; seed++) {
		struct paired p = busy(seed, first, second, noise, rounds);
		n += paired_judge(&p, limit, 0.02) == verdict;
	}
	return n;
}

static void few_rounds_say_nothing(void **state)
{
	(void)state;
	assert_int_equal(paired_left_out(0), -1);
	assert_int_equal(paired_left_out(10), -1); /* 2 / 2^10 is more than 0.01 / 7, */
	assert_int_equal(paired_left_out(11), 0);  /* 2 / 2^11 less */
	struct paired p = busy(1, 2, 1, 0.01, 10);
	assert_int_equal(paired_judge(&p, 1, 0.02), PAIRED_UNDECIDED);
	p = paired_compare(NULL, NULL, 0);
	assert_int_equal(paired_judge(&p, 1, 0.02), PAIRED_UNDECIDED);
}

static void the_same_program_is_not_slower_than_itself(void **state)
{
	(void)state;
	/* at most one in 1400 by the law: of 400, four come by chance once in five thousand */
	assert_in_range(count(PAIRED_FAILS, 1, 1, 1, 0.1, 60), 0, 3);
	assert_in_range(count(PAIRED_HOLDS, 1, 1, 1, 0.01, ROUNDS), MACHINES - 2, MACHINES);
}

static void five_percent_are_seen_through_the_noise(void **state)
{
	(void)state;
	assert_in_range(count(PAIRED_FAILS, 1.05, 1, 1, 0.1, ROUNDS), MACHINES - 2, MACHINES);
	assert_in_range(count(PAIRED_HOLDS, 1, 1.05, 1, 0.1, ROUNDS), MACHINES - 2, MACHINES);
}

static void a_tenth_is_allowed_where_a_tenth_is(void **state)
{
	(void)state;
	assert_in_range(count(PAIRED_HOLDS, 1.05, 1, 1 / 0.9, 0.1, ROUNDS), MACHINES - 2, MACHINES);
	assert_in_range(count(PAIRED_FAILS, 1.2, 1, 1 / 0.9, 0.1, ROUNDS), MACHINES - 2, MACHINES);
}

static void wild_times_leave_it_open(void **state)
{
	(void)state;
	assert_in_range(count(PAIRED_UNDECIDED, 1, 1, 1, 1, 30), MACHINES - 2, MACHINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_rounds_say_nothing),
		cmocka_unit_test(the_same_program_is_not_slower_than_itself),
		cmocka_unit_test(five_percent_are_seen_through_the_noise),
		cmocka_unit_test(a_tenth_is_allowed_where_a_tenth_is),
		cmocka_unit_test(wild_times_leave_it_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
