/* SPDX-License-Identifier: MIT */
/* Code walks on the target: blocks of code visited by jumps (XR_WALK of nano/spec.h).
 *
 * Regions stay mapped from one walk to the next: the same id and size name the same memory, so its physical pages do
 * not change. The clock is the caller's:
 *
 *   make()  → ready(), look at the clock, run(), look at the clock → … → free()
 */
#ifndef XR_AGENT_WALK_H
#define XR_AGENT_WALK_H

#include <stddef.h>

struct xr_agent_walk;

/* words: what follows "walk" in the specification's text,
 *   KIND REGION BYTES SEED N_SPANS then BASE STRIDE COUNT for each span; KIND is jumps, pattern or straight;
 *   then perhaps: statements N, before the jump of each block (nano/spec.h); data BYTES, read after each lap over them.
 * NULL with error[] filled in when it cannot be; the text begins with "unsupported: " when this target can run no
 * copied code at all. */
struct xr_agent_walk *xr_walk_make(char **words, int n_words, char *error, size_t error_size);

/* Visits about `reps` blocks (XR_STRAIGHT: runs about `reps` statements), going on where the call before ended.
 * Returns how many it really did. */
double xr_walk_run(struct xr_agent_walk *walk, unsigned long reps);

unsigned long xr_walk_lap(const struct xr_agent_walk *walk); /* blocks; of straight-line code, statements */
int xr_walk_in_order(const struct xr_agent_walk *walk);       /* the same one every lap */

/* Times repeat exactly: orders need not be long. */
void xr_walk_exact(int exact);

/* Untimed: visits every block, so that what a sample sees is the steady state and not what another walk left. */
void xr_walk_ready(struct xr_agent_walk *walk);

/* Bytes that one block takes, so the least spacing of blocks; XR_STRAIGHT: bytes of one statement. */
double xr_walk_code_bytes(const struct xr_agent_walk *walk);

void xr_walk_free(struct xr_agent_walk *walk); /* NULL is fine; regions stay */

#endif
