/* SPDX-License-Identifier: MIT */
/* How far CPUs are from each other: lines and blocks handed over between pairs of them. */
#ifndef XR_METHOD_PAIRS_H
#define XR_METHOD_PAIRS_H

#include "micro/micro.h"

enum { XR_ONE_LINE = 0 }; /* as bytes: ping-pong on a single line instead of handing over blocks */

struct xr_pair {
	int from, to; /* indices into the list of CPUs */
	double ns;    /* one line one way, or 64 bytes moved; 0: could not be read */
	bool disturbed; /* somebody else was on one of the CPUs in most of the samples, and they had to be used */
};

struct xr_pairs {
	struct xr_run *run;
	const int *cpu; /* ids by index */
	int n;
	double gap;            /* of distances that tell groups apart, relative */
	const double *latency; /* n x n, ns of a line, where all pairs were read; else NULL */
};

int xr_pairs_read(const struct xr_pairs *p, struct xr_pair *pair, int n, uint64_t bytes);

/* Reads them; then pairs far off the middle once more, the better of both: somebody else was on one of the CPUs. */
int xr_pairs_read_well(const struct xr_pairs *p, struct xr_pair *pair, int n, uint64_t bytes);

/* Splits the n CPUs listed (indices) into near and far of the first one, for blocks of this size; near ones come first
 * in cpu[] then. *limit: what is still near in ns, 0: look for the gap; set when a gap is found. */
int xr_pairs_split(const struct xr_pairs *p, int *cpu, int n, uint64_t bytes, double *limit, int *n_near);

#endif
