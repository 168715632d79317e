/* SPDX-License-Identifier: MIT */
/* The agent's reference where times repeat exactly: what went before is the same for both lengths, and takes no part. */
static double time_ns;

#define XR_NOW_NS time_ns
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_operation_takes_what_it_takes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
