/* SPDX-License-Identifier: MIT */
/* What went on around a run: looked at before it, and over all of it. Explains doubts; no measurement asks for it. */
#ifndef XR_ENGINE_CONDITIONS_H
#define XR_ENGINE_CONDITIONS_H

#include "facts/facts.h"
#include "target/host/around.h"
#include "target/target.h"

/* Only the machine this process runs on can be looked around on. */
bool xr_conditions_can(const struct xr_target *target);
/* Looks for so long. words: one sentence a line, from the arena. */
void xr_conditions_look(struct xr_arena *arena, const struct xr_target *target, double interval_s,
                        struct xr_conditions *out);
/* target.conditions of the description: what happened since `from`. */
void xr_conditions_note(struct xr_description *d, const struct xr_target *target, const struct xr_moment *from);

#endif
