/* SPDX-License-Identifier: MIT */
/* On which CPU the agent runs, see where.h. */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "where.h"

#include "clock.h"

#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <sys/resource.h>
#include <time.h>
#endif
#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#endif

enum { CPUS_MAX = 8 };
static const double stay_ns = 4e6; /* a neighbour who is not always busy pauses more often than that */
static const double look_ns = 1e6; /* at one CPU */
static const double calm = 0.8;    /* share of looks that find the core ours: there is no need to go */
static const double better = 0.1;  /* … more of them, and going is worth it */
static const double mine = 0.8;    /* share of a stay that this thread ran: others of this machine leave it to us */

static struct {
	int cpu[CPUS_MAX], n, at;
	double since;     /* when something was last timed undisturbed, or when we came */
	double came, ran; /* when we came, and how long this thread had run then */
} where = {.n = 0};

static double thread_ns(void)
{
#if defined(CLOCK_THREAD_CPUTIME_ID)
	struct timespec t;
	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#endif
	return xr_now_ns();
}

static void go(int at)
{
#if defined(__linux__)
	const int cpu = where.cpu[at];
	if (cpu >= 0 && cpu < CPU_SETSIZE) {
		cpu_set_t set;
		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
#endif
	where.at = at;
	where.since = where.came = xr_now_ns();
	where.ran = thread_ns();
}

void xr_where_init(const char *cpus)
{
	char *end;
#if defined(__linux__)
	prctl(PR_SET_NAME, "xray-agent"); /* the file's name says nothing to who wonders what takes the time */
#endif
	for (where.n = 0; where.n < CPUS_MAX; cpus = end + 1) {
		long cpu = strtol(cpus, &end, 10);
		if (end == cpus)
			break;
		where.cpu[where.n++] = (int)cpu;
		if (*end != ',')
			break;
	}
	if (where.n)
		go(0);
}

int xr_where(void)
{
	return where.n ? where.cpu[where.at] : -1;
}

long xr_preemptions(void)
{
#if defined(RUSAGE_THREAD)
	struct rusage u;
	if (!getrusage(RUSAGE_THREAD, &u))
		return u.ru_nivcsw;
#endif
	return 0;
}

/* Share of the time in which the core is ours, of all the time: when others of this machine run here, it is not. */
static double share_of_peace(void)
{
	const double start = xr_now_ns(), ran = thread_ns();
	double now = start;
	unsigned long looks = 0, ours = 0;
	for (; now - start < look_ns; now = xr_now_ns(), looks++)
		ours += (unsigned long)xr_core_is_ours();
	return (double)ours / (double)looks * (thread_ns() - ran) / (now - start);
}

void xr_where_settle(void)
{
	double most = where.n > 1 ? share_of_peace() : 1;
	int best = where.at;
	if (most >= calm)
		return;
	for (int i = 0; i < where.n; i++) {
		if (i == best)
			continue;
		go(i);
		double share = share_of_peace();
		if (share > most + better) {
			most = share;
			best = i;
		}
	}
	go(best);
}

/* A neighbour who does the same all the time passes for nobody, until another core is seen. */
double xr_where_find(double known)
{
	double alone = xr_core_find(known);
	if (where.n > 1 && known <= 0 && share_of_peace() < calm) {
		for (int i = 0; i < where.n; i++) {
			go(i);
			alone = xr_core_find(alone);
		}
	}
	xr_where_settle();
	return alone;
}

void xr_where_at_peace(void)
{
	where.since = xr_now_ns();
}

/* A CPU that others of this machine want is theirs. */
static void strike_off(int at)
{
	for (where.n--; at < where.n; at++)
		where.cpu[at] = where.cpu[at + 1];
}

/* A core of another kind, or one whose neighbour never pauses, would never be found ours. */
static int is_promising(void)
{
	enum { LOOKS = 200 };
	int ours = 0;
	for (int i = 0; i < LOOKS && !ours; i++)
		ours = xr_core_is_ours();
	return ours;
}

void xr_where_restless(void)
{
	const double now = xr_now_ns();
	const int from = where.at;
	if (where.n < 2 || now - where.since < stay_ns)
		return;
	if (thread_ns() - where.ran < mine * (now - where.came)) {
		strike_off(from);
		go(from % where.n);
		return;
	}
	do
		go((where.at + 1) % where.n);
	while (where.at != from && !is_promising());
}
