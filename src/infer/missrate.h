/* SPDX-License-Identifier: MIT */
/* How often a walk round and round misses one set that it overflows: the forward model where the policy is not known.
 *
 * n places of one set of `ways`, visited in one order again and again. None misses while n <= ways, whatever the
 * policy. Beyond that LRU and FIFO miss every time and random replacement misses now and then: a place is still there
 * after a lap with (1 - 1 / ways) ^ misses of the others meanwhile, so the share s of visits that miss solves
 *
 *     s = 1 - (1 - 1 / ways) ^ (s (n - 1/2))
 *
 * Tree-PLRU, NRU, SRRIP and what else is built lie between: they behave as random replacement would with more places
 * too many. `sharp` says how many times more: 1 random replacement, infinity LRU. */
#ifndef XR_INFER_MISSRATE_H
#define XR_INFER_MISSRATE_H

#include <stddef.h>

enum { XR_MISSRATE_SHARPS = 5 };
/* From random replacement to LRU, far enough apart to be told from each other. */
extern const double xr_missrate_sharps[XR_MISSRATE_SHARPS];

double xr_missrate(double sharp, double ways, double n);

/* The same where places are spread evenly over sets, n of them in each on average: some sets have one more than
 * others. */
double xr_missrate_spread(double sharp, double ways, double n);

#endif
