/* SPDX-License-Identifier: MIT */
/* Foreseen jumps: a chain of direct jumps, written as machine code for this walk alone.
 *
 * The target of a direct jump stands in the instruction, so a predictor knows it after the first lap and the
 * front end runs ahead as far as it can. Only for instruction sets whose jumps are known here; elsewhere a walk
 * falls back on copied blocks in a fixed order (agent/walk.c), which a predictor of indirect jumps can learn.
 */
#ifndef XR_AGENT_DIRECT_H
#define XR_AGENT_DIRECT_H

#include <stddef.h>
#include <stdint.h>

struct xr_agent_direct;

enum { XR_DIRECT_GRID = 32 }; /* a block takes no more than this */

/* Jumps from block to block in the order of offset[], each a multiple of XR_DIRECT_GRID and below `bytes`; memory
 * of its own. NULL: not on this instruction set, or no such memory, or the blocks are too far apart. */
struct xr_agent_direct *xr_direct_make(uint64_t bytes, const uint32_t *offset, size_t n);

void xr_direct_run(struct xr_agent_direct *direct, unsigned long laps); /* at least one */

void xr_direct_free(struct xr_agent_direct *direct); /* NULL is fine */

#endif
