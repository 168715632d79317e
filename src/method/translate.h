/* SPDX-License-Identifier: MIT */
/* What address translation costs: walks over one line of each of n pages, against walks over as many lines packed into
 * as few pages as they fill. Both have the same footprint in the caches, because the lines are spread
 * over all parts of a page evenly; what remains of the difference is the TLBs'.
 */
#ifndef XR_METHOD_TRANSLATE_H
#define XR_METHOD_TRANSLATE_H

#include "micro/micro.h"

struct xr_translate {
	struct xr_run *run;
	struct xr_buffer buffer;   /* of the pages; the packed lines are in a buffer of id + 1 */
	uint64_t page, line;
	uint64_t stride;           /* from one visited page to the next; 0: the page */
	int orders;                /* of visits, medians taken; 0: 1 */
	struct xr_effort effort;
};

/* cycles[i]: per access, for n[i] pages; negative where it could not be read. raw (may be NULL): the pages' walk
 * itself. */
int xr_translate_cost(const struct xr_translate *t, const size_t *n, size_t k, double *cycles, double *raw);

/* The cost for n pages over time: cycles[i], in the order of the samples, at most `most` of them; *samples: how
 * many. */
int xr_translate_watch(const struct xr_translate *t, size_t n, size_t most, double *cycles, size_t *samples);

#endif
