/* SPDX-License-Identifier: MIT */
/* Parameter: cache.X.bandwidth.read|write|copy and memory.bandwidth.read|write|copy|past.one: bytes per second that
 * one core reads, writes, copies, or stores past the caches; cache.X.throughput.*, memory.throughput.*: the same in
 * bytes per cycle; *_scalar: with accesses of a word instead of the widest vectors.
 *
 * Idea (paper 001 §3, STREAM, lmbench): bytes gone over in order, as quickly as the core can ask for them. Which
 * level gives them is a matter of how many there are.
 *
 * What is counted: bytes that the program reads or writes. A copy counts its loads and its stores, as STREAM does.
 * Lines that are read because they will be written, and lines written back, are not counted: whoever wants to know
 * what the machine moved adds a third to a copy and doubles a write, except for stores past the caches, where
 * nothing is to be added.
 *
 * Algorithm: footprints as in method/footprint.h. Each is read with the widest vectors, with vectors of 32 bytes, and
 * with words, of memory also at four places at a time (a prefetcher may follow several streams better than one); the
 * quickest counts. Everything is asked several times, and what differs is the doubt.
 *
 * When it fails: a level that is hardly larger than the nearer one cannot be made to answer alone: no fact. A level
 * of which others have a part gives what is left.
 */
#include "method/footprint.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>

enum {
	BUFFER = 46,
	WORD = 8,
	HALF = 32, /* of the widest vectors there are: two of them a cycle may be more than one */
	TURNS = 3,
	BLOCK = 4096,    /* more than a copy is out of step */
	N_KINDS = 4,     /* read, write, copy, past */
	WAYS_TO_ASK = 4, /* widest, half of that, word, widest in lanes */
};
static const double memory_sample_ns = 2e5; /* some megabytes, far more than what is on its way */
static const double tolerance =
	0.05; /* that such a fact is taken to mean: two turns that differ by so much are a coin's toss */

static const char *const kind_names[N_KINDS] = {"read", "write", "copy", "past"};

/* What was seen of one kind: bytes per second and per cycle, with the widest and with words; and how far turns
 * differ. */
struct seen {
	double rate, per_cycle, error;
	double word_rate, word_error;
	const char *reason; /* not NULL: nothing */
	bool unsupported;
};

/* ---- asking ----------------------------------------------------------------------------------------------------- */

static struct xr_spec flow(const struct xr_footprint *place, enum xr_flow_kind kind, unsigned width, unsigned lanes)
{
	struct xr_spec spec = {.kind = XR_FLOW};
	spec.flow = (struct xr_flow_spec){
		.buffer = {.id = BUFFER, .bytes = place->bytes + BLOCK, .backing = XR_HUGE},
		.kind = kind,
		.bytes = place->bytes,
		.width = width,
		.lanes = lanes,
	};
	return spec;
}

static double error_of(const double *rate, size_t n)
{
	return n > 1 ? (xr_max(rate, n) - xr_median(rate, n)) / xr_max(rate, n) : 0;
}

/* One kind at one place, in several ways, TURNS times over. Kinds are asked apart: what was written by one flow has
 * to leave the caches while the next one runs, which is not the next one's doing. */
static int ask(struct xr_run *run, const struct xr_footprint *place, enum xr_flow_kind kind, struct seen *s)
{
	struct xr_spec spec[WAYS_TO_ASK] = {flow(place, kind, 0, 1), flow(place, kind, HALF, 1),
	                                    flow(place, kind, WORD, 1), flow(place, XR_FLOW_READ, 0, 4)};
	const int n = kind == XR_FLOW_READ && place->memory ? 4 : 3;
	const int turns = xr_run_info(run)->exact ? 1 : place->memory ? TURNS - 1 : TURNS;
	const struct xr_effort effort = {.samples = place->memory ? 5 : 9,
	                                 .samples_max = place->memory ? 9 : 18,
	                                 .sample_ns = place->memory ? memory_sample_ns : 0,
	                                 .hasty = place->memory};
	double rate[WAYS_TO_ASK][TURNS] = {{0}}, cycles[WAYS_TO_ASK] = {0};
	struct xr_reading reading[WAYS_TO_ASK];
	*s = (struct seen){0};
	for (int turn = 0; turn < turns; turn++) {
		if (xr_run_time_with(run, &effort, spec, (size_t)n, reading) != 0)
			return -1;
		for (int i = 0; i < n; i++) {
			rate[i][turn] = reading[i].status == XR_READ_OK ? 64e9 / reading[i].ns : 0;
			if (rate[i][turn] >= xr_max(rate[i], (size_t)turn + 1) && reading[i].cycles > 0)
				cycles[i] = 64 / reading[i].cycles;
			if (reading[i].status != XR_READ_OK) {
				s->reason = reading[i].reason;
				s->unsupported = reading[i].status == XR_READ_UNSUPPORTED;
			}
		}
	}
	for (int i = 0; i < n; i++) {
		double best = xr_max(rate[i], (size_t)turns);
		if (spec[i].flow.width == WORD) {
			s->word_rate = best;
			s->word_error = error_of(rate[i], (size_t)turns);
		}
		if (best > s->rate) { /* words may be as quick, where it is not the core that is too slow */
			s->rate = best;
			s->per_cycle = cycles[i];
			s->error = error_of(rate[i], (size_t)turns);
		}
	}
	return 0;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

/* Turns are normal about what the machine gives, on its slower side: how likely is the truth within the tolerance? */
static double confidence(double error)
{
	return 0.98 * erf(tolerance / fmax(error, 1e-3) / sqrt(2.0));
}

static void put_one(struct xr_run *run, const struct xr_footprint *place, const char *what, const char *kind,
                    double value, const char *unit, double error)
{
	const char *method = "bytes in order, the quickest of several kernels";
	const char *one = place->memory && *what == 'b' ? ".one" : "";
	struct xr_fact *fact = xr_fact_number(
		xr_run_description(run), xr_arena_printf(xr_run_arena(run), "%s.%s.%s%s", place->name, what, kind, one),
		value, unit, confidence(error), method);
	if (error > tolerance)
		xr_fact_doubt(fact, "turns differ by %.0f %%", 100 * error);
}

static void put(struct xr_run *run, const struct xr_footprint *place, const char *name, const struct seen *s)
{
	if (!(s->rate > 0)) {
		xr_fact_none(xr_run_description(run),
		             xr_arena_printf(xr_run_arena(run), "%s.bandwidth.%s%s", place->name, name,
		                             place->memory ? ".one" : ""),
		             s->unsupported ? XR_UNSUPPORTED : XR_FAILED, "%s", s->reason ? s->reason : "no reading");
		return;
	}
	put_one(run, place, "bandwidth", name, s->rate, "B/s", s->error);
	put_one(run, place, "throughput", name, s->per_cycle, "bytes/cycle", s->error);
	if (s->word_rate > 0)
		put_one(run, place, "bandwidth", xr_arena_printf(xr_run_arena(run), "%s_scalar", name), s->word_rate,
		        "B/s", s->word_error);
}

static void put_none(struct xr_run *run, const struct xr_footprint *place)
{
	for (int kind = 0; kind < N_KINDS - !place->memory; kind++)
		xr_fact_none(xr_run_description(run),
		             xr_arena_printf(xr_run_arena(run), "%s.bandwidth.%s%s", place->name, kind_names[kind],
		                             place->memory ? ".one" : ""),
		             XR_UNRELIABLE, "%s", xr_footprint_trouble(place));
}

static int run(struct xr_run *run)
{
	struct xr_footprint place[XR_FOOTPRINTS];
	int n = xr_footprints(run, place);
	for (int i = 0; i < n; i++) {
		xr_run_progress(run, (double)i / n, place[i].name);
		if (place[i].bytes < 2048)
			put_none(run, &place[i]);
		for (int kind = 0; kind < N_KINDS - !place[i].memory && place[i].bytes >= 2048; kind++) {
			struct seen seen;
			if (ask(run, &place[i], (enum xr_flow_kind)kind, &seen) != 0)
				return -1;
			put(run, &place[i], kind_names[kind], &seen);
		}
	}
	return 0;
}

static const char *const finds[] = {"cache.*.bandwidth.*", "cache.*.throughput.*", "memory.bandwidth.*.one",
                                    "memory.throughput.*", NULL};
static const char *const needs[] = {"cache_outer", NULL};

const struct xr_micro xr_micro_bandwidth = {
	.id = "bandwidth",
	.title = "bytes per second and per cycle of each level and of memory, one core",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.6,
	.kinds = 1u << XR_FLOW,
	.run = run,
};
