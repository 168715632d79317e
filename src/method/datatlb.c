/* SPDX-License-Identifier: MIT */
/* The first data TLB, see datatlb.h. */
#include "method/datatlb.h"

#include "method/regular.h"
#include "probe/places.h"
#include "stat/stat.h"

#include <math.h>

enum { SETS_MOST = 64, WAYS_MOST = 256, ROOM = 64 << 20 };

/* Which of its lines is visited in the i-th page. Pages of the same colour in the first cache get one line after the other;
 * after a round through them all they move by one more, so that those of the same colour in an outer level are not in few
 * of its sets either. */
static uint64_t line_of(const struct xr_data_tlb *t, uint64_t stride, unsigned i)
{
	const uint64_t turns = t->page / t->line, colours = t->way > stride ? t->way / stride : 1, turn = i / colours;
	return (turn + turn / turns) % turns * t->line;
}

/* What a visit of one line in each of n pages takes more than one of as many lines in few pages. Both fill the sets of
 * the caches alike. */
static int excess(const struct xr_data_tlb *t, const struct xr_rows *rows, double *cycles)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	const unsigned n = rows->n + rows->more;
	struct xr_places set = xr_places_new(arena, n), twin = xr_places_new(arena, n);
	const struct xr_buffer own = {t->buffer, ROOM, XR_SMALL}, other = {t->buffer + 1, ROOM, XR_SMALL};
	struct xr_spec spec[2];
	struct xr_reading reading[2];
	for (unsigned i = 0; i < n; i++) {
		xr_places_add(&set, t->base + i * rows->stride + (i < rows->n ? 0 : rows->delta) +
		                            line_of(t, rows->stride, i));
		xr_places_add(&twin, i * t->line);
	}
	spec[0] = xr_places_cycle(arena, &set, own, 0);
	spec[1] = xr_places_cycle(arena, &twin, other, 0);
	if (xr_run_time(t->run, spec, 2, reading) != 0)
		return -1;
	*cycles = reading[0].cycles - reading[1].cycles; /* NaN where one is none */
	return 0;
}

static int pages_fit(void *self, const struct xr_rows *rows, bool *fit)
{
	const double part =
		0.15; /* of visits: the program's own pages come in now and then; of what does not fit, more miss */
	const struct xr_data_tlb *t = self;
	double cycles;
	if (excess(t, rows, &cycles) != 0)
		return -1;
	*fit = cycles < part * t->miss; /* NaN: no */
	return 0;
}

/* More and more pages of one set until more of them miss no more often: then all do. Where most of the first, one
 * too many, stay, entries are evicted at random, the program's own pages stay among them, and their number is
 * in doubt. */
static int find_penalty(struct xr_data_tlb *t, uint64_t way, unsigned ways)
{
	const double same = 0.02, most_miss = 0.5;
	const unsigned count[] = {ways + 1, ways + 2, 2 * ways + 1, 3 * ways, 4 * ways, 6 * ways};
	double first = 0, last = 0, cycles;
	t->entries = 0;
	for (size_t i = 0; i < sizeof count / sizeof *count && count[i] * way + t->page <= ROOM; i++, last = cycles) {
		if (excess(t, &(struct xr_rows){.stride = way, .n = count[i]}, &cycles) != 0)
			return -1;
		first = i ? first : cycles;
		if (!(cycles > 0 && fabs(cycles - last) < same * cycles))
			continue;
		t->penalty = xr_snap_integer(cycles, fmax(0.25, same * cycles)); /* they are whole numbers */
		t->entries = first < most_miss * cycles ? 0 : ways * (size_t)(way / t->covers);
		return 0;
	}
	return 0;
}

/* What an entry covers: pages of one set, and as many again so far on, fit when these are in another set. Asked at several
 * places, for the program's own pages may be in one of those sets. Where no distance less than a way does, there is one set. */
static int find_covered(struct xr_data_tlb *t, const struct xr_regular *r)
{
	enum { PLACES = 4 };
	t->covers = t->page;
	if ((2 * r->ways + 2 * PLACES) * r->way > r->room)
		return 0;
	for (; t->covers < r->way; t->covers *= 2)
		for (unsigned k = 0; k < PLACES; k++) {
			struct xr_data_tlb there = *t;
			const struct xr_rows rows = {.stride = r->way,
			                             .n = (unsigned)r->ways,
			                             .more = (unsigned)r->ways,
			                             .delta = t->covers};
			bool fit;
			there.base = 2 * k * t->covers;
			if (pages_fit(&there, &rows, &fit) != 0)
				return -1;
			if (fit)
				return 0;
		}
	t->covers = r->way;
	return 0;
}

int xr_data_tlb_find(struct xr_data_tlb *t)
{
	struct xr_regular r = {.fits = pages_fit,
	                       .self = t,
	                       .unit = t->page,
	                       .largest = SETS_MOST * t->page,
	                       .room = ROOM - t->page,
	                       .most = WAYS_MOST};
	if (xr_run_room(t->run) < 2 * (uint64_t)ROOM)
		return 0;
	/* what nearly all of so many cost; less than anything: there is nothing to be found */
	if (excess(t, &(struct xr_rows){.stride = t->page, .n = WAYS_MOST}, &t->miss) != 0)
		return -1;
	if (!(t->miss > 1))
		return 0;
	if (xr_regular_find(&r) != 0)
		return -1;
	t->ways = r.ways;
	if (r.ways && find_covered(t, &r) != 0)
		return -1;
	return r.ways ? find_penalty(t, r.way, r.ways) : 0;
}
