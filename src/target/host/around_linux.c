/* SPDX-License-Identifier: MIT */
/* From /proc: what each CPU did, what each process took. */
#include "target/host/around.h"
#include "target/host/os.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TASKS_MAX = 1 << 15 };

struct xr_moment_task {
	int pid, parent;
	double cpu_s;
	char name[16];
};

/* ---- one moment ----------------------------------------------------------------------------------------------------- */

static bool among(const int *cpus, int n_cpus, int cpu)
{
	for (int i = 0; i < n_cpus; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static void read_cpus(struct xr_moment *moment, const int *cpus, int n_cpus, double tick_s)
{
	char line[512];
	FILE *f = fopen(XR_PROC "/stat", "r");
	if (!f)
		return;
	while (fgets(line, sizeof line, f)) {
		int cpu;
		double user, nice, system, idle, iowait, irq, softirq, steal = 0;
		if (sscanf(line, "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &user, &nice, &system, &idle, &iowait,
		           &irq, &softirq, &steal) < 8 ||
		    !among(cpus, n_cpus, cpu))
			continue;
		moment->busy += (user + nice + system + irq + softirq) * tick_s;
		moment->steal += steal * tick_s;
		moment->all += (user + nice + system + idle + iowait + irq + softirq + steal) * tick_s;
	}
	fclose(f);
}

/* "PID (NAME) S PPID …": the name may hold anything, its end is the last parenthesis. */
static bool read_task(struct xr_moment_task *task, const char *pid, double tick_s)
{
	char path[64], line[1024];
	double user = 0, system = 0, child_user = 0, child_system = 0;
	snprintf(path, sizeof path, XR_PROC "/%.20s/stat", pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	size_t n = fread(line, 1, sizeof line - 1, f);
	fclose(f);
	line[n] = 0;
	char *open = strchr(line, '('), *close = strrchr(line, ')');
	if (!open || !close || close < open ||
	    sscanf(close + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lf %lf %lf %lf", &task->parent, &user,
	           &system, &child_user, &child_system) != 5)
		return false;
	*close = 0;
	task->pid = atoi(line);
	task->cpu_s = (user + system) * tick_s;
	if (task->pid == (int)getpid())
		task->cpu_s += (child_user + child_system) * tick_s;
	snprintf(task->name, sizeof task->name, "%s", open + 1);
	for (char *c = task->name; *c; c++)
		if (!isprint((unsigned char)*c))
			*c = '?';
	return true;
}

static const struct xr_moment_task *task_of(const struct xr_moment *moment, int pid)
{
	for (size_t i = 0; i < moment->n_tasks; i++)
		if (moment->task[i].pid == pid)
			return &moment->task[i];
	return NULL;
}

static bool is_ours(const struct xr_moment *moment, const struct xr_moment_task *task)
{
	for (int depth = 0; task && depth < 16; depth++) {
		if (task->pid == (int)getpid())
			return true;
		task = task_of(moment, task->parent);
	}
	return false;
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

void xr_moment_take(struct xr_moment *moment, struct xr_arena *arena, const int *cpus, int n_cpus)
{
	double tick_s = 1 / (double)sysconf(_SC_CLK_TCK);
	DIR *dir = opendir(XR_PROC);
	size_t room = 256;
	*moment = (struct xr_moment){.at_s = now_s(), .task = xr_arena_array(arena, struct xr_moment_task, room)};
	read_cpus(moment, cpus, n_cpus, tick_s);
	for (struct dirent *entry; dir && moment->n_tasks < TASKS_MAX && (entry = readdir(dir));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (moment->n_tasks == room) {
			struct xr_moment_task *more = xr_arena_array(arena, struct xr_moment_task, 2 * room);
			memcpy(more, moment->task, room * sizeof *more);
			moment->task = more;
			room *= 2;
		}
		moment->n_tasks += read_task(&moment->task[moment->n_tasks], entry->d_name, tick_s);
	}
	if (dir)
		closedir(dir);
	for (size_t i = 0; i < moment->n_tasks; i++)
		if (is_ours(moment, &moment->task[i]))
			moment->ours += moment->task[i].cpu_s;
}

/* ---- between two ---------------------------------------------------------------------------------------------------- */

static void first_word(const char *path, char *word, size_t size)
{
	FILE *f = fopen(path, "r");
	char line[128] = "";
	if (f && fgets(line, sizeof line, f))
		snprintf(word, size, "%.*s", (int)strcspn(line, " \n"), line);
	if (f)
		fclose(f);
}

static void read_settings(struct xr_around *around)
{
	char line[128] = "";
	double load[1];
	around->load = getloadavg(load, 1) == 1 ? load[0] : -1;
	around->quota = xr_os_quota();
	first_word(XR_SYS "/devices/system/cpu/cpu0/cpufreq/scaling_governor", around->governor,
	           sizeof around->governor);
	FILE *f = fopen(XR_SYS "/kernel/mm/transparent_hugepage/enabled", "r");
	if (f && fgets(line, sizeof line, f) && strchr(line, '['))
		snprintf(around->huge, sizeof around->huge, "%.*s", (int)strcspn(strchr(line, '[') + 1, "]"),
		         strchr(line, '[') + 1);
	if (f)
		fclose(f);
}

/* Processes of one name count together: a compiler is many. */
static void add_task(struct xr_around *around, const char *name, double share)
{
	size_t i = 0;
	while (i < around->n_who && strcmp(around->who[i].name, name))
		i++;
	if (i == around->n_who) {
		if (i == sizeof around->who / sizeof *around->who) {
			i--;
			if (around->who[i].share >= share)
				return;
		} else {
			around->n_who++;
		}
		around->who[i].share = 0;
		snprintf(around->who[i].name, sizeof around->who[i].name, "%s", name);
	}
	around->who[i].share += share;
	for (; i && around->who[i].share > around->who[i - 1].share; i--) {
		char kept[16];
		double kept_share = around->who[i].share;
		memcpy(kept, around->who[i].name, sizeof kept);
		around->who[i] = around->who[i - 1];
		memcpy(around->who[i - 1].name, kept, sizeof kept);
		around->who[i - 1].share = kept_share;
	}
}

static double clip(double share)
{
	return share < 0 ? 0 : share > 1 ? 1 : share;
}

void xr_around_between(struct xr_around *around, const struct xr_moment *from, const struct xr_moment *to, int n_cpus)
{
	/* A process of less than this does no harm, and there are always some. */
	const double noticeable = 0.01;
	double all_s = to->all - from->all;
	*around = (struct xr_around){.n_cpus = n_cpus};
	read_settings(around);
	if (!(all_s > 0))
		return;
	around->busy = clip((to->busy - from->busy - (to->ours - from->ours)) / all_s);
	around->steal = clip((to->steal - from->steal) / all_s);
	for (size_t i = 0; i < to->n_tasks; i++) {
		const struct xr_moment_task *task = &to->task[i], *before = task_of(from, task->pid);
		double share = (task->cpu_s - (before ? before->cpu_s : 0)) / all_s;
		if (share < noticeable || is_ours(to, task))
			continue;
		around->n_busy++;
		add_task(around, task->name, clip(share));
	}
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

/* Others cost a fact about a third of the share they take (engine/quality.c): from here on it shows. */
static const double busy_matters = 0.05, steal_matters = 0.01;

bool xr_around_quiet(const struct xr_around *around)
{
	return around->busy < busy_matters && around->steal < steal_matters;
}

static const char *who_words(struct xr_arena *arena, const struct xr_around *around)
{
	size_t others = around->n_busy > around->n_who ? around->n_busy - around->n_who : 0;
	if (!around->n_who)
		return "short-lived processes";
	if (around->n_who == 1 && !others)
		return around->who[0].name;
	if (around->n_who == 1)
		return xr_arena_printf(arena, "%s and %zu other%s", around->who[0].name, others,
		                       others == 1 ? "" : "s");
	if (!others && around->n_who == 2)
		return xr_arena_printf(arena, "%s and %s", around->who[0].name, around->who[1].name);
	others += around->n_who - 2;
	return xr_arena_printf(arena, "%s, %s and %zu other%s", around->who[0].name, around->who[1].name, others,
	                       others == 1 ? "" : "s");
}

const char *xr_around_words(struct xr_arena *arena, const struct xr_around *around, bool past, bool neighbour, int i)
{
	const char *sentence[6];
	int n = 0;
	if (around->busy >= busy_matters)
		sentence[n++] =
			xr_arena_printf(arena, "%s %s %.0f %% of these CPUs: expect doubt", who_words(arena, around),
		                        past                  ? "used"
		                        : around->n_busy == 1 ? "uses"
		                                              : "use",
		                        around->busy * 100);
	if (around->steal >= steal_matters)
		sentence[n++] =
			xr_arena_printf(arena, "the hypervisor %s %.0f %% of these CPUs' time to other machines",
		                        past ? "gave" : "gives", around->steal * 100);
	if (neighbour && xr_around_quiet(around))
		sentence[n++] =
			"something outside this system shares the core: another VM on the SMT sibling, most likely";
	else if (neighbour)
		sentence[n++] = "the core is shared at times: by the SMT sibling's thread, or by those named above";
	if (around->quota > 0 && around->quota < around->n_cpus)
		sentence[n++] = xr_arena_printf(
			arena, "a quota allows the time of %.3g of these %d CPUs: long runs are throttled",
			around->quota, around->n_cpus);
	if (!strcmp(around->governor, "powersave") || !strcmp(around->governor, "conservative"))
		sentence[n++] =
			xr_arena_printf(arena, "the governor is '%s': the clock may stay low", around->governor);
	if (!past && !strcmp(around->huge, "never")) /* no disturbance: nothing to say of it afterwards */
		sentence[n++] = "transparent huge pages are off: nothing can be measured in huge pages";
	return i < n ? sentence[i] : NULL;
}
