/* SPDX-License-Identifier: MIT */
#include "infer/array.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN_MAX = 64 }; /* more ways than this are not scanned but indexed */
#define NONE UINT32_MAX
enum { MARK_SHIFT = 61 };
#define MARK_ONE (UINT64_C(1) << MARK_SHIFT)
#define MARK_MASK (UINT64_C(3) << MARK_SHIFT)
enum { GROUP_WORDS = 2 };
enum { TAGS_FROM = 4 }; /* ways: fewer are compared as quickly */
enum { ALIGN = 8 };     /* words: a set of eight lies in one line of the machine at hand */
#define GROUPS_IN_ORDER UINT64_C(0xfedcba9876543210)

/* For sets of many ways: lines are found by a hash table and kept in order of age by a list. */
struct xr_array_index {
	uint32_t *slot; /* place of a line + 1 */
	uint64_t slot_mask;
	uint32_t *older, *newer, *oldest, *newest;
};

static struct xr_array_index *index_new(size_t sets, size_t n)
{
	struct xr_array_index *x = xr_calloc(1, sizeof *x);
	x->slot_mask = 1;
	while (x->slot_mask < 2 * n)
		x->slot_mask *= 2;
	x->slot = xr_calloc((size_t)x->slot_mask, sizeof *x->slot);
	x->slot_mask--;
	x->older = xr_calloc(n, sizeof *x->older);
	x->newer = xr_calloc(n, sizeof *x->newer);
	x->oldest = xr_calloc(sets, sizeof *x->oldest);
	x->newest = xr_calloc(sets, sizeof *x->newest);
	memset(x->oldest, 0xff, sets * sizeof *x->oldest);
	memset(x->newest, 0xff, sets * sizeof *x->newest);
	return x;
}

static inline uint64_t *bits_of(const struct xr_array *a, uint64_t set)
{
	return a->bits + set * a->bit_words;
}

/* ---- the tree of plru ---- */

/* Makes the bits on the path to a way point away from it. 1: the victim is to the right. */
static void tree_point_away(const struct xr_array *a, uint32_t way, uint64_t *set, uint64_t *clear)
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

static void make_tree_masks(struct xr_array *a)
{
	a->tree_set = xr_calloc(a->ways, sizeof *a->tree_set);
	a->tree_clear = xr_calloc(a->ways, sizeof *a->tree_clear);
	for (uint32_t w = 0; w < a->ways; w++)
		tree_point_away(a, w, &a->tree_set[w], &a->tree_clear[w]);
}

static void tree_use(const struct xr_array *a, uint64_t *bits, uint32_t way)
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

enum { MISSES_MAX = 1024 };

void xr_array_init(struct xr_array *a, uint64_t sets, uint64_t ways, int policy, struct xr_rng *rng)
{
	*a = (struct xr_array){
		.policy = policy, .rival = -1, .sets = (uint32_t)sets, .ways = (uint32_t)ways, .rng = rng};
	uint32_t tree_words = 0;
	if (xr_policy_kind(policy) == XR_LRU_PLRU)
		tree_words = GROUP_WORDS;
	if (policy == XR_PLRU) {
		a->tree_leaves = 1;
		while (a->tree_leaves < ways)
			a->tree_leaves *= 2;
		tree_words = (a->tree_leaves + 63) / 64;
	}
	a->bit_words = tree_words;
	if (tree_words)
		a->bits = xr_calloc((size_t)sets * tree_words, sizeof *a->bits);
	if (tree_words == 1)
		make_tree_masks(a);
	a->room = xr_calloc((size_t)sets * a->ways + ALIGN, sizeof *a->word);
	a->word = (uint64_t *)a->room + (ALIGN - (uintptr_t)a->room / sizeof *a->word % ALIGN) % ALIGN;
	for (uint64_t s = 0; s < sets && xr_policy_kind(policy) == XR_LRU_PLRU; s++)
		bits_of(a, s)[1] = GROUPS_IN_ORDER;
	a->used = xr_calloc((size_t)sets, sizeof *a->used);
	if (ways >= TAGS_FROM && ways <= SCAN_MAX) {
		a->row = (a->ways + 7) / 8 * 8;
		a->tag = xr_calloc((size_t)sets * a->row, sizeof *a->tag);
	}
	if (ways > SCAN_MAX)
		a->index = index_new((size_t)sets, (size_t)sets * a->ways);
}

void xr_array_adapt(struct xr_array *a, int rival, uint32_t leaders)
{
	a->rival = rival;
	a->leaders = leaders;
	a->misses = MISSES_MAX / 2;
}

/* Which policy a set follows, and with a miss there, what that says. */
static int policy_of(struct xr_array *a, uint64_t set, bool missed)
{
	if (a->rival < 0)
		return a->policy;
	uint32_t apart = a->sets / a->leaders, place = (uint32_t)set % apart;
	if (place == 0 && set / apart < a->leaders) {
		a->misses += missed && a->misses < MISSES_MAX;
		return a->policy;
	}
	if (place == apart / 2 && set / apart < a->leaders) {
		a->misses -= missed && a->misses > 0;
		return a->rival;
	}
	return a->misses > MISSES_MAX / 2 ? a->rival : a->policy;
}

void xr_array_release(struct xr_array *a)
{
	if (a->index) {
		free(a->index->slot);
		free(a->index->older);
		free(a->index->newer);
		free(a->index->oldest);
		free(a->index->newest);
		free(a->index);
	}
	free(a->tree_set);
	free(a->tree_clear);
	free(a->bits);
	free(a->tag);
	free(a->room);
	free(a->used);
	*a = (struct xr_array){0};
}

/* ---- the hash table: linear probing ---- */

static uint64_t hash(uint64_t key)
{
	key *= UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 29;
}

static uint64_t slot_of(const struct xr_array *a, uint64_t key)
{
	const struct xr_array_index *x = a->index;
	uint64_t i = hash(key) & x->slot_mask;
	while (x->slot[i] && (a->word[x->slot[i] - 1] & XR_LINE_KEY) != key)
		i = (i + 1) & x->slot_mask;
	return i;
}

/* Closes the gap: entries behind it that would no longer be found move up. */
static void slot_remove(struct xr_array *a, uint64_t i)
{
	struct xr_array_index *x = a->index;
	uint64_t j = i;
	for (;;) {
		j = (j + 1) & x->slot_mask;
		if (!x->slot[j])
			break;
		uint64_t home = hash(a->word[x->slot[j] - 1] & XR_LINE_KEY) & x->slot_mask;
		if (((j - home) & x->slot_mask) >= ((j - i) & x->slot_mask)) {
			x->slot[i] = x->slot[j];
			i = j;
		}
	}
	x->slot[i] = 0;
}

uint64_t *xr_array_find_indexed(const struct xr_array *a, uint64_t key)
{
	uint32_t found = a->index->slot[slot_of(a, key)];
	return found ? a->word + found - 1 : NULL;
}

/* ---- the list ---- */

static void unlink_line(struct xr_array_index *x, uint64_t set, uint32_t at)
{
	uint32_t older = x->older[at], newer = x->newer[at];
	if (older == NONE)
		x->oldest[set] = newer;
	else
		x->newer[older] = newer;
	if (newer == NONE)
		x->newest[set] = older;
	else
		x->older[newer] = older;
}

static void link_newest(struct xr_array_index *x, uint64_t set, uint32_t at)
{
	uint32_t last = x->newest[set];
	x->older[at] = last;
	x->newer[at] = NONE;
	if (last == NONE)
		x->oldest[set] = at;
	else
		x->newer[last] = at;
	x->newest[set] = at;
}

/* ---- policies ---- */

static uint32_t tree_victim(const struct xr_array *a, const uint64_t *bits)
{
	uint32_t node = 1, low = 0;
	for (uint32_t size = a->tree_leaves / 2; size; size /= 2) {
		bool right = (bits[node / 64] >> node % 64 & 1) && low + size < a->ways;
		low += right ? size : 0;
		node = node * 2 + right;
	}
	return low;
}

static void nru_use(struct xr_array *a, uint64_t *lines, uint32_t way)
{
	lines[way] |= MARK_ONE;
	for (uint32_t w = 0; w < a->ways; w++)
		if (!(lines[w] & MARK_ONE))
			return;
	for (uint32_t w = 0; w < a->ways; w++)
		lines[w] &= ~MARK_ONE;
	lines[way] |= MARK_ONE;
}

static uint32_t nru_victim(const struct xr_array *a, const uint64_t *lines)
{
	for (uint32_t w = 0; w < a->ways; w++)
		if (!(lines[w] & MARK_ONE))
			return w;
	return 0; /* only with a single way */
}

static uint32_t srrip_victim(struct xr_array *a, uint64_t *lines)
{
	uint64_t most = 0;
	for (uint32_t w = 0; w < a->ways; w++) {
		uint64_t mark = lines[w] >> MARK_SHIFT & 3;
		if (mark == 3)
			return w;
		most = mark > most ? mark : most;
	}
	uint32_t first = a->ways;
	for (uint32_t w = 0; w < a->ways; w++) {
		lines[w] += (3 - most) << MARK_SHIFT;
		if (first == a->ways && (lines[w] & MARK_MASK) == MARK_MASK)
			first = w;
	}
	return first;
}

/* nru_late: none clear, so all are cleared now. */
static uint32_t nru_late_victim(const struct xr_array *a, uint64_t *lines)
{
	for (uint32_t w = 0; w < a->ways; w++)
		if (!(lines[w] & MARK_ONE))
			return w;
	for (uint32_t w = 0; w < a->ways; w++)
		lines[w] &= ~MARK_ONE;
	return 0;
}

/* ---- LRU among groups of tree-PLRU ---- */

/* A word for the trees (T bits a group, nodes from 1 on) and one for the order of groups, four bits each, latest
 * use lowest. */
static void group_use(const struct xr_array *a, uint64_t *tree, uint32_t way)
{
	const uint32_t leaves = xr_policy_leaves(a->policy), group = way / leaves;
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

static uint32_t group_victim(const struct xr_array *a, const uint64_t *state)
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

static uint32_t age_of(uint64_t line)
{
	return line & XR_LINE_THERE ? line >> MARK_SHIFT & 3 : 3; /* empty ways are as old as can be */
}

static void set_age(uint64_t *line, uint32_t age)
{
	*line = (*line & ~MARK_MASK) | age * MARK_ONE;
}

/* All grow older, as u0 … u3 have it; `used`: the way just used, or none. */
static void qlru_update(const struct xr_array *a, uint64_t *lines, uint32_t update, uint32_t used)
{
	const bool spared = (update == 1 || update == 3) && used < a->ways;
	uint32_t oldest = 0;
	for (uint32_t w = 0; w < a->ways; w++) {
		const uint32_t age = update == 1 && w == used ? 0 : age_of(lines[w]);
		if (age == 3) /* there is one to go: nobody grows older */
			return;
		oldest = age > oldest ? age : oldest;
	}
	if (a->ways == 1)
		return;
	const uint32_t by = update < 2 ? 3 - oldest : 1;
	for (uint32_t w = 0; w < a->ways; w++)
		if (!(spared && w == used))
			set_age(&lines[w], age_of(lines[w]) + by < 3 ? age_of(lines[w]) + by : 3);
}

static void qlru_use(const struct xr_array *a, int policy, uint64_t *lines, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const uint32_t age = age_of(lines[way]);
	set_age(&lines[way], age == 3 ? q.hit3 : age == 2 ? q.hit2 : 0);
	if (!q.misses_only)
		qlru_update(a, lines, q.update, way);
}

static uint32_t qlru_victim(const struct xr_array *a, int policy, uint64_t *lines)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	if (q.misses_only)
		qlru_update(a, lines, q.update, NONE);
	for (uint32_t w = 0; w < a->ways; w++)
		if (age_of(lines[w]) == 3)
			return w;
	return 0;
}

static void qlru_fill(const struct xr_array *a, int policy, uint64_t *lines, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const bool rare = q.rarely != q.miss && !xr_rng_below(a->rng, 16);
	set_age(&lines[way], rare ? q.rarely : q.miss);
	if (!q.misses_only)
		qlru_update(a, lines, q.update, way);
}

/* ---- all of them ---- */

static uint32_t victim_way(struct xr_array *a, int policy, uint64_t set, uint64_t *lines)
{
	switch (xr_policy_kind(policy)) {
	case XR_PLRU:
		return tree_victim(a, bits_of(a, set));
	case XR_NRU:
	case XR_MRU_N:
		return nru_victim(a, lines);
	case XR_NRU_LATE:
		return nru_late_victim(a, lines);
	case XR_LRU_PLRU:
		return group_victim(a, bits_of(a, set));
	case XR_QLRU:
		return qlru_victim(a, policy, lines);
	case XR_SRRIP:
		return srrip_victim(a, lines);
	case XR_RANDOM:
		return (uint32_t)xr_rng_below(a->rng, a->ways);
	default:
		return a->index ? a->index->oldest[set] - (uint32_t)(set * a->ways) : a->ways - 1;
	}
}

static bool by_age(const struct xr_array *a)
{
	return xr_policy_by_age(a->policy);
}

/* Makes the way-th word the first of its set. */
static uint64_t *move_to_front(struct xr_array *a, uint64_t set, uint32_t way)
{
	uint64_t *lines = a->word + set * a->ways, line = lines[way];
	if (!way)
		return lines;
	memmove(lines + 1, lines, way * sizeof *lines);
	lines[0] = line;
	if (a->tag) {
		uint8_t *tags = a->tag + set * a->row, tag = tags[way];
		memmove(tags + 1, tags, way);
		tags[0] = tag;
	}
	return lines;
}

/* ---- the interface ---- */

uint64_t *xr_array_use(struct xr_array *a, uint64_t set, uint64_t *line)
{
	uint64_t *lines = a->word + set * a->ways;
	const int policy = policy_of(a, set, false);
	switch (xr_policy_kind(policy)) {
	case XR_LRU:
		if (!a->index)
			return move_to_front(a, set, (uint32_t)(line - lines));
		unlink_line(a->index, set, (uint32_t)(line - a->word));
		link_newest(a->index, set, (uint32_t)(line - a->word));
		break;
	case XR_PLRU:
		tree_use(a, bits_of(a, set), (uint32_t)(line - lines));
		break;
	case XR_NRU:
		if (!(*line & MARK_ONE))
			nru_use(a, lines, (uint32_t)(line - lines));
		break;
	case XR_MRU_N:
		if (a->used[set] == a->ways && !(*line & MARK_ONE))
			nru_use(a, lines, (uint32_t)(line - lines));
		break;
	case XR_NRU_LATE:
		*line |= MARK_ONE;
		break;
	case XR_SRRIP:
		*line &= ~MARK_MASK;
		break;
	case XR_LRU_PLRU:
		group_use(a, bits_of(a, set), (uint32_t)(line - lines));
		break;
	case XR_QLRU:
		qlru_use(a, policy, lines, (uint32_t)(line - lines));
		break;
	default:
		break;
	}
	return line;
}

static void take_out_of_index(struct xr_array *a, uint64_t set, const uint64_t *line)
{
	slot_remove(a, slot_of(a, *line & XR_LINE_KEY));
	if (by_age(a))
		unlink_line(a->index, set, (uint32_t)(line - a->word));
}

/* Is a way of a set empty? Its tag knows, and is nearer than the line. */
static bool is_empty(const struct xr_array *a, uint64_t set, uint32_t way)
{
	return a->tag ? !a->tag[set * a->row + way] : !(a->word[set * a->ways + way] & XR_LINE_THERE);
}

/* First empty way (some take the last), or ways when the set is full. */
static uint32_t empty_way(const struct xr_array *a, int policy, uint64_t set)
{
	uint32_t w = a->used[set];
	if (w == a->ways)
		return w;
	if (xr_policy_kind(policy) == XR_QLRU && xr_policy_qlru_of(policy).replace == 2) {
		for (w = a->ways - 1; !is_empty(a, set, w);)
			w--;
		return w;
	}
	for (w = is_empty(a, set, w) ? w : 0; !is_empty(a, set, w);)
		w++;
	return w;
}

static uint64_t *filled(struct xr_array *a, int policy, uint64_t set, uint64_t *lines, uint32_t way, bool was_full)
{
	if (a->index) {
		uint64_t i = hash(lines[way] & XR_LINE_KEY) & a->index->slot_mask;
		uint32_t at = (uint32_t)(lines + way - a->word);
		while (a->index->slot[i])
			i = (i + 1) & a->index->slot_mask;
		a->index->slot[i] = at + 1;
		if (by_age(a))
			link_newest(a->index, set, at);
	} else if (by_age(a)) {
		return move_to_front(a, set, way);
	}
	switch (xr_policy_kind(policy)) {
	case XR_PLRU:
		tree_use(a, bits_of(a, set), way);
		break;
	case XR_MRU_N:
		if (!was_full)
			break; /* fall through */
	case XR_NRU:
		nru_use(a, lines, way);
		break;
	case XR_NRU_LATE:
		lines[way] |= MARK_ONE;
		break;
	case XR_SRRIP:
		lines[way] |= 2 * MARK_ONE;
		break;
	case XR_LRU_PLRU:
		group_use(a, bits_of(a, set), way);
		break;
	case XR_QLRU:
		qlru_fill(a, policy, lines, way);
		break;
	default:
		break;
	}
	return lines + way;
}

uint64_t *xr_array_put(struct xr_array *a, uint64_t set, uint64_t key, struct xr_victim *victim)
{
	uint64_t *lines = a->word + set * a->ways;
	const int policy = policy_of(a, set, true);
	uint32_t way = empty_way(a, policy, set);
	victim->there = false;
	if (way == a->ways) {
		way = victim_way(a, policy, set, lines);
		*victim = (struct xr_victim){true, (lines[way] & XR_LINE_DIRTY) != 0, lines[way] & XR_LINE_KEY};
		if (a->index)
			take_out_of_index(a, set, lines + way);
	}
	lines[way] = key | XR_LINE_THERE;
	if (a->tag)
		a->tag[set * a->row + way] = xr_array_tag(key);
	a->used[set] += !victim->there;
	return filled(a, policy, set, lines, way, victim->there);
}

void xr_array_drop(struct xr_array *a, uint64_t set, uint64_t *line)
{
	if (!(*line & XR_LINE_THERE))
		return;
	uint64_t *first = a->word + set * a->ways, *last = first + a->ways - 1;
	uint8_t *tags = a->tag ? a->tag + set * a->row : NULL;
	a->used[set]--;
	if (a->index) {
		take_out_of_index(a, set, line);
	} else if (by_age(a)) { /* empty ways stand at the end */
		for (; line < last; line++) {
			line[0] = line[1];
			if (tags)
				tags[line - first] = tags[line - first + 1];
		}
	}
	*line = 0;
	if (tags)
		tags[line - first] = 0;
}

uint64_t *xr_array_oldest_of(struct xr_array *a, uint64_t set, uint64_t mask, uint64_t bits, uint32_t *count)
{
	uint64_t *lines = a->word + set * a->ways, *oldest = NULL;
	*count = 0;
	for (uint32_t w = 0; w < a->ways; w++) {
		if (!(lines[w] & XR_LINE_THERE) || (lines[w] & XR_LINE_KEY & mask) != bits)
			continue;
		++*count;
		if (by_age(a) || !xr_rng_below(a->rng, *count))
			oldest = lines + w;
	}
	return oldest;
}
