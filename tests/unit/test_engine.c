/* SPDX-License-Identifier: MIT */
/* The engine, with micro-benchmarks and a target made up for it. */
#include "engine/engine.h"
#include "micro/table.h"
#include "engine/plan.h"
#include "engine/run.h"
#include "util/watch.h"
#include "../lib/fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Time passes by looking at the clock, a tenth of a millisecond a look: budgets are what they say, however busy it is here. */
double xr_clock_s(void)
{
	static unsigned looks;
	return 1000 + 1e-4 * ++looks;
}

/* ---- micro-benchmarks made up for the tests ---------------------------------------------------------------------- */

static const char *const nothing[] = {NULL};

static int measure(struct xr_run *run, double *cycles)
{
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 1);
	struct xr_reading reading;
	if (xr_run_time(run, &spec, 1, &reading))
		return -1;
	*cycles = reading.cycles;
	return 0;
}

static int run_clock(struct xr_run *run)
{
	double cycles;
	if (measure(run, &cycles))
		return -1;
	xr_run_cycle(run, 2);
	xr_fact_number(xr_run_description(run), "cpu.frequency", 1e9, "Hz", 0.99, "");
	return 0;
}

static int run_sizes(struct xr_run *run)
{
	double cycles;
	if (xr_run_wants(run, "size.a"))
		xr_fact_count(xr_run_description(run), "size.a", 1, "bytes", 0.99, "");
	if (measure(run, &cycles))
		return -1;
	xr_fact_number(xr_run_description(run), "size.cycles", cycles, "cycles", 0.99, "");
	if (xr_run_wants(run, "size.b"))
		xr_fact_none(xr_run_description(run), "size.b", XR_UNRELIABLE, "too noisy");
	return 0;
}

static int run_broken(struct xr_run *run)
{
	(void)run;
	return -1;
}

static int run_user(struct xr_run *run)
{
	xr_fact_bool(xr_run_description(run), "user.ok", true, 1, "");
	return 0;
}

/* Thinks, and asks nobody but whether it may go on. */
static volatile int *thinker_interrupt; /* set while it thinks */
static int run_thinker(struct xr_run *run)
{
	if (thinker_interrupt)
		*thinker_interrupt = 1;
	xr_fact_bool(xr_run_description(run), "user.ok", true, 1, "");
	while (!xr_watch_over(xr_run_watch(run)))
		;
	return xr_run_go_on(run);
}

static const char *not_here(const struct xr_run *run)
{
	(void)run;
	return "this one is for others";
}

static const char *const clock_finds[] = {"cpu.frequency", NULL};
static const char *const sizes_finds[] = {"size.a", "size.b", "size.cycles", NULL}, *const needs_clock[] = {"clock",
                                                                                                            NULL};
static const char *const broken_finds[] = {"broken.x", "broken.*.y", NULL};
static const char *const user_finds[] = {"user.ok", NULL};
static const char *const needs_broken[] = {"broken", NULL}, *const needs_a[] = {"size.a", NULL},
			 *const needs_b[] = {"size.b", NULL};
static const char *const needs_none_such[] = {"none_such", NULL}, *const needs_user[] = {"user", NULL};

static const struct xr_micro clock_micro = {
	.id = "clock", .title = "the clock", .finds = clock_finds, .cost_s = 1, .run = run_clock};
static const struct xr_micro sizes_micro = {.id = "sizes",
                                            .title = "sizes",
                                            .finds = sizes_finds,
                                            .needs = needs_clock,
                                            .cost_s = 0.1,
                                            .kinds = 1u << XR_OPS,
                                            .run = run_sizes};
static const struct xr_micro broken_micro = {
	.id = "broken", .title = "gives up", .finds = broken_finds, .needs = nothing, .cost_s = 3, .run = run_broken};
static const struct xr_micro walker_micro = {
	.id = "walker", .title = "walks", .finds = user_finds, .cost_s = 1, .kinds = 1u << XR_WALK, .run = run_user};
static const struct xr_micro absent_micro = {
	.id = "absent", .title = "absent", .finds = user_finds, .cost_s = 1, .supported = not_here, .run = run_user};

static const char *const thinker_finds[] = {"user.ok", "user.deep", NULL};
static const struct xr_micro thinker_micro = {
	.id = "thinker", .title = "thinks", .finds = thinker_finds, .cost_s = 1, .run = run_thinker};

static struct xr_micro user_of(const char *const *needs)
{
	return (struct xr_micro){
		.id = "user", .title = "uses", .finds = user_finds, .needs = needs, .cost_s = 0.5, .run = run_user};
}

/* ---- running them ------------------------------------------------------------------------------------------------ */

struct trial {
	struct fake fake;
	struct xr_description *d;
	struct xr_outcome outcome;
	struct xr_error err;
	int rc;
};

static void go(struct trial *trial, const struct xr_micro *const *table, struct xr_plan plan, const char *select)
{
	const char *const list[] = {select};
	plan.select = list;
	plan.n_select = select ? 1 : 0;
	trial->d = xr_description_new();
	trial->rc = xr_engine_run(&trial->fake.target, table, &plan, 1, NULL, trial->d, &trial->outcome, &trial->err);
}

static void done(struct trial *trial)
{
	xr_description_free(trial->d);
	fake_release(&trial->fake);
}

static const char *reason(const struct trial *trial, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(trial->d, id);
	return fact ? xr_fact_reason(fact) : "no such fact";
}

static void needs_come_first_and_the_cheap_before_the_dear(void **state)
{
	(void)state;
	const struct xr_micro user = user_of(needs_broken);
	const struct xr_micro *const table[] = {&broken_micro, &clock_micro, &sizes_micro, &user, NULL};
	struct xr_arena arena = {0};
	struct xr_order order;
	struct xr_error err;
	assert_int_equal(xr_order_make(&order, &arena, table, NULL, 0, false, &err), 0);
	assert_int_equal(order.n, 4);
	assert_ptr_equal(order.step[0].micro, &clock_micro);
	assert_ptr_equal(order.step[1].micro, &sizes_micro);
	assert_ptr_equal(order.step[2].micro, &broken_micro);
	assert_ptr_equal(order.step[3].micro, &user);
	xr_arena_release(&arena);
}

static void a_circle_of_needs_is_an_error(void **state)
{
	(void)state;
	const struct xr_micro user = user_of(needs_user);
	const struct xr_micro *const table[] = {&user, NULL};
	struct xr_arena arena = {0};
	struct xr_order order;
	struct xr_error err;
	assert_int_equal(xr_order_make(&order, &arena, table, NULL, 0, false, &err), -1);
	assert_non_null(strstr(err.text, "circle"));
	xr_arena_release(&arena);
}

static void a_selection_takes_what_it_needs_and_no_more(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&broken_micro, &clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, "size.a");
	assert_int_equal(trial.rc, 0);
	assert_non_null(xr_description_fact(trial.d, "cpu.frequency"));
	assert_non_null(xr_description_fact(trial.d, "size.a"));
	assert_null(xr_description_fact(trial.d, "size.b"));
	assert_null(xr_description_fact(trial.d, "broken.x"));
	assert_int_equal(trial.outcome.exit, XR_EXIT_OK);
	assert_int_equal(trial.outcome.ok, 1);
	assert_string_equal(xr_description_fact(trial.d, "size.a")->micro, "sizes");
	done(&trial);
}

static size_t place_in(const struct xr_order *order, const char *fact)
{
	size_t i = 0;
	while (i < order->n && !xr_micro_finds(order->step[i].micro, fact))
		i++;
	return i;
}

static void in_a_hurry_what_people_ask_for_most_comes_first(void **state)
{
	struct xr_arena arena = {0};
	struct xr_order order;
	struct xr_error err;
	(void)state;
	assert_int_equal(xr_order_make(&order, &arena, xr_micro_table, NULL, 0, true, &err), 0);
	assert_true(place_in(&order, "cpu.frequency") < place_in(&order, "cache.l1d.capacity"));
	assert_true(place_in(&order, "cache.l1d.capacity") < place_in(&order, "branch.mispredict"));
	assert_true(place_in(&order, "tlb.d1.entries") < place_in(&order, "os.tick"));
	assert_true(place_in(&order, "cache.l2.capacity") < place_in(&order, "threads.contexts.int"));
	assert_true(place_in(&order, "op.add.i32.latency") < place_in(&order, "units.width"));
	assert_true(place_in(&order, "memory.latency") < place_in(&order, "registers.int"));
	xr_arena_release(&arena);
}

/* Says it takes long, so that a budget of seconds is a hurry. */
static int times_coarse_ran;
static int run_coarse(struct xr_run *run)
{
	bool quick = xr_run_quick(run);
	times_coarse_ran++;
	xr_fact_number(xr_run_description(run), "coarse.x", quick ? 1 : 2, "", quick ? 0.95 : 0.93,
	               quick ? "hasty" : "thorough");
	xr_fact_number(xr_run_description(run), "coarse.y", 1, "", 1, "sure");
	return 0;
}
static int run_endless(struct xr_run *run)
{
	xr_fact_number(xr_run_description(run), "endless.x", xr_run_quick(run) ? 1 : 2, "", 0.95, "said");
	while (!xr_run_quick(run) && !xr_run_go_on(run))
		;
	return xr_run_quick(run) ? 0 : -1;
}
static const char *const coarse_finds[] = {"coarse.x", "coarse.y", NULL}, *const endless_finds[] = {"endless.x", NULL};

static void what_a_budget_leaves_over_refines_what_is_in_doubt(void **state)
{
	static const struct xr_micro coarse = {
		.id = "coarse", .title = "t", .finds = coarse_finds, .cost_s = 100, .run = run_coarse};
	static const struct xr_micro endless = {
		.id = "endless", .title = "t", .finds = endless_finds, .cost_s = 101, .run = run_endless};
	const struct xr_micro *const table[] = {&coarse, &endless, NULL};
	struct trial trial;
	(void)state;
	times_coarse_ran = 0;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 2}, NULL);
	/* once in a hurry, once more with all effort, and the thorough answer counts */
	assert_int_equal(times_coarse_ran, 2);
	assert_float_equal(xr_description_number(trial.d, "coarse.x", 0), 2, 0);
	assert_float_equal(xr_description_fact(trial.d, "coarse.x")->confidence, 0.93, 1e-6);
	/* what the end of the budget cut off is as it was */
	assert_float_equal(xr_description_number(trial.d, "endless.x", 0), 1, 0);
	assert_float_equal(xr_description_fact(trial.d, "endless.x")->confidence, 0.855, 1e-6);
	assert_false(trial.outcome.over_budget);
	done(&trial);
	/* enough time for everything: no hurry, nothing twice */
	times_coarse_ran = 0;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 1000}, "coarse");
	assert_int_equal(times_coarse_ran, 1);
	assert_float_equal(xr_description_number(trial.d, "coarse.x", 0), 2, 0);
	done(&trial);
}

/* Takes all the time it is given; and a quarter of a second. */
static int run_greedy(struct xr_run *run)
{
	while (!xr_run_go_on(run))
		;
	return -1;
}
static int run_modest(struct xr_run *run)
{
	for (double start_s = xr_clock_s(); xr_clock_s() < start_s + 0.25;)
		if (xr_run_go_on(run))
			return -1;
	xr_fact_number(xr_run_description(run), "memory.latency", 1, "", 1, "");
	return 0;
}
static const char *const greedy_finds[] = {"tlb.d1.entries", NULL}, *const modest_finds[] = {"memory.latency", NULL};

static void in_a_hurry_long_ones_leave_time_for_what_takes_little(void **state)
{
	static const struct xr_micro greedy = {
		.id = "greedy", .title = "t", .finds = greedy_finds, .cost_s = 3, .run = run_greedy};
	static const struct xr_micro modest = {
		.id = "modest", .title = "t", .finds = modest_finds, .cost_s = 0.5, .run = run_modest};
	const struct xr_micro *const table[] = {&greedy, &modest, NULL};
	struct trial trial;
	(void)state;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 1.2}, NULL);
	assert_int_equal(xr_description_fact(trial.d, "tlb.d1.entries")->status, XR_FAILED);
	assert_float_equal(xr_description_number(trial.d, "memory.latency", 0), 1, 0);
	done(&trial);
}

/* Of 1.2 s, by costs of 1, 2 and 2: a fifth is its share, and it may have three of them. */
static void in_a_hurry_short_ones_may_come_to_their_end(void **state)
{
	static const char *const outer_finds[] = {"cache.l2.capacity", NULL}, *const op_finds[] = {"op.add.i32.latency",
	                                                                                           NULL};
	static const struct xr_micro brief = {
		.id = "brief", .title = "t", .finds = greedy_finds, .cost_s = 1, .run = run_greedy};
	static const struct xr_micro outer = {
		.id = "outer", .title = "t", .finds = outer_finds, .cost_s = 3, .run = run_greedy};
	static const struct xr_micro op = {.id = "op", .title = "t", .finds = op_finds, .cost_s = 6, .run = run_greedy};
	const struct xr_micro *const table[] = {&brief, &outer, &op, NULL};
	struct trial trial;
	(void)state;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 1.2}, NULL);
	const json_t *spent = json_object_get(xr_description_target(trial.d), "spent");
	assert_true(json_number_value(json_object_get(spent, "brief")) >= 0.7);
	done(&trial);
}

static void pictures_come_last_whatever_they_cost(void **state)
{
	struct xr_arena arena = {0};
	struct xr_order order;
	struct xr_error err;
	(void)state;
	for (int hurried = 0; hurried < 2; hurried++) {
		assert_int_equal(xr_order_make(&order, &arena, xr_micro_table, NULL, 0, hurried, &err), 0);
		assert_int_equal(place_in(&order, "memory.curve.small"), order.n - 1);
		assert_int_equal(place_in(&order, "memory.curve.read"), order.n - 2);
	}
	xr_arena_release(&arena);
}

static void a_micro_benchmark_can_be_named_itself(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, "sizes");
	assert_non_null(xr_description_fact(trial.d, "size.a"));
	assert_non_null(xr_description_fact(trial.d, "size.b"));
	done(&trial);
}

static void an_unknown_fact_is_wrong_use_with_the_nearest(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, "cpu.freqency");
	assert_int_equal(trial.rc, -1);
	assert_int_equal(trial.err.code, XR_EXIT_USE);
	assert_non_null(strstr(trial.err.text, "did you mean 'cpu.frequency'?"));
	assert_int_equal(trial.fake.calls, 0);
	done(&trial);
}

static void cycles_are_core_cycles_once_the_clock_is_known(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake); /* 1 ns at a reference of 0.5 ns: 2 references of 2 cycles each */
	go(&trial, table, (struct xr_plan){0}, NULL);
	assert_float_equal(xr_description_number(trial.d, "size.cycles", 0), 4, 1e-9);
	done(&trial);
}

static void a_failure_costs_its_own_facts_and_those_that_need_it(void **state)
{
	(void)state;
	const struct xr_micro user = user_of(needs_broken);
	const struct xr_micro *const table[] = {&broken_micro, &clock_micro, &user, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, NULL);
	assert_int_equal(trial.rc, 0);
	assert_int_equal(xr_description_fact(trial.d, "broken.x")->status, XR_FAILED);
	assert_int_equal(xr_description_fact(trial.d, "broken.*.y")->status, XR_FAILED);
	assert_int_equal(xr_description_fact(trial.d, "user.ok")->status, XR_FAILED);
	assert_non_null(strstr(reason(&trial, "user.ok"), "needs broken"));
	assert_int_equal(xr_description_fact(trial.d, "cpu.frequency")->status, XR_OK);
	assert_int_equal(trial.outcome.exit, XR_EXIT_SOME);
	done(&trial);
}

static void a_needed_fact_must_be_found(void **state)
{
	(void)state;
	const struct xr_micro a = user_of(needs_a), b = user_of(needs_b), c = user_of(needs_none_such);
	const struct xr_micro *const with_a[] = {&clock_micro, &sizes_micro, &a, NULL};
	const struct xr_micro *const with_b[] = {&clock_micro, &sizes_micro, &b, NULL};
	const struct xr_micro *const with_c[] = {&c, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, with_a, (struct xr_plan){0}, "user");
	assert_int_equal(xr_description_fact(trial.d, "user.ok")->status, XR_OK);
	assert_null(xr_description_fact(trial.d, "size.b")); /* of what is needed only that */
	done(&trial);
	fake_init(&trial.fake);
	go(&trial, with_b, (struct xr_plan){0}, NULL);
	assert_string_equal(reason(&trial, "user.ok"), "needs size.b, which was not found: too noisy");
	done(&trial);
	fake_init(&trial.fake);
	go(&trial, with_c, (struct xr_plan){0}, NULL);
	assert_string_equal(reason(&trial, "user.ok"), "needs none_such, which this build does not have");
	done(&trial);
}

static void what_a_target_cannot_do_is_unsupported(void **state)
{
	(void)state;
	const struct xr_micro *const walks[] = {&walker_micro, NULL}, *const absent[] = {&absent_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, walks, (struct xr_plan){0}, NULL);
	assert_int_equal(xr_description_fact(trial.d, "user.ok")->status, XR_UNSUPPORTED);
	assert_int_equal(trial.outcome.exit, XR_EXIT_OK); /* an answer */
	done(&trial);
	fake_init(&trial.fake);
	go(&trial, absent, (struct xr_plan){0}, "user.ok");
	assert_string_equal(reason(&trial, "user.ok"), "this one is for others");
	assert_int_equal(trial.outcome.exit, XR_EXIT_SOME); /* but not the one asked for by name */
	done(&trial);
}

static void an_interrupt_keeps_what_was_found(void **state)
{
	(void)state;
	const struct xr_micro user = user_of(needs_a);
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, &user, NULL};
	volatile int interrupt = 0;
	struct trial trial;
	fake_init(&trial.fake);
	trial.fake.raise = &interrupt;
	go(&trial, table, (struct xr_plan){.interrupt = &interrupt}, NULL);
	assert_int_equal(trial.rc, 0);
	assert_true(trial.outcome.interrupted);
	assert_int_equal(trial.outcome.exit, XR_EXIT_SOME);
	assert_int_equal(trial.fake.calls, 1);
	assert_non_null(strstr(reason(&trial, "cpu.frequency"), "interrupted while"));
	assert_non_null(strstr(reason(&trial, "size.a"), "interrupted before"));
	done(&trial);
}

static void a_budget_is_kept(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 1e-9}, NULL);
	assert_int_equal(trial.rc, 0);
	assert_true(trial.outcome.over_budget);
	assert_int_equal(trial.outcome.exit, XR_EXIT_SOME);
	assert_non_null(strstr(reason(&trial, "cpu.frequency"), "--budget"));
	done(&trial);
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 60}, NULL);
	assert_false(trial.outcome.over_budget);
	assert_int_equal(trial.fake.samples_asked, 9); /* enough time: not hurried */
	done(&trial);
}

static void who_thinks_stops_at_the_deadline_and_at_the_signal(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&thinker_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.budget_s = 0.01}, NULL);
	assert_true(trial.outcome.over_budget);
	assert_non_null(strstr(reason(&trial, "user.deep"), "--budget"));
	assert_int_equal(xr_description_fact(trial.d, "user.ok")->status, XR_OK);
	done(&trial);

	volatile int interrupt = 0;
	fake_init(&trial.fake);
	thinker_interrupt = &interrupt;
	go(&trial, table, (struct xr_plan){.interrupt = &interrupt}, NULL);
	thinker_interrupt = NULL;
	assert_true(trial.outcome.interrupted);
	assert_non_null(strstr(reason(&trial, "user.deep"), "interrupted"));
	done(&trial);
}

static void quick_says_so_in_the_confidence(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.quick = true}, NULL);
	assert_true(xr_description_fact(trial.d, "cpu.frequency")->confidence < 0.9);
	assert_true(trial.fake.samples_asked < 9);
	assert_true(json_is_true(json_object_get(xr_description_target(trial.d), "quick")));
	done(&trial);
}

static void a_target_that_gives_nothing_is_an_error(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	trial.fake.lost = "the runner ended with status 127";
	go(&trial, table, (struct xr_plan){0}, NULL);
	assert_int_equal(trial.rc, -1);
	assert_int_equal(trial.err.code, XR_EXIT_TARGET);
	assert_string_equal(trial.err.text, "the runner ended with status 127");
	done(&trial);
}

static void doubt_is_not_trustworthy(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, "size.b");
	assert_int_equal(trial.outcome.exit, XR_EXIT_NOISY);
	done(&trial);
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){0}, NULL);
	assert_int_equal(trial.outcome.exit, XR_EXIT_SOME);
	done(&trial);
}

struct seen {
	int calls, finished;
	double last_fraction;
	bool backwards;
};

static void watch(void *self, const struct xr_progress *progress)
{
	struct seen *seen = self;
	seen->calls++;
	seen->finished += progress->finished;
	seen->last_fraction = progress->fraction;
	assert_true(progress->fraction >= 0 && progress->fraction <= 1);
	assert_true(progress->remaining_s >= 0);
	assert_int_equal(progress->count, 2);
}

static void progress_ends_at_the_end(void **state)
{
	(void)state;
	const struct xr_micro *const table[] = {&clock_micro, &sizes_micro, NULL};
	struct seen seen = {0};
	struct trial trial;
	fake_init(&trial.fake);
	go(&trial, table, (struct xr_plan){.progress = watch, .self = &seen}, NULL);
	assert_int_equal(seen.finished, 2);
	assert_true(seen.last_fraction > 0.99);
	done(&trial);
}

/* Four seconds of compiling and ten of walking are ahead, one of each is done, and the noise is asked once more. */
static void an_estimate_tells_compiling_from_timing(void **state)
{
	(void)state;
	const struct xr_micro noise = {.id = "noise", .cost_s = 1, .kinds = 1u << XR_CHAIN},
			      compiles = {.id = "a", .cost_s = 4, .kinds = 1u << XR_OPS | XR_WITH_COMPILER},
			      walks = {.id = "b", .cost_s = 10, .kinds = 1u << XR_CHAIN};
	struct xr_step step[] = {{.micro = &noise}, {.micro = &compiles}, {.micro = &walks}};
	struct xr_run run = {.order = {.step = step, .n = 3}, .index = 1};
	run.cost_done_s[0] = run.cost_done_s[1] = run.spent_done_s[0] = run.spent_done_s[1] = 1;
	double usual_s = xr_run_estimate_s(&run);
	assert_true(usual_s > 14.99 && usual_s < 15.01);
	run.spent_done_s[1] = 0; /* the programs were there */
	double warm_s = xr_run_estimate_s(&run);
	assert_true(warm_s < usual_s - 1.9 && warm_s > 11);
	run.spent_done_s[0] = 3; /* a slow machine, or others on it: believed little by little */
	assert_true(xr_run_estimate_s(&run) > warm_s + 1 && xr_run_estimate_s(&run) < 2 * warm_s);
	run.step_fraction = 1;
	run.index = 2;
	double last_s = xr_run_estimate_s(&run);
	assert_true(last_s > 0 && last_s < 2); /* the noise */
	run.index = 3;
	assert_true(xr_run_estimate_s(&run) < 1e-9);
	struct fake fake;
	const struct xr_micro pairs = {.id = "c", .cost_s = 4, .by_pairs = true};
	fake_init(&fake);
	fake.target.info.n_cpus = 16;
	run.target = &fake.target;
	assert_float_equal(xr_run_cost_s(&run, &pairs), 4, 1e-6);
	assert_float_equal(xr_run_cost_s(&run, &compiles), 2, 1e-6); /* two at a time */
	assert_float_equal(xr_run_cost_s(&run, &walks), 10, 1e-6);
	fake.target.info.n_cpus = 2;
	assert_true(xr_run_cost_s(&run, &pairs) < 0.1);
	assert_float_equal(xr_run_cost_s(&run, &compiles), 2, 1e-6);
	fake_release(&fake);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(needs_come_first_and_the_cheap_before_the_dear),
		cmocka_unit_test(a_circle_of_needs_is_an_error),
		cmocka_unit_test(a_selection_takes_what_it_needs_and_no_more),
		cmocka_unit_test(in_a_hurry_what_people_ask_for_most_comes_first),
		cmocka_unit_test(what_a_budget_leaves_over_refines_what_is_in_doubt),
		cmocka_unit_test(in_a_hurry_long_ones_leave_time_for_what_takes_little),
		cmocka_unit_test(in_a_hurry_short_ones_may_come_to_their_end),
		cmocka_unit_test(pictures_come_last_whatever_they_cost),
		cmocka_unit_test(a_micro_benchmark_can_be_named_itself),
		cmocka_unit_test(an_unknown_fact_is_wrong_use_with_the_nearest),
		cmocka_unit_test(cycles_are_core_cycles_once_the_clock_is_known),
		cmocka_unit_test(a_failure_costs_its_own_facts_and_those_that_need_it),
		cmocka_unit_test(a_needed_fact_must_be_found),
		cmocka_unit_test(what_a_target_cannot_do_is_unsupported),
		cmocka_unit_test(an_interrupt_keeps_what_was_found),
		cmocka_unit_test(a_budget_is_kept),
		cmocka_unit_test(who_thinks_stops_at_the_deadline_and_at_the_signal),
		cmocka_unit_test(quick_says_so_in_the_confidence),
		cmocka_unit_test(a_target_that_gives_nothing_is_an_error),
		cmocka_unit_test(doubt_is_not_trustworthy),
		cmocka_unit_test(progress_ends_at_the_end),
		cmocka_unit_test(an_estimate_tells_compiling_from_timing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
