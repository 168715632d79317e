/* SPDX-License-Identifier: MIT */
/* Teams of threads: several pinned threads at once, started together.
 *
 * How the protocol loop uses it:
 *
 *   pool = xr_pool_new(now, reference)        once, before the main thread pins itself (cpu -1 means the CPUs allowed then)
 *   team = xr_team_make(pool, words, …)       a `team` line of a batch; nothing is started or touched yet
 *   n = xr_team_round(team, sample_ns, …)     each round: one sample (XR_SLICES: as many as were seen)
 *   xr_team_free(team), xr_pool_free(pool)
 *
 * The line:  team KIND BYTES WINDOW_NS N  then N times  CPU WORK KIND is together wall pingpong pipe false slices
 * switch (enum xr_team_kind in that order); CPU is -1 for wherever the OS likes; WORK is the index of a work of
 * the same batch, or -1. words[0] is KIND.
 *
 * Threads live in the pool and sleep between rounds, so a team that waits for its turn disturbs nobody. The main
 * thread sleeps while a team runs. Compiled with -DXR_NO_THREADS, xr_team_make() says that there are no threads
 * here.
 */
#ifndef XR_AGENT_TEAM_H
#define XR_AGENT_TEAM_H

#include <stddef.h>

/* Something to do over and over: a generated operation stream or an address chain. run() does about `reps` operations
 * and returns how many it did. It may be called by several threads at once with the same self: state belongs into
 * locals, or into an object per member. */
struct xr_work {
	double (*run)(void *self, unsigned long reps);
	void *self;
	void (*ready)(void *self); /* NULL, or called by the main thread before each round: write links anew and the like */
};

/* One sample; the fields of struct xr_raw (target/backend.h). */
struct xr_team_sample {
	double long_ns, long_ops;
	double short_ns, short_ops;
	double ref_ns; /* reference chain, read by member 0 on its CPU while the others were running */
	int hit;       /* a member was preempted, or an opponent did not run all the time; walks: see xr_quiet_look() */
};

struct xr_team_pool;
struct xr_agent_team;

/* now: the clock in ns. reference: ns of one operation of the reference chain, about 5 us long; both thread-safe. NULL
 * when there are no threads here. */
struct xr_team_pool *xr_pool_new(double (*now)(void), double (*reference)(void));
void xr_pool_free(struct xr_team_pool *pool);

/* NULL with error filled in when the line is wrong or cannot be done here. work must outlive the team. */
struct xr_agent_team *xr_team_make(struct xr_team_pool *pool, char **words, int n_words, const struct xr_work *work,
                                   int n_works, char *error, size_t error_size);
void xr_team_free(struct xr_agent_team *team);

/* Runs the team once for samples of about sample_ns (XR_WALL, XR_SLICES: the window of the line). Returns the number
 * of samples written to out, at most room; 0: nothing was seen (XR_SLICES without a gap); -1: failed, see
 * xr_team_error(). */
int xr_team_round(struct xr_agent_team *team, double sample_ns, struct xr_team_sample *out, int room);
const char *xr_team_error(const struct xr_agent_team *team);

#endif
