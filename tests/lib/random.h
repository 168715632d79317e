/* SPDX-License-Identifier: MIT */
/* Machines by seed: the first generator (random.c) and the wide field (wild.c). */
#ifndef XR_TESTS_LIB_RANDOM_H
#define XR_TESTS_LIB_RANDOM_H

#include "target/model/machine.h"

/* A random machine: the same arguments give the same machine everywhere. */
enum xr_mix { XR_REALISTIC, XR_UNIFORM, XR_ADVERSARIAL, XR_MIXED };   /* XR_MIXED: 60 / 30 / 10 % by the seed */
enum xr_noise { XR_QUIET, XR_STANDARD, XR_HOSTILE };
void xr_machine_random(struct xr_machine *machine, uint64_t seed, enum xr_mix mix, enum xr_noise noise);

/* Moves what xr_machine_random() leaves alone: larger pages, longer lines of the outer caches, pages that lie in
 * a row, TLBs that do not replace by LRU, and on some machines one habit of real cores. What was drawn before
 * stays as it is. */
void xr_machine_vary(struct xr_machine *machine, uint64_t seed);
/* One from a wider field: legal, but perhaps such as nobody would build. */
void xr_machine_wild(struct xr_machine *machine, uint64_t seed, enum xr_noise noise);
void xr_machine_set_noise(struct xr_machine *machine, uint64_t seed, enum xr_noise noise);

/* Moves how the memory of a machine behaves: misses in flight, bytes, policies. What was drawn before stays as it
 * is. */
void xr_machine_behave(struct xr_machine *machine, uint64_t seed);

/* A file, or "random SEED": one of the above that has been varied, quiet, noisy or hostile by the seed. -1: err says why. */
int machine_named(const char *name, struct xr_machine *machine, struct xr_error *err);

#endif
