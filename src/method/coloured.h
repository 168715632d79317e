/* SPDX-License-Identifier: MIT */
/* A cache whose ways are larger than a page and that is indexed by physical addresses: which pages compete
 * depends on where they are in memory, which nobody knows. So classes of pages are looked for by what is not
 * compact (compact.h), one line in each page at the same place: the shortest beginning of a random sequence of
 * pages that is not compact has one page too many of some class; what can be left out of it is, and what remains
 * is one class, one page more than there are ways. Of other pages, the share that does not go together with the
 * ways of the class says how many classes there are.
 */
#ifndef XR_METHOD_COLOURED_H
#define XR_METHOD_COLOURED_H

#include "method/compact.h"

struct xr_coloured {
	size_t ways, colours;   /* 0: not found */
	double sure;            /* a probability, by how many classes agree */
	struct xr_places class; /* the last one: the first bytes of one page more than there are ways */
};

/* pages: of the compact's buffer. 0, or -1 as xr_run_time(). */
int xr_coloured_find(struct xr_compact *compact, size_t pages, struct xr_coloured *found);

#endif
