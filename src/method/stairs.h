/* SPDX-License-Identifier: MIT */
/* Staircases: how far out a page is after more and more others have been visited.
 *
 * It stays in a level until enough of the others share its sets, and then is in the next, so the times are those of the
 * levels, with sharp steps between them, where a walk over all pages shows the average of many such steps.
 */
#ifndef XR_METHOD_STAIRS_H
#define XR_METHOD_STAIRS_H

#include "method/evict.h"
#include "method/walk.h"

enum { XR_STAIRS_MAX = 40 };
#define XR_STAIRS_FLAT 0.11 /* neighbouring steps of one level differ by at most this */

struct xr_staircase {
	double pages[XR_STAIRS_MAX], cycles[XR_STAIRS_MAX];
	size_t n;
	double noise;     /* of each step, cycles */
	double range;     /* of a few repetitions of the first one */
	double hit;       /* latency of the first level */
	size_t least;     /* steps that make a flat stretch */
	bool far;         /* made by xr_staircase_far() */
	uint64_t block;   /* bytes of the others, if made by xr_staircase_near() */
	bool disturbed;   /* somebody else used the core most of the time */
};

/* Are all lines of x there when the staircase is at this level? Where only some of them have left the nearer
 * level, the mean looks like a level of its own. near, far: the levels on both sides. calm: nobody else throws
 * lines out. *vote: 1, -1; 0: the staircase was never there. */
int xr_staircase_check(const struct xr_evict *evict, uint32_t x, const uint32_t *order, const struct xr_staircase *stairs,
                       double near, double level, double far, bool calm, int *vote);

/* One staircase of page x; the others are taken from `order`. hit: latency of the first level; top: of the last
 * one that such a staircase has come to, 0: not known. */
int xr_staircase_climb(const struct xr_evict *evict, uint32_t x, const uint32_t *order, size_t n, double hit,
                       double top, struct xr_staircase *stairs);

/* One of the first page, the others being blocks, all lines of them, of `reach` bytes and a few pages: sees
 * levels that so few overflow. */
int xr_staircase_near(const struct xr_evict *evict, uint64_t reach, double hit, struct xr_staircase *stairs);

/* Not one page, but all of them: random walks over all lines of `from` to `to` bytes, the cost of translation
 * taken off. Rounds the steps, but sees levels that no set of pages fills. Goes on beyond `to`, up to `most`,
 * until it is flat or far beyond the farthest latency known. */
int xr_staircase_far(const struct xr_walk *walk, uint64_t from, uint64_t to, uint64_t most, double known,
                     struct xr_staircase *stairs);

#endif
