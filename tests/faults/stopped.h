/* SPDX-License-Identifier: MIT */
/* A clock that stands still, put in the agent's way (tests/faults/run). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <time.h>
static inline int xr_stopped(clockid_t id, struct timespec *t)
{
	(void)id;
	t->tv_sec = 1000;
	t->tv_nsec = 0;
	return 0;
}
#define clock_gettime xr_stopped
