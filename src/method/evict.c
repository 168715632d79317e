/* Eviction, see evict.h. */
#include "method/evict.h"

#include "stat/stat.h"

enum {
	BATCH = 48,
	LINE_USUAL = 64,
	VISITS_MANY = 4096,
	PASSES = 3,
	SAMPLES = 6,
};
static const double sample_ns = 10e3; /* short, to the same end */

void xr_evict_shape(struct xr_evict *evict, uint64_t item, uint64_t line, uint32_t lines)
{
	uint64_t usual = line ? line : LINE_USUAL, room = evict->page && evict->page < item ? evict->page : item;

	while (lines > 1 && room / lines < 4 * usual)
		lines /= 2;
	evict->item = item;
	evict->lines = lines;
	/* An odd number of lines: the lines of an item fall into different sets, whatever the number of sets. */
	evict->line_stride = lines > 1 ? room / lines - usual : usual;
	evict->offset = 0;
}

static struct xr_span lines_of(const struct xr_evict *e, uint32_t item, uint32_t lines)
{
	struct xr_span span = {item * e->item + e->offset, e->line_stride, lines};
	return span;
}

static struct xr_span *spans_of(const struct xr_evict *e, const struct xr_items *items, uint32_t lines)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(e->run), struct xr_span, items->n ? items->n : 1);

	for (size_t i = 0; i < items->n; i++) {
		span[i] = lines_of(e, items->item[i], lines);
		if (e->dense) {
			span[i].base = items->item[i] * e->item;
			span[i].stride = e->item / e->dense;
			span[i].count = e->dense;
		}
	}
	return span;
}

/* Of many items fewer lines are used: whoever else runs on the machine pushes x out too, given time. */
static uint32_t lines_for(const struct xr_evict *e, size_t items, unsigned passes)
{
	uint32_t lines = e->lines;

	while (!e->exact && lines > 2 && items * lines * 2 * passes > VISITS_MANY)
		lines /= 2;
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

static struct xr_spec script(const struct xr_evict *e, uint32_t x, const struct xr_items *others)
{
	struct xr_rng *rng = xr_run_rng(e->run);
	struct xr_items self = {&x, 1}, flush = {e->flush, e->n_flush};
	unsigned passes = e->passes ? e->passes : PASSES;
	uint32_t lines = lines_for(e, others->n, passes);
	uint64_t beside = e->offset + e->lines * e->line_stride;
	struct xr_phase own = {.span = spans_of(e, &self, lines), .n_spans = 1, .access = XR_READ, .passes = 1};
	struct xr_phase visit = {.span = spans_of(e, others, lines), .n_spans = others->n, .access = XR_TOUCH, .passes = passes};
	struct xr_phase after = {.span = spans_of(e, &flush, lines), .n_spans = flush.n, .access = XR_TOUCH, .passes = passes};
	struct xr_spec spec = {.kind = XR_CHAIN};

	spec.chain.buffer = e->buffer;
	own.seed = xr_rng_next(rng) >> 16 | 1;
	visit.seed = after.seed = xr_rng_next(rng) >> 16 | 1;
	add_phase(&spec, own);
	add_phase(&spec, visit);
	visit.seed += 2;
	if (passes > 1)
		add_phase(&spec, visit);
	add_phase(&spec, after);
	if (e->page && beside + 8 <= e->page) {
		struct xr_span *span = xr_arena_array(xr_run_arena(e->run), struct xr_span, 1);

		*span = (struct xr_span){x * e->item + beside, 8, 1};
		add_phase(&spec, (struct xr_phase){.span = span, .n_spans = 1, .access = XR_READ, .passes = 1});
	}
	own.timed = true;
	add_phase(&spec, own);
	return spec;
}

int xr_evict_values(struct xr_evict *e, uint32_t x, const struct xr_items *others, size_t n, double *values)
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
		if (xr_run_time_with(e->run, &effort, spec, k, reading) != 0)
			return -1;
		for (size_t i = 0; i < k; i++)
			values[done + i] = reading[i].status != XR_READ_OK ? -1
			                   : e->exact ? reading[i].cycles
			                              : xr_min(reading[i].sample, (size_t)reading[i].samples);
		done += k;
	}
	return 0;
}
