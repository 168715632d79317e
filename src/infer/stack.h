/* SPDX-License-Identifier: MIT */
/* One array or two, seen through jumps: hypotheses, belief, the most telling next question.
 *
 *   begin     the curve of one stride: how many units of it fit, whose step that is
 *   geometry  the same capacities with every number of sets and ways that makes that curve; questions of other
 * strides decide
 *
 * Kinds of stack compete. One array. One with a level behind it. One with a cache of decoded code before
 * it: then blocks full of statements overflow that one early, blocks without them late or never, and the cache is
 * what does not depend on what stands in a block. And, where decoded code is not looked up at all, an array that full
 * blocks alone show: rows of lean ones may do anything.
 */
#ifndef XR_INFER_STACK_H
#define XR_INFER_STACK_H

#include "infer/belief.h"
#include "infer/conflict.h"

struct xr_stack_hypothesis {
	struct xr_conflict_model model;
	bool decoded; /* the first array holds decoded code, and the second is the one in question */
	bool hidden;  /* decoded code is not looked up in the array in question: lean rows say nothing of it */
	double penalty[2];
};

struct xr_stack {
	struct xr_conflict c;
	uint64_t stride;    /* units, of the first curve */
	unsigned *capacity; /* along it, worth a hypothesis */
	size_t n_capacities;
	bool may_decode;  /* may decoded code be kept somewhere? */
	bool may_hide;    /* … and not be looked up in the array in question? */
	double lean_none; /* log-likelihood of lean rows where nothing is said of them */
	struct xr_stack_hypothesis *h;
	size_t n;
	struct xr_belief belief;
};

/* Hypotheses from points of one stride. */
void xr_stack_begin(struct xr_stack *stack, struct xr_arena *arena, const struct xr_conflict_point *point, size_t n);

/* From what is believed after begin: the same with all sets and ways. `most_sets`: units of the largest way thought
 * of. */
void xr_stack_geometry(struct xr_stack *stack, uint64_t most_sets);

/* Once more with all points, of which some are new. */
void xr_stack_again(struct xr_stack *stack, const struct xr_conflict_point *point, size_t n);

/* Nats that a question would tell about the hypotheses, at most. */
double xr_stack_tells(struct xr_stack *stack, const struct xr_conflict_point *question);

/* The array in question of a hypothesis. */
const struct xr_conflict_array *xr_stack_array(const struct xr_stack_hypothesis *h);

/* Units of the first stride that fit it. */
unsigned xr_stack_capacity(const struct xr_stack *stack, size_t i);

/* The likeliest geometry whatever the policy: index of its likeliest hypothesis, n: none of these. *p: of its
 * sets and ways; *p_capacity: of its units altogether. */
size_t xr_stack_best(const struct xr_stack *stack, double *p, double *p_capacity);

#endif
