/* SPDX-License-Identifier: MIT */
/* Sets of pages, for TLBs: one line in each page, each in another part of its page, against as many lines packed. The
 * caches see the same of both (the same parts of pages, of pages that go to the same sets of the first cache), so what
 * remains is the cost of translation; sets that are compact (see compact.h) are in the TLB together.
 */
#ifndef XR_METHOD_PAGESETS_H
#define XR_METHOD_PAGESETS_H

#include "method/compact.h"

struct xr_pagesets {
	struct xr_run *run;
	struct xr_compact compact; /* its buffer, the threshold; packed lines are in the buffer beside it */
	uint64_t page, line;
	size_t pages;              /* of the buffer */
	size_t colours;            /* pages whose lines go to different sets of the first cache; 0: 1 */
};

/* Pages 0, stride, 2 stride, …; with them on every round some more that push them out of a nearer level: at odd
 * multiples of `step`, so that they fall into other sets than pages at multiples of twice that. */
struct xr_page_family {
	struct xr_pagesets *in;
	size_t stride;
	size_t between, step;
	unsigned fold; /* >0: instead, pages of one set of a TLB whose index is the exclusive or of the two lowest fields of so
	                * many bits of the page number; those between are all others, from the first on */
	size_t set;    /* that one */
};

/* What goes for another: what was used longest ago; any that was not used lately; what came first; any; or what a tree of
 * bits points to, each of which points away from the half that was used last. */
enum xr_goes { XR_GOES_OLDEST, XR_GOES_UNUSED, XR_GOES_FIRST, XR_GOES_ANY, XR_GOES_TREE, XR_N_GOES };

/* A TLB: so many ways, and pages this many apart go to the same set. */
struct xr_tlb_sets {
	size_t ways, stride;
	double sure;       /* a probability, by the votes */
	bool soft;         /* something else goes than the oldest, see soft.h */
	enum xr_goes goes; /* and then probably this */
};

/* How many pages of this family it takes to overflow: the smallest n that is not compact, up to limit; more than that
 * when there is none, or no room. guess: see xr_first_not_compact(). */
int xr_pages_length(struct xr_page_family *family, size_t limit, const size_t *guess, size_t *n);

/* Doubles the stride for as long as it takes fewer pages to overflow; family->stride is then where that ends, *n how
 * many it takes there; SIZE_MAX: it does not end within the buffer. At the first stride it takes more than lo, and about
 * up to hi. */
int xr_pages_follow_up(struct xr_page_family *family, size_t lo, size_t hi, size_t *n);

/* Halves the stride for as long as it takes the same number of pages, n, down to `least`. *rule: at the next half it
 * takes twice as many, as it should. */
int xr_pages_follow_down(struct xr_page_family *family, size_t least, size_t n, bool *rule);

/* Numbers of sets that are no power of two: pages at odd multiples of the stride may need fewer to overflow. */
int xr_pages_try_odd(const struct xr_page_family *family, struct xr_tlb_sets *sets);

/* Asks again until it is clear that so many fit and one more does not, at this stride and at twice that, and that at
 * half the stride (where that is at least `least`) one more does. May correct the ways. */
int xr_pages_confirm(const struct xr_page_family *family, size_t least, struct xr_tlb_sets *sets);

/* Cycles per round that n[i] pages of the i-th of k families take more than packed lines: medians over a few orders. */
int xr_pages_excess(const struct xr_page_family *family, const size_t *n, size_t k, double *cycles);

/* … in each of so many orders, cycles[i * orders + o]; of a fold, each order is of another set. */
int xr_pages_excess_by_order(const struct xr_page_family *family, const size_t *n, size_t k, size_t orders,
                             double *cycles);

/* Cycles that each of n pages takes more, when each of those between takes of_others; chance: it is a matter of chance how many
 * miss. *error: of it, one sigma. */
int xr_pages_penalty(const struct xr_page_family *family, size_t n, double of_others, bool chance, double *cycles,
                     double *error);

#endif
