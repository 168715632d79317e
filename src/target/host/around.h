/* SPDX-License-Identifier: MIT */
/* Who else uses this machine: processes, the hypervisor, limits. Looked at before and after measuring; never an
 * input of a measurement, only what its doubts are explained by. */
#ifndef XR_TARGET_HOST_AROUND_H
#define XR_TARGET_HOST_AROUND_H

#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* What the OS had counted at one moment. Opaque but for its size; {0} is a valid one that knows nothing. */
struct xr_moment {
	double at_s;
	double busy, steal, all;    /* CPU time of the CPUs we may use, in seconds since boot */
	double ours;                /* of it, this process and its children */
	struct xr_moment_task *task;
	size_t n_tasks;
};

struct xr_around {
	double busy;       /* share of the CPUs' time that other processes took, 0..1 */
	double steal;      /* share that the hypervisor gave to others */
	double load;       /* average over a minute; -1: not known */
	double quota;      /* CPUs' worth of time that a control group allows; 0: no limit */
	int n_cpus;
	char governor[32]; /* of the clock; "": not known */
	char huge[16];     /* transparent huge pages: "always", "madvise", "never"; "": not known */
	struct {
		char name[16];
		double share;  /* of the CPUs' time */
	} who[3];          /* the busiest first */
	size_t n_who, n_busy; /* how many of those are named; how many took a noticeable share */
};

void xr_moment_take(struct xr_moment *moment, struct xr_arena *arena, const int *cpus, int n_cpus);
/* What happened between two moments. */
void xr_around_between(struct xr_around *around, const struct xr_moment *from, const struct xr_moment *to, int n_cpus);

/* The i-th sentence on what may disturb, for people; NULL: no more. neighbour: somebody shares the core
 * (noise.neighbour). */
const char *xr_around_words(struct xr_arena *arena, const struct xr_around *around, bool past, bool neighbour, int i);
bool xr_around_quiet(const struct xr_around *around);

#endif
