/* SPDX-License-Identifier: MIT */
/* TLBs with the habits of real ones, walks through page tables, and hosts below: what each does to an access. */
#include "target/model/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PAGE = 4096 };

struct bench {
	struct xr_machine m;
	struct xr_mem *mem;
	struct xr_mem_buffer *data, *code, *huge;
};

static void setup(struct bench *t, const char *keys)
{
	struct xr_error err;
	char text[2048];
	snprintf(text, sizeof text, "[target]\nkind = simulated\n[memory]\nlatency = 100\n%s", keys);
	if (xr_machine_parse(&t->m, "m.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
	t->mem = xr_mem_new(&t->m, 3);
	t->data = xr_mem_buffer(t->mem, &(struct xr_buffer){1, UINT64_C(1) << 30, XR_SMALL}, false);
	t->code = xr_mem_buffer(t->mem, &(struct xr_buffer){2, UINT64_C(1) << 28, XR_SMALL}, true);
	t->huge = xr_mem_buffer(t->mem, &(struct xr_buffer){3, UINT64_C(1) << 30, XR_HUGE}, false);
}

/* TLBs that miss, of the n pages `apart` pages apart, once they have been seen. */
static int missed(struct bench *t, struct xr_mem_buffer *b, enum xr_use use, int n, uint64_t apart)
{
	int misses = 0;
	for (int lap = 0; lap < 3; lap++)
		for (int i = 0; i < n; i++) {
			const struct xr_met met = xr_mem_access(t->mem, 0, b, (uint64_t)i * apart * PAGE, use);
			misses += lap == 2 && met.tlb_level > 0;
		}
	return misses;
}

static int data_missed(struct bench *t, int n, uint64_t apart)
{
	return missed(t, t->data, XR_USE_READ, n, apart);
}

/* ---- index ---- */

static void an_index_with_a_gap_shows_at_the_strides_it_should(void **state)
{
	(void)state;
	struct bench t;
	/* 256 sets x 8: page-number bits 0 to 6 and 9, as one real core has it */
	setup(&t, "[tlb d]\nentries = 2048\nways = 8\nindex_bits = 0 1 2 3 4 5 6 9\n");
	assert_int_equal(data_missed(&t, 32, 64), 0);
	assert_true(data_missed(&t, 33, 64) > 0);
	for (uint64_t apart = 128; apart <= 512; apart *= 2) {
		assert_int_equal(data_missed(&t, 16, apart), 0);
		assert_true(data_missed(&t, 17, apart) > 0);
	}
	assert_int_equal(data_missed(&t, 8, 1024), 0);
	assert_true(data_missed(&t, 9, 1024) > 0);
	xr_mem_free(t.mem);
}

static void a_folded_index_spreads_what_a_plain_one_piles_up(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[tlb d]\nentries = 64\nways = 4\nindex_bits = 0^4 1^5 2^6 3^7\n");
	assert_int_equal(data_missed(&t, 64, 16), 0); /* all sets, four each */
	assert_int_equal(data_missed(&t, 64, 1), 0);
	assert_int_equal(data_missed(&t, 5, 256), 5); /* one set */
	xr_mem_free(t.mem);
}

/* ---- what an entry covers ---- */

static void a_coalesced_tlb_holds_k_times_the_pages_in_a_row(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[page]\nplacement = runs\nrun = 16\n[tlb d]\nentries = 16\ncoalesce = 4\n");
	assert_int_equal(data_missed(&t, 64, 1), 0);
	assert_true(data_missed(&t, 65, 1) > 0);
	assert_int_equal(data_missed(&t, 16, 4), 0); /* one page of each group takes an entry as well */
	assert_int_equal(data_missed(&t, 17, 4), 17);
	struct xr_mem_buffer *shuffled = xr_mem_buffer(t.mem, &(struct xr_buffer){9, 1 << 24, XR_SHUFFLED}, false);
	assert_int_equal(missed(&t, shuffled, XR_USE_READ, 16, 1), 0); /* no neighbours in memory, one page an entry */
	assert_true(missed(&t, shuffled, XR_USE_READ, 17, 1) > 0);
	xr_mem_free(t.mem);
	setup(&t, "[page]\nplacement = random\n[tlb d]\nentries = 16\ncoalesce = 4\n");
	assert_true(data_missed(&t, 17, 1) > 0);
	xr_mem_free(t.mem);
	setup(&t, "[page]\nplacement = runs\nrun = 2\n[tlb d]\nentries = 16\ncoalesce = 4\n");
	assert_true(data_missed(&t, 17, 1) > 0);
	xr_mem_free(t.mem);
}

static void pages_of_a_run_are_neighbours_in_memory(void **state)
{
	(void)state;
	struct bench t;
	/* a physically indexed cache of one way and 16 pages: pages of one aligned run never collide */
	setup(&t, "[page]\nplacement = runs\nrun = 16\n[cache l1]\ncapacity = 64K\nways = 1\nindex = physical\n");
	for (uint64_t run = 0; run < 20; run++)
		for (int lap = 0; lap < 2; lap++)
			for (uint64_t i = 0; i < 16; i++)
				assert_int_equal(
					xr_mem_access(t.mem, 0, t.data, (run * 16 + i) * PAGE, XR_USE_READ).level,
					lap ? 0 : 1);
	xr_mem_free(t.mem);
}

static void huge_and_small_pages_may_have_ways_of_their_own(void **state)
{
	(void)state;
	struct bench t;
	const uint64_t apart = (2 << 20) / PAGE;
	setup(&t, "[tlb d]\nentries = 8\nhuge_ways = 2\n");
	assert_int_equal(missed(&t, t.huge, XR_USE_READ, 2, apart), 0);
	assert_true(missed(&t, t.huge, XR_USE_READ, 3, apart) > 0);
	assert_int_equal(data_missed(&t, 6, 1), 0);
	assert_true(data_missed(&t, 7, 1) > 0);
	xr_mem_free(t.mem);
	setup(&t, "[tlb s]\nentries = 8\npages = small\n[tlb h]\nentries = 4\npages = huge\n");
	assert_int_equal(missed(&t, t.huge, XR_USE_READ, 4, apart), 0);
	assert_true(missed(&t, t.huge, XR_USE_READ, 5, apart) > 0);
	assert_int_equal(data_missed(&t, 8, 1), 0);
	assert_true(data_missed(&t, 9, 1) > 0);
	xr_mem_free(t.mem);
	setup(&t, "[tlb s]\nentries = 8\npages = small\n"); /* huge pages fall to pieces */
	assert_int_equal(missed(&t, t.huge, XR_USE_READ, 8, 1), 0);
	assert_true(missed(&t, t.huge, XR_USE_READ, 9, 1) > 0);
	xr_mem_free(t.mem);
}

static void code_may_have_but_a_part_of_a_shared_tlb(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[tlb u]\nholds = both\nentries = 64\nways = 8\ncode_ways = 4\n");
	assert_int_equal(missed(&t, t.code, XR_USE_FETCH, 32, 1), 0);
	assert_true(missed(&t, t.code, XR_USE_FETCH, 33, 1) > 0);
	assert_int_equal(data_missed(&t, 64, 1), 0); /* data may have it all … */
	assert_true(missed(&t, t.code, XR_USE_FETCH, 1, 1) == 0);
	assert_true(data_missed(&t, 65, 1) > 0);
	xr_mem_free(t.mem);
	setup(&t, "[tlb u]\nholds = both\nentries = 64\nways = 8\n");
	assert_int_equal(missed(&t, t.code, XR_USE_FETCH, 64, 1), 0);
	xr_mem_free(t.mem);
}

/* ---- walks ---- */

static double walk_cycles(struct bench *t, struct xr_mem_buffer *b, uint64_t page)
{
	return xr_mem_access(t->mem, 0, b, page * PAGE, XR_USE_READ).tlb;
}

static void a_walk_takes_a_step_for_each_level_that_nobody_remembers(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[tlb d]\nentries = 1\npenalty = 5\n[walk]\nlevels = 4\nstep = 10\n");
	assert_true(walk_cycles(&t, t.data, 0) == 45);
	assert_true(walk_cycles(&t, t.data, 1) == 45);
	assert_true(walk_cycles(&t, t.huge, 0) == 35); /* its entry is one level up */
	xr_mem_free(t.mem);
	setup(&t, "[tlb d]\nentries = 1\npenalty = 5\n[walk]\nlevels = 4\nstep = 10\ncaches = 2 0 1\n");
	assert_true(walk_cycles(&t, t.data, 0) == 45);
	assert_true(walk_cycles(&t, t.data, 1) == 15);   /* only the last step */
	assert_true(walk_cycles(&t, t.data, 512) == 35); /* the top is remembered, level 3 has no cache */
	assert_true(walk_cycles(&t, t.data, 2) == 15);   /* two of level 2 */
	assert_true(walk_cycles(&t, t.data, 512 * 2) == 35);
	assert_true(walk_cycles(&t, t.data, 513) == 35); /* … not three */
	xr_mem_free(t.mem);
}

static void tables_live_in_the_data_caches(void **state)
{
	(void)state;
	struct bench t;
	const char *machine =
		"[cache l1]\ncapacity = 4K\nways = 8\nlatency = 4\n[cache l2]\ncapacity = 64K\nways = 16\n"
		"latency = 14\n[tlb d]\nentries = 1\npenalty = 5\n[walk]\nlevels = 1\ntables = l2\n";
	setup(&t, machine);
	assert_true(walk_cycles(&t, t.data, 0) == 105); /* the entry comes from memory */
	assert_true(walk_cycles(&t, t.data, 1) == 19);  /* the next is in the same line, in the second cache */
	assert_true(walk_cycles(&t, t.data, 7) == 19);
	assert_true(walk_cycles(&t, t.data, 8) == 105);
	assert_true(walk_cycles(&t, t.data, 0) == 19);
	for (uint64_t i = 0; i < 2048; i++) /* data drives the table out */
		xr_mem_access(t.mem, 0, t.huge, i * 64, XR_USE_READ);
	assert_true(walk_cycles(&t, t.data, 1) == 105);
	xr_mem_free(t.mem);
	/* and the table drives data out: 4096 pages have 512 lines of entries, half of the cache */
	setup(&t, machine);
	for (int lap = 0; lap < 2; lap++)
		for (uint64_t i = 0; i < 1024; i++)
			xr_mem_access(t.mem, 0, t.huge, i * 64, XR_USE_READ);
	for (uint64_t i = 0; i < 8192; i += 8)
		walk_cycles(&t, t.data, i);
	int gone = 0;
	for (uint64_t i = 0; i < 1024; i++)
		gone += !xr_mem_holds(t.mem, 0, t.huge, i * 64, XR_USE_READ, 1);
	assert_true(gone > 900);
	xr_mem_free(t.mem);
}

/* ---- hosts ---- */

static void small_pages_of_a_host_take_huge_ones_apart(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[page]\nhost = 4K\n[tlb d]\nentries = 16\n[cache l1]\ncapacity = 64K\nways = 1\nindex = physical\n");
	assert_int_equal(missed(&t, t.huge, XR_USE_READ, 16, 1), 0);
	assert_true(missed(&t, t.huge, XR_USE_READ, 17, 1) > 0);
	int collide = 0; /* the 16 pages of a huge one that a real huge page would lay side by side */
	for (int lap = 0; lap < 2; lap++)
		for (uint64_t i = 0; i < 16; i++)
			collide += xr_mem_access(t.mem, 0, t.huge, i * PAGE, XR_USE_READ).level > 0 && lap;
	assert_true(collide > 0);
	xr_mem_free(t.mem);
	setup(&t, "[page]\nhost = 2M\n[tlb d]\nentries = 16\n");
	assert_int_equal(missed(&t, t.huge, XR_USE_READ, 512, 1), 0);
	xr_mem_free(t.mem);
}

static void a_nested_walk_reads_the_hosts_table_too(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[page]\nhost = 4K\n[tlb d]\nentries = 1\npenalty = 5\n[walk]\nlevels = 4\nstep = 10\n");
	assert_true(walk_cycles(&t, t.data, 0) == 95); /* 4 + 4 + 1 */
	xr_mem_free(t.mem);
}

static void a_second_look_at_memory_sees_the_same_frames(void **state)
{
	(void)state;
	struct bench t;
	setup(&t, "[cache l1]\ncapacity = 256K\nways = 1\nindex = physical\n");
	struct xr_mem *over = xr_mem_new_over(&t.m, t.mem, 99);
	struct xr_mem_buffer *b = xr_mem_buffer(over, &(struct xr_buffer){1, UINT64_C(1) << 30, XR_SMALL}, false);
	for (uint64_t i = 0; i < 300; i++) { /* each in an order of its own */
		xr_mem_access(over, 0, b, i * PAGE, XR_USE_READ);
		xr_mem_access(t.mem, 0, t.data, (299 - i) * PAGE, XR_USE_READ);
	}
	for (uint64_t i = 0; i < 300; i++) {
		xr_mem_access(over, 0, b, i * PAGE, XR_USE_READ);
		xr_mem_access(t.mem, 0, t.data, i * PAGE, XR_USE_READ);
	}
	for (uint64_t i = 0; i < 300; i++)
		assert_true(xr_mem_holds(over, 0, b, i * PAGE, XR_USE_READ, 0) ==
		            xr_mem_holds(t.mem, 0, t.data, i * PAGE, XR_USE_READ, 0));
	xr_mem_free(over);
	xr_mem_free(t.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_index_with_a_gap_shows_at_the_strides_it_should),
		cmocka_unit_test(a_folded_index_spreads_what_a_plain_one_piles_up),
		cmocka_unit_test(a_coalesced_tlb_holds_k_times_the_pages_in_a_row),
		cmocka_unit_test(pages_of_a_run_are_neighbours_in_memory),
		cmocka_unit_test(huge_and_small_pages_may_have_ways_of_their_own),
		cmocka_unit_test(code_may_have_but_a_part_of_a_shared_tlb),
		cmocka_unit_test(a_walk_takes_a_step_for_each_level_that_nobody_remembers),
		cmocka_unit_test(tables_live_in_the_data_caches),
		cmocka_unit_test(small_pages_of_a_host_take_huge_ones_apart),
		cmocka_unit_test(a_nested_walk_reads_the_hosts_table_too),
		cmocka_unit_test(a_second_look_at_memory_sees_the_same_frames),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
