/* SPDX-License-Identifier: MIT */
/* Counters of the agent: what cannot be counted says so, what can is near a known load, and asking changes nothing. */
#include "../../src/agent/count.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <cmocka.h>

enum { PAGES = 64, PAGE = 65536 };

static volatile int runs;

static void nothing(void *self)
{
	(void)self;
	runs++;
}

/* Touches pages that nobody has touched. */
static void touch(void *self)
{
	(void)self;
	char *p = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	madvise(p, (size_t)PAGES * PAGE, MADV_NOHUGEPAGE);
	for (int i = 0; i < PAGES; i++)
		*(volatile char *)(p + (size_t)i * PAGE) = 1;
	munmap(p, (size_t)PAGES * PAGE);
}

static void every_counter_gives_a_number_or_says_that_there_is_none(void **state)
{
	double events[XR_COUNTERS];
	(void)state;
	xr_count(nothing, NULL, events);
	for (int i = 0; i < XR_COUNTERS; i++)
		assert_true(events[i] >= 0 || events[i] == -1);
	assert_int_equal(runs % 8, 0); /* each of those that are there, eight times */
	xr_count_release();
	xr_count_release();
}

static void page_faults_are_those_of_a_known_load(void **state)
{
	double events[XR_COUNTERS], none[XR_COUNTERS];
	(void)state;
	xr_count(nothing, NULL, none);
	xr_count(touch, NULL, events);
	if (events[XR_COUNT_FAULTS] < 0)
		skip();
	assert_true(none[XR_COUNT_FAULTS] <= 1);
	assert_true(events[XR_COUNT_FAULTS] >= PAGES && events[XR_COUNT_FAULTS] < 2 * PAGES);
	xr_count_release();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_counter_gives_a_number_or_says_that_there_is_none),
		cmocka_unit_test(page_faults_are_those_of_a_known_load),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
