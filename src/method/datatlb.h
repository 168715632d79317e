/* SPDX-License-Identifier: MIT */
/* The first data TLB where times repeat exactly and its index is plain (regular.h): pages at equal distances.
 */
#ifndef XR_METHOD_DATATLB_H
#define XR_METHOD_DATATLB_H

#include "micro/micro.h"

struct xr_data_tlb {
	struct xr_run *run;
	unsigned buffer;     /* id; the next one is used, too */
	uint64_t page, line, way; /* the last two: of the first cache */
	uint64_t base;       /* where pages that are asked for begin */
	size_t entries;      /* result; 0: not found, or evicted at random */
	uint64_t covers;     /* bytes of an entry: a page, or more than the system says */
	size_t ways;
	double penalty;      /* cycles */
	double miss;         /* the same, about */
};

/* 0, or -1 as xr_run_time(). */
int xr_data_tlb_find(struct xr_data_tlb *tlb);

#endif
