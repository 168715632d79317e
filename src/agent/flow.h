/* SPDX-License-Identifier: MIT */
/* Flows of bytes on the target: memory read, written or copied in order, as quickly as it goes (XR_FLOW of
 * nano/spec.h).
 *
 * Part of the agent: travels as text, needs nothing but libc. What depends on the instruction set is in flow.c's
 * kernels; a compiler or an architecture that is not known gets plain words, and says so by xr_flow_width().
 *
 *   make()  → ready(), look at the clock, run(), look at the clock → … → free()
 */
#ifndef XR_AGENT_FLOW_H
#define XR_AGENT_FLOW_H

#include <stddef.h>

struct xr_agent_flow;

/* From the words after "flow" of xr_spec_text(): <buffer id> <buffer bytes> <small|huge|shuffled|any>
 * <read|write|copy|past> <bytes> <width> <lanes> <pause>. NULL: error says why; the text begins with "unsupported: "
 * when this target has no such accesses. */
struct xr_agent_flow *xr_flow_make(char **words, int n_words, char *error, size_t error_size);

/* Untimed, before every sample: goes over everything, or a quarter of much, unless it ran last: what others left in
 * the caches, and have written, goes. */
void xr_flow_ready(struct xr_agent_flow *flow);

/* Moves about `reps` times 64 bytes, going on where the call before ended; returns how many times 64 bytes were
 * read or written (a copy does both). */
double xr_flow_run(struct xr_agent_flow *flow, unsigned long reps);

double xr_flow_width(const struct xr_agent_flow *flow); /* bytes of one access, really */

void xr_flow_free(struct xr_agent_flow *flow); /* NULL is fine; the buffer stays */

#endif
