/* SPDX-License-Identifier: MIT */
/* Which policy explains times: every candidate, with noise, and such as none explains. */
#include "infer/replacement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SEQUENCES = 32 };

/* Times as a machine of this policy has them (-1: of no policy), and what is found of them. */
static struct xr_replacement find(int truth, size_t ways, double noisy, uint64_t seed, bool all)
{
	static int policy[XR_CANDIDATES];
	struct xr_arena arena = {0};
	struct xr_rng rng = {seed};
	struct xr_sequence sequence[SEQUENCES];
	double time[SEQUENCES];
	size_t n = xr_replacement_candidates(ways, all, policy), blocks;
	double *misses = xr_arena_array(&arena, double, n *SEQUENCES);
	for (size_t i = 0; i < SEQUENCES; i++) {
		sequence[i] = xr_sequence_draw(&arena, &rng, ways, (int)(i % 2), 8, &blocks);
		double missed =
			truth < 0 ? 20 + 12 * xr_rng_unit(&rng) : xr_sequence_misses(&sequence[i], truth, ways, &rng);
		time[i] = (200 + 30 * (double)(i % 2) + 10 * missed) *
		          (1 + noisy * (xr_rng_unit(&rng) + xr_rng_unit(&rng) - 1));
		for (size_t h = 0; h < n; h++)
			misses[h * SEQUENCES + i] = xr_sequence_misses(&sequence[i], policy[h], ways, &rng);
	}
	struct xr_replacement_seen seen = {.time = time,
	                                   .n = SEQUENCES,
	                                   .n_bases = 2,
	                                   .noise = {.sigma = noisy, .tail = 0.05, .scale = 0.1, .anything = 0.01},
	                                   .cost_least = 4,
	                                   .cost_most = 25};
	struct xr_replacement found = xr_replacement_find(&arena, policy, n, misses, &seen, NULL);
	xr_arena_release(&arena);
	return found;
}

static void plain_policies_are_told_apart(void **state)
{
	static const char *const names[] = {"lru", "fifo", "plru", "random", "nru", "srrip", "lru2plru4"};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		for (int noisy = 0; noisy < 2; noisy++) {
			int truth = xr_policy_parse(names[i]);
			struct xr_replacement found = find(truth, 8, noisy ? 0.01 : 0.0005, 5 + i, false);
			char name[XR_POLICY_TEXT] = "none";
			if (found.policy >= 0)
				xr_policy_text(found.policy, name);
			bool twin = truth == xr_policy_parse("lru2plru4") &&
			            found.policy == XR_PLRU; /* the same at 8 ways */
			if ((found.policy != truth && !twin) || found.p < 0.9)
				fail_msg("%s (%g), not %s", name, found.p, names[i]);
		}
}

static void odd_ways_and_groups_are_no_trouble(void **state)
{
	(void)state;
	assert_int_equal(find(XR_LRU, 12, 0.001, 3, false).policy, XR_LRU);
	assert_int_equal(find(xr_policy_parse("lru3plru4"), 12, 0.001, 3, false).policy, xr_policy_parse("lru3plru4"));
	assert_int_equal(find(XR_FIFO, 5, 0.001, 3, false).policy, XR_FIFO);
}

static void ages_of_two_bits_are_a_family(void **state)
{
	(void)state;
	struct xr_replacement found = find(xr_policy_parse("qlru_h11_m1_r0_u0"), 8, 0.001, 3, true);
	assert_true(found.policy >= 0 && xr_policy_kind(found.policy) == XR_QLRU && found.family > 0.9);
}

static void times_of_no_policy_are_explained_by_none(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct xr_replacement found = find(-1, 8, 0.001, seed, false);
		assert_true(found.policy < 0 || found.off > 1);
	}
}

/* Two names for one policy would share what is believed of it. */
static void every_candidate_is_there_once(void **state)
{
	(void)state;
	for (size_t ways = 1; ways <= 64; ways++)
		for (int all = 0; all < 2; all++) {
			int policy[XR_CANDIDATES];
			size_t n = xr_replacement_candidates(ways, all, policy);
			for (size_t i = 0; i < n; i++)
				for (size_t k = 0; k < i; k++)
					assert_int_not_equal(policy[i], policy[k]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_candidate_is_there_once),
		cmocka_unit_test(plain_policies_are_told_apart),
		cmocka_unit_test(odd_ways_and_groups_are_no_trouble),
		cmocka_unit_test(ages_of_two_bits_are_a_family),
		cmocka_unit_test(times_of_no_policy_are_explained_by_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
