/* SPDX-License-Identifier: MIT */
/* Where the agent goes: to the CPU it is told, away from CPUs that others of this machine want, never to one that it left for
 * good. Time, the OS and the core are made up. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <sched.h>
#include <stddef.h>
#include <time.h>

static double time_ns, run_ns; /* what passed, and what of it this thread ran */
static int pinned = -1;

static int thread_clock(clockid_t id, struct timespec *t)
{
	(void)id;
	*t = (struct timespec){(time_t)(run_ns / 1e9), (long)(run_ns - 1e9 * (double)(time_t)(run_ns / 1e9))};
	return 0;
}

static int pin_to(pid_t pid, size_t size, const cpu_set_t *set)
{
	(void)pid;
	(void)size;
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET((size_t)i, set))
			pinned = i;
	return 0;
}

#define clock_gettime thread_clock
#define sched_setaffinity(pid, size, set) pin_to(pid, size, set)
#include "../../src/agent/where.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

double xr_now_ns(void)
{
	return time_ns;
}

int xr_core_is_ours(void)
{
	return 1;
}

double xr_core_find(double known)
{
	return known;
}

/* So long without peace, of which this thread ran a share. */
static void wait_for(double ns, double share)
{
	time_ns += ns;
	run_ns += share * ns;
	xr_where_restless();
	assert_int_equal(pinned, xr_where());
}

static void it_goes_where_it_is_told(void **state)
{
	(void)state;
	xr_where_init("3,1");
	assert_int_equal(xr_where(), 3);
	assert_int_equal(pinned, 3);
	wait_for(1e6, 1); /* not long enough */
	assert_int_equal(xr_where(), 3);
	wait_for(1e7, 1); /* a neighbour who never pauses: elsewhere, and back */
	assert_int_equal(xr_where(), 1);
	wait_for(1e7, 1);
	assert_int_equal(xr_where(), 3);
	xr_where_init("-1");
	assert_int_equal(xr_where(), -1);
}

static void a_cpu_that_others_want_is_theirs(void **state)
{
	(void)state;
	xr_where_init("5,6,7");
	assert_int_equal(xr_where(), 5);
	wait_for(1e7, 0.5);
	assert_int_equal(xr_where(), 6);
	wait_for(1e7, 1);
	assert_int_equal(xr_where(), 7);
	wait_for(1e7, 1);
	assert_int_equal(xr_where(), 6); /* and not 5 */
	wait_for(1e7, 0.1);
	assert_int_equal(xr_where(), 7);
	wait_for(1e7, 0.1); /* the last one stays */
	assert_int_equal(xr_where(), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_goes_where_it_is_told),
		cmocka_unit_test(a_cpu_that_others_want_is_theirs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
