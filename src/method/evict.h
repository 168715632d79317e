/* SPDX-License-Identifier: MIT */
/* Eviction: how far from the core is a page after others have been visited?
 *
 * The pages of a buffer are items; of each, the same few lines are used. What decides which set of a cache a line
 * goes to is its place in the page, equal for all items, and the page's physical place, which nobody knows: so
 * all the lines of an item go with it, and one probe reads several of them, enough for any clock.
 *
 * The script: read the lines of item x; visit the others; read another line of x's page, so that its translation
 * is at hand; read the lines of x, timed.
 */
#ifndef XR_METHOD_EVICT_H
#define XR_METHOD_EVICT_H

#include "method/peace.h"

struct xr_evict {
	struct xr_run *run;
	struct xr_buffer buffer;
	uint64_t page;            /* granularity of translation; 0: none */
	uint64_t item;            /* bytes from one item to the next */
	uint64_t line;            /* bytes */
	uint32_t lines;           /* used of each item, 2 to 8; fewer when there are many items */
	uint64_t block;           /* >0: the others are all lines of blocks of this size instead, behind the first item */
	uint32_t only;            /* > 0: of x, only its only-th line is timed */
	unsigned passes;          /* over the others, in each of two orders (one pass: in one); 0: 2 */
	bool exact;               /* the time matters, not only which level: all the lines, longer samples, no lowest */
	struct xr_peace *peace;   /* NULL: no waiting for it */
	struct xr_effort effort;  /* {0}: 6 short samples, or 9 usual ones when exact */
};

struct xr_items {
	const uint32_t *item;
	size_t n;
	bool warm; /* x is read once more before it is timed: what looking takes after such visits, wherever x was */
};

/* Sets item, line and, from these and the wish, lines. */
void xr_evict_shape(struct xr_evict *evict, uint64_t item, uint64_t line, uint32_t lines);

/* Where in an item its i-th line is. No two distances between them are equal, so that no order is a constant stride to
 * a prefetcher. */
uint64_t xr_evict_line(const struct xr_evict *evict, uint32_t i);

/* Visits that a test of n items takes. */
double xr_evict_visits(const struct xr_evict *evict, size_t n);

/* Cycles per line of x after each of n sets of items, the lowest of the samples: whoever else runs on the machine
 * pushes x out too, but nobody brings it back. values[i] is NaN: could not be read, twice. 0, or -1 as
 * xr_run_time(). */
int xr_evict_values(struct xr_evict *evict, uint32_t x, const struct xr_items *others, size_t n, double *values);

#endif
