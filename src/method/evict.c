/* SPDX-License-Identifier: MIT */
/* Eviction, see evict.h. */
#include "method/evict.h"

#include "stat/stat.h"

#include <assert.h>
#include <math.h>

enum {
	BATCH = 48,
	VISITS_MANY = 6000,
	PASSES = 2,
	SAMPLES = 6,
};
static const double sample_ns = 10e3; /* short, to the same end */
static const double waits = 0.2;      /* of the patience left, one call */

/* In lines: no three at equal distances, none next to another or a power of two away, so that neither streams nor
 * strides are seen in them; one in each eight, for outer caches may have lines several times as long, and fetch
 * these in pairs; all different modulo 8, so that they go to different sets. */
static const uint32_t marks[] = {0, 9, 20, 26, 39, 46, 51, 61};
/* As far from all of them, in lines, if 2, 4, 6 or 8 are used. */
static const uint32_t besides[] = {6, 28, 48, 57};

void xr_evict_shape(struct xr_evict *evict, uint64_t item, uint64_t line, uint32_t lines)
{
	uint64_t room = evict->page && evict->page < item ? evict->page : item;

	if (lines > 8)
		lines = 8;
	while (lines > 2 && (marks[lines - 1] + 3) * line > room)
		lines -= 2;
	evict->item = item;
	evict->line = line;
	evict->lines = lines;
}

uint64_t xr_evict_line(const struct xr_evict *evict, uint32_t i)
{
	assert(i < sizeof marks / sizeof *marks);
	return marks[i] * evict->line;
}

static uint64_t line_beside(const struct xr_evict *e)
{
	size_t i = (e->lines - 1) / 2;

	assert(i < sizeof besides / sizeof *besides);
	return besides[i] * e->line;
}

/* The lines of these items, in pairs, for a pair is a span. */
static struct xr_span *spans_of(const struct xr_evict *e, const struct xr_items *items, uint32_t lines, size_t *n)
{
	size_t pairs = lines > 1 ? lines / 2 : 1;
	struct xr_span *span = xr_arena_array(xr_run_arena(e->run), struct xr_span, items->n * pairs + 1);

	*n = 0;
	for (size_t i = 0; i < items->n; i++) {
		uint64_t base = items->item[i] * e->item;

		if (e->block) {
			span[(*n)++] = (struct xr_span){e->item + items->item[i] * e->block, e->line,
			                                (uint32_t)(e->block / e->line)};
			continue;
		}
		for (uint32_t l = 0; l < lines; l += 2) {
			uint64_t first = xr_evict_line(e, l),
				 second = l + 1 < lines ? xr_evict_line(e, l + 1) : first + 8;

			span[(*n)++] = (struct xr_span){base + first, second - first, l + 1 < lines ? 2 : 1};
		}
	}
	return span;
}

/* Of many items fewer lines are used: whoever else runs on the machine pushes x out too, given time. */
static uint32_t lines_for(const struct xr_evict *e, size_t items, unsigned passes)
{
	uint32_t lines = e->lines;

	while (!e->exact && lines > 2 && items * lines * 2 * passes > VISITS_MANY)
		lines = lines > 4 ? 4 : 2;
	return lines;
}

double xr_evict_visits(const struct xr_evict *e, size_t n)
{
	unsigned passes = e->passes ? e->passes : PASSES;

	return (double)n * lines_for(e, n, passes) * 2 * passes + e->lines;
}

static void add_phase(struct xr_spec *spec, struct xr_phase phase)
{
	if (phase.n_spans)
		spec->chain.phase[spec->chain.n_phases++] = phase;
}

static struct xr_phase visit(const struct xr_evict *e, struct xr_items items, uint32_t lines, enum xr_access access,
                             unsigned passes)
{
	struct xr_phase phase = {.access = access, .passes = passes, .seed = xr_rng_next(xr_run_rng(e->run)) >> 16 | 1};

	phase.span = spans_of(e, &items, lines, &phase.n_spans);
	return phase;
}

static struct xr_spec script(const struct xr_evict *e, uint32_t x, const struct xr_items *others)
{
	struct xr_evict sparse = *e;
	unsigned passes = e->passes ? e->passes : PASSES;
	uint32_t lines = lines_for(e, others->n, passes);
	uint64_t beside = line_beside(e);
	struct xr_phase own, all = visit(e, *others, lines, XR_TOUCH, passes);
	struct xr_spec spec = {.kind = XR_CHAIN};

	sparse.block = 0;
	own = visit(&sparse, (struct xr_items){&x, 1, false}, lines, XR_READ, 1);
	spec.chain.buffer = e->buffer;
	add_phase(&spec, own);
	add_phase(&spec, all);
	all.seed += 2;
	if (passes > 1)
		add_phase(&spec, all);
	if (e->page && beside + 8 <= e->page) {
		struct xr_span *span = xr_arena_array(xr_run_arena(e->run), struct xr_span, 1);

		*span = (struct xr_span){x * e->item + beside, 8, 1};
		add_phase(&spec, (struct xr_phase){.span = span, .n_spans = 1, .access = XR_READ, .passes = 1});
	}
	if (e->only) {
		struct xr_span *span = xr_arena_array(xr_run_arena(e->run), struct xr_span, 1);

		*span = (struct xr_span){x * e->item + xr_evict_line(e, e->only - 1), 8, 1};
		own.span = span;
		own.n_spans = 1;
	}
	if (others->warm)
		add_phase(&spec, own);
	own.timed = true;
	add_phase(&spec, own);
	return spec;
}

static double value_of(const struct xr_evict *e, const struct xr_reading *reading)
{
	if (reading->status != XR_READ_OK)
		return NAN;
	if (!e->exact)
		return xr_min(reading->sample, (size_t)reading->samples);
	return reading->n_disturbed ? xr_lower(reading->sample, xr_quiet_samples(reading)) : reading->cycles;
}

static int values_once(struct xr_evict *e, uint32_t x, const struct xr_items *others, size_t n, double *values)
{
	struct xr_effort effort = e->effort;

	if (effort.samples == 0 && e->exact)
		effort = (struct xr_effort){.samples = 9, .samples_max = 9};
	else if (effort.samples == 0)
		effort = (struct xr_effort){.samples = SAMPLES, .samples_max = SAMPLES, .sample_ns = sample_ns};
	for (size_t done = 0; done < n;) {
		struct xr_spec spec[BATCH];
		struct xr_reading reading[BATCH];
		size_t k = n - done < BATCH ? n - done : BATCH;

		for (size_t i = 0; i < k; i++)
			spec[i] = script(e, x, &others[done + i]);
		if (xr_time_in_peace(e->peace, waits, e->run, effort, spec, k, reading) != 0)
			return -1;
		for (size_t i = 0; i < k; i++)
			values[done + i] = value_of(e, &reading[i]);
		done += k;
	}
	return 0;
}

int xr_evict_values(struct xr_evict *e, uint32_t x, const struct xr_items *others, size_t n, double *values)
{
	if (values_once(e, x, others, n, values) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (isnan(values[i]) && values_once(e, x, &others[i], 1, &values[i]) != 0)
			return -1;
	return 0;
}
