/* SPDX-License-Identifier: MIT */
/* One line of a recording: a specification and its reading, to JSON and back.
 *
 * What is zero or false is left out. Everything a control engine may look at is kept, the time spent on waiting
 * for peace too: an engine that runs out of patience on the machine must run out of it in the replay.
 */
#ifndef XR_TARGET_RECORDING_H
#define XR_TARGET_RECORDING_H

#include "target/backend.h"

#include <jansson.h>

/* The text of a specification. Of a long one (a chain over thousands of pages) the start, and a hash of all of it. */
const char *xr_recording_key(struct xr_arena *arena, const struct xr_spec *spec);

json_t *xr_recording_from_reading(const struct xr_reading *reading);
struct xr_reading xr_recording_to_reading(struct xr_target *target,
                                          const json_t *json); /* samples: in target->samples */

#endif
