/* SPDX-License-Identifier: MIT */
/* Conflict sets on simulated machines: as many members as the cache has ways. Where pages have few colours, lines that
 * keep the first level busy are often members, too, and must be counted. */
#include "../lib/start.h"

#include "engine/engine.h"
#include "probe/conflict.h"
#include "target/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { PAGE = 4096, PAGES = 1024, L2 = 2 };

static struct xr_machine machine;
static struct {
	double left, holds;
	enum xr_conflict_outcome outcome;
	size_t n;
} found;
static double held; /* lines of one offset that the second cache is said to hold; 0: not said */

static int find(struct xr_run *run)
{
	const struct xr_machine_cache *first = &machine.cache[0], *second = &machine.cache[L2];
	struct xr_conflict_set set;
	struct xr_conflict c = {.run = run,
	                        .buffer = {1, (uint64_t)PAGES * PAGE, XR_SMALL},
	                        .item = PAGE,
	                        .page = PAGE,
	                        .line = first->line_bytes,
	                        .first_ways = (size_t)first->ways,
	                        .first_way = first->capacity / first->ways,
	                        .holds = found.holds,
	                        .miss = second[1].latency - second->latency,
	                        .left = &found.left};

	if (xr_conflict_find(&c, &set) != 0)
		return -1;
	found.outcome = set.outcome;
	found.n = set.n;
	return 0;
}

static const struct xr_micro micro = {
	.id = "conflict",
	.title = "conflict sets",
	.finds = (const char *const[]){"conflict", NULL},
	.needs = (const char *const[]){NULL},
	.cost_s = 1,
	.kinds = 1u << XR_CHAIN,
	.run = find,
};

/* One conflict set of tests/data/crowd.ini with another second level. */
static void look(uint64_t ways, uint64_t colours, int policy, uint64_t seed, double visits)
{
	static const struct xr_micro *const table[] = {&micro, NULL};
	const struct xr_plan plan = {.progress = NULL};
	struct xr_error err = {0};
	struct xr_outcome outcome;

	assert_int_equal(xr_machine_read(&machine, "tests/data/crowd.ini", &err), 0);
	assert_string_equal(machine.cache[L2].name, "l2");
	machine.cache[L2].ways = ways;
	machine.cache[L2].capacity = ways * colours * PAGE;
	machine.cache[L2].policy = policy;
	memset(&found, 0, sizeof found);
	found.left = visits;
	found.holds = held;
	struct xr_target *model = xr_model_open_machine(&machine, seed);
	struct xr_description *d = xr_description_new();
	assert_int_equal(xr_engine_run(model, table, &plan, seed, NULL, d, &outcome, &err), 0);
	xr_description_free(d);
	xr_target_free(model);
}

static void a_set_has_as_many_members_as_ways(void **state)
{
	static const struct {
		uint64_t ways, colours;
		int policy,
			least; /* so many are found: few where what keeps the first level busy nearly fills the second */
	} caches[] = {
		{8, 4, XR_LRU, 10}, {4, 4, XR_LRU, 2}, {16, 4, XR_LRU, 10}, {6, 16, XR_LRU, 10}, {8, 4, XR_PLRU, 10}};
	(void)state;
	for (size_t i = 0; i < sizeof caches / sizeof *caches; i++) {
		int right = 0, wrong = 0;
		for (uint64_t seed = 1; seed <= 12; seed++) {
			look(caches[i].ways, caches[i].colours, caches[i].policy, seed, 1e6);
			if (found.outcome != XR_CONFLICT_FOUND)
				continue;
			right += found.n == caches[i].ways;
			wrong += found.n != caches[i].ways;
			assert_true(found.n > 0);
		}
		if (right < caches[i].least || wrong > 1) /* one in ten: who weighs several of them builds on that */
			fail_msg("%d ways, %d colours: %d right, %d wrong", (int)caches[i].ways, (int)caches[i].colours,
			         right, wrong);
	}
}

static void no_set_where_there_is_room_for_all(void **state)
{
	(void)state;
	look(16, 256, XR_LRU, 1, 1e6);
	assert_int_equal(found.outcome, XR_CONFLICT_NEVER);
	assert_int_equal(found.n, 0);
}

/* One that is hardly larger than the first overflows before anything is asked: not a single visit is spent on it. */
static void no_set_where_there_is_no_room(void **state)
{
	(void)state;
	held = 8;
	look(8, 1, XR_LRU, 1, 1e6);
	held = 0;
	assert_int_equal(found.outcome, XR_CONFLICT_CROWDED);
	assert_true(found.left == 1e6);
}

static void out_of_visits_is_said(void **state)
{
	(void)state;
	look(8, 32, XR_LRU, 1, 1e4);
	assert_int_equal(found.outcome, XR_CONFLICT_SPENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_has_as_many_members_as_ways),
		cmocka_unit_test(no_set_where_there_is_room_for_all),
		cmocka_unit_test(no_set_where_there_is_no_room),
		cmocka_unit_test(out_of_visits_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
