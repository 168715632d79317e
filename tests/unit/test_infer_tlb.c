/* SPDX-License-Identifier: MIT */
/* What is concluded from walks over pages: on one simulated set of every policy, on curves of real cores. */
#include "infer/array.h"
#include "infer/family.h"
#include "infer/reach.h"
#include "infer/missrate.h"
#include "infer/ways.h"
#include "util/arena.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct xr_noise quiet = {.sigma = 0.002, .tail = 0.02, .scale = 0.3, .anything = 0.01};

/* ---- which pages belong to one set ---- */

static void members_of_a_set_are_in_one_set(void **state)
{
	struct xr_family family[] = {{0},        xr_family_of_bits(0xf), xr_family_of_bits(0x27f), {0}, {0},
	                             {.odd = 3}, xr_family_of_bits(0x1f)};

	(void)state;
	for (unsigned i = 0; i < 7; i++)
		family[3] = xr_family_with(&family[3], UINT32_C(0x81) << i);
	for (unsigned i = 0; i < 4; i++)
		family[4] = xr_family_with(&family[4], UINT32_C(0x111) << i);
	family[6].odd = 5;
	for (size_t f = 0; f < COUNT(family); f++)
		for (size_t c = 0; c < xr_family_sets(&family[f]); c++)
			for (size_t i = 0; i < 64; i++) {
				size_t page = xr_family_member(&family[f], c, i);

				assert_int_equal(xr_family_set(&family[f], page),
				                 xr_family_set(&family[f], xr_family_member(&family[f], c, 0)));
				for (size_t j = 0; j < i; j++)
					assert_true(page != xr_family_member(&family[f], c, j));
			}
	assert_int_equal(xr_family_sets(&family[2]), 256);
	assert_int_equal(xr_family_sets(&family[6]), 160);
}

/* ---- one set ---- */

/* Share of visits that miss, walking round and round over n places in one order. */
static double simulated(int policy, size_t ways, size_t n, uint64_t seed)
{
	enum { SETTLE = 40, LAPS = 60 };
	struct xr_rng rng = {seed};
	struct xr_array a;
	size_t missed = 0;

	xr_array_init(&a, 1, ways, policy, &rng);
	for (size_t i = 0; i < (SETTLE + LAPS) * n; i++) {
		uint64_t place = i < SETTLE * n / 2 ? xr_rng_below(&rng, n) : i % n,
			 *line = xr_array_find(&a, 0, place);
		struct xr_victim victim;

		missed += !line && i >= SETTLE * n;
		if (line)
			xr_array_use(&a, 0, line);
		else
			xr_array_put(&a, 0, place, &victim);
	}
	xr_array_release(&a);
	return (double)missed / (double)(LAPS * n);
}

static void random_replacement_follows_its_law(void **state)
{
	(void)state;
	for (size_t ways = 2; ways <= 64; ways *= 2)
		for (size_t n = ways; n <= 3 * ways; n += 1 + ways / 8)
			assert_true(fabs(simulated(XR_RANDOM, ways, n, n) -
			                 xr_missrate(xr_missrate_sharps[0], (double)ways, (double)n)) < 0.06);
}

static void lru_misses_all_or_nothing(void **state)
{
	(void)state;
	assert_true(xr_missrate(INFINITY, 12, 12) == 0);
	assert_true(xr_missrate(INFINITY, 12, 13) == 1);
	assert_true(simulated(XR_LRU, 12, 13, 1) == 1);
}

/* Walks over up to three times as many places as fit; a miss costs 7 on top of 4, and all readings are off a little. */
static size_t walks_of(int policy, size_t ways, struct xr_walk_seen *walk)
{
	static const double part[] = {0.7, 0.8, 0.9, 0.95, 1, 1.05, 1.12, 1.25, 1.4, 2, 3};
	struct xr_rng rng = {ways};
	size_t k = 0;

	for (uint64_t order = 0; order < 3; order++)
		for (size_t i = 0; i < COUNT(part) + 2; i++) {
			size_t n = i < COUNT(part) ? (size_t)ceil(part[i] * (double)ways) : ways + 1 + i - COUNT(part);

			walk[k++] = (struct xr_walk_seen){.n = (double)n,
			                                  .sets = 1,
			                                  .seen = (4 + 7 * simulated(policy, ways, n, 3 * n + order)) *
			                                          (1 + 0.004 * (xr_rng_unit(&rng) - 0.5)),
			                                  .twin = 4,
			                                  .moment = (unsigned)order};
		}
	return k;
}

static void ways_of_one_set(void **state)
{
	static const int policy[] = {XR_LRU, XR_PLRU, XR_NRU, XR_FIFO, XR_RANDOM, XR_SRRIP};
	static const size_t ways[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64};
	struct xr_walk_seen walk[64];
	struct xr_arena arena = {0};

	(void)state;
	for (size_t p = 0; p < COUNT(policy); p++)
		for (size_t w = 0; w < COUNT(ways); w++) {
			if (!xr_policy_takes_ways(policy[p], ways[w]))
				continue;
			size_t n = walks_of(policy[p], ways[w], walk);
			struct xr_ways found = xr_ways_of(&arena, ways[w] * 2 / 3 + (ways[w] == 1), ways[w] * 3 / 2 + 1,
			                                  walk, n, &quiet);

			if (found.ways != ways[w] || found.p < 0.9)
				print_message("%s, %zu ways: found %zu (%.3f), sharp %g\n", xr_policy_names[policy[p]],
				              ways[w], found.ways, found.p, found.sharp);
			assert_true(found.ways == ways[w] || found.p < 0.9);
			assert_true(found.ways == ways[w] || ways[w] > 24);
		}
	xr_arena_release(&arena);
}

static void what_no_set_does_is_none_of_these(void **state)
{
	/* less and less the more places there are */
	struct xr_walk_seen walk[12];
	struct xr_arena arena = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(walk); i++)
		walk[i] =
			(struct xr_walk_seen){.n = (double)(4 + i), .sets = 1, .seen = 12 - 0.6 * (double)i, .twin = 4};
	assert_true(xr_ways_of(&arena, 4, 12, walk, COUNT(walk), &quiet).p < 0.5);
	xr_arena_release(&arena);
}

/* Some moments of one set under LRU; at some of them somebody else has a third of it. */
static struct xr_ways in_company(struct xr_arena *arena, size_t ways, const bool *there, size_t moments)
{
	static const double part[] = {0.6, 0.8, 0.9, 1, 1.02, 1.1, 1.3, 1.6, 2.2};
	struct xr_walk_seen walk[64];
	size_t k = 0;

	for (size_t m = 0; m < moments; m++)
		for (size_t i = 0; i < COUNT(part); i++) {
			const double left = (double)ways * (there[m] ? 2.0 / 3 : 1), n = ceil(part[i] * (double)ways);

			walk[k++] = (struct xr_walk_seen){
				.n = n, .sets = 1, .seen = n > left ? 11 : 4, .twin = 4, .moment = m};
		}
	return xr_ways_of(arena, ways / 2, 2 * ways, walk, k, &quiet);
}

static void others_only_take_places(void **state)
{
	static const size_t ways[] = {24, 32, 64, 72};
	static const bool sometimes[] = {false, true, true, false, true, true}, always[] = {true, true, true};
	struct xr_arena arena = {0};

	(void)state;
	for (size_t i = 0; i < COUNT(ways); i++)
		assert_int_equal(in_company(&arena, ways[i], sometimes, COUNT(sometimes)).ways, ways[i]);
	/* who was never seen alone and leaves 46 of 69 may be one or not: nobody is sure */
	assert_true(in_company(&arena, 69, always, COUNT(always)).p < 0.95);
	xr_arena_release(&arena);
}

static void overflow_is_believed_of_several_moments(void **state)
{
	struct xr_walk_seen walk[4];

	(void)state;
	for (size_t i = 0; i < COUNT(walk); i++)
		walk[i] = (struct xr_walk_seen){.n = 48, .sets = 1, .seen = 11, .twin = 4, .moment = 1};
	const double one = xr_ways_overflow(walk, COUNT(walk), 7, false, &quiet);
	assert_true(one > 0.5 && one < 0.95);
	assert_true(xr_ways_overflow(walk, COUNT(walk), 7, true, &quiet) > 0.99);
	for (size_t i = 0; i < COUNT(walk); i++)
		walk[i].moment = i;
	assert_true(xr_ways_overflow(walk, COUNT(walk), 7, false, &quiet) > one);
	walk[2].seen = 4; /* once they fitted: that was nobody else */
	assert_true(xr_ways_overflow(walk, COUNT(walk), 7, false, &quiet) < 0.01);
}

/* ---- real cores ---- */

struct point {
	double n, cycles;
};

static struct xr_ways ways_of_points(struct xr_arena *arena, const struct point *point, size_t n, double floor,
                                     size_t lo, size_t hi)
{
	struct xr_walk_seen walk[64];

	for (size_t i = 0; i < n; i++)
		walk[i] = (struct xr_walk_seen){point[i].n, 16, point[i].cycles, floor, false, 0, i};
	return xr_ways_of(arena, lo, hi, walk, n, &quiet);
}

/* AMD Zen 3: n pages in each of 16 sets, 4 MiB apart (8 ways), 512 KiB, 1 MiB and 2 MiB apart (two sets of 8). */
static void ways_of_zen_3(void **state)
{
	static const struct point d2_1024[] = {{6, 11},    {8, 11},    {10, 42.9}, {12, 45},  {13, 49.6},
	                                       {14, 46.9}, {16, 46.7}, {18, 47.7}, {24, 52.8}};
	static const struct point d2_512[] = {{12, 11},   {13, 11},   {14, 11},   {15, 11.1}, {16, 12},
	                                      {17, 31.9}, {18, 47.1}, {19, 47.7}, {24, 52},   {32, 57.4}};
	static const struct point d2_256[] = {{12, 11},   {13, 11},   {14, 11.2}, {15, 11.1}, {16, 17},
	                                      {17, 39.1}, {18, 32.9}, {19, 51.9}, {24, 57.2}, {32, 60}};
	static const struct point d2_128[] = {{12, 11.1}, {13, 11},   {14, 11.1}, {15, 11},   {16, 11.7},
	                                      {17, 30.5}, {18, 31.5}, {19, 32.1}, {24, 46.7}, {32, 52.3}};
	struct xr_arena arena = {0};

	(void)state;
	assert_int_equal(ways_of_points(&arena, d2_1024, COUNT(d2_1024), 11, 5, 14).ways, 8);
	assert_int_equal(ways_of_points(&arena, d2_512, COUNT(d2_512), 11, 11, 24).ways, 16);
	assert_int_equal(ways_of_points(&arena, d2_256, COUNT(d2_256), 11, 11, 24).ways, 16);
	assert_int_equal(ways_of_points(&arena, d2_128, COUNT(d2_128), 11, 11, 24).ways, 16);
	xr_arena_release(&arena);
}

/* AMD Zen 4: the first level, one set of 72 with a place beside it; the second, 12 ways of 256 sets. */
static void ways_of_zen_4(void **state)
{
	static const struct point d1[] = {{63, 3.98}, {70, 3.99}, {71, 3.99}, {72, 3.99},   {72, 4.00},
	                                  {73, 4.64}, {73, 4.52}, {74, 9.32}, {74, 9.84},   {75, 11},
	                                  {76, 11},   {78, 11},   {80, 11},   {197, 10.96}, {237, 10.9}};
	static const struct point d2[] = {{6, 10.97},  {8, 10.97},  {9, 10.97},  {10, 10.96}, {11, 10.8},
	                                  {12, 10.77}, {12, 10.83}, {13, 20.37}, {13, 19.52}, {15, 30.2},
	                                  {15, 31.3},  {35, 57.3},  {42, 59.5}};
	struct xr_arena arena = {0};
	struct xr_walk_seen walk[COUNT(d1)];

	(void)state;
	for (size_t i = 0; i < COUNT(d1); i++)
		walk[i] = (struct xr_walk_seen){d1[i].n, 1, d1[i].cycles, 4, false, 0, i};
	struct xr_ways first = xr_ways_of(&arena, 55, 100, walk, COUNT(d1), &quiet);
	assert_int_equal(first.ways, 72);
	assert_true(first.p > 0.95 && fabs(first.miss - 7) < 0.1);
	struct xr_ways second = ways_of_points(&arena, d2, COUNT(d2), 10.98, 7, 18);
	assert_int_equal(second.ways, 12);
	assert_true(second.p > 0.9);
	xr_arena_release(&arena);
}

/* Emerald Rapids, cycles of another clock than the core's: 16 sets of 6. */
static void ways_of_emerald_rapids(void **state)
{
	static const struct point d1[] = {{4, 6.5},   {6, 6.6},   {8, 15.5}, {10, 15.6},
	                                  {12, 15.6}, {13, 15.6}, {14, 15.6}};
	struct xr_arena arena = {0};

	(void)state;
	assert_int_equal(ways_of_points(&arena, d1, COUNT(d1), 6.5, 4, 10).ways, 6);
	xr_arena_release(&arena);
}

/* Zen 3, pages in a row less packed lines: about 64, then about 2048. */
static void reach_of_zen_3(void **state)
{
	static const struct point row[] = {{32, 4},  {48, 4},  {60, 4},   {64, 4},   {66, 5.76},
	                                   {72, 11}, {96, 11}, {128, 11}, {256, 11}, {512, 11.01}};
	static const struct point far[] = {{768, 20.01},  {1024, 20.01}, {1536, 20.04}, {1792, 20.3},
	                                   {2048, 22.03}, {2304, 43.38}, {2560, 45.47}, {3072, 60.13},
	                                   {4096, 68.33}, {6144, 91.57}, {8192, 102.15}};
	struct xr_walk_seen walk[16];

	(void)state;
	for (size_t i = 0; i < COUNT(row); i++)
		walk[i] = (struct xr_walk_seen){row[i].n, 1, row[i].cycles, 4, false, 0, i};
	struct xr_reach first = xr_reach_of(walk, COUNT(row), 1.5, &quiet);
	assert_true(first.size > 58 && first.size < 72 && fabs(first.miss - 7) < 0.5);
	for (size_t i = 0; i < COUNT(far); i++)
		walk[i] = (struct xr_walk_seen){far[i].n, 1, far[i].cycles, 20, false, 0, i};
	struct xr_reach second = xr_reach_of(walk, COUNT(far), 1.5, &quiet);
	assert_true(second.size > 1600 && second.size < 2500);
}

static void no_end_where_there_is_none(void **state)
{
	struct xr_walk_seen walk[16];

	(void)state;
	for (size_t i = 0; i < COUNT(walk); i++)
		walk[i] = (struct xr_walk_seen){
			(double)(4 << i), 1, 4 + (i == 5 ? 0.4 : 0.01 * (double)(i % 3)), 4, false, 0, i};
	struct xr_reach reach = xr_reach_of(walk, COUNT(walk), 1.5, &quiet);
	assert_true(reach.size == 0 && reach.p > 0.9);
}

static void numbers_of_ways_that_nobody_builds_need_more(void **state)
{
	(void)state;
	for (size_t ways = 1; ways <= 64; ways *= 2)
		assert_true(xr_ways_weigh(0.9, ways) > 0.899 && xr_ways_prior(ways) >= xr_ways_prior(ways + ways / 2));
	assert_true(xr_ways_weigh(0.9, 12) > 0.8 && xr_ways_weigh(0.9, 12) < 0.9);
	assert_true(xr_ways_weigh(0.9, 9) < 0.8 && xr_ways_weigh(0.99, 9) > 0.9);
	assert_true(xr_ways_weigh(0, 9) == 0 && xr_ways_weigh(1, 9) == 1 && xr_ways_weigh(0.9, 0) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_of_ways_that_nobody_builds_need_more),
		cmocka_unit_test(members_of_a_set_are_in_one_set),
		cmocka_unit_test(random_replacement_follows_its_law),
		cmocka_unit_test(lru_misses_all_or_nothing),
		cmocka_unit_test(ways_of_one_set),
		cmocka_unit_test(what_no_set_does_is_none_of_these),
		cmocka_unit_test(others_only_take_places),
		cmocka_unit_test(overflow_is_believed_of_several_moments),
		cmocka_unit_test(ways_of_zen_3),
		cmocka_unit_test(ways_of_zen_4),
		cmocka_unit_test(ways_of_emerald_rapids),
		cmocka_unit_test(reach_of_zen_3),
		cmocka_unit_test(no_end_where_there_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
