/* SPDX-License-Identifier: MIT */
/* TLBs that keep pages that are neighbours in memory in one entry: a simulated machine behind a target on which so many
 * neighbouring pages of a buffer in order are one page to the TLB. */
#include "engine/engine.h"
#include "micro/table.h"
#include "target/backend.h"
#include "target/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

enum { PAGE = 4096, FIRST_BUFFER = 30 /* of the TLBs': those before are the caches', which see all pages */ };

struct together {
	struct xr_target target;
	struct xr_target *model;
	uint64_t pages;
};

/* The same walk, with every so many pages folded into one. */
static struct xr_spec folded(struct together *t, const struct xr_spec *spec)
{
	struct xr_spec out = *spec;
	struct xr_phase *phase = &out.chain.phase[0];
	size_t n = 0, k = 0;

	if (spec->kind != XR_CHAIN || spec->chain.buffer.backing != XR_SMALL || spec->chain.buffer.id < FIRST_BUFFER)
		return out;
	for (size_t i = 0; i < phase->n_spans; i++)
		n += phase->span[i].count;
	struct xr_span *span = xr_arena_array(&t->target.samples, struct xr_span, n);
	for (size_t i = 0; i < phase->n_spans; i++)
		for (uint32_t j = 0; j < phase->span[i].count; j++) {
			uint64_t at = phase->span[i].base + j * phase->span[i].stride;
			span[k++] = (struct xr_span){at / PAGE / t->pages * PAGE + at % PAGE, 0, 1};
		}
	phase->span = span;
	phase->n_spans = n;
	return out;
}

static int time_folded(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                       struct xr_reading *out, struct xr_error *err)
{
	struct together *t = (struct together *)target;
	struct xr_spec *changed = xr_arena_array(&target->samples, struct xr_spec, n);

	for (size_t i = 0; i < n; i++)
		changed[i] = folded(t, &specs[i]);
	return xr_target_time(t->model, effort, changed, n, out, err);
}

static void nothing(struct xr_target *target)
{
	(void)target;
}

static const struct xr_backend backend = {.time = time_folded, .free = nothing};

static long long bytes_of_an_entry(uint64_t pages, long long *entries, double *sure)
{
	static const char *const select[] = {"tlb.d1"};
	struct xr_plan plan = {.select = select, .n_select = 1};
	struct xr_description *d = xr_description_new();
	struct together t = {.pages = pages};
	struct xr_outcome outcome = {0};
	struct xr_error err = {0};
	struct xr_machine machine;

	assert_int_equal(xr_machine_read(&machine, "machines/server.ini", &err), 0);
	/* They see several lines of a page here where there is one in each. */
	machine.prefetch_adjacent = machine.prefetch_stride = machine.prefetch_stream = 0;
	t.model = xr_model_open_machine(&machine, 3);
	xr_target_init(&t.target, &backend);
	t.target.info = *xr_target_info(t.model);
	assert_int_equal(xr_engine_run(&t.target, xr_micro_table, &plan, 1, NULL, d, &outcome, &err), 0);
	const struct xr_fact *page = xr_description_fact(d, "tlb.d1.page");
	long long bytes = (long long)xr_fact_value(page, 0); /* doubted or not */
	*sure = page->confidence;
	*entries = (long long)xr_fact_value(xr_description_fact(d, "tlb.d1.entries"), 0);
	xr_description_free(d);
	xr_target_deinit(&t.target);
	xr_target_free(t.model);
	return bytes;
}

static void pages_that_share_an_entry_are_counted(void **state)
{
	(void)state;
	for (uint64_t pages = 1; pages <= 8; pages *= 2) {
		long long entries, bytes;
		double sure;
		bytes = bytes_of_an_entry(pages, &entries, &sure);
		/* eight times as many pages as entries are more cells than the first cache holds: right, or in doubt */
		if (pages < 8 || sure >= 0.8)
			assert_int_equal(bytes, (long long)pages * PAGE);
		else
			assert_true(bytes >= 4 * PAGE);
		assert_int_equal(entries, 64); /* of single pages */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_that_share_an_entry_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
