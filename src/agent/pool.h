/* SPDX-License-Identifier: MIT */
/* Threads that sleep until there is a job for them, one per CPU and job: what teams are made of.
 *
 * A pool belongs to one thread, which sleeps while a set of jobs runs. Not there with -DXR_NO_THREADS.
 */
#ifndef XR_AGENT_POOL_H
#define XR_AGENT_POOL_H

#include <stddef.h>

struct xr_job {
	int cpu;                 /* where; -1: wherever the OS likes */
	void (*run)(void *arg);
	void *arg;
	long switches;           /* out: how often it was preempted */
};

struct xr_team_pool;

/* Wakes a thread for each job and waits until all are done. 0; -1 with error filled in when a thread cannot be had or
 * pinned: then none of the jobs was started. */
int xr_pool_run(struct xr_team_pool *pool, struct xr_job *job, int n_jobs, char *error, size_t error_size);

double xr_pool_now(const struct xr_team_pool *pool);
double xr_pool_reference(const struct xr_team_pool *pool);

/* Involuntary context switches of the calling thread so far; 0 where nobody counts them. */
long xr_involuntary_switches(void);

#endif
