/* SPDX-License-Identifier: MIT */
/* Who else uses the machine: counted from two moments, and said in words that name who. */
#include "target/host/around.h"

#include "target/host/os.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void nap(long ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&ts, NULL);
}

static void children_are_ours_and_no_disturbance(void **state)
{
	struct xr_arena arena = {0};
	struct xr_moment from, to;
	struct xr_around around;
	const int *cpus;
	int n = xr_os_cpus(&arena, &cpus);
	(void)state;
	xr_moment_take(&from, &arena, cpus, n);
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "xr-burner");
		for (volatile int i = 0;; i++)
			;
	}
	int tries = 0;
	do { /* on a busy machine it takes a while until the child has had a tick */
		nap(200);
		xr_moment_take(&to, &arena, cpus, n);
	} while (!(to.ours > from.ours) && ++tries < 100);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	xr_around_between(&around, &from, &to, n);
	for (size_t i = 0; i < around.n_who; i++)
		assert_string_not_equal(around.who[i].name, "xr-burner");
	assert_true(to.ours > from.ours);
	assert_true(around.busy >= 0 && around.busy <= 1);
	xr_arena_release(&arena);
}

static const char *words(struct xr_arena *arena, struct xr_around around, bool neighbour, int i)
{
	return xr_around_words(arena, &around, false, neighbour, i);
}

static void words_name_who(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	struct xr_around quiet = {.n_cpus = 2, .busy = 0.01};
	assert_null(words(&arena, quiet, false, 0));
	assert_true(xr_around_quiet(&quiet));
	struct xr_around busy = {
		.n_cpus = 2, .busy = 0.41, .n_who = 1, .n_busy = 2, .who[0] = {.name = "cc1plus", .share = 0.3}};
	assert_string_equal(words(&arena, busy, false, 0), "cc1plus and 1 other use 41 % of these CPUs: expect doubt");
	assert_null(words(&arena, busy, false, 1));
	assert_false(xr_around_quiet(&busy));
	struct xr_around rented = {.n_cpus = 4, .steal = 0.07, .quota = 1.5, .governor = "powersave"};
	assert_string_equal(words(&arena, rented, false, 0),
	                    "the hypervisor gives 7 % of these CPUs' time to other machines");
	assert_non_null(strstr(words(&arena, rented, false, 1), "1.5 of these 4 CPUs"));
	assert_non_null(strstr(words(&arena, rented, false, 2), "'powersave'"));
	assert_null(words(&arena, rented, false, 3));
	/* a shared core on a machine on which nobody is busy: it is nobody of this machine */
	assert_non_null(strstr(words(&arena, quiet, true, 0), "another VM"));
	assert_non_null(strstr(words(&arena, busy, true, 1), "SMT sibling"));
	xr_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_ours_and_no_disturbance),
		cmocka_unit_test(words_name_who),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
