#include "target/host/os.h"

#include <ctype.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { CPUS_MAX = 8192 };

int xr_os_cpus(struct xr_arena *arena, const int **ids)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	int n = 0;
	int *list = xr_arena_array(arena, int, CPUS_MAX);
	if (set && !sched_getaffinity(0, size, set))
		for (int i = 0; i < CPUS_MAX; i++)
			if (CPU_ISSET_S((size_t)i, size, set))
				list[n++] = i;
	if (set)
		CPU_FREE(set);
	if (!n)
		list[n++] = 0;
	*ids = list;
	return n;
}

bool xr_os_can_pin(void)
{
	cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
	bool can = set && !sched_getaffinity(0, size, set) && !sched_setaffinity(0, size, set);
	if (set)
		CPU_FREE(set);
	return can;
}

/* The first line of a file below the cgroup of this process, tried from there up to the root. */
static bool cgroup_line(const char *file, char *line, size_t size)
{
	char path[4096] = "", group[2048];
	FILE *f = fopen("/proc/self/cgroup", "r");
	bool found = false;
	if (!f)
		return false;
	while (!found && fgets(group, sizeof group, f))
		if (!strncmp(group, "0::", 3)) {
			group[strcspn(group, "\n")] = '\0';
			found = true;
		}
	fclose(f);
	if (!found)
		return false;
	for (char *dir = group + 3;;) {
		snprintf(path, sizeof path, "/sys/fs/cgroup%s/%s", dir, file);
		f = fopen(path, "r");
		if (f) {
			bool ok = fgets(line, (int)size, f) != NULL;
			fclose(f);
			if (ok && strncmp(line, "max", 3))
				return true;
		}
		char *slash = strrchr(dir, '/');
		if (!slash || !*dir)
			return false;
		*slash = '\0';
	}
}

double xr_os_quota(void)
{
	char line[128];
	double quota, period;
	if (cgroup_line("cpu.max", line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0)
		return quota / period;
	FILE *f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "r"); /* version 1 */
	if (!f)
		return 0;
	int got = fscanf(f, "%lf", &quota);
	fclose(f);
	f = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "r");
	if (!f)
		return 0;
	got += fscanf(f, "%lf", &period);
	fclose(f);
	return got == 2 && quota > 0 && period > 0 ? quota / period : 0;
}

static uint64_t meminfo(const char *key)
{
	char line[256];
	uint64_t kb = 0;
	FILE *f = fopen("/proc/meminfo", "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof line, f))
		if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), ": %" SCNu64, &kb) == 1)
			break;
	fclose(f);
	return kb * 1024;
}

uint64_t xr_os_memory(void)
{
	char line[128];
	uint64_t free_bytes = meminfo("MemAvailable");
	if (cgroup_line("memory.max", line, sizeof line)) {
		uint64_t limit = strtoull(line, NULL, 10), used = 0;
		if (cgroup_line("memory.current", line, sizeof line))
			used = strtoull(line, NULL, 10);
		uint64_t left = limit > used ? limit - used : 0;
		if (!free_bytes || left < free_bytes)
			free_bytes = left;
	}
	return free_bytes ? free_bytes / 2 : UINT64_C(64) << 20;
}

uint64_t xr_os_page(void)
{
	long page = sysconf(_SC_PAGESIZE);
	return page > 0 ? (uint64_t)page : 4096;
}

/* Idle ticks so far of each CPU in ids; -1 where /proc/stat does not say. */
static void idle_ticks(const int *ids, int n, double *idle)
{
	char line[512];
	FILE *f = fopen("/proc/stat", "r");
	for (int i = 0; i < n; i++)
		idle[i] = -1;
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		int cpu;
		double user, nice, system, still;
		if (sscanf(line, "cpu%d %lf %lf %lf %lf", &cpu, &user, &nice, &system, &still) != 5)
			continue;
		for (int i = 0; i < n; i++)
			if (ids[i] == cpu)
				idle[i] = still;
	}
	fclose(f);
}

int xr_os_quiet_cpu(const int *ids, int n)
{
	double *before = malloc((size_t)n * 2 * sizeof *before), *after = before + n;
	int best = n - 1;
	if (!before)
		return ids[best];
	idle_ticks(ids, n, before);
	nanosleep(&(struct timespec){0, 60000000}, NULL); /* some ticks of 4 or 10 ms */
	idle_ticks(ids, n, after);
	for (int i = n - 2; i >= 0; i--) /* interrupts like the first CPU: the last one wins a tie */
		if (after[i] - before[i] > after[best] - before[best] + 1.5)
			best = i;
	free(before);
	return ids[best];
}

const char *xr_os_cpu_name(struct xr_arena *arena)
{
	static const char *const keys[] = {"model name", "Hardware", "uarch", "cpu model", "Model"};
	char line[512];
	FILE *f = fopen("/proc/cpuinfo", "r");
	char *name = NULL;
	while (f && !name && fgets(line, sizeof line, f))
		for (size_t i = 0; i < sizeof keys / sizeof *keys && !name; i++) {
			char *colon = strchr(line, ':');
			if (!strncmp(line, keys[i], strlen(keys[i])) && colon) {
				colon++;
				while (isspace((unsigned char)*colon))
					colon++;
				colon[strcspn(colon, "\n")] = '\0';
				name = xr_arena_strdup(arena, colon);
			}
		}
	if (f)
		fclose(f);
	struct utsname u;
	if (!name && !uname(&u))
		name = xr_arena_strdup(arena, u.machine);
	return name ? name : "";
}

const char *xr_os_name(struct xr_arena *arena)
{
	struct utsname u;
	return uname(&u) ? "" : xr_arena_printf(arena, "%s %s %s", u.sysname, u.release, u.machine);
}
