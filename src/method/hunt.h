/* SPDX-License-Identifier: MIT */
/* The conversation that finds an instruction cache or an instruction TLB: questions of probe/jumps.h, hypotheses of
 * infer/stack.h.
 *
 *   1. rows of one stride, longer and longer, until they go on to twice of what fits
 *   2. more of them where hypotheses differ in how many that is
 *   3. all sets and ways that make this curve; the strides and counts on which they differ most, round by round,
 * until one is
 *      believed or no question would tell anything
 */
#ifndef XR_METHOD_HUNT_H
#define XR_METHOD_HUNT_H

#include "infer/stack.h"
#include "method/regular.h"
#include "probe/jumps.h"

struct xr_hunt;

/* Addresses of `count` blocks `stride` bytes apart in each of `rows` neighbouring units, and of their twins,
 * `block` bytes each: count * rows of both. */
typedef void xr_hunt_place(const struct xr_hunt *hunt, uint64_t stride, unsigned count, unsigned rows, uint64_t block,
                           uint64_t *address, uint64_t *twin);

struct xr_hunt {
	struct xr_jumps j;
	uint64_t stride; /* bytes, of the first curve */
	unsigned first;  /* units of the shortest row */
	unsigned enough; /* … of the longest at first */
	unsigned most;   /* … that is ever tried */
	unsigned rows;   /* asked at once */
	uint64_t spare;  /* bytes of the region beyond the last unit */
	bool may_decode;
	unsigned
		crowd; /* decoded code is not looked up here. So many full blocks are never kept decoded; 0: it is of no use */
	bool physical; /* may the set of a unit depend on where its page lies in memory? */
	xr_hunt_place *place;
	const void *self;

	struct xr_stack s; /* result */
	unsigned tried;    /* result: units of the longest row */
	size_t best;       /* result: the likeliest hypothesis; s.n: none of these */
	double p;          /* … its probability, whatever the policy, */
	double p_capacity; /* and that of its capacity */
	bool crowded;      /* what lean blocks show depends on what stands in them: crowds of full ones were asked */
	bool luck;         /* it does: what fits is another number at other pages */
	bool no_step;      /* everything that was tried fits */
};

/* 0; -1 as xr_run_time(). See j.trouble first. */
int xr_hunt_run(struct xr_hunt *hunt);

/* Cycles of a miss under the best hypothesis. */
double xr_hunt_penalty(const struct xr_hunt *hunt);

/* The points of a curve as a series of the description. */
void xr_hunt_series(const struct xr_hunt *hunt, unsigned curve, const char *id, const char *unit);

/* Where times repeat exactly (regular.h; self: a struct xr_hunt): do blocks placed like that stay, in one order or, for
 * a policy may like that better, in many? Needs j, place and what that needs. */
int xr_hunt_fits(void *self, const struct xr_rows *rows, bool *fit);

/* What a miss takes there: more and more lines a way apart, in one order, until more of them miss no more often. Then
 * all do, whatever the policy, and the next level, which has fewer sets for them, has not overflown yet. *cycles 0: not
 * seen. *by_chance: of one line too many most stay. */
int xr_hunt_cost(struct xr_hunt *h, uint64_t way, unsigned ways, double *cycles, bool *by_chance);

#endif
