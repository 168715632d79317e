/* SPDX-License-Identifier: MIT */
/* A watch: until when whoever waits may wait, and whether a person has had enough. One is handed down to
 * everything that compiles, runs or reads, so that there is one deadline and not many. NULL: for ever. */
#ifndef XR_UTIL_WATCH_H
#define XR_UTIL_WATCH_H

#include <stdbool.h>

struct xr_watch {
	double end_s;                  /* by xr_clock_s(); 0: none */
	const volatile int *interrupt; /* non-zero: stop. May be NULL */
};

double xr_clock_s(void); /* seconds on a clock that only goes forward */
bool xr_watch_over(const struct xr_watch *watch);
/* Seconds left, at most `most`; 0: it is over. */
double xr_watch_left_s(const struct xr_watch *watch, double most);
/* For messages: why it is over. */
const char *xr_watch_why(const struct xr_watch *watch);

#endif
