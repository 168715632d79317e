/* SPDX-License-Identifier: MIT */
#include "infer/misses.h"

#include "infer/array.h"

#include <math.h>
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
 * at v in the next finds itself evicted unless n - ways or more of the n - 1 others came before u and come after v,
 * each with the chance w = u (1 - v). Over all w, k of them do with the chance (H(n) - H(k)) / n, where H are the
 * harmonic numbers; their sum over k below n - ways is closed again. */
static double harmonic(unsigned n)
{
	double sum = 0, x = n;
	if (n > 20) /* Euler: what is left out is below 1e-7 */
		return log(x) + 0.57721566490153286 + 1 / (2 * x) - 1 / (12 * x * x);
	for (unsigned k = 1; k <= n; k++)
		sum += 1.0 / k;
	return sum;
}

static double lru_share(unsigned ways, unsigned n)
{
	const unsigned k = n - ways;
	return k * (1 + harmonic(n) - harmonic(k)) / n;
}

/* Random replacement. Between two visits of a line n (1 - u + v) others come, of which a share m misses, and each
 * of those throws it out with the chance 1 / ways. Over all u and v it is still there with the chance ((1 -
 * exp(-a)) / a)^2, where a = -m n log(1 - 1 / ways); and that is 1 - m. With n - 1/2 for n, trials agree within
 * 0.02 from eight ways on. */
enum { RANDOM_BY_LAW = 8 };

static double random_share(unsigned ways, unsigned n)
{
	double low = 0, high = 1;
	for (int i = 0; i < 20; i++) {
		const double m = (low + high) / 2, a = -m * (n - 0.5) * log1p(-1.0 / ways);
		const double there = -expm1(-a) / a;
		if (1 - there * there > m)
			low = m;
		else
			high = m;
	}
	return low;
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

static double share_of(const struct xr_misses *m, int policy, unsigned ways, unsigned n)
{
	if (policy == XR_LRU)
		return lru_share(ways, n);
	if (policy == XR_RANDOM && ways >= RANDOM_BY_LAW)
		return random_share(ways, n);
	return trial_share(m->arena, policy, ways, n);
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
		*entry = (struct entry){key, share_of(m, policy, ways, n)};
		if (++m->n > m->room / 2) {
			grow(m);
			entry = place_of(m, key);
		}
	}
	return entry->share;
}
