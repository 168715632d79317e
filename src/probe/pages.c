/* SPDX-License-Identifier: MIT */
/* Walks over pages, see pages.h. */
#include "probe/pages.h"

#include <math.h>
#include <string.h>

enum { BATCH = 24, WORD = 8, SHARE = 4 /* of the patience that is left, one call may spend one in so many */ };

/* Only the lowest bits, or none? Then the sets may as well be a multiple of as many that is no power of two. */
static bool lowest(const struct xr_pages_choice *choice)
{
	const struct xr_family *index = &choice->index;
	bool low = index->odd <= 1 && !choice->apart && !choice->fixed;

	for (size_t i = 0; i < index->n; i++)
		low &= index->mask[i] >> index->n == 0;
	return low;
}

/* Pages of one set, all moved by the same number, are pages of one set again: by exclusive or where the index is one of
 * parities, by a sum where it is a remainder; by either where both come to the same. Those in a row stay in a row. */
static void find_moves(const struct xr_pages *p, const struct xr_pages_choice *choice, struct xr_pages_asked *a)
{
	size_t most = 0, room = 1;

	for (size_t i = 0; i < a->n * a->copies; i++)
		most = a->page[i] > most ? a->page[i] : most;
	a->add = choice->index.odd > 1;
	while (lowest(choice) && (!choice->any || choice->low) && room <= most)
		room *= 2;
	a->moves = room;
	a->n_moves = a->add ? p->pool - most : p->pool / room;
}

/* The first n of 0 … below, in an order drawn anew. */
static void draw(struct xr_rng *rng, size_t *which, size_t n, size_t below)
{
	for (size_t i = 0; i < below; i++)
		which[i] = i;
	for (size_t i = 0; i < n; i++) {
		size_t j = i + (size_t)xr_rng_below(rng, below - i), swap = which[i];

		which[i] = which[j];
		which[j] = swap;
	}
}

static size_t member(const struct xr_pages_choice *choice, const struct xr_family *index, size_t c, size_t i,
                     const size_t *which)
{
	if (which)
		return xr_family_member(index, c, which[i]);
	if (choice->apart)
		return xr_family_member(index, c, i / 2) ^ (i % 2 ? choice->apart : 0);
	return xr_family_member(index, c, i);
}

/* Of pages that are moved those are taken of which none is where another is moved to. */
static uint32_t fixed_of(const struct xr_pages_choice *choice)
{
	uint32_t top = choice->apart;

	while (top & (top - 1))
		top &= top - 1;
	return top ? top : choice->fixed;
}

static bool odd_parity(size_t x)
{
	bool odd = false;

	for (; x; x &= x - 1)
		odd = !odd;
	return odd;
}

size_t xr_pages_colours(const struct xr_pages *p)
{
	const size_t colours = (size_t)(p->way * p->cell / p->page);

	return colours > 1 ? colours : 1;
}

size_t xr_pages_coloured(const struct xr_pages *p, const struct xr_pages_asked *a)
{
	const size_t colours = xr_pages_colours(p);
	size_t *seen = xr_arena_array(xr_run_arena(p->run), size_t, colours), k = 0;

	memset(seen, 0, colours * sizeof *seen);
	for (size_t i = 0; i < a->n * a->copies; i++)
		k += !seen[a->page[i] % colours]++;
	return k;
}

/* The twin's pages: of each colour the first. */
static void lay_beside(const struct xr_pages *p, struct xr_pages_asked *a)
{
	const size_t colours = xr_pages_colours(p), n = a->n * a->copies;
	size_t *next = xr_arena_array(xr_run_arena(p->run), size_t, colours);

	a->beside = xr_arena_array(xr_run_arena(p->run), size_t, n);
	memset(next, 0, colours * sizeof *next);
	for (size_t i = 0; i < n; i++) {
		const size_t colour = a->page[i] % colours;

		a->beside[i] = next[colour]++ * colours + colour;
		if (a->beside[i] >= p->pool) {
			a->n = 0;
			return;
		}
	}
}

struct xr_pages_asked xr_pages_of(const struct xr_pages *p, const struct xr_pages_choice *choice, size_t n,
                                  size_t copies, enum xr_pages_twin twin)
{
	struct xr_arena *arena = xr_run_arena(p->run);
	struct xr_pages_asked a = {.n = n, .twin = twin, .merge = 2};
	const uint32_t fixed = fixed_of(choice);
	const struct xr_family index = fixed ? xr_family_with(&choice->index, fixed) : choice->index;
	const size_t sets = xr_family_sets(&index), per_set = p->pool / sets * (choice->apart ? 2 : 1);
	size_t *which = choice->any ? xr_arena_array(arena, size_t, per_set + 1) : NULL;

	if (n == 0 || n > (choice->low ? ((size_t)1 << choice->low) / sets : per_set))
		return (struct xr_pages_asked){0};
	a.page = xr_arena_array(arena, size_t, n * copies);
	for (size_t c = 0; a.copies < copies && c < sets; c++) {
		size_t i = 0, *page = a.page + a.copies * n;

		if (odd_parity(xr_family_member(&index, c, 0) & fixed))
			continue;

		if (which)
			draw(xr_run_rng(p->run), which, n, choice->low ? ((size_t)1 << choice->low) / sets : per_set);
		for (; i < n && member(choice, &index, c, i, which) < p->pool; i++)
			page[i] = member(choice, &index, c, i, which);
		if (i < n)
			break;
		a.copies++;
	}
	if (a.copies == 0)
		a.n = 0;
	else
		find_moves(p, choice, &a);
	if (a.n && twin == XR_PAGES_SPREAD)
		lay_beside(p, &a);
	return a;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* How full the sets of the first cache are. */
struct filling {
	unsigned *count;
	size_t sets;
};

static struct filling nothing_filled(const struct xr_pages *p)
{
	const size_t sets = p->way ? p->way : 1;
	struct filling f = {xr_arena_array(xr_run_arena(p->run), unsigned, sets), sets};

	memset(f.count, 0, sets * sizeof *f.count);
	return f;
}

/* Of the cells from address `at` on that were not given yet (given NULL: all), one whose set is among the emptiest;
 * the search begins at another one each time. Its address. */
static uint64_t fill(const struct xr_pages *p, struct filling *f, uint64_t at, size_t cells, size_t begin,
                     unsigned char *given)
{
	size_t best = cells;
	const uint64_t first = at / p->cell;

	for (size_t i = 0; i < cells; i++) {
		const size_t c = (begin + i) % cells;

		if (!(given && given[c]) &&
		    (best == cells || f->count[(first + c) % f->sets] < f->count[(first + best) % f->sets]))
			best = c;
	}
	best = best < cells ? best : 0;
	f->count[(first + best) % f->sets]++;
	if (given)
		given[best] = 1;
	return at + best * p->cell;
}

static size_t cells_of(const struct xr_pages *p, uint64_t step)
{
	const size_t cells = (size_t)((step < p->page ? step : p->page) / p->cell);

	return cells ? cells : 1;
}

static void shuffle(size_t *x, size_t n, struct xr_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(rng, i), swap = x[i - 1];

		x[i - 1] = x[j];
		x[j] = swap;
	}
}

static size_t *order_of(const struct xr_pages *p, size_t n)
{
	size_t *order = xr_arena_array(xr_run_arena(p->run), size_t, n ? n : 1);

	for (size_t i = 0; i < n; i++)
		order[i] = i;
	shuffle(order, n, xr_run_rng(p->run));
	return order;
}

/* Where a question is asked this time: caches and others then meet other lines. */
struct place {
	size_t by, cell; /* of pages; of the first cell that is looked at */
	bool add;
};

static struct place anywhere(const struct xr_pages *p, const struct xr_pages_asked *a)
{
	struct xr_rng *rng = xr_run_rng(p->run);

	return (struct place){a->n_moves > 1 ? a->moves * (size_t)xr_rng_below(rng, a->n_moves) : 0,
	                      (size_t)xr_rng_below(rng, p->page / p->cell + 1), a->add};
}

static size_t moved(const struct place *to, size_t page)
{
	return to->add ? page + to->by : page ^ to->by;
}

static struct xr_spec walk_of(const struct xr_pages *p, const struct xr_pages_asked *a, const size_t *page,
                              const size_t *order, const struct place *to)
{
	const size_t n = a->n * a->copies;
	const uint64_t step = a->step ? a->step : p->page;
	struct xr_span *span = xr_arena_array(xr_run_arena(p->run), struct xr_span, n);
	struct filling f = nothing_filled(p);

	for (size_t i = 0; i < n; i++)
		span[i] = (struct xr_span){
			fill(p, &f, moved(to, page[order[i]]) * step, cells_of(p, step), to->cell + i, NULL), WORD, 1};
	return xr_spec_cycle(p->buffer, span, n, 0);
}

size_t xr_pages_twin_page(const struct xr_pages_asked *a, size_t i)
{
	const size_t per_set = (a->n + a->merge - 1) / a->merge;

	if (a->twin == XR_PAGES_SPREAD)
		return a->beside[i];
	return a->page[i / a->n * a->n + i % a->n % per_set];
}

/* The first pages of each set; the next cell of each comes a lap over all these later. */
static struct xr_spec merged(const struct xr_pages *p, const struct xr_pages_asked *a, const struct place *to)
{
	struct xr_arena *arena = xr_run_arena(p->run);
	const uint64_t step = a->step ? a->step : p->page;
	const size_t per_set = (a->n + a->merge - 1) / a->merge, hosts = per_set * a->copies, cells = cells_of(p, step);
	const size_t *order = order_of(p, hosts);
	struct xr_span *span = xr_arena_array(arena, struct xr_span, a->n * a->copies);
	unsigned char *given = xr_arena_array(arena, unsigned char, hosts *cells);
	struct filling f = nothing_filled(p);
	size_t k = 0;

	memset(given, 0, hosts * cells);
	for (size_t lap = 0; lap * per_set < a->n; lap++)
		for (size_t i = 0; i < hosts; i++) {
			const size_t h = order[i], page = a->page[h / per_set * a->n + h % per_set];

			if (lap * per_set + h % per_set >= a->n)
				continue;
			span[k] = (struct xr_span){
				fill(p, &f, moved(to, page) * step, cells, to->cell + k, given + h * cells), WORD, 1};
			k++;
		}
	return xr_spec_cycle(p->buffer, span, k, 0);
}

static void pair(const struct xr_pages *p, const struct xr_pages_asked *a, struct xr_spec *spec)
{
	const size_t n = a->n * a->copies, *order = order_of(p, n);
	const struct place to = anywhere(p, a);
	struct xr_buffer beside = p->buffer;

	beside.id++;
	spec[0] = walk_of(p, a, a->page, order, &to);
	if (a->twin == XR_PAGES_PACKED) {
		const struct xr_span all = {0, p->cell, (uint32_t)n};

		spec[1] = xr_spec_cycle(beside, xr_arena_copy(xr_run_arena(p->run), &all, sizeof all), 1,
		                        xr_rng_next(xr_run_rng(p->run)) >> 16 | 1);
	} else if (a->twin == XR_PAGES_MERGED) {
		spec[1] = merged(p, a, &to);
	} else {
		spec[1] = walk_of(p, a, a->beside, order, &to);
	}
}

/* One order each. */
static int ask_some(const struct xr_pages *p, const struct xr_pages_asked *a, size_t k, size_t orders,
                    struct xr_walk_seen *seen)
{
	struct xr_arena *arena = xr_run_arena(p->run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * k);
	struct xr_reading *r = xr_arena_array(arena, struct xr_reading, 2 * k);
	const size_t moment = ++*p->moments;
	struct xr_effort effort = p->effort;
	double waited_ns = 0;

	for (size_t i = 0; i < k; i++)
		pair(p, &a[i], &spec[2 * i]);
	effort.quiet_ns = p->patience_ns ? *p->patience_ns / SHARE : 0;
	if (xr_run_time_with(p->run, &effort, spec, 2 * k, r) != 0)
		return -1;
	for (size_t i = 0; i < k; i++) {
		const struct xr_reading *walk = &r[2 * i], *twin = walk + 1;
		const bool read = walk->status == XR_READ_OK && twin->status == XR_READ_OK;
		*p->unread += !read;

		waited_ns = fmax(waited_ns, read ? walk->waited_ns : 0); /* of all together */
		seen[i * orders] = (struct xr_walk_seen){.n = (double)a[i].n,
		                                         .sets = (double)a[i].copies,
		                                         .seen = read ? walk->cycles : 0,
		                                         .twin = read ? twin->cycles : 0,
		                                         .disturbed = read && (walk->disturbed || twin->disturbed),
		                                         .moment = moment};
	}
	if (p->patience_ns)
		*p->patience_ns = fmax(0, *p->patience_ns - waited_ns);
	return 0;
}

int xr_pages_ask(const struct xr_pages *p, const struct xr_pages_asked *a, size_t k, size_t orders,
                 struct xr_walk_seen *seen)
{
	for (size_t o = 0; o < orders; o++)
		for (size_t done = 0; done < k; done += BATCH)
			if (ask_some(p, a + done, k - done < BATCH ? k - done : BATCH, orders,
			             seen + done * orders + o) != 0)
				return -1;
	return 0;
}
