/* SPDX-License-Identifier: MIT */
/* Habits that change with time, and guesses that hide it: siblings, wide vectors, moving CPUs, costly timers, counters
 * that lie, prefetchers that remember, loads that nobody waits for. */
#include "../lib/start.h"

#include "target/model/model.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void near(double got, double want, double off)
{
	if (!(fabs(got / want - 1) <= off))
		fail_msg("%g, not %g", got, want);
}

static struct xr_machine machine(const char *keys)
{
	struct xr_machine m;
	struct xr_error err;
	char text[2048];
	snprintf(
		text, sizeof text,
		"[target]\nkind = simulated\n[op add int]\n[op mul int]\nlatency = 3\nunit = mul\n[op add fp]\nlatency = 4\n"
		"[cache l1d]\ncapacity = 32K\nways = 8\nlatency = 4\n[cache l2]\ncapacity = 1M\nways = 16\nlatency = 14\n"
		"[memory]\nlatency = 200\n%s",
		keys);
	if (xr_machine_parse(&m, "m.ini", text, strlen(text), &err))
		fail_msg("%s", err.text);
	return m;
}

static struct xr_target *target(const char *keys)
{
	struct xr_machine m = machine(keys);
	return xr_model_open_machine(&m, 2);
}

/* ---- guesses ---- */

static struct xr_reading chase(struct xr_target *t, uint64_t stride, uint32_t count, uint64_t seed)
{
	struct xr_span span = {0, stride, count};
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){1, 64 << 20, XR_SMALL}, &span, 1, seed);
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r;
}

static void a_remembered_lap_is_fetched_ahead(void **state)
{
	(void)state;
	struct xr_target *t = target("");
	near(chase(t, 4096 + 64, 2048, 7).cycles, 14, 0.01); /* 2048 lines fit the second cache … */
	near(chase(t, 8192, 4000, 7).cycles, 200, 0.01);     /* … these do not */
	xr_target_free(t);
	t = target("[prefetch]\ntemporal = 8192\n");
	assert_true(chase(t, 8192, 4000, 7).cycles < 40); /* the same order every lap: learnt */
	xr_target_free(t);
	t = target("[prefetch]\ntemporal = 256\n");
	assert_true(chase(t, 8192, 4000, 7).cycles > 150); /* too long to be remembered */
	xr_target_free(t);
}

static void nobody_waits_for_a_value_that_is_predicted(void **state)
{
	(void)state;
	static const char *const keys[] = {"", "[cpu]\nvalue_prediction = yes\n"};
	for (int i = 0; i < 2; i++) {
		struct xr_target *t = target(keys[i]);
		const double shuffled = chase(t, 64, 256, 9).cycles, in_order = chase(t, 64, 256, 0).cycles,
			     same = chase(t, 64, 1, 0).cycles;
		near(shuffled, 4, 0.01);
		near(in_order, i ? 0.5 : 4, 0.1);
		near(same, i ? 0.5 : 4, 0.01);
		xr_target_free(t);
	}
}

/* ---- clocks ---- */

static double clock_cost(struct xr_target *t, double *granule)
{
	struct xr_spec spec = {.kind = XR_CLOCK};
	struct xr_reading r = time_one(t, &spec);
	*granule = r.granule_ns;
	return r.ns;
}

static void timers_may_be_coarse_and_costly(void **state)
{
	(void)state;
	static const double granules[] = {1, 41.6667, 1000};
	for (int i = 0; i < 3; i++) {
		char keys[100];
		double granule;
		snprintf(keys, sizeof keys, "[cpu]\ntimer_ns = %g\ntimer_cost_ns = 900\n", granules[i]);
		struct xr_target *t = target(keys);
		near(clock_cost(t, &granule), 900, 0.05);
		near(granule, granules[i], 0.01);
		near(chase(t, 64, 1, 0).cycles, 4, 0.02);
		xr_target_free(t);
	}
}

/* Looks at the clock cost what they cost; with a spread, more by 0.8 of it on average (a half normal's mean). */
static void looks_may_cost_now_more_now_less(void **state)
{
	(void)state;
	struct xr_machine m = machine("[cpu]\ntimer_cost_ns = 100\ntimer_spread = 0.5\n");
	struct xr_sim_clock clock;
	double least = 1e9, sum = 0, last;
	xr_sim_init(&clock, &m, 5);
	last = clock.now_ns;
	for (int i = 0; i < 4000; i++) {
		xr_sim_look(&clock);
		const double cost = clock.now_ns - last;
		last = clock.now_ns;
		least = fmin(least, cost);
		sum += cost;
	}
	near(sum / 4000, 100 + 0.5 * 0.798 * 100, 0.03);
	near(least, 100, 0.01);
}

static double mean_ghz(struct xr_sim_clock *clock, bool vectors, int n)
{
	const struct xr_sim_work work = {.cycles = 30000, .vectors = vectors};
	const double start = clock->now_ns;
	bool hit = false;
	for (int i = 0; i < n; i++)
		xr_sim_run(clock, &work, &hit);
	return 30000.0 * n / (clock->now_ns - start);
}

static void wide_vectors_lower_the_clock_for_a_while(void **state)
{
	(void)state;
	struct xr_machine m = machine("[cpu]\nmhz = 3000\nvector_mhz = 2000\nvector_from = 32\nvector_ms = 1\n");
	struct xr_sim_clock clock;
	xr_sim_init(&clock, &m, 5);
	near(mean_ghz(&clock, false, 10), 3, 0.001);
	near(mean_ghz(&clock, true, 10), 2, 0.001);
	near(mean_ghz(&clock, false, 30), 2, 0.001); /* 0.45 ms: still */
	mean_ghz(&clock, false, 60);                 /* past the millisecond */
	near(mean_ghz(&clock, false, 10), 3, 0.001);
	/* and through the seam: wide ones are slow in ns, not in cycles */
	struct xr_target *t = xr_model_open_machine(&m, 2);
	struct xr_spec narrow = xr_spec_stream(XR_ADD, XR_V16F32, 1), wide = xr_spec_stream(XR_ADD, XR_V32F32, 1);
	struct xr_reading a = time_one(t, &narrow), b;
	near(a.ns, 4 / 3.0, 0.01);
	b = time_one(t, &wide);
	near(b.ns, 2, 0.01);
	near(b.cycles, 4, 0.02);
	xr_target_free(t);
}

/* ---- siblings ---- */

static void a_sibling_takes_its_share_while_it_is_there(void **state)
{
	(void)state;
	const char *keys =
		"[threads]\nsmt = 2\nshared_units = mul\n[tlb d1]\nentries = 64\npenalty = 20\n[noise]\nsibling = %s\n"
		"sibling_ms = 0.05\n";
	char text[300];
	snprintf(text, sizeof text, keys, "1");
	struct xr_target *t = target(text);
	near(chase(t, 64, 256, 9).cycles, 4, 0.01);   /* half of the first cache is enough */
	assert_true(chase(t, 64, 500, 9).cycles > 9); /* all of it is not there */
	near(chase(t, 4096 + 64, 30, 9).cycles, 4, 0.01);
	near(chase(t, 4096 + 64, 60, 9).cycles, 24, 0.01); /* half of the TLB, too */
	struct xr_spec mul = xr_spec_stream(XR_MUL, XR_I32, 8), add = xr_spec_stream(XR_ADD, XR_I32, 8);
	near(time_one(t, &mul).cycles, 2, 0.01); /* and of the unit that is shared */
	near(time_one(t, &add).cycles, 0.25, 0.01);
	xr_target_free(t);
	snprintf(text, sizeof text, keys, "0");
	t = target(text);
	near(chase(t, 64, 500, 9).cycles, 4, 0.01);
	near(time_one(t, &mul).cycles, 1, 0.01);
	xr_target_free(t);
}

static void a_sibling_comes_and_goes(void **state)
{
	(void)state;
	struct xr_machine m =
		machine("[cpu]\nmhz = 1000\n[threads]\nsmt = 2\n[noise]\nsibling = 0.3\nsibling_ms = 2\n");
	struct xr_sim_clock clock;
	double there = 0, changes = 0;
	bool hit = false, before = false;
	xr_sim_init(&clock, &m, 5);
	const double start = clock.now_ns;
	for (int i = 0; i < 200000; i++) {
		const struct xr_sim_work work = {.cycles = 10000, .beside = 2};
		const double now = clock.now_ns;
		xr_sim_run(&clock, &work, &hit);
		there += clock.now_ns - now > 15000 ? clock.now_ns - now : 0;
		changes += before != (clock.now_ns - now > 15000);
		before = clock.now_ns - now > 15000;
	}
	near(there / (clock.now_ns - start), 0.3, 0.1);
	near(there / (changes / 2), 2e6, 0.15); /* a stay */
	assert_false(hit);                      /* the OS knows nothing of it */
}

/* ---- hypervisors ---- */

static double hand_over(struct xr_target *t, int a, int b)
{
	const struct xr_member member[2] = {{a, NULL}, {b, NULL}};
	struct xr_spec spec = {.kind = XR_TEAM};
	spec.team = (struct xr_team_spec){.kind = XR_PINGPONG, .member = member, .n_members = 2};
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.ns;
}

static void moved_cpus_change_their_neighbours(void **state)
{
	(void)state;
	const char *keys =
		"[threads]\ncores = 4\nsmt = 2\nnodes = 2\nnear_ns = 40\nfar_ns = 110\n[noise]\nmigrate_hz = %s\n";
	char text[200];
	int differ[2] = {0, 0};
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof text, keys, i ? "1000" : "0");
		struct xr_target *t = target(text);
		const double first = hand_over(t, 0, 4);
		for (int k = 0; k < 20; k++)
			differ[i] += fabs(hand_over(t, 0, 4) / first - 1) > 0.3;
		xr_target_free(t);
	}
	assert_int_equal(differ[0], 0);
	assert_true(differ[1] > 0);
}

static void a_move_leaves_caches_cold(void **state)
{
	(void)state;
	struct xr_machine m = machine("[cpu]\nmhz = 1000\n[noise]\nmigrate_hz = 100\nmigrate_us = 10\n");
	struct xr_sim_clock clock;
	bool hit = false;
	xr_sim_init(&clock, &m, 5);
	const double start = clock.now_ns;
	for (int i = 0; i < 10000; i++) {
		const struct xr_sim_work work = {.cycles = 100000, .cold_cycles = 40000};
		xr_sim_run(&clock, &work, &hit);
	}
	const double moves = clock.migrations;
	near(moves / ((clock.now_ns - start) * 1e-9), 100, 0.15);
	near(clock.now_ns - start, 1e9 + moves * (10000 + 40000), 0.01);
	assert_false(hit);
}

/* ---- counters ---- */

static struct xr_events counted(const char *lies)
{
	char keys[200];
	snprintf(keys, sizeof keys, "[tlb d1]\nentries = 64\n[counters]\navailable = yes\nlies = %s\n", lies);
	struct xr_target *t = target(keys);
	struct xr_events e = chase(t, 4096 + 64, 1000, 9).events; /* each misses the first cache and the TLB */
	struct xr_events again = chase(t, 4096 + 64, 1000, 9).events;
	assert_true(e.counted);
	if (!strcmp(lies, "random"))
		assert_true(fabs(e.cache_miss[0] - again.cache_miss[0]) > 1e-6);
	else
		assert_true(fabs(e.cache_miss[0] - again.cache_miss[0]) < 1e-6);
	xr_target_free(t);
	return e;
}

static void counters_may_lie(void **state)
{
	(void)state;
	const struct xr_events truth = counted("none"), swapped = counted("swapped");
	near(truth.cache_miss[0], 1, 0.01);
	assert_true(truth.cache_miss[1] < 0.01);
	near(truth.tlb_miss[0], 1, 0.01);
	assert_true(counted("zero").cache_miss[0] < 1e-9 && counted("zero").tlb_miss[0] < 1e-9);
	const struct xr_events scaled = counted("scaled");
	assert_true(fabs(scaled.cache_miss[0] - 1) > 0.02);
	near(scaled.cache_miss[0] / scaled.tlb_miss[0], truth.cache_miss[0] / truth.tlb_miss[0], 0.01);
	near(swapped.cache_miss[0], truth.tlb_miss[0], 1e-6);
	near(swapped.tlb_miss[0], truth.cache_miss[0], 1e-6);
	counted("random");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_remembered_lap_is_fetched_ahead),
		cmocka_unit_test(nobody_waits_for_a_value_that_is_predicted),
		cmocka_unit_test(timers_may_be_coarse_and_costly),
		cmocka_unit_test(looks_may_cost_now_more_now_less),
		cmocka_unit_test(wide_vectors_lower_the_clock_for_a_while),
		cmocka_unit_test(a_sibling_takes_its_share_while_it_is_there),
		cmocka_unit_test(a_sibling_comes_and_goes),
		cmocka_unit_test(moved_cpus_change_their_neighbours),
		cmocka_unit_test(a_move_leaves_caches_cold),
		cmocka_unit_test(counters_may_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
