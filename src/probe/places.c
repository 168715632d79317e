/* SPDX-License-Identifier: MIT */
/* Places and patterns of them, see places.h. */
#include "probe/places.h"

#include <stdlib.h>
#include <string.h>

enum { WORD = 8, LINE_MAX = 256, SEEDS = 12, FEW = 96 };

struct xr_places xr_places_new(struct xr_arena *arena, size_t room)
{
	struct xr_places places = {xr_arena_array(arena, uint64_t, room ? room : 1), 0, room};
	return places;
}

void xr_places_add(struct xr_places *places, uint64_t at)
{
	if (places->n < places->room)
		places->at[places->n++] = at;
}

void xr_places_add_stride(struct xr_places *places, uint64_t base, uint64_t stride, size_t count)
{
	for (size_t i = 0; i < count; i++)
		xr_places_add(places, base + i * stride);
}

void xr_places_shuffle(struct xr_places *places, struct xr_rng *rng)
{
	for (size_t i = places->n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(rng, i);
		uint64_t swap = places->at[i - 1];

		places->at[i - 1] = places->at[j];
		places->at[j] = swap;
	}
}

struct xr_places xr_places_stride(struct xr_arena *arena, uint64_t base, uint64_t stride, size_t count)
{
	struct xr_places places = xr_places_new(arena, count);

	xr_places_add_stride(&places, base, stride, count);
	return places;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t index_of(const uint64_t *sorted, size_t n, uint64_t value)
{
	const uint64_t *found = bsearch(&value, sorted, n, sizeof value, by_value);

	return (size_t)(found - sorted);
}

struct xr_places xr_places_twin(struct xr_arena *arena, const struct xr_places *places, uint64_t page)
{
	struct xr_places twin = xr_places_new(arena, places->n);
	uint64_t *pages = xr_arena_array(arena, uint64_t, places->n + 1);
	size_t *used = xr_arena_array(arena, size_t, places->n + 1), n_pages = 0, most = 0;
	uint64_t room;

	if (page == 0) {
		xr_places_add_stride(&twin, 0, WORD, places->n);
		return twin;
	}
	for (size_t i = 0; i < places->n; i++)
		pages[i] = places->at[i] / page;
	qsort(pages, places->n, sizeof *pages, by_value);
	for (size_t i = 0; i < places->n; i++)
		if (i == 0 || pages[i] != pages[n_pages - 1])
			pages[n_pages++] = pages[i];
	for (size_t i = 0; i < places->n; i++) {
		size_t p = index_of(pages, n_pages, places->at[i] / page);

		if (++used[p] > most)
			most = used[p];
	}
	room = (most * WORD + LINE_MAX - 1) / LINE_MAX * LINE_MAX;
	memset(used, 0, n_pages * sizeof *used);
	for (size_t i = 0; i < places->n; i++) {
		size_t p = index_of(pages, n_pages, places->at[i] / page);

		xr_places_add(&twin, pages[p] * page + (p * room + used[p]++ * WORD) % page);
	}
	return twin;
}

struct xr_places xr_places_rotated(struct xr_arena *arena, uint64_t page, uint64_t stride, uint64_t line, size_t count)
{
	struct xr_places places = xr_places_new(arena, count);
	uint64_t lines = page / line ? page / line : 1;

	for (size_t i = 0; i < count; i++)
		xr_places_add(&places, i * stride + (i + i / lines) % lines * line);
	return places;
}

/* How many places from i on are one span. */
static size_t run_length(const struct xr_places *places, size_t i)
{
	size_t end = i + 1;

	if (end < places->n && places->at[end] > places->at[i])
		while (end < places->n && places->at[end] - places->at[end - 1] == places->at[i + 1] - places->at[i])
			end++;
	return end - i;
}

struct xr_span *xr_places_spans(struct xr_arena *arena, const struct xr_places *places, size_t *n)
{
	struct xr_span *span;
	size_t k = 0;

	for (size_t i = 0; i < places->n; i += run_length(places, i))
		k++;
	span = xr_arena_array(arena, struct xr_span, k ? k : 1);
	*n = k;
	k = 0;
	for (size_t i = 0; i < places->n; k++) {
		size_t length = run_length(places, i);

		span[k].base = places->at[i];
		span[k].stride = length > 1 ? places->at[i + 1] - places->at[i] : WORD;
		span[k].count = (uint32_t)length;
		i += length;
	}
	return span;
}

/* How often an order of visits goes on by the distance it came, round the cycle. */
static size_t even_steps(const uint64_t *at, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += at[(i + 1) % n] - at[i] == at[(i + 2) % n] - at[(i + 1) % n];
	return k;
}

uint64_t xr_places_seed(struct xr_arena *arena, const struct xr_places *places, struct xr_rng *rng)
{
	uint64_t seed = 0;
	size_t least = SIZE_MAX;
	struct xr_places order = xr_places_new(arena, places->n < FEW ? places->n : 0);

	for (int i = 0; i < SEEDS && least > 0; i++) {
		struct xr_rng drawn = {xr_rng_next(rng) >> 16 | 1};
		uint64_t now = drawn.state;
		size_t k;

		if (places->n < 4 || places->n >= FEW)
			return now;
		order.n = places->n;
		memcpy(order.at, places->at, places->n * sizeof *order.at);
		xr_places_shuffle(&order, &drawn);
		k = even_steps(order.at, order.n);
		if (k < least) {
			least = k;
			seed = now;
		}
	}
	return seed;
}

struct xr_places xr_places_moved(struct xr_arena *arena, const struct xr_places *places, uint64_t by)
{
	struct xr_places moved = xr_places_new(arena, places->n);

	for (size_t i = 0; i < places->n; i++)
		xr_places_add(&moved, places->at[i] + by);
	return moved;
}

uint64_t xr_places_end(const struct xr_places *places)
{
	uint64_t end = 0;

	for (size_t i = 0; i < places->n; i++)
		if (places->at[i] + WORD > end)
			end = places->at[i] + WORD;
	return end;
}

struct xr_spec xr_places_cycle(struct xr_arena *arena, const struct xr_places *places, struct xr_buffer buffer,
                               uint64_t seed)
{
	size_t n;
	const struct xr_span *span = xr_places_spans(arena, places, &n);

	return xr_spec_cycle(buffer, span, n, seed);
}
