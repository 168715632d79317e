/* SPDX-License-Identifier: MIT */
/* What the operating system lets us use. Everything that is not portable C about the host, in one place; another OS is
 * another os_NAME.c. These are limits and names, never answers of a measurement. */
#ifndef XR_TARGET_HOST_OS_H
#define XR_TARGET_HOST_OS_H

#include "util/arena.h"

#include <stdbool.h>
#include <stdint.h>

/* Where the kernel tells; tests tell something else there. */
#ifndef XR_PROC
#define XR_PROC "/proc"
#define XR_SYS "/sys"
#endif

int xr_os_cpus(struct xr_arena *arena, const int **ids); /* logical CPUs we may run on */
bool xr_os_can_pin(void);
bool xr_os_counts(void); /* are there hardware counters that may be used? */
double xr_os_quota(void);         /* CPUs' worth of time that a cgroup allows; 0: no limit */
uint64_t xr_os_memory(void);      /* bytes that may be taken without harm */
uint64_t xr_os_page(void);
/* Those that are least busy just now and that the OS takes for alike, the best first; returns how many, at most
 * `room`. */
int xr_os_quiet_cpus(const int *ids, int n, int *quiet, int room);
bool xr_os_is_foreign(const char *program); /* made for another architecture than this machine's */
const char *xr_os_cpu_name(struct xr_arena *arena);
const char *xr_os_name(struct xr_arena *arena);

#endif
