/* SPDX-License-Identifier: MIT */
/* What front ends of simulated cores foresee, remember and keep decoded, and what of the caches behind that shows. */
#include "../lib/start.h"

#include "target/model/model.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want, double off)
{
	if (!(fabs(got / want - 1) <= off))
		fail_msg("%g, not %g", got, want);
}

static struct xr_target *core(const char *keys)
{
	static struct xr_machine m;
	struct xr_error err;
	char text[2048];
	snprintf(
		text, sizeof text,
		"[target]\nkind = simulated\n[op add int]\n[cache l1i]\nholds = code\ncapacity = 32K\nways = 8\nlatency = 4\n"
		"[cache l2]\nholds = both\ncapacity = 512K\nways = 8\nlatency = 12\n[memory]\nlatency = 200\n%s",
		keys);
	if (xr_machine_parse(&m, "m.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
	return xr_model_open_machine(&m, 2);
}

static double over(struct xr_target *t, enum xr_walk_kind kind, const struct xr_span *span, size_t n)
{
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){
		.kind = kind, .region = 1, .bytes = 32 << 20, .span = span, .n_spans = n, .seed = 5};
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static double walk(struct xr_target *t, enum xr_walk_kind kind, uint64_t stride, uint32_t count)
{
	return over(t, kind, &(struct xr_span){0, stride, count}, 1);
}

/* `per_set` lines in each of 16 sets of a cache whose way is a page. */
static double lines(struct xr_target *t, enum xr_walk_kind kind, uint32_t per_set)
{
	struct xr_span span[16];
	for (uint64_t i = 0; i < 16; i++)
		span[i] = (struct xr_span){i * 64, 4096, per_set};
	return over(t, kind, span, 16);
}

/* As one real core has it (shared/real/zen3): 1.03 cycles to 8 lines a set, 2.5 behind; a page 1.3 to 64, 2.05
 * behind. */
static void foreseen_jumps_may_show_lines_and_pages(void **state)
{
	(void)state;
	struct xr_target *t =
		core("[tlb i1]\nholds = code\nentries = 64\npenalty = 8\n[tlb u2]\nholds = both\nentries = 512\n"
	             "ways = 8\npenalty = 40\n[code]\nlines_ahead = 5\npages_ahead = 8\n");
	near(lines(t, XR_PATTERN, 4), 1, 0.01);
	near(lines(t, XR_PATTERN, 8), 1, 0.01);
	near(lines(t, XR_PATTERN, 9), 2.4, 0.01);
	near(lines(t, XR_PATTERN, 16), 2.4, 0.01);
	near(walk(t, XR_PATTERN, 4096 + 64, 60), 1, 0.01);
	near(walk(t, XR_PATTERN, 4096 + 64, 80), 2, 0.01);
	near(walk(t, XR_PATTERN, 4096 + 64, 300), 2, 0.01);
	assert_true(walk(t, XR_PATTERN, 4096 + 64, 800) > 4);
	xr_target_free(t);
}

/* As another has it: so many lines are on their way at once that foreseen jumps do not see the first cache. */
static void foreseen_jumps_may_hide_lines_that_others_show(void **state)
{
	(void)state;
	struct xr_target *t = core("[tlb i1]\nholds = code\nentries = 64\npenalty = 8\n[code]\nlines_ahead = 16\n");
	near(lines(t, XR_PATTERN, 8), 1, 0.01);
	near(lines(t, XR_PATTERN, 16), 1, 0.01);
	near(lines(t, XR_JUMPS, 8), 16 + 4, 0.01);
	assert_true(lines(t, XR_JUMPS, 12) > 16 + 7);
	near(walk(t, XR_PATTERN, 4096 + 64, 80), 9, 0.01); /* pages they do see */
	xr_target_free(t);
}

static void targets_are_remembered_level_by_level(void **state)
{
	(void)state;
	struct xr_target *t =
		core("[btb b1]\nentries = 64\nways = 4\nshift = 6\n[btb b2]\nentries = 256\nways = 4\ncycles = 3\n"
	             "shift = 6\n[branch]\nbtb_miss = 11\n");
	near(walk(t, XR_PATTERN, 64, 64), 1, 0.01);
	near(walk(t, XR_PATTERN, 64, 128), 4, 0.01);
	near(walk(t, XR_PATTERN, 64, 256), 4, 0.01);
	near(walk(t, XR_PATTERN, 64, 512), 11, 0.01);
	near(walk(t, XR_PATTERN, 64 * 16, 4), 1, 0.01); /* one set of the first */
	near(walk(t, XR_PATTERN, 64 * 16, 8), 4, 0.01);
	near(walk(t, XR_JUMPS, 64, 64), 16 + 4, 0.01); /* no matter to jumps that nobody foresees */
	xr_target_free(t);
}

static void an_index_decides_which_targets_meet(void **state)
{
	(void)state;
	struct xr_target *t = core("[btb b1]\nentries = 64\nways = 4\nshift = 6\nindex_bits = 6^16 7^17 8^18 9^19\n"
	                           "[branch]\nbtb_miss = 11\n");
	near(walk(t, XR_PATTERN, 1 << 16, 8), 1, 0.01);         /* a plain one would have them all in one set … */
	near(walk(t, XR_PATTERN, (1 << 16) + 64, 8), 11, 0.01); /* … and these in eight */
	xr_target_free(t);
}

static void an_unknown_target_waits_for_everything(void **state)
{
	(void)state;
	struct xr_target *t = core("[btb b1]\nentries = 32\n[branch]\nbtb_miss = 6\n[code]\nlines_ahead = 16\n");
	near(lines(t, XR_PATTERN, 2), 1, 0.01);
	near(lines(t, XR_PATTERN, 8), 6, 0.01);
	near(lines(t, XR_PATTERN, 16), 6 + 12, 0.01);
	xr_target_free(t);
}

static void long_orders_may_be_too_long_to_learn(void **state)
{
	(void)state;
	struct xr_target *t = core("[branch]\nlearns = 100\n");
	near(walk(t, XR_PATTERN, 64, 100), 1, 0.01);
	near(walk(t, XR_PATTERN, 64, 101), 20, 0.01);
	xr_target_free(t);
}

static void decoded_code_needs_no_line(void **state)
{
	(void)state;
	/* 16 sets of 4 windows, so 12 lines of each of 16 cache sets are more than it holds, and 4 are all it holds */
	const char *keys = "[decoded]\nops = 1024\nways = 16\nper_line = 4\n%s[code]\nlines_ahead = 1\n";
	char text[200];
	snprintf(text, sizeof text, keys, "");
	struct xr_target *t = core(text);
	near(lines(t, XR_PATTERN, 8), 1, 0.01);
	near(lines(t, XR_PATTERN, 9), 1, 0.01); /* the first cache overflows, the decoded code is there */
	near(lines(t, XR_PATTERN, 16), 1, 0.01);
	near(lines(t, XR_PATTERN, 17), 12, 0.01);
	near(lines(t, XR_JUMPS, 4), 16 + 1, 0.01);
	xr_target_free(t);
	snprintf(text, sizeof text, keys, "inclusive = yes\n");
	t = core(text);
	near(lines(t, XR_PATTERN, 8), 1, 0.01);
	assert_true(lines(t, XR_PATTERN, 9) > 2); /* what leaves the first cache is not there decoded either */
	xr_target_free(t);
}

static void decoded_code_may_need_a_translation(void **state)
{
	(void)state;
	const char *keys = "[tlb i1]\nholds = code\nentries = 8\npenalty = 8\n[decoded]\nops = 4096\n%s";
	char text[200];
	snprintf(text, sizeof text, keys, "");
	struct xr_target *t = core(text);
	near(walk(t, XR_PATTERN, 4096 + 64, 16), 1, 0.01);
	xr_target_free(t);
	snprintf(text, sizeof text, keys, "index = physical\n");
	t = core(text);
	near(walk(t, XR_PATTERN, 4096 + 64, 16), 9, 0.01);
	xr_target_free(t);
}

static void straight_code_is_decoded_at_its_own_pace(void **state)
{
	(void)state;
	struct xr_target *t = core("[cpu]\nwidth = 4\n[code]\ndecode = 2\n[decoded]\nops = 2048\n");
	near(walk(t, XR_STRAIGHT, 4, 2048), 0.25, 0.01); /* all there */
	near(walk(t, XR_STRAIGHT, 4, 4096), 0.5, 0.01);  /* none, in the order it goes */
	xr_target_free(t);
}

static void a_miss_may_bring_the_next_line_along(void **state)
{
	(void)state;
	static const char *const keys[] = {"", "[prefetch]\ncode_lines = 1\n"};
	double cycles[2];
	for (int i = 0; i < 2;
	     i++) { /* pairs of lines, a new order each time: the second of a pair is there by then, or not */
		struct xr_target *t = core(keys[i]);
		cycles[i] = walk(t, XR_STRAIGHT, 4, 32768);
		xr_target_free(t);
	}
	near(cycles[0], 0.25 + 12 / 16.0, 0.02);
	near(cycles[1], 0.25 + 6 / 16.0, 0.02);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreseen_jumps_may_show_lines_and_pages),
		cmocka_unit_test(foreseen_jumps_may_hide_lines_that_others_show),
		cmocka_unit_test(targets_are_remembered_level_by_level),
		cmocka_unit_test(an_index_decides_which_targets_meet),
		cmocka_unit_test(an_unknown_target_waits_for_everything),
		cmocka_unit_test(long_orders_may_be_too_long_to_learn),
		cmocka_unit_test(decoded_code_needs_no_line),
		cmocka_unit_test(decoded_code_may_need_a_translation),
		cmocka_unit_test(straight_code_is_decoded_at_its_own_pace),
		cmocka_unit_test(a_miss_may_bring_the_next_line_along),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
