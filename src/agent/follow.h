/* SPDX-License-Identifier: MIT */
/* Following links: from each word to the address that stands in it, with one cursor or several. Part of the agent.
 */
#ifndef XR_AGENT_FOLLOW_H
#define XR_AGENT_FOLLOW_H

#include "buffer.h"

#include <stddef.h>
#include <stdint.h>

enum {
	XR_CURSORS_MAX = 64,
	XR_UNIT_BYTES = 4, /* tables of places count in these, so that 32 bits reach 16 GiB */
};

void *xr_follow(void *at, size_t n); /* n steps from there; returns where they end */
/* The same with nothing but the loop around sixteen loads, however many steps: where times repeat to the cycle,
 * those left over must not cost more than the others. */
void *xr_follow_evenly(void *at, size_t n);
/* What its loop adds to each load, on a core that does one thing after the other; times must repeat. */
double xr_follow_overhead_ns(double (*now_ns)(void));
/* The same as xr_follow(), with a store of another value after each step, to the last word of the line that was read;
 * line: its bytes, a power of two. */
void *xr_follow_storing(void *at, size_t n, size_t line);
void xr_follow_many(void **at, unsigned k, size_t n);

/* Walks that share their links ("rolling", chain.h): they go on where others stopped. */
struct xr_rolling;

/* Those of a walk of the same words (but for its cursors), if there is one; whoever found or made them leaves them. */
struct xr_rolling *xr_rolling_find(char **words, int n_words);
/* New ones; takes `unit` over, the places in order. NULL: no memory. */
struct xr_rolling *xr_rolling_new(struct xr_agent_buffer *buffer, uint32_t *unit, size_t n, char **words, int n_words);
const struct xr_agent_buffer *xr_rolling_buffer(const struct xr_rolling *rolling);
uint32_t *xr_rolling_places(const struct xr_rolling *rolling, size_t *n);
void xr_rolling_leave(struct xr_rolling *rolling); /* NULL is fine */

/* Before a sample, when the links are written (buffer->owner says whether they are its own); warm: caches are as a
 * walk over the same left them. */
void xr_rolling_ready(struct xr_rolling *rolling, int warm);
void xr_rolling_run(struct xr_rolling *rolling, unsigned cursors, size_t n);

#endif
