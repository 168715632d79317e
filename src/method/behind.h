/* SPDX-License-Identifier: MIT */
/* Pages that miss the first TLB: where do they begin to cost more than that? The second level is seen only there.
 */
#ifndef XR_METHOD_BEHIND_H
#define XR_METHOD_BEHIND_H

#include "method/pagesets.h"

enum { XR_BEHIND_MANY = 64 }; /* pages: more are tried only where so many show nothing */

struct xr_behind {
	struct xr_pagesets *sets;
	const struct xr_tlb_sets *first;
	double penalty; /* of a visit that the second level knows, cycles */
	double hit;     /* of the first cache, cycles */
	size_t between; /* pages that push the others out of the first level */
};

/* How many it takes to push others out of the first level, and what a visit then costs: where the first is soft, it takes
 * many, and still some visits find their page there. penalty: of missing the first level. */
int xr_behind_first(struct xr_behind *behind, struct xr_pagesets *sets, const struct xr_tlb_sets *first, double penalty,
                    double hit);

/* Where pages begin to cost more than a miss of the first level. */
struct xr_rise {
	size_t at, stride; /* so many pages, this far apart; 0: nowhere */
	double by;         /* cycles each */
};

/* Pages as far apart as there is room for. Those that miss the first level and hit the second push each other out where
 * there are enough of them; where the second has no more ways than the first they never are, so then others are visited
 * between. Where pages begin to cost more, and the family that does. */
int xr_pages_behind(const struct xr_behind *behind, struct xr_page_family *family, struct xr_rise *rise);

/* Pages of one set, drawn anew, of a level whose sets are chosen by two fields of so many bits. */
struct xr_page_family xr_pages_of_fold(const struct xr_behind *behind, unsigned bits);

/* Many pages of one set, if sets are chosen by two fields of so many bits: the bits for which they cost more than a miss
 * of the first level, and how much; 0: there are none. */
int xr_pages_fold(const struct xr_behind *behind, unsigned *bits, struct xr_rise *rise);

#endif
