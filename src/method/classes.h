/* Classes of items that compete for the same sets of a cache, found by evictions (ALGORITHMS §11, steps 3-7).
 *
 * Last straw: of a random sequence of items, the shortest beginning that pushes x out holds as many items of x's class
 * as it takes, and its last is one of them. Thinning: a block of items whose absence changes nothing holds none. What
 * is left is a smallest set that pushes x out; with one of it exchanged for y, it does so if and only if y is of the
 * class.
 */
#ifndef XR_METHOD_CLASSES_H
#define XR_METHOD_CLASSES_H

#include "method/evict.h"

struct xr_class {
	struct xr_evict *evict;
	uint32_t x;
	double near, far;         /* latencies of the level and of the next one, cycles */
	uint32_t *core;           /* a smallest set that pushes x out */
	size_t n_core;
	uint32_t *member;         /* of the class, core included, x not */
	size_t n_members;
	uint32_t *stranger;       /* tested, and not of the class */
	size_t n_strangers;
	size_t straw;             /* items of the random sequence that it took */
	struct xr_items control;  /* a set known not to push x out: when it does, the machine is too busy right now */
	double left, spent;       /* visits that may still be made (at first 0: the usual), and those made */
	const char *trouble;      /* why there is no class; NULL: there is one */
};

/* Finds the core from the candidates, in their order. 0, or -1 as xr_run_time(); trouble says when there is none. */
int xr_class_find(struct xr_class *class, const uint32_t *candidate, size_t n);

/* Tests further candidates until there are `members` members (core included) or none is left; *tested (may be NULL):
 * how many were tested. */
int xr_class_grow(struct xr_class *class, const uint32_t *candidate, size_t n, size_t members, size_t *tested);

#endif
