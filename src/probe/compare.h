/* SPDX-License-Identifier: MIT */
/* The question of which conflict sets are made (conflict.h): does it make a difference at which of two offsets some
 * pages are read, beside others? A lap against its twin, again and again, until the odds are clear. Only conflict.c
 * asks it. */
#ifndef XR_PROBE_COMPARE_H
#define XR_PROBE_COMPARE_H

#include "probe/conflict.h"

enum {
	XR_COMPARE_PAIR = 2,  /* lines of a page */
	XR_COMPARE_NULLS = 8, /* pages of the pool from which noise is learnt */
	XR_COMPARE_OCTAVES = 32,
};
#define XR_MOVED (UINT32_C(1) << 31)

/* Pages, and at which of the two offsets each is read: XR_MOVED is a bit of its number. Memory is the arena's. */
struct xr_page_list {
	uint32_t *at;
	size_t n;
};

/* Does it make a difference whether the pages `x` are read where they say or at the other offset, beside pages
 * `a`? `y` changes places with x: read at the other offset in the first lap, where they say in its twin. What
 * depends on how many lines are at which offset must not: `a` has as many at the one as at the other, so the
 * numbers of the one lap are those of its twin turned round. */
struct xr_comparison {
	struct xr_page_list a, x, y;
	bool either;   /* is the contrary asked for, too? */
	double llr;    /* so far: ln of the odds that there it overflows, and at the other it does not */
	double less;   /* the contrary */
	double misses; /* that it makes, on average */
	double sum;
	int rounds, misses_seen; /* in how many of them */
};

/* One sigma of the difference between laps that meet the same, in cycles: noise; and per page, what it takes more at one
 * offset than at the other, whatever it meets there. */
struct xr_compare_scatter {
	bool known;
	double noise, uneven;
};

struct xr_compare {
	struct xr_conflict *c;
	struct xr_page_list pool; /* pages not in use yet, in random order; at least XR_COMPARE_NULLS */
	uint64_t at, elsewhere;   /* the two offsets */
	size_t lines;             /* of each page: XR_COMPARE_PAIR, or 1 where there is no room for two pairs */
	double seen;              /* misses that x made, at least; 0: not known yet */
	double stuck, rounds;     /* rounds that were seen to miss without an overflow; all of them */
	struct xr_compare_scatter scatter[2 * XR_COMPARE_OCTAVES]; /* by the number of pages */
};

uint64_t xr_compare_address(const struct xr_compare *compare, uint32_t page); /* bytes in the buffer */

/* Asks until it is decided, or has been asked often enough. 0, or -1 as xr_run_time(). */
int xr_compare_decide(struct xr_compare *compare, struct xr_comparison *q);
bool xr_compare_decided(const struct xr_comparison *q);
bool xr_compare_yes(const struct xr_comparison *q);
bool xr_compare_contrary(const struct xr_comparison *q);

#endif
