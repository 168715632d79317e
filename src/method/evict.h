/* Eviction: how far from the core is a page after others have been visited?
 *
 * The pages of a buffer are items; of each, the same few lines are used. What decides which set of a cache a line goes
 * to is its place in the page, equal for all items, and the page's physical place, which nobody knows: so all the lines
 * of an item go with it, and one probe reads several of them, enough for any clock (ALGORITHMS §11 step 3 with
 * single loads needs a cycle counter; this does not).
 *
 * The script: read the lines of item x; visit the others; visit the flush items (that push x out of the nearer levels
 * and no further); read another line of x's page, so that its translation is at hand; read the lines of x, timed.
 */
#ifndef XR_METHOD_EVICT_H
#define XR_METHOD_EVICT_H

#include "micro/micro.h"

struct xr_evict {
	struct xr_run *run;
	struct xr_buffer buffer;
	uint64_t page;            /* granularity of translation; 0: none */
	uint64_t item;            /* bytes from one item to the next */
	uint32_t lines;           /* used of each item; fewer when there are many items */
	uint64_t line_stride;     /* between them */
	uint64_t offset;          /* of the first */
	uint32_t dense;           /* >0: of the others, this many lines per item, evenly spaced, instead */
	const uint32_t *flush;
	size_t n_flush;
	unsigned passes;          /* over the others, in each of two orders (one pass: in one); 0: 3 */
	bool exact;               /* the time matters, not only which level: all the lines, longer samples, no lowest */
	struct xr_effort effort;  /* {0}: 6 short samples, or 9 usual ones when exact */
};

struct xr_items {
	const uint32_t *item;
	size_t n;
};

/* Sets lines, line_stride and offset for items of this size and lines of `line` bytes (0: not known). */
void xr_evict_shape(struct xr_evict *evict, uint64_t item, uint64_t line, uint32_t lines);

/* Visits that a test of n items takes. */
double xr_evict_visits(const struct xr_evict *evict, size_t n);

/* Cycles per line of x after each of n sets of items, the lowest of the samples: whoever else runs on the machine pushes
 * x out too, but nobody brings it back. values[i] < 0: could not be read. 0, or -1 as xr_run_time(). */
int xr_evict_values(struct xr_evict *evict, uint32_t x, const struct xr_items *others, size_t n, double *values);

#endif
