/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l1d.write_allocate: does a store that misses bring its line?
 *
 * Idea (paper 004 §3.4, there with counters): write lines that are not there, and read them: as quick as after reading
 * them, or as slow as after nothing.
 *
 * Algorithm: a script evicts an eighth of the cache by four times its size of other lines, then writes those lines,
 * reads them, or leaves them alone, then reads them timed; what writing did lies between the two others. One word a
 * line, every third line, orders drawn apart.
 *
 * Lines that the first cache left alone may be in the second, or where they were before.
 *
 * When it fails: hits and misses that take as long.
 */
#include "infer/belief.h"
#include "infer/noise.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 58, TURNS = 5, N_SCRIPTS = 3, APART = 3 };
enum { NOTHING, READ_FIRST, WRITE_FIRST };
static const double least_contrast = 1.15; /* of lines that are there and lines that are not */

struct ground {
	uint64_t line, lines, bytes; /* lines that are looked at; bytes of others, behind them */
	struct xr_buffer buffer;
};

static struct xr_spec script(struct xr_run *run, const struct ground *g, int what)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(run), struct xr_span, 2);
	struct xr_spec spec = {.kind = XR_CHAIN};
	unsigned n = 0;
	span[0] = (struct xr_span){0, APART * g->line, (uint32_t)g->lines};
	span[1] = (struct xr_span){APART * g->line * (g->lines + 1), g->line, (uint32_t)(g->bytes / g->line)};
	spec.chain.buffer = g->buffer;
	spec.chain.cursors = 1;
	spec.chain.phase[n++] = (struct xr_phase){.span = &span[1],
	                                          .n_spans = 1,
	                                          .seed = xr_rng_next(xr_run_rng(run)) | 1,
	                                          .access = XR_READ,
	                                          .passes = 1};
	if (what != NOTHING)
		spec.chain.phase[n++] = (struct xr_phase){.span = &span[0],
		                                          .n_spans = 1,
		                                          .seed = xr_rng_next(xr_run_rng(run)) | 1,
		                                          .access = what == WRITE_FIRST ? XR_WRITE : XR_TOUCH,
		                                          .passes = 1};
	spec.chain.phase[n++] = (struct xr_phase){.span = &span[0],
	                                          .n_spans = 1,
	                                          .seed = xr_rng_next(xr_run_rng(run)) | 1,
	                                          .access = XR_READ,
	                                          .passes = 1,
	                                          .timed = true};
	spec.chain.n_phases = n;
	return spec;
}

static int ask_allocate(struct xr_run *run, const struct ground *g)
{
	static const char id[] = "cache.l1d.write_allocate";
	struct xr_description *d = xr_run_description(run);
	const struct xr_effort effort = {.samples = 7, .samples_max = 14};
	double time[N_SCRIPTS][TURNS], all[N_SCRIPTS * TURNS];
	size_t group[N_SCRIPTS * TURNS], n = 0;
	struct xr_belief belief = xr_belief_new(xr_run_arena(run), 3, NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		struct xr_spec spec[N_SCRIPTS];
		struct xr_reading reading[N_SCRIPTS];
		for (int what = 0; what < N_SCRIPTS; what++)
			spec[what] = script(run, g, what);
		if (xr_run_time_with(run, &effort, spec, N_SCRIPTS, reading) != 0)
			return -1;
		for (int what = 0; what < N_SCRIPTS; what++) {
			if (reading[what].status != XR_READ_OK) {
				xr_fact_none(d, id, XR_FAILED, "%s", reading[what].reason);
				return 0;
			}
			time[what][turn] = all[n] = reading[what].cycles;
			group[n++] = (size_t)what;
		}
	}
	const double none = xr_median(time[NOTHING], TURNS), read = xr_median(time[READ_FIRST], TURNS);
	const double next = fmax(xr_run_number(run, "cache.l2.latency", none), least_contrast * read);
	const struct xr_noise noise = xr_noise_fit(all, group, n);
	if (none < least_contrast * read) {
		xr_fact_none(d, id, XR_UNRELIABLE, "hits take as long as misses");
		return 0;
	}
	for (int turn = 0; turn < TURNS; turn++) {
		const double seen = time[WRITE_FIRST][turn];
		const double log[3] = {xr_noise_log(&noise, read, seen, 0.05), xr_noise_log(&noise, none, seen, 0.05),
		                       xr_noise_log(&noise, next, seen, 0.05)};
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, read / 2, 2 * none, time[WRITE_FIRST][turn]), 1);
	}
	double p;
	size_t best = xr_belief_best(&belief, &p);
	if (best == 3)
		xr_fact_none(d, id, XR_UNRELIABLE,
		             "lines written before take %.1f cycles, others %.1f, those read before %.1f",
		             xr_median(time[WRITE_FIRST], TURNS), none, read);
	else
		xr_fact_bool(d, id, best == 0, 0.98 * (best ? 1 - xr_belief_p(&belief, 0) : p),
		             "lines written, then read");
	return 0;
}

static int run(struct xr_run *run)
{
	const double capacity = xr_run_number(run, "cache.l1d.capacity", 0);
	struct ground g = {.line = (uint64_t)xr_run_number(run, "cache.l1d.line", 0)};
	if (!(capacity > 0) || !g.line) {
		xr_fact_none(xr_run_description(run), "cache.l1d.write_allocate", XR_UNRELIABLE,
		             "the first cache is not known");
		return 0;
	}
	g.lines = (uint64_t)(capacity / 8) / g.line;
	g.bytes = (uint64_t)(4 * capacity);
	g.buffer = (struct xr_buffer){BUFFER, APART * g.line * (g.lines + 1) + g.bytes + 4096, XR_HUGE};
	if (g.lines < 4) {
		xr_fact_none(xr_run_description(run), "cache.l1d.write_allocate", XR_UNRELIABLE,
		             "too few lines to tell");
		return 0;
	}
	return ask_allocate(run, &g);
}

static const char *const finds[] = {"cache.l1d.write_allocate", NULL};
static const char *const needs[] = {"cache_outer", NULL};

const struct xr_micro xr_micro_write = {
	.id = "write",
	.title = "what the first cache does with stores",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.1,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
