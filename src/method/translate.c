/* SPDX-License-Identifier: MIT */
/* What address translation costs, see translate.h. */
#include "method/translate.h"

#include "probe/places.h"
#include "stat/stat.h"

enum { ORDERS_MAX = 9, BATCH = 24 };

static void pair(const struct xr_translate *t, size_t n, uint64_t seed, struct xr_spec *spec)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_buffer beside = t->buffer;
	struct xr_places pages = xr_places_rotated(arena, t->page, t->stride ? t->stride : t->page, t->line, n);
	struct xr_places packed = xr_places_stride(arena, 0, t->line, n);

	beside.id++;
	spec[0] = xr_places_cycle(arena, &pages, t->buffer, seed);
	spec[1] = xr_places_cycle(arena, &packed, beside, seed);
}

static int cost_of_some(const struct xr_translate *t, const size_t *n, size_t k, double *cycles, double *raw)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	size_t orders = t->orders > 0 ? (size_t)t->orders : 1;
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * k * orders);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, 2 * k * orders);

	for (size_t o = 0; o < orders; o++)
		for (size_t i = 0; i < k; i++)
			pair(t, n[i], xr_rng_next(xr_run_rng(t->run)) >> 16 | 1, &spec[2 * (o * k + i)]);
	if (xr_run_time_with(t->run, &t->effort, spec, 2 * k * orders, reading) != 0)
		return -1;
	for (size_t i = 0; i < k; i++) {
		double difference[ORDERS_MAX], spread[ORDERS_MAX];
		size_t good = 0;

		for (size_t o = 0; o < orders && o < ORDERS_MAX; o++) {
			const struct xr_reading *r = &reading[2 * (o * k + i)];

			if (r[0].status != XR_READ_OK || r[1].status != XR_READ_OK)
				continue;
			difference[good] = r[0].cycles - r[1].cycles;
			spread[good++] = r[0].cycles;
		}
		cycles[i] = good ? xr_median(difference, good) : -1;
		if (raw)
			raw[i] = good ? xr_median(spread, good) : -1;
	}
	return 0;
}

int xr_translate_cost(const struct xr_translate *t, const size_t *n, size_t k, double *cycles, double *raw)
{
	for (size_t done = 0; done < k; done += BATCH)
		if (cost_of_some(t, n + done, k - done < BATCH ? k - done : BATCH, cycles + done,
		                 raw ? raw + done : NULL) != 0)
			return -1;
	return 0;
}

int xr_translate_watch(const struct xr_translate *t, size_t n, size_t most, double *cycles, size_t *samples)
{
	struct xr_spec spec[2];
	struct xr_reading reading[2];

	*samples = 0;
	pair(t, n, xr_rng_next(xr_run_rng(t->run)) >> 16 | 1, spec);
	if (xr_run_time_with(t->run, &t->effort, spec, 2, reading) != 0)
		return -1;
	if (reading[0].status != XR_READ_OK || reading[1].status != XR_READ_OK)
		return 0;
	for (; *samples < most && *samples < (size_t)reading[0].samples; ++*samples)
		cycles[*samples] = reading[0].sample[*samples] - reading[1].cycles;
	return 0;
}
