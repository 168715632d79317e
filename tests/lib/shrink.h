/* SPDX-License-Identifier: MIT */
/* From a machine on which a fact is not right to the smallest one on which it still is not. */
#ifndef XR_TESTS_SHRINK_H
#define XR_TESTS_SHRINK_H

#include "judge.h"

/* Tries simplifications one after the other (noise off, prefetchers off, fewer levels, …) and keeps those after which
 * the fact is still not right. false: it is right on the machine given. */
bool shrink(struct xr_machine *machine, uint64_t seed, const char *id);

/* Prints every fact beside the truth (only `id` when given), what is not right marked; returns how many are not. */
int show_verdicts(const struct xr_machine *machine, const struct xr_description *d, const char *id);

#endif
