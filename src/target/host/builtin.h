/* SPDX-License-Identifier: MIT */
/* The agent that X-Ray carries ready-made, for machines without a C compiler: containers, rented VMs. It serves
 * everything but what needs code of its own; streams of operations that other micro-benchmarks ask for (the clock's
 * chains, what threads do) were compiled into it when X-Ray was built, by scripts/builtin.c.
 *
 * Inside the room only.
 */
#ifndef XR_TARGET_HOST_BUILTIN_H
#define XR_TARGET_HOST_BUILTIN_H

#include "target/host/toolchain.h"

/* Made at build time. ids: of the specifications in the program's table, in its order (see xr_builtin_id()). */
extern const uint64_t xr_builtin_ids[];
extern const size_t xr_builtin_count;
extern const unsigned char xr_builtin_program[], xr_builtin_program_end[];
/* The agent alone, as an object: linked with streams of the machine's own compiler it need not be compiled there. */
extern const unsigned char xr_builtin_object[], xr_builtin_object_end[];

extern const char xr_builtin_needs[]; /* "needs a C compiler" */

bool xr_builtin_there(void); /* false: this build carries none */
bool xr_builtin_object_there(void);
uint64_t xr_builtin_object_key(void);
/* Where the object lies; NULL: it could not be written. */
const char *xr_builtin_object_path(struct xr_toolchain *tc);
uint64_t xr_builtin_id(const struct xr_spec *spec);
/* As xr_toolchain_build(): those it does not carry are failures, the others get their place. */
int xr_builtin_build(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                     const char **program, struct xr_error *err);

#endif
