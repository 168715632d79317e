/* SPDX-License-Identifier: MIT */
/* A period in a list of events. */
#ifndef XR_STAT_PERIOD_H
#define XR_STAT_PERIOD_H

#include <stddef.h>

/* Events at rising times, some of which repeat with a period between lo and hi while others come at random or in
 * bursts. The distances of all pairs are counted in bins of `width`. The period is the distance that stands out most of
 * those around it, by at least 6 standard deviations, if its double stands out too and enough events share it. 0:
 * none. */
double xr_period(const double *event, size_t n, double lo, double hi, double width);

#endif
