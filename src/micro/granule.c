/* SPDX-License-Identifier: MIT */
/* The false-sharing size.
 *
 * Parameter: sharing.granule, the distance that two words written by two cores must have so that the writers do not
 * slow each other down.
 *
 * Idea: two threads each write their own word, at distances 4, 8, 16 … bytes. In the same granule of coherence the line
 * goes to and fro with every write; apart, both keep their own. The writes are indivisible, for plain stores wait in a
 * store buffer and gather there, which hides most of the cost (measured: a tenth instead of a factor of five).
 *
 * Algorithm: the time over the distance is two constant pieces; the smallest distance of the fast piece is the answer.
 * Three times, with all distances interleaved each time; all three must agree.
 *
 * When it fails: SMT siblings share their first-level cache and never fight, so the two CPUs must not be siblings; on a
 * machine with one core there is nothing to find. A pair prefetcher may add a second, smaller step at twice the
 * distance: the larger step counts.
 */
#include "micro/micro.h"
#include "method/teams.h"
#include "stat/stat.h"

#include <math.h>

enum { DISTANCES = 11, TRIES = 3 }; /* 4 … 4096 bytes */

static const double slow_at_least = 1.3;

/* Two CPUs of different cores: the first CPUs of the first two groups of siblings, or any two when nothing is known. */
static bool choose_pair(const struct xr_run *run, struct xr_description *d, int *a, int *b)
{
	const struct xr_target_info *info = xr_run_info(run);
	const struct xr_fact *fact = xr_description_fact(d, "threads.siblings");
	if (fact && fact->status == XR_OK && json_array_size(fact->value) >= 1) {
		if (json_array_size(fact->value) < 2)
			return false;
		*a = (int)json_integer_value(json_array_get(json_array_get(fact->value, 0), 0));
		*b = (int)json_integer_value(json_array_get(json_array_get(fact->value, 1), 0));
		return true;
	}
	*a = info->cpu_ids[0];
	*b = info->cpu_ids[1];
	return true;
}

/* The first distance of the fast piece; 0: no step. */
static double decide(const double *distance, const double *time)
{
	double log_time[DISTANCES];
	for (int i = 0; i < DISTANCES; i++)
		log_time[i] = log(time[i]);
	struct xr_fit2 fit = xr_two_segments(log_time, DISTANCES);
	if (fit.left - fit.right < log(slow_at_least) || fit.split < 0 || fit.split >= DISTANCES - 1)
		return 0;
	return distance[fit.split + 1];
}

static int run_granule(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_spec spec[DISTANCES];
	struct xr_reading r[DISTANCES];
	double distance[DISTANCES], time[DISTANCES], answer[TRIES], share;
	int a, b;
	if (info->n_cpus < 2 || !info->can_pin || !choose_pair(run, d, &a, &b)) {
		xr_fact_none(d, "sharing.granule", XR_UNSUPPORTED, "%s",
		             info->n_cpus < 2
		                     ? "only one CPU may be used here"
		                     : (info->can_pin ? "all CPUs are threads of one core, which shares its cache"
		                                      : "threads cannot be pinned to CPUs here"));
		return 0;
	}
	for (int try = 0; try < TRIES; try++) {
		xr_run_progress(run, (double)try / TRIES, "distances");
		for (int i = 0; i < DISTANCES; i++) {
			distance[i] = 4 << i;
			spec[i] = xr_spec_pair(xr_run_arena(run), XR_FALSE, a, b, (uint64_t)distance[i]);
		}
		if (xr_run_time(run, spec, DISTANCES, r))
			return -1;
		for (int i = 0; i < DISTANCES; i++) {
			if (r[i].status != XR_READ_OK || !(r[i].cycles > 0)) {
				xr_fact_none(d, "sharing.granule",
				             r[i].status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_FAILED, "%s",
				             r[i].reason ? r[i].reason : "the writes could not be timed");
				return 0;
			}
			time[i] = r[i].cycles;
		}
		answer[try] = decide(distance, time);
	}
	double value = xr_mode(answer, TRIES, &share);
	xr_series_put(d, "sharing.granule.distance", "distance", "bytes", distance, "write", "cycles", time, DISTANCES);
	if (!(value > 0)) {
		xr_fact_none(d, "sharing.granule", XR_UNRELIABLE,
		             "writing next to each other costs the two CPUs nothing: they may "
		             "share their first-level cache");
		return 0;
	}
	struct xr_fact *fact = xr_fact_count(d, "sharing.granule", (long long)value, "bytes", share >= 1 ? 0.99 : 0.8,
	                                     "two writers at growing distance");
	xr_fact_add_series(fact, "sharing.granule.distance");
	if (share < 0.6)
		xr_fact_doubt(fact, "three tries gave %.0f, %.0f and %.0f bytes", answer[0], answer[1], answer[2]);
	return 0;
}

static const char *const finds[] = {"sharing.granule", NULL};
static const char *const needs[] = {"threads", NULL};

const struct xr_micro xr_micro_granule = {
	.id = "granule",
	.title = "the false-sharing size",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.3,
	.kinds = 1u << XR_TEAM,
	.run = run_granule,
};
