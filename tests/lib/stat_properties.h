/* SPDX-License-Identifier: MIT */
/* What must hold for the statistics on any input whatever: used with random numbers by a unit test and with a fuzzer's
 * bytes by a fuzz target. */
#ifndef XR_TESTS_STAT_PROPERTIES_H
#define XR_TESTS_STAT_PROPERTIES_H

#include <stddef.h>

/* Calls every function of stat.h on x; the parameter (a ratio, a penalty, a width, ...) is taken as it comes. Returns
 * NULL, or the property that was violated. Indices and counts are checked always; values only where all of x is finite
 * and small enough for sums of squares not to overflow. */
const char *xr_stat_violation(const double *x, size_t n, double parameter);

#endif
