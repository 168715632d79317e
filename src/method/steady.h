/* SPDX-License-Identifier: MIT */
/* Times that are the core's own: read again and again until each was seen twice. */
#ifndef XR_METHOD_STEADY_H
#define XR_METHOD_STEADY_H

#include "micro/micro.h"

/* As xr_run_time(), several times over, for the times of computations (not of memory, where chance decides more than
 * neighbours do). The two least readings of each specification agree, and the second is what is handed out. Whatever
 * else runs on the core (a busy sibling, for one) makes operations slower for a while, never quicker; so the least is
 * the core's own, unless it is a freak. *noisy gets the share of those whose two least readings differ by more than 2
 * %, or agree only in that somebody was there each time. hasty: see struct xr_effort. */
int xr_time_steadily(struct xr_run *run, const struct xr_spec *spec, size_t n, bool hasty, struct xr_reading *out,
                     double *noisy);

#endif
