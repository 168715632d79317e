/* SPDX-License-Identifier: MIT */
/* Code and data against each other, see against.h. */
#include "method/against.h"

#include <math.h>

enum {
	THIN = 8,
	LOOKS = 4,
	SAMPLES = 8,
	PAGE = 4096, /* only for laying out */
};
static const double nothing = 0.12, something = 0.3; /* share of code that misses */
static const double little = 0.02;             /* of the patience: such walks are too long to find peace for them */
static const double restless = 0.8;            /* confidence, where somebody else used the core */
static const double hardly = 0.06, most = 0.5; /* … and that are clear at the first look */

/* A row of blocks, and as many visits in an eighth of the lines of the same pages, another eighth in each. */
static void place(uint64_t *row, uint64_t *thin, size_t n, uint64_t spacing)
{
	const size_t per_page = (size_t)(PAGE / spacing), kept = per_page / THIN ? per_page / THIN : 1;
	for (size_t i = 0; i < n; i++) {
		size_t page = i / per_page, turn = (page + page / THIN) % (per_page / kept);
		row[i] = i * spacing;
		thin[i] = page * PAGE + (turn * kept + i % kept) * spacing;
	}
}

/* The four walks: with data and without, over all lines and over few. */
struct quartet {
	struct xr_walks walks;
	size_t both, code, data, none;
};

static void add_quartet(struct quartet *q, struct xr_walk_bench *bench, const struct xr_against *a)
{
	const size_t n = (size_t)(a->code_bytes / (double)a->spacing);
	uint64_t *row = xr_arena_array(xr_run_arena(bench->run), uint64_t, 2 * n), *thin = row + n;
	place(row, thin, n, a->spacing);
	xr_walks_init(&q->walks, bench);
	q->both = xr_walks_add_with_data(&q->walks, row, n, (uint64_t)a->data_bytes);
	q->code = xr_walks_add(&q->walks, XR_JUMPS, row, n);
	q->data = xr_walks_add_with_data(&q->walks, thin, n, (uint64_t)a->data_bytes);
	q->none = xr_walks_add(&q->walks, XR_JUMPS, thin, n);
}

/* Cycles by which data make a visit longer, less what they do where code hardly needs room. */
static double left_over(const struct quartet *q)
{
	return xr_walks_low(&q->walks, q->both) - xr_walks_low(&q->walks, q->code) -
	       (xr_walks_low(&q->walks, q->data) - xr_walks_low(&q->walks, q->none));
}

bool xr_against_unclear(double share)
{
	return share >= nothing && share <= something;
}

bool xr_against_shared(double share)
{
	return share > (nothing + something) / 2;
}

/* How far the share is from what would be unclear, and for how many looks it was on that side. */
static double confidence_of(const double *share, int looks)
{
	int votes = 0;
	for (int i = 0; i < looks; i++)
		votes += !xr_against_unclear(share[i]) &&
		         xr_against_shared(share[i]) == xr_against_shared(share[looks - 1]);
	return xr_against_unclear(share[looks - 1]) ? 0.4 : votes == looks ? 0.95 : 0.5 + 0.4 * votes / looks;
}

int xr_against_ask(struct xr_walk_bench *bench, struct xr_against *against)
{
	struct quartet q;
	double share[LOOKS];
	int n = 0;
	add_quartet(&q, bench, against);
	do {
		if (xr_walks_look(&q.walks, SAMPLES, little) != 0)
			return -1;
		against->trouble = q.walks.trouble;
		against->unsupported = q.walks.unsupported;
		if (against->trouble)
			return 0;
		share[n++] = left_over(&q) / against->miss;
	} while ((n < 2 && share[0] >= hardly && share[0] <= most) || (n < LOOKS && confidence_of(share, n) < 0.9));
	against->share = share[n - 1];
	against->confidence = confidence_of(share, n);
	if (!xr_walks_calm(&q.walks))
		against->confidence = fmin(against->confidence, restless);
	return 0;
}
