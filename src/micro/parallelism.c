/* SPDX-License-Identifier: MIT */
/* Parameter: memory.parallelism, cache.X.parallelism: misses of the nearer levels that are on their way from there
 * at once; tlb.walks: page walks at once.
 *
 * Idea (lmbench's par_mem; paper 001 §3): k walks at once over the same level take as long as one, as long as the
 * core can keep k misses in flight; from there on they queue.
 *
 * Algorithm: k = 1 … 64 cursors over one random ring of every second line, far more than the nearer level holds;
 * they all go on where others stopped, so that nobody finds what another has just brought. Hypotheses are the
 * numbers 1 … 64 (infer/knee.h); the first curve is coarse, the second has every k around the edge. For page walks
 * the ring has one line a page, of more pages than the TLBs have entries, and lines few enough for the second
 * cache; what a walk takes is what these take more than as many lines in few pages.
 *
 * When it fails: where lines come as quickly as their level can give them bytes (bandwidth), misses in flight have
 * not been what ended it: in doubt, and so many at least. Page tables that are not in the caches make walks longer,
 * not fewer. /
 */
#include "infer/knee.h"
#include "infer/noise.h"
#include "method/footprint.h"
#include "probe/places.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 48, PAGES_BUFFER = 50, MOST = 64, AROUND = 3, TURNS = 3, PAIR = 128 };
static const double near_edge = 1.5;    /* times it */
static const double of_bandwidth = 0.9; /* of the bytes that flows move: it is these that end, as likely as not */

static const unsigned coarse[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64};
enum { N_COARSE = sizeof coarse / sizeof *coarse };

/* A curve: k cursors, time of a step in cycles; several times over, for the noise. */
struct curve {
	double k[MOST * TURNS], t[MOST * TURNS];
	size_t group[MOST * TURNS], n;
	double cycle_ns;
	const char *trouble;
};

struct ring {
	struct xr_buffer buffer;
	const struct xr_span *span;
	size_t n_spans;
};

static bool has(const struct curve *c, unsigned k)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->k[i] == k)
			return true;
	return false;
}

static int ask(struct xr_run *run, const struct ring *ring, const unsigned *k, size_t n, struct curve *c)
{
	const struct xr_effort effort = {.samples = 5, .samples_max = 10};
	struct xr_spec spec[MOST];
	struct xr_reading reading[MOST];
	for (size_t i = 0; i < n; i++) {
		spec[i] = xr_spec_cycle(ring->buffer, ring->span, ring->n_spans, 77);
		spec[i].chain.cursors = k[i];
		spec[i].chain.rolling = true;
	}
	if (!n)
		return 0;
	for (int turn = 0; turn < TURNS; turn++) {
		if (xr_run_time_with(run, &effort, spec, n, reading) != 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			if (reading[i].status != XR_READ_OK) {
				c->trouble = reading[i].reason;
				continue;
			}
			c->k[c->n] = k[i];
			c->t[c->n] = reading[i].cycles;
			c->group[c->n] = k[i];
			c->cycle_ns = reading[i].ns / reading[i].cycles;
			c->n++;
		}
	}
	return 0;
}

/* Of each k the quickest turn, for others only ever add; of those up to `last`. Returns how many. */
static size_t quickest(const struct curve *c, double last, double *k, double *t)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++) {
		size_t at = 0;
		while (at < n && k[at] != c->k[i])
			at++;
		if (at == n && c->k[i] <= last) {
			k[n] = c->k[i];
			t[n++] = c->t[i];
		} else if (at < n) {
			t[at] = fmin(t[at], c->t[i]);
		}
	}
	return n;
}

/* The coarse curve, and every k around its edge. Far behind the edge other things queue as well: what is there
 * decides about nothing but where to look. */
static int find_knee(struct xr_run *run, const struct ring *ring, double step, struct curve *c, struct xr_knee *knee)
{
	double k[MOST], t[MOST], last = MOST;
	*c = (struct curve){0};
	*knee = (struct xr_knee){0};
	if (ask(run, ring, coarse, N_COARSE, c) != 0)
		return -1;
	for (int turn = 0; turn < 2 && c->n >= N_COARSE; turn++) {
		struct xr_noise noise = xr_noise_fit(c->t, c->group, c->n);
		unsigned more[2 * AROUND + 1];
		size_t n = 0, points = quickest(c, last, k, t);
		*knee = xr_knee_find(xr_run_arena(run), k, t, points, &noise, MOST, step);
		for (unsigned at = knee->most > AROUND ? (unsigned)knee->most - AROUND : 1;
		     at <= knee->most + AROUND && at <= MOST && !turn && knee->most > 0; at++)
			if (!has(c, at))
				more[n++] = at;
		if (ask(run, ring, more, n, c) != 0)
			return -1;
		last = knee->most > 0 ? near_edge * knee->most + AROUND : MOST;
	}
	return 0;
}

static void put_series(struct xr_run *run, struct xr_fact *fact, const char *id, const struct curve *c)
{
	xr_series_put(xr_run_description(run), id, "cursors", "", c->k, "step", "cycles", c->t, c->n);
	xr_fact_add_series(fact, id);
}

/* ---- a level, or memory ----------------------------------------------------------------------------------------- */

/* Bytes per second that this level has been seen to move: what is written comes first and goes back later, unless
 * the first level leaves it alone. Reads at their quickest may wait for misses in flight, too; these do not count
 * as misses. */
static double most_moved(struct xr_run *run, const struct xr_footprint *place)
{
	static const char *const kind[] = {"read", "write", "copy", "past"};
	const double allocates = xr_run_number(run, "cache.l1d.write_allocate", 1);
	const double times[] = {1, allocates > 0 ? 2 : 1, allocates > 0 ? 1.5 : 1, 1};
	double most = 0;
	for (int i = 0; i < 4; i++)
		most = fmax(most,
		            times[i] * xr_run_number(run,
		                                     xr_arena_printf(xr_run_arena(run), "%s.bandwidth.%s%s",
		                                                     place->name, kind[i], place->memory ? ".one" : ""),
		                                     0));
	return most;
}

static void put(struct xr_run *run, const struct xr_footprint *place, const struct curve *c, const struct xr_knee *knee)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_arena *arena = xr_run_arena(run);
	const char *id = xr_arena_printf(arena, "%s.parallelism", place->name);
	const double line = xr_run_number(run, "cache.l1d.line", 64), flow = most_moved(run, place);
	if (!(knee->most > 0)) {
		xr_fact_none(d, id, c->trouble ? XR_FAILED : XR_UNRELIABLE, "%s",
		             c->trouble ? c->trouble : "no number of misses in flight explains the times");
		return;
	}
	struct xr_fact *fact =
		xr_fact_count(d, id, (long long)knee->most, "", fmin(0.98, knee->p), "walks at once over one ring");
	put_series(run, fact, xr_arena_printf(arena, "%s.steps", id), c);
	double gets = 1e9 * line * knee->most / (xr_knee_at(knee, knee->most) * c->cycle_ns);
	if (knee->beyond)
		xr_fact_doubt(fact, "at least: more walks at once were not tried");
	else if (knee->p < 0.5)
		xr_fact_doubt(fact, "times have no sharp edge: other numbers are as likely");
	else if (flow > 0 && gets > of_bandwidth * flow)
		xr_fact_doubt(fact, "at least: bandwidth ended before misses in flight did");
}

static int ask_level(struct xr_run *run, const struct xr_footprint *place)
{
	const uint64_t line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	const uint64_t apart = 2 * line > PAIR ? 2 * line : PAIR; /* whoever fetches pairs must not help */
	struct xr_span span = {0, apart, (uint32_t)(place->bytes / apart)};
	struct ring ring = {{BUFFER, place->bytes, XR_HUGE}, &span, 1};
	struct curve c;
	struct xr_knee knee;
	if (!place->memory) { /* every line: so many bytes must not fit the nearer level */
		span.stride = line;
		span.count = (uint32_t)(place->bytes / line);
	}
	if (find_knee(run, &ring, 1, &c, &knee) != 0)
		return -1;
	put(run, place, &c, &knee);
	return 0;
}

/* ---- page walks ------------------------------------------------------------------------------------------------- */

/* One line of each of n pages, or as many lines in few pages. */
static struct ring ring_of_pages(struct xr_run *run, uint64_t page, uint64_t line, size_t n, bool packed)
{
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_places places =
		packed ? xr_places_stride(arena, 0, line, n) : xr_places_rotated(arena, page, page, line, n);
	struct ring ring = {.buffer = {PAGES_BUFFER + packed, xr_places_end(&places), packed ? XR_HUGE : XR_SHUFFLED}};
	ring.buffer.bytes = (ring.buffer.bytes + page - 1) / page * page;
	ring.span = xr_places_spans(arena, &places, &ring.n_spans);
	return ring;
}

static void put_walks(struct xr_run *run, const struct curve *c, const struct xr_knee *knee, double hit)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_fact *near = xr_description_fact(d, "cache.l2.parallelism");
	const double misses = near ? xr_fact_value(near, 0) : 0;
	xr_series_put(d, "tlb.walks.steps", "cursors", "", c->k, "step", "cycles", c->t, c->n);
	if (!(knee->most > 0)) {
		xr_fact_none(d, "tlb.walks", c->trouble ? XR_FAILED : XR_UNRELIABLE, "%s",
		             c->trouble ? c->trouble : "no number of page walks at once explains the times");
		return;
	}
	/* Behind the edge only walks queue: a step of k takes k walks over those at once. */
	double edge = xr_knee_at(knee, knee->most), each = edge / knee->most;
	double walks = (knee->latency - hit) / each, whole = fmax(1, round(walks));
	struct xr_fact *fact = xr_fact_count(d, "tlb.walks", (long long)whole, "",
	                                     fmin(0.95, knee->p) * fmax(0.5, 1 - 2 * fabs(walks - whole)),
	                                     "walks at once over one line a page");
	xr_fact_add_series(fact, "tlb.walks.steps");
	if (knee->beyond)
		xr_fact_doubt(fact, "at least: more walks at once were not tried");
	else if (knee->p < 0.5)
		xr_fact_doubt(fact, "times have no sharp edge: other numbers are as likely");
	else if (misses > 0 && knee->most > of_bandwidth * misses)
		xr_fact_doubt(fact, "at least: misses in flight ended first");
	else if (knee->latency < 1.1 * hit)
		xr_fact_doubt(fact, "a page walk takes hardly any time");
}

static int ask_walks(struct xr_run *run)
{
	const uint64_t page = xr_run_info(run)->page_bytes;
	const uint64_t line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	const double first = xr_run_number(run, "tlb.d1.entries", 0),
		     last = xr_run_number(run, "tlb.d2.entries", first);
	const double room = (double)xr_run_room(run) / 2;
	size_t n = (size_t)(2 * fmax(first, last));
	struct curve c, packed = {0};
	struct xr_knee knee;
	if (!page || first <= 0 || (double)n * (double)page > room || n < 8) {
		xr_fact_none(xr_run_description(run), "tlb.walks", page && first > 0 ? XR_UNRELIABLE : XR_UNSUPPORTED,
		             "%s",
		             !page       ? "no pages"
		             : first > 0 ? "too little memory to miss the TLBs"
		                         : "the TLBs are not known");
		return 0;
	}
	struct ring pages = ring_of_pages(run, page, line, n, false), few = ring_of_pages(run, page, line, n, true);
	if (find_knee(run, &pages, 0.125, &c, &knee) != 0 || ask(run, &few, (const unsigned[]){1}, 1, &packed) != 0)
		return -1;
	put_walks(run, &c, &knee, packed.n ? xr_min(packed.t, packed.n) : 0);
	return 0;
}

static int run(struct xr_run *run)
{
	struct xr_footprint place[XR_FOOTPRINTS];
	int n = xr_footprints(run, place);
	for (int i = 1; i < n; i++) {
		xr_run_progress(run, (double)i / (n + 1), place[i].name);
		if (!place[i].bytes) {
			xr_fact_none(xr_run_description(run),
			             xr_arena_printf(xr_run_arena(run), "%s.parallelism", place[i].name), XR_UNRELIABLE,
			             "%s", xr_footprint_trouble(&place[i]));
			continue;
		}
		if (ask_level(run, &place[i]) != 0)
			return -1;
	}
	return ask_walks(run);
}

static const char *const finds[] = {"cache.*.parallelism", "memory.parallelism", "tlb.walks", NULL};
static const char *const needs[] = {"cache_outer", "tlb", "bandwidth", "write", NULL};

const struct xr_micro xr_micro_parallelism = {
	.id = "parallelism",
	.title = "misses and page walks in flight",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.6,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
