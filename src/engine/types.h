/* SPDX-License-Identifier: MIT */
/* Machines whose cores are not all alike. */
#ifndef XR_ENGINE_TYPES_H
#define XR_ENGINE_TYPES_H

#include "engine/run.h"

/* Where threads.types tells of several types of cores: everything in the order that is about a core is measured again
 * on a CPU of each other type, and its facts and series get ids that begin with "type.N.", N being the place of the
 * type in threads.types. Targets that cannot move leave a note on threads.types. */
void xr_types_after(struct xr_run *run, uint64_t seed, const enum xr_end *ends);

#endif
