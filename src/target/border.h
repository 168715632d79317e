/* SPDX-License-Identifier: MIT */
/* The border: whatever a target says passes here, whoever said it (an agent behind a runner, a recording from a
 * stranger, a model of a machine), and what could not have been read on any machine goes no further.
 *
 * Behind it every reading that is XR_READ_OK has finite times: cycles, ns and their medians positive (plain
 * observations, such as a look at the clock: not negative), samples no less, the rest in range; every other one
 * has a reason. So control engines may divide by what they are given.
 */
#ifndef XR_TARGET_BORDER_H
#define XR_TARGET_BORDER_H

#include "target/backend.h"

/* Can it be a sample of such a specification at all? */
bool xr_border_raw(const struct xr_spec *spec, const struct xr_raw *raw);

/* Makes the reading fail when it cannot be one; evens out what is below the least time. Samples must be writable. */
void xr_border_reading(const struct xr_spec *spec, struct xr_reading *reading);

/* 0; -1, with what is wrong: a machine cannot be like this. */
int xr_border_info(const struct xr_target_info *info, struct xr_error *err);

/* Observations that are not "so much work in so much time". */
bool xr_is_plain_observation(const struct xr_spec *spec);

#endif
