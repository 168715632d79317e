/* SPDX-License-Identifier: MIT */
/* A system without clock_gettime, put in the agent's way (tests/faults/run). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <time.h>
static inline int xr_refused(clockid_t id, struct timespec *t)
{
	(void)id;
	(void)t;
	return -1;
}
#define clock_gettime xr_refused
