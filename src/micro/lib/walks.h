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

struct xr_walk_point {
	struct xr_walk_spec walk;
	size_t blocks;      /* visits of one lap */
	double *sample;     /* pooled, cycles per visit */
	size_t n, room;
	double ns;          /* per visit, of the last look */
	double code_bytes;  /* see xr_reading */
};

struct xr_walks {
	struct xr_run *run;
	unsigned region;
	uint64_t bytes;
	struct xr_walk_point *point;
	size_t n, room;
	double visit_ns;      /* about, to choose the length of samples */
	const char *trouble;  /* the first reading that was none: its reason; NULL: all is well */
	bool unsupported;     /* … because the target cannot run walks at all */
};

void xr_walks_init(struct xr_walks *walks, struct xr_run *run, unsigned region, uint64_t bytes);

/* Adds a walk over blocks at these addresses; returns its index. Several may be the same: it is visited as often. */
size_t xr_walks_add(struct xr_walks *walks, enum xr_walk_kind kind, const uint64_t *address, size_t n);

/* Another look at all of them: `samples` each. 0; -1 as xr_run_time(). Sets walks->trouble. */
int xr_walks_look(struct xr_walks *walks, int samples);

double xr_walks_low(const struct xr_walks *walks, size_t i); /* cycles per visit, at rest */

#endif
