/* What happens in one set of a cache (or TLB) when more lines are visited than it has ways.
 *
 * Code walks visit their blocks in fresh random permutations. A set of A ways that n of the blocks fall into then
 * misses on a share of the visits that is 0 up to n = A and rises from there on, steeply at first, whatever the
 * replacement policy: at n = A + 1 by 1.6 / (A + 1) (random, fifo) to 3.5 / (A + 1) (lru), at n = 2 A to 0.65 .. 0.88.
 * So A can be decided from the whole curve, and not only from the one noisy point where it begins to rise.
 */
#ifndef XR_METHOD_OVERFLOW_H
#define XR_METHOD_OVERFLOW_H

#include "util/arena.h"

#include <stddef.h>

enum xr_overflow { XR_OVERFLOW_LRU, XR_OVERFLOW_FIFO, XR_OVERFLOW_RANDOM };

/* Shares that were asked for before: a fit asks for hundreds, and the next one for the same. Lives as long as its arena. */
struct xr_overflow_memo;
struct xr_overflow_memo *xr_overflow_memo(struct xr_arena *arena);

/* Share of visits that miss: n lines in one set of `ways`. */
double xr_overflow_share(struct xr_overflow_memo *memo, enum xr_overflow policy, unsigned ways, unsigned n);

/* excess[i]: time per visit with n[i] lines in a set, less that of a twin without conflicts. Finds the ways between
 * `lo` and `hi` for which a curve of the above kind comes closest. */
struct xr_overflow_fit {
	unsigned ways;
	double penalty;   /* time of a miss, in the unit of excess */
	double misfit;    /* mean absolute distance of the points from the curve, as a share of penalty */
	double margin;    /* how much further away the next best number of ways is: its misfit less this one's */
};
struct xr_overflow_fit xr_overflow_fit(struct xr_overflow_memo *memo, const unsigned *n, const double *excess,
                                       size_t points, unsigned lo, unsigned hi);

#endif
