/* SPDX-License-Identifier: MIT */
/* Patience beside a neighbour.
 *
 * Who else uses the core makes every access slower and evicts what it brought; such spells last from
 * microseconds to seconds. So the target waits for moments in which nobody is there, and says what was taken in
 * others. How long it may wait is bounded for all questions together: one budget, of which each question may
 * spend a share of what is left. Beside somebody who never pauses waiting is no use, and ends sooner.
 */
#ifndef XR_METHOD_PEACE_H
#define XR_METHOD_PEACE_H

#include "micro/micro.h"

struct xr_peace {
	double left_ns, waited_ns;  /* to be spent on waiting; spent so far */
	size_t readings, disturbed; /* so far; of these, with most samples taken beside somebody */
};

/* As xr_run_time_with(); waits for at most this share of what is left. peace NULL: does not wait. */
int xr_time_in_peace(struct xr_peace *peace, double share, struct xr_run *run, struct xr_effort effort,
                     const struct xr_spec *spec, size_t n, struct xr_reading *reading);

/* The samples of a reading that nobody disturbed; all of them, if these are too few to tell. */
size_t xr_quiet_samples(const struct xr_reading *reading);

#endif
