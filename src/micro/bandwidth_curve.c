/* SPDX-License-Identifier: MIT */
/* Parameter: memory.curve.read, memory.curve.read_all: bytes per second that one CPU, and all of them at once,
 * read in order from as many bytes as there is room for, up to 64 MiB each; and the curve of the same from a few
 * lines up, for people to look at.
 *
 * Idea (paper 001 §3, STREAM): the same flow over more and more bytes. Where the curve falls, a cache is full;
 * where all CPUs together are no quicker than one, they share what they read from.
 *
 * Algorithm: sizes in equal ratios from 2 KiB up, of each CPU its own bytes. One CPU is timed alone; all by the
 * wall clock until the last is done. No search: no other fact is decided here. The last point is the fact.
 *
 * When it fails: a CPU that somebody else uses makes all wait, which the wall clock shows as it is: the fact says
 * what its samples differ by.
 */
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum {
	BUFFER = 62, /* id of the lone CPU's; others follow */
	BLOCK = 4096,
	POINTS = 32,
	QUICK = 12,   /* points, with --quick */
	CPUS_MAX = 64 /* more would want more memory than a picture is worth */
};
static const double least_bytes = 2048, most_bytes = 64 << 20; /* of a CPU */
static const double all_bytes = 512 << 20;                     /* of all CPUs: enough for a picture */
static const double window_ns = 1e6;                           /* of all CPUs at once */
static const double tolerance = 0.1;                           /* within which such a rate is taken to mean the same */

struct curve {
	double bytes[POINTS], rate[POINTS];
	size_t n;
	double spread; /* of the last */
	const char *trouble;
};

static struct xr_spec flow_of(double bytes, double most, unsigned place)
{
	struct xr_spec spec = {.kind = XR_FLOW};
	spec.flow = (struct xr_flow_spec){.buffer = {BUFFER + place, (uint64_t)most + BLOCK, XR_HUGE},
	                                  .kind = XR_FLOW_READ,
	                                  .bytes = (uint64_t)bytes};
	return spec;
}

static struct xr_spec team_of(struct xr_run *run, double bytes, double most, unsigned cpus)
{
	struct xr_member *member = xr_arena_array(xr_run_arena(run), struct xr_member, cpus);
	struct xr_spec *work = xr_arena_array(xr_run_arena(run), struct xr_spec, cpus), spec = {.kind = XR_TEAM};
	for (unsigned i = 0; i < cpus; i++) {
		work[i] = flow_of(bytes, most, i);
		member[i] = (struct xr_member){xr_run_info(run)->cpu_ids[i], &work[i]};
	}
	spec.team = (struct xr_team_spec){.kind = XR_WALL, .member = member, .n_members = cpus, .window_ns = window_ns};
	return spec;
}

/* cpus 1: the CPU of all other measurements, alone. */
static int measure(struct xr_run *run, double most, unsigned cpus, struct curve *c)
{
	const struct xr_effort effort = {.samples = cpus > 1 ? 3 : 5, .samples_max = 5, .hasty = true};
	const size_t points = xr_run_quick(run) ? QUICK : POINTS;
	for (size_t i = 0; i < points; i++) {
		double bytes = least_bytes * pow(most / least_bytes, (double)i / (double)(points - 1));
		bytes = floor(bytes / 1024) * 1024;
		struct xr_spec spec = cpus > 1 ? team_of(run, bytes, most, cpus) : flow_of(bytes, most, 0);
		struct xr_reading reading;
		xr_run_progress(run, (double)(cpus > 1 ? points + i : i) / (double)(2 * points), "bandwidth over size");
		if (xr_run_time_with(run, &effort, &spec, 1, &reading) != 0)
			return -1;
		if (reading.status != XR_READ_OK || !(reading.ns > 0)) {
			c->trouble = reading.reason;
			continue;
		}
		c->bytes[c->n] = bytes;
		c->rate[c->n++] = 64e9 * cpus / reading.ns;
		c->spread = reading.spread;
	}
	return 0;
}

static void put(struct xr_run *run, const char *id, const struct curve *c, unsigned cpus)
{
	struct xr_description *d = xr_run_description(run);
	if (!c->n) {
		xr_fact_none(d, id, XR_FAILED, "%s", c->trouble ? c->trouble : "no flow could be timed");
		return;
	}
	/* normal about the truth, as far as the samples tell: how likely is it within the tolerance? */
	double sure = 0.97 * erf(tolerance / fmax(c->spread, 1e-3) / sqrt(2.0));
	struct xr_fact *fact = xr_fact_number(d, id, c->rate[c->n - 1], "B/s", sure, "bytes in order, more and more");
	xr_series_put(d, id, "bytes of a CPU", "bytes", c->bytes, "bandwidth", "B/s", c->rate, c->n);
	xr_fact_add_series(fact, id);
	xr_fact_note(fact, "%u CPU%s over %.0f MiB each", cpus, cpus > 1 ? "s" : "", c->bytes[c->n - 1] / (1 << 20));
}

static int run(struct xr_run *run)
{
	static const char *const id[] = {"memory.curve.read", "memory.curve.read_all"};
	const struct xr_target_info *info = xr_run_info(run);
	const bool several = info->can_pin && info->n_cpus > 1 && (info->kinds & 1u << XR_TEAM);
	const unsigned all = !several ? 1 : info->n_cpus < CPUS_MAX ? (unsigned)info->n_cpus : CPUS_MAX;
	const double most = fmin(most_bytes, fmin(all_bytes, (double)xr_run_room(run)) / all);
	for (int i = 0; i < 2; i++) {
		struct curve c = {.n = 0};
		if (!xr_run_wants(run, id[i]))
			continue;
		if (most < 2 * least_bytes || (i && !several)) {
			xr_fact_none(xr_run_description(run), id[i], XR_UNSUPPORTED,
			             i && !several ? "there is one CPU" : "too little memory");
			continue;
		}
		if (measure(run, most, i ? all : 1, &c) != 0)
			return -1;
		put(run, id[i], &c, i ? all : 1);
	}
	return 0;
}

static const char *const finds[] = {"memory.curve.read", "memory.curve.read_all", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_bandwidth_curve = {
	.id = "bandwidth_curve",
	.title = "bandwidth over size, of one CPU and of all",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.4,
	.kinds = 1u << XR_FLOW,
	.run = run,
	.late = true,
};
