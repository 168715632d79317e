/* SPDX-License-Identifier: MIT */
/* Flows of bytes on a simulated machine: what they cost, alone. */
#ifndef XR_TARGET_MODEL_FLOW_H
#define XR_TARGET_MODEL_FLOW_H

#include "target/model/model.h"

/* Misses in flight to the level-th cache from the core (1: the second; the number of caches: memory). */
double xr_flow_in_flight(const struct xr_machine *machine, int level);
double xr_flow_door(const struct xr_machine *machine); /* bytes per cycle that memory moves */
double xr_flow_width_of(const struct xr_machine *machine, const struct xr_flow_spec *flow);

/* Cycles of one line of the first cache if share[i] of them come from the i-th cache of data, the last from memory. */
double xr_flow_line_cycles(const struct xr_machine *machine, const struct xr_flow_spec *flow, const double *share);

/* Cycles of 64 bytes read or written, on the machine at hand; *memory_bytes: that memory moves for them. */
double xr_model_flow(struct xr_model *model, const struct xr_flow_spec *flow, double *memory_bytes);
const char *xr_flow_wrong_with(const struct xr_machine *machine, const struct xr_flow_spec *flow); /* NULL: nothing */

#endif
