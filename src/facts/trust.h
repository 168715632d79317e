/* SPDX-License-Identifier: MIT */
/* What `ok` means: a value to build on. It is at least xr_trust_least sure and does not contradict the rest of the
 * description. Applied once, when all facts of a run are there; micro-benchmarks need not think of it. */
#ifndef XR_FACTS_TRUST_H
#define XR_FACTS_TRUST_H

#include "facts/facts.h"

extern const double xr_trust_least; /* 0.8: below it a fact is unreliable */
extern const double xr_trust_usual; /* 0.9: below it an ok value is marked `~` in reports */

bool xr_trust_enough(double confidence, double least); /* compared in whole percent, as it is printed */

/* Facts that cannot both be right lose confidence, each by how sure the other is; then what is less sure than
 * xr_trust_least becomes unreliable, and says why. Doing it twice changes nothing more. */
void xr_trust_apply(struct xr_description *d);

#endif
