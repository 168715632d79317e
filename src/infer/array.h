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
 * A line is one word, dirtiness in its uppermost bit, and a set is a run of words; eight ways at a time are told apart
 * by a byte of each, the tag. Under lru and fifo the words of a set stand in order of age, youngest first: which way is
 * which cannot be seen from outside. What else there is to know of a set stands together in its head: the tags, the
 * number of ways that are filled, and what the policy knows of them: trees, or marks of two bits a way. So a simulated
 * access touches little real memory: where the array is large, waiting for that is most of what it costs.
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
	uint32_t leaders;    /* sets of each policy of an adaptive array, … */
	uint32_t apart;      /* … so many sets from one to the next */
	uint32_t misses;     /* of those led by the policy, less those of the rival's; half way: as many */
	uint32_t sets, ways;
	uint64_t *word;      /* sets x ways, in `room` */
	uint64_t *head;      /* sets x head_words, in `room`, see above */
	void *room;
	uint32_t head_words;
	uint32_t tag_words;  /* of the head; 0: no tags */
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

/* Of a key: neither 0 (empty) nor 1 (which is one bit from empty: see below). */
static inline uint8_t xr_array_tag(uint64_t key)
{
	const uint8_t tag = (uint8_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 56);
	return tag < 2 ? tag + 2 : tag;
}

/* The line of a key in its set, or NULL. Changes nothing. Valid until the set changes. */
static inline uint64_t *xr_array_find(const struct xr_array *array, uint64_t set, uint64_t key)
{
	if (array->index)
		return xr_array_find_indexed(array, key);
	uint64_t *line = array->word + set * array->ways;
	const uint64_t want = (key | XR_LINE_THERE) << 3; /* shifted: what stands above does not count */
	if (!array->tag_words) {
		for (uint32_t w = 0; w < array->ways; w++)
			if (line[w] << 3 == want)
				return line + w;
		return NULL;
	}
	const uint64_t ones = UINT64_C(0x0101010101010101), all = xr_array_tag(key) * ones;
	const uint64_t *tags = array->head + set * array->head_words;
	for (uint32_t i = 0; i < array->tag_words; i++, line += 8) {
		/* bytes that are equal, and a few that are not, among them none without a way */
		const uint64_t apart = tags[i] ^ all;
		for (uint64_t hit = (apart - ones) & ~apart & ones << 7; hit; hit &= hit - 1) {
			uint64_t *found = line + __builtin_ctzll(hit) / 8;
			if (*found << 3 == want)
				return found;
		}
	}
	return NULL;
}

/* The set will be looked at soon: the machine at hand may begin to fetch it. */
static inline void xr_array_expect(const struct xr_array *array, uint64_t set)
{
	const uint64_t *line = array->word + set * array->ways;
	__asm__ volatile(""); /* what changes nothing would be left out */
	__builtin_prefetch(array->head + set * array->head_words);
	for (uint32_t w = 0; w < array->ways && w < 24; w += 8)
		__builtin_prefetch(line + w);
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

/* Is all as it was when this was last asked with the same `past` ({0} before the first time)? Then whatever was done
 * since then, done again, does the same again. False where chance decides, or where there are too many ways to look. */
struct xr_array_past {
	uint64_t *word;
};
bool xr_array_repeats(const struct xr_array *array, struct xr_array_past *past);
void xr_array_past_release(struct xr_array_past *past);

/* Of the lines of a set whose keys have `bits` in the places of `mask`, how many there are, and one that may go:
 * the oldest where age counts, else any. NULL: none. For arrays of at most 64 ways, of which some keys may have
 * but a part. */
uint64_t *xr_array_oldest_of(struct xr_array *array, uint64_t set, uint64_t mask, uint64_t bits, uint32_t *count);

#endif
