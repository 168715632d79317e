/* SPDX-License-Identifier: MIT */
/* A batch of code walks whose samples are pooled over several looks.
 *
 * The core's other hardware thread, when somebody uses it, takes a share of the instruction cache and half of the
 * instruction TLB; such spells last from microseconds to seconds. A walk at rest is what is wanted, so the target waits
 * for moments in which nobody is there and says which samples are from others; both kinds are kept apart. What is known
 * only from disturbed samples is in doubt.
 */
#ifndef XR_METHOD_WALKS_H
#define XR_METHOD_WALKS_H

#include "micro/micro.h"

/* Where walks are run, shared by all batches of one micro-benchmark. */
struct xr_walk_bench {
	struct xr_run *run;
	unsigned region;
	uint64_t bytes;      /* of the region */
	double block;        /* bytes: blocks may lie at multiples of it */
	double least_ns;     /* of a sample */
	double patience_ns;  /* left for waiting until nobody else uses the core */
};

struct xr_walk_pool {
	double *sample;     /* cycles per visit */
	size_t n, room;
};

struct xr_walk_point {
	struct xr_walk_spec walk;
	size_t blocks;      /* visits of one lap */
	struct xr_walk_pool quiet, disturbed;
	double code_bytes;  /* see xr_reading */
};

struct xr_walks {
	struct xr_walk_bench *bench;
	struct xr_walk_point *point;
	size_t n, room;
	const char *trouble;  /* the first reading that was none: its reason; NULL: all is well */
	bool unsupported;     /* … because the target cannot run walks at all */
};

/* 0; -1 as xr_run_time(). */
int xr_walk_bench_init(struct xr_walk_bench *bench, struct xr_run *run, unsigned region, uint64_t bytes);

void xr_walks_init(struct xr_walks *walks, struct xr_walk_bench *bench);

/* Adds a walk over blocks at these addresses; returns its index. Several may be the same: it is visited as often. */
size_t xr_walks_add(struct xr_walks *walks, enum xr_walk_kind kind, const uint64_t *address, size_t n);

/* The same, with so many bytes of data read after each lap; the time of reading counts. */
size_t xr_walks_add_with_data(struct xr_walks *walks, const uint64_t *address, size_t n, uint64_t data_bytes);

/* Adds straight-line code of so many bytes; its reading is per statement. */
size_t xr_walks_add_straight(struct xr_walks *walks, uint64_t bytes);

/* Another look at all of them, or only at those that were never seen undisturbed, `samples` each. `wait`: for
 * moments in which nobody else uses the core: not (0), or not too long (1). 0; -1 as xr_run_time(). Sets
 * walks->trouble. */
int xr_walks_look(struct xr_walks *walks, int samples, double wait);

double xr_walks_low(const struct xr_walks *walks, size_t i); /* cycles per visit, at rest if it ever was */

/* Cycles by which a visit takes longer than in another walk: both at rest, or both disturbed. */
double xr_walks_excess(const struct xr_walks *walks, size_t i, size_t twin);

/* Are there enough samples of each that nobody disturbed? */
bool xr_walks_calm(const struct xr_walks *walks);

/* Why walks cannot be laid out on this target, or NULL: for micro-benchmarks' supported(). */
const char *xr_walks_supported(const struct xr_run *run);

/* The largest region that memory allows, at most `wanted`. */
uint64_t xr_walks_region(const struct xr_run *run, uint64_t wanted);

#endif
