/* SPDX-License-Identifier: MIT */
/* Questions put with jumps: walks over blocks of code and their twins, timed side by side.
 *
 * A question is a set of blocks in places that may conflict. Its twin has as many blocks that conflict nowhere,
 * in the same pages (for caches) or in the same lines of the cache (for TLBs), so that what mispredicted jumps,
 * translation and the rest cost is the same in both. A look times all questions of a batch and their twins by
 * turns, in fresh random orders: looks are independent evidence. Nothing is decided here.
 */
#ifndef XR_PROBE_JUMPS_H
#define XR_PROBE_JUMPS_H

#include "infer/conflict.h"
#include "micro/micro.h"

enum { XR_JUMPS_MAX = 320 };

struct xr_jumps {
	struct xr_run *run;
	unsigned region;     /* as in struct xr_walk_spec, for lean blocks; the next one for full ones */
	uint64_t bytes;      /* of it */
	uint64_t unit;       /* bytes in which places are numbered */
	uint64_t page;       /* every look moves all blocks by as many of these: some places are odd, never all */
	double least_ns;     /* of a sample */
	double patience_ns;  /* left for waiting until nobody else uses the core */
	uint64_t block[2];   /* bytes of a block: lean, with statements; what is known so far */
	struct xr_conflict_point point[XR_JUMPS_MAX];
	struct xr_walk_spec walk[XR_JUMPS_MAX], twin[XR_JUMPS_MAX];
	uint64_t extent[XR_JUMPS_MAX]; /* bytes from the start of the region to the end of the last block */
	size_t n;
	unsigned quiet;      /* looks at pairs during which nobody disturbed, */
	unsigned disturbed;  /* and the others */
	const char *trouble; /* the first reading that was none: its reason; NULL: all is well */
	bool unsupported;    /* … because the target cannot run walks at all */
};

/* The walk's blocks by their addresses, as sequences <base, stride, count>; the arena outlives the walk. */
void xr_jumps_spans(struct xr_arena *arena, const uint64_t *address, size_t n, struct xr_walk_spec *walk);

/* 0; -1 as xr_run_time(). */
int xr_jumps_init(struct xr_jumps *j, struct xr_run *run, unsigned region, uint64_t bytes, uint64_t unit,
                  uint64_t page);

/* How many bytes a block with so many statements takes, by one that is jumped to alone: compilers differ, and what is not
 * known is taken for the least. Before anything is placed by it. 0; -1 as xr_run_time(). */
int xr_jumps_learn(struct xr_jumps *j, unsigned statements);

/* Blocks with so many statements at these bytes of the region. Returns the question's number; full: no more room. */
size_t xr_jumps_add(struct xr_jumps *j, unsigned curve, unsigned statements, unsigned count, const uint64_t *address,
                    const uint64_t *twin, unsigned n);

/* One more look at these questions. wait: share of the patience that may be spent. 0; -1 as xr_run_time(). */
int xr_jumps_look(struct xr_jumps *j, const size_t *which, size_t n, int samples, double wait);

/* What a visit takes more than one of its twin, in one order for ever (XR_PATTERN) or in fresh ones (XR_JUMPS); lean
 * blocks. Only where times repeat exactly: else one look tells nothing, and a predictor would learn the order. *cycles
 * NaN: could not be read, see trouble. 0; -1 as xr_run_time(). */
int xr_jumps_excess(struct xr_jumps *j, enum xr_walk_kind kind, const uint64_t *address, const uint64_t *twin, unsigned n,
                    double *cycles);

/* Twins of blocks, in the same pages, packed `block` bytes apart: they conflict nowhere. */
void xr_jumps_pack(const uint64_t *address, unsigned n, uint64_t page, uint64_t block, uint64_t *twin);

/* `count` blocks `stride` bytes apart, in each of `rows` neighbouring units, and their twins. Both arrays have room
 * for count * rows. */
void xr_jumps_place(uint64_t stride, unsigned count, unsigned rows, uint64_t unit, uint64_t page, uint64_t block,
                    uint64_t *address, uint64_t *twin);

#endif
