/* SPDX-License-Identifier: MIT */
/* Recordings: every specification with its readings, one JSON object a line, in the order they were asked for.
 *
 * DIR/machine.ini      [target] kind = recorded, readings = readings.jsonl
 * DIR/readings.jsonl   first line: the target's info; then {"spec": text, "reading": {…}} for each one
 *
 * A replay looks a specification up by its text (see recording.h); one that was asked several times is answered in the
 * same order, and from the start again when the answers are used up.
 */
#ifndef XR_TARGET_RECORD_H
#define XR_TARGET_RECORD_H

#include "target/target.h"

struct xr_recorder;

struct xr_recorder *xr_recorder_new(const char *dir, const struct xr_target_info *info, struct xr_error *err);
int xr_recorder_put(struct xr_recorder *recorder, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                    const struct xr_reading *readings, struct xr_error *err);
void xr_recorder_free(struct xr_recorder *recorder);

#endif
