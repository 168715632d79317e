/* SPDX-License-Identifier: MIT */
/* Walks over random lines; see scatter.h. */
#include "probe/scatter.h"

#include "probe/places.h"

#include <math.h>

enum { SAMPLES = 3, PAIR = 2 };
static const double visit_ns = 12; /* about, of a line that is in some cache: samples are a lap long */
static const double least_sample_ns = 2e4;

/* Visits to neighbouring lines of a page, one after the other, look like a stream, and a prefetcher would bring
 * those that follow: such are exchanged for later ones. */
static void no_streams(const struct xr_scatter *s, struct xr_places *places, struct xr_arena *arena)
{
	uint64_t page = s->page ? s->page : s->buffer.bytes,
		 *last = xr_arena_array(arena, uint64_t, s->buffer.bytes / page + 1);

	for (size_t i = 0; i < places->n; i++) {
		uint64_t *before = &last[places->at[i] / page], line = places->at[i] / s->line + 1;

		for (int tries = 0; tries < 8 && (line + 1 == *before || line == *before + 1); tries++) {
			size_t j = i + (size_t)xr_rng_below(xr_run_rng(s->run), places->n - i);
			uint64_t swap = places->at[i];

			places->at[i] = places->at[j];
			places->at[j] = swap;
			before = &last[places->at[i] / page];
			line = places->at[i] / s->line + 1;
		}
		*before = line;
	}
}

/* So many lines of the pool, block by block, drawn anew, in random order. */
static struct xr_spec lay(const struct xr_scatter *s, struct xr_arena *arena, size_t lines)
{
	size_t block = s->block ? s->block : PAIR, step = s->step ? s->step : 1;
	size_t grain = block * step < PAIR ? PAIR : block * step; /* of single ones, never both of a pair */
	size_t pool = (size_t)(s->buffer.bytes / (grain * s->line)), n = lines / block ? lines / block : 1;
	uint32_t *slot = xr_arena_array(arena, uint32_t, pool + 1);
	struct xr_places places;

	n = n < pool ? n : pool;
	places = xr_places_new(arena, block * n);
	for (uint32_t i = 0; i < pool; i++)
		slot[i] = i;
	for (size_t i = 0; i < n; i++) {
		size_t j = i + (size_t)xr_rng_below(xr_run_rng(s->run), pool - i);
		uint32_t drawn = slot[j];
		/* either of a pair: else half of the sets would stay empty */
		const uint64_t which = block * step < PAIR ? xr_rng_below(xr_run_rng(s->run), PAIR) : 0;

		slot[j] = slot[i];
		slot[i] = drawn;
		for (size_t k = 0; k < block; k++)
			xr_places_add(&places, (drawn * grain + k * step + which) * s->line);
	}
	xr_places_shuffle(&places, xr_run_rng(s->run));
	no_streams(s, &places, arena);
	return xr_places_cycle(arena, &places, s->buffer, 0);
}

static int ask_batch(const struct xr_scatter *s, const double *lines, size_t n, struct xr_scatter_point *point,
                     size_t *got)
{
	struct xr_arena arena = {0};
	struct xr_spec spec[XR_SCATTER_BATCH];
	struct xr_reading reading[XR_SCATTER_BATCH];
	struct xr_effort effort = s->effort;
	double most = 0;
	int status;

	for (size_t i = 0; i < n; i++) {
		spec[i] = lay(s, &arena, (size_t)lines[i]);
		most = fmax(most, lines[i]);
	}
	if (effort.samples == 0)
		effort = (struct xr_effort){.samples = SAMPLES,
		                            .samples_max = 2 * SAMPLES,
		                            .sample_ns = fmax(least_sample_ns, visit_ns * most)};
	effort.quiet_ns = s->quiet_ns;
	status = xr_run_time_with(s->run, &effort, spec, n, reading);
	for (size_t i = 0; i < n && status == 0; i++)
		if (reading[i].status == XR_READ_OK)
			point[(*got)++] = (struct xr_scatter_point){lines[i], reading[i].cycles, s->block == 1};
	xr_arena_release(&arena);
	return status;
}

int xr_scatter_ask(const struct xr_scatter *s, const double *lines, size_t n, int draws, struct xr_scatter_point *point,
                   size_t *got)
{
	double *all = xr_arena_array(xr_run_arena(s->run), double, n *(size_t)draws);
	size_t k = 0;

	*got = 0;
	for (int d = 0; d < draws; d++)
		for (size_t i = 0; i < n; i++)
			all[k++] = lines[i];
	for (size_t done = 0; done < k; done += XR_SCATTER_BATCH)
		if (ask_batch(s, all + done, k - done < XR_SCATTER_BATCH ? k - done : XR_SCATTER_BATCH, point, got) !=
		    0)
			return -1;
	return 0;
}
