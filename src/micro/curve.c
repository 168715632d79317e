/* Parameter: memory.curve.small, memory.curve.huge: what one access costs, all in all, over more bytes than any
 * cache holds, in small pages and in huge ones; and the curve of the same from a few lines up, for people to look
 * at.
 *
 * Idea (paper 001 §3): the dependent random walk over all lines of so many bytes. Caches and TLBs are crossed as
 * a program crosses them, so nothing is taken off: where the curve rises, a program slows down. Beside each other
 * the two curves show what small pages cost.
 *
 * Algorithm: sizes in equal ratios from 1 KiB to twice the largest cache seen. One walk each, no search: no other
 * fact is decided here. The last point is the fact, with what its own samples differ by.
 *
 * When it fails: too little memory to leave the caches: said as a note. Huge pages are asked for; whether they
 * were given is for memory.huge_pages to say.
 *
 * SPDX-License-Identifier: MIT
 */
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum {
	BUFFER = 60, /* id */
	POINTS = 64,
	QUICK = 24, /* points, with --quick */
	SAMPLES = 5,
	LINE = 64, /* where it is not known */
};
static const double least_bytes = 1 << 10;                       /* a few lines */
static const double most_least = 16 << 20, most_most = 64 << 20; /* bytes of the last walk */
static const double exact_least = 2 << 20;                       /* the same where every access is simulated */
static const double tolerance = 0.1; /* within which a latency that others have a say in is the same */

struct curve {
	double bytes[POINTS], cycles[POINTS];
	size_t n;
	double spread; /* of the last */
	const char *trouble;
};

static double largest_cache(const struct xr_run *run)
{
	static const char *const ids[] = {"cache.l1d.capacity", "cache.l2.capacity", "cache.l3.capacity",
	                                  "cache.l4.capacity"};
	double largest = 0;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		largest = fmax(largest, xr_run_number(run, ids[i], 0));
	return largest;
}

static int walk(struct xr_run *run, struct xr_buffer buffer, double most, uint64_t line, struct curve *c)
{
	const struct xr_effort effort = {.samples = SAMPLES, .samples_max = SAMPLES, .hasty = true};
	const size_t points = xr_run_quick(run) ? QUICK : POINTS;
	for (size_t i = 0; i < points; i++) {
		double bytes = least_bytes * pow(most / least_bytes, (double)i / (double)(points - 1));
		const struct xr_span all = {0, line, (uint32_t)(bytes / (double)line)};
		struct xr_spec spec = xr_spec_cycle(buffer, &all, 1, xr_rng_next(xr_run_rng(run)) >> 16 | 1);
		struct xr_reading reading;
		xr_run_progress(run, (double)(buffer.backing == XR_HUGE ? points + i : i) / (double)(2 * points),
		                "latency over size");
		if (xr_run_time_with(run, &effort, &spec, 1, &reading) != 0)
			return -1;
		if (reading.status != XR_READ_OK) {
			c->trouble = reading.reason;
			continue;
		}
		c->bytes[c->n] = (double)all.count * (double)line;
		c->cycles[c->n++] = reading.cycles;
		c->spread = reading.spread;
	}
	return 0;
}

/* Normal about the truth, as far as the samples tell: how likely is it within the tolerance? */
static double confidence(double spread)
{
	return 0.97 * erf(tolerance / fmax(spread, 1e-3) / sqrt(2.0));
}

static void put(struct xr_run *run, const char *id, const struct curve *c, double largest)
{
	struct xr_description *d = xr_run_description(run);
	if (!c->n) {
		xr_fact_none(d, id, XR_FAILED, "%s", c->trouble ? c->trouble : "no walk could be timed");
		return;
	}
	const double last = c->bytes[c->n - 1];
	struct xr_fact *fact = xr_fact_number(d, id, c->cycles[c->n - 1], "cycles", confidence(c->spread),
	                                      "random walks over more and more bytes");
	xr_series_put(d, id, "bytes walked over", "bytes", c->bytes, "time per access", "cycles", c->cycles, c->n);
	xr_fact_add_series(fact, id);
	xr_fact_note(fact, "over %.0f MiB, translation included%s", last / (1 << 20),
	             last < largest * 2 ? "; caches hold a part of it" : "");
}

static int run(struct xr_run *run)
{
	static const struct {
		const char *id;
		enum xr_backing backing;
	} kinds[] = {{"memory.curve.small", XR_SMALL}, {"memory.curve.huge", XR_HUGE}};
	const double largest = largest_cache(run), room = (double)xr_run_room(run);
	const double least = xr_run_info(run)->exact ? exact_least : most_least;
	const double most = fmin(fmin(fmax(2 * largest, least), most_most), room);
	const uint64_t line = (uint64_t)xr_run_number(run, "cache.l1d.line", LINE);
	for (unsigned i = 0; i < 2; i++) {
		struct curve c = {.n = 0};
		if (!xr_run_wants(run, kinds[i].id))
			continue;
		if (kinds[i].backing == XR_HUGE && !xr_run_info(run)->page_bytes) {
			xr_fact_none(xr_run_description(run), kinds[i].id, XR_UNSUPPORTED, "no pages here");
			continue;
		}
		if (walk(run, (struct xr_buffer){BUFFER + i, (uint64_t)most, kinds[i].backing}, most, line, &c) != 0)
			return -1;
		put(run, kinds[i].id, &c, largest);
	}
	return 0;
}

static const char *const finds[] = {"memory.curve.small", "memory.curve.huge", NULL};
static const char *const needs[] = {"frequency", "cache_outer", NULL};

const struct xr_micro xr_micro_curve = {
	.id = "curve",
	.title = "latency over size, in small and in huge pages",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.8,
	.kinds = 1u << XR_CHAIN,
	.run = run,
	.late = true,
};
