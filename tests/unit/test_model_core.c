/* SPDX-License-Identifier: MIT */
/* The core of a simulated machine against costs worked out by hand, and its clock against what it promises. */
#include "../lib/start.h"

#include "stat/stat.h"
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

static double cost(const struct xr_machine *m, const struct xr_spec *spec)
{
	struct xr_demand demand;
	char reason[128];
	if (xr_core_demand(m, &spec->ops, &demand, reason))
		return -1;
	return xr_core_cycles(m, &demand);
}

static double stream(const struct xr_machine *m, enum xr_op op, enum xr_type type, int n, enum xr_link link)
{
	struct xr_spec spec = xr_spec_stream(op, type, n);
	spec.ops.stream[0].link = link;
	return cost(m, &spec);
}

#define near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void latency_and_throughput_follow_the_file(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	near(stream(&m, XR_ADD, XR_I32, 1, XR_SELF), 1);
	near(stream(&m, XR_ADD, XR_I32, 8, XR_SELF), 0.25); /* 4 alu */
	near(stream(&m, XR_ADD, XR_F64, 1, XR_SELF), 4);
	near(stream(&m, XR_ADD, XR_F64, 4, XR_SELF), 1);    /* latency over chains */
	near(stream(&m, XR_ADD, XR_F64, 10, XR_SELF), 0.5); /* 2 fp */
	near(stream(&m, XR_DIV, XR_F64, 1, XR_SELF), 14);
	near(stream(&m, XR_DIV, XR_F64, 10, XR_SELF), 4); /* busy */
	near(stream(&m, XR_DIV, XR_I32, 1, XR_SELF), 13); /* 12 and the add that the chain needs */
	near(stream(&m, XR_DIV, XR_I32, 10, XR_SELF), 6);
	near(stream(&m, XR_DIV, XR_F32, 1, XR_SELF), -1); /* only [op div f64] */
	near(stream(&m, XR_SUB, XR_I32, 1, XR_SELF), -1);
	near(stream(&m, XR_ADD, XR_V64F64, 1, XR_SELF), 4);
	near(stream(&m, XR_MUL, XR_I8, 3, XR_NEXT), 3);
	near(stream(&m, XR_MUL, XR_I8, 4, XR_HALF), 1.5);
	near(stream(&m, XR_MUL, XR_I8, 4, XR_FRESH), 1);
	near(stream(&m, XR_LOAD, XR_I64, 1, XR_SELF), 5);
	near(stream(&m, XR_LOAD, XR_I64, 10, XR_FRESH), 0.5);
}

static void fused_multiply_add_is_two_operations_where_it_is_missing(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini"), p6 = machine_of("machines/p6.ini");
	near(stream(&m, XR_FMA, XR_F64, 1, XR_SELF), 4);
	near(stream(&p6, XR_FMA, XR_F64, 1, XR_SELF), 8);
	near(stream(&p6, XR_FMA, XR_F64, 8, XR_SELF), 3); /* 2 + 1 cycles of the one fp unit */
}

static void wide_vectors_are_done_in_pieces(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	m.vector_bytes = 16;
	near(stream(&m, XR_ADD, XR_V16F32, 8, XR_SELF), 0.5);
	near(stream(&m, XR_ADD, XR_V32F32, 8, XR_SELF), 1);
	near(stream(&m, XR_ADD, XR_V64F32, 8, XR_SELF), 2);
	m.registers_vector = 0;
	near(stream(&m, XR_ADD, XR_V16F32, 8, XR_SELF), -1);
}

static void emulated_types_cost_what_software_takes(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/microcontroller.ini");
	near(stream(&m, XR_ADD, XR_F32, 1, XR_SELF), 110);
	near(stream(&m, XR_MUL, XR_F32, 4, XR_SELF), 110);
	near(stream(&m, XR_ADD, XR_F64, 1, XR_SELF), -1);
	near(stream(&m, XR_MUL, XR_I32, 4, XR_SELF), 2);
}

static void the_first_variable_too_many_spills(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/p6.ini");
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 5);
	struct xr_demand d;
	char reason[128];
	assert_int_equal(xr_core_demand(&m, &spec.ops, &d, reason), 0);
	assert_true(d.stack_refs == 0);
	spec.ops.stream[0].n = 6;
	assert_int_equal(xr_core_demand(&m, &spec.ops, &d, reason), 0);
	near(d.stack_refs, 1.0 / 6);
	near(d.slots, 7.0 / 6);
	near(d.chain, (1 + 3) / 6.0);
	near(xr_core_cycles(&m, &d), 4 / 6.0);
	/* half distance, 6 variables in 3 pairs: the pair with the spilled one takes 1 + 1 + 3 for two links */
	near(stream(&m, XR_ADD, XR_I32, 6, XR_HALF), 2.5 / 3);
	near(stream(&m, XR_ADD, XR_I32, 4, XR_HALF), 0.5);
	near(stream(&m, XR_ADD, XR_I32, 6, XR_NEXT), 1.5);
}

static void operations_compete_for_their_unit(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	struct xr_stream mix[] = {{.op = XR_ADD, .type = XR_I32, .n = 8},
	                          {.op = XR_MUL, .type = XR_F64, .n = 8, .share = 4}};
	struct xr_spec spec = xr_spec_mix(mix, 2);
	near(cost(&m, &spec) * 12,
	     12 / 5.0); /* alu 2, fp 2, width 2.4; chain: 4 cycles every 8 statements of the second */
	struct xr_stream fp[] = {{.op = XR_ADD, .type = XR_F64, .n = 8}, {.op = XR_MUL, .type = XR_F64, .n = 8}};
	spec = xr_spec_mix(fp, 2);
	near(cost(&m, &spec) * 16, 8);
}

static double text(const struct xr_machine *m, const char *statement, enum xr_type type, int n)
{
	struct xr_spec spec = xr_spec_stream(XR_TEXT, type, n);
	spec.ops.stream[0].text = statement;
	return cost(m, &spec);
}

static void statements_cost_what_a_compiler_would_make_of_them(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini"), p6 = machine_of("machines/p6.ini");
	near(text(&m, "p0 = p0 * p1", XR_F64, 1), 4);
	near(text(&m, "p0 = p0 * p1", XR_F64, 10), 0.5);
	near(text(&m, "p0 = p0 * p1 + p2", XR_F64, 1), 4);  /* fused */
	near(text(&p6, "p0 = p0 * p1 + p2", XR_F64, 1), 8); /* not */
	near(text(&m, "p0 = p0 + p1 * p2", XR_F64, 1), 4);  /* the product is the same every time */
	near(text(&m, "p0 = (p0 + p1) * (p0 + p2)", XR_F64, 1), 8);
	near(text(&m, "p0 += p1; p0 *= 3", XR_I32, 1), 4);
	near(text(&m, "p0 = p0 + p1 + p0", XR_I64, 1), 2);
	near(text(&m, "p0 = p1 * p2", XR_I64, 4), 0.2); /* a copy is left in the loop */
	near(text(&m, "p0 = p0 - p1", XR_I64, 1), -1);  /* no sub on this machine */
	near(text(&m, "p0 = foo(p0)", XR_I64, 1), -1);
	near(text(&m, "p0 = (p0", XR_I64, 1), -1);
	near(text(&m, "p0 = p0", XR_I64, 1), 1.0 / 64); /* nothing is left but the loop */
	near(text(&m, ";", XR_I64, 1), 1.0 / 64);
	near(text(&m, "p0 = p0; p1 = 3", XR_I64, 1), 0.2);
	near(text(&m, "if (p0) p1 = 2;", XR_I64, 1), -1);
}

static void readings_are_what_the_core_takes(void **state)
{
	(void)state;
	static const char *const files[] = {"machines/p6.ini", "machines/server.ini", "machines/microcontroller.ini"};
	for (int i = 0; i < 3; i++)
		for (uint64_t seed = 0; seed < 20; seed++) {
			struct xr_machine m = machine_of(files[i]);
			struct xr_target *t = xr_model_open_machine(&m, seed);
			struct xr_spec spec = xr_spec_stream(XR_MUL, XR_I32, 1);
			struct xr_reading r = time_one(t, &spec);
			double want = cost(&m, &spec);
			assert_int_equal(r.status, XR_READ_OK);
			if (fabs(r.cycles / want - 1) > 0.02 + m.jitter)
				fail_msg("%s seed %d: %g cycles, not %g (spread %g)", files[i], (int)seed, r.cycles,
				         want, r.spread);
			if (fabs(r.cycle_ns * m.mhz * 1e-3 - 1) > 0.01 + m.jitter + m.drift)
				fail_msg("%s seed %d: a cycle of %g ns", files[i], (int)seed, r.cycle_ns);
			xr_target_free(t);
		}
}

static void a_missing_operation_is_unsupported_with_a_reason(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/p6.ini");
	struct xr_target *t = xr_model_open_machine(&m, 1);
	struct xr_spec spec = xr_spec_stream(XR_SQRT, XR_F64, 1);
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_UNSUPPORTED);
	assert_string_equal(r.reason, "the machine has no sqrt on f64");
	xr_target_free(t);
}

static void the_timer_shows_its_granules_and_cost(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	const double granules[] = {1, 10, 100, 1000, 1e6};
	for (int i = 0; i < 5; i++) {
		m.timer_ns = granules[i];
		struct xr_target *t = xr_model_open_machine(&m, 7);
		struct xr_spec spec = {.kind = XR_CLOCK};
		struct xr_reading r = time_one(t, &spec);
		assert_true(fabs(r.granule_ns / granules[i] - 1) < 0.001);
		assert_true(fabs(r.median_ns - 24) < 24 * 0.1);
		xr_target_free(t);
	}
}

static void noise_shows_in_samples_not_in_readings(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	m.jitter = 0.005;
	m.interrupts_hz = 3000;
	m.preempt_hz = 100;
	m.step = 0.2;
	m.low = 0.01;
	int dropped = 0;
	double worst = 0;
	for (uint64_t seed = 1; seed < 60; seed++) {
		struct xr_target *t = xr_model_open_machine(&m, seed);
		struct xr_spec spec = xr_spec_stream(XR_MUL, XR_F64, 1);
		struct xr_reading r = time_one(t, &spec);
		dropped += r.dropped;
		worst = fmax(worst, fabs(r.cycles / 4 - 1));
		xr_target_free(t);
	}
	assert_true(dropped > 0);
	assert_true(worst < 0.05);
}

static void the_same_seed_gives_the_same_samples(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	struct xr_spec spec = xr_spec_stream(XR_MUL, XR_F64, 1);
	struct xr_target *a = xr_model_open_machine(&m, 5), *b = xr_model_open_machine(&m, 5),
			 *c = xr_model_open_machine(&m, 6);
	double x = time_one(a, &spec).ns, y = time_one(b, &spec).ns, z = time_one(c, &spec).ns;
	assert_true(x == y && x != z);
	xr_target_free(a);
	xr_target_free(b);
	xr_target_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(latency_and_throughput_follow_the_file),
		cmocka_unit_test(fused_multiply_add_is_two_operations_where_it_is_missing),
		cmocka_unit_test(wide_vectors_are_done_in_pieces),
		cmocka_unit_test(emulated_types_cost_what_software_takes),
		cmocka_unit_test(the_first_variable_too_many_spills),
		cmocka_unit_test(operations_compete_for_their_unit),
		cmocka_unit_test(statements_cost_what_a_compiler_would_make_of_them),
		cmocka_unit_test(readings_are_what_the_core_takes),
		cmocka_unit_test(a_missing_operation_is_unsupported_with_a_reason),
		cmocka_unit_test(the_timer_shows_its_granules_and_cost),
		cmocka_unit_test(noise_shows_in_samples_not_in_readings),
		cmocka_unit_test(the_same_seed_gives_the_same_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
