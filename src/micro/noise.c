/* SPDX-License-Identifier: MIT */
/* How quiet the machine is: what others take away, and how steady the clock is.
 *
 * Parameter: noise.lost (share of a thread's time that others take: programs, hypervisor, quota), noise.interrupts
 * (stops of more than a microsecond, per second), noise.drift (relative wander of the core clock), noise.neighbour
 * (does somebody else's thread use the other half of the core), noise.moved (are CPUs that were threads of one core
 * none any more, or the other way round: a hypervisor moves virtual CPUs about).
 *
 * Idea: the same chain of operations timed over tens of microseconds, most of which nobody disturbs, and over a window
 * of many time slots, which nobody escapes. The difference is what others took. A thread that watches the clock sees
 * each stop. The reference cycle beside every sample shows the clock's wander; two modes in the throughput of a lone
 * thread show a sibling that comes and goes.
 *
 * Algorithm: as the idea says; no search. It runs first, so that the others can say how far to be trusted, and once
 * more at the end. Only then are there siblings to ask again: a few pairs that were found to be one core, and a few
 * that were not, with the streams that threads asked.
 *
 * When it fails: a disturbance that comes only during other measurements is not seen here; each reading carries its own
 * spread for that.
 */
#include "micro/micro.h"
#include "method/teams.h"
#include "method/witness.h"
#include "stat/stat.h"

#include <math.h>

enum { STOP_NS = 1000, BATCHES = 5 };

static void put_lost(struct xr_description *d, const struct xr_reading *quick, const struct xr_reading *wall)
{
	if (quick->status != XR_READ_OK || wall->status != XR_READ_OK || !(wall->median_ns > 0)) {
		xr_fact_none(d, "noise.lost", XR_FAILED, "%s",
		             wall->reason ? wall->reason : "the windows could not be timed");
		return;
	}
	double lost = 1 - quick->ns / wall->median_ns;
	struct xr_fact *fact =
		xr_fact_number(d, "noise.lost", lost > 0 ? lost : 0, "", 0.9, "wall clock against short samples");
	if (lost > 0.05)
		xr_fact_note(fact, "others take %.0f %% of the time: other programs, the hypervisor, or a quota",
		             100 * lost);
}

/* Runs one after the other, each ended by a stop: when it ended, and how long nobody had disturbed. */
static void put_over_time(struct xr_description *d, struct xr_fact *fact, const struct xr_reading *stops, size_t n)
{
	enum { MOST = 512 }; /* more would not be told apart in a picture */
	double at[MOST], run[MOST], now = 0;
	n = n < MOST ? n : MOST;
	for (size_t i = 0; i < n; i++) {
		now += stops->sample[i];
		at[i] = now;
		run[i] = stops->sample[i];
	}
	if (n < 3)
		return;
	xr_series_put(d, "noise.time", "time", "ns", at, "undisturbed until then", "ns", run, n);
	xr_fact_add_series(fact, "noise.time");
}

static void put_interrupts(struct xr_description *d, const struct xr_reading *stops, double window_ns)
{
	if (stops->status == XR_READ_UNSUPPORTED) {
		xr_fact_none(d, "noise.interrupts", XR_UNSUPPORTED, "%s", stops->reason);
		return;
	}
	/* a reading without samples means that nothing stopped the thread */
	int n = stops->status == XR_READ_OK ? stops->samples : 0;
	struct xr_fact *fact = xr_fact_number(d, "noise.interrupts", n / (window_ns / 1e9), "1/s", n >= 20 ? 0.9 : 0.7,
	                                      "steps of the clock");
	put_over_time(d, fact, stops, (size_t)n);
}

static void put_clock(struct xr_description *d, const struct xr_reading *r, int n, const struct xr_reading *stream)
{
	double cycle[16];
	size_t k = 0;
	for (int i = 0; i < n && k < 16; i++)
		if (r[i].status == XR_READ_OK && r[i].cycle_ns > 0)
			cycle[k++] = r[i].cycle_ns;
	if (k >= 3)
		xr_fact_number(d, "noise.drift", (xr_max(cycle, k) - xr_min(cycle, k)) / xr_median(cycle, k), "", 0.8,
		               "reference cycles over the test");
	if (stream->status == XR_READ_OK) {
		struct xr_fact *fact = xr_fact_bool(d, "noise.neighbour", stream->bimodal, stream->bimodal ? 0.8 : 0.7,
		                                    "modes of a lone thread's throughput");
		if (stream->bimodal)
			xr_fact_note(
				fact,
				"throughput has two modes more than a quarter apart: the core is shared with somebody at times");
	}
}

/* ---- do CPUs stay where they are? ------------------------------------------------------------------------------- */

enum { PAIRS_EACH = 3, LOOKS = 3 };
static const double shared_now = 1.5, apart_now = 1.25; /* slowdown of the stream that suffers most */

struct couple {
	int cpu[2];
	bool siblings; /* as found before */
	double alone[XR_WITNESSES_MAX], both[XR_WITNESSES_MAX];
};

/* A few pairs within cores, and of neighbouring cores. */
static int choose_couples(const json_t *cores, struct couple *couple)
{
	int n = 0;
	size_t n_cores = json_array_size(cores);
	for (size_t i = 0; i < n_cores && n < PAIRS_EACH; i++) {
		const json_t *core = json_array_get(cores, i);
		if (json_array_size(core) > 1) {
			couple[n].cpu[0] = (int)json_integer_value(json_array_get(core, 0));
			couple[n].cpu[1] = (int)json_integer_value(json_array_get(core, 1));
			couple[n++].siblings = true;
		}
	}
	for (size_t i = 0; i + 1 < n_cores && i < PAIRS_EACH; i++) {
		for (size_t k = 0; k < 2; k++)
			couple[n].cpu[k] = (int)json_integer_value(json_array_get(json_array_get(cores, i + k), 0));
		couple[n++].siblings = false;
	}
	return n;
}

/* One more look at all pairs; the best of all looks counts, for others only ever take time. */
static int look(struct xr_run *run, const struct xr_witnesses *w, struct couple *couple, int n)
{
	struct xr_spec *spec = xr_arena_array(xr_run_arena(run), struct xr_spec, 2 * n * w->n_streams);
	struct xr_reading *r = xr_arena_array(xr_run_arena(run), struct xr_reading, 2 * n * w->n_streams);
	struct xr_effort few = {.samples = 5, .samples_max = 5};
	int k = 0;
	for (int i = 0; i < n; i++)
		for (int s = 0; s < w->n_streams; s++)
			for (int members = 1; members <= 2; members++)
				spec[k++] = xr_witness_attacked(xr_run_arena(run), w, s, couple[i].cpu, NULL, members);
	if (xr_run_time_with(run, &few, spec, (size_t)k, r))
		return -1;
	for (int i = 0; i < k; i++) {
		struct couple *c = &couple[i / 2 / w->n_streams];
		double *best = (i % 2 ? c->both : c->alone) + i / 2 % w->n_streams;
		if (r[i].status == XR_READ_OK && r[i].cycles > 0)
			*best = *best > 0 ? fmin(*best, r[i].cycles) : r[i].cycles;
	}
	return 0;
}

static bool moved(const struct couple *c, const struct xr_witnesses *w)
{
	double worst = 0;
	for (int s = 0; s < w->n_streams; s++)
		worst = fmax(worst, c->alone[s] > 0 ? c->both[s] / c->alone[s] : 0);
	return worst > 0 && (c->siblings ? worst < apart_now : worst >= shared_now);
}

static int ask_moved(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_fact *siblings = xr_description_fact(d, "threads.siblings");
	struct couple couple[2 * PAIRS_EACH] = {0};
	struct xr_witnesses w;
	int n = siblings && siblings->status == XR_OK ? choose_couples(siblings->value, couple) : 0, n_moved = 1;
	if (!n) {
		xr_fact_none(d, "noise.moved", XR_UNSUPPORTED, "asked at the end, where threads found cores");
		return 0;
	}
	if (xr_witnesses_make(run, false, &w))
		return -1;
	for (int i = 0; i < LOOKS && n_moved && w.n_streams; i++) {
		if (look(run, &w, couple, n))
			return -1;
		n_moved = 0;
		for (int k = 0; k < n; k++)
			n_moved += moved(&couple[k], &w);
	}
	struct xr_fact *fact = xr_fact_bool(d, "noise.moved", n_moved > 0, 0.85, "siblings asked again");
	if (n_moved)
		xr_fact_note(fact, "%d of %d pairs of CPUs: what was one core is not any more, or the other way round",
		             n_moved, n);
	return 0;
}

/* ---- the micro-benchmark ----------------------------------------------------------------------------------------- */

static int run_noise(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_arena *arena = xr_run_arena(run);
	int cpu = info->can_pin && info->n_cpus > 0 ? info->cpu_ids[0] : -1;
	/* a neighbour on the same core slows many chains down, which is not time lost; one chain hardly */
	struct xr_spec chains = xr_spec_stream(XR_ADD, XR_I64, 8), chain = xr_spec_stream(XR_ADD, XR_I64, 1);
	struct xr_spec stream = xr_spec_team(arena, XR_TOGETHER, &cpu, NULL, 1, &chains, NULL);
	struct xr_spec spec[2] = {xr_spec_team(arena, XR_TOGETHER, &cpu, NULL, 1, &chain, NULL),
	                          xr_spec_team(arena, XR_WALL, &cpu, NULL, 1, &chain, NULL)};
	struct xr_spec watch = xr_spec_team(arena, XR_SLICES, &cpu, NULL, 1, NULL, NULL);
	struct xr_reading short_stream[BATCHES], lost[2], stops;
	struct xr_effort few = {.samples = 5, .samples_max = 5}, once = {.samples = 1, .samples_max = 1};
	struct xr_effort many = {.samples = 15, .samples_max = 15};
	spec[1].team.window_ns = xr_run_quick(run) ? 2e7 : 4e7;
	watch.team.window_ns = xr_run_quick(run) ? 8e7 : 1.5e8;
	watch.team.bytes = STOP_NS;
	for (int i = 0; i < BATCHES; i++) {
		xr_run_progress(run, 0.1 * i, "short samples");
		if (xr_run_time_with(run, &many, &stream, 1, &short_stream[i]))
			return -1;
	}
	xr_run_progress(run, 0.5, "long windows");
	if (xr_run_time_with(run, &few, spec, 2, lost))
		return -1;
	put_lost(d, &lost[0], &lost[1]);
	if (xr_run_time_with(run, &once, &watch, 1, &stops))
		return -1;
	put_interrupts(d, &stops, watch.team.window_ns);
	put_clock(d, short_stream, BATCHES, &short_stream[0]);
	xr_run_progress(run, 0.9, "siblings");
	return ask_moved(run);
}

static const char *const finds[] = {"noise.lost",      "noise.interrupts", "noise.drift",
                                    "noise.neighbour", "noise.moved",      NULL};

const struct xr_micro xr_micro_noise = {
	.id = "noise",
	.title = "how quiet the machine is",
	.finds = finds,
	.needs = NULL,
	.cost_s = 0.5,
	.kinds = 1u << XR_TEAM | 1u << XR_OPS,
	.run = run_noise,
};
