/* SPDX-License-Identifier: MIT */
/* What engines make of readings that no machine of the record gives: told to them one by one. */
#include "engine/engine.h"
#include "micro/table.h"
#include "../lib/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* The fact, measured on a machine whose operations cost what `tell` says. */
static struct xr_fact found(const char *id, void (*tell)(const struct xr_spec *, struct fake_op *))
{
	const struct xr_plan plan = {.select = &id, .n_select = 1};
	struct xr_description *d = xr_description_new();
	struct xr_outcome outcome;
	struct xr_error err = {0};
	struct fake fake;
	fake_init(&fake);
	fake.cycle_ns = 1;
	fake.tell = tell;
	assert_int_equal(xr_engine_run(&fake.target, xr_micro_table, &plan, 1, NULL, d, &outcome, &err), 0);
	const struct xr_fact *fact = xr_description_fact(d, id);
	assert_non_null(fact);
	/* what is left of it when the description is gone */
	struct xr_fact copy = {.status = fact->status, .confidence = fact->confidence};
	copy.value = json_incref(fact->value);
	xr_description_free(d);
	fake_release(&fake);
	return copy;
}

/* Without a multiplier: 10.5 additions each for a product and for floating point, which would be 11 of a cycle that
 * something makes additions longer than. Calls are no witnesses of that. */
static void by_calls(const struct xr_spec *spec, struct fake_op *op)
{
	const struct xr_stream *s = spec->kind == XR_OPS ? &spec->ops.stream[0] : NULL;
	if (s && (s->op == XR_MUL || xr_types[s->type].fp))
		*op = (struct fake_op){.ns = 10.5, .calls = 1};
}

static void multiplications_by_calls_do_not_set_the_clock(void **state)
{
	(void)state;
	struct xr_fact fact = found("cpu.frequency", by_calls);
	assert_float_equal(json_number_value(fact.value), 1e9, 1e3);
	assert_int_equal(fact.status, XR_OK);
	json_decref(fact.value);
}

/* Loads whose samples are never the same, but the same every time and disturbed by nobody: that is their nature. */
static void swaying(const struct xr_spec *spec, struct fake_op *op)
{
	*op = (struct fake_op){.ns = spec->kind == XR_CHAIN ? 4 : 1, .sway = spec->kind == XR_CHAIN ? 0.4 : 0};
}

static void what_comes_back_every_time_is_no_doubt(void **state)
{
	(void)state;
	struct xr_fact fact = found("core.load_to_use", swaying);
	assert_float_equal(json_number_value(fact.value), 4, 1e-6);
	assert_int_equal(fact.status, XR_OK);
	json_decref(fact.value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(multiplications_by_calls_do_not_set_the_clock),
		cmocka_unit_test(what_comes_back_every_time_is_no_doubt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
