/* SPDX-License-Identifier: MIT */
/* `xray time`: latency, throughput and in-flight count of one C statement. See xr_session_time(). */
#ifndef XR_ENGINE_STATEMENT_H
#define XR_ENGINE_STATEMENT_H

#include "facts/facts.h"
#include "target/target.h"
#include "xray.h"

int xr_statement_run(struct xr_target *target, const struct xr_statement *statement, const struct xr_plan *plan, uint64_t seed,
                     struct xr_description *d, struct xr_outcome *outcome, struct xr_error *err);

#endif
