/* SPDX-License-Identifier: MIT */
/* Parameter: prefetch.temporal: does a prefetcher learn which line was missed after which, so that a lap that is
 * walked again comes early?
 *
 * Idea (no paper asks; see the manuals of Arm's Neoverse cores): the same lines, lap after lap in one order, beside
 * laps in orders that change. Nothing else is different: not the lines, not how often each comes, not their pages.
 *
 * Algorithm: one line a page, all at one offset, so that few of them overflow their sets of the second cache and few
 * misses must be remembered; as many as miss it, found by doubling, and twice as many. Each lap visits another word
 * of each line, so that one walk has several laps in it: of one order, or of an order each. What the former takes
 * less was learnt; how much is a hypothesis each (infer/spared.h).
 *
 * When it fails: lines of all these pages fit the second cache, whose index mixes offset bits in, or memory is small.
 * A prefetcher that remembers fewer misses than it takes to miss that cache is not seen, and helps nobody.
 */
#include "infer/spared.h"
#include "micro/micro.h"
#include "probe/places.h"

#include <math.h>

enum { BUFFER = 78, TURNS = 3, TURNS_MOST = 9, LAPS = 3, WORD = 8, LINES_LEAST = 64, LINES_MOST = 1 << 15 };
enum { REPEATED, CHANGING };
static const char id[] = "prefetch.temporal";
static const double most_sure = 0.95, sure = 0.8, clear_enough = 0.97;
static const double sample_ns = 2e5; /* thousands of visits */
static const double misses = 2;      /* times what a hit takes: a third of the visits miss, at least */

struct ground {
	struct xr_run *run;
	uint64_t line, page;
	double nearest, hit; /* cycles: of the first level, of that which is fetched into */
};

/* Laps over n lines: all in one order, or each in its own. */
static struct xr_spec laps(const struct ground *g, size_t n, int what)
{
	struct xr_arena *arena = xr_run_arena(g->run);
	const int n_laps = g->line / WORD < LAPS ? (int)(g->line / WORD) : LAPS;
	struct xr_places lap = xr_places_stride(arena, 0, g->page, n), all = xr_places_new(arena, n * (size_t)n_laps);
	const struct xr_buffer buffer = {BUFFER + (unsigned)what, n * g->page, XR_SMALL};
	for (int i = 0; i < n_laps; i++) {
		if (!i || what == CHANGING)
			xr_places_shuffle(&lap, xr_run_rng(g->run));
		for (size_t k = 0; k < n; k++)
			xr_places_add(&all, lap.at[k] + (uint64_t)i * WORD);
	}
	struct xr_spec spec = xr_places_cycle(arena, &all, buffer, 0);
	spec.chain.rolling = true;
	spec.chain.unsettled = true;
	return spec;
}

static int take_turn(const struct ground *g, size_t n, double time[2], const char **trouble)
{
	const struct xr_effort effort = {.samples = 5, .samples_max = 9, .sample_ns = sample_ns};
	const struct xr_spec spec[2] = {laps(g, n, REPEATED), laps(g, n, CHANGING)};
	struct xr_reading reading[2];
	if (xr_run_time_with(g->run, &effort, spec, 2, reading) != 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		time[i] = reading[i].cycles;
		if (reading[i].status != XR_READ_OK)
			*trouble = reading[i].reason;
	}
	return 0;
}

/* The least number of lines, by doubling, of which those in changing orders miss; and twice as many. 0: none. */
static int find_lines(const struct ground *g, double first, double most, size_t *lines, const char **trouble)
{
	*lines = 0;
	for (double n = fmax(first, LINES_LEAST); 2 * n <= most && !*lines && !*trouble; n *= 2) {
		double time[2];
		if (take_turn(g, (size_t)n, time, trouble) != 0)
			return -1;
		if (time[CHANGING] > misses * g->hit)
			*lines = 2 * (size_t)n;
	}
	return 0;
}

static void tell(const struct ground *g, const struct xr_spared *seen)
{
	struct xr_description *d = xr_run_description(g->run);
	const double no = 1 - seen->p - seen->none;
	if (seen->none > 0.5) {
		xr_fact_none(d, id, XR_UNRELIABLE, "neither a learnt order nor its absence explains the times");
		return;
	}
	struct xr_fact *fact = xr_fact_bool(d, id, seen->p > no, most_sure * fmax(seen->p, no),
	                                    "laps in one order beside changing ones");
	if (seen->p > no)
		xr_fact_note(fact, "%.0f %% of the latency is hidden", 100 * fmin(1, fmax(0, seen->share)));
	if (fmax(seen->p, no) < sure)
		xr_fact_doubt(fact, "times fit both");
}

static int decide(const struct ground *g, size_t lines)
{
	double time[2][TURNS_MOST];
	struct xr_spared seen = {0};
	size_t n = 0;
	for (bool clear = false; n < TURNS_MOST && !clear; n++) {
		const char *trouble = NULL;
		double one[2];
		if (take_turn(g, lines, one, &trouble) != 0)
			return -1;
		if (trouble) {
			xr_fact_none(xr_run_description(g->run), id, XR_FAILED, "%s", trouble);
			return 0;
		}
		time[CHANGING][n] = one[CHANGING];
		/* Where the oldest leave, a lap in one order finds nothing and a changing one now and then a line: slower is
		 * not learnt either. */
		time[REPEATED][n] = fmin(one[REPEATED], one[CHANGING]);
		if (n + 1 < TURNS)
			continue;
		seen = xr_spared_find(xr_run_arena(g->run), &(struct xr_spared_times){.asked = time[REPEATED],
		                                                                      .strangers = time[CHANGING],
		                                                                      .n = n + 1,
		                                                                      .part = 1,
		                                                                      .nearest = g->nearest,
		                                                                      .hit = g->hit});
		clear = fmax(seen.p, 1 - seen.p - seen.none) > clear_enough;
	}
	tell(g, &seen);
	return 0;
}

/* What is in doubt may be true: whether enough lines miss is seen. */
static double number(struct xr_run *run, const char *fact_id)
{
	const struct xr_fact *fact = xr_description_fact(xr_run_description(run), fact_id);
	return fact ? xr_fact_value(fact, 0) : 0;
}

static int run(struct xr_run *run)
{
	struct ground g = {.run = run,
	                   .line = (uint64_t)xr_run_number(run, "cache.l1d.line", 0),
	                   .page = xr_run_info(run)->page_bytes ? xr_run_info(run)->page_bytes : 4096,
	                   .nearest = number(run, "cache.l1d.latency")};
	const double second = number(run, "cache.l2.capacity");
	const double capacity = second > 0 ? second : number(run, "cache.l1d.capacity");
	const double most = fmin(LINES_MOST, (double)xr_run_room(run) / 2 / (double)g.page);
	const char *trouble = NULL;
	size_t lines;
	g.hit = second > 0 ? number(run, "cache.l2.latency") : g.nearest;
	if (g.line < 2 * WORD || !(capacity > 0) || !(g.hit > 0)) {
		xr_fact_none(xr_run_description(run), id, XR_UNRELIABLE,
		             "the caches that are prefetched into are not known well enough");
		return 0;
	}
	if (find_lines(&g, 2 * capacity / (double)g.page, most, &lines, &trouble) != 0)
		return -1;
	if (lines && !trouble)
		return decide(&g, lines);
	xr_fact_none(xr_run_description(run), id, trouble ? XR_FAILED : XR_UNRELIABLE, "%s",
	             trouble ? trouble : "too few lines miss the caches that are prefetched into");
	return 0;
}

static const char *const finds[] = {id, NULL};
static const char *const needs[] = {"cache_outer", NULL};

const struct xr_micro xr_micro_temporal = {
	.id = "temporal",
	.title = "temporal prefetcher: learns which miss comes after which",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.2,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
