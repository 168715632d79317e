/* SPDX-License-Identifier: MIT */
/* What the parts of the TLB micro-benchmark share; tlb.c says how they work together.
 *
 *   ask.c    questions of pages beside their twins, what nearer levels add to them, what somebody else does
 *   level.c  the next level: its reach, its ways
 *   index.c  which pages go to one of its sets
 *   cost.c   of a level that is known: what a miss costs, what an entry covers; the page size
 *
 * All functions that ask: 0, or -1 as xr_run_time().
 */
#ifndef XR_MICRO_TLB_H
#define XR_MICRO_TLB_H

#include "infer/reach.h"
#include "probe/pages.h"

enum {
	XR_TLB_LEVELS = 3,
	XR_TLB_CURVE = 128,    /* points */
	XR_TLB_STEPS = 4,      /* of the curve that are no levels: more would say that nothing is understood */
	XR_TLB_READINGS = 512, /* from which the noise is known */
	XR_TLB_BITS = 14,      /* of a page's number that may be of the index */
	XR_TLB_POOL = 1 << XR_TLB_BITS,
	XR_TLB_ORDERS = 3, /* of visits, of every walk */
	XR_TLB_WALKS = 128,
	XR_TLB_WAYS_MOST = 512, /* that anybody compares with at once: the largest that is built has a quarter */
	XR_TLB_MERGE = 4, /* cells of a page of the twin of pages in a row: it fits where a level overflows for sure */
};

/* Times what a nearer level holds: so many pages miss it, whatever it evicts (random replacement keeps one in
 * ten). */
extern const double xr_tlb_overload;
extern const double xr_tlb_clear; /* a probability: enough for one question of many that check each other */

struct xr_tlb_level {
	size_t entries, ways;
	struct xr_family index;
	double reach, sharp;   /* see infer/reach.h, infer/missrate.h */
	double miss;           /* cycles more than a hit in this level */
	double penalty, error; /* cycles more than a hit in the first; error: one sigma */
	double p;              /* that entries and ways are right */
	size_t together;       /* pages of an entry */
	double p_together;
	const char *doubt;   /* that it is as found at all; NULL: none */
	const char *unknown; /* of the index: ways are in doubt, entries as good as the reach. NULL: nothing */
	double closer;       /* how well a closer look was explained; 0: not at all */
	double visits;       /* of pages at which the search for its index ends */
};

struct xr_tlb {
	struct xr_run *run;
	struct xr_pages pages;
	double patience_ns;
	size_t moments, unread;
	double visited;  /* pages, all in all */
	double hit;      /* cycles of the first cache */
	size_t cells_l1; /* that it holds */
	struct xr_noise noise;
	double reading[XR_TLB_READINGS];
	size_t group[XR_TLB_READINGS], n_readings, n_groups;
	struct xr_walk_seen curve[XR_TLB_CURVE]; /* pages in a row against their twin */
	size_t n_curve;
	struct xr_tlb_level level[XR_TLB_LEVELS];
	size_t n_levels;
	struct xr_reach step[XR_TLB_STEPS]; /* of the curve that pages of one set do not show: the caches' */
	size_t n_steps;
};

/* As xr_pages_ask(); learns what noise is here. The twin is as it would be if so many nearer levels missed as much of
 * it as of the walk. */
int xr_tlb_ask(struct xr_tlb *tlb, size_t nearer, const struct xr_pages_asked *asked, size_t k, size_t orders,
               struct xr_walk_seen *seen);

/* The same, the twin as it is. */
int xr_tlb_ask_only(struct xr_tlb *tlb, const struct xr_pages_asked *asked, size_t k, size_t orders,
                    struct xr_walk_seen *seen);

/* Do these pages overflow? `fitting`: pages that do not, unless somebody else has places at that moment. *p: the
 * probability; 0.5: it could not be asked, or there was always somebody. */
int xr_tlb_overflows(struct xr_tlb *tlb, size_t nearer, double miss, const struct xr_pages_asked *these,
                     const struct xr_pages_asked *fitting, double *p);

/* What a walk misses of so many nearer levels more than its twin does, cycles. */
double xr_tlb_nearer_more(const struct xr_tlb *tlb, size_t nearer, const struct xr_pages_asked *asked);

/* What misses of the levels that are known add to a walk over n pages in a row. */
double xr_tlb_of_nearer(const struct xr_tlb *tlb, double n);

/* n pages of each of so many sets, `most` at most, that nearer levels miss. Pages in a row are their twin where these
 * fit; else pages of which so few are in a set that they do. n 0: it cannot be asked. */
struct xr_pages_asked xr_tlb_pages(const struct xr_tlb *tlb, const struct xr_tlb_level *level,
                                   const struct xr_pages_choice *choice, size_t n, size_t fits, size_t most);

/* n[i] pages of a set of a level's index, moment by moment, added to walks. */
int xr_tlb_ask_ways(struct xr_tlb *tlb, const struct xr_tlb_level *level, const size_t *n, size_t k,
                    struct xr_walk_seen *walk, size_t *walks);

/* The index of a level whose reach is known. *fit: what fits, before and after of all and of one set. */
int xr_tlb_find_index(struct xr_tlb *tlb, struct xr_tlb_level *level, double *fit);
/* Now that the ways are known exactly, once more: does any other bit halve what fits? *fit: what then does; 0: none. */
int xr_tlb_check_bits(struct xr_tlb *tlb, struct xr_tlb_level *level, size_t ways, double *fit);

/* The next level, if there is one. *found: 1, a level; -1, a step that is none; 0, no further one. */
int xr_tlb_find_level(struct xr_tlb *tlb, int *found);

/* How likely a value is right to 2 % or a tenth of a cycle, with an error of this sigma. */
double xr_tlb_within(double value, double sigma);

int xr_tlb_find_penalty(struct xr_tlb *tlb, size_t level);
int xr_tlb_find_page(struct xr_tlb *tlb, uint64_t *page, double *sure);
int xr_tlb_find_together(struct xr_tlb *tlb, size_t level);

#endif
