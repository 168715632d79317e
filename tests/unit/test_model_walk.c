/* SPDX-License-Identifier: MIT */
/* Code walks and teams of threads on simulated machines: readings against what the machine file implies. */
#include "../lib/start.h"

#include "target/model/model.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want, double off)
{
	if (!(fabs(got / want - 1) <= off))
		fail_msg("%g, not %g", got, want);
}

static double walk_with_data(struct xr_target *t, enum xr_walk_kind kind, uint64_t stride, uint32_t count,
                             uint64_t data_bytes)
{
	struct xr_span span = {0, stride, count};
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){
		.kind = kind, .region = 1, .bytes = 8 << 20, .span = &span, .n_spans = 1, .seed = 5};
	spec.walk.data_bytes = data_bytes;
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static double walk(struct xr_target *t, enum xr_walk_kind kind, uint64_t stride, uint32_t count)
{
	return walk_with_data(t, kind, stride, count, 0);
}

static void jumps_cost_the_misprediction_and_the_level(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(walk(t, XR_JUMPS, 32, 512), 16 + 1, 0.01); /* 16K of code fit */
	near(walk(t, XR_JUMPS, 4096, 4), 16 + 1, 0.01);
	near(walk(t, XR_JUMPS, 32, 200000), 16 + 120, 0.02);
	near(walk(t, XR_PATTERN, 32, 512), 1, 0.01);
	near(walk(t, XR_PATTERN, 32, 1024), 12, 0.01);
	near(walk(t, XR_STRAIGHT, 4, 1000), 0.5, 0.01);            /* 2 alu */
	near(walk(t, XR_STRAIGHT, 4, 8192), 0.5 + 12 / 8.0, 0.02); /* 32K: every line from the second level */
	xr_target_free(t);
}

/* Lines in a row are fetched ahead, blocks in any other order are not. */
static void straight_code_is_fetched_ahead(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	m.prefetch_code = 1;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(walk(t, XR_STRAIGHT, 4, 8192), 0.5, 0.02);
	near(walk(t, XR_PATTERN, 32, 1024), 12, 0.01);
	near(walk(t, XR_JUMPS, 32, 200000), 16 + 120, 0.02);
	xr_target_free(t);
}

/* 22 statements make a block 64 bytes long: two lines of 32, so half as many of them fit. */
static void blocks_with_statements_take_more_lines(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	struct xr_span span = {0, 64, 256};
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){.kind = XR_JUMPS,
	                                  .region = 1,
	                                  .bytes = 8 << 20,
	                                  .span = &span,
	                                  .n_spans = 1,
	                                  .seed = 5,
	                                  .statements = XR_BLOCK_MANY};
	struct xr_reading fits = time_one(t, &spec);
	near(fits.cycles, 16 + 1 + 22.0 / m.width, 0.01);
	near(fits.code_bytes, 64, 0);
	span.count = 512;
	assert_true(time_one(t, &spec).cycles > fits.cycles + 5);
	xr_target_free(t);
}

static void code_pages_have_their_own_tlb(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(walk(t, XR_PATTERN, 4096 + 32, 32), 1, 0.05);
	near(walk(t, XR_PATTERN, 4096 + 32, 128), 21, 0.05);
	xr_target_free(t);
}

static void data_are_read_after_each_lap(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	/* 256 lines of code, 512 of data: two hits of 3 cycles for each visit; 8K and 16K fit their own caches */
	near(walk_with_data(t, XR_JUMPS, 32, 256, 16384), 16 + 1 + 2 * 3, 0.01);
	xr_target_free(t);
	m.cache[0].holds = XR_HOLDS_BOTH;
	m.cache[1] = m.cache[2];
	m.n_caches = 2;
	t = xr_model_open_machine(&m, 2);
	near(walk(t, XR_JUMPS, 32, 256), 16 + 3, 0.01);
	/* 768 lines in 512 places: with lru data evict all that code left, and code some of the data */
	assert_true(walk_with_data(t, XR_JUMPS, 32, 256, 16384) > 16 + 12 + 2 * 6);
	xr_target_free(t);
}

static double together(struct xr_target *t, int a, int b, const struct xr_spec *first, const struct xr_spec *second)
{
	struct xr_member member[2] = {{a, first}, {b, second}};
	struct xr_spec spec = {.kind = XR_TEAM};
	spec.team = (struct xr_team_spec){.kind = XR_TOGETHER, .member = member, .n_members = b < 0 ? 1 : 2};
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static void siblings_share_the_units_that_the_file_lists(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	struct xr_spec add = xr_spec_stream(XR_ADD, XR_I64, 8), load = xr_spec_stream(XR_LOAD, XR_I64, 8);
	struct xr_spec chain = xr_spec_stream(XR_ADD, XR_I64, 1);
	load.ops.stream[0].link = XR_FRESH;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(together(t, 0, -1, &add, NULL), 0.25, 0.01);
	near(together(t, 0, 1, &add, &add), 0.25, 0.01);     /* another core */
	near(together(t, 0, 8, &add, &add), 0.5, 0.01);      /* its sibling */
	near(together(t, 0, 8, &add, &chain), 0.3125, 0.01); /* a chain takes a quarter of one unit of four */
	near(together(t, 0, 8, &load, &load), 0.5, 0.01);    /* mem is not listed */
	xr_target_free(t);
}

static void siblings_share_the_first_cache(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	struct xr_span span = {0, 64, 600}; /* 37.5K of 48K */
	struct xr_spec one = xr_spec_cycle((struct xr_buffer){1, 1 << 20, XR_SMALL}, &span, 1, 3);
	struct xr_spec two = xr_spec_cycle((struct xr_buffer){2, 1 << 20, XR_SMALL}, &span, 1, 4);
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(together(t, 0, -1, &one, NULL), 5, 0.01);
	near(together(t, 0, 1, &one, &two), 5, 0.01);
	assert_true(together(t, 0, 8, &one, &two) > 7);
	xr_target_free(t);
}

static void all_share_the_memory(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	m.n_tlbs = m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	struct xr_span span = {0, 64, 1 << 21};
	struct xr_buffer buffer = {1, UINT64_C(1) << 27, XR_SMALL};
	struct xr_spec read[4];
	struct xr_member member[4];
	struct xr_spec spec = {.kind = XR_TEAM};
	for (int i = 0; i < 4; i++) {
		buffer.id = (unsigned)i;
		read[i] = xr_spec_cycle(buffer, &span, 1, 3);
		read[i].chain.phase[0].access = XR_TOUCH;
		member[i] = (struct xr_member){i, &read[i]};
	}
	struct xr_target *t = xr_model_open_machine(&m, 2);
	spec.team = (struct xr_team_spec){.kind = XR_TOGETHER, .member = member, .n_members = 1};
	near(time_one(t, &spec).ns, 100 / 12.0, 0.05); /* latency over misses in flight */
	spec.team.n_members = 4;
	near(time_one(t, &spec).ns, 4 * 64 / 24.0, 0.05); /* four times 64 bytes at 24 GB/s */
	xr_target_free(t);
}

static double pair(struct xr_target *t, enum xr_team_kind kind, int a, int b, uint64_t bytes)
{
	struct xr_member member[2] = {{a, NULL}, {b, NULL}};
	struct xr_spec spec = {.kind = XR_TEAM};
	spec.team = (struct xr_team_spec){.kind = kind, .member = member, .n_members = 2, .bytes = bytes};
	return time_one(t, &spec).ns;
}

static void lines_travel_near_and_far(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	struct xr_target *t = xr_model_open_machine(&m, 2);
	near(pair(t, XR_PINGPONG, 0, 3, 0), 45, 0.01);
	near(pair(t, XR_PINGPONG, 0, 4, 0), 120, 0.01);
	assert_true(pair(t, XR_PINGPONG, 0, 8, 0) < 10);
	assert_true(pair(t, XR_FALSE, 0, 1, 32) > 30);
	assert_true(pair(t, XR_FALSE, 0, 1, 64) < 5);
	near(pair(t, XR_SWITCH, 0, 0, 0), 2000, 0.01);
	xr_target_free(t);
}

static void a_wall_clock_sees_everybody(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	struct xr_spec add = xr_spec_stream(XR_ADD, XR_I64, 8);
	struct xr_member member[40];
	struct xr_spec spec = {.kind = XR_TEAM};
	const int crew[] = {1, 8, 9, 16, 17, 32};
	const double want[] = {1, 1, 2, 2, 3, 4}; /* 8 cores; 16 threads that share units; time shared beyond */
	for (int i = 0; i < 40; i++)
		member[i] = (struct xr_member){-1, &add};
	struct xr_target *t = xr_model_open_machine(&m, 2);
	for (int i = 0; i < 6; i++) {
		spec.team = (struct xr_team_spec){
			.kind = XR_WALL, .member = member, .n_members = (unsigned)crew[i], .window_ns = 1e7};
		near(time_one(t, &spec).cycles, 0.25 * want[i], 0.01);
	}
	xr_target_free(t);
}

static void rivals_see_their_time_slices(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	struct xr_member member[3] = {{2, NULL}, {2, NULL}, {2, NULL}};
	struct xr_spec spec = {.kind = XR_TEAM};
	spec.team = (struct xr_team_spec){.kind = XR_SLICES, .member = member, .n_members = 3, .window_ns = 1e9};
	struct xr_target *t = xr_model_open_machine(&m, 2);
	struct xr_reading r = time_one(t, &spec);
	near(r.median_ns, 3e6, 0.01);
	assert_true(r.samples > 100);
	xr_target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps_cost_the_misprediction_and_the_level),
		cmocka_unit_test(data_are_read_after_each_lap),
		cmocka_unit_test(straight_code_is_fetched_ahead),
		cmocka_unit_test(blocks_with_statements_take_more_lines),
		cmocka_unit_test(code_pages_have_their_own_tlb),
		cmocka_unit_test(siblings_share_the_units_that_the_file_lists),
		cmocka_unit_test(siblings_share_the_first_cache),
		cmocka_unit_test(all_share_the_memory),
		cmocka_unit_test(lines_travel_near_and_far),
		cmocka_unit_test(a_wall_clock_sees_everybody),
		cmocka_unit_test(rivals_see_their_time_slices),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
