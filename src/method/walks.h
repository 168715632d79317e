/* A batch of code walks whose samples are pooled over several looks.
 *
 * The core's other hardware thread, when somebody uses it, takes a share of the instruction cache and half of the
 * instruction TLB; such spells last from microseconds to seconds. A walk at rest is what is wanted, so samples are kept
 * short and many, are gathered over several looks apart in time, and a point is what its quickest samples agree on. All
 * points of a batch are read interleaved, so a quiet moment is quiet for all of them.
 */
#ifndef XR_MICRO_WALKS_H
#define XR_MICRO_WALKS_H

#include "micro/micro.h"

/* Where walks are run, shared by all batches of one micro-benchmark. */
struct xr_walk_bench {
	struct xr_run *run;
	unsigned region;
	uint64_t bytes;      /* of the region */
	double block;        /* bytes: blocks may lie at multiples of it */
	double least_ns;     /* of a sample */
	double quiet;        /* what a sentinel took in the quietest moment so far, cycles; 0: not looked yet */
	double restless;     /* how much longer the middle one of its samples took than the quick ones, at worst: a share */
	int patience;        /* looks at the sentinel that are left, all in all */
};

struct xr_walk_point {
	struct xr_walk_spec walk;
	size_t blocks;      /* visits of one lap */
	double *sample;     /* pooled, cycles per visit */
	size_t n, room;
	double code_bytes;  /* see xr_reading */
};

struct xr_walks {
	struct xr_walk_bench *bench;
	struct xr_walk_point *point;
	size_t n, room;
	const char *trouble;  /* the first reading that was none: its reason; NULL: all is well */
	bool unsupported;     /* … because the target cannot run walks at all */
	double best;          /* what a sentinel among them took in the quietest look, cycles */
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

/* Waits for a quiet moment, but not for ever; then another look at all of them, `samples` each. 0; -1 as xr_run_time().
 * Sets walks->trouble. */
int xr_walks_look(struct xr_walks *walks, int samples);

double xr_walks_low(const struct xr_walks *walks, size_t i); /* cycles per visit, at rest */

/* Was the core at rest in one of the looks, as far as is known now? */
bool xr_walks_calm(const struct xr_walks *walks);

/* Why walks cannot be laid out on this target, or NULL: for micro-benchmarks' supported(). */
const char *xr_walks_supported(const struct xr_run *run);

/* The largest region that memory allows, at most `wanted`. */
uint64_t xr_walks_region(const struct xr_run *run, uint64_t wanted);

#endif
