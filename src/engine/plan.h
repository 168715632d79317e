/* SPDX-License-Identifier: MIT */
/* Which micro-benchmarks, in which order. Pure: looks at descriptors and selectors, runs nothing. */
#ifndef XR_ENGINE_PLAN_H
#define XR_ENGINE_PLAN_H

#include "micro/micro.h"
#include "util/arena.h"
#include "util/error.h"

struct xr_step {
	const struct xr_micro *micro;
	bool asked;              /* by a selector (or everything was) */
	bool whole;              /* all its facts are wanted */
	const char *missing;     /* a need that no micro-benchmark of the table answers; NULL: none */
};

struct xr_order {
	struct xr_arena *arena;
	struct xr_step *step;    /* needs before those who need them; among the ready, the cheapest first */
	size_t n;
	const char *const *select;
	size_t n_select;
	const char **needed;     /* facts needed by their own ids */
	size_t n_needed;
};

/* hurried: what most people ask for comes first (clock, caches, TLBs, main operations, memory), whatever it
 * costs; else the cheapest. Everything in the order comes from the arena. -1: a selector that fits nothing (with
 * the nearest that would), or descriptors that need each other in a circle. */
int xr_order_make(struct xr_order *order, struct xr_arena *arena, const struct xr_micro *const *table,
                  const char *const *select, size_t n_select, bool hurried, struct xr_error *err);

bool xr_order_wants(const struct xr_order *order, const struct xr_step *step, const char *id);
bool xr_order_asked(const struct xr_order *order, const struct xr_step *step, const char *id); /* by a person, not a need */

/* Is it one of those that most people ask for? */
bool xr_micro_is_main(const struct xr_micro *micro);

/* Does this micro-benchmark find facts under the selector? */
bool xr_micro_finds(const struct xr_micro *micro, const char *sel);

#endif
