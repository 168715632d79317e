/* SPDX-License-Identifier: MIT */
/* Machine, simulator or emulator: is the time that the agent reads the target's own?
 *
 * Three things tell. Whose clock it is: where a program of another architecture runs on this kernel and its clock is
 * this machine's, software plays the machine and the time is that software's. What fresh code costs (agent/nature.h):
 * tens of thousands of operations where it is translated first. And how the clock runs: a simulator's own clock neither
 * keeps pace with the wall nor ever reads differently for the same work; that time is the simulated machine's, and one
 * sample of it is as good as many.
 */
#ifndef XR_TARGET_HOST_NATURE_H
#define XR_TARGET_HOST_NATURE_H

#include "target/host/host.h"

/* Asks the resident agent, which has said hello; fills in what info says of it. -1 with err: the agent is lost. Where
 * the target is plainly this machine nothing is asked. */
extern const char *const xr_nature_script[]; /* for targets that cannot be talked to: the lines that they are to answer */
int xr_nature_find(struct xr_host *h, const struct xr_target_words *words, struct xr_error *err);

#endif
