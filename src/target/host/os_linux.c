/* SPDX-License-Identifier: MIT */
#include "target/host/os.h"

#include <ctype.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

bool xr_os_counts(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
	                               .size = sizeof attr,
	                               .config = PERF_COUNT_HW_CPU_CYCLES,
	                               .disabled = 1,
	                               .exclude_kernel = 1,
	                               .exclude_hv = 1};
	const int file = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (file >= 0)
		close(file);
	return file >= 0;
}

/* The cgroup of this process for a controller: its line in /proc/self/cgroup is "0::DIR" (version 2) or
 * "N:…,cpu,…:DIR" (version 1). */
static bool cgroup_dir(bool version2, const char *controller, char *dir, size_t size)
{
	char line[2048], wanted[64], names[1024];
	FILE *f = fopen(XR_PROC "/self/cgroup", "r");
	bool found = false;
	if (!f)
		return false;
	snprintf(wanted, sizeof wanted, ",%s,", controller);
	while (!found && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		snprintf(names, sizeof names, ",%s,", list + 1);
		found = version2 ? !strncmp(line, "0:", 2) : strstr(names, wanted) != NULL;
		if (found)
			snprintf(dir, size, "%s", path);
	}
	fclose(f);
	return found;
}

static bool first_line(const char *root, const char *dir, const char *file, char *line, size_t size)
{
	char path[4096];
	snprintf(path, sizeof path, "%s%s/%s", root, dir, file);
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(line, (int)size, f);
	if (f)
		fclose(f);
	return ok;
}

/* The tightest quota from the process's own group up to the root, in CPUs; 0: none. */
static double quota_from(bool version2)
{
	const char *root = version2 ? XR_SYS "/fs/cgroup" : XR_SYS "/fs/cgroup/cpu";
	char dir[2048], line[128];
	double tightest = 0;
	if (!cgroup_dir(version2, "cpu", dir, sizeof dir))
		return 0;
	for (;;) {
		double quota = 0, period = 0;
		if (version2 && first_line(root, dir, "cpu.max", line, sizeof line))
			(void)sscanf(line, "%lf %lf", &quota, &period);
		if (!version2 && first_line(root, dir, "cpu.cfs_quota_us", line, sizeof line))
			quota = strtod(line, NULL);
		if (!version2 && first_line(root, dir, "cpu.cfs_period_us", line, sizeof line))
			period = strtod(line, NULL);
		if (quota > 0 && period > 0 && (!(tightest > 0) || quota / period < tightest))
			tightest = quota / period;
		char *slash = strrchr(dir, '/');
		if (!slash)
			return tightest;
		*slash = '\0';
	}
}

double xr_os_quota(void)
{
	double v2 = quota_from(true), v1 = quota_from(false);
	return v2 > 0 && (!(v1 > 0) || v2 < v1) ? v2 : v1;
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

/* What a group may still take: its limit, less what it has and would not give up (files that nobody uses now). */
static uint64_t left_in_group(bool version2, const char *root, const char *dir)
{
	char line[128], path[4096], key[64];
	uint64_t limit, used = 0, bytes;
	if (!first_line(root, dir, version2 ? "memory.max" : "memory.limit_in_bytes", line, sizeof line) ||
	    !isdigit((unsigned char)*line))
		return UINT64_MAX;
	limit = strtoull(line, NULL, 10);
	if (first_line(root, dir, version2 ? "memory.current" : "memory.usage_in_bytes", line, sizeof line))
		used = strtoull(line, NULL, 10);
	snprintf(path, sizeof path, "%s%s/memory.stat", root, dir);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "%63s %" SCNu64, key, &bytes) == 2 &&
		    !strcmp(key, version2 ? "inactive_file" : "total_inactive_file"))
			used -= bytes < used ? bytes : used;
	if (f)
		fclose(f);
	return limit > used ? limit - used : 0;
}

/* The least of that from the process's own group up to the root. In a container the root is its own group's, whatever
 * the group is called outside. */
static uint64_t left_in_groups(bool version2)
{
	const char *root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
	char dir[2048];
	uint64_t least = left_in_group(version2, root, "");
	if (!cgroup_dir(version2, "memory", dir, sizeof dir))
		return least;
	for (char *slash; (slash = strrchr(dir, '/')); *slash = '\0') {
		uint64_t left = left_in_group(version2, root, dir);
		least = left < least ? left : least;
	}
	return least;
}

static uint64_t at_most(uint64_t bytes, uint64_t limit)
{
	return limit < bytes ? limit : bytes;
}

uint64_t xr_os_memory(void)
{
	struct rlimit limit[2];
	const bool known[] = {!getrlimit(RLIMIT_AS, &limit[0]), !getrlimit(RLIMIT_DATA, &limit[1])};
	uint64_t bytes = meminfo("MemAvailable");
	if (!bytes)
		bytes = UINT64_C(128) << 20;
	bytes = at_most(at_most(bytes, left_in_groups(true)), left_in_groups(false));
	for (size_t i = 0; i < 2; i++)
		if (known[i] && limit[i].rlim_cur != RLIM_INFINITY)
			bytes = at_most(bytes, (uint64_t)limit[i].rlim_cur);
	return bytes / 2;
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

/* Does the OS say the same of both, or nothing? */
static bool alike(int a, int b)
{
	static const char *const files[] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq", "topology/physical_package_id"};
	char path[128], text[2][64];
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		for (int k = 0; k < 2; k++) {
			snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/%s", k ? b : a, files[i]);
			FILE *f = fopen(path, "r");
			if (!f || !fgets(text[k], sizeof text[k], f))
				text[k][0] = '\0';
			if (f)
				fclose(f);
		}
		if (strcmp(text[0], text[1]) != 0)
			return false;
	}
	return true;
}

int xr_os_quiet_cpus(const int *ids, int n, int *quiet, int room)
{
	const double tick = 1.5; /* a difference that means something */
	double *before = calloc((size_t)n * 2, sizeof *before), *idle = before + n;
	int best = n - 1, found = 0;
	quiet[found++] = ids[best];
	if (!before)
		return found;
	idle_ticks(ids, n, before);
	nanosleep(&(struct timespec){0, 60000000}, NULL); /* some ticks of 4 or 10 ms */
	idle_ticks(ids, n, idle);
	for (int i = n - 1; i >= 0; i--) { /* interrupts like the first CPU: the last one wins a tie */
		idle[i] -= before[i];
		if (idle[i] > idle[best] + tick)
			best = i;
	}
	quiet[0] = ids[best];
	for (int i = n - 1; i >= 0 && found < room; i--)
		if (i != best && idle[i] > idle[best] - tick && alike(ids[best], ids[i]))
			quiet[found++] = ids[i];
	free(before);
	return found;
}

/* e_machine of an ELF file; 0: it is none. */
static unsigned elf_machine(const char *path)
{
	unsigned char head[20];
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(head, 1, sizeof head, f) : 0;
	if (f)
		fclose(f);
	if (n < sizeof head || memcmp(head, "\177ELF", 4) != 0)
		return 0;
	return head[5] == 2 ? (unsigned)head[18] << 8 | head[19] : (unsigned)head[19] << 8 | head[18];
}

bool xr_os_is_foreign(const char *program)
{
	static const unsigned also[][2] = {{62, 3}, {183, 40}}; /* x86-64 runs i386, AArch64 Arm */
	unsigned here = elf_machine("/proc/self/exe"), there = elf_machine(program);
	for (size_t i = 0; i < sizeof also / sizeof *also; i++)
		if (here == also[i][0] && there == also[i][1])
			return false;
	return here && there && here != there;
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
