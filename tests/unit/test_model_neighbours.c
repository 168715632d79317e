/* SPDX-License-Identifier: MIT */
/* Neighbours who use a cache of a simulated machine, too: worked out by hand. */
#include "target/model/mem.h"
#include "target/model/trip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* One full cache of so many lines of 64 bytes that replaces by LRU, 10 cycles; memory 100 cycles, or 10 of
 * those at a time. A cycle is a nanosecond, so that neighbours bring one line in ten cycles. */
static struct xr_machine one_level(uint64_t lines)
{
	struct xr_machine m;
	xr_machine_init(&m);
	m.mhz = 1000;
	m.memory_latency = 100;
	m.parallelism = 10;
	m.bandwidth_gbs = 1000;
	xr_machine_add_cache(&m, "l1", XR_HOLDS_BOTH, lines, 1, 64, 10, XR_LRU, XR_VIRTUAL)->neighbours_gbs = 6.4;
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

static int level_of(struct bench *t, uint64_t line, enum xr_use use)
{
	return xr_mem_access(t->mem, 0, t->b, line * 64, use).level;
}

static bool holds(struct bench *t, uint64_t line, int level)
{
	return xr_mem_holds(t->mem, 0, t->b, line * 64, XR_USE_READ, level);
}

static void so_many_lines_come_as_time_passes(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = one_level(4);
	setup(&t, &m);
	for (uint64_t line = 0; line < 4; line++)
		assert_int_equal(level_of(&t, line, XR_USE_READ), 1);
	xr_mem_pass(t.mem, 0, 9); /* not yet */
	assert_true(holds(&t, 0, 0));
	xr_mem_pass(t.mem, 0, 1.5); /* the first stranger: the oldest line leaves */
	assert_true(!holds(&t, 0, 0) && holds(&t, 1, 0));
	assert_int_equal(level_of(&t, 1, XR_USE_READ), 0);
	xr_mem_pass(t.mem, 0, 20); /* two more: 2 and 3 leave, 1 was used since */
	assert_true(!holds(&t, 2, 0) && !holds(&t, 3, 0) && holds(&t, 1, 0));
	xr_mem_pass(t.mem, 0, 10); /* in the place of the first stranger, who came before 1 was used */
	assert_true(holds(&t, 1, 0));
	xr_mem_pass(t.mem, 0, 10);
	assert_false(holds(&t, 1, 0));
	xr_mem_free(t.mem);
}

static void without_neighbours_time_changes_nothing(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = one_level(4);
	assert_true(xr_machine_has_neighbours(&m));
	m.cache[0].neighbours_gbs = 0;
	assert_false(xr_machine_has_neighbours(&m));
	setup(&t, &m);
	for (uint64_t line = 0; line < 4; line++)
		level_of(&t, line, XR_USE_READ);
	xr_mem_pass(t.mem, 0, 1e6);
	for (uint64_t line = 0; line < 4; line++)
		assert_true(holds(&t, line, 0));
	xr_mem_free(t.mem);
}

/* What strangers push out of an inclusive cache leaves the nearer one, too, dirty or not; strangers leave as
 * quietly. */
static void strangers_drive_lines_out_of_nearer_levels(void **state)
{
	(void)state;
	struct bench t;
	struct xr_machine m = one_level(2);
	m.cache[0].neighbours_gbs = 0;
	struct xr_machine_cache *l2 = xr_machine_add_cache(&m, "l2", XR_HOLDS_BOTH, 4, 1, 64, 20, XR_LRU, XR_VIRTUAL);
	l2->inclusion = XR_INCLUSIVE;
	l2->neighbours_gbs = 6.4;
	setup(&t, &m);
	level_of(&t, 0, XR_USE_WRITE);
	level_of(&t, 1, XR_USE_READ);
	assert_true(holds(&t, 0, 0) && holds(&t, 1, 0));
	xr_mem_pass(t.mem, 0, 30); /* two fill it, the third pushes the older one out */
	assert_true(!holds(&t, 0, 0) && !holds(&t, 0, 1) && holds(&t, 1, 0) && holds(&t, 1, 1));
	xr_mem_pass(t.mem, 0, 400);
	assert_true(!holds(&t, 1, 0) && !holds(&t, 1, 1));
	assert_int_equal(level_of(&t, 1, XR_USE_READ), 2); /* in the place of a stranger */
	xr_mem_free(t.mem);
}

/* How many of the lines the cache of 64 still has when the walk comes back to them, after three laps. */
static int kept(uint32_t lines, enum xr_access access)
{
	struct bench t;
	struct xr_machine m = one_level(64);
	struct xr_span span = {0, 64, lines};
	struct xr_phase phase = {.span = &span, .n_spans = 1, .access = access, .passes = 1};
	struct xr_trip trip;
	struct xr_tally tally = {0};
	setup(&t, &m);
	xr_trip_init(&trip, t.b, &phase, 1, 1);
	xr_trip_run(&trip, t.mem, &t.m, 0, 3 * lines, NULL);
	xr_trip_run(&trip, t.mem, &t.m, 0, lines, &tally);
	xr_trip_release(&trip);
	xr_mem_free(t.mem);
	return (int)(lines - tally.from_memory);
}

/* Who waits for each line sees ten strangers a line: after B lines there were B - 1 others and 10 B strangers,
 * and 63 are too few to throw a line out. Who asks for ten at a time sees one stranger a line. */
static void who_comes_back_sooner_keeps_more(void **state)
{
	(void)state;
	assert_int_equal(kept(5, XR_READ), 5); /* 4 + 50 */
	assert_int_equal(kept(6, XR_READ), 0); /* 5 + 60 */
	assert_int_equal(kept(31, XR_TOUCH), 31);
	assert_int_equal(kept(33, XR_TOUCH), 0); /* 32 + 33 */
}

static void a_smaller_machine_has_the_same_neighbours(void **state)
{
	(void)state;
	struct xr_machine m = one_level(64), small = xr_machine_scaled(&m, 4, 64);
	assert_int_equal(small.cache[0].capacity, m.cache[0].capacity / 4);
	assert_true(small.cache[0].neighbours_gbs == m.cache[0].neighbours_gbs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(so_many_lines_come_as_time_passes),
		cmocka_unit_test(without_neighbours_time_changes_nothing),
		cmocka_unit_test(strangers_drive_lines_out_of_nearer_levels),
		cmocka_unit_test(who_comes_back_sooner_keeps_more),
		cmocka_unit_test(a_smaller_machine_has_the_same_neighbours),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
