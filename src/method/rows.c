/* SPDX-License-Identifier: MIT */
/* Rows of data, see rows.h. */
#include "method/rows.h"

#include "probe/places.h"

#include <math.h>

enum {
	WAYS_MOST = 64,
	LINE_MOST = 512,
	PAGE_NONE = 4096,
	WAY_MOST = 1 << 20,
	TWINS_APART = 64 /* bytes: other sets, where the line is not known yet */
};
static const double part = 0.02; /* of what a miss takes more: fewer than one of 50 miss */
/* Of what walks find: a part of it is the program's own, and the next size they try may be the first too large. */
static const double least = 0.8, most = 1.5;

static int rows_fit(void *self, const struct xr_rows *rows, bool *fit)
{
	const struct xr_data_level *l = self;
	struct xr_arena *arena = xr_run_arena(l->walk.run);
	struct xr_walk other = l->walk;
	const unsigned groups = rows->groups ? rows->groups : 1, n = (rows->n + rows->more) * groups;
	const uint64_t page = l->walk.page ? l->walk.page : PAGE_NONE,
		       bytes = (rows->n + rows->more) * rows->stride + groups * rows->apart + page;
	const uint64_t apart = l->walk.line > TWINS_APART ? l->walk.line : TWINS_APART;
	struct xr_places set = xr_places_new(arena, n), twin = xr_places_new(arena, n);
	struct xr_spec spec[2];
	struct xr_reading reading[2];
	for (unsigned i = 0; i < n; i++) {
		const unsigned line = i / groups;
		const uint64_t at = line * rows->stride + (line < rows->n ? 0 : rows->delta) + i % groups * rows->apart;
		xr_places_add(&set, at);
		xr_places_add(&twin, at / page * page + (at + i * apart) % page);
	}
	other.buffer++;
	spec[0] = xr_places_cycle(arena, &set, xr_walk_buffer(&l->walk, bytes), 0);
	spec[1] = xr_places_cycle(arena, &twin, xr_walk_buffer(&other, bytes), 0);
	if (xr_run_time(l->walk.run, spec, 2, reading) != 0)
		return -1;
	*fit = reading[0].cycles - reading[1].cycles + l->hit < l->near + part * (l->far - l->near); /* NaN: no */
	return 0;
}

int xr_data_level_find(struct xr_data_level *l)
{
	struct xr_regular r = {.fits = rows_fit,
	                       .self = l,
	                       .unit = l->walk.line,
	                       .largest = l->kept > 0 ? (uint64_t)(l->kept) : WAY_MOST,
	                       .room = l->room,
	                       .most = WAYS_MOST};
	if (xr_regular_find_behind(&r, l->before) != 0)
		return -1;
	l->bytes = r.ways * r.way;
	l->ways = l->kept > 0 && ((double)l->bytes < least * l->kept || (double)l->bytes > most * l->kept) ? 0 : r.ways;
	return l->ways ? xr_regular_line(&r, LINE_MOST, &l->line) : 0;
}
