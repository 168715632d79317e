/* SPDX-License-Identifier: MIT */
/* The agent's code walks visit what the specification says, keep their regions, and never hold code that can be
 * written. */
#include "../lib/start.h"

#include "../../src/agent/clock.c"
#include "../../src/agent/copies.c"
#include "../../src/agent/direct.c"
#include "../../src/agent/walk.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct xr_agent_walk *make_from(const char *text, char *error, size_t error_size)
{
	char *words[256];
	return xr_walk_make(words, words_of(text, words), error, error_size);
}

static struct xr_agent_walk *must_make(const char *text)
{
	char error[200] = "";
	struct xr_agent_walk *walk = make_from(text, error, sizeof error);

	if (!walk && strncmp(error, "unsupported", 11) == 0)
		skip();
	if (!walk)
		fail_msg("%s: %s", text, error);
	return walk;
}

static int count_in_lap(const struct xr_agent_walk *walk, size_t lap, uint32_t offset)
{
	int n = 0;
	for (size_t i = 0; i < walk->blocks; i++)
		n += walk->list[lap * walk->blocks + i] == offset + XR_COPIES_ENTRY;
	return n;
}

static void every_lap_visits_every_block_once(void **state)
{
	(void)state;
	const char *const texts[] = {"jumps 1 1048576 7 2 0 4096 5 64 4096 5",
	                             "pattern 1 1048576 7 2 0 4096 5 64 4096 5 data 64"};
	for (int t = 0; t < 2; t++) {
		struct xr_agent_walk *walk = must_make(texts[t]);
		assert_int_equal(walk->blocks, 10);
		assert_int_equal(walk->length % 10, 0);
		for (size_t lap = 0; lap < walk->length / 10; lap += 100)
			for (uint32_t k = 0; k < 5; k++) {
				assert_int_equal(count_in_lap(walk, lap, k * 4096), 1);
				assert_int_equal(count_in_lap(walk, lap, k * 4096 + 64), 1);
			}
		xr_walk_free(walk);
	}
}

static void jumps_are_fresh_and_patterns_are_not(void **state)
{
	(void)state;
	struct xr_agent_walk *jumps = must_make("jumps 1 1048576 3 1 0 64 100");
	struct xr_agent_walk *again = must_make("jumps 1 1048576 3 1 0 64 100");
	struct xr_agent_walk *other = must_make("jumps 1 1048576 4 1 0 64 100");
	struct xr_agent_walk *pattern = must_make("pattern 1 1048576 3 1 0 64 100 data 64");
	assert_true(jumps->length >= LIST_LEAST); /* longer than any predictor remembers */
	assert_memory_not_equal(jumps->list, jumps->list + 100, 100 * sizeof *jumps->list);
	assert_memory_equal(jumps->list, again->list, jumps->length * sizeof *jumps->list);
	assert_memory_not_equal(jumps->list, other->list, 100 * sizeof *jumps->list);
	assert_memory_equal(pattern->list, pattern->list + 100, 100 * sizeof *pattern->list);
	assert_ptr_equal(jumps->region, pattern->region);
	xr_walk_free(jumps);
	xr_walk_free(again);
	xr_walk_free(other);
	xr_walk_free(pattern);
}

static void a_run_goes_on_where_the_last_one_ended(void **state)
{
	(void)state;
	struct xr_agent_walk *walk = must_make("jumps 1 1048576 3 1 0 64 1000");
	uint32_t *before = malloc(walk->length * sizeof *before);
	memcpy(before, walk->list, walk->length * sizeof *before);
	assert_true(xr_walk_run(walk, 17) == 17.0);
	assert_int_equal(walk->at, 17);
	assert_true(xr_walk_run(walk, walk->length) == (double)walk->length);
	assert_int_equal(walk->at, 17);
	assert_true(xr_walk_run(walk, 0) == 0.0);
	xr_walk_ready(walk);
	assert_int_equal(walk->at, (17 + 8192 + 2000) % walk->length);
	assert_memory_equal(before, walk->list, walk->length * sizeof *before);
	free(before);
	xr_walk_free(walk);
}

/* Laps end where they would without data, wherever runs begin and end. */
static void data_are_read_between_laps(void **state)
{
	(void)state;
	struct xr_agent_walk *walk = must_make("jumps 1 1048576 3 1 0 64 10 data 100000");
	struct xr_agent_walk *more = must_make("jumps 1 1048576 3 1 0 64 10 data 300000");
	assert_int_equal(walk->blocks, 10);
	assert_int_equal(walk->data_bytes, 100000);
	assert_int_equal(data_room, 300000);
	assert_int_equal(data[299999], 1);
	assert_true(xr_walk_run(walk, 7) == 7.0);
	assert_int_equal(walk->at, 7);
	assert_true(xr_walk_run(walk, 25) == 25.0);
	assert_int_equal(walk->at, 32);
	assert_true(xr_walk_run(walk, walk->length) == (double)walk->length);
	assert_int_equal(walk->at, 32);
	assert_true(xr_walk_run(more, 30) == 30.0);
	xr_walk_free(walk);
	xr_walk_free(more);
}

static void straight_code_has_the_size_asked_for(void **state)
{
	(void)state;
	struct xr_agent_walk *walk = must_make("straight 1 1048576 1 1 0 4 16384");
	double bytes = xr_walk_code_bytes(walk);
	assert_true(bytes >= 2 && bytes < 64);
	assert_in_range((unsigned long)(bytes * XR_COPIES_STATEMENTS * (double)walk->blocks), 65536 * 9 / 10,
	                65536 * 11 / 10);
	double done = xr_walk_run(walk, 100000);
	assert_true(done >= 100000 && done < 100000 + XR_COPIES_STATEMENTS);
	xr_walk_free(walk);
}

/* By direct jumps where there are any, by the list where a block comes twice; either way every lap is counted whole. */
static void a_fixed_order_ends_after_whole_laps(void **state)
{
	(void)state;
	struct xr_agent_walk *walk = must_make("pattern 3 1048576 3 1 0 4096 100");
	struct xr_agent_walk *twice = must_make("pattern 3 1048576 3 2 0 4096 10 0 4096 10");
	struct xr_agent_walk *one = must_make("pattern 3 1048576 3 1 64 0 1");
	for (int i = 0; i < 3; i++) {
		double done = xr_walk_run(walk, 1234);
		assert_true(done >= 1234 && done <= 1300);
		assert_true(xr_walk_run(twice, 40) >= 40);
		assert_true(xr_walk_run(one, 5) >= 5);
	}
	assert_null(twice->direct);
	assert_int_equal(twice->blocks, 20);
	xr_walk_ready(walk);
	xr_walk_free(walk);
	xr_walk_free(twice);
	xr_walk_free(one);
}

static void blocks_with_statements_are_longer(void **state)
{
	(void)state;
	struct xr_agent_walk *none = must_make("jumps 1 1048576 3 1 0 4096 100");
	struct xr_agent_walk *some = must_make("jumps 1 1048576 3 1 0 4096 100 statements 6");
	struct xr_agent_walk *many = must_make("jumps 1 1048576 3 1 0 4096 100 statements 22");
	assert_true(xr_walk_code_bytes(none) < xr_walk_code_bytes(some));
	assert_true(xr_walk_code_bytes(some) < xr_walk_code_bytes(many));
	assert_true(xr_walk_run(some, 1000) == 1000 && xr_walk_run(many, 1000) == 1000);
	xr_walk_free(none);
	xr_walk_free(some);
	xr_walk_free(many);
}

static void executable_pages_are_not_writable(void **state)
{
	(void)state;
	xr_walk_free(must_make("pattern 2 65536 3 1 0 64 100"));
	xr_walk_free(must_make("jumps 2 65536 3 1 0 64 100"));
	FILE *maps = fopen("/proc/self/maps", "r");
	if (!maps)
		skip();
	char line[512], rights[8];
	while (fgets(line, sizeof line, maps))
		if (sscanf(line, "%*s %7s", rights) == 1)
			assert_false(rights[1] == 'w' && rights[2] == 'x');
	fclose(maps);
}

static void what_is_not_legal_is_refused(void **state)
{
	(void)state;
	const char *const bad[] = {
		"",
		"jumps",
		"jumps 1 2 3",
		"hops 1 65536 1 1 0 64 4",
		"jumps 1 65536 1 1 0 64",
		"jumps 1 65536 1 2 0 64 4",
		"jumps 1 65536 1 1 0 64 -4",
		"jumps 1 65536 1 1 0 64 x",
		"jumps 1 65536 1 1 0 64 1025",
		"jumps 1 65536 1 1 1 64 4",
		"jumps 1 65536 1 1 0 64 0",
		"jumps 1 0 1 1 0 64 1",
		"jumps 1 99999999999999 1 1 0 64 1",
		"jumps 1 65536 1 18446744073709551615 0 64 1",
		"jumps 1 65536 1 1 18446744073709551600 64 1",
		"jumps 1 65536 1 1 64 18446744073709551552 4",
		"straight 1 65536 1 1 0 4 100000",
		"straight 1 65536 1 2 0 4 10 0 4 10",
		"jumps 1 65536 1 1 0 64 4294967296",
		"jumps 1 65536 1 1 0 64 4 data",
		"jumps 1 65536 1 1 0 64 4 data x",
		"jumps 1 65536 1 1 0 64 4 data -1",
		"jumps 1 65536 1 1 0 64 4 data 99999999999999",
		"jumps 1 65536 1 1 0 64 4 date 64",
		"jumps 1 65536 1 1 0 64 data 64",
		"jumps 1 65536 1 1 0 64 4 statements 5",
		"jumps 1 65536 1 1 0 64 4 statements",
		"pattern 1 65536 1 1 65536 64 1",
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		char error[200] = "";
		struct xr_agent_walk *walk = make_from(bad[i], error, sizeof error);
		if (walk)
			fail_msg("taken: %s", bad[i]);
		assert_string_not_equal(error, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_lap_visits_every_block_once),
		cmocka_unit_test(jumps_are_fresh_and_patterns_are_not),
		cmocka_unit_test(a_run_goes_on_where_the_last_one_ended),
		cmocka_unit_test(data_are_read_between_laps),
		cmocka_unit_test(straight_code_has_the_size_asked_for),
		cmocka_unit_test(a_fixed_order_ends_after_whole_laps),
		cmocka_unit_test(blocks_with_statements_are_longer),
		cmocka_unit_test(executable_pages_are_not_writable),
		cmocka_unit_test(what_is_not_legal_is_refused),
	};
	return cmocka_run_group_tests_name("agent walk", tests, NULL, NULL);
}
