/* The geometry of a set-associative structure on the instruction side, found by walking code.
 *
 * An instruction cache and an instruction TLB are asked the same questions (paper 002 §4.3 with jumps for loads):
 *   1. how much fits?       more and more units in a row, until visits begin to miss; to about a fifth
 *   2. how large is a way?  units at doubling strides S: as long as S is less than a way, half as many fit at twice the
 *                           stride; from then on the number no longer changes
 *   3. how many ways?       n units at strides of one way and of two, n around what is expected: the whole curve decides
 * Every walk has a twin with as many jumps in the same pages and without conflicts; the cost of mispredicted jumps
 * cancels in the difference. A disturbed answer (the two strides disagree, the curve is not that of a set that
 * overflows) is asked for again.
 */
#ifndef XR_METHOD_SETS_H
#define XR_METHOD_SETS_H

#include "method/walks.h"

struct xr_sets;

/* Writes the addresses of n units at multiples of `stride`, in each of `sets` neighbouring sets: n * sets addresses; in
 * twin[] as many that conflict nowhere. stride == unit, sets == 1: units in a row. */
typedef void xr_sets_place(const struct xr_sets *probe, uint64_t stride, unsigned n, unsigned sets, uint64_t *address,
                           uint64_t *twin);

struct xr_sets {
	struct xr_walk_bench *bench;
	uint64_t unit;           /* distance of units in a row */
	uint64_t room;           /* bytes within which place() finds sets for twins */
	uint64_t page;           /* for laying out */
	unsigned first;          /* units in the shortest row */
	uint64_t shortcut;       /* bytes that a way may well have; 0: no guess */
	uint64_t most;           /* no structure is looked for beyond this many bytes */
	unsigned blocks;         /* about as many blocks are visited when several sets are asked at once */
	xr_sets_place *place;
	const void *self;        /* for place() */
	const char *series;      /* id of the curves */
};

enum xr_sets_outcome {
	XR_SETS_FOUND,
	XR_SETS_ROUGH,        /* the size is known to about a fifth, the ways are not */
	XR_SETS_NO_STEP,      /* everything that was tried fits */
	XR_SETS_UNSUPPORTED,  /* walks cannot be run here */
	XR_SETS_FAILED,       /* … failed */
};

struct xr_sets_found {
	enum xr_sets_outcome outcome;
	double rough;         /* bytes that fit, from question 1 */
	uint64_t way;         /* bytes */
	unsigned ways;
	double penalty;       /* cycles that a miss adds to a visit */
	double base;          /* cycles of a visit that hits, but may miss the TLB */
	double confidence;
	double tried;         /* bytes looked at */
	const char *reason;   /* when not found */
};

/* 0; -1 as xr_run_time(). */
int xr_sets_find(const struct xr_sets *probe, struct xr_sets_found *found);

/* Question 3 once more, now that the unit is known exactly: a better penalty, and less confidence if the ways
 * differ. */
int xr_sets_again(const struct xr_sets *probe, struct xr_sets_found *found);

#endif
