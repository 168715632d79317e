/* SPDX-License-Identifier: MIT */
/* Many cores on the machine at hand: the same answers again, in order, or an honest doubt. Never a time. */
#include "../lib/start.h"

#include "xray.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static double number(const struct xr_description *d, const char *id)
{
	return xr_description_number(d, id, NAN);
}

static void the_time_slot_is_the_same_again(void **state)
{
	(void)state;
	static const char *const slot[] = {"os.timeslice"};
	double low = INFINITY, high = 0;
	for (int i = 0; i < 4; i++) {
		struct xr_description *d = measure_here(NULL, slot, 1);
		double s = number(d, "os.timeslice");
		low = fmin(low, s);
		high = fmax(high, s);
		xr_description_free(d);
	}
	assert_true(high > 0); /* told at least once */
	assert_true(high <= 1.1 * low);
}

static void cores_fit_cpus(void **state)
{
	(void)state;
	static const char *const threads[] = {"threads", "sharing.granule"};
	struct xr_description *d = measure_here(NULL, threads, 2);
	double logical = number(d, "threads.logical"), cores = number(d, "threads.cores"),
	       smt = number(d, "threads.smt");
	double granule = number(d, "sharing.granule");
	assert_true(logical >= 1);
	assert_true(cores >= 1 && cores <= logical);
	if (logical > 1)
		assert_true(cores * smt >= logical);
	if (cores > 1)
		assert_true(granule >= 16 && granule <= 512 && log2(granule) == floor(log2(granule)));
	for (int i = 0; i < 3; i++) {
		static const char *const ids[] = {"threads.contexts.int", "threads.contexts.fp",
		                                  "threads.contexts.mem"};
		double contexts = number(d, ids[i]);
		assert_true(contexts >= 1 && contexts <= logical);
	}
	xr_description_free(d);
}

static void assert_unsupported(const struct xr_description *d, const char *const *ids, int n)
{
	for (int i = 0; i < n; i++) {
		const struct xr_fact *fact = xr_description_fact(d, ids[i]);
		assert_non_null(fact);
		assert_int_equal(xr_fact_status(fact), XR_UNSUPPORTED);
		assert_true(strlen(xr_fact_reason(fact)) > 0);
	}
}

static void one_cpu_says_what_it_cannot_know(void **state)
{
	(void)state;
	static const char *const all[] = {"threads.siblings", "comm", "topology", "sharing.granule", "os.timeslice"};
	cpu_set_t before, one;
	if (sched_getaffinity(0, sizeof before, &before)) {
		skip();
		return;
	}
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	struct xr_description *d = measure_here(NULL, all, 5);
	sched_setaffinity(0, sizeof before, &before);
	assert_true(number(d, "threads.logical") == 1);
	static const char *const none[] = {"threads.siblings", "comm.latency", "topology.tree", "sharing.granule"};
	assert_unsupported(d, none, 4);
	xr_description_free(d);
}

/* ---- what an unfriendly place looks like ---- */

/* Runs a check in a child, for what the child does to itself cannot be undone. */
static void in_a_child(bool (*prepare)(void), void (*check)(void))
{
	enum { SKIPPED = 77 };
	int status = 0;
	pid_t child = fork();
	if (!child) {
		if (!prepare())
			_exit(SKIPPED);
		check();
		_exit(0);
	}
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static bool forbid_pinning(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_sched_setaffinity, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void check_unpinned(void)
{
	static const char *const all[] = {"threads.siblings", "comm", "sharing.granule", "os.timeslice"};
	static const char *const none[] = {"threads.siblings", "comm.latency", "sharing.granule"};
	struct xr_description *d = measure_here(NULL, all, 4);
	assert_true(number(d, "threads.logical") >= 1);
	assert_unsupported(d, none, 3);
	xr_description_free(d);
}

static void without_pinning_it_says_what_it_cannot_know(void **state)
{
	(void)state;
	in_a_child(forbid_pinning, check_unpinned);
}

static bool write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	bool ok = f && fputs(text, f) >= 0;
	return f && fclose(f) == 0 && ok;
}

/* A group of its own with the time of half a CPU, in either version of control groups. */
static bool join_half_a_cpu(void)
{
	static const char *const roots[] = {"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"};
	for (int version = 1; version <= 2; version++) {
		char dir[256], path[512];
		snprintf(dir, sizeof dir, "%s/xray-test", roots[version - 1]);
		if (mkdir(dir, 0755) && errno != EEXIST)
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
		bool limited = write_text(path, version == 1 ? "50000" : "50000 100000");
		snprintf(path, sizeof path, "%s/cgroup.procs", dir);
		if (limited && write_text(path, "0"))
			return true;
		rmdir(dir);
	}
	return false;
}

static void check_quota(void)
{
	static const char *const some[] = {"threads.contexts.int", "os.throttled"};
	struct xr_description *d = measure_here(NULL, some, 2);
	const struct xr_fact *contexts = xr_description_fact(d, "threads.contexts.int"),
			     *throttled = xr_description_fact(d, "os.throttled");
	assert_non_null(contexts);
	assert_int_equal(xr_fact_status(contexts), XR_UNRELIABLE);
	assert_non_null(throttled); /* seen, or hidden by others who take more */
	assert_true(xr_fact_status(throttled) != XR_OK || number(d, "os.throttled") > 0);
	xr_description_free(d);
}

static void a_quota_is_noticed(void **state)
{
	(void)state;
	in_a_child(join_half_a_cpu, check_quota);
	rmdir("/sys/fs/cgroup/cpu/xray-test");
	rmdir("/sys/fs/cgroup/xray-test");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_slot_is_the_same_again),
		cmocka_unit_test(cores_fit_cpus),
		cmocka_unit_test(one_cpu_says_what_it_cannot_know),
		cmocka_unit_test(without_pinning_it_says_what_it_cannot_know),
		cmocka_unit_test(a_quota_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
