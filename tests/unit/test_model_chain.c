/* SPDX-License-Identifier: MIT */
/* Address chains on simulated machines: readings against what the machine file implies. */
#include "../lib/start.h"

#include "target/model/model.h"
#include "target/model/trip.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static double cycle(struct xr_target *t, enum xr_backing backing, uint64_t stride, uint32_t count)
{
	struct xr_span span = {0, stride, count};
	struct xr_buffer buffer = {1, 64 << 20, backing};
	struct xr_spec spec = xr_spec_cycle(buffer, &span, 1, 12345);
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static void near(double got, double want, double off)
{
	if (fabs(got / want - 1) > off)
		fail_msg("%g, not %g", got, want);
}

static void a_textbook_hierarchy_reads_as_in_the_textbook(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	struct xr_target *t = xr_model_open_machine(&m, 4);
	near(cycle(t, XR_SMALL, 32, 1), 3, 0.01);
	near(cycle(t, XR_SMALL, 32, 512), 3, 0.01);   /* 16K fits */
	near(cycle(t, XR_SMALL, 4096, 4), 3, 0.01);   /* 4 ways */
	near(cycle(t, XR_SMALL, 4096, 5), 12, 0.01);  /* lru: all miss */
	near(cycle(t, XR_SMALL, 32, 1024), 12, 0.01); /* 32K: twice the capacity in every set */
	near(cycle(t, XR_SMALL, 32, 1 << 20), 120, 0.01);
	xr_target_free(t);
}

static void a_page_touched_once_pays_for_its_translation(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	struct xr_target *t = xr_model_open_machine(&m, 4);
	near(cycle(t, XR_SMALL, 4096 + 32, 64), 3, 0.05);
	near(cycle(t, XR_SMALL, 4096 + 32, 256), 23, 0.15);
	near(cycle(t, XR_SMALL, 4096 * 16, 4), 3, 0.01);
	near(cycle(t, XR_SMALL, 4096 * 16, 5), 32, 0.01); /* one set of the tlb, and one of the cache */
	xr_target_free(t);

	m.huge_bytes = 2 << 20;
	t = xr_model_open_machine(&m, 4);
	near(cycle(t, XR_HUGE, 4096 + 32, 256), 3, 0.15);
	xr_target_free(t);
}

static double mean_cycles(const struct xr_machine *m, uint32_t lines, uint64_t by)
{
	double sum = 0;
	enum { TIMES = 15 };
	for (uint64_t seed = 0; seed < TIMES; seed++) {
		struct xr_span span = {0, 64, lines};
		struct xr_phase phase = {.span = &span, .n_spans = 1, .seed = 9 + seed};
		struct xr_machine scaled = xr_machine_scaled(m, by, span.stride);
		struct xr_mem *mem = xr_mem_new(&scaled, seed);
		struct xr_buffer buffer = {1, 64 << 20, XR_SMALL};
		struct xr_trip trip;
		struct xr_tally tally = {0};
		xr_trip_init(&trip, xr_mem_buffer(mem, &buffer, false), &phase, 1, by);
		xr_trip_run(&trip, mem, &scaled, 0, trip.n * 2, NULL);
		xr_trip_run(&trip, mem, &scaled, 0, trip.n, &tally);
		sum += xr_trip_cycles(&trip, &scaled, mem, &tally);
		xr_trip_release(&trip);
		xr_mem_free(mem);
	}
	return sum / TIMES;
}

/* What the smaller machine says of a walk must be, on average over placements, what the whole one says. */
static void large_walks_made_small_cost_the_same(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	const uint32_t counts[] = {12000, 16000, 20000, 24000, 40000};
	for (int i = 0; i < 5; i++)
		near(mean_cycles(&m, counts[i], 2), mean_cycles(&m, counts[i], 1), 0.1);
}

/* … also where pages are large and TLBs small, of which a part would be less than an entry. */
static void small_machines_translate_as_often(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	m.page_bytes = 65536;
	m.huge_bytes = 0;
	m.n_caches = 1;
	m.n_tlbs = 1;
	m.tlb[0].entries = 12;
	m.tlb[0].ways = 12;
	m.tlb[0].penalty = 200; /* what matters: a third of the 36 pages is there */
	near(mean_cycles(&m, 36 * 1024, 1), mean_cycles(&m, 36 * 1024, 16), 0.03);
}

static void misses_overlap_up_to_the_machines_parallelism(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/server.ini");
	m.n_tlbs = 0;
	m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	m.bandwidth_gbs = 200;
	struct xr_target *t = xr_model_open_machine(&m, 4);
	struct xr_span span = {0, 128, 1 << 21};
	struct xr_buffer buffer = {1, UINT64_C(1) << 28, XR_SMALL};
	for (unsigned k = 1; k <= 24; k++) {
		struct xr_spec spec = xr_spec_cycle(buffer, &span, 1, 3);
		spec.chain.cursors = k;
		near(time_one(t, &spec).cycles, k <= 12 ? 280 : 280.0 * k / 12, 0.03);
	}
	xr_target_free(t);
}

static void a_script_times_only_what_it_should(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	struct xr_target *t = xr_model_open_machine(&m, 4);
	struct xr_span target = {0, 4096, 1}, evict = {4096, 4096, 4}, elsewhere = {4096 + 64, 4096, 4};
	struct xr_spec spec = {.kind = XR_CHAIN};
	spec.chain = (struct xr_chain_spec){.buffer = {2, 1 << 20, XR_SMALL}, .n_phases = 3};
	spec.chain.phase[0] = (struct xr_phase){.span = &target, .n_spans = 1, .passes = 1};
	spec.chain.phase[1] = (struct xr_phase){.span = &evict, .n_spans = 1, .passes = 1, .seed = 5};
	spec.chain.phase[2] = (struct xr_phase){.span = &target, .n_spans = 1, .passes = 1, .timed = true};
	near(time_one(t, &spec).cycles, 12, 0.05);
	spec.chain.phase[1].span = &elsewhere;
	near(time_one(t, &spec).cycles, 3, 0.15);
	xr_target_free(t);
}

static void stores_show_the_write_policy_in_their_pace(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	m.parallelism = 4;
	for (int back = 0; back < 2; back++) {
		m.cache[0].write_back = back;
		struct xr_target *t = xr_model_open_machine(&m, 4);
		struct xr_span half = {0, 32, 256}, twice = {0, 32, 1024};
		struct xr_spec a = xr_spec_cycle((struct xr_buffer){1, 1 << 20, XR_SMALL}, &half, 1, 7);
		struct xr_spec b = xr_spec_cycle((struct xr_buffer){1, 1 << 20, XR_SMALL}, &twice, 1, 7);
		a.chain.phase[0].access = b.chain.phase[0].access = XR_WRITE;
		double in = time_one(t, &a).cycles, out = time_one(t, &b).cycles;
		if (back)
			assert_true(out > 1.5 * in);
		else
			near(in, 3, 0.05);
		xr_target_free(t);
	}
}

static void the_os_may_turn_a_busy_buffer_to_huge_pages(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.huge_bytes = 2 << 20;
	m.resizing = 1;
	m.resizing_ms = 1;
	struct xr_target *t = xr_model_open_machine(&m, 4);
	struct xr_span span = {0, 4096 + 32, 256};
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){1, 64 << 20, XR_ANY}, &span, 1, 12345);
	struct xr_effort effort = {.samples = 45};
	struct xr_reading r;
	struct xr_error err;
	assert_int_equal(xr_target_time(t, &effort, &spec, 1, &r, &err), 0);
	assert_true(r.sample[0] > 18 && r.sample[r.samples - 1] < 5);
	near(cycle(t, XR_SMALL, 4096 + 32, 256), 23, 0.15); /* told not to */
	xr_target_free(t);
}

static void no_cache_at_all_is_a_machine_too(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/microcontroller.ini");
	struct xr_target *t = xr_model_open_machine(&m, 4);
	struct xr_span span = {0, 16, 64};
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){1, 1024, XR_ANY}, &span, 1, 1);
	near(time_one(t, &spec).cycles, 2, 0.02);
	spec.chain.buffer.bytes = 1 << 20;
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_FAILED);
	xr_target_free(t);
}

static void addresses_outside_the_buffer_are_refused(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	struct xr_target *t = xr_model_open_machine(&m, 4);
	struct xr_span span = {0, 4096, 257};
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){1, 1 << 20, XR_ANY}, &span, 1, 1);
	assert_int_equal(time_one(t, &spec).status, XR_READ_FAILED);
	xr_target_free(t);
}

static void counters_count_misses_where_there_are_counters(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	struct xr_span span = {0, 32, 1024}, pages = {0, 4096 + 32, 256};
	struct xr_buffer buffer = {1, 2 << 20, XR_SMALL};
	struct xr_spec lines = xr_spec_cycle(buffer, &span, 1, 5), walk = xr_spec_cycle(buffer, &pages, 1, 5);
	struct xr_target *t = xr_model_open_machine(&m, 4);
	assert_false(time_one(t, &lines).events.counted);
	xr_target_free(t);
	m.counters = 1;
	t = xr_model_open_machine(&m, 4);
	struct xr_events e = time_one(t, &lines).events;
	assert_true(e.counted && e.cache_miss[0] == 1 && e.cache_miss[1] == 0 && e.tlb_miss[0] == 0 && e.insns == 1);
	e = time_one(t, &walk).events;
	assert_true(e.tlb_miss[0] > 0.9);
	xr_target_free(t);
}

/* Twelve lines in twelve ways of a tree of bits for sixteen: in one order for ever, strangers would stay. */
static void strangers_do_not_stay(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/p6.ini");
	m.n_tlbs = 0;
	m.cache[0].ways = 12;
	m.cache[0].capacity = 12 * 4096;
	m.cache[0].policy = XR_PLRU;
	struct xr_target *t = xr_model_open_machine(&m, 4);
	cycle(t, XR_SMALL, 64, 4096); /* strangers in every way */
	near(cycle(t, XR_SMALL, 4096, 12), 3, 0.01);
	assert_true(cycle(t, XR_SMALL, 4096, 13) > 4);
	xr_target_free(t);
}

/* Four sets of two ways. Pages 0, 4, 8 are in sets 0, 1, 2 when folded and all in set 0 when not; pages 0, 5, 10
 * the other way round. */
static void folded_sets_are_chosen_by_two_fields(void **state)
{
	(void)state;
	for (int fold = 0; fold < 2; fold++) {
		struct xr_machine m = quiet_machine("machines/p6.ini");
		m.n_tlbs = 1;
		m.tlb[0].entries = 8;
		m.tlb[0].ways = 2;
		m.tlb[0].penalty = 20;
		m.tlb[0].fold = fold;
		struct xr_target *t = xr_model_open_machine(&m, 4);
		near(cycle(t, XR_SMALL, 4 * 4096 + 64, 3), fold ? 3 : 23, 0.01);
		near(cycle(t, XR_SMALL, 5 * 4096 + 64, 3), fold ? 23 : 3, 0.01);
		xr_target_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_textbook_hierarchy_reads_as_in_the_textbook),
		cmocka_unit_test(a_page_touched_once_pays_for_its_translation),
		cmocka_unit_test(large_walks_made_small_cost_the_same),
		cmocka_unit_test(small_machines_translate_as_often),
		cmocka_unit_test(misses_overlap_up_to_the_machines_parallelism),
		cmocka_unit_test(a_script_times_only_what_it_should),
		cmocka_unit_test(stores_show_the_write_policy_in_their_pace),
		cmocka_unit_test(the_os_may_turn_a_busy_buffer_to_huge_pages),
		cmocka_unit_test(no_cache_at_all_is_a_machine_too),
		cmocka_unit_test(addresses_outside_the_buffer_are_refused),
		cmocka_unit_test(counters_count_misses_where_there_are_counters),
		cmocka_unit_test(strangers_do_not_stay),
		cmocka_unit_test(folded_sets_are_chosen_by_two_fields),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
