/* SPDX-License-Identifier: MIT */
/* From specifications to objects: they are dealt to translation units, which are compiled in parallel, or known from
 * before; one that fails is compiled again without those that the compiler blames, or in halves, until only the
 * guilty ones fail. Inside the room only.
 */
#ifndef XR_TARGET_HOST_UNITS_H
#define XR_TARGET_HOST_UNITS_H

#include "target/host/toolchain.h"

/* Sets out[i] for specs[i]; *unit gets the keys of the objects (xr_compiled_path()), the caller's to free, also
 * after an error. -1: the compiler cannot be used, err says why. */
int xr_units_compile(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                     uint64_t **unit, size_t *n_units, struct xr_error *err);

#endif
