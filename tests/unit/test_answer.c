/* SPDX-License-Identifier: MIT */
/* What an agent says: nothing about what was not asked. */
#include "target/host/answer.h"

#include <math.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static enum xr_answer_kind kind_of(const char *line)
{
	struct xr_answer a;
	enum xr_answer_kind kind = xr_answer_read(line, 3, &a);
	if (kind > XR_ANSWER_WRONG && kind != XR_ANSWER_DONE)
		assert_true(a.index < 3);
	return kind;
}

static void answers_are_read(void **state)
{
	struct xr_answer a;
	(void)state;
	assert_int_equal(xr_answer_read("s 2 20 10 5 3 0.5 7", 3, &a), XR_ANSWER_SAMPLE);
	assert_true(a.index == 2 && a.raw.long_ns == 20 && a.raw.long_ops == 10 && a.raw.short_ns == 5);
	assert_true(a.raw.short_ops == 3 && a.raw.ref_ns == 0.5 && a.raw.hit && a.raw.how_much == 7);
	assert_int_equal(xr_answer_read("ok 1 64", 3, &a), XR_ANSWER_READY);
	assert_true(a.index == 1 && a.code_bytes == 64);
	assert_int_equal(xr_answer_read("bad 0 u no such thing", 3, &a), XR_ANSWER_BAD);
	assert_true(a.unsupported);
	assert_string_equal(a.reason, "no such thing");
	assert_int_equal(xr_answer_read("bad 0 f it broke", 3, &a), XR_ANSWER_BAD);
	assert_false(a.unsupported);
	assert_int_equal(xr_answer_read("bad 0 f", 3, &a), XR_ANSWER_BAD);
	assert_string_equal(a.reason, "");
	assert_int_equal(xr_answer_read("e 1 4 5 0.5 0.25 -1 -1 0 0", 3, &a), XR_ANSWER_EVENTS);
	struct xr_spec chain = {.kind = XR_CHAIN}, walk = {.kind = XR_WALK};
	struct xr_events events;
	xr_answer_events(&chain, &a, &events);
	assert_true(events.counted && !events.no_cache && !events.no_tlb && events.cycles == 4 && events.insns == 5);
	assert_true(events.cache_miss[0] == 0.5 && events.tlb_miss[0] == 0.25);
	xr_answer_events(&walk, &a, &events);
	assert_true(events.no_cache && events.no_tlb && events.cache_miss[0] == 0);
	assert_int_equal(xr_answer_read("e 1 4 5 0.5", 3, &a), XR_ANSWER_WRONG);
	assert_int_equal(xr_answer_read("e 3 4 5 0.5 0.25 -1 -1 0 0", 3, &a), XR_ANSWER_WRONG);
	assert_int_equal(xr_answer_read("try 2", 3, &a), XR_ANSWER_TRY);
	assert_int_equal(xr_answer_read("done 5 7 1 9", 3, &a), XR_ANSWER_DONE);
	assert_true(a.left_ns == 5 && a.quiet_ns == 7 && a.cpu == 1 && a.turn == 9);
}

static void indices_out_of_bounds_are_no_answers(void **state)
{
	static const char *const lines[] = {"s 3 1 1 1 1 1 0",
	                                    "s 123456789 1 1 1 1 1 0",
	                                    "s -1 1 1 1 1 1 0",
	                                    "s 18446744073709551615 1 1 1 1 1 0",
	                                    "ok 3 1",
	                                    "bad 3 f x",
	                                    "try 3",
	                                    "try -2",
	                                    "ok -3 1"};
	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		assert_int_equal(kind_of(lines[i]), XR_ANSWER_WRONG);
	struct xr_answer a;
	assert_int_equal(xr_answer_read("s 0 1 1 1 1 1 0", 0, &a), XR_ANSWER_WRONG);
}

/* Parts of answers spoil the rest; what others say on the same line is theirs. */
static void parts_are_wrong_and_chatter_is_none(void **state)
{
	static const char *const parts[] = {"s 1 2 3",        "s 1",           "ok 1", "done 1", "done 5 7 1",
	                                    "done nan 1 1 1", "done 1 -1 1 1", "bad 2"};
	static const char *const chatter[] = {"",         "what?",     "done loading", "ok",
	                                      "ok, then", "try again", "system 1",     "s"};
	(void)state;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		assert_int_equal(kind_of(parts[i]), XR_ANSWER_WRONG);
	for (size_t i = 0; i < sizeof chatter / sizeof *chatter; i++)
		assert_int_equal(kind_of(chatter[i]), XR_ANSWER_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_read),
		cmocka_unit_test(indices_out_of_bounds_are_no_answers),
		cmocka_unit_test(parts_are_wrong_and_chatter_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
