/* SPDX-License-Identifier: MIT */
/* Parameter: what a look at the target's clock costs, and how fine the clock is.
 *
 * Idea: everything else is time between two looks at the clock, so their cost and grain bound every sample (paper 002
 * §3.1 makes the samples long instead; see frequency.c for why that is worse today).
 *
 * Algorithm: the clock is looked at back to back many times. Cost: time over number of looks. Grain: the smallest
 * jump of a clock that stands still between looks, or the smallest difference between two advances of one that
 * never does.
 *
 * When it fails: never, unless the target has no clock at all.
 */
#include "micro/micro.h"

#include "stat/stat.h"

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_spec spec = {.kind = XR_CLOCK};
	struct xr_reading r;
	struct xr_effort effort = {.samples = 31, .samples_max = 31};

	if (xr_run_time_with(run, &effort, &spec, 1, &r))
		return -1;
	if (r.status != XR_READ_OK) {
		xr_fact_none(d, "timer.overhead", XR_FAILED, "%s", r.reason);
		xr_fact_none(d, "timer.resolution", XR_FAILED, "%s", r.reason);
		return 0;
	}
	double agree = r.spread <= 0.05 ? 0.99 : r.spread <= 0.25 ? 0.9 : 0.7;
	xr_fact_number(d, "timer.overhead", r.median_ns, "ns", agree, "back-to-back looks");
	xr_fact_number(d, "timer.resolution", r.granule_ns, "ns", 0.99, "smallest step seen");
	return 0;
}

static const char *const finds[] = {"timer.overhead", "timer.resolution", NULL};

const struct xr_micro xr_micro_timer = {
	.id = "timer",
	.title = "cost and grain of the clock",
	.finds = finds,
	.cost_s = 0.05,
	.kinds = 1u << XR_CLOCK,
	.run = run,
};
