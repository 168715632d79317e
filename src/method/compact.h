/* is_compact (papers 000 §4.4, 002 §4.2-4.4), written once: can all these places be in the cache at the same time?
 *
 * The oracle is time, against the set's twin (see places.h) instead of the bare hit latency, so that a TLB that the set
 * overflows is not taken for the cache. The order of the visits is drawn anew for every vote: some orders let a
 * prefetcher bring lines that nobody asked for, or suit a replacement policy, and no number of repetitions of the same
 * order would tell (ALGORITHMS §10). Votes do not weigh the same: whatever disturbs makes a compact set slow now and
 * then, but nothing makes a set fast that is too large.
 */
#ifndef XR_METHOD_COMPACT_H
#define XR_METHOD_COMPACT_H

#include "method/places.h"
#include "micro/micro.h"
#include "stat/stat.h"

struct xr_compact {
	struct xr_run *run;
	struct xr_buffer buffer;  /* of the sets; their twins live in a buffer of id + 1 */
	uint64_t page;            /* granularity of address translation, 0: none */
	double hit;               /* latency of a hit, cycles: a set slower than its twin by a tenth of it is not compact */
	double limit;             /* >0: slower than its twin by this many cycles, instead */
	double more;              /* and by this many more for each place, less those that do not count */
	size_t idle;              /* places of each set that do not count */
	double sure;              /* log likelihood ratio that ends a vote; 0: 2.2 (1 wrong in 10), 4.6 is 1 in 100 */
	struct xr_effort effort;  /* of one vote; {0}: 5 samples */
};

struct xr_compact_answer {
	enum xr_verdict verdict;  /* XR_YES: compact */
	int yes, no;              /* votes: one per order of visits */
	double cycles, twin;      /* medians over the orders */
};

/* Asks about n sets at once, interleaved; answer[i] for set[i]. twin: NULL, or the sets to compare with instead of
 * xr_places_twin()'s. 0, or -1 as xr_run_time(). */
int xr_are_compact(struct xr_compact *compact, const struct xr_places *set, const struct xr_places *twin, size_t n,
                   struct xr_compact_answer *answer);

/* A family of sets, larger with n; twin->at stays NULL where the usual one serves. */
typedef void xr_family_fn(void *self, size_t n, struct xr_places *set, struct xr_places *twin);

/* The smallest n in [lo, hi] whose set is not compact; hi + 1: there is none. Answers in *result. */
int xr_first_not_compact(struct xr_compact *compact, xr_family_fn *family, void *self, size_t lo, size_t hi,
                         size_t *result);

#endif
