/* SPDX-License-Identifier: MIT */
/* How much of the way to its data was spared: were lines fetched ahead?
 *
 * Blocks of lines that somebody may have foreseen are timed beside blocks of strangers, which nobody can foresee. Of
 * what a line fetched ahead saves at most, how much may be seen is a hypothesis each: all of it, a part (it may
 * still be on its way), nothing, or none of these. Pure.
 */
#ifndef XR_INFER_SPARED_H
#define XR_INFER_SPARED_H

#include "util/arena.h"

#include <stddef.h>

enum { XR_SPARED_MOST = 16 }; /* turns */
#define XR_SPARED_LEAST 0.25  /* the smallest share that is a hypothesis */

/* Cycles per visit, in turns; what a visit costs at best, and in the level that is fetched into. */
struct xr_spared_times {
	const double *asked, *strangers;
	size_t n;    /* turns of both */
	double part; /* of the visits of a block, those that are asked about */
	double away; /* of a line that nobody fetched; 0: as all strangers are */
	double nearest, hit;
};

struct xr_spared {
	double p, none; /* that lines were fetched ahead; that times fit nothing */
	double share;   /* of what that saves, as seen */
	double without; /* cycles of a visit to a stranger */
};

struct xr_spared xr_spared_find(struct xr_arena *arena, const struct xr_spared_times *times);

#endif
