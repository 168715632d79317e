/* SPDX-License-Identifier: MIT */
#include "infer/array_index.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct xr_array_index {
	uint32_t *slot; /* place of a line + 1 */
	uint64_t slot_mask;
	uint32_t *older, *newer, *oldest, *newest;
};

struct xr_array_index *xr_array_index_new(size_t sets, size_t n)
{
	struct xr_array_index *x = xr_calloc(1, sizeof *x);
	x->slot_mask = 1;
	while (x->slot_mask < 2 * n)
		x->slot_mask *= 2;
	x->slot = xr_calloc((size_t)x->slot_mask, sizeof *x->slot);
	x->slot_mask--;
	x->older = xr_calloc(n, sizeof *x->older);
	x->newer = xr_calloc(n, sizeof *x->newer);
	x->oldest = xr_calloc(sets, sizeof *x->oldest);
	x->newest = xr_calloc(sets, sizeof *x->newest);
	memset(x->oldest, 0xff, sets * sizeof *x->oldest);
	memset(x->newest, 0xff, sets * sizeof *x->newest);
	return x;
}

void xr_array_index_release(struct xr_array_index *x)
{
	if (!x)
		return;
	free(x->slot);
	free(x->older);
	free(x->newer);
	free(x->oldest);
	free(x->newest);
	free(x);
}

/* ---- the hash table: linear probing ---- */

static uint64_t hash(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

static uint64_t slot_of(const struct xr_array *a, uint64_t key)
{
	const struct xr_array_index *x = a->index;
	uint64_t i = hash(key) & x->slot_mask;
	while (x->slot[i] && (a->word[x->slot[i] - 1] & XR_LINE_KEY) != key)
		i = (i + 1) & x->slot_mask;
	return i;
}

/* Closes the gap: entries behind it that would no longer be found move up. */
static void slot_remove(struct xr_array *a, uint64_t i)
{
	struct xr_array_index *x = a->index;
	uint64_t j = i;
	for (;;) {
		j = (j + 1) & x->slot_mask;
		if (!x->slot[j])
			break;
		uint64_t home = hash(a->word[x->slot[j] - 1] & XR_LINE_KEY) & x->slot_mask;
		if (((j - home) & x->slot_mask) >= ((j - i) & x->slot_mask)) {
			x->slot[i] = x->slot[j];
			i = j;
		}
	}
	x->slot[i] = 0;
}

uint64_t *xr_array_find_indexed(const struct xr_array *a, uint64_t key)
{
	uint32_t found = a->index->slot[slot_of(a, key)];
	return found ? a->word + found - 1 : NULL;
}
void xr_array_index_add(struct xr_array *a, uint32_t at)
{
	struct xr_array_index *x = a->index;
	uint64_t i = hash(a->word[at] & XR_LINE_KEY) & x->slot_mask;

	while (x->slot[i])
		i = (i + 1) & x->slot_mask;
	x->slot[i] = at + 1;
}

void xr_array_index_remove(struct xr_array *a, uint32_t at)
{
	slot_remove(a, slot_of(a, a->word[at] & XR_LINE_KEY));
}

/* ---- the list ---- */

void xr_array_index_unlink(struct xr_array_index *x, uint64_t set, uint32_t at)
{
	uint32_t older = x->older[at], newer = x->newer[at];
	if (older == NONE)
		x->oldest[set] = newer;
	else
		x->newer[older] = newer;
	if (newer == NONE)
		x->newest[set] = older;
	else
		x->older[newer] = older;
}

void xr_array_index_link(struct xr_array_index *x, uint64_t set, uint32_t at)
{
	uint32_t last = x->newest[set];
	x->older[at] = last;
	x->newer[at] = NONE;
	if (last == NONE)
		x->oldest[set] = at;
	else
		x->newer[last] = at;
	x->newest[set] = at;
}

uint32_t xr_array_index_oldest(const struct xr_array_index *x, uint64_t set)
{
	return x->oldest[set];
}
