/* SPDX-License-Identifier: MIT */
/* How many visits miss in one set, when its lines are visited in fresh random permutations, lap after lap.
 *
 * 0 up to as many lines as there are ways; from then on it rises, steeply at first, whatever the policy: with one
 * line too many by 1.6 / (ways + 1) under random replacement to 3.5 / (ways + 1) under LRU, with twice as many to
 * 0.65 … 0.88.
 */
#ifndef XR_INFER_MISSES_H
#define XR_INFER_MISSES_H

#include "util/arena.h"

/* Shares that were asked for before: a belief asks for the same ones again and again. Lives as long as its arena. */
struct xr_misses;
struct xr_misses *xr_misses_new(struct xr_arena *arena);

/* Share of visits that miss: n lines in one set of `ways` under a policy of infer/policy.h. */
double xr_misses_share(struct xr_misses *misses, int policy, unsigned ways, unsigned n);

#endif
