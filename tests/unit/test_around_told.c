/* SPDX-License-Identifier: MIT */
/* Every diagnosis, provoked: what the kernel tells is made up, in files of a folder of our own. */
#define XR_PROC "proc"
#define XR_SYS "sys"
#include "../../src/target/host/os_linux.c"
#include "../../src/target/host/around_linux.c"

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static void tell(const char *path, const char *format, ...)
{
	char at[256];
	snprintf(at, sizeof at, "%s", path);
	for (char *slash = strchr(at, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(at, 0700);
		*slash = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	va_list args;
	va_start(args, format);
	vfprintf(f, format, args);
	va_end(args);
	fclose(f);
}

static void task(int pid, const char *name, int parent, int ticks)
{
	char path[64];
	snprintf(path, sizeof path, "proc/%d/stat", pid);
	tell(path, "%d (%s) R %d 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0\n", pid, name, parent, ticks);
}

/* Two CPUs for ten seconds, of which others took so many ticks, and the hypervisor so many. */
static struct xr_around look(struct xr_arena *arena, int busy, int steal, void (*between)(void))
{
	static const int cpus[] = {0, 1};
	struct xr_moment from, to;
	struct xr_around around;
	tell("proc/stat", "cpu 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n");
	xr_moment_take(&from, arena, cpus, 2);
	tell("proc/stat", "cpu0 %d 0 0 %d 0 0 0 %d\ncpu1 0 0 0 1000 0 0 0 0\ncpu2 1000 0 0 0 0 0 0 0\n", busy,
	     1000 - busy - steal, steal);
	if (between)
		between();
	xr_moment_take(&to, arena, cpus, 2);
	xr_around_between(&around, &from, &to, 2);
	return around;
}

static int clear(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st, (void)flag, (void)at;
	return remove(path);
}

static int in_a_folder(void **state)
{
	static char dir[] = "/tmp/xray-told-XXXXXX";
	*state = dir;
	return mkdtemp(dir) && !chdir(dir) ? 0 : -1;
}

static int folder_gone(void **state)
{
	return chdir("/") || nftw(*state, clear, 8, FTW_DEPTH | FTW_PHYS);
}

static int nothing_told(void **state)
{
	(void)state;
	nftw("proc", clear, 8, FTW_DEPTH | FTW_PHYS);
	nftw("sys", clear, 8, FTW_DEPTH | FTW_PHYS);
	return 0;
}

static void says(const struct xr_around *around, int i, const char *sentence)
{
	struct xr_arena arena = {0};
	const char *words = xr_around_words(&arena, around, false, false, i);
	if (sentence && words)
		assert_string_equal(words, sentence);
	assert_int_equal(!sentence, !words);
	xr_arena_release(&arena);
}

static void a_quiet_machine_says_nothing(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	struct xr_around around = look(&arena, 20, 0, NULL);
	assert_true(xr_around_quiet(&around));
	says(&around, 0, NULL);
	xr_arena_release(&arena);
}

static void compiling(void)
{
	task(100, "cc1plus", 1, 700);
	task(101, "make (x) R", 1, 100); /* a name that looks like the rest of the line */
	task(102, "sleep", 1, 1);
	task((int)getpid(), "xray", 1, 50);
	task(103, "agent", (int)getpid(), 300); /* a child of ours is no disturbance */
}

static void who_uses_the_cpus_is_named(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	task(100, "cc1plus", 1, 0);
	struct xr_around around = look(&arena, 1000, 0, compiling);
	assert_false(xr_around_quiet(&around));
	assert_true(around.busy > 0.324 && around.busy < 0.326); /* 1000 of 2000 ticks, less 350 of our own */
	says(&around, 0, "cc1plus and make (x) R use 32 % of these CPUs: expect doubt");
	says(&around, 1, NULL);
	xr_arena_release(&arena);
}

static void what_the_hypervisor_takes_is_its_own_sentence(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	struct xr_around around = look(&arena, 0, 240, NULL);
	assert_false(xr_around_quiet(&around));
	says(&around, 0, "the hypervisor gives 12 % of these CPUs' time to other machines");
	says(&around, 1, NULL);
	xr_arena_release(&arena);
}

static void quotas_of_either_kind_and_of_groups_above(void **state)
{
	static const char sentence[] = "a quota allows the time of 0.5 of these 2 CPUs: long runs are throttled";
	struct xr_arena arena = {0};
	(void)state;
	tell("proc/self/cgroup", "0::/user/own\n");
	tell("sys/fs/cgroup/user/own/cpu.max", "max 100000\n");
	struct xr_around around = look(&arena, 0, 0, NULL);
	says(&around, 0, NULL);
	tell("sys/fs/cgroup/user/cpu.max", "50000 100000\n");
	around = look(&arena, 0, 0, NULL);
	says(&around, 0, sentence);
	tell("sys/fs/cgroup/user/cpu.max", "200000 100000\n"); /* all there is */
	around = look(&arena, 0, 0, NULL);
	says(&around, 0, NULL);
	nothing_told(NULL);
	tell("proc/self/cgroup", "4:cpu,cpuacct:/docker/abc\n0::/\n"); /* the container's own root is its group */
	tell("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
	tell("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
	around = look(&arena, 0, 0, NULL);
	says(&around, 0, sentence);
	tell("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
	around = look(&arena, 0, 0, NULL);
	says(&around, 0, NULL);
	xr_arena_release(&arena);
}

static void governor_and_huge_pages(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	tell("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
	tell("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	struct xr_around around = look(&arena, 0, 0, NULL);
	says(&around, 0, NULL);
	tell("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
	tell("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	around = look(&arena, 0, 0, NULL);
	assert_string_equal(around.huge, "never");
	says(&around, 0, "the governor is 'powersave': the clock may stay low");
	says(&around, 1, "transparent huge pages are off: nothing can be measured in huge pages");
	says(&around, 2, NULL);
	assert_true(xr_around_quiet(&around)); /* waiting would not help */
	assert_null(xr_around_words(&arena, &around, true, false, 1));
	xr_arena_release(&arena);
}

static void what_cannot_be_read_is_nothing(void **state)
{
	struct xr_arena arena = {0};
	(void)state;
	tell("proc/self/cgroup", "nonsense\n::::\n0::\n");
	tell("proc/7/stat", "7 (unfinished");
	tell("proc/8/stat", "%s", "");
	tell("sys/kernel/mm/transparent_hugepage/enabled", "[");
	struct xr_around around = look(&arena, 0, 0, NULL);
	says(&around, 0, NULL);
	assert_true(around.quota == 0);
	xr_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_quiet_machine_says_nothing, nothing_told),
		cmocka_unit_test_setup(who_uses_the_cpus_is_named, nothing_told),
		cmocka_unit_test_setup(what_the_hypervisor_takes_is_its_own_sentence, nothing_told),
		cmocka_unit_test_setup(quotas_of_either_kind_and_of_groups_above, nothing_told),
		cmocka_unit_test_setup(governor_and_huge_pages, nothing_told),
		cmocka_unit_test_setup(what_cannot_be_read_is_nothing, nothing_told),
	};
	return cmocka_run_group_tests(tests, in_a_folder, folder_gone);
}
