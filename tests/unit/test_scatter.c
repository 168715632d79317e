/* SPDX-License-Identifier: MIT */
/* The law of random lines: on curves it made itself, and on curves of real cores. */
#include "infer/policy.h"
#include "infer/scatter.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { KIB = 1024 };

/* A second cache of 8 ways and 1 MiB behind an index nobody knows (Zen 4): pairs of random lines. Best and second
 * of five. */
static const struct xr_scatter_point zen4[] = {
	{4096, 21.738, false},  {4096, 21.956, false},  {5138, 21.757, false},  {5138, 21.822, false},
	{6445, 22.022, false},  {6445, 22.074, false},  {8084, 22.660, false},  {8084, 22.871, false},
	{9054, 23.730, false},  {9054, 24.232, false},  {10141, 25.293, false}, {10141, 33.796, false},
	{11358, 26.824, false}, {11358, 26.902, false}, {12721, 29.419, false}, {12721, 29.518, false},
	{14248, 32.635, false}, {14248, 32.705, false}, {15957, 37.298, false}, {15957, 37.562, false},
	{17872, 41.963, false}, {17872, 41.994, false}, {20017, 45.805, false}, {20017, 46.219, false},
	{22419, 49.169, false}, {22419, 49.248, false}, {25110, 52.143, false}, {25110, 52.786, false},
	{31498, 58.504, false}, {31498, 58.771, false},
};
/* The same of 512 KiB, single lines, so that the lines' neighbours take a part of it (Zen 3). */
static const struct xr_scatter_point zen3[] = {
	{1103, 19.87, false},  {1378, 19.83, false},  {1722, 19.84, false},  {2152, 19.85, false},
	{2690, 19.89, false},  {3362, 20.07, false},  {4202, 22.10, false},  {5252, 27.22, false},
	{6565, 36.80, false},  {8206, 52.35, false},  {10257, 53.12, false}, {12821, 54.77, false},
	{16026, 55.64, false}, {20032, 55.46, false}, {25040, 55.44, false}, {31300, 56.25, false},
};

static struct xr_scatter_answer infer(const struct xr_scatter_point *point, size_t n, size_t ways, double lost)
{
	struct xr_arena arena = {0};
	struct xr_scatter_question q = {.point = point, .n = n, .line = 64, .ways = ways, .most_lost = lost};
	struct xr_scatter_answer a = xr_scatter_infer(&arena, &q);

	xr_arena_release(&arena);
	return a;
}

static void real_curves_have_their_capacity(void **state)
{
	struct xr_scatter_answer a = infer(zen4, sizeof zen4 / sizeof *zen4, 8, 0.3);

	(void)state;
	assert_true(a.capacity == 1024 * KIB);
	assert_true(a.p_capacity > 0.5 && a.none < 0.01);
	a = infer(zen3, sizeof zen3 / sizeof *zen3, 8, 0.3);
	assert_true(a.capacity == 512 * KIB);
	assert_true(a.p_capacity > 0.5 && a.none < 0.01);
}

/* Curves that the law itself makes, with noise. */
static size_t draw_curve(struct xr_scatter_point *point, size_t ways, double sets, int policy, struct xr_rng *rng)
{
	struct xr_arena arena = {0};
	size_t n = 0;

	for (double load = 0.3; load < 3; load *= 1.25)
		for (int draw = 0; draw < 3; draw++, n++) {
			double misses = xr_scatter_misses(&arena, ways, policy, load * (double)ways, false);

			point[n].lines = round(load * (double)ways * sets);
			point[n].cycles = (20 + 50 * misses) * (1 + 0.005 * xr_rng_unit(rng));
		}
	xr_arena_release(&arena);
	return n;
}

/* The same cache as zen4's while others streamed through the level behind: the longer a lap, the more a miss costs. */
static const struct xr_scatter_point beside[][22] = {
	{{7708, 27.2, false},   {10276, 26.7, false}, {11988, 32.3, false}, {13702, 34.5, false}, {15414, 36.6, false},
         {17126, 39.9, false},  {19696, 60.8, false}, {22264, 59.1, false}, {27402, 96.3, false}, {35966, 90.1, false},
         {51380, 125.8, false}, {7708, 26.6, false},  {10276, 25.2, false}, {11988, 31.2, false}, {13702, 33.2, false},
         {15414, 33.7, false},  {17126, 42.0, false}, {19696, 53.3, false}, {22264, 63.6, false}, {27402, 65.8, false},
         {35966, 118.6, false}, {51380, 135.0, false}},
	{{7616, 24.1, false},   {10156, 26.4, false},  {11848, 30.2, false},  {13540, 37.2, false},
         {15234, 34.1, false},  {16926, 34.4, false},  {19464, 46.9, false},  {22004, 73.8, false},
         {27082, 141.6, false}, {35544, 138.9, false}, {50778, 142.7, false}, {7616, 22.5, false},
         {10156, 25.2, false},  {11848, 27.5, false},  {13540, 35.6, false},  {15234, 42.6, false},
         {16926, 45.6, false},  {19464, 64.3, false},  {22004, 61.5, false},  {27082, 88.4, false},
         {35544, 136.8, false}, {50778, 145.0, false}},
	{{7664, 23.8, false},   {10220, 26.9, false}, {11924, 27.0, false}, {13626, 32.0, false}, {15330, 38.3, false},
         {17034, 38.7, false},  {19588, 51.4, false}, {22144, 70.4, false}, {27254, 93.5, false}, {35770, 120.2, false},
         {51100, 164.4, false}, {7664, 22.4, false},  {10220, 27.3, false}, {11924, 25.7, false}, {13626, 32.4, false},
         {15330, 30.6, false},  {17034, 45.4, false}, {19588, 67.4, false}, {22144, 61.9, false}, {27254, 120.7, false},
         {35770, 131.4, false}, {51100, 177.6, false}}};

static void others_who_stream_through_the_level_behind_do_not_move_the_capacity(void **state)
{
	struct xr_arena arena = {0};
	struct xr_rng rng = {5};
	struct xr_scatter_point point[40] = {{0}};
	int right = 0, found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
		const struct xr_scatter_question q = {.point = beside[i],
		                                      .n = 22,
		                                      .line = 64,
		                                      .ways = 8,
		                                      .miss = 41,
		                                      .miss_off = 0.2,
		                                      .most_lost = 0.3};
		const struct xr_scatter_answer a = xr_scatter_infer(&arena, &q);

		right += a.capacity == 1024 * KIB;
		if ((a.capacity != 1024 * KIB && a.p_capacity > 0.8) || a.none > 0.01)
			fail_msg("curve %zu: %g KiB at %g, none %g", i, a.capacity / KIB, a.p_capacity, a.none);
	}
	assert_true(right >= 2);
	for (double sets = 512; sets <= 4096; sets *= 2) {
		const struct xr_scatter_question q = {.point = point,
		                                      .n = draw_curve(point, 8, sets, XR_LRU, &rng),
		                                      .line = 64,
		                                      .ways = 8,
		                                      .miss = 50,
		                                      .miss_off = 0.2};

		struct xr_scatter_answer a;

		/* a lap of t cycles a line: t = near + misses (miss + what leaves in a lap of n t cycles); no quiet machine */
		for (size_t i = 0; i < q.n; i++) {
			point[i].cycles /= 1 - (point[i].cycles - 20) / 50 * point[i].lines / (8 * sets) * 0.2;
			point[i].cycles *= 1 + 0.08 * xr_rng_unit(&rng);
		}
		a = xr_scatter_infer(&arena, &q);
		found += a.capacity == 8 * 64 * sets;
		if (a.capacity != 8 * 64 * sets && a.p_capacity > 0.8)
			fail_msg("%g sets: %g KiB at %g", sets, a.capacity / KIB, a.p_capacity);
	}
	assert_true(found >= 3);
	xr_arena_release(&arena);
}

static void any_cache_is_found_again(void **state)
{
	static const int policy[] = {XR_LRU, XR_PLRU, XR_NRU, XR_RANDOM};
	static const size_t ways[] = {2, 4, 5, 8, 12, 16, 20};
	struct xr_scatter_point point[64] = {0};
	struct xr_rng rng = {5};

	(void)state;
	for (size_t p = 0; p < 4; p++)
		for (size_t w = 0; w < 7; w++) {
			double sets = ldexp(1, 8 + (int)xr_rng_below(&rng, 5));
			size_t n = draw_curve(point, ways[w], sets, policy[p], &rng);
			struct xr_scatter_answer a = infer(point, n, ways[w], 0);

			assert_true(a.capacity == sets * (double)ways[w] * 64);
			assert_true(a.p_capacity > 0.5);
			if (w != p) /* one each is enough: it takes its time */
				continue;
			a = infer(point, n, 0, 0); /* without the ways: about */
			assert_true(fabs(log(a.mean / (sets * (double)ways[w] * 64))) < 0.35);
		}
}

/* A cache of its own kind, to tell the law by: sets of lines in order of use, pairs of lines in random order,
 * each of which brings the other along, or is the same one. Share of visits that miss, of n lines drawn at
 * random: both of each pair, or one alone. */
enum { SETS = 256, WAYS = 8 };

static bool touch(uint32_t set[static WAYS], uint32_t line, bool refresh)
{
	size_t at = 0;

	while (at < WAYS - 1 && set[at] != line)
		at++;
	const bool there = set[at] == line;

	for (; at > 0 && (refresh || !there); at--)
		set[at] = set[at - 1];
	if (refresh || !there)
		set[0] = line;
	return there;
}

static double share_of_pairs(size_t lines, bool one, bool alone, struct xr_rng *rng)
{
	static uint32_t cache[SETS][WAYS], order[1 << 16], home[1 << 16];
	size_t misses = 0, laps = 6;

	memset(cache, 0, sizeof cache);
	for (size_t i = 0; i < lines; i++) {
		const size_t j = (size_t)xr_rng_below(rng, i + 1);

		order[i] = order[j];
		order[j] = (uint32_t)(alone ? 2 * i + xr_rng_below(rng, 2) : i);
		if (alone || i % 2 == 0)
			home[alone ? i : i / 2] = (uint32_t)xr_rng_below(rng, SETS);
	}
	for (size_t lap = 0; lap < laps; lap++)
		for (size_t i = 0; i < lines; i++) {
			const uint32_t line = order[i], pair = line / 2, set = home[pair];

			if (one) {
				misses += !touch(cache[set], pair + 1, true) && lap >= laps / 2;
			} else {
				misses += !touch(cache[set ^ line % 2], line + 1, true) && lap >= laps / 2;
				touch(cache[set ^ 1 ^ line % 2], (line ^ 1) + 1, false);
			}
		}
	return (double)misses / (double)(lines * (laps - laps / 2));
}

static void pairs_that_come_along_and_pairs_that_are_one_line_are_known(void **state)
{
	struct xr_rng rng = {9};

	(void)state;
	for (int one = 0; one < 2; one++) {
		struct xr_arena arena = {0};
		struct xr_scatter_point point[64] = {0};
		const double capacity = (double)(SETS * WAYS) * (one ? 128 : 64);
		size_t n = 0;

		for (double load = 0.4; load < 3.2; load *= 1.25)
			for (int draw = 0; draw < 4; draw++, n++) {
				point[n].alone = draw > 1;
				point[n].lines = round(load * capacity / 128) * 2;
				point[n].cycles = 20 + 50 * share_of_pairs((size_t)point[n].lines, one, draw > 1, &rng);
			}
		const struct xr_scatter_question q = {
			.point = point, .n = n, .line = 64, .ways = WAYS, .pairs = true, .miss = 50, .miss_off = 0.2};
		const struct xr_scatter_answer a = xr_scatter_infer(&arena, &q);

		assert_true(a.capacity == capacity);
		assert_true(a.p_capacity > 0.5 && a.none < 0.01);
		xr_arena_release(&arena);
	}
}

/* Random lines leave several capacities open; how many pages it took until a set of 16 ways overflowed, in a cache of
 * 1024 sets, 64 of which lie in a page, tells more. */
static void how_far_conflict_sets_grew_tells_more_than_random_lines(void **state)
{
	const struct xr_scatter_growth as_it_should[] = {{260, 320}, {290, 360}, {300, 370}},
				       far_too_late[] = {{900, 1100}, {1000, 1200}, {950, 1150}};
	struct xr_rng rng = {5};
	struct xr_scatter_point point[64] = {0};
	struct xr_scatter_question q = {.point = point, .line = 64, .ways = 16, .page = 4096, .item = 4096};
	struct xr_arena arena = {0};
	double p[3];

	(void)state;
	q.n = draw_curve(point, 16, 1024, XR_PLRU, &rng);
	for (int k = 0; k < 3; k++) {
		q.growth = k == 1 ? as_it_should : far_too_late;
		q.n_growth = k ? 3 : 0;
		q.expected = 1024 * KIB;
		p[k] = xr_scatter_infer(&arena, &q).p_expected;
	}
	assert_true(p[1] >= p[0] && p[0] > p[2]);
	xr_arena_release(&arena);
}

static void a_curve_that_no_cache_makes_is_none_of_these(void **state)
{
	struct xr_scatter_point point[24];
	struct xr_scatter_answer a;

	(void)state;
	for (size_t i = 0; i < 24; i++) /* up and down */
		point[i] = (struct xr_scatter_point){1000 * pow(1.2, (double)(i / 2)), i / 2 % 2 ? 20 : 60, false};
	a = infer(point, 24, 8, 0);
	assert_true(a.none > 0.5 && isnan(a.capacity));
}

static void nothing_is_concluded_from_nothing(void **state)
{
	struct xr_scatter_point flat[6] = {{100, 5, false}, {200, 5, false},  {400, 5, false},
	                                   {800, 5, false}, {1600, 5, false}, {3200, 5, false}};

	(void)state;
	assert_true(isnan(infer(flat, 6, 8, 0).capacity));
	assert_true(isnan(infer(flat, 0, 8, 0).capacity));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_curves_have_their_capacity),
		cmocka_unit_test(others_who_stream_through_the_level_behind_do_not_move_the_capacity),
		cmocka_unit_test(any_cache_is_found_again),
		cmocka_unit_test(pairs_that_come_along_and_pairs_that_are_one_line_are_known),
		cmocka_unit_test(how_far_conflict_sets_grew_tells_more_than_random_lines),
		cmocka_unit_test(a_curve_that_no_cache_makes_is_none_of_these),
		cmocka_unit_test(nothing_is_concluded_from_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
