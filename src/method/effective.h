/* SPDX-License-Identifier: MIT */
/* The effective capacity of a level: what a program gets of it, whatever its sets, beside whoever shares it.
 *
 * Random walks over all lines of more and more bytes, between the level's latency and the next one's: how many of
 * the bytes did the level keep? Curves are taken until two agree; where none do, how much they differ is part of
 * the answer.
 *
 * The last level is often shared. A line that nobody asks for again then leaves it after a time, a millisecond or
 * two where many others are busy, not after so many accesses of ours. Who waits for every line before asking for
 * the next keeps as many as he gets round to in that time: 1 to 4 MiB of 48, changing from one second to the
 * next. Twelve walks at once kept 5 to 14; but how long their steps take says less of what was kept than of who
 * else is on the core and on the way to memory. So beside others lines are asked for again after all others of so
 * many bytes, these as quickly as they can be had, and only the returns are timed, one by one: below 10 MiB
 * nearly all of them hit, above 17 nearly none, and that differed by a tenth from one second to the next.
 *
 * The size of which half is kept is followed: each look is at more bytes than the last if more than half was
 * kept, at fewer if less; the mean is the answer. As it is the more like that of the next run the longer it was
 * followed, it is followed in parts, with other work in between.
 */
#ifndef XR_METHOD_EFFECTIVE_H
#define XR_METHOD_EFFECTIVE_H

#include "method/levels.h"

enum { XR_EFFECTIVE_PARTS = 5 };

struct xr_effective {
	struct xr_walk walk;             /* how to walk */
	double page;                     /* bytes, unit of the curves */
	double near, far;                /* cycles: this level's latency, the next one's */
	uint64_t most;                   /* bytes of the largest walk */
	bool last;                       /* level before memory: others may use it, too */
	double inner;                    /* bytes of the level before this one; 0: not known */
	double bytes, spread;            /* result: the capacity; how much curves differ, as a share of it */
	double low, high;                /* result: the smallest and the largest of them */
	double alone;                    /* result: what one walk keeps that waits for every step, about */
	bool others;                     /* result: that is much less: somebody else uses the level, too */
	size_t curves;                   /* result: how many of them; beside others: parts */
	double least_far;                /* beside others: misses take longer than that */
	double size;                     /* beside others: bytes of the next look */
	double part[XR_EFFECTIVE_PARTS]; /* what each of them said */
};

/* Pure. Two estimates, one low and one high. Low: the most bytes that the level kept of any walk; where sets fill
 * unevenly, it never keeps all. High: the largest walk of which it kept half; policies that resist large walks
 * keep half of one of twice their size. The result is between the two. */
double xr_effective_of(const struct xr_effective *e, const struct xr_staircase *curve);

/* From a curve, of single walks, that reaches from well below to well above. 0, or -1 as xr_run_time(). */
int xr_effective_find(struct xr_effective *e, const struct xr_staircase *curve);

/* Beside others: another part, when some time has passed. Else nothing. */
int xr_effective_go_on(struct xr_effective *e);

/* The line of a level whose sets are hashed: a walk that is too large for the level, over every line or over
 * every second one: that is half as many lines, unless two of them are one. *line 0: not seen. After
 * xr_effective_find(). */
int xr_effective_line(const struct xr_effective *e, double *line);

#endif
