/* SPDX-License-Identifier: MIT */
/* Conflict sets: lines of one set of a cache whose index is not known at all, found by growing and reducing.
 *
 * All lines lie at one offset of their pages, so that the first level, indexed by that, never answers once there
 * are more than its ways. Every question is the same: a lap over the lines of pages A and x against its twin, the
 * same lap in the same order, but with x read at another offset, where other lines keep the first level as busy.
 * The pages are the same, so no TLB can tell the two laps apart, nor can the clock, or whoever else is there: no
 * absolute time comes in.
 *
 *   Grow    add blocks of pages as long as a block makes no difference; where it does, bisect it: at last
 * pages A and x such that
 *           the lines of A and x overflow some set, and those of A do not. So A has exactly as many members of x's set as it
 *           has ways.
 *   Reduce  leave blocks out: where x still makes its difference, the block had no member, and stays out. At last each page
 *           of A alone: what is left are the members.
 *
 * After zzrcxb/LLCFeasible and cgvwzq/evsets, which time single accesses by a cycle counter against an absolute
 * border; laps and twins need neither. */
#ifndef XR_PROBE_CONFLICT_H
#define XR_PROBE_CONFLICT_H

#include "micro/micro.h"

#include <stdbool.h>
#include <stdint.h>

/* Where sets of the second cache are looked for, and the series that has the last one found there, its line too many
 * first: the same memory as long as the target stays open, so that others need not look again. */
enum { XR_CONFLICT_POOL = 24, XR_CONFLICT_POOL_PAGES = 4096 };
#define XR_CONFLICT_SERIES "cache.l2.conflict_set"

struct xr_conflict {
	struct xr_run *run;
	struct xr_buffer buffer;
	/* bytes from page to page that are used: a page, or a way of the first level if that is larger */
	uint64_t item;
	uint64_t page;
	uint64_t line;           /* of the first level */
	size_t first_ways;       /* of the first level: laps over fewer lines stay in it */
	uint64_t first_way;      /* bytes */
	double holds;            /* lines of one offset that the level holds, about; 0: not known */
	double miss;             /* cycles that a miss of this level costs more than a hit, about */
	struct xr_effort effort; /* {0}: quick */
	double quiet_ns;         /* to wait at most, in each question, for moments in which nobody else uses the core */
	/* lines all over their pages: for an index that scatters each line. Longer laps. Sets `item` */
	bool anywhere;
	bool settled; /* lines of earlier laps are driven out first: tree-PLRU may keep such for ever. Slower */
	double *left; /* visits that may still be made */
};

enum xr_conflict_outcome {
	XR_CONFLICT_FOUND,
	XR_CONFLICT_NEVER, /* no page ever made a difference: the level holds all of them, or none */
	XR_CONFLICT_LOST,  /* the difference was lost on the way */
	XR_CONFLICT_SPENT, /* out of visits */
	/* the level holds fewer lines of an offset than keep the first one busy: it overflows before anything is asked */
	XR_CONFLICT_CROWDED,
};

struct xr_conflict_set {
	enum xr_conflict_outcome outcome;
	uint64_t *member, x; /* bytes in the buffer: as many lines as there are ways, and one too many */
	size_t n;
	size_t from, to; /* some set overflowed between so many pages and so many */
	double misses;   /* that x makes in a lap */
};

/* 0, or -1 as xr_run_time(). */
int xr_conflict_find(struct xr_conflict *conflict, struct xr_conflict_set *set);

#endif
