/* SPDX-License-Identifier: MIT */
/* What must hold of the core of any real machine: bounds, and what one fact implies for another. */
#include "xray.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct xr_description *d;

static int measure(void **state)
{
	static const char *const select[] = {"registers", "isa", "units", "core", "branch"};
	struct xr_plan plan = {.select = select, .n_select = 5};
	struct xr_error err = {0};
	struct xr_session *session = xr_session_open(NULL, &err);
	(void)state;
	d = session ? xr_session_measure(session, &plan, NULL, &err) : NULL;
	xr_session_free(session);
	if (!d)
		fail_msg("%s", err.text);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	xr_description_free(d);
	return 0;
}

/* Value of an ok fact, or NaN: what is not told is in no bounds. */
static double get(const char *id)
{
	return xr_description_number(d, id, NAN);
}

static void registers_are_plausible(void **state)
{
	(void)state;
	assert_true(get("registers.int") >= 3 && get("registers.int") <= 128);
	assert_false(get("registers.v32") < get("registers.v64"));
#if defined(__x86_64__)
	assert_true(fabs(get("registers.int") - 15) <= 1);
	assert_true(get("registers.f32") == get("registers.f64") && get("registers.f64") == 16);
#endif
}

static void instructions_imply_each_other(void **state)
{
	(void)state;
	assert_true(get("isa.fma.f64") <= get("isa.fpu.f64"));
	assert_false(get("isa.plain.fma.f64") > get("isa.fma.f64"));
	assert_false(get("isa.plain.simd.width") > get("isa.simd.width"));
	assert_false(get("isa.simd.width") >= 32 && get("isa.simd.v32f32") == 0 && get("isa.simd.v32f64") == 0 &&
	             get("isa.simd.v32i32") == 0);
}

static void units_fit_into_the_width(void **state)
{
	static const char *const ids[] = {"units.add.i32", "units.load.i32", "units.add.f64", "units.xor.v16i32"};
	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		assert_true(get(ids[i]) >= 1 && get(ids[i]) <= get("units.width") + 0.5);
	assert_true(get("units.div.i32") <= get("units.add.i32"));
}

static void memory_and_branches_cost_something(void **state)
{
	(void)state;
	assert_true(get("core.load_to_use") >= 1 && get("core.load_to_use") <= 20);
	assert_true(get("core.store_forward") >= 0.2 && get("core.store_forward") <= 60);
	assert_true(get("branch.mispredict") >= 2 && get("branch.mispredict") <= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_plausible),
		cmocka_unit_test(instructions_imply_each_other),
		cmocka_unit_test(units_fit_into_the_width),
		cmocka_unit_test(memory_and_branches_cost_something),
	};
	return cmocka_run_group_tests_name("live core", tests, measure, forget);
}
