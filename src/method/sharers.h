/* SPDX-License-Identifier: MIT */
/* Which cores share a cache, and what each gets of it when all are busy.
 *
 * A walk over 60 % of a cache loses lines to somebody who sweeps through 90 % of the same cache, and none to somebody
 * with a cache of his own. The victim's accesses depend on each other; the attacker's do not, so that it is the faster
 * one even while it misses: of two dependent walks the one that hits starves the other one out and sees nothing. What
 * the victim loses is told by its time between two others: of a walk so small that it loses nothing, and of one so
 * large that all of it is beyond the level, under the same attack. For what lies beyond is slower too when many use it,
 * and a walk that misses now and then would be slowed down by that alone.
 *
 * One CPU speaks for each core. All other cores attack at once: not slowed means that the cache is private. Otherwise
 * the cores are put in order of their distance (comm.latency where known, else by number), and the farthest one that
 * still hurts is bisected, since sharing follows distance; then a group beyond it must not hurt. Logarithmic in the
 * number of cores, and at most a handful of buffers as large as the cache.
 */
#ifndef XR_METHOD_SHARERS_H
#define XR_METHOD_SHARERS_H

#include "micro/micro.h"

struct xr_sharers {
	struct xr_run *run;
	const int *cpu; /* one per core, the victim first, the others in order of distance from it */
	int n;
	bool cores_known; /* else every CPU speaks for itself */
	double begun, share; /* of the micro-benchmark's way: where the level at hand begins, how much of it it takes */
	/* of the level at hand */
	const char *level; /* "l1d", "l2" … */
	uint64_t line;
	double capacity;
	bool vague; /* the capacity is what a program gets of the outermost level: that may be larger */
	double sample_ns;
	struct xr_spec walk[3], attacker; /* of the victim: home, near, far */
	double home_cycles, far_cycles;   /* of an access in the level, and beyond it while others attack */
	bool shaky;                       /* some answer needed more than one look */
};

/* Who speaks for which core. NULL, or why nobody can be asked. */
const char *xr_sharers_init(struct xr_sharers *s, struct xr_run *run);

/* Puts cache.LEVEL.shared_by and cache.LEVEL.busy_capacity. behind: the capacity of the next level; 0: not known. */
int xr_sharers_measure(struct xr_sharers *s, const char *level, double capacity, double behind, bool vague);

/* The same facts for a level that cannot be measured: why_not, or NULL: for want of its capacity. */
void xr_sharers_explain(const struct xr_sharers *s, const char *level, const char *why_not);

#endif
