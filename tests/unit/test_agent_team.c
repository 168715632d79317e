/* SPDX-License-Identifier: MIT */
/* Teams of threads: every kind gives samples, refuses nonsense, and never hangs. Times are only compared loosely. */
#include <errno.h>
#include <pthread.h>

/* As many threads as a test allows; -1: as there are. */
static int threads_left = -1;

static int start_thread(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *self)
{
	if (threads_left == 0)
		return EAGAIN;
	threads_left -= threads_left > 0;
	return pthread_create(thread, attr, body, self);
}

#define pthread_create start_thread
#include "../../src/agent/pool.c"
#undef pthread_create
#include "../../src/agent/roles.c"
#include "../../src/agent/team.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double spin(void *self, unsigned long reps)
{
	volatile unsigned long x = 0;
	(void)self;
	for (unsigned long i = 0; i < reps; i++)
		x = x + i;
	return (double)reps;
}

static double reference(void)
{
	double t = now();
	return spin(NULL, 2000) > 0 ? (now() - t) / 2000 : 0;
}

static void count_ready(void *self)
{
	++*(int *)self;
}

static struct xr_agent_team *make(struct xr_team_pool *pool, const char *line, const struct xr_work *work, int n_works,
                                  char *error, size_t size)
{
	char *text = strdup(line), *words[64], *save = NULL;
	int n = 0;
	for (char *w = strtok_r(text, " ", &save); w && n < 64; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	struct xr_agent_team *team = xr_team_make(pool, words, n, work, n_works, error, size);
	free(text);
	return team;
}

/* A round. On a busy machine a thread may get no time to run for as long as a team waits: that is said, and tried again. */
static int round_of(struct xr_agent_team *team, struct xr_team_sample *sample)
{
	int n = -1;
	for (int tries = 0; tries < 20 && n < 0; tries++) {
		n = xr_team_round(team, 30000, sample, 1);
		if (n < 0 && !strstr(xr_team_error(team), "no time to run"))
			break;
	}
	return n;
}

static void every_kind_gives_samples(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"together 0 0 1 -1 0",        "together 0 0 3 -1 0 -1 0 -1 0", "wall 0 2000000 2 -1 0 -1 0",
		"pingpong 0 0 2 -1 -1 -1 -1", "pipe 16384 0 2 -1 -1 -1 -1",    "pipe 4194304 0 2 -1 -1 -1 -1",
		"false 8 0 2 -1 -1 -1 -1",    "switch 0 0 2 -1 -1 -1 -1",
	};
	int readied = 0;
	char error[200];
	const struct xr_work work = {spin, &readied, count_ready};
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	assert_non_null(pool);
	const int lowest = dup(STDERR_FILENO); /* no descriptor is left open */
	close(lowest);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct xr_agent_team *team = make(pool, lines[i], &work, 1, error, sizeof error);
		assert_non_null(team);
		for (int round = 0; round < 2; round++) {
			struct xr_team_sample s;
			int n = round_of(team, &s);
			if (n != 1)
				print_error("%s: %s\n", lines[i], xr_team_error(team));
			assert_int_equal(n, 1);
			assert_true(s.long_ops > s.short_ops && s.ref_ns > 0);
		}
		xr_team_free(team);
		const int next = dup(STDERR_FILENO);
		close(next);
		assert_int_equal(next, lowest);
	}
	assert_true(readied >= 4);
	xr_pool_free(pool);
}

static void run_lengths_add_up_to_less_than_the_window(void **state)
{
	(void)state;
	char error[200];
	struct xr_team_sample s[4096];
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	/* gaps of more than 100 ns: every look at the clock is one on a slow machine, and none need be on a fast one */
	struct xr_agent_team *team = make(pool, "slices 100 20000000 1 -1 -1", NULL, 0, error, sizeof error);
	assert_non_null(team);
	int n = xr_team_round(team, 0, s, 4096);
	double sum = 0;
	assert_true(n >= 0);
	for (int i = 0; i < n; i++)
		sum += s[i].long_ns;
	assert_true(sum <= 20000000.0 + 1);
	assert_true(xr_team_round(team, 0, s, 3) <= 3);
	xr_team_free(team);
	xr_pool_free(pool);
}

/* No time is asserted: a step seen is later than the one before, and all of them fit into the window. */
static void steps_of_the_tick_fit_into_the_window(void **state)
{
	(void)state;
	char error[200];
	struct xr_team_sample s[4096];
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	struct xr_agent_team *team = make(pool, "ticks 0 50000000 1 -1 -1", NULL, 0, error, sizeof error);
	double sum = 0;
	assert_non_null(team);
	int n = xr_team_round(team, 0, s, 4096);
	if (n < 0) /* an OS without such a clock says so */
		assert_non_null(strstr(xr_team_error(team), "no clock"));
	for (int i = 0; i < n; i++) {
		assert_true(s[i].long_ns > 0);
		sum += s[i].long_ns;
	}
	assert_true(sum <= 50000000.0 + 200000);
	xr_team_free(team);
	xr_pool_free(pool);
}

static void nonsense_is_refused(void **state)
{
	(void)state;
	static const char *const lines[] = {
		"",
		"together",
		"together 0 0 1 -1",
		"together 0 0 1 -1 5",
		"together 0 0 1 -1 -1",
		"sideways 0 0 1 -1 0",
		"pingpong 0 0 1 -1 -1",
		"together 0 0 0",
		"together 0 0 99999999 -1 0",
		"together 0 0 -1 -1 0",
	};
	char error[200];
	const struct xr_work work = {spin, NULL, NULL};
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		error[0] = 0;
		assert_null(make(pool, lines[i], &work, 1, error, sizeof error));
		assert_true(error[0] != 0);
	}
	assert_null(make(NULL, "together 0 0 1 -1 0", &work, 1, error, sizeof error));
	xr_pool_free(pool);
}

static void a_cpu_that_is_not_there_is_an_error_not_a_hang(void **state)
{
	(void)state;
	char error[200];
	const struct xr_work work = {spin, NULL, NULL};
	struct xr_team_sample s;
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	struct xr_agent_team *team = make(pool, "together 0 0 2 -1 0 60000 0", &work, 1, error, sizeof error);
	assert_non_null(team);
	assert_int_equal(xr_team_round(team, 30000, &s, 1), -1);
	assert_non_null(strstr(xr_team_error(team), "60000"));
	xr_team_free(team);
	team = make(pool, "together 0 0 2 -1 0 -1 0", &work, 1, error, sizeof error); /* the pool is still good */
	assert_int_equal(round_of(team, &s), 1);
	xr_team_free(team);
	xr_pool_free(pool);
}

static void a_thread_that_cannot_be_started_is_named(void **state)
{
	(void)state;
	char error[200];
	const struct xr_work work = {spin, NULL, NULL};
	struct xr_team_sample s;
	struct xr_team_pool *pool = xr_pool_new(now, reference);
	struct xr_agent_team *team = make(pool, "together 0 0 3 -1 0 -1 0 -1 0", &work, 1, error, sizeof error);
	assert_non_null(team);
	threads_left = 1;
	assert_int_equal(xr_team_round(team, 30000, &s, 1), -1);
	assert_non_null(strstr(xr_team_error(team), "cannot start thread 2: "));
	threads_left = -1; /* there is room again */
	xr_team_free(team);
	team = make(pool, "together 0 0 3 -1 0 -1 0 -1 0", &work, 1, error, sizeof error);
	assert_int_equal(round_of(team, &s), 1);
	xr_team_free(team);
	xr_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_gives_samples),
		cmocka_unit_test(run_lengths_add_up_to_less_than_the_window),
		cmocka_unit_test(steps_of_the_tick_fit_into_the_window),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(a_cpu_that_is_not_there_is_an_error_not_a_hang),
		cmocka_unit_test(a_thread_that_cannot_be_started_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
