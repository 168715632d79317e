/* SPDX-License-Identifier: MIT */
/* How many of something go on at once, from how long a step takes with k of them asked for.
 *
 * Up to `most` a step takes as long as one alone, or a little longer the busier it is; from there on they queue,
 * and a step takes k / most times as long:
 *
 * t(k) = latency + load k                       for k <= most t(k) = (latency + load most) k / most         beyond
 *
 * Hypotheses are 1, 1 + step … limit; latency and load (>= 0) are what fits each best. /
 */
#ifndef XR_INFER_KNEE_H
#define XR_INFER_KNEE_H

#include "infer/noise.h"
#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct xr_knee {
	double most;     /* 0: none of these */
	double p;        /* its probability, and of what is nearer to it than one half */
	double latency, load;
	bool beyond;     /* no point lies behind it: at least so many */
};

/* n points, k[i] asked for at once and a step taking t[i]. */
struct xr_knee xr_knee_find(struct xr_arena *arena, const double *k, const double *t, size_t n,
                            const struct xr_noise *noise, double limit, double step);

double xr_knee_at(const struct xr_knee *knee, double k); /* t(k) */

#endif
