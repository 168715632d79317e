/* SPDX-License-Identifier: MIT */
/* The conversation with an agent: it is started, told the specifications of the batch, and heard until it is done. One that
 * dies, falls silent or talks without end costs the specification it was at, and the others are asked again.
 * Inside the room only.
 */
#ifndef XR_TARGET_HOST_TALK_H
#define XR_TARGET_HOST_TALK_H

#include "target/host/host.h"

/* Starts an agent, and waits until it says what its clock is like. Not 0: err says why; -1: it cannot be started,
 * -2: it does not answer. */
int xr_talk_begin(struct xr_host *h, struct xr_proc *proc, const char *program, struct xr_error *err);
/* Waits for a line with this word (a runner, or a console that repeats what it is told, may have lines of its own); *answer
 * begins with it. -1: none came in time (a runner gets more of it). */
int xr_talk_answer(struct xr_host *h, struct xr_proc *proc, const char *word, double seconds, const char **answer);
/* Lets the agent that stays up look for a core that is left alone. */
void xr_talk_settle(struct xr_host *h);
bool xr_talk_may_run_on(const struct xr_target_info *info, int cpu);

struct xr_proc *xr_talk_agent(struct xr_host *h); /* of this batch */
/* Adds to the text how long the agent may wait for others to pause. */
void xr_talk_patience(struct xr_host *h, struct xr_strbuf *text);
/* Adds to the text everything the agent must know of the specifications in play; sets order[]. */
void xr_talk_tell(struct xr_host *h, struct xr_strbuf *text);

/* Tells, and waits until all are ready; takes the guilty ones out of play until the rest is. */
int xr_talk_ready(struct xr_host *h, struct xr_reading *out, struct xr_error *err);
/* Samples of idx[0..k-1] into lists; rounds 0: events instead. -1: *how says how the agent ended. */
int xr_talk_rounds(struct xr_host *h, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
                   struct xr_reading *out, const char **how);
/* A program that was told everything when it was built: starts it, and hears all of it. */
int xr_talk_hear(struct xr_host *h, int rounds, struct xr_raw_list *lists, struct xr_reading *out,
                 struct xr_error *err);

#endif
