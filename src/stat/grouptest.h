/* SPDX-License-Identifier: MIT */
/* Group testing: which one of many items is to blame, when any set of them can be asked at once.
 *
 * The number of questions grows like the logarithm of the number of items.
 */
#ifndef XR_STAT_GROUPTEST_H
#define XR_STAT_GROUPTEST_H

#include "stat/stat.h"

/* Does any of these n items do it? 0 with *verdict filled in; -1: stop now. */
typedef int xr_ask_fn(void *self, const int *item, int n, enum xr_verdict *verdict);

/* The whole set was asked and said yes: finds one that does it. *found: its index in item[]; -1 when the answers
 * contradict each other or one could not be decided. Returns 0; -1 when ask() said stop. */
int xr_find_one(xr_ask_fn *ask, void *self, const int *item, int n, int *found);

#endif
