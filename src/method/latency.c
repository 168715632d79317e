/* SPDX-License-Identifier: MIT */
/* The second latency, see latency.h. */
#include "method/latency.h"

#include "method/laps.h"
#include "probe/places.h"
#include "stat/stat.h"

#include <math.h>

enum {
	WALKS = 9,
	TWIN_SHARE = 4 /* of the first level, at most, is taken by a twin */,
	ENOUGH = 4 /* undisturbed walks */
};
static const double near_enough = 0.3; /* to what staircases say: else it is something else */
static const double waits = 0.3;       /* of the patience left */

/* So many pages at random, and their twin, whose lines are all in different places. */
static void lay(const struct xr_second *second, size_t n, struct xr_spec *spec)
{
	const struct xr_evict *e = second->evict;
	struct xr_arena *arena = xr_run_arena(e->run);
	struct xr_places set = xr_places_new(arena, n), twin = xr_places_new(arena, n);
	struct xr_buffer other = {e->buffer.id + 1, e->buffer.bytes, e->buffer.backing};

	xr_shuffle(second->order, second->n_items, xr_run_rng(e->run));
	for (size_t k = 0; k < n; k++) {
		xr_places_add(&set, second->order[k] * e->item);
		xr_places_add(&twin, second->order[k] * e->item + k * e->line % e->item);
	}
	spec[0] = xr_places_cycle(arena, &set, e->buffer, 0);
	spec[1] = xr_places_cycle(arena, &twin, other, 0);
}

static double quiet_cycles(const struct xr_reading *r)
{
	return r->n_disturbed ? xr_lower(r->sample, xr_quiet_samples(r)) : r->cycles;
}

/* What the walks say of it, the undisturbed first; how many these are. */
static size_t values_of(const struct xr_reading *reading, double hit, double *value)
{
	size_t n = 0, quiet = 0;

	for (int disturbed = 0; disturbed < 2; disturbed++) {
		for (size_t i = 0; i < 2 * WALKS; i += 2)
			if ((reading[i].disturbed || reading[i + 1].disturbed) == disturbed)
				value[n++] = quiet_cycles(&reading[i]) - quiet_cycles(&reading[i + 1]) + hit;
		quiet = disturbed ? quiet : n;
	}
	return quiet;
}

int xr_latency_of_second(const struct xr_second *second, struct xr_latency *latency)
{
	const struct xr_evict *e = second->evict;
	/* Of many more, some overflow few ways. */
	size_t n = (size_t)fmax(2 * second->fill, cbrt(second->fill * second->fill * second->room)), quiet;
	struct xr_effort effort = {.samples = 9, .samples_max = 18};
	struct xr_spec spec[2 * WALKS];
	struct xr_reading reading[2 * WALKS];
	struct xr_latency found;
	double value[WALKS], close;

	if (n < 2 || n > second->lines / TWIN_SHARE || n >= second->n_items)
		return 0;
	for (size_t i = 0; i < WALKS; i++)
		lay(second, n, spec + 2 * i);
	if (xr_time_in_peace(e->peace, waits, e->run, effort, spec, 2 * WALKS, reading) != 0)
		return -1;
	for (size_t i = 0; i < 2 * WALKS; i++)
		if (reading[i].status != XR_READ_OK)
			return 0;
	quiet = values_of(reading, second->hit, value);
	found.peace = quiet >= ENOUGH;
	/* A set of pages may by chance overflow this level, its twin the first one: most do neither. In peace
	 * these are all the same; beside a neighbour they are not, and those that lie close together are no
	 * better than the others. */
	quiet = found.peace ? quiet : WALKS;
	found.spread = xr_mad(value, quiet);
	found.cycles = xr_densest(value, quiet, &close);
	found.spread = fmax(found.spread, close) / found.cycles;
	if (fabs(found.cycles / second->about - 1) < near_enough &&
	    (found.peace > latency->peace || (found.peace == latency->peace && found.spread < latency->spread)))
		*latency = found;
	return 0;
}
