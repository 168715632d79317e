/* SPDX-License-Identifier: MIT */
/* Belief, noise and the one array against curves of real cores: the true number of entries or ways wins, and
 * "none of these" does not; where the truth is not among the hypotheses, it does. */
#include "../lib/curves.h"

#include "infer/array.h"
#include "infer/belief.h"
#include "infer/noise.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

/* Share of misses when n keys go round and round, in random order, through one set of so many ways. */
static double misses(int policy, uint32_t ways, uint32_t n)
{
	enum { LAPS = 40, WARM = 10 };
	struct xr_rng rng = {n * 1000 + ways};
	struct xr_array array;
	uint32_t order[512], missed = 0, all = 0;
	xr_array_init(&array, 1, ways, policy, &rng);
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = n; i > 1; i--) {
		uint32_t j = (uint32_t)xr_rng_below(&rng, i), keep = order[i - 1];
		order[i - 1] = order[j];
		order[j] = keep;
	}
	for (int lap = 0; lap < LAPS; lap++)
		for (uint32_t i = 0; i < n; i++) {
			uint64_t *line = xr_array_find(&array, 0, order[i]);
			struct xr_victim victim;
			if (line)
				xr_array_use(&array, 0, line);
			else
				xr_array_put(&array, 0, order[i], &victim);
			missed += lap >= WARM && !line;
			all += lap >= WARM;
		}
	xr_array_release(&array);
	return (double)missed / all;
}

/* The posterior over numbers of ways for a curve of keys in one set, hits and misses costing what its two ends say. */
static size_t decide(const struct curve *c, double most, const uint32_t *ways, size_t n, double *p)
{
	struct xr_arena arena;
	struct xr_noise noise = {.sigma = 0.02, .tail = 0.1, .scale = 0.1, .anything = 0.01};
	double log[16], low = c->y[0], high = c->y[0];
	size_t points = 0;
	xr_arena_init(&arena);
	struct xr_belief belief = xr_belief_new(&arena, n, NULL);
	for (size_t i = 0; i < c->n && c->x[i] <= most; i++) {
		low = fmin(low, c->y[i]);
		high = fmax(high, c->y[i]);
		points++;
	}
	for (size_t i = 0; i < points; i++) {
		for (size_t h = 0; h < n; h++)
			log[h] = xr_noise_log(&noise, low + (high - low) * misses(XR_LRU, ways[h], (uint32_t)c->x[i]),
			                      c->y[i], 0.05);
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, low / 2, 2 * high, c->y[i]), 1);
	}
	size_t best = xr_belief_best(&belief, p);
	xr_arena_release(&arena);
	return best;
}

static void says(const struct curve *c, double most, const uint32_t *ways, size_t n, uint32_t truth)
{
	double p;
	assert_true(c->n >= 6);
	size_t best = decide(c, most, ways, n, &p);
	print_message("# %u of %zu points, p %.3f\n", best < n ? ways[best] : 0, c->n, p);
	assert_true(best < n);
	assert_int_equal(ways[best], truth);
	assert_true(p > 0.9);
}

static const uint32_t entries[] = {32, 48, 56, 60, 64, 72, 80, 96, 128};
static const uint32_t some[] = {4, 5, 6, 7, 8, 10, 12, 16};

static void first_data_tlb_of_zen3(void **state)
{
	(void)state;
	struct curve c = curve_read("zen3/data_pages.csv", "stride_pages=1,memory=small", "pages");
	says(&c, 512, entries, sizeof entries / sizeof *entries, 64);
}

static void ways_of_the_second_tlb_of_zen3(void **state)
{
	(void)state;
	struct curve c = curve_read("zen3/data_page_sets.csv", "stride_pages=1024,memory=small", "pages_per_set");
	for (size_t i = 0; i + 1 < c.n; i++) { /* less what the first TLB has */
		c.x[i] = c.x[i + 1];
		c.y[i] = c.y[i + 1];
	}
	c.n--;
	says(&c, 20, some, sizeof some / sizeof *some, 8);
}

static void ways_of_the_code_cache_of_zen3(void **state)
{
	(void)state;
	struct curve c = curve_read("zen3/code_lines_foreseen.csv", "sets=64,filler_bytes=0", "lines_per_set");
	says(&c, 14, some, sizeof some / sizeof *some, 8);
}

static void what_is_not_among_the_hypotheses_is_none_of_them(void **state)
{
	(void)state;
	static const uint32_t wrong[] = {16, 24, 160, 200};
	struct curve c = curve_read("zen3/data_pages.csv", "stride_pages=1,memory=small", "pages");
	double p;
	assert_int_equal(decide(&c, 512, wrong, 4, &p), 4);
	assert_true(p > 0.5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_data_tlb_of_zen3),
		cmocka_unit_test(ways_of_the_second_tlb_of_zen3),
		cmocka_unit_test(ways_of_the_code_cache_of_zen3),
		cmocka_unit_test(what_is_not_among_the_hypotheses_is_none_of_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
