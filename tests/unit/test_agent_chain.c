/* SPDX-License-Identifier: MIT */
/* The agent's chains walk what the specification says, keep their buffers, and refuse what is not legal. */
#include "../lib/start.h"

#include "../../src/agent/buffer.c"
#include "../../src/agent/chain.c"
#include "../../src/agent/phases.c"
#include "../../src/agent/follow.c"
#include "util/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static double ticks;

static double fake_now(void)
{
	return ticks += 100;
}

static struct xr_agent_chain *make(const char *text, char *error, size_t error_size)
{
	char *words[256];
	return xr_chain_make(words, words_of(text, words), error, error_size);
}

static struct xr_agent_chain *must_make(const char *text)
{
	char error[200] = "";
	struct xr_agent_chain *c = make(text, error, sizeof error);

	if (!c)
		fail_msg("%s: %s", text, error);
	xr_chain_ready(c);
	return c;
}

static long offset_of(const struct xr_agent_chain *c, const void *p)
{
	return (long)((const unsigned char *)p - c->buffer->base);
}

static void ring_visits_every_address_once(void **state)
{
	struct xr_agent_chain *c = must_make("0 65536 small 0 1 read 0 1 7 2 0 64 100 32768 128 50");
	int seen[1024] = {0};

	(void)state;
	assert_int_equal(xr_chain_is_script(c), 0);
	for (int i = 0; i < 300; i++) {
		long at = offset_of(c, c->at[0]);

		assert_true(at < 6400 ? at % 64 == 0 : at >= 32768 && at % 128 == 0);
		seen[at / 64]++;
		assert_true(xr_chain_run(c, 1, NULL) == 1);
	}
	for (int i = 0; i < 100; i++)
		assert_int_equal(seen[i], 2);
	xr_chain_free(c);
}

static void order_is_the_shuffle_of_the_house(void **state)
{
	struct xr_agent_chain *c = must_make("0 65536 small 0 1 read 0 1 42 1 0 64 20");
	struct xr_rng rng = {42};
	uint32_t want[20];

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		want[i] = i;
	for (uint32_t i = 20; i > 1; i--) {
		uint64_t j = xr_rng_below(&rng, i);
		uint32_t swap = want[i - 1];

		want[i - 1] = want[j];
		want[j] = swap;
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(c->phase[0].unit[i] * UNIT, want[i] * 64);
	xr_chain_free(c);
}

static void cursor_continues_and_links_come_back(void **state)
{
	struct xr_agent_chain *a = must_make("3 65536 small 0 1 read 0 1 0 1 0 64 10");
	struct xr_agent_chain *b = must_make("3 65536 small 0 1 read 0 1 5 1 0 32 10");
	void *was = a->at[0];

	(void)state;
	assert_ptr_equal(a->buffer, b->buffer);
	xr_chain_ready(a);
	xr_chain_run(a, 3, NULL);
	assert_int_equal((offset_of(a, a->at[0]) - offset_of(a, was) + 640) % 640, (3 + 4106) * 64 % 640);
	xr_chain_free(a);
	xr_chain_free(b);
}

static void cursors_start_evenly_spaced(void **state)
{
	struct xr_agent_chain *c = must_make("0 65536 small 4 1 read 0 1 0 1 0 64 100");

	(void)state;
	for (int k = 1; k < 4; k++)
		assert_int_equal((offset_of(c, c->at[k]) - offset_of(c, c->at[0]) + 6400) % 6400, k * 1600);
	xr_chain_free(c);
}

static void script_counts_timed_accesses_and_takes_looks_off(void **state)
{
	struct xr_agent_chain *c =
		must_make("0 65536 small 0 3 read 1 0 0 1 0 64 16 touch 2 0 0 1 4096 64 32 read 3 1 0 1 0 64 16");
	double ns = 0;

	(void)state;
	assert_int_equal(xr_chain_is_script(c), 1);
	assert_int_equal(c->phase[2].same_as, 0);
	assert_true(xr_chain_run(c, 10, &ns) == 10 * 3 * 16);
	assert_true(ns == 10 * (100 - 30));
	xr_chain_free(c);
}

static void stores_spare_the_links(void **state)
{
	struct xr_agent_chain *c = must_make("0 65536 small 0 4 read 1 1 1 1 0 64 16 write 1 0 0 1 0 64 16 "
	                                     "read 1 0 2 1 0 64 16 read 1 0 3 1 0 64 16");

	(void)state;
	assert_int_equal(c->phase[0].from_table, 0);
	assert_int_equal(c->phase[2].from_table, sizeof(void *) == 8);
	xr_chain_run(c, 3, NULL);
	for (size_t i = 0; i < 16; i++)
		assert_ptr_equal(*(void **)address(c, c->phase[0].unit[i]), address(c, c->phase[0].unit[(i + 1) % 16]));
	xr_chain_free(c);
}

static void word_visited_twice_goes_by_table(void **state)
{
	struct xr_agent_chain *c = must_make("0 65536 small 0 1 read 0 1 0 2 0 64 8 0 64 8");

	(void)state;
	assert_int_equal(c->phase[0].from_table, 1);
	xr_chain_run(c, 5, NULL);
	xr_chain_free(c);
}

static void rolling_walks_share_links_and_go_on_from_each_other(void **state)
{
	struct xr_agent_chain *one = must_make("5 65536 small 1 1 read 0 1 7 1 0 64 1024 rolling");
	struct xr_agent_chain *four = must_make("5 65536 small 4 1 read 0 1 7 1 0 64 1024 rolling");
	struct xr_agent_chain *other = must_make("5 65536 small 4 1 read 0 1 8 1 0 64 1024 rolling");

	(void)state;
	assert_ptr_equal(one->rolling, four->rolling);
	assert_ptr_not_equal(one->rolling, other->rolling);
	xr_chain_ready(one);
	assert_true(xr_chain_run(one, 10, NULL) == 10);
	xr_chain_ready(four); /* nothing is laid out anew */
	assert_true(one->buffer->owner == one->rolling);
	assert_true(xr_chain_run(four, 5, NULL) == 5);
	xr_chain_free(one);
	assert_true(xr_chain_run(four, 1014, NULL) == 1014); /* the links are still there */
	xr_chain_free(four);
	xr_chain_free(other);
}

static void stores_follow_what_is_read(void **state)
{
	struct xr_agent_chain *c = must_make("6 4096 small 1 1 read 0 1 7 1 0 64 16 storing 64");
	const size_t last = 64 - sizeof(uintptr_t);

	(void)state;
	for (size_t line = 0; line < 64; line++)
		*(uintptr_t *)(c->buffer->base + line * 64 + last) = 0;
	assert_true(xr_chain_run(c, 16, NULL) == 16);
	for (size_t line = 0; line < 64; line++)
		assert_int_equal(*(uintptr_t *)(c->buffer->base + line * 64 + last) != 0, line < 16);
	assert_true(xr_chain_run(c, 16, NULL) == 16); /* the links are whole */
	xr_chain_free(c);
}

static void nonsense_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"0",
		"x 4096 small 0 1 read 0 1 0 1 0 64 1",
		"0 4096 small 0 1 read 0 1 0 1 0 64 1 storing",
		"0 4096 small 0 1 read 0 1 0 1 0 64 1 storing 48",
		"0 4096 small 0 1 read 0 1 0 1 0 64 1 storing 8192",
		"0 4096 small 0 1 read 0 1 0 1 56 64 1 storing 64",
		"0 4096 small 2 1 read 0 1 0 1 0 64 2 storing 64",
		"0 4096 small 0 1 read 1 1 0 1 0 64 2 storing 64",
		"0 4096 small 0 1 write 0 1 0 1 0 64 2 storing 64",
		"0 4096 tiny 0 1 read 0 1 0 1 0 64 1",
		"0 4096 small 0 1 read 0 1 0 1 0 64 65",
		"0 4096 small 0 1 read 0 1 0 1 4096 64 1",
		"0 4096 small 0 1 read 0 1 0 1 4095 64 1",
		"0 4096 small 0 1 read 0 1 0 1 0 3 4",
		"0 4096 small 0 1 read 0 1 0 1 0 64 0",
		"0 4096 small 0 0",
		"0 4096 small 0 7 read 0 1 0 1 0 64 1",
		"0 4096 small 99 1 read 0 1 0 1 0 64 1",
		"0 4096 small 0 1 read 0 1 0 1 0 64 1 1",
		"0 4096 small 0 2 read 0 1 0 1 0 64 1 read 1 1 0 1 0 64 1",
		"0 4096 small 0 1 jump 0 1 0 1 0 64 1",
		"0 4096 small 0 1 read 0 1 0 1 0 18446744073709551608 3",
		"0 4096 small 0 1 read 0 1 0 1 -8 64 1",
	};
	char error[200];

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		error[0] = 0;
		if (make(bad[i], error, sizeof error))
			fail_msg("taken: %s", bad[i]);
		assert_true(error[0] != 0);
	}
}

static void memory_is_bounded(void **state)
{
	char error[200];
	struct xr_agent_chain *a, *b;

	(void)state;
	xr_chain_release();
	xr_chain_setup(fake_now, 30, 1 << 20);
	a = must_make("1 524288 small 0 1 read 0 1 0 1 0 64 16");
	assert_null(make("2 1048576 small 0 1 read 0 1 0 1 0 64 16", error, sizeof error));
	xr_chain_free(a);
	b = must_make("2 1048576 small 0 1 read 0 1 0 1 0 64 16");
	xr_chain_free(b);
	xr_chain_release();
	xr_chain_setup(fake_now, 30, 0);
}

/* Every walk takes one tick of this clock, however long it is: nothing is left over for a load. */
static void what_a_loop_costs_is_no_negative_time(void **state)
{
	(void)state;
	assert_true(xr_follow_overhead_ns(fake_now) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_visits_every_address_once),
		cmocka_unit_test(order_is_the_shuffle_of_the_house),
		cmocka_unit_test(cursor_continues_and_links_come_back),
		cmocka_unit_test(cursors_start_evenly_spaced),
		cmocka_unit_test(script_counts_timed_accesses_and_takes_looks_off),
		cmocka_unit_test(stores_spare_the_links),
		cmocka_unit_test(word_visited_twice_goes_by_table),
		cmocka_unit_test(rolling_walks_share_links_and_go_on_from_each_other),
		cmocka_unit_test(stores_follow_what_is_read),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(what_a_loop_costs_is_no_negative_time),
	};

	xr_chain_setup(fake_now, 30, 0);
	return cmocka_run_group_tests_name("agent chain", tests, NULL, NULL);
}
