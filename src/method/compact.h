/* SPDX-License-Identifier: MIT */
/* is_compact (papers 000 §4.4, 002 §4.2-4.4), written once: can all these places be in the cache at the same time?
 *
 * The oracle is time, against the set's twin (see places.h) instead of the bare hit latency, so that a TLB that the set
 * overflows is not taken for the cache. The order of the visits is drawn anew for every vote: some orders let a
 * prefetcher bring lines that nobody asked for, or suit a replacement policy, and no number of repetitions of the same
 * order would tell. So is, where the caller allows, the place: a set of the cache may be somebody else's favourite (the
 * first lines of pages often are), and while he holds a way of it, that set has one less. Votes do not weigh the same:
 * whatever disturbs makes a compact set slow now and then, but nothing makes a set fast that is too large.
 */
#ifndef XR_METHOD_COMPACT_H
#define XR_METHOD_COMPACT_H

#include "probe/places.h"
#include "micro/micro.h"
#include "stat/stat.h"

struct xr_compact {
	struct xr_run *run;
	struct xr_buffer buffer; /* of the sets; their twins live in a buffer of id + 1 */
	uint64_t page;           /* granularity of address translation, 0: none */
	double hit;      /* latency of a hit, cycles: a set slower than its twin by a tenth of it is not compact */
	double limit;    /* >0: slower than its twin by this many cycles, instead */
	double more;     /* and by this many more for each place, less those that do not count */
	size_t idle;     /* places of each set that do not count */
	uint64_t wander; /* >0: each vote is taken elsewhere, up to this many bytes further on */
	uint64_t wander_step;     /* by multiples of this; 0: 256. Sets that come with their own twins: the twins stay */
	double sure;     /* log likelihood ratio that ends a vote; 0: 2.2 (1 wrong in 10), 4.6 is 1 in 100 */
	int least;       /* votes asked of every set, however clear it is; 0: two */
	struct xr_effort effort; /* of one vote; {0}: 5 samples */
};

struct xr_compact_answer {
	enum xr_verdict verdict; /* XR_YES: compact */
	int yes, no;             /* votes: one per order of visits */
	double llr;              /* what they say together: log of how much likelier compact is */
	double cycles, twin;     /* medians over the orders */
};

/* Asks about n sets at once, interleaved; answer[i] for set[i]. twin: NULL, or the sets to compare with instead of
 * xr_places_twin()'s. 0, or -1 as xr_run_time(). */
int xr_are_compact(struct xr_compact *compact, const struct xr_places *set, const struct xr_places *twin, size_t n,
                   struct xr_compact_answer *answer);

/* The set moved to somewhere else, as votes do. */
struct xr_places xr_compact_elsewhere(struct xr_compact *compact, const struct xr_places *set);

/* Sets of which the first ones are not compact and all others are: how many are the first ones, by all votes together.
 * *sure: the probability that it is so many, given the next best number. */
size_t xr_compact_split(const struct xr_compact_answer *answer, size_t n, double *sure);

/* The probability of a statement for which the votes weigh so much. */
double xr_llr_probability(double llr);

/* A family of sets, larger with n; twin->at stays NULL where the usual one serves. */
typedef void xr_family_fn(void *self, size_t n, struct xr_places *set, struct xr_places *twin);

/* The smallest n in [lo, hi] whose set is not compact; hi + 1: all are compact. Answers in *result. guess: what it may
 * well be, tried before anything else; ends with 0; may be NULL. */
int xr_first_not_compact(struct xr_compact *compact, xr_family_fn *family, void *self, size_t lo, size_t hi,
                         const size_t *guess, size_t *result);

#endif
