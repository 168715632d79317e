/* SPDX-License-Identifier: MIT */
/* The first TLB, the page and what an entry covers, see tlb.h. */
#include "method/soft.h"
#include "method/tlb.h"

#include <math.h>

enum {
	DELTA_MIN = 512, /* bytes */
	DELTAS = 8,
	TRIES = 3,
	TOGETHER_MAX = 16, /* pages of an entry */
};

const double xr_kept_apart = 0.5;
static const double of_miss = 0.35; /* pages that cost more each do not fit */

/* Around the step. */
static int try_first(struct xr_tlb *t, size_t below, size_t above)
{
	struct xr_page_family f = {.in = &t->pages, .stride = 1};
	struct xr_tlb_sets *level = &t->first.sets;
	size_t n;

	if (xr_pages_follow_up(&f, below, above, &n) != 0)
		return -1;
	if (n == SIZE_MAX)
		return 0;
	*level = (struct xr_tlb_sets){.ways = n - 1, .stride = f.stride};
	if (xr_pages_try_odd(&f, level) != 0 || xr_pages_confirm(&f, 1, level) != 0)
		return -1;
	f.stride = level->stride;
	if (xr_pages_soften(&f, 0, level) != 0)
		return -1;
	f.stride = level->stride;
	if (xr_pages_miss(&f, level, NULL, 0, &t->first.penalty, &t->first.error) != 0)
		return -1;
	t->first.entries = level->ways * level->stride;
	return 0;
}

/* Once more when the votes contradict each other, or what they took for a miss was none: somebody may have been there. The
 * best of these counts. */
int xr_tlb_find_first(struct xr_tlb *t, const struct xr_tlb_step *step)
{
	struct xr_tlb_level best = {.entries = 0};
	double height = step->height;

	for (int i = 0; i < TRIES && best.sets.sure < 0.8; i++) {
		t->first = (struct xr_tlb_level){.penalty = height};
		t->pages.compact.limit = of_miss * height;
		if (try_first(t, step->below, step->above) != 0)
			return -1;
		if (t->first.entries == 0)
			break;
		bool doubtful = height > 1.5 * t->first.penalty || 1.5 * height < t->first.penalty;
		if (doubtful)
			t->first.sets.sure = fmin(t->first.sets.sure, 0.5);
		if (best.entries == 0 || t->first.sets.sure > best.sets.sure)
			best = t->first;
		height = t->first.penalty > 0 ? t->first.penalty : step->height;
	}
	t->first = best;
	return 0;
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

/* Pages of one set, three quarters of what fits, and as many again this far from where the next would be. */
static void lay_two(struct xr_tlb *t, uint64_t delta, struct xr_places *set, struct xr_places *twin)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	const size_t half = t->first.sets.ways - t->first.sets.ways / 4;
	const uint64_t own = t->pages.page, line = t->pages.line, stride = t->first.sets.stride * own;
	const uint64_t cell = delta < own ? delta : own, lines = cell / line ? cell / line : 1;

	*set = xr_places_new(arena, 2 * half);
	for (size_t i = 0; i < 2 * half; i++)
		xr_places_add(set, i * stride + (i < half ? 0 : delta) + i % lines * line);
	*twin = xr_places_stride(arena, 0, line, 2 * half);
}

/* The first of these distances at which they fit together, *sure: a probability; n: at none. */
static int split(struct xr_tlb *t, uint64_t delta, size_t n, size_t *at, double *sure)
{
	struct xr_places set[DELTAS], twin[DELTAS];
	struct xr_compact_answer answer[DELTAS];

	for (size_t i = 0; i < n; i++)
		lay_two(t, delta << i, &set[i], &twin[i]);
	t->pages.compact.sure = 4.6;
	if (xr_are_compact(&t->pages.compact, set, twin, n, answer) != 0)
		return -1;
	t->pages.compact.sure = 0;
	*at = xr_compact_split(answer, n, sure);
	return 0;
}

/* At half the page that memory is handed out in, and at a page; where the step is not between these, at all distances. */
int xr_tlb_find_page(struct xr_tlb *t, uint64_t *page, double *sure)
{
	const size_t half = t->first.sets.ways - t->first.sets.ways / 4;
	const uint64_t own = t->pages.page, stride = t->first.sets.stride * own;
	size_t n = 0, at;

	while (n < DELTAS && (uint64_t)DELTA_MIN << n < stride && 2 * half * stride + stride <= t->pages.pages * own)
		n++;
	*page = stride; /* of one set: the stride of its entries is the page */
	*sure = t->first.sets.sure;
	if (n == 0)
		return 0;
	if (own < stride && own >= 2 * DELTA_MIN) {
		*page = own;
		if (split(t, own / 2, 2, &at, sure) != 0)
			return -1;
		*sure = fmin(*sure, t->first.sets.sure);
		if (at == 1 && *sure > 0.9)
			return 0;
	}
	if (split(t, DELTA_MIN, n, &at, sure) != 0)
		return -1;
	*page = (uint64_t)DELTA_MIN << at;
	*sure = fmin(*sure, t->first.sets.sure);
	return 0;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

/* How many pages one entry covers that are neighbours in memory as well: with pages in a row, seven eighths of what so
 * many entries would hold then cost nothing. *share: of a miss, what decided costs. */
int xr_tlb_find_together(struct xr_tlb *t, size_t *together, double *share)
{
	size_t room =
		TOGETHER_MAX * t->first.entries < t->pages.pages ? TOGETHER_MAX * t->first.entries : t->pages.pages;
	struct xr_pagesets in_a_row = t->pages;
	const struct xr_page_family f = {.in = &in_a_row, .stride = 1};

	in_a_row.compact.buffer = (struct xr_buffer){XR_TLB_BUFFER + 2, room * t->pages.page, XR_SMALL};
	in_a_row.compact.wander = 0;
	*share = 1;
	for (*together = 1; *together < TOGETHER_MAX; *together *= 2) {
		size_t n = t->first.entries * 2 * *together * 7 / 8;
		double cycles;

		if (n > room || n < 2)
			break;
		if (xr_pages_excess(&f, &n, 1, &cycles) != 0)
			return -1;
		*share = cycles / (double)n / t->first.penalty /
		         xr_pages_share(&t->first.sets, n / t->first.sets.stride);
		if (*share > xr_kept_apart)
			break;
	}
	return 0;
}
