/* SPDX-License-Identifier: MIT */
/* Shorthands for teams of threads. Everything comes from the arena given. */
#ifndef XR_METHOD_TEAMS_H
#define XR_METHOD_TEAMS_H

#include "nano/spec.h"

/* One member per CPU listed: the first does `first`, all others do `others` (both may be NULL for kinds without work).
 * Chains get a buffer of their own per member: the id given plus the place of the CPU in the list of CPUs (`place`, or
 * NULL: 0, 1, 2 …), so that the same CPU always works on the same memory. */
struct xr_spec xr_spec_team(struct xr_arena *arena, enum xr_team_kind kind, const int *cpu, const int *place, unsigned n,
                            const struct xr_spec *first, const struct xr_spec *others);

/* Two members without work (XR_PINGPONG, XR_PIPE, XR_FALSE, XR_SWITCH). */
struct xr_spec xr_spec_pair(struct xr_arena *arena, enum xr_team_kind kind, int cpu0, int cpu1, uint64_t bytes);

/* A random endless walk over `bytes` in steps of `stride`; id as in xr_buffer. */
struct xr_spec xr_spec_walkabout(struct xr_arena *arena, unsigned id, uint64_t bytes, uint64_t stride,
                                 enum xr_access access, enum xr_backing backing);

#endif
