/* SPDX-License-Identifier: MIT */
/* What a budget leaves over: in a hurry everything was asked with little effort, so that there is an answer to
 * most; now what is in doubt is asked once more with all effort, what most people want to know first. An answer
 * of full effort replaces the hurried one, whichever looks surer: choosing by confidence would favour luck. One
 * that the end of the budget cuts off changes nothing.
 */
#ifndef XR_ENGINE_REFINE_H
#define XR_ENGINE_REFINE_H

#include "engine/run.h"

void xr_refine_after(struct xr_run *run, uint64_t seed, enum xr_end *ends, struct xr_outcome *outcome);

#endif
