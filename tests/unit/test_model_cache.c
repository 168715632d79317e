/* SPDX-License-Identifier: MIT */
/* Caches, TLBs and pages of simulated machines against sequences worked out by hand. */
#include "target/model/mem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- policies: one set, keys are letters ---- */

/* Uses each letter in turn; returns who left ('.' when nobody did), one letter per use. */
static void play(enum xr_policy policy, uint64_t ways, const char *uses, char *left)
{
	struct xr_rng rng = {1};
	struct xr_array a;
	xr_array_init(&a, 1, ways, (int)policy, &rng);
	for (size_t i = 0; uses[i]; i++) {
		uint64_t *line = xr_array_find(&a, 0, (uint64_t)uses[i]);
		struct xr_victim victim = {0};
		if (line)
			xr_array_use(&a, 0, line);
		else
			xr_array_put(&a, 0, (uint64_t)uses[i], &victim);
		left[i] = victim.there ? (char)victim.key : '.';
		left[i + 1] = '\0';
	}
	xr_array_release(&a);
}

static void expect(enum xr_policy policy, uint64_t ways, const char *uses, const char *want)
{
	char left[64] = "";
	play(policy, ways, uses, left);
	assert_string_equal(left, want);
}

static void lru_evicts_the_one_used_longest_ago(void **state)
{
	(void)state;
	expect(XR_LRU, 4, "abcdaefgh", ".....bcda");
	expect(XR_LRU, 1, "abab", ".aba");
	expect(XR_LRU, 3, "abcabdabc", ".....c..d");
}

static void fifo_evicts_the_one_filled_longest_ago(void **state)
{
	(void)state;
	expect(XR_FIFO, 4, "abcdaefa", ".....abc");
}

static void plru_follows_its_tree(void **state)
{
	(void)state;
	/* after a b c d a: root points right, there left: c; then root left, there right: b; then d; then a */
	expect(XR_PLRU, 4, "abcdaefgh", ".....cbda");
	/* 3 of 4 leaves: after a b c a the tree points to the absent leaf, so its neighbour c goes */
	expect(XR_PLRU, 3, "abcad", "....c");
	/* 3 of 4 leaves, no reuse: c went last, so left half, its older one: a; then right half: c; then b */
	expect(XR_PLRU, 3, "abcdef", "...acb");
	expect(XR_PLRU, 1, "abc", ".ab");
}

static void nru_evicts_the_first_unused(void **state)
{
	(void)state;
	/* d fills the last: all others cleared. a used; e takes b's way, f takes c's and clears all others; g takes
	 * a's */
	expect(XR_NRU, 4, "abcdaefg", ".....bca");
}

static void srrip_evicts_the_first_distant(void **state)
{
	(void)state;
	/* a at 0 after its hit; counting up makes b c d distant: they go one by one; then a 2, e f g 3: e goes */
	expect(XR_SRRIP, 4, "abcdaefgh", ".....bcde");
	expect(XR_SRRIP, 2, "abcd", "..ab");
}

static void random_evicts_any_evenly(void **state)
{
	(void)state;
	struct xr_rng rng = {42};
	struct xr_array a;
	int gone[4] = {0};
	xr_array_init(&a, 1, 4, XR_RANDOM, &rng);
	for (uint64_t k = 0; k < 40004; k++) {
		struct xr_victim victim;
		uint64_t *line = xr_array_put(&a, 0, k, &victim);
		if (victim.there)
			gone[line - a.word]++;
	}
	for (int w = 0; w < 4; w++)
		assert_in_range(gone[w], 9500, 10500);
	xr_array_release(&a);
}

/* The machinery for many ways must do what the plain one does: compared with a naive list. */
static void many_ways_behave_like_few(void **state)
{
	(void)state;
	enum { WAYS = 100, KEYS = 140, STEPS = 20000 };
	struct xr_rng rng = {7};
	for (int fifo = 0; fifo < 2; fifo++) {
		struct xr_array a;
		uint64_t list[WAYS];
		int n = 0;
		xr_array_init(&a, 1, WAYS, fifo ? XR_FIFO : XR_LRU, &rng);
		for (int s = 0; s < STEPS; s++) {
			uint64_t key = xr_rng_below(&rng, KEYS);
			int at = 0;
			while (at < n && list[at] != key)
				at++;
			uint64_t *line = xr_array_find(&a, 0, key);
			bool hit = line != NULL;
			assert_true(hit == (at < n));
			struct xr_victim victim = {0};
			if (hit)
				xr_array_use(&a, 0, line);
			else
				xr_array_put(&a, 0, key, &victim);
			assert_true(victim.there == (at == n && n == WAYS));
			if (victim.there)
				assert_true(victim.key == list[0]);
			if (at == n && n == WAYS)
				at = 0;
			if (at == n)
				n++;
			else if (fifo && hit)
				continue;
			memmove(list + at, list + at + 1, (size_t)(n - 1 - at) * sizeof *list);
			list[n - 1] = key;
			if (xr_rng_below(&rng, 50) == 0) { /* and lines may be taken out */
				int out = (int)xr_rng_below(&rng, (uint64_t)n);
				xr_array_drop(&a, 0, xr_array_find(&a, 0, list[out]));
				memmove(list + out, list + out + 1, (size_t)(n - 1 - out) * sizeof *list);
				n--;
			}
		}
		xr_array_release(&a);
	}
}

/* ---- levels ---- */

static struct xr_machine two_levels(enum xr_inclusion inclusion)
{
	struct xr_machine m;
	xr_machine_init(&m);
	m.n_caches = 2;
	m.cache[0] = (struct xr_machine_cache){.name = "l1d",
	                                       .holds = XR_HOLDS_DATA,
	                                       .capacity = 128,
	                                       .line_bytes = 64,
	                                       .ways = 2,
	                                       .latency = 3,
	                                       .write_allocate = 1,
	                                       .write_back = 1,
	                                       .shared_by = 1};
	m.cache[1] = (struct xr_machine_cache){.name = "l2",
	                                       .holds = XR_HOLDS_BOTH,
	                                       .capacity = 256,
	                                       .line_bytes = 64,
	                                       .ways = 4,
	                                       .latency = 10,
	                                       .write_allocate = 1,
	                                       .write_back = 1,
	                                       .shared_by = 1,
	                                       .inclusion = (int)inclusion};
	m.memory_latency = 100;
	return m;
}

struct bench {
	struct xr_machine m;
	struct xr_mem *mem;
	struct xr_mem_buffer *b;
};

static void setup(struct bench *t, const struct xr_machine *m)
{
	t->m = *m;
	t->mem = xr_mem_new(&t->m, 3);
	t->b = xr_mem_buffer(t->mem, &(struct xr_buffer){1, 1 << 20, XR_SMALL}, false);
}

/* Levels met by accesses to lines named by letters; upper case: stores. */
static void levels(struct bench *t, const char *uses, const char *want)
{
	char met[64] = "";
	for (size_t i = 0; uses[i]; i++) {
		bool write = uses[i] < 'a';
		uint64_t line = (uint64_t)(uses[i] - (write ? 'A' : 'a'));
		met[i] = (char)('0' +
		                xr_mem_access(t->mem, 0, t->b, line * 64, write ? XR_USE_WRITE : XR_USE_READ).level);
	}
	assert_string_equal(met, want);
}

static bool holds(struct bench *t, char name, int level)
{
	return xr_mem_holds(t->mem, 0, t->b, (uint64_t)(name - 'a') * 64, XR_USE_READ, level);
}

static void a_level_without_inclusion_forgets_on_its_own(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	setup(&t, &m);
	/* a stays hot in the first level while the second, which never hears of it, throws it out for e */
	levels(&t, "abacadae", "22020202");
	assert_false(holds(&t, 'a', 1));
	levels(&t, "a", "0");
	/* b c d e are in the second level; a comes back from memory once, then 4 lines go round in it */
	levels(&t, "abcdabcdabcd", "011121111111");
	xr_mem_free(t.mem);
	setup(&t, &m);
	levels(&t, "abcdeabcdeabcde", "222222222222222"); /* 5 do not */
	xr_mem_free(t.mem);
}

static void what_leaves_an_inclusive_level_leaves_the_nearer_one(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = two_levels(XR_INCLUSIVE);
	setup(&t, &m);
	levels(&t, "abacadae", "22020202");
	assert_false(holds(&t, 'a', 1));
	assert_false(holds(&t, 'a', 0));
	levels(&t, "a", "2");
	xr_mem_free(t.mem);
}

static void an_exclusive_level_holds_what_left_the_nearer_one(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = two_levels(XR_EXCLUSIVE);
	setup(&t, &m);
	levels(&t, "ab", "22");
	assert_false(holds(&t, 'a', 1));
	levels(&t, "c", "2");
	assert_true(holds(&t, 'a', 1) && !holds(&t, 'a', 0));
	levels(&t, "a", "1");
	assert_true(!holds(&t, 'a', 1) && holds(&t, 'a', 0) && holds(&t, 'b', 1));
	xr_mem_free(t.mem);
	setup(&t, &m);
	/* 2 + 4 lines fit, 7 do not */
	levels(&t, "abcdefabcdefabcdef", "222222111111111111");
	levels(&t, "abcdefgabcdefgabcdefg", "111111222222222222222");
	xr_mem_free(t.mem);
}

static void stores_follow_the_write_policy(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	setup(&t, &m);
	levels(&t, "Aa", "20"); /* allocate: the store fetched it */
	assert_true(xr_mem_access(t.mem, 0, t.b, 0, XR_USE_WRITE).down == 0);
	levels(&t, "bc", "22"); /* a is dirty when it leaves: the second level keeps it */
	assert_true(holds(&t, 'a', 1));
	xr_mem_free(t.mem);

	m.cache[0].write_allocate = 0;
	setup(&t, &m);
	levels(&t, "Aa", "21"); /* no allocate here, but in the second level, which fetched it */
	assert_true(xr_mem_access(t.mem, 0, t.b, 64, XR_USE_WRITE).down == 10);
	assert_true(xr_mem_access(t.mem, 0, t.b, 0, XR_USE_WRITE).down == 0);
	xr_mem_free(t.mem);

	m = two_levels(XR_INCLUSION_NONE);
	m.cache[0].write_back = 0;
	setup(&t, &m);
	levels(&t, "Aa", "20");
	assert_true(xr_mem_access(t.mem, 0, t.b, 0, XR_USE_WRITE).down == 10); /* through, every time */
	xr_mem_free(t.mem);
}

static void sets_come_from_virtual_or_physical_addresses(void **state)
{
	(void)state;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	struct bench t;
	m.n_caches = 1;
	m.cache[0].capacity = 64 * 1024; /* direct mapped, 16 pages a way */
	m.cache[0].ways = 1;
	setup(&t, &m);
	for (int lap = 0; lap < 2; lap++)
		for (uint64_t page = 0; page < 16; page++)
			assert_int_equal(xr_mem_access(t.mem, 0, t.b, page * 4096, XR_USE_READ).level, lap ? 0 : 1);
	assert_int_equal(xr_mem_access(t.mem, 0, t.b, 16 * 4096, XR_USE_READ).level, 1);
	assert_int_equal(xr_mem_access(t.mem, 0, t.b, 0, XR_USE_READ).level, 1);
	xr_mem_free(t.mem);

	m.cache[0].index = XR_PHYSICAL; /* 16 random pages on 16 places: about 16 (1 - 1/16)^16 places stay free */
	setup(&t, &m);
	int missed = 0;
	for (int lap = 0; lap < 2; lap++)
		for (uint64_t page = 0; page < 16; page++)
			missed += lap && xr_mem_access(t.mem, 0, t.b, page * 4096, XR_USE_READ).level;
	for (uint64_t page = 0; page < 16; page++)
		missed += xr_mem_access(t.mem, 0, t.b, page * 4096, XR_USE_READ).level;
	assert_in_range(missed, 2, 30);
	xr_mem_free(t.mem);

	m.placement = XR_PLACE_CONTIGUOUS;
	setup(&t, &m);
	for (int lap = 0; lap < 2; lap++)
		for (uint64_t page = 0; page < 16; page++)
			assert_int_equal(xr_mem_access(t.mem, 0, t.b, page * 4096, XR_USE_READ).level, lap ? 0 : 1);
	xr_mem_free(t.mem);
}

static void hashed_sets_are_evenly_spread(void **state)
{
	(void)state;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	struct bench t;
	m.n_caches = 1;
	m.cache[0] = (struct xr_machine_cache){.name = "l3",
	                                       .holds = XR_HOLDS_BOTH,
	                                       .capacity = 3 * 64 * 64 * 8,
	                                       .line_bytes = 64,
	                                       .ways = 8,
	                                       .latency = 3,
	                                       .hash = 1,
	                                       .shared_by = 1,
	                                       .index = XR_PHYSICAL};
	setup(&t, &m);
	/* as many lines as the cache has, at a stride that would fill a few sets only: most stay */
	int hits = 0;
	for (int lap = 0; lap < 4; lap++)
		for (uint64_t i = 0; i < 192 * 8 / 2; i++)
			hits += lap == 3 &&
			        xr_mem_access(t.mem, 0, t.b, i * 1024 % (1 << 20) + i / 1024 * 64, XR_USE_READ).level ==
			                0;
	for (uint64_t i = 0; i < 192 * 8 / 2; i++)
		hits += xr_mem_access(t.mem, 0, t.b, i * 1024 % (1 << 20) + i / 1024 * 64, XR_USE_READ).level == 0;
	assert_true(hits > 192 * 8 / 2 * 0.85);
	xr_mem_free(t.mem);
}

/* ---- TLBs ---- */

static void a_tlb_miss_adds_the_penalty_of_the_last_level_that_missed(void **state)
{
	(void)state;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	struct bench t;
	m.n_tlbs = 2;
	m.tlb[0] = (struct xr_machine_tlb){.name = "d1", .holds = XR_HOLDS_DATA, .entries = 4, .ways = 2, .penalty = 7};
	m.tlb[1] =
		(struct xr_machine_tlb){.name = "d2", .holds = XR_HOLDS_BOTH, .entries = 8, .ways = 0, .penalty = 30};
	setup(&t, &m);
	const uint64_t pages[] = {0, 1, 2, 3, 0, 4, 0, 2, 4, 6, 8, 10, 12, 14, 16, 1, 0, 2};
	const double want[] = {30, 30, 30, 30, 0, 30, 0, 7, 7, 30, 30, 30, 30, 30, 30, 0, 30, 30};
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		double tlb = xr_mem_access(t.mem, 0, t.b, pages[i] * 4096, XR_USE_READ).tlb;
		if (tlb != want[i])
			fail_msg("page %d at %zu: %g, not %g", (int)pages[i], i, tlb, want[i]);
	}
	xr_mem_free(t.mem);
}

static void huge_pages_take_one_entry(void **state)
{
	(void)state;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	m.n_tlbs = 1;
	m.tlb[0] = (struct xr_machine_tlb){.name = "d1", .holds = XR_HOLDS_DATA, .entries = 4, .ways = 0, .penalty = 7};
	struct xr_mem *mem = xr_mem_new(&m, 1);
	struct xr_mem_buffer *small = xr_mem_buffer(mem, &(struct xr_buffer){1, 4 << 20, XR_SMALL}, false);
	struct xr_mem_buffer *huge = xr_mem_buffer(mem, &(struct xr_buffer){1, 4 << 20, XR_HUGE}, false);
	double small_cost = 0, huge_cost = 0;
	for (int i = 0; i < 100; i++) {
		small_cost += xr_mem_access(mem, 0, small, (uint64_t)i % 10 * 4096, XR_USE_READ).tlb;
		huge_cost += xr_mem_access(mem, 0, huge, (uint64_t)i % 10 * 4096, XR_USE_READ).tlb;
	}
	assert_true(small_cost == 700 && huge_cost == 7);
	xr_mem_free(mem);
}

/* ---- prefetchers ---- */

static struct xr_machine roomy(void)
{
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	m.cache[0].capacity = 4096;
	m.cache[0].ways = 8;
	m.cache[1].capacity = 65536;
	m.cache[1].ways = 8;
	return m;
}

static void prefetchers_insert_lines_nobody_asked_for(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = roomy();
	m.prefetch_adjacent = 1;
	setup(&t, &m);
	levels(&t, "abf", "212"); /* b came with a; f alone, and e with it */
	assert_true(holds(&t, 'e', 1) && !holds(&t, 'e', 0) && !holds(&t, 'g', 1));
	xr_mem_free(t.mem);

	m = roomy();
	m.prefetch_stream = 1;
	m.prefetch_distance = 2;
	setup(&t, &m);
	levels(&t, "ab", "22");
	assert_true(holds(&t, 'c', 1) && holds(&t, 'd', 1) && !holds(&t, 'e', 1));
	levels(&t, "cd", "11");
	assert_true(holds(&t, 'f', 1));
	xr_mem_free(t.mem);

	m = roomy();
	m.prefetch_stride = 1;
	setup(&t, &m);
	levels(&t, "ace", "222");
	assert_true(holds(&t, 'g', 0) && !holds(&t, 'f', 0));
	levels(&t, "gi", "00");
	levels(&t, "z", "2");
	xr_mem_free(t.mem);
}

static void interrupts_evict_lines_of_the_first_level(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = roomy();
	setup(&t, &m);
	int there = 0;
	for (uint64_t i = 0; i < 64; i++)
		xr_mem_access(t.mem, 0, t.b, i * 64, XR_USE_READ);
	xr_mem_interrupt(t.mem, 0, 64);
	for (uint64_t i = 0; i < 64; i++)
		there += xr_mem_holds(t.mem, 0, t.b, i * 64, XR_USE_READ, 0);
	assert_in_range(there, 12, 36); /* 64 (1 - 1/64)^64 = 23 */
	assert_true(xr_mem_holds(t.mem, 0, t.b, 0, XR_USE_READ, 1));
	xr_mem_free(t.mem);
}

/* ---- cores ---- */

static void cores_share_what_the_file_says(void **state)
{
	(void)state;
	struct xr_machine m = roomy();
	m.cores = 4;
	m.cache[1].shared_by = 2;
	struct xr_mem *mem = xr_mem_new(&m, 1);
	struct xr_mem_buffer *b = xr_mem_buffer(mem, &(struct xr_buffer){1, 65536, XR_SMALL}, false);
	assert_int_equal(xr_mem_access(mem, 0, b, 0, XR_USE_READ).level, 2);
	assert_int_equal(xr_mem_access(mem, 1, b, 0, XR_USE_READ).level, 1);
	assert_int_equal(xr_mem_access(mem, 2, b, 0, XR_USE_READ).level, 2);
	assert_int_equal(xr_mem_access(mem, 3, b, 0, XR_USE_READ).level, 1);
	xr_mem_free(mem);
}

static void frames_are_given_once(void **state)
{
	(void)state;
	struct xr_machine m = two_levels(XR_INCLUSION_NONE);
	m.memory_bytes = 4096 * 1000;
	m.huge_bytes = 0;
	m.n_caches = 1; /* one line per page of memory, direct mapped by page: a collision would be a miss */
	m.cache[0] = (struct xr_machine_cache){.name = "c",
	                                       .holds = XR_HOLDS_DATA,
	                                       .capacity = 4096 * 1024,
	                                       .line_bytes = 4096,
	                                       .ways = 1,
	                                       .latency = 1,
	                                       .index = XR_PHYSICAL,
	                                       .shared_by = 1};
	struct xr_mem *mem = xr_mem_new(&m, 9);
	struct xr_mem_buffer *b = xr_mem_buffer(mem, &(struct xr_buffer){1, 4096 * 1000, XR_SMALL}, false);
	int misses = 0;
	for (uint64_t i = 0; i < 2000; i++)
		misses += xr_mem_access(mem, 0, b, i % 1000 * 4096, XR_USE_READ).level;
	assert_int_equal(misses, 1000);
	assert_null(xr_mem_buffer(mem, &(struct xr_buffer){1, 4096 * 1001, XR_SMALL}, false));
	xr_mem_free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lru_evicts_the_one_used_longest_ago),
		cmocka_unit_test(fifo_evicts_the_one_filled_longest_ago),
		cmocka_unit_test(plru_follows_its_tree),
		cmocka_unit_test(nru_evicts_the_first_unused),
		cmocka_unit_test(srrip_evicts_the_first_distant),
		cmocka_unit_test(random_evicts_any_evenly),
		cmocka_unit_test(many_ways_behave_like_few),
		cmocka_unit_test(a_level_without_inclusion_forgets_on_its_own),
		cmocka_unit_test(what_leaves_an_inclusive_level_leaves_the_nearer_one),
		cmocka_unit_test(an_exclusive_level_holds_what_left_the_nearer_one),
		cmocka_unit_test(stores_follow_the_write_policy),
		cmocka_unit_test(sets_come_from_virtual_or_physical_addresses),
		cmocka_unit_test(hashed_sets_are_evenly_spread),
		cmocka_unit_test(a_tlb_miss_adds_the_penalty_of_the_last_level_that_missed),
		cmocka_unit_test(huge_pages_take_one_entry),
		cmocka_unit_test(prefetchers_insert_lines_nobody_asked_for),
		cmocka_unit_test(interrupts_evict_lines_of_the_first_level),
		cmocka_unit_test(cores_share_what_the_file_says),
		cmocka_unit_test(frames_are_given_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
