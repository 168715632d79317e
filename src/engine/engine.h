/* SPDX-License-Identifier: MIT */
/* The engine: orders micro-benchmarks by what they need, runs them, keeps their facts.
 *
 * One that cannot run costs its own facts, which then say why; those that need it say so too, and all others go on.
 */
#ifndef XR_ENGINE_ENGINE_H
#define XR_ENGINE_ENGINE_H

#include "facts/facts.h"
#include "micro/micro.h"
#include "target/target.h"
#include "xray.h"

/* Facts go to d. -1: wrong use, or the target gave nothing at all. self: see struct xr_run. */
int xr_engine_run(struct xr_target *target, const struct xr_micro *const *table, const struct xr_plan *plan, uint64_t seed,
                  void *self, struct xr_description *d, struct xr_outcome *outcome, struct xr_error *err);

/* What the OS says, put beside the facts of the machine this process runs on. Only ever called after measuring. */
void xr_claims_add(struct xr_description *d, const struct xr_target_info *info);

/* The "target" object of the description. */
void xr_describe_target(struct xr_description *d, const struct xr_target *target, uint64_t seed, bool quick, double seconds);

#endif
