/* SPDX-License-Identifier: MIT */
/* Arrays with a plain index (neighbouring lines go to neighbouring sets, whatever their number), where times
 * repeat exactly: what fits misses never, what does not fit misses in every lap, whatever the policy, and one
 * look tells which.
 *
 * Ways: how many lines fit that are a large power of two apart; the way: the least such distance for which it is
 * as many. Where the number of sets is no power of two these lines are in several sets: then fewer, an odd
 * multiple of that apart, do not fit.
 */
#ifndef XR_METHOD_REGULAR_H
#define XR_METHOD_REGULAR_H

#include <stdbool.h>
#include <stdint.h>

/* n lines `stride` bytes apart, then `more` of them, `delta` further on. */
struct xr_rows {
	uint64_t stride, delta;
	unsigned n, more;
};

struct xr_regular {
	int (*fits)(void *self, const struct xr_rows *rows, bool *fit); /* 0, or -1 as xr_run_time() */
	void *self;
	uint64_t unit;    /* the least stride: a line, a page */
	uint64_t largest; /* a stride that is surely a multiple of the way, if that is a power of two */
	uint64_t room;    /* bytes of the buffer */
	unsigned most;    /* ways tried */
	uint64_t way;     /* result, bytes; */
	unsigned ways;    /* 0: the index is not plain, or there is nothing to be seen */
};

int xr_regular_find(struct xr_regular *regular);

/* The distance from which as many lines again fit, too, at least `unit`; *line 0: none up to `most`. */
int xr_regular_line(const struct xr_regular *regular, uint64_t most, uint64_t *line);

#endif
