/* SPDX-License-Identifier: MIT */
/* Do two latencies explain how long laps take, or is there a level between them?
 *
 * Laps go over more and more bytes, in random order. Let there be a cache of C bytes that answers after `near`, and behind
 * it only what answers after `far`. Of a lap over S bytes it holds no more than C, whatever its policy (Bélády), so
 *
 *   t(S) >= far - (far - near) C / S,   or   C >= S (far - t(S)) / (far - near).
 *
 * Each point says how large C must be at least; and a lap that fits into half of that misses nothing, or, where an index
 * spreads lines by chance, a smaller share than it does at S: with w ways per set, lines in sets with too many of them are
 * of order S^w, so at least half as many of half as many (w = 1). A lap that is too slow for that is served by something
 * else, and so is the one at S.
 *
 * Others on the machine make laps slower, never quicker, and a larger lap is never quicker than a smaller one: so the least
 * time of all laps at least as large counts.
 */
#ifndef XR_INFER_BETWEEN_H
#define XR_INFER_BETWEEN_H

#include <stdbool.h>
#include <stddef.h>

struct xr_between {
	double latency;      /* of the level */
	double small, large; /* the laps that say so */
	double holds;        /* the largest lap that it serves, of those there are */
};

/* n laps, by size. least: how much slower than `near` something must be to be something else. */
bool xr_between_find(const double *size, const double *time, size_t n, double near, double far, double least,
                     struct xr_between *between);

#endif
