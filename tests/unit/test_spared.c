/* SPDX-License-Identifier: MIT */
/* Were lines fetched ahead: from times of blocks beside strangers. */
#include "infer/spared.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { TURNS = 5 };
static const double nearest = 4, hit = 14, miss = 70;

/* Blocks of `lines`, of which the last came `share` of the way early; others of the block take `others` cycles each. */
static struct xr_spared find(int lines, double share, double others, double noisy, uint64_t seed)
{
	struct xr_arena arena = {0};
	struct xr_rng rng = {seed};
	double asked[TURNS], strangers[TURNS];
	for (int i = 0; i < TURNS; i++) {
		const double rest = others * (lines - 1);
		asked[i] = (rest + miss - share * (miss - nearest)) / lines * (1 + noisy * xr_rng_unit(&rng));
		strangers[i] = (rest + miss) / lines * (1 + noisy * xr_rng_unit(&rng));
	}
	const struct xr_spared seen = xr_spared_find(&arena, &(struct xr_spared_times){.asked = asked,
	                                                                               .strangers = strangers,
	                                                                               .n = TURNS,
	                                                                               .part = 1.0 / lines,
	                                                                               .away = miss,
	                                                                               .nearest = nearest,
	                                                                               .hit = hit});
	xr_arena_release(&arena);
	return seen;
}

static void what_is_fetched_wholly_or_in_part_is_seen(void **state)
{
	(void)state;
	for (int lines = 2; lines <= 4; lines++)
		for (double share = 0.3; share < 1.01; share += 0.1)
			for (uint64_t seed = 1; seed <= 20; seed++) {
				const struct xr_spared seen = find(lines, share, miss, 0.01, seed);
				if (seen.p < 0.9 || fabs(seen.share - share) > 0.1)
					fail_msg("%d lines, %.1f: p %.2f, share %.2f", lines, share, seen.p,
					         seen.share);
			}
}

static void nothing_fetched_is_nothing_seen(void **state)
{
	(void)state;
	for (int lines = 2; lines <= 4; lines++)
		for (uint64_t seed = 1; seed <= 50; seed++) {
			const struct xr_spared seen = find(lines, 0, miss, 0.01, seed);
			if (seen.p > 0.1 || seen.none > 0.1)
				fail_msg("%d lines: p %.2f, none %.2f", lines, seen.p, seen.none);
		}
}

/* What a line saves is measured by what a miss costs, not by what the others of its block cost, who may be quick. */
static void quick_neighbours_do_not_make_it_too_much(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		const struct xr_spared seen = find(3, 1, (miss + hit) / 2, 0.005, seed);
		assert_true(seen.p > 0.9);
		assert_true(fabs(seen.share - 1) < 0.1);
	}
}

static void what_nothing_explains_is_none_of_these(void **state)
{
	(void)state;
	assert_true(find(2, -2, miss, 0.005, 1).none > 0.5); /* twice as slow as strangers */
	assert_true(find(2, 0, miss, 0.005, 1).none < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_fetched_wholly_or_in_part_is_seen),
		cmocka_unit_test(nothing_fetched_is_nothing_seen),
		cmocka_unit_test(quick_neighbours_do_not_make_it_too_much),
		cmocka_unit_test(what_nothing_explains_is_none_of_these),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
