/* SPDX-License-Identifier: MIT */
/* The caches beyond the first: what the parts of this micro-benchmark know in common. */
#ifndef XR_MICRO_CACHE_OUTER_OUTER_H
#define XR_MICRO_CACHE_OUTER_OUTER_H

#include "method/effective.h"
#include "method/geometry.h"
#include "method/hierarchy.h"
#include "method/latency.h"
#include "micro/micro.h"

#define XR_OUTER_PATIENCE_NS 0.8e9          /* for a neighbour to pause, all in all */
#define XR_OUTER_MOST (UINT64_C(256) << 20) /* bytes that are walked over */
#define XR_OUTER_CONTRADICTS 4              /* times a capacity: walks never find so much of it */
#define XR_OUTER_MOST_SURE 0.88             /* of what a convention cuts out of a slope */

enum { XR_OUTER_BUFFER = 20 }; /* id; twins and packed lines follow, then dense walks */

struct xr_outer {
	struct xr_run *run;
	struct xr_evict evict;
	struct xr_peace peace;
	uint64_t room, most; /* bytes of the buffer; of the largest walk */
	uint64_t pool;       /* bytes of the pages that classes are looked for in */
	struct xr_first first;
	uint32_t *order; /* items in random order */
	size_t n_items;
	double hit;
	size_t l1_ways, strangers;
	uint64_t line; /* of the first level; 64 when not known */
	struct xr_hierarchy h;
	struct xr_latency second;
	bool spread_out;           /* the second latency is that of lines all over the level */
	double stairs, stairs_off; /* latency of the second level, as staircases have it; by how much they may be off */
	struct xr_effective last;  /* the level before memory, if it is not the second one */
};

/* "cache.l2.ways" of level 1 */
const char *xr_outer_id(const struct xr_outer *outer, size_t level, const char *what);
/* 1, or less where the latency is no whole number of cycles: others were in the way, or the first level answered. */
double xr_outer_sure_of_latency(const struct xr_outer *outer, size_t level);
void xr_outer_put_line(struct xr_outer *outer, size_t level, double line, double sure);

/* Walks over all lines; the effective capacity by them, found with xr_effective_find(). */
struct xr_walk xr_outer_walk(const struct xr_outer *outer);
/* How far apart a latency of the second level and that of the staircases are, beyond noise: relative, one more spread. */
double xr_outer_off_stairs(const struct xr_outer *outer, double cycles);
double xr_outer_walks_find(struct xr_outer *outer, size_t level); /* bytes; 0: all walks were larger than the level */
struct xr_effective xr_outer_effective(struct xr_outer *outer, size_t level);
int xr_outer_put_effective(struct xr_outer *outer, size_t level, const struct xr_effective *found, const char *why);

/* Classes of pages: what laps need to know about a level; the facts, where there are classes. */
struct xr_laps xr_outer_laps(struct xr_outer *outer, size_t level);
void xr_outer_put_classes(struct xr_outer *outer, size_t level, const struct xr_geometry *geometry);

/* 0, or -1 as xr_run_time(). *found: this level is indexed plainly, times repeat exactly, and walks agree. */
int xr_outer_find_regular(struct xr_outer *outer, size_t level, bool *found);
int xr_outer_find_second(struct xr_outer *outer);

#endif
