#include "method/overflow.h"

#include "util/rng.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { POLICIES = 3, VISITS = 8000, SETTLE = 6, HARD_TO_TELL = 32 };

/* One set under a policy that keeps its lines in a ring: the victim is the line at the tail (lru: hits move to the
 * head; fifo: they stay) or any (random). All steps take constant time, since the fit asks for hundreds of shares. */
struct ring {
	enum xr_overflow policy;
	unsigned ways, head;
	unsigned *next, *prev; /* of slots */
	unsigned *line;        /* in a slot */
	unsigned *slot;        /* of a line; `ways`: not there */
	struct xr_rng rng;
};

static void to_head(struct ring *r, unsigned s)
{
	if (s == r->head)
		return;
	r->next[r->prev[s]] = r->next[s];
	r->prev[r->next[s]] = r->prev[s];
	unsigned tail = r->prev[r->head];
	r->next[tail] = s;
	r->prev[s] = tail;
	r->next[s] = r->head;
	r->prev[r->head] = s;
	r->head = s;
}

static unsigned visit(struct ring *r, unsigned line)
{
	unsigned s = r->slot[line];
	if (s < r->ways) {
		if (r->policy == XR_OVERFLOW_LRU)
			to_head(r, s);
		return 0;
	}
	s = r->policy == XR_OVERFLOW_RANDOM ? (unsigned)xr_rng_below(&r->rng, r->ways) : r->prev[r->head];
	r->slot[r->line[s]] = r->ways;
	r->line[s] = line;
	r->slot[line] = s;
	to_head(r, s);
	return 1;
}

/* By trial: it is exact enough at once, for every policy. */
double xr_overflow_share(struct xr_arena *arena, enum xr_overflow policy, unsigned ways, unsigned n)
{
	if (n <= ways || ways == 0)
		return n <= ways ? 0.0 : 1.0;
	unsigned *memory = xr_arena_array(arena, unsigned, 3 * (size_t)ways + 2 * (size_t)n);
	unsigned *order = memory + 3 * (size_t)ways + n;
	struct ring r = {
		.policy = policy,
		.ways = ways,
		.next = memory,
		.prev = memory + ways,
		.line = memory + 2 * (size_t)ways,
		.slot = memory + 3 * (size_t)ways,
		.rng = {.state = n * UINT64_C(4096) + ways},
	};
	for (unsigned s = 0; s < ways; s++) {
		r.next[s] = (s + 1) % ways;
		r.prev[s] = (s + ways - 1) % ways;
		r.line[s] = s;
	}
	for (unsigned i = 0; i < n; i++) {
		order[i] = i;
		r.slot[i] = i < ways ? i : ways;
	}
	const unsigned laps = VISITS / n + 1;
	unsigned long misses = 0;
	for (unsigned lap = 0; lap < laps + SETTLE; lap++)
		for (unsigned i = 0; i < n; i++) {
			unsigned j = i + (unsigned)xr_rng_below(&r.rng, n - i), line = order[j];
			order[j] = order[i];
			order[i] = line;
			unsigned miss = visit(&r, line);
			misses += lap >= SETTLE ? miss : 0;
		}
	return (double)misses / ((double)laps * n);
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
static double misfit_of(struct xr_arena *arena, unsigned ways, const unsigned *n, const double *excess, size_t points,
                        double *const *share, double *penalty)
{
	double best = INFINITY, weight[POLICIES];
	for (int policy = 0; policy < POLICIES; policy++)
		for (size_t i = 0; i < points; i++)
			share[policy][i] = xr_overflow_share(arena, (enum xr_overflow)policy, ways, n[i]);
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

struct xr_overflow_fit xr_overflow_fit(struct xr_arena *arena, const unsigned *n, const double *excess, size_t points,
                                       unsigned lo, unsigned hi)
{
	struct xr_overflow_fit best = {.misfit = INFINITY, .margin = INFINITY};
	double *share[POLICIES], *misfit = xr_arena_array(arena, double, hi - lo + 1);
	double *penalty = xr_arena_array(arena, double, hi - lo + 1);

	for (int i = 0; i < POLICIES; i++)
		share[i] = xr_arena_array(arena, double, points);
	for (unsigned ways = lo; ways <= hi; ways++) {
		misfit[ways - lo] = misfit_of(arena, ways, n, excess, points, share, &penalty[ways - lo]);
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
