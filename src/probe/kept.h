/* SPDX-License-Identifier: MIT */
/* Lines of one set of the second cache, laps over them, and a line x of the same set that is used so often that the first
 * cache keeps it.
 *
 * All of these lines share a set of the first cache, too, and so do the strangers, which are of other sets of the second.
 * Every lap is asked beside one of as many visits in which strangers take the place of what is asked about: whatever
 * the first cache does to a member, it does to a stranger, so that the difference is the second cache's. Decides
 * nothing.
 */
#ifndef XR_PROBE_KEPT_H
#define XR_PROBE_KEPT_H

#include "micro/micro.h"

enum { XR_KEPT_MOST = 96, XR_KEPT_STRANGERS = 64, XR_KEPT_TURNS = 5, XR_KEPT_BUFFER = 84 /* id */ };

struct xr_kept {
	struct xr_run *run;
	uint64_t line, page;           /* of the first cache; bytes */
	size_t first_ways;             /* of the first cache */
	uint64_t first_way;            /* its bytes */
	double miss;                   /* cycles more of a miss of the second cache */
	struct xr_buffer buffer;       /* found, as all below */
	uint64_t member[XR_KEPT_MOST]; /* places in the buffer */
	size_t n;                      /* members; 0: none was found */
	size_t ways;                   /* of the second cache, as conflict sets show; else 0 */
	size_t few;                    /* so many members fit, surely */
	uint64_t x;                    /* one more */
	uint64_t stranger[XR_KEPT_STRANGERS];
	size_t n_strangers;
	uint64_t item; /* of a pool of pages, from one to the next; 0: one way apart */
	/* Of a pool: a conflict set, whose lines may be at another offset of their pages than x, since an index may mix bits
	 * of the offset in; and lines at both offsets that keep the first cache busy. */
	uint64_t tester[XR_KEPT_MOST], busy[XR_KEPT_STRANGERS], spare;
	size_t n_busy;
};

/* Readings in pairs: a lap, and the one beside it, in cycles. n 0: none. */
struct xr_kept_times {
	double with[XR_KEPT_TURNS], without[XR_KEPT_TURNS];
	size_t n;
};

/* Members `way` bytes apart, as many as are wanted, of which `few` fit; not whether they are of one set. Leaves n at 0
 * where there is no room. */
void xr_kept_lay_out(struct xr_kept *kept, uint64_t way, size_t few, size_t wanted);
/* Members by conflict sets, at least as many as the second cache has ways; one that somebody else found, if it still is
 * one. 0, or -1 as xr_run_time(). */
int xr_kept_search(struct xr_kept *kept, double visits_most);
/* More members of a pool of pages, until there are `wanted`, or visits end. */
int xr_kept_search_more(struct xr_kept *kept, size_t wanted, double visits_most);

/* A lap over n members, beside one of which all but a few are strangers. pushed: strangers behind them push all of them
 * out of the first cache. */
int xr_kept_ask_members(const struct xr_kept *kept, size_t n, bool pushed, struct xr_kept_times *times);

/* A lap over n members, with x used after every one or few of them, beside the same with strangers as x. storing: and a
 * store to its line after each access. */
int xr_kept_ask_x(const struct xr_kept *kept, size_t n, bool storing, struct xr_kept_times *times);
/* Visits between two uses of x in such a lap. */
size_t xr_kept_apart(const struct xr_kept *kept, size_t n);

#endif
