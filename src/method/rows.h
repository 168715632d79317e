/* SPDX-License-Identifier: MIT */
/* Rows of data: lines at equal distances, and whether a level holds them all, where times repeat exactly (regular.h).
 */
#ifndef XR_METHOD_ROWS_H
#define XR_METHOD_ROWS_H

#include "method/regular.h"
#include "method/walk.h"

struct xr_data_level {
	struct xr_walk walk;   /* page, line, run; its buffer and the next one are used */
	double hit, near, far; /* latency of the first level, of this one, of the next */
	double kept;           /* bytes that walks find in it, about; 0: not known */
	uint64_t room;         /* bytes of a buffer */
	uint64_t before;       /* way size of the nearer level in bytes; 0: no nearer level, or unknown */
	uint64_t bytes, line;  /* result */
	unsigned ways;         /* result; 0: its index is not plain, or walks contradict it */
};

/* What translation costs is taken off by twins: the same pages, other sets. 0, or -1 as xr_run_time(). */
int xr_data_level_find(struct xr_data_level *level);

#endif
