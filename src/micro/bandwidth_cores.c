/* SPDX-License-Identifier: MIT */
/* Parameter: memory.bandwidth.read|write|copy.all: bytes per second that all cores together move;
 * memory.bandwidth.knee: cores from which on more of them bring no more; memory.latency_loaded: latency of memory,
 * in ns, while all other cores read as quickly as they can.
 *
 * Idea (STREAM; multichase's loaded latency): flows of bytes on 1, 2, 4 … cores at once, by the wall clock; a walk
 * through memory beside flows that pause after each block, more or less.
 *
 * Algorithm: each core has its own bytes, all of them together eight times the largest cache or more. The most that
 * any number of cores gets is the answer; the knee is the smallest number that gets as much, as far as turns agree.
 * For the latency member 0 walks and the others flow; the same with a flow in member 0's place says how many bytes
 * that load is. The curve is the series memory.latency_load.
 *
 * When it fails: one CPU (unsupported). Others who use memory meanwhile take their part.
 */
#include "method/footprint.h"
#include "method/teams.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 600, MOST_STEPS = 12, TURNS = 2, BLOCK = 4096, N_KINDS = 3, LOADS = 5 };
static const double window_ns = 3e6;
static const double as_good = 0.03; /* what turns of the same team differ by on a quiet machine */
static const double tolerance = 0.08;
static const unsigned pauses[LOADS] = {0, 60, 200, 600, 2400}; /* steps after each KiB */

static const char *const finds[] = {"memory.bandwidth.read.all", "memory.bandwidth.write.all",
                                    "memory.bandwidth.copy.all", "memory.bandwidth.knee",
                                    "memory.latency_loaded",     NULL};

struct cores {
	int cpu[1024];
	int n;
	uint64_t each; /* bytes */
};

/* One CPU of each core where siblings are known, else all of them. */
static void find_cores(struct xr_run *run, struct cores *c)
{
	const struct xr_target_info *info = xr_run_info(run);
	const struct xr_fact *fact = xr_description_fact(xr_run_description(run), "threads.siblings");
	size_t groups = fact && fact->status == XR_OK ? json_array_size(fact->value) : 0;
	c->n = 0;
	for (size_t i = 0; i < groups && c->n < 1024; i++) {
		const json_t *first = json_array_get(json_array_get(fact->value, i), 0);
		if (json_is_integer(first))
			c->cpu[c->n++] = (int)json_integer_value(first);
	}
	for (int i = 0; i < info->n_cpus && !groups && c->n < 1024; i++)
		c->cpu[c->n++] = info->cpu_ids[i];
}

static struct xr_spec flow_of(const struct cores *c, enum xr_flow_kind kind, int place, unsigned pause)
{
	struct xr_spec spec = {.kind = XR_FLOW};
	spec.flow = (struct xr_flow_spec){.buffer = {BUFFER + (unsigned)place, c->each + BLOCK, XR_HUGE},
	                                  .kind = kind,
	                                  .bytes = c->each,
	                                  .pause = pause};
	return spec;
}

static struct xr_spec team_of(struct xr_run *run, const struct cores *c, enum xr_team_kind kind, int n,
                              const struct xr_spec *first, enum xr_flow_kind what, unsigned pause)
{
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_member *member = xr_arena_array(arena, struct xr_member, n);
	struct xr_spec *work = xr_arena_array(arena, struct xr_spec, n), spec = {.kind = XR_TEAM};
	for (int i = 0; i < n; i++) {
		work[i] = flow_of(c, what, i, pause);
		member[i] = (struct xr_member){c->cpu[i], i || !first ? &work[i] : first};
	}
	spec.team = (struct xr_team_spec){
		.kind = kind, .member = member, .n_members = (unsigned)n, .window_ns = kind == XR_WALL ? window_ns : 0};
	return spec;
}

/* ---- all cores -------------------------------------------------------------------------------------------------- */

static int ask_all(struct xr_run *run, const struct cores *c)
{
	static const char *const names[N_KINDS] = {"read", "write", "copy"};
	const struct xr_effort effort = {.samples = 3, .samples_max = 5, .hasty = true};
	struct xr_description *d = xr_run_description(run);
	int count[MOST_STEPS], n = 0;
	for (int k = 1; k < c->n && n < MOST_STEPS - 1; k *= 2)
		count[n++] = k;
	count[n++] = c->n;
	for (int kind = 0; kind < N_KINDS; kind++) {
		struct xr_spec spec[MOST_STEPS];
		struct xr_reading reading[MOST_STEPS];
		double rate[MOST_STEPS] = {0}, worst[MOST_STEPS] = {0}, x[MOST_STEPS];
		for (int i = 0; i < n; i++)
			spec[i] = team_of(run, c, XR_WALL, count[i], NULL, (enum xr_flow_kind)kind, 0);
		for (int turn = 0; turn < TURNS; turn++) {
			if (xr_run_time_with(run, &effort, spec, (size_t)n, reading) != 0)
				return -1;
			for (int i = 0; i < n; i++) {
				double got = reading[i].status == XR_READ_OK ? 64e9 * count[i] / reading[i].ns : 0;
				worst[i] = turn ? fmin(worst[i], got) : got;
				rate[i] = fmax(rate[i], got);
				x[i] = count[i];
			}
		}
		const char *id = xr_arena_printf(xr_run_arena(run), "memory.bandwidth.%s.all", names[kind]);
		const char *series = xr_arena_printf(xr_run_arena(run), "memory.bandwidth.%s.cores", names[kind]);
		double best = xr_max(rate, (size_t)n);
		int at = 0;
		if (!(best > 0)) {
			xr_fact_none(d, id, XR_FAILED, "%s",
			             reading[n - 1].reason ? reading[n - 1].reason : "no reading");
			continue;
		}
		while (rate[at] < best)
			at++;
		double error = 1 - worst[at] / best;
		xr_series_put(d, series, "cores", "", x, "bandwidth", "B/s", rate, (size_t)n);
		struct xr_fact *fact =
			xr_fact_number(d, id, best, "B/s", 0.97 * erf(tolerance / fmax(error, 1e-3) / sqrt(2.0)),
		                       "flows on several cores, wall clock");
		xr_fact_add_series(fact, series);
		if (error > tolerance)
			xr_fact_doubt(fact, "turns differ by %.0f %%", 100 * error);
		for (at = 0; rate[at] < (1 - fmax(as_good, error)) * best;)
			at++;
		if (kind == XR_FLOW_READ)
			xr_fact_add_series(xr_fact_count(d, "memory.bandwidth.knee", count[at], "",
			                                 error > tolerance ? 0.5 : 0.8,
			                                 "flows on several cores, wall clock"),
			                   series);
	}
	return 0;
}

/* ---- latency under load ----------------------------------------------------------------------------------------- */

static int ask_latency(struct xr_run *run, const struct cores *c)
{
	const struct xr_effort effort = {.samples = 5, .samples_max = 9, .hasty = true};
	struct xr_description *d = xr_run_description(run);
	struct xr_span span = {0, 128, (uint32_t)(c->each / 128)};
	struct xr_spec walk = xr_spec_cycle((struct xr_buffer){BUFFER + 2000, c->each, XR_HUGE}, &span, 1, 9);
	struct xr_spec spec[2 * LOADS + 1];
	struct xr_reading reading[2 * LOADS + 1];
	double load[LOADS + 1] = {0}, latency[LOADS + 1] = {0};
	for (int i = 0; i < LOADS; i++) {
		struct xr_spec *first = xr_arena_array(xr_run_arena(run), struct xr_spec, 1);
		*first = flow_of(c, XR_FLOW_READ, 0, pauses[i]);
		spec[2 * i] = team_of(run, c, XR_TOGETHER, c->n, &walk, XR_FLOW_READ, pauses[i]);
		spec[2 * i + 1] = team_of(run, c, XR_TOGETHER, c->n, first, XR_FLOW_READ, pauses[i]);
	}
	spec[2 * LOADS] = walk;
	if (xr_run_time_with(run, &effort, spec, 2 * LOADS + 1, reading) != 0)
		return -1;
	for (int i = 0; i <= 2 * LOADS; i++)
		if (reading[i].status != XR_READ_OK) {
			xr_fact_none(d, "memory.latency_loaded", XR_FAILED, "%s", reading[i].reason);
			return 0;
		}
	latency[0] = reading[2 * LOADS].ns; /* nobody else */
	for (int i = 0; i < LOADS; i++) {   /* from little to much */
		const int from = LOADS - 1 - i;
		load[i + 1] = 64e9 / reading[2 * from + 1].ns * (c->n - 1);
		latency[i + 1] = reading[2 * from].ns;
	}
	xr_series_put(d, "memory.latency_load", "others", "B/s", load, "latency", "ns", latency, LOADS + 1);
	double spread = fmax(reading[0].spread, reading[2 * LOADS].spread);
	struct xr_fact *fact = xr_fact_number(d, "memory.latency_loaded", latency[LOADS], "ns",
	                                      0.95 * erf(0.1 / fmax(spread, 1e-3) / sqrt(2.0)), "a walk beside flows");
	xr_fact_add_series(fact, "memory.latency_load");
	xr_fact_note(fact, "%.0f ns with nobody else, while others read %.3g GB/s", latency[0], load[LOADS] * 1e-9);
	if (spread > 0.1)
		xr_fact_doubt(fact, "samples differ by %.0f %%", 100 * spread);
	return 0;
}

static const char *supported(const struct xr_run *run)
{
	return xr_run_info(run)->n_cpus < 2 ? "one CPU"
	       : !xr_run_info(run)->can_pin ? "threads cannot be pinned"
	                                    : NULL;
}

static int run(struct xr_run *run)
{
	struct cores *c = xr_arena_array(xr_run_arena(run), struct cores, 1);
	struct xr_footprint place[XR_FOOTPRINTS];
	int n = xr_footprints(run, place);
	find_cores(run, c);
	double all = (double)place[n - 1].bytes, room = (double)xr_run_room(run);
	/* one core alone must get past the caches, too; all of them together must not take more than there is */
	c->each = (uint64_t)(fmin(all / 2, room / (c->n + 1)) / BLOCK) * BLOCK;
	if (c->n < 2 || (double)c->each * c->n < all / 4 || c->each < 2 * BLOCK) {
		for (const char *const *id = finds; *id; id++)
			xr_fact_none(xr_run_description(run), *id, XR_UNSUPPORTED, "%s",
			             c->n < 2 ? "one core" : "too little memory for so many cores");
		return 0;
	}
	if (ask_all(run, c) != 0)
		return -1;
	xr_run_progress(run, 0.6, "latency under load");
	return ask_latency(run, c);
}

static const char *const needs[] = {"cache_outer", "threads", NULL};

const struct xr_micro xr_micro_bandwidth_cores = {
	.id = "bandwidth_cores",
	.title = "bytes per second of several cores, and the latency of memory beside them",
	.finds = finds,
	.needs = needs,
	.cost_s = 3,
	.kinds = 1u << XR_FLOW | 1u << XR_TEAM,
	.supported = supported,
	.run = run,
};
