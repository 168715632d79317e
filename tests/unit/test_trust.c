/* SPDX-License-Identifier: MIT */
/* `ok` means a value to build on: sure enough, and not in contradiction to the rest. */
#include "facts/trust.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum xr_status status(const struct xr_description *d, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	assert_non_null(fact);
	return fact->status;
}

static void what_is_not_sure_enough_is_unreliable(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_count(d, "a.sure", 1, "", 0.8, "m");
	xr_fact_count(d, "a.unsure", 1, "", 0.79, "m");
	xr_fact_note(xr_fact_count(d, "a.said", 1, "", 0.31, "m"), "a word before");
	xr_trust_apply(d);
	assert_int_equal(status(d, "a.sure"), XR_OK);
	assert_int_equal(status(d, "a.unsure"), XR_UNRELIABLE);
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "a.unsure")), "only 79 % sure");
	assert_int_equal(status(d, "a.said"), XR_UNRELIABLE);
	assert_string_equal(xr_fact_reason(xr_description_fact(d, "a.said")), "only 31 % sure: a word before");
	assert_true(json_integer_value(xr_description_fact(d, "a.unsure")->value) == 1);
	xr_description_free(d);
}

static void the_surer_of_two_that_contradict_stays(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_count(d, "cache.l1d.capacity", 49152, "bytes", 0.99, "m");
	xr_fact_count(d, "cache.l2.capacity", 32768, "bytes", 0.85, "m");
	xr_fact_count(d, "cache.l3.capacity", 4 << 20, "bytes", 0.95, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "cache.l1d.capacity"), XR_OK);
	assert_int_equal(status(d, "cache.l2.capacity"), XR_UNRELIABLE);
	assert_int_equal(status(d, "cache.l3.capacity"), XR_OK);
	assert_non_null(strstr(xr_fact_reason(xr_description_fact(d, "cache.l2.capacity")), "cache.l1d.capacity"));
	/* P(l2 right | not both) = 0.85 * 0.01 / (1 - 0.8415) */
	assert_true(xr_description_fact(d, "cache.l2.capacity")->confidence < 0.06);
	xr_description_free(d);
}

static void caches_beside_others_are_as_sure_as_the_time_was_ours(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_number(d, "noise.lost", 0.05, "", 0.9, "m");
	xr_fact_count(d, "cache.l1d.capacity", 32768, "bytes", 0.98, "m");
	xr_fact_count(d, "cache.l2.capacity", 1 << 20, "bytes", 0.98, "m");
	xr_fact_count(d, "cache.levels", 3, "", 0.9, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "cache.l2.capacity"), XR_OK);
	assert_true(xr_description_fact(d, "cache.l2.capacity")->confidence < 0.951);
	assert_true(xr_description_fact(d, "cache.levels")->confidence > 0.899);
	xr_fact_number(d, "noise.lost", 0.42, "", 0.9, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "cache.l1d.capacity"), XR_OK);
	assert_int_equal(status(d, "cache.l2.capacity"), XR_UNRELIABLE);
	assert_int_equal(status(d, "cache.levels"), XR_UNRELIABLE);
	assert_non_null(strstr(xr_fact_reason(xr_description_fact(d, "cache.l2.capacity")), "others took 42 %"));
	assert_true(xr_description_fact(d, "cache.l1d.capacity")->confidence > 0.97);
	xr_description_free(d);
}

static void of_two_that_are_as_sure_none_stays(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_number(d, "cache.l2.latency", 80, "cycles", 0.95, "m");
	xr_fact_number(d, "cache.l3.latency", 40, "cycles", 0.95, "m");
	xr_fact_number(d, "memory.latency", 400, "cycles", 0.95, "m");
	xr_fact_count(d, "type.1.tlb.d1.entries", 64, "", 1, "m");
	xr_fact_count(d, "type.1.tlb.d2.entries", 64, "", 1, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "cache.l2.latency"), XR_UNRELIABLE);
	assert_int_equal(status(d, "cache.l3.latency"), XR_UNRELIABLE);
	assert_int_equal(status(d, "memory.latency"), XR_OK);
	assert_int_equal(status(d, "type.1.tlb.d1.entries"), XR_UNRELIABLE);
	xr_description_free(d);
}

static void every_kind_of_core_is_looked_at(void **state)
{
	enum { KINDS = 9 };
	struct xr_description *d = xr_description_new();
	char id[64];
	(void)state;
	for (int type = 1; type <= KINDS; type++)
		for (int level = 1; level <= 2; level++) {
			snprintf(id, sizeof id, "type.%d.tlb.d%d.entries", type, level);
			xr_fact_count(d, id, 64, "", 1, "m");
		}
	xr_trust_apply(d);
	for (int type = 1; type <= KINDS; type++) {
		snprintf(id, sizeof id, "type.%d.tlb.d2.entries", type);
		assert_int_equal(status(d, id), XR_UNRELIABLE);
	}
	xr_description_free(d);
}

/* Each order that every machine keeps, kept and broken. */
static void every_order_is_looked_at(void **state)
{
	static const char *const orders[][2] = {
		{"cache.l1d.capacity", "cache.l2.capacity"},  {"cache.l2.capacity", "cache.l3.capacity"},
		{"cache.l3.capacity", "cache.l4.capacity"},   {"cache.l1d.capacity", "cache.l3.capacity"},
		{"cache.l1i.capacity", "cache.l2i.capacity"}, {"cache.l1d.latency", "cache.l2.latency"},
		{"cache.l2.latency", "cache.l3.latency"},     {"cache.l3.latency", "cache.l4.latency"},
		{"cache.l1d.latency", "memory.latency"},      {"cache.l3.latency", "memory.latency"},
		{"tlb.d1.entries", "tlb.d2.entries"},         {"tlb.d2.entries", "tlb.d3.entries"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
		for (int broken = 0; broken <= 2; broken++) {
			const int upper[] = {65536, 32768, 16384}; /* more, as much, less */
			struct xr_description *d = xr_description_new();
			xr_fact_count(d, orders[i][0], 32768, "", 0.9, "m");
			xr_fact_count(d, orders[i][1], upper[broken], "", 0.9, "m");
			xr_trust_apply(d);
			assert_int_equal(status(d, orders[i][0]), broken ? XR_UNRELIABLE : XR_OK);
			assert_int_equal(status(d, orders[i][1]), broken ? XR_UNRELIABLE : XR_OK);
			xr_description_free(d);
		}
}

static void an_exclusive_cache_may_be_smaller(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_fact_count(d, "cache.l1d.capacity", 65536, "bytes", 0.99, "m");
	xr_fact_count(d, "cache.l2.capacity", 65536, "bytes", 0.99, "m");
	xr_fact_text(d, "cache.l2.inclusion", "exclusive", 0.95, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "cache.l1d.capacity"), XR_OK);
	assert_int_equal(status(d, "cache.l2.capacity"), XR_OK);
	xr_description_free(d);
}

static void curves_are_witnesses(void **state)
{
	static const double pages[] = {8, 16, 32, 64, 128, 256}, cost[] = {0, 0, 0, 7, 7, 7};
	static const double walked[] = {64, 128, 256}, time[] = {4, 14, 14};
	struct xr_description *d = xr_description_new();
	(void)state;
	xr_series_put(d, "tlb.data", "pages", "", pages, "cost", "cycles", cost, 6);
	xr_series_put(d, "cache.walk", "pages", "", walked, "time", "cycles", time, 3);
	xr_fact_count(d, "tlb.d1.entries", 48, "", 0.99, "m");
	xr_fact_number(d, "tlb.d1.penalty", 7, "cycles", 0.99, "m");
	xr_fact_count(d, "memory.page_size", 4096, "bytes", 0.99, "m");
	xr_fact_count(d, "cache.l2.capacity", 2 << 20, "bytes", 0.99, "m");
	xr_fact_number(d, "memory.latency", 14, "cycles", 0.9, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "tlb.d1.entries"), XR_OK);
	assert_int_equal(status(d, "memory.latency"), XR_UNRELIABLE); /* nobody walked beyond 1 MiB */
	xr_fact_count(d, "tlb.d1.entries", 256, "", 0.99, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "tlb.d1.entries"), XR_UNRELIABLE); /* dear well inside of it */
	xr_fact_count(d, "tlb.d1.entries", 8, "", 0.99, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "tlb.d1.entries"), XR_UNRELIABLE); /* cheap well beyond it */
	xr_fact_count(d, "cache.l2.capacity", 1 << 19, "bytes", 0.99, "m");
	xr_fact_number(d, "memory.latency", 14, "cycles", 0.9, "m");
	xr_trust_apply(d);
	assert_int_equal(status(d, "memory.latency"), XR_OK); /* the walk went beyond 512 KiB */
	xr_description_free(d);
}

static void without_an_optimiser_sizes_hold_and_times_do_not(void **state)
{
	static const struct {
		const char *which;
		enum xr_status size, ways, latency, add;
	} cases[] = {{NULL, XR_OK, XR_OK, XR_OK, XR_OK},
	             {"code", XR_OK, XR_OK, XR_OK, XR_UNRELIABLE},
	             {"all", XR_OK, XR_OK, XR_UNRELIABLE, XR_UNRELIABLE}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct xr_description *d = xr_description_new();
		xr_fact_count(d, "cache.l1d.capacity", 32768, "bytes", 0.99, "m");
		xr_fact_count(d, "cache.l1d.ways", 8, "", 0.99, "m");
		xr_fact_number(d, "cache.l1d.latency", 4, "cycles", 0.99, "m");
		xr_fact_number(d, "op.add.i64.latency", 5, "cycles", 0.99, "m");
		if (cases[i].which)
			json_object_set_new(xr_description_target(d), "unoptimised", json_string(cases[i].which));
		xr_trust_apply(d);
		assert_int_equal(status(d, "cache.l1d.capacity"), cases[i].size);
		assert_int_equal(status(d, "cache.l1d.ways"), cases[i].ways);
		assert_int_equal(status(d, "cache.l1d.latency"), cases[i].latency);
		assert_int_equal(status(d, "op.add.i64.latency"), cases[i].add);
		xr_description_free(d);
	}
}

static void bytes_are_integers(void **state)
{
	struct xr_description *d = xr_description_new();
	(void)state;
	assert_true(json_is_integer(xr_fact_number(d, "a.b", 3807460.72, "bytes", 0.9, "m")->value));
	assert_true(json_integer_value(xr_description_fact(d, "a.b")->value) == 3807461);
	assert_true(json_is_real(xr_fact_number(d, "a.c", 4.5, "cycles", 0.9, "m")->value));
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_sure_enough_is_unreliable),
		cmocka_unit_test(the_surer_of_two_that_contradict_stays),
		cmocka_unit_test(caches_beside_others_are_as_sure_as_the_time_was_ours),
		cmocka_unit_test(of_two_that_are_as_sure_none_stays),
		cmocka_unit_test(every_kind_of_core_is_looked_at),
		cmocka_unit_test(every_order_is_looked_at),
		cmocka_unit_test(an_exclusive_cache_may_be_smaller),
		cmocka_unit_test(curves_are_witnesses),
		cmocka_unit_test(without_an_optimiser_sizes_hold_and_times_do_not),
		cmocka_unit_test(bytes_are_integers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
