/* SPDX-License-Identifier: MIT */
/* Clocks that stand still, put in the agent's way (tests/faults/run): those of POSIX, and with ALL_CLOCKS the others. */
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
#if defined(ALL_CLOCKS)
#include <unistd.h>
static inline long xr_no_call(long number, ...)
{
	(void)number;
	return -1;
}
static inline clock_t xr_stopped_cpu(void)
{
	return 1000;
}
#define syscall xr_no_call
#define clock() xr_stopped_cpu()
#endif
