/* SPDX-License-Identifier: MIT */
/* What must hold on any real machine (make check-live): order, loose bounds, and the same answer again, alone and
 * beside a busy neighbour, from both compilers and both forms of generated code. Never a time, never a model of CPU. */
#include "../lib/start.h"

#include "xray.h"

#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const asked[] = {"cpu.frequency", "timer",         "op.add",         "op.mul",
                                    "op.div",        "cache",         "memory.latency", "memory.page_size",
                                    "tlb",           "registers.int", "units"};
static struct xr_description *first;

static int measure_once(void **state)
{
	(void)state;
	size_t n = 0;
	const char *known[sizeof asked / sizeof *asked];
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) { /* what this build has */
		struct xr_plan one = {.select = &asked[i], .n_select = 1};
		if (!xr_plan_check(&one, NULL))
			known[n++] = asked[i];
	}
	first = measure_here(NULL, known, n);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	xr_description_free(first);
	return 0;
}

/* Value of an ok fact, or NaN. */
static double get(const char *id)
{
	return xr_description_number(first, id, NAN);
}

static void less(const char *small, const char *big, double slack)
{
	double a = get(small), b = get(big);
	if (isnan(a) || isnan(b))
		fail_msg("%s is not told", isnan(a) ? small : big);
	if (a > b * slack)
		fail_msg("%s = %g is more than %s = %g", small, a, big, b);
}

static void the_clock_is_one(void **state)
{
	(void)state;
	double hz = get("cpu.frequency");
	assert_true(hz > 1e8 && hz < 1e10); /* and so it is known */
	assert_true(get("timer.resolution") > 0);
}

static void operations_cost_what_operations_can_cost(void **state)
{
	(void)state;
	less("op.add.i32.latency", "op.mul.i32.latency", 1.05);
	less("op.mul.i32.latency", "op.div.i32.latency", 1.05);
	less("op.add.f64.latency", "op.div.f64.latency", 1.05);
	static const char *const types[] = {"i8", "i16", "i32", "i64", "f32", "f64"};
	static const char *const ops[] = {"add", "mul", "div"};
	for (size_t t = 0; t < 6; t++)
		for (size_t o = 0; o < 3; o++) {
			char latency[64], throughput[64];
			snprintf(latency, sizeof latency, "op.%s.%s.latency", ops[o], types[t]);
			snprintf(throughput, sizeof throughput, "op.%s.%s.throughput", ops[o], types[t]);
			less(throughput, latency, 1.1);
			if (get(latency) < 0.95 || get(latency) > 500 || get(throughput) < 0.05)
				fail_msg("%s = %g, %s = %g", latency, get(latency), throughput, get(throughput));
		}
	if (get("op.div.i64.throughput") < 2 * get("op.add.i64.throughput"))
		fail_msg("a division as cheap as an addition: the compiler took it away");
}

/* What decides itself on any core with caches, a TLB and an operating system: a run that leaves it out has failed,
 * whatever its reasons. */
static void what_every_machine_decides_is_told(void **state)
{
	static const char *const must[] = {
		"cpu.frequency",      "timer.resolution",   "timer.overhead",     "op.add.i32.latency",
		"op.mul.i32.latency", "op.div.i64.latency", "op.add.f64.latency", "op.mul.f64.latency",
		"cache.levels",       "cache.l1d.capacity", "cache.l1d.ways",     "cache.l1d.line",
		"cache.l1d.latency",  "cache.l2.capacity",  "cache.l2.latency",   "cache.l1i.capacity",
		"memory.latency",     "memory.page_size",   "tlb.d1.entries",     "tlb.i1.entries",
		"registers.int",      "units.width",
	};
	size_t missing = 0;
	(void)state;
	for (size_t i = 0; i < sizeof must / sizeof *must; i++)
		if (isnan(get(must[i]))) {
			print_message("# %s is not told\n", must[i]);
			missing++;
		}
	assert_int_equal(missing, 0);
}

static void caches_grow_outwards(void **state)
{
	(void)state;
	less("cache.l1d.latency", "cache.l2.latency", 1.0);
	less("cache.l2.latency", "memory.latency", 1.0);
	less("cache.l1d.capacity", "cache.l2.capacity", 1.0);
	if (get("cache.levels") >= 3) {
		less("cache.l2.latency", "cache.l3.latency", 1.0);
		less("cache.l2.capacity", "cache.l3.capacity", 1.0);
	}
	double bytes = get("cache.l1d.capacity"), ways = get("cache.l1d.ways"), line = get("cache.l1d.line");
	assert_true(fmod(bytes, ways * line) == 0);
}

/* Facts of both descriptions agree: counts and sizes exactly, cycles within `slack`. */
static const double sure = 0.75; /* a noisy machine takes from every confidence */

static void agree(const struct xr_description *a, const struct xr_description *b, double slack, const char *when)
{
	size_t differ = 0, compared = 0;
	for (size_t i = 0; i < xr_description_count(a); i++) {
		const struct xr_fact *fact = xr_description_at(a, i);
		const char *id = xr_fact_id(fact), *unit = xr_fact_unit(fact);
		double x = xr_description_number(a, id, NAN), y = xr_description_number(b, id, NAN);
		bool exact = !strncmp(id, "cache.l1d.", 10) && strcmp(unit, "cycles") != 0;
		bool cost = strstr(id, ".latency") && !strcmp(unit, "cycles") && !strncmp(id, "op.", 3);
		if (isnan(x) || isnan(y) || (!exact && !cost) || xr_fact_confidence(fact) < sure)
			continue;
		compared++;
		if (exact ? x != y : fabs(x - y) > slack * fabs(x)) {
			print_message("# %s: %g, %s %g\n", id, x, when, y);
			differ++;
		}
	}
	print_message("# %zu facts compared %s\n", compared, when);
	assert_true(compared > 0);
	assert_int_equal(differ, 0);
}

static void again(const struct xr_options *options, double slack, const char *when)
{
	static const char *const select[] = {"op.add", "op.mul"};
	struct xr_description *d = measure_here(options, select, 2);
	agree(first, d, slack, when);
	xr_description_free(d);
}

static void the_same_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		again(NULL, 0.02, "measured again");
}

static void the_same_beside_a_busy_neighbour(void **state)
{
	(void)state;
	pid_t child = fork();
	assert_true(child >= 0);
	if (!child)
		for (volatile unsigned long i = 0;; i++)
			;
	again(NULL, 0.02, "beside a busy process");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void the_same_from_plain_c(void **state)
{
	(void)state;
	struct xr_options options = {.cpu = -1, .form = "switch"};
	again(&options, 0.03, "as a switch");
}

static void the_same_from_another_compiler(void **state)
{
	(void)state;
	if (system("command -v clang > /dev/null") != 0)
		skip();
	struct xr_options options = {.cpu = -1, .cc = "clang"};
	again(&options, 0.03, "by clang");
}

static void a_description_survives_writing_and_reading(void **state)
{
	(void)state;
	struct xr_error err;
	char path[] = "/tmp/xray-live-XXXXXX";
	close(mkstemp(path));
	assert_int_equal(xr_description_write(first, path, &err), 0);
	struct xr_description *d = xr_description_read(path, &err);
	unlink(path);
	assert_non_null(d);
	assert_int_equal(xr_description_count(d), xr_description_count(first));
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_is_one),
		cmocka_unit_test(operations_cost_what_operations_can_cost),
		cmocka_unit_test(what_every_machine_decides_is_told),
		cmocka_unit_test(caches_grow_outwards),
		cmocka_unit_test(the_same_again),
		cmocka_unit_test(the_same_beside_a_busy_neighbour),
		cmocka_unit_test(the_same_from_plain_c),
		cmocka_unit_test(the_same_from_another_compiler),
		cmocka_unit_test(a_description_survives_writing_and_reading),
	};
	return cmocka_run_group_tests(tests, measure_once, forget);
}
