/* SPDX-License-Identifier: MIT */
/* How truths are made, for the files that know them: the words of a fact's id, and what may be said of it.
 */
#ifndef XR_TESTS_LIB_TRUTHS_H
#define XR_TESTS_LIB_TRUTHS_H

#include "truth.h"

#include "target/model/core.h"
#include "target/model/model.h"

#include <stdio.h>
#include <string.h>

/* ---- making truths ---- */

static const struct xr_truth unsaid = {.kind = XR_TRUTH_UNSAID};

static inline struct xr_truth absent(const char *why)
{
	return (struct xr_truth){.kind = XR_TRUTH_ABSENT, .why = why};
}

static inline struct xr_truth exact(json_t *value)
{
	return (struct xr_truth){.kind = XR_TRUTH_VALUE, .value = value};
}

static inline struct xr_truth number(double value, double relative, double absolute)
{
	return (struct xr_truth){
		.kind = XR_TRUTH_VALUE, .value = json_real(value), .relative = relative, .absolute = absolute};
}

static inline struct xr_truth count(uint64_t value)
{
	return exact(json_integer((json_int_t)value));
}

static inline struct xr_truth text(const char *value)
{
	return exact(json_string(value));
}

static inline struct xr_truth hidden_if(bool condition, const char *why, struct xr_truth truth)
{
	if (condition && truth.kind == XR_TRUTH_VALUE) {
		truth.kind = XR_TRUTH_HIDDEN;
		truth.why = why;
	}
	return truth;
}

/* How far a clock may be off that wanders and steps while one looks. */
static inline double clock_error(const struct xr_machine *m)
{
	return 0.02 + m->drift + m->step + m->jitter;
}

/* Cycles are counted in additions: where an addition takes something else than a cycle, all is off by that. */
static inline struct xr_truth in_cycles(const struct xr_machine *m, double value)
{
	return hidden_if(xr_core_reference(m) != 1, "an addition does not take one cycle, so cycles cannot be counted",
	                 number(value, 0.02, 0.1));
}

/* ---- words of an id ---- */

struct words {
	char copy[128];
	const char *word[8];
	int n;
};

static inline void split(const char *id, struct words *w)
{
	char *rest = NULL;
	*w = (struct words){0};
	snprintf(w->copy, sizeof w->copy, "%s", id);
	for (char *p = strtok_r(w->copy, ".", &rest); p && w->n < 8; p = strtok_r(NULL, ".", &rest))
		w->word[w->n++] = p;
	for (int i = w->n; i < 8; i++)
		w->word[i] = "";
}

static inline bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* truth_memory.c. The index of the cache that a word means, or -1. */
int xr_truth_cache_index(const struct xr_machine *machine, const char *name);
struct xr_truth xr_truth_of_cache(const struct xr_machine *machine, const struct words *id);
struct xr_truth xr_truth_of_tlb(const struct xr_machine *machine, const struct words *id);
/* where: l1d, l2 … or memory; what: bandwidth or throughput; which: read, write_scalar … */
struct xr_truth xr_truth_of_flow(const struct xr_machine *machine, const char *where, const char *what, const char *which);
struct xr_truth xr_truth_of_parallelism(const struct xr_machine *machine, const char *where);
struct xr_truth xr_truth_of_walks(const struct xr_machine *machine);
struct xr_truth xr_truth_of_memory(const struct xr_machine *machine, const struct words *id);

#endif
