/* SPDX-License-Identifier: MIT */
/* Which cores share the first-level data cache.
 *
 * Parameter: cache.l1d.shared_by (cores that use one first-level cache together), cache.l1d.busy_capacity (bytes per
 * core that still come at its own speed when all of them walk through it).
 *
 * Idea: a walk through most of a cache is slowed down by somebody else's sweep through the same cache (X-Ray, the first
 * paper, finds threads of one core that way; here the threads are on different cores).
 *
 * Algorithm: method/sharers.h.
 *
 * When it fails: needs the capacity, two cores and pinning. Between 10 and 25 % of lines lost decide nothing.
 */
#include "method/sharers.h"
#include "micro/micro.h"

static int run_sharing(struct xr_run *run)
{
	struct xr_sharers s;
	double capacity = xr_run_number(run, "cache.l1d.capacity", 0);
	const char *why_not = xr_sharers_init(&s, run);
	if (!why_not && capacity > 0)
		return xr_sharers_measure(&s, "l1d", capacity, xr_run_number(run, "cache.l2.capacity", 0), false);
	xr_sharers_explain(&s, "l1d", why_not);
	return 0;
}

static const char *const finds[] = {"cache.l1d.shared_by", "cache.l1d.busy_capacity", NULL};
static const char *const needs[] = {"threads", "comm", "cache_l1d", NULL};

const struct xr_micro xr_micro_sharing = {
	.id = "sharing",
	.title = "which cores share the first-level cache",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.5,
	.kinds = 1u << XR_TEAM | 1u << XR_CHAIN,
	.run = run_sharing,
};
