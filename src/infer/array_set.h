/* SPDX-License-Identifier: MIT */
/* One set of an array: the words of its head, and what each policy does with them. Of infer/array.c alone, which asks
 * for every simulated access; so it is all inline. */
#ifndef XR_INFER_ARRAY_SET_H
#define XR_INFER_ARRAY_SET_H

#include "infer/array.h"
#include "util/memory.h"

#include <string.h>

#define NONE UINT32_MAX
enum { MARKS = 32 };              /* in a word */
#define EACH_LOW (UINT64_MAX / 3) /* the lower bit of each mark */
enum { GROUP_WORDS = 2 };
#define GROUPS_IN_ORDER UINT64_C(0xfedcba9876543210)

/* ---- the head of a set: tags, how many ways are filled, what the policy knows ---- */

static inline uint64_t *head_of(const struct xr_array *a, uint64_t set)
{
	return a->head + set * a->head_words;
}

static inline uint64_t *used_of(const struct xr_array *a, uint64_t set)
{
	return head_of(a, set) + a->tag_words;
}

/* The trees, or the marks. */
static inline uint64_t *bits_of(const struct xr_array *a, uint64_t set)
{
	return used_of(a, set) + 1;
}

static inline uint8_t tag_of(const uint64_t *head, uint32_t way)
{
	return (uint8_t)(head[way / 8] >> way % 8 * 8);
}

static inline void set_tag(uint64_t *head, uint32_t way, uint8_t tag)
{
	const unsigned at = way % 8 * 8;
	head[way / 8] = (head[way / 8] & ~(UINT64_C(0xff) << at)) | (uint64_t)tag << at;
}

/* `in` becomes the first, those before the way-th move up. */
static inline void push_tag(uint64_t *head, uint32_t way, uint64_t in)
{
	for (; way >= 8; way -= 8, head++) {
		const uint64_t out = *head >> 56;
		*head = *head << 8 | in;
		in = out;
	}
	const uint64_t moved = (UINT64_C(2) << (way * 8 + 7)) - 1; /* all of the word: 0 - 1 */
	*head = (*head & ~moved) | ((*head << 8 | in) & moved);
}

/* ---- the tree of plru ---- */

/* Makes the bits on the path to a way point away from it. 1: the victim is to the right. */
static inline void tree_point_away(const struct xr_array *a, uint32_t way, uint64_t *set, uint64_t *clear)
{
	uint32_t node = 1, low = 0;
	for (uint32_t size = a->tree_leaves / 2; size; size /= 2) {
		bool right = way >= low + size;
		uint64_t *bits = right ? clear : set;
		bits[node / 64] |= UINT64_C(1) << node % 64;
		low += right ? size : 0;
		node = node * 2 + right;
	}
}

static inline void make_tree_masks(struct xr_array *a)
{
	a->tree_set = xr_calloc(a->ways, sizeof *a->tree_set);
	a->tree_clear = xr_calloc(a->ways, sizeof *a->tree_clear);
	for (uint32_t w = 0; w < a->ways; w++)
		tree_point_away(a, w, &a->tree_set[w], &a->tree_clear[w]);
}

static inline void tree_use(const struct xr_array *a, uint64_t *bits, uint32_t way)
{
	if (a->tree_set) {
		*bits = (*bits | a->tree_set[way]) & ~a->tree_clear[way];
		return;
	}
	uint32_t node = 1, low = 0;
	for (uint32_t size = a->tree_leaves / 2; size; size /= 2) {
		bool right = way >= low + size;
		if (right)
			bits[node / 64] &= ~(UINT64_C(1) << node % 64);
		else
			bits[node / 64] |= UINT64_C(1) << node % 64;
		low += right ? size : 0;
		node = node * 2 + right;
	}
}

/* ---- policies ---- */

static inline uint32_t tree_victim(const struct xr_array *a, const uint64_t *bits)
{
	uint32_t node = 1, low = 0;
	for (uint32_t size = a->tree_leaves / 2; size; size /= 2) {
		bool right = (bits[node / 64] >> node % 64 & 1) && low + size < a->ways;
		low += right ? size : 0;
		node = node * 2 + right;
	}
	return low;
}

/* The lower bits of the marks in the i-th word that ways have. */
static inline uint64_t low_bits(const struct xr_array *a, uint32_t i)
{
	const uint32_t left = a->ways - i * MARKS;
	return left >= MARKS ? EACH_LOW : EACH_LOW & ((UINT64_C(1) << 2 * left) - 1);
}

static inline uint32_t mark_of(const uint64_t *marks, uint32_t way)
{
	return marks[way / MARKS] >> way % MARKS * 2 & 3;
}

static inline void set_mark(uint64_t *marks, uint32_t way, uint32_t mark)
{
	const unsigned at = way % MARKS * 2;
	marks[way / MARKS] = (marks[way / MARKS] & ~(UINT64_C(3) << at)) | (uint64_t)mark << at;
}

/* The first way whose mark is 3, `spared` aside, or NONE. */
static inline uint32_t first_three(const struct xr_array *a, const uint64_t *marks, uint32_t spared)
{
	for (uint32_t i = 0; i * MARKS < a->ways; i++) {
		uint64_t three = marks[i] & marks[i] >> 1 & low_bits(a, i);
		if (spared / MARKS == i)
			three &= ~(UINT64_C(1) << spared % MARKS * 2);
		if (three)
			return i * MARKS + (uint32_t)__builtin_ctzll(three) / 2;
	}
	return NONE;
}

/* The highest mark where none is 3, `spared` aside. */
static inline uint32_t highest_mark(const struct xr_array *a, const uint64_t *marks, uint32_t spared)
{
	uint64_t any = 0;
	for (uint32_t i = 0; i * MARKS < a->ways; i++)
		any |= spared / MARKS == i ? marks[i] & ~(UINT64_C(3) << spared % MARKS * 2) : marks[i];
	return any & EACH_LOW << 1 ? 2 : any ? 1 : 0;
}

/* Adds to all marks, `spared` aside; none becomes more than 3. */
static inline void raise_marks(const struct xr_array *a, uint64_t *marks, uint32_t by, uint32_t spared)
{
	for (uint32_t i = 0; i * MARKS < a->ways; i++) {
		uint64_t those = low_bits(a, i);
		if (spared / MARKS == i)
			those &= ~(UINT64_C(1) << spared % MARKS * 2);
		marks[i] += those * by;
	}
}

/* The first way without a mark, or NONE. */
static inline uint32_t first_clear(const struct xr_array *a, const uint64_t *marks)
{
	for (uint32_t i = 0; i * MARKS < a->ways; i++) {
		const uint64_t clear = ~marks[i] & low_bits(a, i);
		if (clear)
			return i * MARKS + (uint32_t)__builtin_ctzll(clear) / 2;
	}
	return NONE;
}

static inline void clear_marks(const struct xr_array *a, uint64_t *marks)
{
	memset(marks, 0, (a->ways + MARKS - 1) / MARKS * sizeof *marks);
}

static inline void nru_use(const struct xr_array *a, uint64_t *marks, uint32_t way)
{
	set_mark(marks, way, 1);
	if (first_clear(a, marks) != NONE)
		return;
	clear_marks(a, marks);
	set_mark(marks, way, 1);
}

static inline uint32_t nru_victim(const struct xr_array *a, const uint64_t *marks)
{
	const uint32_t way = first_clear(a, marks);
	return way == NONE ? 0 : way; /* only with a single way */
}

static inline uint32_t srrip_victim(const struct xr_array *a, uint64_t *marks)
{
	const uint32_t way = first_three(a, marks, NONE);
	if (way != NONE)
		return way;
	raise_marks(a, marks, 3 - highest_mark(a, marks, NONE), NONE);
	return first_three(a, marks, NONE);
}

/* nru_late: none clear, so all are cleared now. */
static inline uint32_t nru_late_victim(const struct xr_array *a, uint64_t *marks)
{
	const uint32_t way = first_clear(a, marks);
	if (way != NONE)
		return way;
	clear_marks(a, marks);
	return 0;
}

/* ---- LRU among groups of tree-PLRU ---- */

/* A word for the trees (T bits a group, nodes from 1 on) and one for the order of groups, four bits each, latest
 * use lowest. */
static inline void group_use(const struct xr_array *a, uint64_t *tree, uint32_t way)
{
	const uint32_t leaves = xr_policy_leaves(a->policy), group = leaves ? way / leaves : 0;
	uint64_t *order = tree + 1;
	uint32_t node = 1, low = group * leaves;
	for (uint32_t size = leaves / 2; size; size /= 2) {
		const bool right = way >= low + size;
		const uint64_t bit = UINT64_C(1) << (group * leaves + node);
		*tree = right ? *tree & ~bit : *tree | bit;
		low += right ? size : 0;
		node = node * 2 + right;
	}
	unsigned at = 0;
	while ((*order >> at & 15) != group)
		at += 4;
	const uint64_t younger = *order & ((UINT64_C(1) << at) - 1), older = at < 60 ? *order >> (at + 4) : 0;
	*order = (at < 60 ? older << (at + 4) : 0) | younger << 4 | group;
}

static inline uint32_t group_victim(const struct xr_array *a, const uint64_t *state)
{
	const uint32_t leaves = xr_policy_leaves(a->policy), groups = xr_policy_groups(a->policy);
	const uint64_t tree = state[0], order = state[1];
	const uint32_t group = order >> 4 * (groups - 1) & 15;
	uint32_t node = 1, way = group * leaves;
	for (uint32_t size = leaves / 2; size; size /= 2) {
		const bool right = tree >> (group * leaves + node) & 1;
		way += right ? size : 0;
		node = node * 2 + right;
	}
	return way;
}

/* ---- qlru ---- */

/* All grow older, as u0 … u3 have it; `used`: the way just used, or none. */
static inline void qlru_update(const struct xr_array *a, uint64_t set, uint32_t update, uint32_t used)
{
	uint64_t *marks = bits_of(a, set);
	const uint32_t young = update == 1 ? used : NONE, spared = update == 3 ? used : young;
	/* Empty ways are as old as can be. Where there is one to go nobody grows older. */
	if (*used_of(a, set) < a->ways || first_three(a, marks, young) != NONE || a->ways == 1)
		return;
	raise_marks(a, marks, update < 2 ? 3 - highest_mark(a, marks, young) : 1, spared);
}

static inline void qlru_use(const struct xr_array *a, int policy, uint64_t set, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const uint32_t age = mark_of(bits_of(a, set), way);
	set_mark(bits_of(a, set), way, age == 3 ? q.hit3 : age == 2 ? q.hit2 : 0);
	if (!q.misses_only)
		qlru_update(a, set, q.update, way);
}

static inline uint32_t qlru_victim(const struct xr_array *a, int policy, uint64_t set)
{
	if (xr_policy_qlru_of(policy).misses_only)
		qlru_update(a, set, xr_policy_qlru_of(policy).update, NONE);
	const uint32_t way = first_three(a, bits_of(a, set), NONE);
	return way == NONE ? 0 : way;
}

static inline void qlru_fill(const struct xr_array *a, int policy, uint64_t set, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const bool rare = q.rarely != q.miss && !xr_rng_below(a->rng, 16);
	set_mark(bits_of(a, set), way, rare ? q.rarely : q.miss);
	if (!q.misses_only)
		qlru_update(a, set, q.update, way);
}

#endif
