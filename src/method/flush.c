/* SPDX-License-Identifier: MIT */
/* Flush lines, see flush.h. */
#include "method/flush.h"

#include <string.h>

enum { ATTEMPTS = 12 };

/* In pages larger than a way of the first level: lines elsewhere in the page, a number of ways away. */
static size_t per_page(const struct xr_laps *laps, const struct xr_first *first, bool odd)
{
	return (size_t)(odd ? laps->page / first->way / 2 : laps->page / first->way - 1);
}

/* An odd number: then they do not compete with any page for a larger way of this level. */
static void flush_inside(struct xr_laps *laps, const struct xr_first *first, size_t lines, const uint32_t *page,
                         size_t n, bool odd)
{
	size_t most = per_page(laps, first, odd);

	laps->inside = true;
	laps->flush = xr_places_new(xr_run_arena(laps->run), lines);
	for (size_t i = 0; i < n && laps->flush.n < lines; i++)
		for (size_t j = 0; j < most; j++)
			xr_places_add(&laps->flush,
			              page[i] * laps->item +
			                      (laps->at + (odd ? 2 * j + 1 : j + 1) * first->way) % laps->page);
}

/* Leaves out the page whose absence helps most, until the rest fits. */
static int repair(const struct xr_laps *laps, uint32_t *item, size_t *n, size_t least)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, *n);

	for (size_t i = 0; i < *n; i++)
		lap[i].item = xr_arena_array(arena, uint32_t, *n);
	for (;;) {
		size_t best = 0;
		bool yes;

		if (xr_laps_one(laps, item, *n, XR_ORDERS_LAST, &yes) != 0)
			return -1;
		if (!yes || *n <= least)
			return 0;
		for (size_t i = 0; i < *n; i++) {
			xr_without_item(item, *n, i, (uint32_t *)(uintptr_t)lap[i].item);
			lap[i].n = *n - 1;
			lap[i].unsettled = true;
		}
		if (xr_laps_ask(laps, lap, *n) != 0)
			return -1;
		for (size_t i = 1; i < *n; i++)
			if (lap[i].misses < lap[best].misses)
				best = i;
		memcpy(item, lap[best].item, (*n - 1) * sizeof *item);
		(*n)--;
	}
}

/* One line of each page: those that would compete with each other are left out. */
static int choose_single(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                         size_t *used)
{
	size_t lines = 2 * first->ways + 2;
	struct xr_laps there = *laps;
	uint32_t *page = xr_arena_copy(xr_run_arena(laps->run), order, lines * sizeof *page);

	there.at = (laps->at + first->way) % laps->page;
	there.flush.n = 0;
	*used = lines < n ? lines : n;
	if (lines >= n)
		return 0;
	if (repair(&there, page, &lines, first->ways + 2) != 0)
		return -1;
	flush_inside(laps, first, lines, page, lines, true);
	return 0;
}

/* They may still compete with each other: then others are tried, and fewer. */
static int choose_inside(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                         size_t *used)
{
	size_t each = per_page(laps, first, true), lines = 2 * first->ways + 2;

	if (each == 1)
		return choose_single(laps, first, order, n, used);
	*used = 0;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		size_t pages = (lines + each - 1) / each;
		bool yes;

		if (*used + pages + 1 > n)
			break;
		flush_inside(laps, first, lines, order + *used, pages, true);
		*used += pages + 1;
		if (xr_laps_one(laps, order + *used - 1, 1, XR_ORDERS, &yes) != 0)
			return -1;
		if (!yes)
			break;
		if (attempt >= ATTEMPTS / 4)
			lines = first->ways + 2;
	}
	return 0;
}

int xr_flush_choose(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n, size_t *used)
{
	size_t lines = 2 * first->ways + 2, least = first->ways + 2;
	struct xr_laps bare = *laps;
	uint32_t *item;

	laps->flush.n = 0;
	*used = 0;
	if (laps->page >= 2 * first->way)
		return choose_inside(laps, first, order, n, used);
	if (n < 2 * lines)
		return 0;
	bare.flush.n = 0;
	item = xr_arena_copy(xr_run_arena(laps->run), order, lines * sizeof *item);
	*used = lines;
	if (repair(&bare, item, &lines, least) != 0)
		return -1;
	laps->flush = xr_places_new(xr_run_arena(laps->run), lines);
	for (size_t i = 0; i < lines; i++)
		xr_places_add(&laps->flush, item[i] * laps->item + laps->at);
	return 0;
}

int xr_flush_take(struct xr_laps *laps, const struct xr_first *first, struct xr_class *c)
{
	struct xr_places all = laps->flush, kept = xr_places_new(xr_run_arena(laps->run), all.n);
	struct xr_lap lap = xr_lap_of(c->item, c->n);
	size_t members = c->n;

	if (laps->page >= 2 * first->way || all.n == 0)
		return 0;
	for (size_t i = 0; i < all.n; i++) {
		struct xr_laps less = *laps;
		bool yes = true;

		less.flush = xr_places_new(xr_run_arena(laps->run), all.n);
		for (size_t k = 0; k < all.n; k++)
			if (k != i)
				xr_places_add(&less.flush, all.at[k]);
		if (xr_laps_all(&less, &lap, 1, XR_ORDERS, &yes) != 0 ||
		    xr_laps_settled(&less, &lap, 1, XR_SETTLES, &yes) != 0)
			return -1;
		if (yes)
			xr_places_add(&kept, all.at[i]);
		else
			c->item[members++] = (uint32_t)(all.at[i] / laps->item);
	}
	c->n = members;
	laps->flush = kept;
	return 0;
}

int xr_flush_renew(struct xr_laps *laps, const struct xr_first *first, const struct xr_class *class,
                   const uint32_t *order, size_t n)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	size_t each = laps->page >= 2 * first->way ? per_page(laps, first, false) : 0;
	size_t lines = each > 1 ? 2 * first->ways + 2 : first->ways + 2, need = each ? lines / each + 1 : 0;
	size_t tests = need * 4 < n ? need * 4 : n, found = 0;
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, tests + 2);
	bool *yes = xr_arena_array(arena, bool, tests + 2);
	uint32_t *stranger = xr_arena_array(arena, uint32_t, tests);
	struct xr_places old = laps->flush;

	if (need == 0)
		return 0;
	for (size_t i = 0; i < tests; i++) {
		uint32_t *with = xr_arena_copy(arena, class->item, class->n * sizeof *with);

		with[0] = order[n - 1 - i];
		lap[i] = xr_lap_of(with, class->n);
		yes[i] = true;
	}
	if (xr_laps_all(laps, lap, tests, 1, yes) != 0)
		return -1;
	for (size_t i = 0; i < tests && found < need; i++)
		if (!yes[i])
			stranger[found++] = order[n - 1 - i];
	laps->tight = found < need;
	if (laps->tight)
		return 0;
	flush_inside(laps, first, lines, stranger, found, false);
	lap[0] = xr_lap_of(class->item, class->n);
	lap[1] = xr_lap_of(class->item, class->n - 1);
	if (xr_laps_overflow(laps, lap, 2, XR_ORDERS, yes) != 0)
		return -1;
	/* Too few for the first level's policy, which keeps the class at hand, or in each other's way? */
	if (!yes[0] || yes[1]) {
		laps->flush = old;
		laps->tight = true;
	}
	return 0;
}

int xr_flush_joins(const struct xr_laps *laps, const struct xr_class *class, bool *joins)
{
	enum { TRIED = 3 };
	struct xr_lap lap = xr_lap_of(class->item, class->n);

	*joins = laps->inside && laps->flush.n > TRIED;
	for (size_t i = 0; i < TRIED && *joins; i++) {
		struct xr_laps less = *laps;
		bool yes;

		less.flush = xr_places_new(xr_run_arena(laps->run), laps->flush.n);
		for (size_t k = 0; k < laps->flush.n; k++)
			if (k != i)
				xr_places_add(&less.flush, laps->flush.at[k]);
		if (xr_laps_overflow(&less, &lap, 1, XR_ORDERS, &yes) != 0)
			return -1;
		*joins = !yes;
	}
	return 0;
}
