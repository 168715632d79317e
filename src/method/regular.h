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
	unsigned groups; /* of each line so many, `apart` bytes one from the other; 0, 1: only itself */
	uint64_t apart;
};

struct xr_regular {
	int (*fits)(void *self, const struct xr_rows *rows, bool *fit); /* 0, or -1 as xr_run_time() */
	void *self;
	uint64_t unit;    /* the least stride: a line, a page */
	uint64_t largest; /* a stride that is surely a multiple of the way, if that is a power of two */
	uint64_t room;    /* bytes of the buffer */
	unsigned most;    /* ways tried */
	unsigned groups;  /* as in xr_rows */
	uint64_t apart;
	uint64_t way;     /* result, bytes; */
	unsigned ways;    /* 0: the index is not plain, or there is nothing to be seen */
};

int xr_regular_find(struct xr_regular *regular);

/* The same of a level behind another one, of which a way has `apart` bytes. Lines of one set may all be in the level before (it
 * has more ways), or some (it hands on what it evicts): then more of them seem to fit. Groups of lines that share a set there,
 * and have one each here, tell: however many are in a group, as many groups fit as there are ways. */
int xr_regular_find_behind(struct xr_regular *regular, uint64_t apart);

/* The distance from which as many lines again fit, too, at least `unit`; *line 0: none up to `most`. */
int xr_regular_line(const struct xr_regular *regular, uint64_t most, uint64_t *line);

#endif
