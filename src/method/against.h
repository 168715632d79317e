/* SPDX-License-Identifier: MIT */
/* Code and data against each other: do they share a cache?
 *
 * Code that fills a good part of a cache and data that fill most of it each fit alone; together they do not, if
 * the cache is for both (paper 004 §3.6, from the code side). Unforeseen jumps over that much code, with the data
 * read between laps, against the same jumps without data; and both again with the jumps in an eighth of the lines
 * of the same pages. Reading the data takes the same time in both cases, and TLBs are as full; what is left over
 * in the first case is what code and data do to each other in the cache. A line of code that was evicted costs
 * a miss, so that is a share of misses.
 */
#ifndef XR_METHOD_AGAINST_H
#define XR_METHOD_AGAINST_H

#include "method/walks.h"

struct xr_against {
	double code_bytes, data_bytes;
	double miss;      /* cycles, of a jump that misses the cache in question */
	uint64_t spacing; /* of blocks: a line */
	double share;     /* result: of code that misses because of the data */
	double confidence;  /* result */
	const char *trouble; /* result: why there is none, or NULL */
	bool unsupported;    /* … because walks cannot be run here */
};

/* 0; -1 as xr_run_time(). */
int xr_against_ask(struct xr_walk_bench *bench, struct xr_against *against);

/* Neither clearly none nor clearly some. */
bool xr_against_unclear(double share);

/* Some, if it is clear at all. */
bool xr_against_shared(double share);

#endif
