/* SPDX-License-Identifier: MIT */
/* Random lines: walks round and round over lines drawn at random from a pool of pages.
 *
 * Lines come in pairs, two neighbours that begin at a multiple of their length: a core that fetches the other
 * line of a pair whenever one misses then brings nothing that is not wanted anyway. (Singles: on a Zen core as
 * many aliens as lines came in, and half of the second cache seemed to be missing.) All walks draw from the same
 * pages, so translation costs each of them the same. What the times mean is for infer/scatter.h. */
#ifndef XR_PROBE_SCATTER_H
#define XR_PROBE_SCATTER_H

#include "infer/scatter.h"
#include "micro/micro.h"

struct xr_scatter {
	struct xr_run *run;
	struct xr_buffer buffer; /* the pool */
	uint64_t page;           /* bytes; 0: none */
	uint64_t line;           /* of the first level */
	unsigned block;          /* lines that are drawn together; 0: 2 */
	unsigned step;           /* from one of them to the next, in lines; 0: 1, neighbours */
	struct xr_effort effort; /* {0}: as long as a lap takes */
	double quiet_ns;         /* to wait at most for moments in which nobody else uses the core */
};

enum { XR_SCATTER_BATCH = 24 }; /* walks timed together */

/* `draws` walks over each of these numbers of lines; readings that failed are left out. *got: how many points
 * there are, at most n x draws. 0, or -1 as xr_run_time(). */
int xr_scatter_ask(const struct xr_scatter *scatter, const double *lines, size_t n, int draws,
                   struct xr_scatter_point *point, size_t *got);

#endif
