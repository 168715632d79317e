/* SPDX-License-Identifier: MIT */
/* The pool of threads, see pool.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "pool.h"
#include "team.h"

#ifdef XR_NO_THREADS

struct xr_team_pool *xr_pool_new(double (*now)(void), double (*reference)(void))
{
	(void)now, (void)reference;
	return NULL;
}

void xr_pool_free(struct xr_team_pool *pool)
{
	(void)pool;
}

#else

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct worker {
	pthread_t thread;
	struct xr_team_pool *pool;
	pthread_cond_t wake;
	int cpu;
	struct xr_job *job; /* NULL: asleep */
	bool ready;         /* the job may begin */
	bool quit;
};

struct xr_team_pool {
	double (*now)(void);
	double (*reference)(void);
	pthread_mutex_t lock;
	pthread_cond_t done;
	int busy;
	struct worker **worker;
	int n_workers;
	size_t mask_bytes;
#ifdef __linux__
	cpu_set_t *allowed; /* where threads may run when nobody pins them */
#endif
};

long xr_involuntary_switches(void)
{
#ifdef RUSAGE_THREAD
	struct rusage usage;
	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
#else
	return 0;
#endif
}

static void *work_for_pool(void *self)
{
	struct worker *w = self;
	struct xr_team_pool *pool = w->pool;
	pthread_mutex_lock(&pool->lock);
	for (;;) {
		while (!w->ready && !w->quit)
			pthread_cond_wait(&w->wake, &pool->lock);
		if (w->quit)
			break;
		struct xr_job *job = w->job;
		pthread_mutex_unlock(&pool->lock);
		long switches = xr_involuntary_switches();
		job->run(job->arg);
		job->switches = xr_involuntary_switches() - switches;
		pthread_mutex_lock(&pool->lock);
		w->job = NULL;
		w->ready = false;
		if (--pool->busy == 0)
			pthread_cond_signal(&pool->done);
	}
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* Pins a thread to a CPU; cpu < 0: to all that were allowed when the pool was made. 0, or an errno. */
static int pin(struct xr_team_pool *pool, pthread_t thread, int cpu)
{
#ifdef __linux__
	if (cpu < 0) { /* where pinning is forbidden nobody was pinned before either */
		if (pool->allowed)
			(void)pthread_setaffinity_np(thread, pool->mask_bytes, pool->allowed);
		return 0;
	}
	size_t bytes = CPU_ALLOC_SIZE((size_t)cpu + 1);
	cpu_set_t *set = CPU_ALLOC((size_t)cpu + 1);
	if (!set)
		return ENOMEM;
	CPU_ZERO_S(bytes, set);
	CPU_SET_S((size_t)cpu, bytes, set);
	int rc = pthread_setaffinity_np(thread, bytes, set);
	CPU_FREE(set);
	return rc;
#else
	(void)pool, (void)thread;
	return cpu < 0 ? 0 : ENOSYS;
#endif
}

struct xr_team_pool *xr_pool_new(double (*now)(void), double (*reference)(void))
{
	struct xr_team_pool *pool = calloc(1, sizeof *pool);
	if (!pool)
		return NULL;
	pool->now = now;
	pool->reference = reference;
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->done, NULL);
#ifdef __linux__
	for (size_t cpus = 1024; cpus <= 65536 && !pool->allowed; cpus *= 2) {
		pool->allowed = CPU_ALLOC(cpus);
		pool->mask_bytes = CPU_ALLOC_SIZE(cpus);
		if (pool->allowed && sched_getaffinity(0, pool->mask_bytes, pool->allowed) != 0) {
			CPU_FREE(pool->allowed);
			pool->allowed = NULL;
		}
	}
#endif
	return pool;
}

void xr_pool_free(struct xr_team_pool *pool)
{
	if (!pool)
		return;
	for (int i = 0; i < pool->n_workers; i++) {
		struct worker *w = pool->worker[i];
		pthread_mutex_lock(&pool->lock);
		w->quit = true;
		pthread_cond_signal(&w->wake);
		pthread_mutex_unlock(&pool->lock);
		pthread_join(w->thread, NULL);
		pthread_cond_destroy(&w->wake);
		free(w);
	}
	free(pool->worker);
#ifdef __linux__
	if (pool->allowed)
		CPU_FREE(pool->allowed);
#endif
	pthread_cond_destroy(&pool->done);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static struct worker *new_worker(struct xr_team_pool *pool, int cpu, char *error, size_t error_size)
{
	struct worker **grown = realloc(pool->worker, sizeof *grown * (size_t)(pool->n_workers + 1));
	if (grown)
		pool->worker = grown;
	struct worker *w = grown ? calloc(1, sizeof *w) : NULL;
	if (!w) {
		snprintf(error, error_size, "no memory for a thread");
		return NULL;
	}
	w->pool = pool;
	w->cpu = cpu;
	pthread_cond_init(&w->wake, NULL);
	int rc = pthread_create(&w->thread, NULL, work_for_pool, w);
	if (rc) {
		snprintf(error, error_size, "cannot start thread %d: %s", pool->n_workers + 1, strerror(rc));
		pthread_cond_destroy(&w->wake);
		free(w);
		return NULL;
	}
	pool->worker[pool->n_workers++] = w;
	rc = pin(pool, w->thread, cpu);
	if (rc) {
		snprintf(error, error_size, "cannot pin a thread to CPU %d: %s", cpu, strerror(rc));
		w->cpu = -2; /* nobody asks for that one */
		return NULL;
	}
	return w;
}

/* A sleeping thread on that CPU. The lock is held. */
static struct worker *find_worker(struct xr_team_pool *pool, int cpu)
{
	for (int i = 0; i < pool->n_workers; i++)
		if (pool->worker[i]->cpu == cpu && !pool->worker[i]->job)
			return pool->worker[i];
	return NULL;
}

/* A thread for each job, none woken yet. The lock is held. */
static int reserve(struct xr_team_pool *pool, struct xr_job *job, int n_jobs, char *error, size_t error_size)
{
	for (int i = 0; i < n_jobs; i++) {
		struct worker *w = find_worker(pool, job[i].cpu);
		if (!w)
			w = new_worker(pool, job[i].cpu, error, error_size);
		if (w) {
			w->job = &job[i];
			continue;
		}
		for (int k = 0; k < pool->n_workers; k++)
			pool->worker[k]->job = NULL;
		return -1;
	}
	return 0;
}

int xr_pool_run(struct xr_team_pool *pool, struct xr_job *job, int n_jobs, char *error, size_t error_size)
{
	pthread_mutex_lock(&pool->lock);
	int rc = reserve(pool, job, n_jobs, error, error_size);
	for (int i = 0; i < pool->n_workers; i++) {
		struct worker *w = pool->worker[i];
		if (!w->job)
			continue;
		w->ready = true;
		pool->busy++;
		pthread_cond_signal(&w->wake);
	}
	while (pool->busy > 0)
		pthread_cond_wait(&pool->done, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	return rc;
}

double xr_pool_now(const struct xr_team_pool *pool)
{
	return pool->now();
}

double xr_pool_reference(const struct xr_team_pool *pool)
{
	return pool->reference();
}

#endif
