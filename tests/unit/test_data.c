/* SPDX-License-Identifier: MIT */
/* Patterns of addresses: what the engines of the data side rest on. */
#include "method/compact.h"
#include "method/colours.h"
#include "method/geometry.h"
#include "probe/places.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

static void twin_visits_the_same_pages_in_the_same_order(void **state)
{
	struct xr_arena arena = {0};
	struct xr_places set = xr_places_stride(&arena, 0, 1024, 50), twin = xr_places_twin(&arena, &set, 4096);

	(void)state;
	assert_int_equal(twin.n, set.n);
	for (size_t i = 0; i < set.n; i++)
		assert_int_equal(twin.at[i] / 4096, set.at[i] / 4096);
	xr_arena_release(&arena);
}

static void twin_is_packed_and_spread_over_sets(void **state)
{
	struct xr_arena arena = {0};
	struct xr_places set = xr_places_stride(&arena, 0, 4096, 12), twin = xr_places_twin(&arena, &set, 4096);

	(void)state;
	for (size_t i = 0; i < twin.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(twin.at[i] % 4096 / 64, twin.at[k] % 4096 / 64);
	set = xr_places_stride(&arena, 0, 64, 128);
	twin = xr_places_twin(&arena, &set, 4096);
	for (size_t i = 1; i < 64; i++)
		assert_int_equal(twin.at[i], twin.at[0] + 8 * i);
	xr_arena_release(&arena);
}

static void twin_without_pages_is_one_run_of_words(void **state)
{
	struct xr_arena arena = {0};
	struct xr_places set = xr_places_stride(&arena, 0, 512, 10), twin = xr_places_twin(&arena, &set, 0);

	(void)state;
	for (size_t i = 0; i < twin.n; i++)
		assert_int_equal(twin.at[i], 8 * i);
	xr_arena_release(&arena);
}

/* However many pages a way has (a power of two), the lines fall evenly into all sets. */
static void rotated_lines_use_all_sets_evenly(void **state)
{
	struct xr_arena arena = {0};

	(void)state;
	for (size_t colours = 1; colours <= 64; colours *= 2) {
		struct xr_places p = xr_places_rotated(&arena, 4096, 4096, 64, 64 * colours);
		static unsigned char used[64 * 64];

		memset(used, 0, sizeof used);
		for (size_t i = 0; i < p.n; i++)
			used[p.at[i] / 4096 % colours * 64 + p.at[i] % 4096 / 64]++;
		for (size_t i = 0; i < 64 * colours; i++)
			assert_int_equal(used[i], 1);
	}
	xr_arena_release(&arena);
}

static void spans_keep_places_and_order(void **state)
{
	struct xr_arena arena = {0};
	struct xr_rng rng = {7};
	struct xr_places p = xr_places_new(&arena, 100);
	const struct xr_span *span;
	size_t n, k = 0;

	(void)state;
	xr_places_add_stride(&p, 0, 64, 40);
	xr_places_add_stride(&p, 8192, 4096, 30);
	span = xr_places_spans(&arena, &p, &n);
	assert_true(n <= 3);
	xr_places_shuffle(&p, &rng);
	span = xr_places_spans(&arena, &p, &n);
	for (size_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < span[i].count; j++)
			assert_int_equal(span[i].base + j * span[i].stride, p.at[k++]);
	assert_int_equal(k, p.n);
	xr_arena_release(&arena);
}

/* Of few places, half of all orders go on by the distance they came somewhere. */
static void seeds_avoid_even_steps(void **state)
{
	struct xr_arena arena = {0};
	struct xr_rng rng = {11};

	(void)state;
	for (size_t n = 4; n <= 32; n++) {
		struct xr_places p = xr_places_stride(&arena, 0, 1024, n);
		int even = 0;

		for (int i = 0; i < 20; i++) {
			struct xr_rng order = {xr_places_seed(&arena, &p, &rng)};
			struct xr_places q = xr_places_moved(&arena, &p, 0);

			assert_true(order.state != 0);
			xr_places_shuffle(&q, &order);
			for (size_t k = 0; k < n; k++)
				even += q.at[(k + 1) % n] - q.at[k] == q.at[(k + 2) % n] - q.at[(k + 1) % n];
		}
		assert_in_range(even, 0, 4);
	}
	xr_arena_release(&arena);
}

static void moved_places_keep_their_distances(void **state)
{
	struct xr_arena arena = {0};
	struct xr_places p = xr_places_stride(&arena, 64, 4096, 5), q = xr_places_moved(&arena, &p, 768);

	(void)state;
	assert_int_equal(xr_places_end(&p), 64 + 4 * 4096 + 8);
	assert_int_equal(xr_places_end(&q), xr_places_end(&p) + 768);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(q.at[i], p.at[i] + 768);
	p.n = 0;
	assert_int_equal(xr_places_end(&p), 0);
	xr_arena_release(&arena);
}

static void split_follows_all_votes_together(void **state)
{
	static const struct xr_compact_answer clear[] = {{.llr = -5}, {.llr = -5}, {.llr = 5}, {.llr = 5}, {.llr = 5}},
					      odd_one[] = {{.llr = -5},
	                                                   {.llr = 1},
	                                                   {.llr = -5},
	                                                   {.llr = 5},
	                                                   {.llr = 5}},
					      none[] = {{.llr = -5}, {.llr = -5}}, all[] = {{.llr = 5}, {.llr = 5}},
					      open[] = {{.llr = -5}, {.llr = 0.1}, {.llr = 5}};
	double sure;

	(void)state;
	assert_int_equal(xr_compact_split(clear, 5, &sure), 2);
	assert_true(sure > 0.99);
	assert_int_equal(xr_compact_split(odd_one, 5, &sure), 3);
	assert_true(sure > 0.9);
	assert_int_equal(xr_compact_split(none, 2, &sure), 2);
	assert_int_equal(xr_compact_split(all, 2, &sure), 0);
	assert_true(sure > 0.99);
	assert_int_equal(xr_compact_split(open, 3, &sure), 1);
	assert_true(sure < 0.6);
}

/* The first class full, f others elsewhere, k drawn: of few enough, every way to place them can be reckoned by hand. */
static void odds_are_those_of_urns(void **state)
{
	struct xr_arena arena = {0};
	struct xr_odds birthday = xr_odds_new(&arena, 1, 0, 4, 4096), flushed = xr_odds_new(&arena, 1, 3, 2, 4096),
		       pairs = xr_odds_new(&arena, 2, 0, 3, 4096), many = xr_odds_new(&arena, 4, 40, 100, 4096);

	(void)state;
	assert_true(birthday.fits[0][1] == 0 && birthday.fits[0][0] == 1);
	assert_true(fabs(birthday.fits[3][2] - 7.0 / 8 * 6 / 8) < 1e-9);
	assert_true(fabs(flushed.fits[4][2] - 12.0 / 16 * 11 / 16) < 1e-9);
	assert_true(flushed.fits[1][1] < 0 && flushed.fits[2][1] < 1e-9);
	assert_true(fabs(pairs.fits[1][2] - 1.0 / 4) < 1e-9 && pairs.fits[1][3] < 1e-9);
	assert_true(fabs(pairs.fits[2][3] - (27.0 - 3) / 64) < 1e-9);
	assert_true(many.fits[3][1] < 0 && many.fits[4][1] > 0.3 && many.fits[14][100] > 0.99);
	xr_arena_release(&arena);
}

/* Do k random pages overflow c classes of w ways, the first of which is full? Drawn page by page. */
static bool overflow(struct xr_rng *rng, unsigned classes, unsigned ways, size_t k)
{
	unsigned in[256] = {ways};
	bool over = false;

	for (size_t i = 0; i < k; i++)
		over |= ++in[xr_rng_below(rng, classes)] > ways;
	return over;
}

static void classes_of_pages_are_counted_by_members_met(void **state)
{
	struct xr_rng rng = {5};
	struct xr_arena arena = {0};
	int right = 0, all = 0, sure_wrong = 0;

	(void)state;
	for (unsigned classes = 1; classes <= 256; classes *= 4)
		for (unsigned ways = 1; ways <= 23; ways += 11) {
			struct xr_odds odds = xr_odds_new(&arena, ways, 0, 160, 1 << 20);

			for (int draw = 0; draw < 20; draw++) {
				struct xr_colours c = {.asked = 0};
				double sure = 0, found = 0;

				while (c.asked < 160 && sure < 0.999) {
					size_t k = xr_colours_next(&c, &odds);

					xr_colours_learn(&c, &odds, k, overflow(&rng, classes, ways, k));
					found = xr_colours_best(&c, &sure);
				}
				right += found == classes;
				sure_wrong += found != classes && sure > 0.9;
				all++;
			}
		}
	xr_arena_release(&arena);
	assert_true(right * 100 >= all * 98);
	assert_true(sure_wrong * 100 <= all);
}

static void lines_and_ways_are_read_off_distances(void **state)
{
	struct xr_geometry g = {.n_said = 2, .ways = 8, .agree = 2};
	double line, way, share;

	(void)state;
	for (int i = 0; i < 2; i++) {
		g.said[i].ways = 8;
		g.said[i].has_meets = true;
		g.said[i].meets[0] = g.said[i].meets[1] = g.said[i].meets[2] = true;
	}
	xr_geometry_sum(&g, 4096, &line, &way, &share);
	assert_true(line == 64 && way == 4096 && share == 1);
	for (int i = 0; i < 2; i++)
		g.said[i].meets[8] = true; /* 2048 apart */
	xr_geometry_sum(&g, 4096, &line, &way, &share);
	assert_true(line == 64 && way == 2048);
	g.said[1].meets[0] = false; /* a line with a gap is none: that class says nothing */
	xr_geometry_sum(&g, 4096, &line, &way, &share);
	assert_true(line == 64 && share == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(twin_visits_the_same_pages_in_the_same_order),
		cmocka_unit_test(twin_is_packed_and_spread_over_sets),
		cmocka_unit_test(twin_without_pages_is_one_run_of_words),
		cmocka_unit_test(rotated_lines_use_all_sets_evenly),
		cmocka_unit_test(spans_keep_places_and_order),
		cmocka_unit_test(seeds_avoid_even_steps),
		cmocka_unit_test(moved_places_keep_their_distances),
		cmocka_unit_test(split_follows_all_votes_together),
		cmocka_unit_test(odds_are_those_of_urns),
		cmocka_unit_test(classes_of_pages_are_counted_by_members_met),
		cmocka_unit_test(lines_and_ways_are_read_off_distances),
	};

	return cmocka_run_group_tests_name("data side", tests, NULL, NULL);
}
