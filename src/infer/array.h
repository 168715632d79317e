/* SPDX-License-Identifier: MIT */
/* A set-associative array with a replacement policy: the stuff that caches and TLBs are made of.
 *
 * Keys are numbers below 2^60. The array does not know how keys are mapped to sets: the caller says which set. A new
 * key goes to the first empty way of its set; when there is none, the policy chooses a victim:
 *
 *   lru     the one used longest ago        fifo   the one filled longest ago        random  any
 *   plru    where the bits of a binary tree over the next power of two of ways point; a use makes the bits on its path
 *           point away; absent leaves are never chosen
 *   nru     one bit per way, set by a use, the others cleared when all would be set; the first clear one
 *   srrip   two bits per way, 2 when filled, 0 after a hit; the first at 3, all counted up while there is none
 *   others  see infer/policy.h
 *
 * An adaptive array has two policies. Some sets are led by the one, as many by the other, and the rest follow whichever
 * led to fewer misses of late (set dueling: a counter of ten bits).
 *
 * A line is one word, marks of the policy and dirtiness in its upper bits, and a set is a run of words, so that a
 * simulated access touches little real memory. Under lru and fifo the words of a set stand in order of age, youngest
 * first: which way is which cannot be seen from outside.
 */
#ifndef XR_INFER_ARRAY_H
#define XR_INFER_ARRAY_H

#include "infer/policy.h"
#include "util/rng.h"

#define XR_LINE_THERE (UINT64_C(1) << 60)
#define XR_LINE_DIRTY (UINT64_C(1) << 63)
#define XR_LINE_KEY (XR_LINE_THERE - 1)

struct xr_array {
	int policy, rival;   /* rival -1: none */
	uint32_t leaders;    /* sets of each policy of an adaptive array */
	uint32_t misses;     /* of those led by the policy, less those of the rival's; half way: as many */
	uint32_t sets, ways;
	uint32_t words;      /* per set: ways, and the trees of plru */
	uint64_t *word;
	uint32_t *used;      /* per set: ways that are filled */
	uint32_t tree_leaves;
	uint64_t *tree_set, *tree_clear; /* per way: what a use does to the tree, when it fits a word */
	struct xr_rng *rng;  /* random */
	struct xr_array_index *index; /* more ways than anybody would scan */
};

void xr_array_init(struct xr_array *array, uint64_t sets, uint64_t ways, int policy, struct xr_rng *rng);
/* Makes it adaptive: the policies must share their state, and 2 x leaders sets be there. */
void xr_array_adapt(struct xr_array *array, int rival, uint32_t leaders);
void xr_array_release(struct xr_array *array);

uint64_t *xr_array_find_indexed(const struct xr_array *array, uint64_t key);

/* The line of a key in its set, or NULL. Changes nothing. Valid until the set changes. */
static inline uint64_t *xr_array_find(const struct xr_array *array, uint64_t set, uint64_t key)
{
	if (array->index)
		return xr_array_find_indexed(array, key);
	uint64_t *line = array->word + set * array->words;
	uint64_t want = (key | XR_LINE_THERE) << 3; /* shifted: what stands above does not count */
	for (uint32_t w = 0; w < array->ways; w++)
		if (line[w] << 3 == want)
			return line + w;
	return NULL;
}

/* A use of what xr_array_find() found; returns where it is now. */
uint64_t *xr_array_use(struct xr_array *array, uint64_t set, uint64_t *line);

struct xr_victim {
	bool there, dirty;
	uint64_t key;
};
/* Puts a key in that is not there; returns its line, and says what had to leave. */
uint64_t *xr_array_put(struct xr_array *array, uint64_t set, uint64_t key, struct xr_victim *victim);
void xr_array_drop(struct xr_array *array, uint64_t set, uint64_t *line);

/* Of the lines of a set whose keys have `bits` in the places of `mask`, how many there are, and one that may go:
 * the oldest where age counts, else any. NULL: none. For arrays of at most 64 ways, of which some keys may have
 * but a part. */
uint64_t *xr_array_oldest_of(struct xr_array *array, uint64_t set, uint64_t mask, uint64_t bits, uint32_t *count);

#endif
