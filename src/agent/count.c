/* SPDX-License-Identifier: MIT */
/* Hardware counters, see count.h. Linux has them behind perf_event_open(), if the kernel, the machine and the
 * administrator let it: what cannot be opened is not there. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "count.h"

#if defined(__linux__) && defined(__has_include)
#if __has_include(<linux/perf_event.h>)
#define XR_HAS_PERF 1
#endif
#endif

#if defined(XR_HAS_PERF)
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RUNS = 8 };

#define MISS(cache)                                                                                                    \
	((cache) | PERF_COUNT_HW_CACHE_OP_READ << 8 | (unsigned long long)PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
	unsigned type;
	unsigned long long config;
} kinds[XR_COUNTERS] = {
	[XR_COUNT_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	[XR_COUNT_INSNS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
	[XR_COUNT_L1D] = {PERF_TYPE_HW_CACHE, MISS(PERF_COUNT_HW_CACHE_L1D)},
	[XR_COUNT_DTLB] = {PERF_TYPE_HW_CACHE, MISS(PERF_COUNT_HW_CACHE_DTLB)},
	[XR_COUNT_L1I] = {PERF_TYPE_HW_CACHE, MISS(PERF_COUNT_HW_CACHE_L1I)},
	[XR_COUNT_ITLB] = {PERF_TYPE_HW_CACHE, MISS(PERF_COUNT_HW_CACHE_ITLB)},
	[XR_COUNT_SWITCHES] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
	[XR_COUNT_FAULTS] = {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
};
static int files[XR_COUNTERS], opened;
static double overhead[XR_COUNTERS];

static int open_one(int counter)
{
	struct perf_event_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.size = sizeof attr;
	attr.type = kinds[counter].type;
	attr.config = kinds[counter].config;
	attr.disabled = 1;
	attr.exclude_kernel = kinds[counter].type != PERF_TYPE_SOFTWARE;
	attr.exclude_hv = 1;
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	int file = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	attr.exclude_kernel = 1; /* all that many administrators allow; a context switch is the kernel's */
	return file >= 0 || counter == XR_COUNT_SWITCHES ? file
	                                                 : (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

/* Events of one run; -1: it was not counted all the time. */
static double run_once(int file, void (*work)(void *self), void *self)
{
	uint64_t got[3];
	ioctl(file, PERF_EVENT_IOC_RESET, 0);
	ioctl(file, PERF_EVENT_IOC_ENABLE, 0);
	if (work)
		work(self);
	ioctl(file, PERF_EVENT_IOC_DISABLE, 0);
	if (read(file, got, sizeof got) != (ssize_t)sizeof got || got[1] != got[2])
		return -1;
	return (double)got[0];
}

static double least(int file, void (*work)(void *self), void *self)
{
	double best = -1;
	for (int i = 0; i < RUNS; i++) {
		double got = run_once(file, work, self);
		if (got >= 0 && (best < 0 || got < best))
			best = got;
	}
	return best;
}

static void open_all(void)
{
	for (int i = 0; i < XR_COUNTERS && !opened; i++) {
		files[i] = open_one(i);
		overhead[i] = files[i] < 0 ? 0 : least(files[i], 0, 0);
	}
	opened = 1;
}

void xr_count(void (*work)(void *self), void *self, double events[XR_COUNTERS])
{
	open_all();
	for (int i = 0; i < XR_COUNTERS; i++) {
		double got = files[i] < 0 || overhead[i] < 0 ? -1 : least(files[i], work, self);
		events[i] = got < 0 ? -1 : got > overhead[i] ? got - overhead[i] : 0;
	}
}

void xr_count_release(void)
{
	for (int i = 0; i < XR_COUNTERS && opened; i++)
		if (files[i] >= 0)
			close(files[i]);
	opened = 0;
}

#else
void xr_count(void (*work)(void *self), void *self, double events[XR_COUNTERS])
{
	(void)work;
	(void)self;
	for (int i = 0; i < XR_COUNTERS; i++)
		events[i] = -1;
}

void xr_count_release(void)
{
}
#endif
