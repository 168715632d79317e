/* SPDX-License-Identifier: MIT */
/* The law of random lines: what a cache of unknown index does with n lines drawn at random.
 *
 * Lines at random are spread over S sets like balls over bins: a line has k others in its set with the Poisson
 * probability of mean n / S. Of a set of k + 1 lines visited round and round, a policy misses a share that one
 * simulated set of W ways tells. So
 *
 *   misses(n) = sum over k of Poisson(k; n / S) · share(W, policy, k + 1)
 *
 * whatever the index is: plain, folded, sliced, hashed, physical or virtual. Where the curve rises gives S · W,
 * how steeply W and the policy. A reading is near + (far - near) · misses(n); near and far are fitted, so no
 * absolute time comes in. Where pages lie in a row and the index is plain, lines of whole pages are spread evenly
 * instead: another hypothesis.
 *
 * A core may fetch the other line of a pair of neighbours with each, or both may be one line: then as many lines drawn
 * in pairs and drawn one of each pair take different room, and both kinds of walks together tell which it is.
 *
 * Hypotheses: sets (any odd number up to 15 times a power of two), ways, policy, spread at random or evenly, how
 * much of it others take, how long others leave a line in the level behind, how far the law itself may be off. "None of
 * these": a curve that no cache makes. */
#ifndef XR_INFER_SCATTER_H
#define XR_INFER_SCATTER_H

#include "infer/belief.h"
#include "infer/noise.h"

#include <stdbool.h>
#include <stdint.h>

/* n lines drawn at random, and cycles per access of a walk round and round; the same n several times: other lines
 * each time. */
struct xr_scatter_point {
	double lines, cycles;
	bool alone; /* of each pair of neighbours one line, else both */
};

/* Another witness: as items (pages), one line of each at one of two offsets, were added, half of them at the one and half
 * at the other, a set first overflowed somewhere between so many and so many of them. */
struct xr_scatter_growth {
	double from, to;
};

struct xr_scatter_question {
	const struct xr_scatter_point *point;
	size_t n;
	double line;       /* bytes that one of these lines stands for */
	size_t ways;       /* known from elsewhere; 0: not known */
	double miss;       /* cycles that a miss costs, known from elsewhere; 0: not known */
	double miss_off;   /* by how much that may be off, relative (one sigma) */
	/* lines of a page offset were seen to share few sets: bits of the address choose the set, not a hash */
	bool regular;
	bool pairs;        /* lines were drawn in pairs of neighbours, or alone: a prefetcher may bring the other along */
	const struct xr_scatter_growth *growth;
	size_t n_growth;
	double page;       /* bytes of which each may lie anywhere */
	double item;       /* bytes from item to item, a page or several */
	double expected;   /* bytes that somebody else says it has; 0: nobody */
	double most_lost;  /* share of the level that others may take: 0 on a machine of one's own */
};

struct xr_scatter_answer {
	double capacity, p_capacity; /* bytes; NAN: none of these */
	double ways, p_ways;
	double near, far;            /* cycles of the best hypothesis */
	/* of the capacity, whatever number of sets is likely: bytes, relative standard deviation */
	double mean, spread;
	double p_expected, p_half;   /* probability of the capacity that was expected, and of half of it */
	double p_one;                /* probability that two neighbours are one line of this level */
	double none;                 /* probability */
};

struct xr_scatter_answer xr_scatter_infer(struct xr_arena *arena, const struct xr_scatter_question *question);

/* Share of accesses that miss in sets of `ways`, on average `load` lines in each, spread at random, or all the same. */
double xr_scatter_misses(struct xr_arena *arena, size_t ways, int policy, double load, bool even);

#endif
