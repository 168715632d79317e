/* SPDX-License-Identifier: MIT */
/* How lines find their sets on simulated machines, and what a way predictor does to them. */
#include "target/model/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct bench {
	struct xr_machine m;
	struct xr_mem *mem;
	struct xr_mem_buffer *b;
};

/* A machine with one cache, as the keys say; memory in a row, so that physical addresses are known. */
static void setup(struct bench *t, const char *keys)
{
	struct xr_error err;
	char text[2048];
	snprintf(text, sizeof text,
	         "[target]\nkind = simulated\n[cache l1d]\nholds = data\nlatency = 4\n%s\n[memory]\nlatency = 100\n"
	         "[page]\nplacement = contiguous\n",
	         keys);
	if (xr_machine_parse(&t->m, "m.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
	t->mem = xr_mem_new(&t->m, 3);
	t->b = xr_mem_buffer(t->mem, &(struct xr_buffer){1, 64 << 20, XR_SMALL}, false);
}

static struct xr_met use(struct bench *t, uint64_t offset)
{
	return xr_mem_access(t->mem, 0, t->b, offset, XR_USE_READ);
}

/* Goes over n places twice: how many miss the second time? */
static int missing(struct bench *t, const uint64_t *place, int n)
{
	int missed = 0;
	for (int lap = 0; lap < 3; lap++)
		for (int i = 0; i < n; i++)
			missed += use(t, place[i]).level > 0 && lap == 2;
	return missed;
}

static void exactly_the_lines_of_one_xor_class_conflict(void **state)
{
	(void)state;
	struct bench t;
	/* 16 sets of 2; bit 0 of the set mixes a bit inside a page with two above it */
	setup(&t, "capacity = 2K\nways = 2\nindex_bits = 6^12^15 7^13 8^11 9");
	struct xr_rng rng = {9};
	for (int round = 0; round < 200; round++) {
		uint64_t place[3], set[3];
		bool lines_differ = true;
		for (int i = 0; i < 3; i++) {
			place[i] = xr_rng_below(&rng, 1 << 12) << 6;
			const uint64_t a = place[i];
			set[i] = ((a >> 6 ^ a >> 12 ^ a >> 15) & 1) | ((a >> 7 ^ a >> 13) & 1) << 1 |
			         ((a >> 8 ^ a >> 11) & 1) << 2 | (a >> 9 & 1) << 3;
			for (int k = 0; k < i; k++)
				lines_differ &= place[k] != place[i];
		}
		if (!lines_differ)
			continue;
		if (round % 2) { /* chance alone seldom makes three meet */
			place[1] = place[0] ^ (1 << 6 | 1 << 12);
			set[1] = set[0];
			place[2] = place[0] ^ (1 << 12 | 1 << 15);
			set[2] = set[0];
		}
		bool conflict = set[0] == set[1] && set[1] == set[2];
		assert_int_equal(missing(&t, place, 3) > 0, conflict);
	}
	xr_mem_free(t.mem);
}

static void pages_have_more_classes_than_a_way_has_pages(void **state)
{
	(void)state;
	struct bench t;
	/* 64 sets x 8 of 64 bytes: a way is one page, so of plain pages every one collides. Here six page bits
	 * are mixed in. */
	setup(&t, "capacity = 32K\nways = 8\nindex_bits = 6^12 7^13 8^14 9^15 10^16 11^17");
	uint64_t place[600];
	for (int i = 0; i < 600; i++)
		place[i] = (uint64_t)i << 12;
	assert_int_equal(missing(&t, place, 512), 0); /* 64 classes x 8 */
	assert_true(missing(&t, place, 520) > 0);
	for (int i = 0; i < 600; i++)
		place[i] = (uint64_t)i << 18; /* above all that counts: one class */
	assert_int_equal(missing(&t, place, 8), 0);
	assert_int_equal(missing(&t, place, 9), 9);
	xr_mem_free(t.mem);
}

static void a_table_says_what_its_bits_say(void **state)
{
	(void)state;
	struct xr_rng rng = {4};
	static struct xr_index_table table;
	for (int round = 0; round < 200; round++) {
		struct xr_index_bits bits = {.n = 1 + (int)xr_rng_below(&rng, XR_INDEX_BITS)};
		const unsigned low = (unsigned)xr_rng_below(&rng, 60),
			       high = low + (unsigned)xr_rng_below(&rng, 64 - low);
		for (int i = 0; i < bits.n; i++)
			bits.mask[i] = xr_rng_next(&rng) >> (63 - high) >> low << low;
		xr_index_table_init(&table, &bits);
		for (int i = 0; i < 50; i++) {
			const uint64_t address = xr_rng_next(&rng);
			assert_int_equal(xr_index_look(&table, address), xr_index_of(&bits, address));
		}
	}
}

static void any_number_of_sets_is_taken_modulo(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "capacity = 960\nways = 3\nmodulo = yes"); /* 5 sets */
	uint64_t place[4];
	for (int i = 0; i < 4; i++)
		place[i] = (uint64_t)i * 5 * 64;
	const uint64_t base = t.b->address / 64 % 5;
	assert_true(base < 5);
	assert_int_equal(missing(&t, place, 3), 0);
	assert_int_equal(missing(&t, place, 4), 4);
	place[3] += 64; /* the next set */
	assert_int_equal(missing(&t, place, 4), 0);
	xr_mem_free(t.mem);
}

static void slices_are_plain_inside(void **state)
{
	(void)state;
	struct bench t;
	/* 2 slices of 8 sets of 2 */
	setup(&t, "capacity = 2K\nways = 2\nslices = 2\nslice_bits = 9^10^20");
	uint64_t apart[4] = {0, 1 << 9, 1 << 11 | 1 << 9, 1 << 11}, together[3] = {0, 1 << 9 | 1 << 10, 1 << 11};
	assert_int_equal(missing(&t, apart, 4), 0);    /* two in each slice */
	assert_int_equal(missing(&t, together, 3), 3); /* three in one */
	xr_mem_free(t.mem);
	/* a hash that nobody knows, three slices: as many lines as there are never all fit, half of them mostly do */
	setup(&t, "capacity = 192K\nways = 16\nslices = 3");
	static uint64_t place[3072];
	for (int i = 0; i < 3072; i++)
		place[i] = (uint64_t)i << 6;
	assert_true(missing(&t, place, 3072) > 300);
	assert_true(missing(&t, place, 1536) < 75);
	xr_mem_free(t.mem);
}

static void lines_with_one_tag_push_each_other_out(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "capacity = 32K\nways = 8\nway_bits = 12^20 13^21 14^22 15^23");
	uint64_t twins[2] = {0, 1 << 12 | 1 << 20}, strangers[2] = {0, 1 << 12},
		 other_set[2] = {0, 1 << 12 | 1 << 20 | 64};
	assert_int_equal(missing(&t, twins, 2), 2);
	assert_int_equal(missing(&t, strangers, 2), 0);
	assert_int_equal(missing(&t, other_set, 2), 0);
	/* eight of one set with eight tags stay; of sixteen tags over all sets everything fits */
	uint64_t place[512];
	for (int i = 0; i < 512; i++)
		place[i] = (uint64_t)i << 6;
	assert_int_equal(missing(&t, place, 512), 0);
	xr_mem_free(t.mem);
}

static void misses_in_the_set_just_used_cost_more(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "capacity = 4K\nways = 1\nsame_set_cycles = 3");
	assert_true(use(&t, 0).latency == 100);
	assert_true(use(&t, 4096).latency == 103);
	assert_true(use(&t, 64).latency == 100);
	assert_true(use(&t, 0).latency == 100);
	assert_true(use(&t, 0).latency == 4); /* hits do not */
	xr_mem_free(t.mem);
}

static void a_smaller_machine_keeps_what_fits(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "capacity = 512K\nways = 8\nindex_bits = 6^16 7^17 8^18 9^19 10^20 11^21 12^22 13^23 14^24 15^25\n"
	          "policy = qlru_h00_m1_r0_u1");
	for (uint64_t by = 2; by <= 4096; by *= 4) {
		struct xr_machine small = xr_machine_scaled(&t.m, by, 64);
		struct xr_error err = {0};
		assert_int_equal(small.cache[0].capacity, t.m.cache[0].capacity / by);
		if (xr_machine_check(&small, "small", &err))
			fail_msg("%s", err.text);
	}
	xr_mem_free(t.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_lines_of_one_xor_class_conflict),
		cmocka_unit_test(pages_have_more_classes_than_a_way_has_pages),
		cmocka_unit_test(a_table_says_what_its_bits_say),
		cmocka_unit_test(any_number_of_sets_is_taken_modulo),
		cmocka_unit_test(slices_are_plain_inside),
		cmocka_unit_test(lines_with_one_tag_push_each_other_out),
		cmocka_unit_test(misses_in_the_set_just_used_cost_more),
		cmocka_unit_test(a_smaller_machine_keeps_what_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
