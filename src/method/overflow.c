#include "method/overflow.h"

#include "util/rng.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { POLICIES = 3, VISITS = 4000, SETTLE = 6, HARD_TO_TELL = 32 };

/* ---- shares of misses ------------------------------------------------------------------------------------------ */

/* lru, exactly. A permutation is a draw of one uniform number for each line: a line that came at u in one lap and comes at
 * v in the next finds itself thrown out unless n - ways or more of the n - 1 others came before u and come after v, each
 * with the chance w = u (1 - v). Over all w, k of them do with the chance (H(n) - H(k)) / n, where H are the harmonic
 * numbers. */
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

/* fifo and random replacement, by trial: lines in a ring of slots, of which the next one or any is the victim. */
static double trial_share(struct xr_arena *arena, enum xr_overflow policy, unsigned ways, unsigned n)
{
	unsigned *line = xr_arena_array(arena, unsigned, (size_t)ways + 2 * (size_t)n);
	unsigned *slot = line + ways, *order = slot + n, next = 0; /* slot of a line; `ways`: not there */
	struct xr_rng rng = {.state = n * UINT64_C(4096) + ways};
	assert(n > 0);
	const unsigned laps = VISITS / n + 1;
	unsigned long misses = 0;

	for (unsigned i = 0; i < n; i++) {
		order[i] = i;
		slot[i] = i < ways ? i : ways;
		if (i < ways)
			line[i] = i;
	}
	for (unsigned lap = 0; lap < laps + SETTLE; lap++)
		for (unsigned i = 0; i < n; i++) {
			unsigned j = i + (unsigned)xr_rng_below(&rng, n - i), now = order[j];
			order[j] = order[i];
			order[i] = now;
			if (slot[now] < ways)
				continue;
			misses += lap >= SETTLE;
			unsigned victim = policy == XR_OVERFLOW_RANDOM ? (unsigned)xr_rng_below(&rng, ways) : next;
			next = next + 1 == ways ? 0 : next + 1;
			slot[line[victim]] = ways;
			line[victim] = now;
			slot[now] = victim;
		}
	return (double)misses / ((double)laps * n);
}

/* A hash table from what was asked to the answer. */
struct xr_overflow_memo {
	struct xr_arena *arena;
	struct entry {
		uint64_t key; /* 0: free */
		double share;
	} * entry;
	size_t n, room; /* a power of two */
};

struct xr_overflow_memo *xr_overflow_memo(struct xr_arena *arena)
{
	struct xr_overflow_memo *memo = xr_arena_alloc(arena, sizeof *memo);
	*memo = (struct xr_overflow_memo){.arena = arena, .room = 512};
	memo->entry = xr_arena_array(arena, struct entry, memo->room);
	return memo;
}

static struct entry *place_of(const struct xr_overflow_memo *memo, uint64_t key)
{
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
	while (memo->entry[at & (memo->room - 1)].key && memo->entry[at & (memo->room - 1)].key != key)
		at++;
	return &memo->entry[at & (memo->room - 1)];
}

static void grow(struct xr_overflow_memo *memo)
{
	struct entry *old = memo->entry;
	size_t n = memo->room;
	memo->room *= 2;
	memo->entry = xr_arena_array(memo->arena, struct entry, memo->room);
	for (size_t i = 0; i < n; i++)
		if (old[i].key)
			*place_of(memo, old[i].key) = old[i];
}

double xr_overflow_share(struct xr_overflow_memo *memo, enum xr_overflow policy, unsigned ways, unsigned n)
{
	if (n <= ways || ways == 0)
		return n <= ways ? 0.0 : 1.0;
	const uint64_t key = (uint64_t)(policy + 1) << 48 | (uint64_t)ways << 24 | n;
	struct entry *entry = place_of(memo, key);
	if (!entry->key) {
		*entry = (struct entry){key, policy == XR_OVERFLOW_LRU ? lru_share(ways, n)
		                                                       : trial_share(memo->arena, policy, ways, n)};
		if (++memo->n > memo->room / 2) {
			grow(memo);
			entry = place_of(memo, key);
		}
	}
	return entry->share;
}

/* ---- the fit --------------------------------------------------------------------------------------------------- */

/* Least squares over the policies in `mask`: excess = sum of weight[p] * share[p]. False: some weight is negative. */
static bool weigh(double *const *share, const double *excess, size_t points, unsigned mask, double weight[POLICIES])
{
	double m[POLICIES][POLICIES + 1] = {{0}};
	for (int r = 0; r < POLICIES; r++) {
		bool in = mask & 1u << r;
		m[r][r] = in ? 1e-9 : 1; /* a hair of ridge: for one way all policies are the same */
		for (size_t i = 0; in && i < points; i++) {
			for (int c = 0; c < POLICIES; c++)
				m[r][c] += mask & 1u << c ? share[r][i] * share[c][i] : 0;
			m[r][POLICIES] += share[r][i] * excess[i];
		}
	}
	for (int p = 0; p < POLICIES; p++)
		for (int r = 0; r < POLICIES; r++) {
			double factor = m[r][p] / m[p][p];
			for (int c = p; r != p && c <= POLICIES; c++)
				m[r][c] -= factor * m[p][c];
		}
	for (int p = 0; p < POLICIES; p++) {
		weight[p] = m[p][POLICIES] / m[p][p];
		if (!(weight[p] >= 0))
			return false;
	}
	return true;
}

/* Real policies lie between the three: the best mixture, its penalty and its misfit. */
static double misfit_of(struct xr_overflow_memo *memo, unsigned ways, const unsigned *n, const double *excess,
                        size_t points, double *const *share, double *penalty)
{
	double best = INFINITY, weight[POLICIES];
	for (int policy = 0; policy < POLICIES; policy++)
		for (size_t i = 0; i < points; i++)
			share[policy][i] = xr_overflow_share(memo, (enum xr_overflow)policy, ways, n[i]);
	for (unsigned mask = 1; mask < 1u << POLICIES; mask++) {
		if (!weigh(share, excess, points, mask, weight))
			continue;
		double sum = 0, full = weight[0] + weight[1] + weight[2];
		for (size_t i = 0; i < points; i++)
			sum += fabs(excess[i] - weight[0] * share[0][i] - weight[1] * share[1][i] -
			            weight[2] * share[2][i]);
		double here = full > 0 ? sum / (double)points / full : INFINITY;
		if (here < best) {
			best = here;
			*penalty = full;
		}
	}
	return best;
}

/* How round a number is: the largest power of two in it. */
static unsigned roundness(unsigned x)
{
	return x & (~x + 1);
}

struct xr_overflow_fit xr_overflow_fit(struct xr_overflow_memo *memo, const unsigned *n, const double *excess,
                                       size_t points, unsigned lo, unsigned hi)
{
	struct xr_arena *arena = memo->arena;
	struct xr_overflow_fit best = {.misfit = INFINITY, .margin = INFINITY};
	double *share[POLICIES], *misfit = xr_arena_array(arena, double, hi - lo + 1);
	double *penalty = xr_arena_array(arena, double, hi - lo + 1);

	for (int i = 0; i < POLICIES; i++)
		share[i] = xr_arena_array(arena, double, points);
	for (unsigned ways = lo; ways <= hi; ways++) {
		misfit[ways - lo] = misfit_of(memo, ways, n, excess, points, share, &penalty[ways - lo]);
		if (misfit[ways - lo] < best.misfit)
			best = (struct xr_overflow_fit){.ways = ways, .misfit = misfit[ways - lo]};
	}
	/* Neighbours among large numbers can hardly be told apart: of those that fit alike, the roundest. */
	double alike = best.ways > HARD_TO_TELL ? best.misfit * 1.15 + 0.002 : best.misfit;
	for (unsigned ways = lo; ways <= hi; ways++)
		if (misfit[ways - lo] <= alike && roundness(ways) > roundness(best.ways))
			best.ways = ways;
	best.misfit = misfit[best.ways - lo];
	best.penalty = penalty[best.ways - lo];
	for (unsigned ways = lo; ways <= hi; ways++)
		if (misfit[ways - lo] > alike)
			best.margin = fmin(best.margin, misfit[ways - lo] - best.misfit);
	return best;
}
