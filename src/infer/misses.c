/* SPDX-License-Identifier: MIT */
#include "infer/misses.h"

#include "infer/array.h"

#include <stdint.h>

enum {
	VISITS = 1500, /* counted: shares are known to 1 / sqrt(VISITS), less than what real policies differ by */
	SETTLE = 4,    /* laps before that */
	ROOM = 512,
};

/* A hash table from what was asked to the answer. */
struct xr_misses {
	struct xr_arena *arena;
	struct entry {
		uint64_t key; /* 0: free */
		double share;
	} * entry;
	size_t n, room; /* a power of two */
};

/* LRU, exactly. A permutation is a draw of one uniform number for each line: a line that came at u in one lap and comes
 * at v in the next finds itself thrown out unless n - ways or more of the n - 1 others came before u and come after v,
 * each with the chance w = u (1 - v). Over all w, k of them do with the chance (H(n) - H(k)) / n, where H are the
 * harmonic numbers. */
static double lru_share(unsigned ways, unsigned n)
{
	double all = 0, some = 0, sum = 0;
	for (unsigned k = 1; k <= n; k++)
		all += 1.0 / k;
	for (unsigned k = 0; k < n - ways; k++) {
		some += k ? 1.0 / k : 0;
		sum += (all - some) / n;
	}
	return sum;
}

/* The others, by trial. */
static double trial_share(struct xr_arena *arena, int policy, unsigned ways, unsigned n)
{
	struct xr_rng rng = {.state = n * UINT64_C(4096) + ways};
	struct xr_array array;
	struct xr_victim victim;
	const unsigned laps = VISITS / n + 1;
	unsigned *order = xr_arena_array(arena, unsigned, n);
	unsigned long misses = 0;

	xr_array_init(&array, 1, ways, policy, &rng);
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned lap = 0; lap < laps + SETTLE; lap++)
		for (unsigned i = 0; i < n; i++) {
			const unsigned j = i + (unsigned)xr_rng_below(&rng, n - i), now = order[j];
			order[j] = order[i];
			order[i] = now;
			uint64_t *line = xr_array_find(&array, 0, now);
			if (line)
				xr_array_use(&array, 0, line);
			else
				xr_array_put(&array, 0, now, &victim);
			misses += !line && lap >= SETTLE;
		}
	xr_array_release(&array);
	return (double)misses / ((double)laps * n);
}

struct xr_misses *xr_misses_new(struct xr_arena *arena)
{
	struct xr_misses *m = xr_arena_alloc(arena, sizeof *m);
	*m = (struct xr_misses){.arena = arena, .room = ROOM};
	m->entry = xr_arena_array(arena, struct entry, m->room);
	return m;
}

static struct entry *place_of(const struct xr_misses *m, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	while (m->entry[at & (m->room - 1)].key && m->entry[at & (m->room - 1)].key != key)
		at++;
	return &m->entry[at & (m->room - 1)];
}

static void grow(struct xr_misses *m)
{
	struct entry *old = m->entry;
	const size_t n = m->room;
	m->room *= 2;
	m->entry = xr_arena_array(m->arena, struct entry, m->room);
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*place_of(m, old[i].key) = old[i];
}

double xr_misses_share(struct xr_misses *m, int policy, unsigned ways, unsigned n)
{
	if (n <= ways || ways == 0)
		return n <= ways ? 0.0 : 1.0;
	if (ways == 1) /* all are alike */
		policy = XR_LRU;
	const uint64_t key = (uint64_t)(policy + 1) << 48 | (uint64_t)ways << 24 | n;
	struct entry *entry = place_of(m, key);
	if (!entry->key) {
		*entry = (struct entry){key,
		                        policy == XR_LRU ? lru_share(ways, n) : trial_share(m->arena, policy, ways, n)};
		if (++m->n > m->room / 2) {
			grow(m);
			entry = place_of(m, key);
		}
	}
	return entry->share;
}
