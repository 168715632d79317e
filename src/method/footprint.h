/* SPDX-License-Identifier: MIT */
/* Footprints: how many bytes to go over so that one level answers, or memory. */
#ifndef XR_METHOD_FOOTPRINT_H
#define XR_METHOD_FOOTPRINT_H

#include "micro/micro.h"

enum { XR_FOOTPRINTS = 5 }; /* at most: four levels and memory */

struct xr_footprint {
	const char *name; /* beginning of its facts' ids: cache.l1d …, memory */
	int level;        /* 0: the first */
	bool memory;
	uint64_t bytes;   /* whole blocks of 4 KiB where it can be; 0: it never answers alone */
};

/* Of the levels known so far, doubtful ones included, and memory last. Of the first level half of it; of an outer
 * one four times the nearer one, but at most half of it and at least one and a half times the nearer one; of memory
 * eight times the largest cache, at least 64 MiB, as far as there is room. Returns how many. */
int xr_footprints(struct xr_run *run, struct xr_footprint place[static XR_FOOTPRINTS]);

const char *xr_footprint_trouble(const struct xr_footprint *place); /* why it never answers alone */

#endif
