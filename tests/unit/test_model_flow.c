/* SPDX-License-Identifier: MIT */
/* Flows of bytes on simulated machines: readings against what the machine file implies. */
#include "../lib/start.h"

#include "target/model/flow.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct xr_spec flow(enum xr_flow_kind kind, uint64_t bytes, unsigned width)
{
	struct xr_spec spec = {.kind = XR_FLOW};
	spec.flow = (struct xr_flow_spec){.buffer = {.id = 1, .bytes = bytes + 4096, .backing = XR_SMALL},
	                                  .kind = kind,
	                                  .bytes = bytes,
	                                  .width = width};
	return spec;
}

static double cycles(struct xr_target *t, const struct xr_spec *spec)
{
	struct xr_reading r = time_one(t, spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static void near(double got, double want)
{
	if (fabs(got / want - 1) > 0.02)
		fail_msg("%g, not %g", got, want);
}

/* Two ports, vectors of 16 bytes, an L2 that gives 16 bytes a cycle, memory that gives 4. */
static struct xr_machine machine(void)
{
	struct xr_machine m;
	xr_machine_init(&m);
	m.mhz = 1000;
	m.width = 4;
	m.unit[0] = (struct xr_machine_unit){"mem", 2};
	m.n_units = 1;
	m.registers_vector = 16;
	m.vector_bytes = 16;
	m.class_op[XR_ADD][XR_CLASS_INT] = (struct xr_machine_op){.there = true, .latency = 1, .busy = 1};
	xr_machine_add_cache(&m, "l1d", XR_HOLDS_DATA, 4, 64, 64, 3, XR_LRU, XR_VIRTUAL);
	xr_machine_add_cache(&m, "l2", XR_HOLDS_BOTH, 8, 1024, 64, 12, XR_LRU, XR_VIRTUAL);
	m.cache[1].bandwidth = 16;
	m.memory_latency = 100;
	m.parallelism = 10;
	m.bandwidth_gbs = 4;
	m.memory_bytes = 1 << 30;
	struct xr_error err = {0};
	assert_int_equal(xr_machine_check(&m, "test", &err), 0);
	return m;
}

static void each_level_gives_what_its_file_says(void **state)
{
	(void)state;
	struct xr_machine m = machine();
	struct xr_target *t = xr_model_open_machine(&m, 1);
	struct xr_spec l1 = flow(XR_FLOW_READ, 8192, 0), words = flow(XR_FLOW_READ, 8192, 8);
	struct xr_spec l2 = flow(XR_FLOW_READ, 65536, 0), memory = flow(XR_FLOW_READ, 8 << 20, 0);
	near(cycles(t, &l1), 2);      /* 4 loads, 2 a cycle */
	near(cycles(t, &words), 4);   /* 8 loads */
	near(cycles(t, &l2), 4);      /* 64 / 16 */
	near(cycles(t, &memory), 16); /* 64 / 4; with 10 in flight it would be 10 */
	xr_target_free(t);
}

static void what_is_written_comes_and_goes(void **state)
{
	(void)state;
	struct xr_machine m = machine();
	struct xr_target *t = xr_model_open_machine(&m, 1);
	struct xr_spec write = flow(XR_FLOW_WRITE, 8 << 20, 0), copy = flow(XR_FLOW_COPY, 8 << 20, 0);
	struct xr_spec past = flow(XR_FLOW_PAST, 8 << 20, 0);
	near(cycles(t, &write), 32);
	near(cycles(t, &copy), 24); /* three lines move for two that are counted */
	near(cycles(t, &past), 16);
	xr_target_free(t);
}

static void misses_in_flight_limit_a_level_behind(void **state)
{
	(void)state;
	struct xr_machine m = machine();
	m.bandwidth_gbs = 100;
	m.cache[0].misses = 2;
	struct xr_target *t = xr_model_open_machine(&m, 1);
	struct xr_spec l2 = flow(XR_FLOW_READ, 65536, 0), memory = flow(XR_FLOW_READ, 8 << 20, 0);
	near(cycles(t, &l2), 6);
	near(cycles(t, &memory), 50);
	xr_target_free(t);
}

static void flows_share_memory_and_slow_down_who_waits_for_it(void **state)
{
	(void)state;
	struct xr_machine m = machine();
	m.cores = 2;
	m.cache[0].shared_by = m.cache[1].shared_by = 1;
	struct xr_target *t = xr_model_open_machine(&m, 1);
	struct xr_spec one = flow(XR_FLOW_READ, 8 << 20, 0), slow = one, other = one;
	other.flow.buffer.id = 2;
	slow.flow.pause = 1000;
	struct xr_span span = {0, 64, 131072};
	struct xr_spec chase = xr_spec_cycle((struct xr_buffer){3, 8 << 20, XR_SMALL}, &span, 1, 5);
	struct xr_member both[] = {{0, &one}, {1, &other}}, idle[] = {{0, &chase}, {1, &slow}},
			 busy[] = {{0, &chase}, {1, &other}};
	struct xr_spec team = {.kind = XR_TEAM};
	team.team = (struct xr_team_spec){.kind = XR_TOGETHER, .member = both, .n_members = 2};
	near(cycles(t, &team), 32); /* half of 4 bytes a cycle each */
	team.team.member = idle;
	double little = cycles(t, &team);
	team.team.member = busy;
	assert_true(cycles(t, &team) > 1.5 * little && little < 115);
	xr_target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_level_gives_what_its_file_says),
		cmocka_unit_test(what_is_written_comes_and_goes),
		cmocka_unit_test(misses_in_flight_limit_a_level_behind),
		cmocka_unit_test(flows_share_memory_and_slow_down_who_waits_for_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
