/* SPDX-License-Identifier: MIT */
/* Which cores share the caches beyond the first, and what each gets of them when all are busy.
 *
 * Parameter: cache.l2.shared_by, cache.l3.shared_by (cores that use one cache of that level together),
 * cache.l2.busy_capacity, cache.l3.busy_capacity (bytes per core that still come at the level's own speed when all of
 * them walk through it).
 *
 * Idea: as for the first level: a walk through most of a cache is slowed down by somebody else's sweep through it.
 *
 * Algorithm: method/sharers.h, level after level.
 *
 * When it fails: a level that neighbours in other virtual machines use too is noisy: the best of several looks counts,
 * and between 10 and 25 % of lines lost decide nothing. Where the outermost level is larger than what a program gets of
 * it, two cores have room in it beside each other: that nobody is slowed down proves nothing then, and is said.
 */
#include "method/sharers.h"
#include "micro/micro.h"

#include <string.h>

static const char *const levels[] = {"l2", "l3"};
enum { LEVELS = sizeof levels / sizeof *levels };

static double capacity_of(struct xr_run *run, int level)
{
	return xr_run_number(run, xr_arena_printf(xr_run_arena(run), "cache.%s.capacity", levels[level]), 0);
}

/* Found by what a program gets, not by counting ways. */
static bool effective(struct xr_run *run, int level)
{
	struct xr_arena *arena = xr_run_arena(run);
	return !(xr_run_number(run, xr_arena_printf(arena, "cache.%s.ways", levels[level]), 0) > 0);
}

static int run_sharing_outer(struct xr_run *run)
{
	struct xr_sharers s;
	const char *why_not = xr_sharers_init(&s, run);
	int outermost = -1;
	for (int i = 0; i < LEVELS; i++)
		outermost = capacity_of(run, i) > 0 ? i : outermost;
	for (int i = 0; i < LEVELS; i++) {
		double capacity = capacity_of(run, i);
		s.begun = (double)i / LEVELS;
		s.share = 1. / LEVELS;
		if (why_not || !(capacity > 0))
			xr_sharers_explain(&s, levels[i], why_not);
		else if (xr_sharers_measure(&s, levels[i], capacity, i + 1 < LEVELS ? capacity_of(run, i + 1) : 0,
		                            i == outermost && effective(run, i)))
			return -1;
	}
	return 0;
}

static const char *const finds[] = {"cache.l2.shared_by", "cache.l2.busy_capacity", "cache.l3.shared_by",
                                    "cache.l3.busy_capacity", NULL};
static const char *const needs[] = {"threads", "comm", "cache_outer", NULL};

const struct xr_micro xr_micro_sharing_outer = {
	.id = "sharing_outer",
	.title = "which cores share the outer caches, and what each gets",
	.finds = finds,
	.needs = needs,
	.cost_s = 6,
	.kinds = 1u << XR_TEAM | 1u << XR_CHAIN,
	.run = run_sharing_outer,
};
