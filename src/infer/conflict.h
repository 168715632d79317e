/* SPDX-License-Identifier: MIT */
/* Which set-associative array makes these curves?
 *
 * Evidence is walks over blocks of code and their twins: as many jumps, elsewhere. A hypothesis is one array, or
 * two of which the second is asked when the first misses: a cache, a TLB; a cache of decoded code before the
 * instruction cache; a level behind. It says which share of the visits misses (infer/misses.h), so a visit takes
 *
 *   what a visit of the twin takes + penalty · (misses here - misses of the twin), for each array.
 *
 * Penalties are fitted. Where nothing misses, the prediction is exact; where something does, no machine follows a
 * policy of the books to the letter, so it may be off by a share of the excess that is itself unknown (slack).
 * "None of these" is a law too: each curve is flat up to somewhere, and beyond it is anything.
 */
#ifndef XR_INFER_CONFLICT_H
#define XR_INFER_CONFLICT_H

#include "infer/misses.h"
#include "infer/noise.h"
#include "util/arena.h"
#include "util/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XR_CONFLICT_LOOKS = 12, XR_CONFLICT_SLACKS = 3, XR_CONFLICT_KNOWN = 1 << 14 };

/* One question, and what was seen. Places are numbered in units (a line, a page); several blocks may lie in one. */
struct xr_conflict_point {
	unsigned curve;               /* one stride and one kind of block */
	bool full;                    /* blocks full of statements */
	unsigned count;               /* units per row: a curve goes along this */
	const uint64_t *place, *twin; /* units that are visited */
	unsigned n;                   /* visits of a lap */
	double differ;                /* relative, one sigma: walk and twin, where nothing misses */
	unsigned looks;
	double cycles[XR_CONFLICT_LOOKS], base[XR_CONFLICT_LOOKS]; /* per visit, there and at the twin: one of a look */
};

struct xr_conflict_array {
	uint64_t sets; /* of units that follow each other */
	bool fold;     /* the set is the exclusive or of the two lowest fields of the unit's number */
	unsigned ways; /* 0: there is no such array */
	int policy;
};

/* A hypothesis. For blocks without statements the first array, if it holds decoded code, has more ways: lean_ways,
 * and may throw out in another way; 0: the same. */
struct xr_conflict_model {
	struct xr_conflict_array first, second;
	unsigned lean_ways;
	int lean_policy;
};

/* What the looks at a question say, worked out once. */
struct xr_conflict_seen {
	double ratio, base, excess; /* lower looks: of here to the twin, of the twin; cycles more than the twin's */
	struct xr_noise noise;      /* of the ratio */
	double flat;                /* log-likelihood where nothing is predicted to miss */
	double weight[XR_CONFLICT_SLACKS];
};

struct xr_conflict {
	struct xr_arena *arena;
	struct xr_misses *misses;
	struct xr_noise noise; /* of one look at a pair */
	const struct xr_conflict_point *point;
	struct xr_conflict_seen *seen;
	struct xr_conflict_row *row; /* room to work in */
	size_t n;
	struct xr_conflict_known *known; /* how full sets get, for what was asked before */
	size_t n_known;
	const struct xr_watch *watch; /* when it is over everything is impossible, which takes no time. NULL: never */
};

/* Learns the noise from looks at the same pairs. */
void xr_conflict_init(struct xr_conflict *c, struct xr_arena *arena, const struct xr_conflict_point *point, size_t n);

/* Of one question: its lower looks, as a ratio; NAN: never seen. */
double xr_conflict_ratio(const struct xr_conflict_point *point);
double xr_conflict_base(const struct xr_conflict_point *point);

/* The chance that others lengthened so many of these looks that the lower ones are long, too. */
double xr_conflict_misled(const struct xr_conflict *c, unsigned looks);

/* Share of the visits that miss both arrays up to the k-th (0, 1), less the twin's. */
double xr_conflict_share(struct xr_conflict *c, const struct xr_conflict_model *model,
                         const struct xr_conflict_point *point, int k);

/* Log-likelihood of the points of one kind (full or not; 2: all), penalties fitted: penalty[k] cycles. */
enum xr_conflict_kind { XR_CONFLICT_LEAN, XR_CONFLICT_FULL, XR_CONFLICT_ALL };
double xr_conflict_log(struct xr_conflict *c, const struct xr_conflict_model *model, enum xr_conflict_kind kind,
                       double penalty[2]);

/* The same of "none of these". */
double xr_conflict_none(const struct xr_conflict *c, enum xr_conflict_kind kind);

/* The smallest number of units `stride` apart, one row, that overflow this array. */
unsigned xr_conflict_overflows(const struct xr_conflict_array *array, uint64_t stride, unsigned most);

#endif
