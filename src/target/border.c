/* SPDX-License-Identifier: MIT */
#include "target/border.h"

#include <float.h>
#include <math.h>

/* No core does a thousand operations in a cycle, and nobody waits eleven days for one; a cycle is between a femtosecond
 * and a second. */
static const double least_cycles = 1e-3, most_cycles = 1e18, most_ns = 1e15;
static const double least_cycle_ns = 1e-6, most_cycle_ns = 1e9;
/* Per operation: less cannot be told from nothing, on either side of it. */
static const double nothing_cycles = 0.02;
static const double most_code_bytes = 1e12, most_per_statement = 1e9;
enum { CPUS_MAX = 1 << 16, CPU_MAX = 1 << 20 };
static const uint64_t most_memory = UINT64_C(1) << 52, least_page = 256, most_page = UINT64_C(1) << 30;

bool xr_is_plain_observation(const struct xr_spec *spec)
{
	return spec->kind == XR_CLOCK ||
	       (spec->kind == XR_TEAM && (spec->team.kind == XR_SLICES || spec->team.kind == XR_TICKS));
}

static bool within(double x, double low, double high)
{
	return x >= low && x <= high; /* not a number is nowhere */
}

/* Scripts have the cost of looking at the clock taken off, so that a sample may well be less than nothing. */
static bool is_script(const struct xr_spec *spec)
{
	return spec->kind == XR_CHAIN && spec->chain.n_phases > 1;
}

bool xr_border_raw(const struct xr_spec *spec, const struct xr_raw *raw)
{
	bool plain = xr_is_plain_observation(spec);
	return within(raw->long_ns, is_script(spec) ? -most_ns : 0, most_ns) && within(raw->short_ns, 0, most_ns) &&
	       within(raw->short_ops, 0, most_cycles) && within(raw->long_ops, 0, most_cycles) &&
	       raw->long_ops - raw->short_ops > 0 && within(raw->ref_ns, plain ? 0 : least_cycle_ns, most_cycle_ns);
}

static void fail(struct xr_reading *reading, const char *reason)
{
	reading->status = XR_READ_FAILED;
	reading->reason = reason;
	reading->samples = 0;
	reading->sample = NULL;
}

/* A time per operation; *no_time: it was less than can be. */
static bool even_out(double *x, double least, double nothing, double most, bool script, bool *no_time)
{
	if (!within(*x, script ? -most : -nothing, most))
		return false;
	*no_time |= *x <= 0;
	*x = fmax(*x, least);
	return true;
}

static bool times_are_good(const struct xr_spec *spec, struct xr_reading *r)
{
	bool script = is_script(spec), no_time = false;
	double cycle_ns = r->cycle_ns;
	if (!within(cycle_ns, least_cycle_ns, most_cycle_ns))
		return false;
	double least_ns = least_cycles * cycle_ns, nothing_ns = nothing_cycles * cycle_ns;
	if (!even_out(&r->cycles, least_cycles, nothing_cycles, most_cycles, script, &no_time) ||
	    !even_out(&r->ns, least_ns, nothing_ns, most_ns, script, &no_time) ||
	    !even_out(&r->median_cycles, least_cycles, nothing_cycles, most_cycles, true, &no_time) ||
	    !even_out(&r->median_ns, least_ns, nothing_ns, most_ns, true, &no_time))
		return false;
	if (no_time && r->spread < 1) /* what is as large as itself is no more than noise */
		r->spread = 1;
	return true;
}

static bool observations_are_good(const struct xr_reading *r)
{
	return within(r->ns, 0, most_ns) && within(r->median_ns, 0, most_ns) && within(r->cycles, 0, most_cycles) &&
	       within(r->median_cycles, 0, most_cycles) && within(r->cycle_ns, 0, most_cycle_ns);
}

/* Single samples may be less than nothing by noise: they count as the least there is. */
static bool samples_are_good(const struct xr_spec *spec, struct xr_reading *r)
{
	bool plain = xr_is_plain_observation(spec);
	if (r->samples < 0 || (r->samples && !r->sample) || r->dropped < 0 || r->n_disturbed < 0 ||
	    r->n_disturbed > r->samples)
		return false;
	double *sample = (double *)(size_t)r->sample;
	for (int i = 0; i < r->samples; i++) {
		if (!within(sample[i], plain ? 0 : -most_cycles, most_cycles))
			return false;
		if (!plain && sample[i] < least_cycles)
			sample[i] = least_cycles;
	}
	return true;
}

static bool events_are_good(const struct xr_events *events)
{
	bool good = within(events->cycles, 0, most_cycles) && within(events->insns, 0, most_cycles) &&
	            within(events->switches, 0, most_cycles) && within(events->faults, 0, most_cycles);
	for (int i = 0; i < XR_EVENT_LEVELS; i++)
		good &= within(events->cache_miss[i], 0, most_cycles) && within(events->tlb_miss[i], 0, most_cycles);
	return good;
}

/* What was seen besides the time. */
static bool rest_is_good(const struct xr_spec *spec, const struct xr_reading *r)
{
	const struct xr_look *look = &r->look;
	return within(r->spread, 0, DBL_MAX) && within(r->nonlinear, 0, DBL_MAX) && within(r->waited_ns, 0, most_ns) &&
	       within(r->granule_ns, 0, most_ns) &&
	       within(r->code_bytes, spec->kind == XR_WALK ? 1.0 / 16 : 0, most_code_bytes) &&
	       within(look->insns, 0, most_per_statement) && within(look->stack_refs, 0, most_per_statement) &&
	       within(look->calls, 0, most_per_statement) && events_are_good(&r->events);
}

void xr_border_reading(const struct xr_spec *spec, struct xr_reading *r)
{
	bool plain = xr_is_plain_observation(spec);
	if (r->status != XR_READ_OK) {
		if (!r->reason || !*r->reason)
			r->reason = "the target gives no reason";
		r->samples = 0;
		r->sample = NULL;
		return;
	}
	if (!(plain ? observations_are_good(r) : times_are_good(spec, r)))
		fail(r, r->cycles < 0 || r->ns < 0 ? "longer runs took less time than shorter ones"
		                                   : "the target gave a time that cannot be");
	else if (!samples_are_good(spec, r) || !rest_is_good(spec, r))
		fail(r, "the target gave a reading that cannot be");
}

int xr_border_info(const struct xr_target_info *info, struct xr_error *err)
{
	if (info->n_cpus < 0 || info->n_cpus > CPUS_MAX)
		return xr_fail(err, XR_EXIT_USE, "a machine with %d CPUs", info->n_cpus);
	for (int i = 0; i < info->n_cpus; i++)
		if (info->cpu_ids[i] < 0 || info->cpu_ids[i] > CPU_MAX)
			return xr_fail(err, XR_EXIT_USE, "a CPU of number %d", info->cpu_ids[i]);
	if (!within(info->cpu_quota, 0, CPUS_MAX))
		return xr_fail(err, XR_EXIT_USE, "a quota of %g CPUs", info->cpu_quota);
	if (info->memory_bytes > most_memory)
		return xr_fail(err, XR_EXIT_USE, "more memory than there is");
	if (info->page_bytes && (info->page_bytes < least_page || info->page_bytes > most_page ||
	                         (info->page_bytes & (info->page_bytes - 1))))
		return xr_fail(err, XR_EXIT_USE, "pages are a power of two, of 256 bytes to 1 GiB");
	return 0;
}
