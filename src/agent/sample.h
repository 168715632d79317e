/* SPDX-License-Identifier: MIT */
/* A specification on the target, and how samples of it are taken. */
#ifndef XR_AGENT_SAMPLE_H
#define XR_AGENT_SAMPLE_H

#include "chain.h"
#include "flow.h"
#include "team.h"
#include "walk.h"

#include <stddef.h>

enum xr_agent_kind { XR_SPEC_NOTHING, XR_SPEC_CLOCK, XR_SPEC_OPS, XR_SPEC_CHAIN, XR_SPEC_WALK, XR_SPEC_TEAM, XR_SPEC_FLOW };

struct xr_agent_spec {
	enum xr_agent_kind kind;
	int bad;
	int nano;
	int twin;  /* the same with twice as many statements; -1: none */
	int power; /* class of vectors in it, wider and fp higher: units have to be woken up for each */
	struct xr_agent_chain *chain;
	struct xr_agent_walk *walk;
	struct xr_agent_team *team;
	struct xr_agent_flow *flow;
	unsigned long reps_long, reps_short;
};

/* From generated code: functions, and the operations that each does in one repetition. */
extern void (*const xr_nano_table[])(unsigned long reps);
extern const int xr_nano_body[];
extern const int xr_nano_count;

double xr_spec_run_ops(void *self, unsigned long reps); /* self: index of the function. Returns the operations done */

/* How long samples are, if wanted_ns > 0, and how long walks of this batch may wait for moments in which nobody
 * else uses the core. */
void xr_sampling_begin(double wanted_ns, double wait_ns);

/* To be spent on waiting until the core is ours, by streams of operations; replaces what is left of it. */
void xr_sampling_patience(double ns);

/* How many repetitions make a sample. Again, if its units were asleep. */
void xr_spec_calibrate(struct xr_agent_spec *spec);
void xr_spec_wake_up(struct xr_agent_spec *spec);

/* `rounds` samples of each of these k specifications of `all`, one round after the other, in random order; says
 * what they were, then xr_say_done(). */
void xr_take_rounds(struct xr_agent_spec *all, int rounds, int *idx, int k);
void xr_say_done(void);

/* Counts events of these k specifications, by operation, scripts and teams left out; says what they were, then
 * xr_say_done(). */
void xr_count_specs(struct xr_agent_spec *all, const int *idx, int k);
void xr_sampling_release(void);

/* What cannot go on ends here. */
void xr_agent_die(const char *why);
void *xr_agent_grown(void *p, size_t bytes); /* realloc() that succeeds */

#endif
