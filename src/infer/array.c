/* SPDX-License-Identifier: MIT */
#include "infer/array.h"

#include "infer/array_index.h"
#include "infer/array_set.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

enum { SCAN_MAX = 64 }; /* more ways than this are not scanned but indexed */
enum { TAGS_FROM = 4 }; /* ways: fewer are compared as quickly */
enum { ALIGN = 8 };     /* words: a set of eight lies in one line of the machine at hand */

/* So that no head of a few words lies in two lines of the machine at hand. */
static uint32_t whole_words(uint32_t words)
{
	uint32_t whole = 1;
	while (whole < words)
		whole *= 2;
	return whole <= ALIGN ? whole : words;
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
		a->index = xr_array_index_new((size_t)sets, (size_t)sets * a->ways);
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
	xr_array_index_release(a->index);
	free(a->tree_set);
	free(a->tree_clear);
	free(a->room);
	*a = (struct xr_array){0};
}

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
		return a->index ? xr_array_index_oldest(a->index, set) - (uint32_t)(set * a->ways) : a->ways - 1;
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
		xr_array_index_unlink(a->index, set, (uint32_t)(line - a->word));
		xr_array_index_link(a->index, set, (uint32_t)(line - a->word));
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
	const uint32_t at = (uint32_t)(line - a->word);
	xr_array_index_remove(a, at);
	if (by_age(a))
		xr_array_index_unlink(a->index, set, at);
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
		const uint32_t at = (uint32_t)(lines + way - a->word);
		xr_array_index_add(a, at);
		if (by_age(a))
			xr_array_index_link(a->index, set, at);
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
