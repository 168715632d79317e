/* SPDX-License-Identifier: MIT */
#include "infer/array.h"

#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN_MAX = 64 }; /* more ways than this are not scanned but indexed */
#define NONE UINT32_MAX
enum { MARKS = 32 };              /* in a word */
#define EACH_LOW (UINT64_MAX / 3) /* the lower bit of each mark */
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

/* So that no head of a few words lies in two lines of the machine at hand. */
static uint32_t whole_words(uint32_t words)
{
	uint32_t whole = 1;
	while (whole < words)
		whole *= 2;
	return whole <= ALIGN ? whole : words;
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

/* Lines first, then heads. */
static size_t line_words(const struct xr_array *a)
{
	return ((size_t)a->sets * a->ways + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t state_words(const struct xr_array *a)
{
	return line_words(a) + (size_t)a->sets * a->head_words;
}

enum { MISSES_MAX = 1024 };

/* How many words of a set the policy needs. */
static uint32_t bit_words_of(struct xr_array *a)
{
	switch (xr_policy_kind(a->policy)) {
	case XR_LRU:
	case XR_FIFO:
		return 0;
	case XR_LRU_PLRU:
		return GROUP_WORDS;
	case XR_PLRU:
		a->tree_leaves = 1;
		while (a->tree_leaves < a->ways)
			a->tree_leaves *= 2;
		return (a->tree_leaves + 63) / 64;
	default: /* random, too, may have a rival with marks */
		return (a->ways + MARKS - 1) / MARKS;
	}
}

void xr_array_init(struct xr_array *a, uint64_t sets, uint64_t ways, int policy, struct xr_rng *rng)
{
	*a = (struct xr_array){
		.policy = policy, .rival = -1, .sets = (uint32_t)sets, .ways = (uint32_t)ways, .rng = rng};
	const uint32_t bit_words = bit_words_of(a);
	if (a->tree_leaves && bit_words == 1)
		make_tree_masks(a);
	a->tag_words = ways >= TAGS_FROM && ways <= SCAN_MAX ? (a->ways + 7) / 8 : 0;
	a->head_words = whole_words(a->tag_words + 1 + bit_words);
	a->room = xr_calloc(state_words(a) + ALIGN, sizeof *a->word);
	a->word = (uint64_t *)a->room + (ALIGN - (uintptr_t)a->room / sizeof *a->word % ALIGN) % ALIGN;
	a->head = a->word + line_words(a);
	for (uint64_t s = 0; s < sets && xr_policy_kind(policy) == XR_LRU_PLRU; s++)
		bits_of(a, s)[1] = GROUPS_IN_ORDER;
	if (ways > SCAN_MAX)
		a->index = index_new((size_t)sets, (size_t)sets * a->ways);
}

void xr_array_adapt(struct xr_array *a, int rival, uint32_t leaders)
{
	a->rival = rival;
	a->leaders = leaders;
	a->apart = a->sets / leaders;
	a->misses = MISSES_MAX / 2;
}

/* Which policy a set of an adaptive array follows, and with a miss there, what that says. */
static int led_policy(struct xr_array *a, uint64_t set, bool missed)
{
	const uint32_t place = (uint32_t)set % a->apart;
	const bool leads = set < (uint64_t)a->leaders * a->apart;
	if (place == 0 && leads) {
		a->misses += missed && a->misses < MISSES_MAX;
		return a->policy;
	}
	if (place == a->apart / 2 && leads) {
		a->misses -= missed && a->misses > 0;
		return a->rival;
	}
	return a->misses > MISSES_MAX / 2 ? a->rival : a->policy;
}

static inline int policy_of(struct xr_array *a, uint64_t set, bool missed)
{
	return a->rival < 0 ? a->policy : led_policy(a, set, missed);
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
	free(a->room);
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
static uint32_t first_three(const struct xr_array *a, const uint64_t *marks, uint32_t spared)
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
static uint32_t highest_mark(const struct xr_array *a, const uint64_t *marks, uint32_t spared)
{
	uint64_t any = 0;
	for (uint32_t i = 0; i * MARKS < a->ways; i++)
		any |= spared / MARKS == i ? marks[i] & ~(UINT64_C(3) << spared % MARKS * 2) : marks[i];
	return any & EACH_LOW << 1 ? 2 : any ? 1 : 0;
}

/* Adds to all marks, `spared` aside; none becomes more than 3. */
static void raise_marks(const struct xr_array *a, uint64_t *marks, uint32_t by, uint32_t spared)
{
	for (uint32_t i = 0; i * MARKS < a->ways; i++) {
		uint64_t those = low_bits(a, i);
		if (spared / MARKS == i)
			those &= ~(UINT64_C(1) << spared % MARKS * 2);
		marks[i] += those * by;
	}
}

/* The first way without a mark, or NONE. */
static uint32_t first_clear(const struct xr_array *a, const uint64_t *marks)
{
	for (uint32_t i = 0; i * MARKS < a->ways; i++) {
		const uint64_t clear = ~marks[i] & low_bits(a, i);
		if (clear)
			return i * MARKS + (uint32_t)__builtin_ctzll(clear) / 2;
	}
	return NONE;
}

static void clear_marks(const struct xr_array *a, uint64_t *marks)
{
	memset(marks, 0, (a->ways + MARKS - 1) / MARKS * sizeof *marks);
}

static void nru_use(const struct xr_array *a, uint64_t *marks, uint32_t way)
{
	set_mark(marks, way, 1);
	if (first_clear(a, marks) != NONE)
		return;
	clear_marks(a, marks);
	set_mark(marks, way, 1);
}

static uint32_t nru_victim(const struct xr_array *a, const uint64_t *marks)
{
	const uint32_t way = first_clear(a, marks);
	return way == NONE ? 0 : way; /* only with a single way */
}

static uint32_t srrip_victim(const struct xr_array *a, uint64_t *marks)
{
	const uint32_t way = first_three(a, marks, NONE);
	if (way != NONE)
		return way;
	raise_marks(a, marks, 3 - highest_mark(a, marks, NONE), NONE);
	return first_three(a, marks, NONE);
}

/* nru_late: none clear, so all are cleared now. */
static uint32_t nru_late_victim(const struct xr_array *a, uint64_t *marks)
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

/* All grow older, as u0 … u3 have it; `used`: the way just used, or none. */
static void qlru_update(const struct xr_array *a, uint64_t set, uint32_t update, uint32_t used)
{
	uint64_t *marks = bits_of(a, set);
	const uint32_t young = update == 1 ? used : NONE, spared = update == 3 ? used : young;
	/* Empty ways are as old as can be. Where there is one to go nobody grows older. */
	if (*used_of(a, set) < a->ways || first_three(a, marks, young) != NONE || a->ways == 1)
		return;
	raise_marks(a, marks, update < 2 ? 3 - highest_mark(a, marks, young) : 1, spared);
}

static void qlru_use(const struct xr_array *a, int policy, uint64_t set, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const uint32_t age = mark_of(bits_of(a, set), way);
	set_mark(bits_of(a, set), way, age == 3 ? q.hit3 : age == 2 ? q.hit2 : 0);
	if (!q.misses_only)
		qlru_update(a, set, q.update, way);
}

static uint32_t qlru_victim(const struct xr_array *a, int policy, uint64_t set)
{
	if (xr_policy_qlru_of(policy).misses_only)
		qlru_update(a, set, xr_policy_qlru_of(policy).update, NONE);
	const uint32_t way = first_three(a, bits_of(a, set), NONE);
	return way == NONE ? 0 : way;
}

static void qlru_fill(const struct xr_array *a, int policy, uint64_t set, uint32_t way)
{
	const struct xr_qlru q = xr_policy_qlru_of(policy);
	const bool rare = q.rarely != q.miss && !xr_rng_below(a->rng, 16);
	set_mark(bits_of(a, set), way, rare ? q.rarely : q.miss);
	if (!q.misses_only)
		qlru_update(a, set, q.update, way);
}

/* ---- all of them ---- */

static uint32_t victim_way(const struct xr_array *a, int policy, uint64_t set)
{
	switch (xr_policy_kind(policy)) {
	case XR_PLRU:
		return tree_victim(a, bits_of(a, set));
	case XR_NRU:
	case XR_MRU_N:
		return nru_victim(a, bits_of(a, set));
	case XR_NRU_LATE:
		return nru_late_victim(a, bits_of(a, set));
	case XR_LRU_PLRU:
		return group_victim(a, bits_of(a, set));
	case XR_QLRU:
		return qlru_victim(a, policy, set);
	case XR_SRRIP:
		return srrip_victim(a, bits_of(a, set));
	case XR_RANDOM:
		return (uint32_t)xr_rng_below(a->rng, a->ways);
	default:
		return a->index ? a->index->oldest[set] - (uint32_t)(set * a->ways) : a->ways - 1;
	}
}

static inline bool by_age(const struct xr_array *a)
{
	return xr_policy_by_age(a->policy);
}

static bool has_marks(const struct xr_array *a)
{
	const enum xr_policy kind = xr_policy_kind(a->policy);
	return !by_age(a) && kind != XR_PLRU && kind != XR_LRU_PLRU;
}

/* Makes the way-th word the first of its set. */
static uint64_t *move_to_front(struct xr_array *a, uint64_t set, uint32_t way)
{
	uint64_t *lines = a->word + set * a->ways, line = lines[way];
	if (!way)
		return lines;
	memmove(lines + 1, lines, way * sizeof *lines);
	lines[0] = line;
	if (a->tag_words)
		push_tag(head_of(a, set), way, tag_of(head_of(a, set), way));
	return lines;
}

/* ---- the interface ---- */

uint64_t *xr_array_use(struct xr_array *a, uint64_t set, uint64_t *line)
{
	const uint32_t way = (uint32_t)(line - (a->word + set * a->ways));
	const int policy = policy_of(a, set, false);
	switch (xr_policy_kind(policy)) {
	case XR_LRU:
		if (!a->index)
			return move_to_front(a, set, way);
		unlink_line(a->index, set, (uint32_t)(line - a->word));
		link_newest(a->index, set, (uint32_t)(line - a->word));
		break;
	case XR_PLRU:
		tree_use(a, bits_of(a, set), way);
		break;
	case XR_MRU_N:
		if (*used_of(a, set) < a->ways)
			break; /* fall through */
	case XR_NRU:
		if (!mark_of(bits_of(a, set), way))
			nru_use(a, bits_of(a, set), way);
		break;
	case XR_NRU_LATE:
		set_mark(bits_of(a, set), way, 1);
		break;
	case XR_SRRIP:
		set_mark(bits_of(a, set), way, 0);
		break;
	case XR_LRU_PLRU:
		group_use(a, bits_of(a, set), way);
		break;
	case XR_QLRU:
		qlru_use(a, policy, set, way);
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
	return a->tag_words ? !tag_of(head_of(a, set), way) : !(a->word[set * a->ways + way] & XR_LINE_THERE);
}

/* First empty way (some take the last), or ways when the set is full. */
static uint32_t empty_way(const struct xr_array *a, int policy, uint64_t set)
{
	uint32_t w = (uint32_t)*used_of(a, set);
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

static inline uint64_t *filled(struct xr_array *a, int policy, uint64_t set, uint64_t *lines, uint32_t way,
                               bool was_full)
{
	if (a->index) {
		uint64_t i = hash(lines[way] & XR_LINE_KEY) & a->index->slot_mask;
		uint32_t at = (uint32_t)(lines + way - a->word);
		while (a->index->slot[i])
			i = (i + 1) & a->index->slot_mask;
		a->index->slot[i] = at + 1;
		if (by_age(a))
			link_newest(a->index, set, at);
	}
	uint64_t *bits = bits_of(a, set);
	switch (xr_policy_kind(policy)) {
	case XR_PLRU:
		tree_use(a, bits, way);
		break;
	case XR_MRU_N:
	case XR_NRU:
		set_mark(bits, way, 0);
		if (was_full || xr_policy_kind(policy) == XR_NRU)
			nru_use(a, bits, way);
		break;
	case XR_NRU_LATE:
		set_mark(bits, way, 1);
		break;
	case XR_SRRIP:
		set_mark(bits, way, 2);
		break;
	case XR_RANDOM:
		set_mark(bits, way, 0);
		break;
	case XR_LRU_PLRU:
		group_use(a, bits, way);
		break;
	case XR_QLRU:
		qlru_fill(a, policy, set, way);
		break;
	default:
		break;
	}
	return lines + way;
}

static struct xr_victim victim_of(uint64_t line)
{
	return (struct xr_victim){true, (line & XR_LINE_DIRTY) != 0, line & XR_LINE_KEY};
}

/* Where words stand in order of age: the newest goes first, the last one leaves a set that is full. */
static uint64_t *put_first(struct xr_array *a, uint64_t set, uint64_t key, struct xr_victim *victim)
{
	uint64_t *lines = a->word + set * a->ways, *used = used_of(a, set);
	const bool full = *used == a->ways;
	const uint32_t last = full ? a->ways - 1 : (uint32_t)*used;
	victim->there = false;
	if (full)
		*victim = victim_of(lines[last]);
	memmove(lines + 1, lines, last * sizeof *lines);
	lines[0] = key | XR_LINE_THERE;
	if (a->tag_words)
		push_tag(head_of(a, set), last, xr_array_tag(key));
	*used += !full;
	return lines;
}

uint64_t *xr_array_put(struct xr_array *a, uint64_t set, uint64_t key, struct xr_victim *victim)
{
	if (by_age(a) && !a->index)
		return put_first(a, set, key, victim);
	uint64_t *lines = a->word + set * a->ways;
	const int policy = policy_of(a, set, true);
	uint32_t way = empty_way(a, policy, set);
	victim->there = false;
	if (way == a->ways) {
		way = victim_way(a, policy, set);
		*victim = victim_of(lines[way]);
		if (a->index)
			take_out_of_index(a, set, lines + way);
	}
	lines[way] = key | XR_LINE_THERE;
	if (a->tag_words)
		set_tag(head_of(a, set), way, xr_array_tag(key));
	*used_of(a, set) += !victim->there;
	return filled(a, policy, set, lines, way, victim->there);
}

void xr_array_drop(struct xr_array *a, uint64_t set, uint64_t *line)
{
	if (!(*line & XR_LINE_THERE))
		return;
	uint64_t *first = a->word + set * a->ways, *head = head_of(a, set);
	uint32_t way = (uint32_t)(line - first);
	--*used_of(a, set);
	if (a->index)
		take_out_of_index(a, set, line);
	else if (by_age(a)) /* empty ways stand at the end */
		for (; way + 1 < a->ways; way++) {
			first[way] = first[way + 1];
			if (a->tag_words)
				set_tag(head, way, tag_of(head, way + 1));
		}
	first[way] = 0;
	if (a->tag_words)
		set_tag(head, way, 0);
	if (has_marks(a))
		set_mark(bits_of(a, set), way, 0);
}

bool xr_array_repeats(const struct xr_array *a, struct xr_array_past *past)
{
	const size_t words = state_words(a);
	if (a->index || a->rival >= 0 || xr_policy_is_random(a->policy))
		return false;
	const bool same = past->word && !memcmp(past->word, a->word, words * sizeof *a->word);
	if (!past->word)
		past->word = xr_calloc(words, sizeof *past->word);
	memcpy(past->word, a->word, words * sizeof *a->word);
	return same;
}

void xr_array_past_release(struct xr_array_past *past)
{
	free(past->word);
	past->word = NULL;
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
