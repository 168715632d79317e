/* SPDX-License-Identifier: MIT */
#include "method/footprint.h"

#include <math.h>

enum { BLOCK = 4096, LEVELS = XR_FOOTPRINTS - 1 };
static const double least_memory = 64 << 20;
/* Where every access is simulated nobody else has left anything behind. */
static const double least_exact = 1 << 20;
static const double close_to = 1.5; /* times the nearer level: less of a level cannot be seen for sure */
static const double most_of = 0.8;  /* of a level: more of it overflows single sets */

static const char *const level_names[LEVELS] = {"l1d", "l2", "l3", "l4"};

static uint64_t whole_blocks(double bytes)
{
	return (uint64_t)(bytes / BLOCK) * BLOCK;
}

static uint64_t footprint(double nearer, double size)
{
	double bytes = fmin(4 * nearer, size / 2);
	if (nearer <= 0)
		return whole_blocks(size / 2) ? whole_blocks(size / 2) : (uint64_t)size / 2;
	bytes = fmax(bytes, close_to * nearer);
	return bytes > most_of * size ? 0 : whole_blocks(bytes);
}

static double capacity_of(struct xr_run *run, int level)
{
	const struct xr_fact *fact = xr_description_fact(
		xr_run_description(run), xr_arena_printf(xr_run_arena(run), "cache.%s.capacity", level_names[level]));
	return fact ? xr_fact_value(fact, 0) : 0; /* what is in doubt is good enough to tell levels apart */
}

int xr_footprints(struct xr_run *run, struct xr_footprint place[static XR_FOOTPRINTS])
{
	double nearer = 0, largest = 0;
	int n = 0;
	for (int i = 0; i < LEVELS; i++) {
		double size = capacity_of(run, i);
		if (size <= 0)
			break;
		place[n] = (struct xr_footprint){.name = xr_arena_printf(xr_run_arena(run), "cache.%s", level_names[i]),
		                                 .level = i,
		                                 .bytes = footprint(nearer, size)};
		n++;
		nearer = size;
		largest = fmax(largest, size);
	}
	double least = xr_run_info(run)->exact ? least_exact : least_memory;
	double wanted = fmax(8 * largest, least), room = (double)xr_run_room(run) - 2 * BLOCK;
	place[n] = (struct xr_footprint){.name = "memory",
	                                 .level = n,
	                                 .memory = true,
	                                 .bytes = room < 2 * largest ? 0 : whole_blocks(fmin(wanted, room))};
	return n + 1;
}

const char *xr_footprint_trouble(const struct xr_footprint *place)
{
	return place->memory ? "too little memory to get past the caches"
	                     : "hardly larger than the nearer level: it never answers alone";
}
