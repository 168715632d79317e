/* SPDX-License-Identifier: MIT */
/* Classes of pages that compete for the same sets of a cache, found by laps (laps.h).
 *
 * Of a random sequence of pages, the shortest beginning that does not fit holds one page too many of some class.
 * Blocks of pages whose absence lets the rest still overflow are left out, and smaller ones, until no page can
 * go: what is left is one class, one page more than the level has ways. Group testing: few questions for many
 * pages, and each about laps that nobody disturbs.
 */
#ifndef XR_METHOD_CLASSES_H
#define XR_METHOD_CLASSES_H

#include "method/laps.h"

/* The first level, that laps have to get past. */
struct xr_first {
	size_t ways;
	uint64_t way; /* bytes */
};

struct xr_class {
	uint32_t *item; /* the class: one more than fit */
	size_t n;
	size_t from;         /* it was chosen from the first so many items, */
	size_t fits;         /* of which so many do not overflow */
	double misses;       /* of a lap over all of it, at least */
	const char *trouble; /* why there is none; NULL: there is one */
};

/* A class among the items of `order`, which must not be in laps->flush. Flush pages that belong to the class are
 * moved from laps->flush to it. Sets laps->least: fewer misses are not this class's. 0, or -1 as xr_run_time(). */
int xr_class_find(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                  struct xr_class *class);

/* Are the same pages a class elsewhere in them, too? laps: as xr_class_find() left them; their flush lines and pad are
 * moved there. A class that was none is hardly one again where everything that made it look like one is different. */
int xr_class_elsewhere(struct xr_laps *laps, uint64_t at, struct xr_class *class);

/* Which distances inside a page bring the two halves of a class together: meets[i] for 8 << i bytes. */
int xr_class_meets(const struct xr_laps *laps, const struct xr_class *class, size_t n, bool *meets);

#endif
