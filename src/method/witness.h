/* SPDX-License-Identifier: MIT */
/* Witnesses of two threads being on one core: work that one of them does and that the other one would slow down. */
#ifndef XR_METHOD_WITNESS_H
#define XR_METHOD_WITNESS_H

#include "micro/micro.h"

enum { XR_WITNESSES_MAX = 7, XR_WITNESS_BUFFER = 7000 /* id of the first CPU's walk, see xr_spec_team() */ };

struct xr_witnesses {
	struct xr_spec spec[XR_WITNESSES_MAX]; /* streams, and last the walk where there is a first-level cache */
	int n, n_streams;
	struct xr_spec sweep; /* what attacks the walk */
};

/* Streams that saturate each kind of unit this machine has and, when asked for, a walk that fits the first-level cache
 * once but not twice. */
int xr_witnesses_make(struct xr_run *run, bool walk, struct xr_witnesses *w);

/* Witness k on the first of n CPUs, attacked by all others; n = 1: alone. */
struct xr_spec xr_witness_attacked(struct xr_arena *arena, const struct xr_witnesses *w, int k, const int *cpu,
                                   const int *place, int n);

#endif
