/* SPDX-License-Identifier: MIT */
/* Sets that overflow softly.
 *
 * Walked round and round in one order, one place too many makes every visit miss where the oldest goes. Where any place goes,
 * or the one that came first, only some visits do: 2 / n of them with one place too many, a third with a quarter more, and
 * with twice as many as fit still not all. A limit somewhere between none and all then finds too many ways, and what a
 * visit costs is not what a miss costs. So the whole curve is compared with those of such sets.
 */
#ifndef XR_METHOD_SOFT_H
#define XR_METHOD_SOFT_H

#include "method/pagesets.h"

/* Share of visits that miss, going round over n places of one set of `ways`, by a short trial. */
double xr_soft_share(enum xr_goes goes, size_t ways, size_t n);

/* cost[i]: of a visit, of n[i] places, which grow; the last are about twice as many as fit. Finds the ways from lo to hi and
 * what goes, for which the curve comes closest. */
struct xr_soft_fit {
	enum xr_goes goes;
	size_t ways;
	double miss;   /* what a miss costs */
	double misfit; /* distance of points from the curve, root of the mean square, as a share of miss */
};
struct xr_soft_fit xr_soft_fit(const size_t *n, const double *cost, size_t points, size_t lo, size_t hi);

/* A TLB that was found by a limit: are its sets soft? Then corrects the ways and says what goes; else leaves everything as it
 * is. of_others: what each of the pages between costs. */
int xr_pages_soften(const struct xr_page_family *family, double of_others, struct xr_tlb_sets *sets);

/* Share of visits to n pages of one set, more than fit, that miss such a level (NULL: there is none). */
double xr_pages_share(const struct xr_tlb_sets *sets, size_t n);

/* What missing a level costs whose sets are known, by several times as many pages as fit; behind a nearer one (NULL: none),
 * missing which costs of_nearer. *error: one sigma. Says nothing where there is no room for so many. */
int xr_pages_miss(const struct xr_page_family *family, const struct xr_tlb_sets *sets, const struct xr_tlb_sets *nearer,
                  double of_nearer, double *penalty, double *error);

#endif
