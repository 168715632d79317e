/* SPDX-License-Identifier: MIT */
/* The agent's clock: one that stands still is told. Its reference where times repeat exactly: what went before is the same
 * for both lengths, and takes no part. */
static double time_ns, step_ns;

#define XR_NOW_NS (time_ns += step_ns)
#include "../../src/agent/clock.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Two ns an operation; and whatever predicts jumps has to be told of the loop's end, the longer ago the longer it takes. */
static unsigned long chain(unsigned long reps)
{
	static unsigned long before;
	time_ns += 2.0 * (double)reps * REFERENCE_OPS + (double)before;
	before = reps;
	return reps;
}

static void an_operation_takes_what_it_takes(void **state)
{
	(void)state;
	granule_ns = 1;
	reference_reps = 64;
	repeats = 1;
	for (int i = 0; i < 3; i++)
		assert_true(chain_ns(chain) == 2);
}

static void a_clock_that_stands_still_is_told(void **state)
{
	(void)state;
	step_ns = 0;
	assert_non_null(xr_clock_fault());
	step_ns = 1;
	assert_null(xr_clock_fault());
	step_ns = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_stands_still_is_told),
		cmocka_unit_test(an_operation_takes_what_it_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
