/* SPDX-License-Identifier: MIT */
/* What the OS says is put beside facts, never instead of them. */
#include "engine/engine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_stand_beside_facts),
		cmocka_unit_test(a_cache_that_is_not_given_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
