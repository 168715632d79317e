/* SPDX-License-Identifier: MIT */
/* What the OS says is put beside facts, never instead of them. */
#include "engine/engine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const int cpus[] = {0};
static const struct xr_target_info host = {.kind = "host", .cpu_ids = cpus, .n_cpus = 1};

static void claims_stand_beside_facts(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_count(d, "memory.page_size", 1 << 20, "bytes", 0.99, "");
	xr_fact_none(d, "threads.logical", XR_FAILED, "interrupted");
	xr_fact_number(d, "op.add.i32.latency", 1, "cycles", 0.99, "");
	xr_claims_add(d, &host);
	const struct xr_fact *page = xr_description_fact(d, "memory.page_size");
	assert_int_equal(json_integer_value(page->value), 1 << 20);
	assert_int_equal(json_integer_value(page->claimed), sysconf(_SC_PAGESIZE));
	assert_int_equal(xr_description_fact(d, "threads.logical")->status, XR_FAILED);
	assert_null(xr_description_fact(d, "threads.logical")->value);
	assert_true(json_integer_value(xr_description_fact(d, "threads.logical")->claimed) >= 1);
	assert_null(xr_description_fact(d, "op.add.i32.latency")->claimed);
	assert_int_equal(xr_description_count(d), 3); /* a claim makes no fact */
	xr_description_free(d);
}

static void a_cache_that_is_not_given_is_said(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_note(xr_fact_count(d, "cache.l1d.capacity", 64, "bytes", 0.99, ""), "seen twice");
	xr_claims_add(d, &host);
	const struct xr_fact *fact = xr_description_fact(d, "cache.l1d.capacity");
	if (fact->claimed) /* containers and boards may say nothing */
		assert_non_null(strstr(xr_fact_reason(fact), "seen twice; the OS claims"));
	assert_int_equal(fact->status, XR_OK);
	assert_float_equal(fact->confidence, 0.99, 0);
	xr_description_free(d);
}

/* The first CPU that this process may use, and from now on the only one; -1: not one of the first 64. */
static int one_cpu(void)
{
	cpu_set_t set;
	unsigned cpu = 0;
	if (sched_getaffinity(0, sizeof set, &set))
		return -1;
	while (cpu < 64 && !CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return cpu < 64 && !sched_setaffinity(0, sizeof set, &set) ? (int)cpu : -1;
}

static long long claimed(const struct xr_description *d, const char *id)
{
	return json_integer_value(xr_description_fact(d, id)->claimed);
}

/* hwloc takes a machine from this variable: pairs of cores with an L2, four of which share an L3. */
static void only_what_may_be_used_is_claimed(void **state)
{
	static const char *const ids[] = {"threads.logical",   "threads.cores",      "threads.smt",
	                                  "cache.levels",      "cache.l1d.capacity", "cache.l2.capacity",
	                                  "cache.l3.capacity", "cache.l3.shared_by", "cache.l1i.capacity"};
	int cpu = one_cpu();
	const struct xr_target_info here = {.kind = "host", .cpu_ids = &cpu, .n_cpus = 1};
	(void)state;
	if (cpu < 0)
		return;
	struct xr_description *d = xr_description_new();
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		xr_fact_count(d, ids[i], 1 << 20, "", 0.99, "");
	setenv("HWLOC_SYNTHETIC",
	       "pack:8 l3:1(size=4194304) l2:4(size=262144) l1d:2(size=49152) l1i:1(size=65536) core:1 pu:1", 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
	xr_claims_add(d, &here);
	unsetenv("HWLOC_SYNTHETIC");
	unsetenv("HWLOC_THISSYSTEM");
	assert_int_equal(claimed(d, "threads.logical"), 1);
	assert_int_equal(claimed(d, "threads.cores"), 1);
	assert_int_equal(claimed(d, "threads.smt"), 1);
	assert_int_equal(claimed(d, "cache.levels"), 3);
	assert_int_equal(claimed(d, "cache.l1d.capacity"), 49152);
	assert_int_equal(claimed(d, "cache.l1i.capacity"), 65536);
	assert_int_equal(claimed(d, "cache.l2.capacity"), 262144);
	assert_int_equal(claimed(d, "cache.l3.shared_by"), 1); /* of those that may be used */
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "cache.l3.capacity")),
	                    "the OS claims 4 times as much");
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "cache.l2.capacity")), "the OS claims 1/4 of it");
	assert_null(xr_description_fact(d, "threads.cores")->reason); /* of capacities alone */
	xr_description_free(d);
}

/* Of what is not known, or no number, no share is told. */
static void doubt_is_not_compared(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_doubt(xr_fact_count(d, "cache.l3.capacity", 1 << 20, "bytes", 0.99, ""), "too noisy");
	xr_fact_none(d, "cache.l2.capacity", XR_FAILED, "interrupted");
	setenv("HWLOC_SYNTHETIC", "pack:1 l3:1(size=4194304) l2:1(size=262144) core:64 pu:1", 1);
	xr_claims_add(d, &host);
	unsetenv("HWLOC_SYNTHETIC");
	assert_int_equal(claimed(d, "cache.l3.capacity"), 4194304);
	assert_int_equal(claimed(d, "cache.l2.capacity"), 262144);
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "cache.l3.capacity")), "too noisy");
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "cache.l2.capacity")), "interrupted");
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_stand_beside_facts), cmocka_unit_test(a_cache_that_is_not_given_is_said),
		cmocka_unit_test(doubt_is_not_compared),
		cmocka_unit_test(only_what_may_be_used_is_claimed), /* last: it stays on one CPU */
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
