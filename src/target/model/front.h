/* SPDX-License-Identifier: MIT */
/* The front end of a simulated core: jump targets that it remembers, and code that it keeps decoded.
 *
 * Made anew for every walk over code; what it knows afterwards nobody asks for.
 */
#ifndef XR_TARGET_MODEL_FRONT_H
#define XR_TARGET_MODEL_FRONT_H

#include "target/model/mem.h"

struct xr_front {
	const struct xr_machine *machine;
	struct xr_rng rng;
	struct xr_array btb[XR_MACHINE_BTBS];
	struct xr_array decoded; /* ways 0: none */
};

void xr_front_init(struct xr_front *front, const struct xr_machine *machine);
void xr_front_release(struct xr_front *front);

/* A foreseen jump from here: is its target known, and how many cycles more does that take? Known from now on. */
bool xr_front_knows(struct xr_front *front, uint64_t address, double *cycles);

/* Is this code, of so many operations, there decoded? From now on it is. `mem` says what the first cache of code
 * holds. */
bool xr_front_decoded(struct xr_front *front, struct xr_mem *mem, struct xr_mem_buffer *buffer, uint64_t offset,
                      uint64_t bytes, double ops);

#endif
