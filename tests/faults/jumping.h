/* SPDX-License-Identifier: MIT */
/* A clock that jumps, back as well (tests/faults/run). */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include <time.h>
static inline int xr_jumping(clockid_t id, struct timespec *t)
{
	static unsigned n;
	int status = clock_gettime(id, t);
	n = n * 1103515245u + 12345u;
	t->tv_sec += n / 65536 % 97 == 0 ? -3600 : n / 65536 % 89 == 0 ? 86400 : 0;
	return status;
}
#define clock_gettime xr_jumping
