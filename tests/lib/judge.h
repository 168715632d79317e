/* SPDX-License-Identifier: MIT */
/* Is a fact what the machine file says? */
#ifndef XR_TESTS_JUDGE_H
#define XR_TESTS_JUDGE_H

#include "facts/facts.h"
#include "target/model/machine.h"

enum verdict {
	RIGHT,
	WRONG,     /* ok, and not the machine's value */
	MISSED,    /* no value, though the machine has one that can be found */
	NO_TRUTH,  /* the machine file says nothing about it, or it cannot be known on that machine */
};

/* *sure: an ok fact of confidence 0.9 or more. */
enum verdict judge(const struct xr_machine *machine, const struct xr_fact *fact, bool *sure);

/* How two values compare for a fact of this unit: counts, sizes, words exactly; latencies within 2 % or 0.1 cycle. */
bool same_value(const char *id, const char *unit, const json_t *found, const json_t *truth);

/* Runs micro-benchmarks (all when n_select is 0) on the machine; the caller frees the description. */
struct xr_description *measure_machine(const struct xr_machine *machine, const char *const *select, size_t n_select,
                                       uint64_t seed, struct xr_error *err);

#endif
