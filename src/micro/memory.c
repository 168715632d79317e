/* Parameter: the latency of memory, in cycles and in ns.
 *
 * Idea (papers 000 §4.6, 001 §3): a dependent random walk over far more bytes than any cache holds pays memory at every
 * step.
 *
 * Algorithm: walk over every second line of 16 times the largest cache, at least 64 MiB, and of half that; what translation
 * costs is known from the TLBs and taken off. The share of steps that some cache still answers falls as the walk grows;
 * so what the second half of the bytes has added, if it is more than noise, is added once more, as far as the cache found
 * can explain it.
 *
 * When it fails: less memory than caches; a neighbour that keeps memory busy all the time.
 */
#include "method/walk.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 23, LINE_LEAST = 8 };
static const double same = 0.03;
static const double least_bytes = 64 << 20, most_bytes = 512 << 20;

static double largest_cache(const struct xr_run *run, double *latency)
{
	static const char *const capacity[] = {"cache.l1d.capacity", "cache.l2.capacity", "cache.l3.capacity",
	                                       "cache.l4.capacity"};
	static const char *const hit[] = {"cache.l1d.latency", "cache.l2.latency", "cache.l3.latency",
	                                  "cache.l4.latency"};
	double largest = 0;

	*latency = xr_run_number(run, hit[0], 0);
	for (int i = 0; i < 4; i++)
		if (xr_run_number(run, capacity[i], 0) > largest) {
			largest = xr_run_number(run, capacity[i], 0);
			*latency = xr_run_number(run, hit[i], *latency);
		}
	return largest;
}

static void put(struct xr_run *run, double cycles, double cycle_ns, double spread, double cached)
{
	struct xr_description *d = xr_run_description(run);
	double sure = spread < 0.03 && cached < 0.25 ? 0.85 : 0.8;
	struct xr_fact *fact[2];

	fact[0] = xr_fact_number(d, "memory.latency", xr_snap_integer(cycles, 0.1), "cycles", sure, "random walk");
	fact[1] = xr_fact_number(d, "memory.latency_ns", cycles * cycle_ns, "ns", sure, "random walk");
	for (int i = 0; i < 2; i++)
		if (cached >= 0.6)
			xr_fact_doubt(fact[i], "too little memory to walk past the caches");
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_walk walk = {.run = run,
	                       .buffer = BUFFER,
	                       .page = info->page_bytes,
	                       .tlbs = xr_tlbs_known(run),
	                       .line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64),
	                       .effort = {.samples = 9, .samples_max = 27}};
	double latency, largest = largest_cache(run, &latency);
	double bytes = fmin(fmin(fmax(16 * largest, least_bytes), most_bytes), (double)info->memory_bytes / 4);
	double half, full, cycle_ns, grown;

	walk.line = largest == 0 ? LINE_LEAST : 2 * walk.line; /* every second one: who fetches pairs must not help */
	if (xr_walk_time(&walk, (uint64_t)(bytes / 2), &half, NULL) != 0)
		return -1;
	xr_run_progress(run, 0.3, "memory");
	if (xr_walk_time(&walk, (uint64_t)bytes, &full, &cycle_ns) != 0)
		return -1;
	if (half < 0 || full < 0) {
		xr_fact_none(xr_run_description(run), "memory.latency", XR_FAILED, "no buffer of %.0f KiB",
		             bytes / 1024);
		xr_fact_none(xr_run_description(run), "memory.latency_ns", XR_FAILED, "no buffer of %.0f KiB",
		             bytes / 1024);
		return 0;
	}
	grown = fmin(fmax(full - half, 0), largest / bytes * fmax(full - latency, 0));
	if (fabs(full - half) < same * full) { /* nothing but noise, and noise only adds */
		full = fmin(full, half);
		grown = 0;
	}
	put(run, full + grown, cycle_ns, fabs(full - half) / full, largest / bytes);
	return 0;
}

static const char *const finds[] = {"memory.latency", "memory.latency_ns", NULL};
static const char *const needs[] = {"cache_outer", "tlb", NULL};

const struct xr_micro xr_micro_memory = {
	.id = "memory",
	.title = "latency of memory",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.6,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
