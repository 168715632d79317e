/* SPDX-License-Identifier: MIT */
/* A level between two, from laps over simulated caches of every policy: found where there is one, never where there is none. */
#include "infer/array.h"
#include "infer/between.h"
#include "method/laps.h"
#include "util/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { LINES_MOST = 8192, LAPS = 6, POINTS = 16 };
static const double l2 = 15, l3 = 50, memory = 300, least = 4;
static const char *const policies[] = {
	"lru", "fifo", "random", "plru", "nru", "srrip", "qlru_h11_m1_r0_u0", "qlru_h00_m1_r0_u1"};
enum { POLICIES = sizeof policies / sizeof *policies };

struct cache {
	struct xr_array array;
	bool hashed;
};

static void make(struct cache *c, uint64_t lines, uint64_t ways, const char *policy, bool hashed, struct xr_rng *rng)
{
	xr_array_init(&c->array, lines / ways, ways, xr_policy_parse(policy), rng);
	c->hashed = hashed;
}

static bool hits(struct cache *c, uint64_t key)
{
	const uint64_t set = (c->hashed ? key * UINT64_C(0x9e3779b97f4a7c15) >> 20 : key) % c->array.sets;
	uint64_t *line = xr_array_find(&c->array, set, key);
	struct xr_victim victim;

	if (line)
		xr_array_use(&c->array, set, line);
	else
		xr_array_put(&c->array, set, key, &victim);
	return line != NULL;
}

/* What a line costs in the last of several laps in one random order; third NULL: there is none. */
static double lap(struct cache *second, struct cache *third, uint64_t lines, struct xr_rng *rng)
{
	static uint32_t order[LINES_MOST];
	double cycles = 0;

	for (uint32_t i = 0; i < lines; i++)
		order[i] = i;
	xr_shuffle(order, lines, rng);
	for (int n = 1; n <= LAPS; n++)
		for (uint64_t i = 0; i < lines; i++) {
			const bool near = hits(second, order[i]), between = !near && third && hits(third, order[i]);

			if (n == LAPS)
				cycles += near ? l2 : between ? l3 : memory;
		}
	return cycles / (double)lines;
}

static bool finds(const char *policy, uint64_t ways, bool hashed, uint64_t third_lines, struct xr_between *b)
{
	const uint64_t second_lines = 512 / ways * ways;
	struct xr_rng rng = {ways + third_lines};
	double size[POINTS], time[POINTS];
	size_t n = 0;

	for (double lines = 128; lines <= LINES_MOST; lines *= 1.4142) {
		struct cache second, third;

		make(&second, second_lines, ways, policy, hashed, &rng);
		make(&third, third_lines ? third_lines : 16, 16, policy, hashed, &rng);
		size[n] = (double)(uint64_t)lines;
		time[n++] = lap(&second, third_lines ? &third : NULL, (uint64_t)lines, &rng);
		xr_array_release(&second.array);
		xr_array_release(&third.array);
	}
	return xr_between_find(size, time, n, l2, memory, least, b);
}

static void one_cache_is_one_whatever_its_policy(void **state)
{
	static const uint64_t ways[] = {1, 2, 3, 4, 8, 16};
	struct xr_between b;
	(void)state;
	for (int p = 0; p < POLICIES; p++)
		for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
			for (int hashed = 0; hashed < 2; hashed++)
				if (finds(policies[p], ways[w], hashed, 0, &b))
					fail_msg("%s, %d ways, %s: a level at %g", policies[p], (int)ways[w],
					         hashed ? "hashed" : "plain", b.latency);
}

static void four_times_as_large_a_cache_is_found(void **state)
{
	(void)state;
	for (int p = 0; p < POLICIES; p++)
		for (int hashed = 0; hashed < 2; hashed++) {
			struct xr_between b;

			if (!finds(policies[p], 8, hashed, 4096, &b))
				fail_msg("%s, %s: not found", policies[p], hashed ? "hashed" : "plain");
			if (b.latency < l3 * 0.75 || b.latency > l3 * 1.4 || b.holds < 1024 || b.holds > 8192)
				fail_msg("%s: at %g, %g lines", policies[p], b.latency, b.holds);
		}
}

static void what_differs_by_less_than_it_must_is_no_level(void **state)
{
	const double size[] = {1, 2, 4, 8, 16, 32}, time[] = {18, 18, 18, 18, 300, 300};
	struct xr_between b;
	(void)state;
	assert_false(xr_between_find(size, time, 6, l2, memory, least, &b));
	assert_true(xr_between_find(size, time, 6, l2, memory, 2, &b));
	assert_true(b.latency == 18 && b.holds == 8);
	assert_false(xr_between_find(size, time, 0, l2, memory, 2, &b));
}

/* As a walk beside a neighbour has them: 16 MiB of a last cache, much of it not ours at times. */
static void a_lap_that_others_made_slow_is_no_level(void **state)
{
	const double size[] = {256, 362, 512, 724, 1024, 1722, 2896, 4870, 8192, 16384},
		     time[] = {36.6, 165.9, 44.3, 107.2, 58.8, 378.8, 152.6, 528.3, 555.7, 609.9};
	struct xr_between b;
	(void)state;
	assert_false(xr_between_find(size, time, 10, 50, 610, 12, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_cache_is_one_whatever_its_policy),
	                                   cmocka_unit_test(four_times_as_large_a_cache_is_found),
	                                   cmocka_unit_test(what_differs_by_less_than_it_must_is_no_level),
	                                   cmocka_unit_test(a_lap_that_others_made_slow_is_no_level)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
