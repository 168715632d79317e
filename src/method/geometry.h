/* SPDX-License-Identifier: MIT */
/* The geometry of a level: ways, line, way, and number of classes, from several classes of pages (classes.h).
 */
#ifndef XR_METHOD_GEOMETRY_H
#define XR_METHOD_GEOMETRY_H

#include "method/colours.h"

enum { XR_CLASSES_TRIED = 6, XR_DELTAS = 14 };

/* What one class says about a level. */
struct xr_testimony {
	size_t ways;
	bool meets[XR_DELTAS]; /* do its halves, 8 << i bytes apart? */
	bool has_meets;
	struct xr_colours colours; /* from it, and those before it that say the same */
	uint32_t apart;            /* items: what the distances of its members have in common */
	bool weak;                 /* it misses once in a lap: a stranger may do that, too */
};

/* What was found about one level. */
struct xr_geometry {
	struct xr_testimony said[XR_CLASSES_TRIED];
	size_t n_said;
	size_t ways;         /* what most of them say */
	size_t agree;        /* how many these are */
	bool weak;           /* none of those that agree misses more than once in a lap over all of it */
	double left;         /* visits that may still be made; 0 before: as many as usual */
	const char *trouble; /* of the last class that was none */
};

/* Looks for classes until two more agree than do not, or it has taken too long. level: base and miss from what is
 * known of the levels' latencies. 0, or -1 as xr_run_time(). */
int xr_geometry_find(const struct xr_laps *level, const struct xr_first *first, struct xr_geometry *geometry);

/* Pure. Of those that agree about the ways: most frequent line and way, and the share that says so. 0: not found; way
 * = page: not smaller than that. */
void xr_geometry_sum(const struct xr_geometry *geometry, uint64_t page, double *line, double *way, double *share);

/* Pure. Of the same: number of classes of items; *sure: its probability. *even: members are always a multiple of
 * that many items apart, so it is virtual addresses that decide. */
double xr_geometry_classes(const struct xr_geometry *geometry, double *sure, bool *even);

#endif
