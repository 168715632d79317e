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

struct known {
	const char *id;
	double value;
};

/* Measures the machine without its noise and compares with what is known; the description is the caller's. */
static struct xr_description *find_exactly(const char *machine, const char *const *select, size_t n_select,
                                           const struct known *known, size_t n)
{
	struct xr_machine m = quiet_machine(machine);
	const struct xr_plan plan = {.select = select, .n_select = n_select};
	struct xr_target *model = xr_model_open_machine(&m, 1);
	struct xr_description *d = xr_description_new();
	struct xr_outcome outcome;
	struct xr_error err = {0};
	model->info.exact = true;
	assert_int_equal(xr_engine_run(model, xr_micro_table, &plan, 1, NULL, d, &outcome, &err), 0);
	xr_target_free(model);
	for (size_t i = 0; i < n; i++) {
		const struct xr_fact *fact = xr_description_fact(d, known[i].id);
		if (!fact || fact->status != XR_OK || xr_fact_value(fact, 0) != known[i].value)
			fail_msg("%s is %g and not %g: %s", known[i].id, xr_fact_value(fact, 0), known[i].value,
			         fact && fact->reason ? fact->reason : "not said");
	}
	return d;
}

static void sweeps_find_the_levels(void **state)
{
	static const char *const select[] = {"cache", "memory.latency"};
	static const struct known known[] = {
		{"cache.levels", 3},           {"cache.l1d.capacity", 16384}, {"cache.l1d.ways", 4},
		{"cache.l1d.line", 64},        {"cache.l1d.latency", 4},      {"cache.l1i.capacity", 16384},
		{"cache.l1i.ways", 4},         {"cache.l1i.line", 64},        {"cache.l1i.latency", 3},
		{"cache.l2.capacity", 131072}, {"cache.l2.ways", 8},          {"cache.l2.latency", 14},
		{"cache.l3.latency", 50},      {"memory.latency", 250},
	};
	(void)state;
	struct xr_description *d = find_exactly("tests/data/crowd.ini", select, 2, known, sizeof known / sizeof *known);
	/* what a program gets of a cache whose sets depend on where pages lie: between two sweeps that are not far apart */
	const double third = xr_fact_value(xr_description_fact(d, "cache.l3.capacity"), 0);
	assert_true(third > 0.75 * (1 << 20) && third <= 1 << 20);
	xr_description_free(d);
}

static void the_instruction_tlb_is_counted(void **state)
{
	static const char *const select[] = {"tlb.i1"};
	static const struct known known[] = {{"tlb.i1.entries", 16}, {"tlb.i1.ways", 16}, {"tlb.i1.penalty", 4}};
	(void)state;
	xr_description_free(find_exactly("machines/tlb.ini", select, 1, known, 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sweeps_find_the_levels),
		cmocka_unit_test(the_instruction_tlb_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
