/* The effective capacity of a level: what a program gets of it, whatever its sets, beside whoever shares it.
 *
 * Random walks over all lines of more and more bytes, between the level's latency and the next one's: how many of the bytes
 * did the level keep? On a machine with neighbours the answer changes from one moment to the next: then several curves are
 * taken, and how much they differ is part of the answer.
 */
#ifndef XR_METHOD_EFFECTIVE_H
#define XR_METHOD_EFFECTIVE_H

#include "method/levels.h"

struct xr_effective {
	struct xr_walk walk;  /* how to walk */
	double page;          /* bytes, unit of the curves */
	double near, far;     /* cycles: this level's latency, the next one's */
	uint64_t most;        /* bytes of the largest walk */
	bool restless;        /* there are neighbours */
	double bytes, spread; /* result: the capacity; how much curves differ, as a share of it */
	size_t curves;        /* result: how many of them */
};

/* Pure. Two estimates, one low and one high. Low: the most bytes that the level kept of any walk; where sets fill unevenly, it
 * never keeps all. High: the largest walk of which it kept half; policies that resist large walks keep half of one of
 * twice their size. The result is between the two. */
double xr_effective_of(const struct xr_effective *e, const struct xr_staircase *curve);

/* From a curve that reaches from well below to well above; adds walks to it. 0, or -1 as xr_run_time(). */
int xr_effective_find(struct xr_effective *e, struct xr_staircase *curve);

/* The line of a level whose sets are hashed: a walk that is too large for the level, over every line or over every second
 * one: that is half as many lines, unless two of them are one. *line 0: not seen. After xr_effective_find(). */
int xr_effective_line(const struct xr_effective *e, double *line);

#endif
