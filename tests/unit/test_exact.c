/* SPDX-License-Identifier: MIT */
/* Targets whose times repeat exactly (simulators): engines sweep there and take what they read at its word. A simulated
 * machine without noise stands in for one. */
#include "../lib/start.h"

#include "engine/engine.h"
#include "facts/facts.h"
#include "micro/table.h"
#include "target/backend.h"
#include "target/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void expect(const struct xr_description *d, const char *id, double value)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	if (!fact || fact->status != XR_OK || xr_fact_value(fact, 0) != value)
		fail_msg("%s is %g and not %g: %s", id, xr_fact_value(fact, 0), value,
		         fact && fact->reason ? fact->reason : "not said");
}

static struct xr_description *measure_exactly(struct xr_machine *m, const char *const *select, size_t n)
{
	const struct xr_plan plan = {.select = select, .n_select = n};
	struct xr_target *model = xr_model_open_machine(m, 1);
	struct xr_description *d = xr_description_new();
	struct xr_outcome outcome;
	struct xr_error err = {0};
	model->info.exact = true;
	assert_int_equal(xr_engine_run(model, xr_micro_table, &plan, 1, NULL, d, &outcome, &err), 0);
	xr_target_free(model);
	return d;
}

static void sweeps_find_the_levels(void **state)
{
	static const char *const select[] = {"cache", "memory.latency"};
	struct xr_machine m = quiet_machine("tests/data/crowd.ini");
	(void)state;
	struct xr_description *d = measure_exactly(&m, select, 2);
	expect(d, "cache.levels", 3);
	expect(d, "cache.l1d.capacity", 16384);
	expect(d, "cache.l1d.ways", 4);
	expect(d, "cache.l1d.line", 64);
	expect(d, "cache.l1d.latency", 4);
	expect(d, "cache.l1i.capacity", 16384);
	expect(d, "cache.l1i.ways", 4);
	expect(d, "cache.l1i.line", 64);
	expect(d, "cache.l1i.latency", 3);
	expect(d, "cache.l2.capacity", 131072);
	expect(d, "cache.l2.ways", 8);
	expect(d, "cache.l2.latency", 14);
	expect(d, "cache.l3.latency", 50);
	expect(d, "memory.latency", 250);
	/* what a program gets of a cache whose sets depend on where pages lie: between two sweeps that are not far apart */
	const double third = xr_fact_value(xr_description_fact(d, "cache.l3.capacity"), 0);
	assert_true(third > 0.75 * (1 << 20) && third <= 1 << 20);
	xr_description_free(d);
}

static void the_instruction_tlb_is_counted(void **state)
{
	static const char *const select[] = {"tlb.i1"};
	struct xr_machine m = quiet_machine("machines/tlb.ini");
	(void)state;
	struct xr_description *d = measure_exactly(&m, select, 1);
	expect(d, "tlb.i1.entries", 16);
	expect(d, "tlb.i1.ways", 16);
	expect(d, "tlb.i1.penalty", 4);
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweeps_find_the_levels),
		cmocka_unit_test(the_instruction_tlb_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
