/* SPDX-License-Identifier: MIT */
/* Replacement policies of the one array, against plain simulations that share no code with it. */
#include "infer/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { WAYS_MAX = 16, USES = 700, EMPTY = -1 };

static int named(const char *name)
{
	int policy = xr_policy_parse(name);
	if (policy < 0)
		fail_msg("%s", name);
	return policy;
}

static void names_are_read_and_written_the_same(void **state)
{
	(void)state;
	static const char *const good[] = {"lru",
	                                   "plru",
	                                   "nru",
	                                   "fifo",
	                                   "random",
	                                   "srrip",
	                                   "mru_n",
	                                   "nru_late",
	                                   "lru3plru4",
	                                   "lru1plru16",
	                                   "lru16plru4",
	                                   "qlru_h00_m1_r0_u1",
	                                   "qlru_h11_m1_r1_u2",
	                                   "qlru_h21_m2_r0_u0_umo",
	                                   "qlru_h20_mr31_r2_u1",
	                                   "qlru_h10_m3_r1_u3_umo"};
	static const char *const bad[] = {"",
	                                  "LRU",
	                                  "lru3",
	                                  "lru3plru5",
	                                  "lru0plru4",
	                                  "lru17plru4",
	                                  "lru3plru4x",
	                                  "lru03plru4",
	                                  "qlru",
	                                  "qlru_h00_m1_r0_u2",
	                                  "qlru_h12_m1_r0_u0",
	                                  "qlru_h00_m1_r3_u0",
	                                  "qlru_h00_mr11_r0_u0",
	                                  "qlru_h00_mr13_r0_u0",
	                                  "qlru_h00_m1_r0_u0_umox",
	                                  "qlru_h00_m1_r0_u0 "};
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		char name[XR_POLICY_TEXT];
		xr_policy_text(named(good[i]), name);
		assert_string_equal(name, good[i]);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		if (xr_policy_parse(bad[i]) >= 0)
			fail_msg("'%s' is taken", bad[i]);
	assert_int_equal(named("mru"), XR_NRU);
}

/* ---- one set as a list of keys and ages ---- */

struct set {
	int ways, key[WAYS_MAX], age[WAYS_MAX];
};

static int index_of(const int *list, int n, int value)
{
	for (int i = 0; i < n; i++)
		if (list[i] == value)
			return i;
	return -1;
}

static int most(const struct set *s, int but)
{
	int max = -1;
	for (int i = 0; i < s->ways; i++)
		if (i != but && s->age[i] > max)
			max = s->age[i];
	return max;
}

static void grow(struct set *s, int rule, int used)
{
	int add = 0, but = rule == 1 || rule == 3 ? used : -1;
	if (rule <= 1)
		add = 3 - most(s, rule == 1 ? used : -1);
	else if (index_of(s->age, s->ways, 3) < 0)
		add = 1;
	for (int i = 0; i < s->ways; i++)
		if (i != but)
			s->age[i] += add;
}

/* As the notation has it (uops.info); true: a hit. */
static bool qlru(struct set *s, const char *name, int key)
{
	int h3, h2, m, r, u, at = index_of(s->key, s->ways, key);
	bool umo = strstr(name, "_umo");
	assert_int_equal(sscanf(name, "qlru_h%1d%1d_m%d_r%d_u%d", &h3, &h2, &m, &r, &u), 5);
	bool hit = at >= 0;
	if (hit) {
		s->age[at] = s->age[at] == 3 ? h3 : s->age[at] == 2 ? h2 : 0;
	} else {
		if (umo)
			grow(s, u, -1);
		at = index_of(s->key, s->ways, EMPTY);
		for (int i = 0; r == 2 && i < s->ways; i++)
			at = s->key[i] == EMPTY ? i : at;
		if (at < 0)
			at = index_of(s->age, s->ways, 3);
		if (at < 0)
			at = 0;
		s->key[at] = key;
		s->age[at] = m;
	}
	if (!umo)
		grow(s, u, at);
	return hit;
}

static void against_the_notation(const char *name, int ways, struct xr_rng *rng)
{
	struct xr_array a;
	struct set s = {.ways = ways};
	for (int i = 0; i < ways; i++) {
		s.key[i] = EMPTY;
		s.age[i] = 3;
	}
	xr_array_init(&a, 1, (uint64_t)ways, named(name), rng);
	for (int i = 0; i < USES; i++) {
		int key = (int)xr_rng_below(rng, (uint64_t)ways * 2);
		uint64_t *line = xr_array_find(&a, 0, (uint64_t)key);
		struct xr_victim victim;
		bool hit = qlru(&s, name, key);
		if (hit != (line != NULL))
			fail_msg("%s, %d ways, use %d: %s", name, ways, i, hit ? "should hit" : "should miss");
		if (line)
			xr_array_use(&a, 0, line);
		else
			xr_array_put(&a, 0, (uint64_t)key, &victim);
	}
	xr_array_release(&a);
}

static void qlru_does_what_its_notation_says(void **state)
{
	(void)state;
	static const char *const hits[] = {"21", "20", "11", "10", "00"};
	struct xr_rng rng = {7};
	for (int h = 0; h < 5; h++)
		for (int m = 0; m < 4; m++)
			for (int r = 0; r < 3; r++)
				for (int u = 0; u < (r == 1 ? 4 : 2); u++)
					for (int umo = 0; umo < 2; umo++) {
						char name[40];
						snprintf(name, sizeof name, "qlru_h%s_m%d_r%d_u%d%s", hits[h], m, r, u,
						         umo ? "_umo" : "");
						against_the_notation(name, 4, &rng);
						against_the_notation(name, 11, &rng);
					}
}

static void srrip_is_one_of_them(void **state)
{
	(void)state;
	struct xr_rng rng = {3};
	struct xr_array a, b;
	xr_array_init(&a, 1, 8, XR_SRRIP, &rng);
	xr_array_init(&b, 1, 8, named("qlru_h00_m2_r0_u0_umo"), &rng);
	for (int i = 0; i < USES; i++) {
		uint64_t key = xr_rng_below(&rng, 14), *x = xr_array_find(&a, 0, key), *y = xr_array_find(&b, 0, key);
		struct xr_victim victim;
		assert_true(!x == !y);
		if (x) {
			xr_array_use(&a, 0, x);
			xr_array_use(&b, 0, y);
		} else {
			xr_array_put(&a, 0, key, &victim);
			xr_array_put(&b, 0, key, &victim);
		}
	}
	xr_array_release(&a);
	xr_array_release(&b);
}

/* ---- by hand ---- */

/* Uses each letter in turn; who left ('.' when nobody did), one letter per use. */
static void expect(const char *policy, uint64_t ways, const char *uses, const char *want)
{
	struct xr_rng rng = {1};
	struct xr_array a;
	char left[64] = "";
	xr_array_init(&a, 1, ways, named(policy), &rng);
	for (size_t i = 0; uses[i]; i++) {
		uint64_t *line = xr_array_find(&a, 0, (uint64_t)uses[i]);
		struct xr_victim victim = {0};
		if (line)
			xr_array_use(&a, 0, line);
		else
			xr_array_put(&a, 0, (uint64_t)uses[i], &victim);
		left[i] = victim.there ? (char)victim.key : '.';
	}
	assert_string_equal(left, want);
	xr_array_release(&a);
}

static void groups_are_lru_of_plru(void **state)
{
	(void)state;
	/* groups ab cd ef. The oldest group is ab, in it the one not used last, a; then cd: c; then ef: e; then the
	 * first again: it holds g b, g was used last: b. */
	expect("lru3plru2", 6, "abcdefghij", "......aceb");
	/* a hit makes its group the youngest: after b the oldest is cd */
	expect("lru3plru2", 6, "abcdefbgh", ".......ce");
	/* one group is a tree of its own, many groups of two are nearly lru */
	expect("lru1plru4", 4, "abcdaefgh", ".....cbda");
	expect("plru", 4, "abcdaefgh", ".....cbda");
}

static void nru_and_its_kin_differ_in_when_bits_are_cleared(void **state)
{
	(void)state;
	/* nru: d sets the last bit, so that a b c are cleared and leave in turn; g sets the last, so e is clear:
	 * it is next */
	expect("nru", 4, "abcdefgh", "....abce");
	/* uses while the set fills do not count: all bits are clear, and d leaves before anybody new does */
	expect("mru_n", 4, "abcdefgh", "....abcd");
	expect("nru", 4, "abcdaefg", ".....bca");
	expect("mru_n", 4, "abcdaefg", ".....bcd");
	/* late: when all are set a miss clears them, and takes the first */
	expect("nru_late", 4, "abcdaefg", ".....abc");
	expect("nru_late", 4, "abcdebfa", "....a.cd");
}

/* ---- adaptive ---- */

static double misses(struct xr_array *a, uint64_t sets, uint64_t lines, int laps, uint64_t from)
{
	double missed = 0, n = 0;
	for (int lap = 0; lap < laps; lap++)
		for (uint64_t key = 0; key < lines; key++)
			for (uint64_t set = 0; set < sets; set++) {
				uint64_t *line = xr_array_find(a, set, from + key);
				struct xr_victim victim;
				if (line)
					xr_array_use(a, set, line);
				else
					xr_array_put(a, set, from + key, &victim);
				n += lap > laps / 2;
				missed += lap > laps / 2 && !line;
			}
	return missed / n;
}

static void followers_follow_who_misses_less(void **state)
{
	(void)state;
	/* A lap that is too long by a half: where new lines are young everything misses; where they are old a
	 * part stays. */
	enum { SETS = 64, WAYS = 8 };
	struct xr_rng rng = {5};
	const int young = named("qlru_h00_m0_r0_u0"), old = named("qlru_h00_mr30_r0_u0");
	struct xr_array a;
	for (int turned = 0; turned < 2; turned++) {
		xr_array_init(&a, SETS, WAYS, turned ? old : young, &rng);
		double alone = misses(&a, SETS, WAYS * 3 / 2, 60, 0);
		xr_array_release(&a);
		xr_array_init(&a, SETS, WAYS, turned ? old : young, &rng);
		xr_array_adapt(&a, turned ? young : old, 4);
		double adapted = misses(&a, SETS, WAYS * 3 / 2, 60, 0);
		xr_array_release(&a);
		if (turned)
			assert_true(alone < 0.7 && adapted < 0.75);
		else
			assert_true(alone > 0.9 && adapted < 0.75);
	}
}

static void some_keys_may_have_but_a_part_of_a_set(void **state)
{
	(void)state;
	struct xr_rng rng = {2};
	struct xr_array a;
	struct xr_victim victim;
	uint32_t n;
	xr_array_init(&a, 2, 4, XR_LRU, &rng);
	for (uint64_t key = 0; key < 4; key++)
		xr_array_put(&a, 1, key, &victim);
	assert_int_equal(*xr_array_oldest_of(&a, 1, 1, 1, &n) & XR_LINE_KEY, 1);
	assert_int_equal(n, 2);
	xr_array_use(&a, 1, xr_array_find(&a, 1, 1));
	assert_int_equal(*xr_array_oldest_of(&a, 1, 1, 1, &n) & XR_LINE_KEY, 3);
	assert_null(xr_array_oldest_of(&a, 0, 1, 1, &n));
	xr_array_release(&a);
}

/* Misses of a lap over `lines` lines. */
static int lap(struct xr_array *a, uint64_t lines)
{
	struct xr_victim victim;
	int misses = 0;
	for (uint64_t key = 1; key <= lines; key++) {
		uint64_t *line = xr_array_find(a, 0, key);
		misses += !line;
		if (line)
			xr_array_use(a, 0, line);
		else
			xr_array_put(a, 0, key, &victim);
	}
	return misses;
}

static void a_set_as_it_was_goes_on_as_it_did(void **state)
{
	static const char *const names[] = {"lru", "plru", "nru", "srrip", "nru_late", "qlru_h11_m1_r0_u0"};
	struct xr_rng rng = {1};
	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct xr_array a;
		struct xr_array_past past = {0};
		int misses = 0, laps = 0;
		xr_array_init(&a, 1, 8, named(names[i]), &rng);
		do
			misses = lap(&a, 11);
		while (!xr_array_repeats(&a, &past) && ++laps < 100);
		for (int k = 0; k < 20 && laps < 100; k++) {
			assert_int_equal(lap(&a, 11), misses);
			assert_true(xr_array_repeats(&a, &past));
		}
		assert_true(laps < 100 || strcmp(names[i], "lru") != 0); /* others may never come round */
		xr_array_past_release(&past);
		xr_array_release(&a);
	}
}

static void where_chance_decides_nothing_is_said_to_repeat(void **state)
{
	struct xr_rng rng = {1};
	struct xr_array a;
	struct xr_array_past past = {0};
	(void)state;
	xr_array_init(&a, 1, 8, XR_RANDOM, &rng);
	for (int i = 0; i < 4; i++) { /* all stay, and yet */
		lap(&a, 8);
		assert_false(xr_array_repeats(&a, &past));
	}
	xr_array_past_release(&past);
	xr_array_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_read_and_written_the_same),
		cmocka_unit_test(qlru_does_what_its_notation_says),
		cmocka_unit_test(srrip_is_one_of_them),
		cmocka_unit_test(groups_are_lru_of_plru),
		cmocka_unit_test(nru_and_its_kin_differ_in_when_bits_are_cleared),
		cmocka_unit_test(followers_follow_who_misses_less),
		cmocka_unit_test(some_keys_may_have_but_a_part_of_a_set),
		cmocka_unit_test(a_set_as_it_was_goes_on_as_it_did),
		cmocka_unit_test(where_chance_decides_nothing_is_said_to_repeat),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
