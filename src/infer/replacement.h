/* SPDX-License-Identifier: MIT */
/* Who is evicted: sequences of uses, what each policy makes of them, and which policy explains what was seen.
 *
 * A sequence uses blocks of one set in some order, again and again: first those of the reset, in a fixed order,
 * then those that count. The array (infer/array.h) is the forward model: how many of the latter miss, once that has
 * settled. /
 */
#ifndef XR_INFER_REPLACEMENT_H
#define XR_INFER_REPLACEMENT_H

#include "infer/noise.h"
#include "infer/policy.h"
#include "util/arena.h"
#include "util/rng.h"

#include <stddef.h>

struct xr_sequence {
	const unsigned *reset, *use; /* blocks */
	size_t n_reset, n_use;
};

/* A random one for sets of so many ways: new blocks and old ones, some of them just evicted, none of them more
 * often than `often` as long as there are others. The reset has blocks of its own; *blocks: how many
 * there are of both. variant: another reset. */
struct xr_sequence xr_sequence_draw(struct xr_arena *arena, struct xr_rng *rng, size_t ways, int variant, unsigned often,
                                    size_t *blocks);

/* Misses among the uses that count, on average over repetitions. */
double xr_sequence_misses(const struct xr_sequence *sequence, int policy, size_t ways, struct xr_rng *rng);

/* Policies that a set of so many ways may have: the plain ones, groups of trees; with `all` also those of two bits
 * of age. In the order in which they are preferred where they cannot be told apart. Returns how many. */
enum { XR_CANDIDATES = 700 };
size_t xr_replacement_candidates(size_t ways, bool all, int policy[static XR_CANDIDATES]);

/* What was seen: one time for each of n sequences, and what repetitions of it say about noise. */
struct xr_replacement_seen {
	const double *time;
	size_t n;
	size_t n_bases; /* time[i] has the base of number i modulo so many: another reset, another base */
	struct xr_noise noise;
	double cost_least, cost_most; /* of one miss, in the unit of time: beyond, it is no miss */
};

struct xr_replacement {
	int policy;   /* -1: none of these */
	double p;     /* of it, and of those that do the same on all sequences */
	double family; /* of its kind */
	double cost;  /* of a miss */
	double off;   /* how far times are from what it predicts, in misses */
};

/* misses[h * n + i]: of candidate h on sequence i. p (may be NULL) gets the posterior of each candidate. Time is
 * some base, the same for all sequences, and so much for each miss. */
struct xr_replacement xr_replacement_find(struct xr_arena *arena, const int *policy, size_t n_policies,
                                          const double *misses, const struct xr_replacement_seen *seen, double *p);

#endif
