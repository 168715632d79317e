/* SPDX-License-Identifier: MIT */
/* What a program that tunes itself gets from the library. */
#include "util/memory.h"
#include "xray.h"

#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct xr_description *machine(const char *path)
{
	struct xr_error err;
	struct xr_description *d = xr_description_read(path, &err);
	if (!d)
		fail_msg("%s", err.text);
	return d;
}

static void values_of_every_kind_can_be_looked_at(void **state)
{
	struct xr_description *d = machine("tests/data/zen4.json");
	struct xr_points points;
	(void)state;
	const struct xr_fact *ways = xr_description_fact(d, "cache.l1i.ways");
	assert_int_equal(xr_fact_kind(ways), XR_VALUE_NUMBER);
	assert_true(xr_fact_value(ways, 0) == 12 && xr_fact_claimed(ways, 0) == 8);
	const struct xr_fact *siblings = xr_description_fact(d, "threads.siblings");
	assert_int_equal(xr_fact_kind(siblings), XR_VALUE_LIST);
	assert_int_equal(xr_fact_groups(siblings), 2);
	assert_int_equal(xr_fact_group_size(siblings, 1), 1);
	assert_true(xr_fact_group_number(siblings, 1, 0, -1) == 1);
	assert_true(xr_fact_group_number(siblings, 2, 0, -1) == -1);
	const struct xr_fact *groups = xr_description_fact(d, "units.groups");
	assert_string_equal(xr_fact_group_text(groups, 0, 1), "mul.i32");
	assert_null(xr_fact_group_text(groups, 0, 99));
	const struct xr_fact *comm = xr_description_fact(d, "comm.latency");
	assert_int_equal(xr_fact_kind(comm), XR_VALUE_MATRIX);
	assert_int_equal(xr_fact_matrix_size(comm), 2);
	assert_int_equal(xr_fact_matrix_cpu(comm, 1), 1);
	assert_true(xr_fact_matrix_at(comm, 0, 1, 0) > 20 && xr_fact_matrix_at(comm, 0, 0, -1) == -1);
	const struct xr_fact *l1d = xr_description_fact(d, "cache.l1d.capacity");
	assert_string_equal(xr_fact_method(l1d), "compact sets");
	assert_int_equal(xr_fact_points(l1d), 1);
	assert_true(xr_description_points(d, xr_fact_points_id(l1d, 0), &points));
	assert_int_equal(points.n, 14);
	assert_true(points.x[13] == 14);
	assert_null(xr_fact_points_id(l1d, 1));
	assert_false(xr_description_points(d, "none", &points));
	assert_int_equal(xr_fact_kind(xr_description_fact(d, "cache.l2.ways")), XR_VALUE_NONE);
	xr_description_free(d);
}

static void a_description_passes_through_memory(void **state)
{
	struct xr_description *d = machine("tests/data/zen4.json");
	struct xr_error err;
	(void)state;
	char *text = xr_description_text(d);
	struct xr_description *again = xr_description_parse(text, strlen(text), "memory", &err);
	assert_non_null(again);
	assert_int_equal(xr_description_count(again), xr_description_count(d));
	char *second = xr_description_text(again);
	assert_string_equal(text, second);
	assert_null(xr_description_parse("{", 1, "memory", &err));
	free(text);
	free(second);
	xr_description_free(again);
	xr_description_free(d);
}

static void blocks_follow_the_model(void **state)
{
	struct xr_description *d = machine("tests/data/icelake.json");
	struct xr_blocking b = {0}, fixed = {.mr = 16, .nr = 6}, claimed = {.mr = 16, .nr = 6};
	(void)state;
	assert_int_equal(xr_description_blocking(d, 8, false, &b), 0);
	/* 12 ways: floor(11 / (1 + 16 / 8)) = 3 for A; 3 ways of 4 KiB hold 192 columns of 8 doubles */
	assert_true(b.mr == 8 && b.nr == 16 && b.kc == 192);
	assert_int_equal(xr_description_blocking(d, 8, false, &fixed), 0);
	assert_int_equal(xr_description_blocking(d, 8, true, &claimed), 0);
	assert_true(fixed.mr == 16 && fixed.nr == 6 && fixed.kc == claimed.kc && fixed.mc == claimed.mc);
	assert_true(claimed.nc > 10 * fixed.nc); /* the OS claims 15 times as much of the third cache */
	xr_description_free(d);
	struct xr_error err;
	d = xr_description_parse("{\"schema\": 1, \"facts\": {}}", 26, "none", &err);
	assert_int_equal(xr_description_blocking(d, 8, false, &b), -1);
	xr_description_free(d);
}

static void what_was_measured_once_is_read(void **state)
{
	static const char *const want[] = {"timer"};
	struct xr_options options = XR_OPTIONS_INIT;
	const struct xr_plan plan = {.select = want, .n_select = 1};
	struct xr_error err;
	char dir[256], compiler[300], command[800];
	(void)state;
	snprintf(dir, sizeof dir, "%s/store", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	options.target = "machines/p6.ini";
	struct xr_description *first = xr_description_stored(dir, 0, &options, &plan, &err);
	if (!first)
		fail_msg("%s", err.text);
	/* what is there is taken, however it got there */
	snprintf(command, sizeof command, "sed -i 's/\"timer.resolution\": {/\"timer.read\": {/' %s/machine-*.json",
	         dir);
	assert_int_equal(system(command), 0);
	struct xr_description *second = xr_description_stored(dir, 3600, &options, &plan, &err);
	assert_non_null(second);
	assert_non_null(xr_description_fact(second, "timer.read"));
	xr_description_free(second);
	/* too old: measured anew; another seed is no other machine, another compiler is */
	snprintf(command, sizeof command, "touch -d '2 hours ago' %s/machine-*.json", dir);
	assert_int_equal(system(command), 0);
	second = xr_description_stored(dir, 3600, &options, &plan, &err);
	assert_non_null(second);
	assert_null(xr_description_fact(second, "timer.read"));
	xr_description_free(second);
	xr_description_free(first);
	/* the same name, but another compiler */
	snprintf(compiler, sizeof compiler, "%s/cc", dir);
	snprintf(command, sizeof command, "rm %s/machine-*.json; echo one > %s", dir, compiler);
	assert_int_equal(system(command), 0);
	options.cc = compiler;
	for (int i = 0; i < 3; i++) {
		second = xr_description_stored(dir, 0, &options, &plan, &err);
		assert_non_null(second);
		assert_int_equal(xr_description_fact(second, "timer.read") != NULL, i == 1);
		xr_description_free(second);
		snprintf(command, sizeof command,
		         i == 0 ? "sed -i 's/\"timer.resolution\": {/\"timer.read\": {/' %s/machine-*.json"
		                : "echo another > %s/cc",
		         dir);
		assert_int_equal(system(command), 0);
	}
	snprintf(command, sizeof command, "rm %s/machine-*.json %s", dir, compiler);
	assert_int_equal(system(command), 0);
	options.cc = NULL;
	xr_description_free(xr_description_stored(dir, 0, &options, &plan, &err));
	/* from the future: a clock that was set back would keep it for ever */
	snprintf(
		command, sizeof command,
		"sed -i 's/\"timer.resolution\": {/\"timer.read\": {/' %s/machine-*.json && touch -d '2 hours' %s/machine-*.json",
		dir, dir);
	assert_int_equal(system(command), 0);
	second = xr_description_stored(dir, 0, &options, &plan, &err);
	assert_null(xr_description_fact(second, "timer.read"));
	xr_description_free(second);
	/* a directory that others can write is none */
	assert_int_equal(chmod(dir, 0777), 0);
	assert_null(xr_description_stored(dir, 0, &options, &plan, &err));
	assert_non_null(strstr(err.text, "nobody else can write"));
}

/* The one file in dir; "": there is none, or several. */
static const char *only_file(const char *dir, char path[600])
{
	glob_t found;
	char pattern[300];
	snprintf(pattern, sizeof pattern, "%s/*", dir);
	int n = glob(pattern, GLOB_PERIOD, NULL, &found) ? 0 : (int)found.gl_pathc;
	*path = 0;
	for (int i = 0, files = 0; i < n; i++) {
		struct stat st;
		if (!lstat(found.gl_pathv[i], &st) && !S_ISDIR(st.st_mode))
			snprintf(path, 600, "%s", files++ ? "" : found.gl_pathv[i]);
	}
	globfree(&found);
	return path;
}

static void what_is_kept_is_whole_and_ours(void **state)
{
	static const char *const want[] = {"timer"};
	volatile int interrupt = 1;
	const struct xr_plan plan = {.select = want, .n_select = 1},
			     stopped = {.select = want, .n_select = 1, .interrupt = &interrupt};
	struct xr_options options = XR_OPTIONS_INIT;
	struct xr_error err;
	char dir[256], path[600], victim[300], text[8] = "";
	struct stat st;
	(void)state;
	assert_null(xr_description_stored(NULL, 0, &options, &plan, &err));
	assert_non_null(strstr(err.text, "no directory"));
	snprintf(dir, sizeof dir, "%s/whole", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	snprintf(victim, sizeof victim, "%s.victim", dir);
	options.target = "machines/p6.ini";
	/* half an answer is for this time only */
	xr_description_free(xr_description_stored(dir, 0, &options, &stopped, &err));
	assert_string_equal(only_file(dir, path), "");
	xr_description_free(xr_description_stored(dir, 0, &options, &plan, &err));
	assert_string_not_equal(only_file(dir, path), "");
	/* a link is replaced, and neither read nor written through */
	FILE *file = fopen(victim, "w");
	assert_true(file && fputs("mine", file) >= 0 && !fclose(file));
	assert_true(!unlink(path) && !symlink(victim, path));
	struct xr_description *d = xr_description_stored(dir, 0, &options, &plan, &err);
	assert_non_null(d);
	xr_description_free(d);
	assert_true(!lstat(path, &st) && S_ISREG(st.st_mode));
	file = fopen(victim, "r");
	assert_true(file && fgets(text, sizeof text, file) && !fclose(file));
	assert_string_equal(text, "mine");
	/* nor is there a way through a parent of somebody else's: as root only, who can make one */
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 12345, 12345), 0);
		snprintf(path, sizeof path, "%s/below", dir);
		assert_null(xr_description_stored(path, 0, &options, &plan, &err));
		assert_non_null(strstr(err.text, "belongs to somebody else"));
		assert_int_equal(chown(dir, 0, 0), 0);
	}
}

/* Every function that the shared library shows, with nothing but NULL. */
static void no_function_crashes_on_null(void **state)
{
	typedef void *any(void *, void *, void *, void *, void *, void *, void *);
	const char *build = getenv("BUILD") ? getenv("BUILD") : "build";
	char path[600], line[200], name[100];
	int tried = 0;
	(void)state;
	snprintf(path, sizeof path, "%s/libxray.so.0", build);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	snprintf(path, sizeof path, "%s/gen/xray.map", build);
	FILE *names = fopen(path, "r");
	if (!library || !names)
		skip(); /* a static build has none */
	while (fgets(line, sizeof line, names)) {
		if (sscanf(line, " %99[a-z_0-9];", name) != 1 || strncmp(name, "xr_", 3) != 0)
			continue;
		any *call;
		*(void **)&call = dlsym(library, name);
		assert_non_null(call);
		pid_t child = fork();
		if (!child) {
			freopen("/dev/null", "w", stdout);
			call(NULL, NULL, NULL, NULL, NULL, NULL, NULL);
			_exit(0);
		}
		int status = -1;
		waitpid(child, &status, 0);
		if (status)
			fail_msg("%s(NULL...): status %d", name, status);
		tried++;
	}
	fclose(names);
	dlclose(library);
	assert_true(tried > 30);
}

static void without_memory_a_call_fails_and_the_program_lives(void **state)
{
	struct xr_memory_guard guard;
	volatile int landed = 0;
	(void)state;
	if (setjmp(*xr_memory_guard(&guard)))
		landed = 1;
	else
		free(xr_realloc(NULL, SIZE_MAX / 2, 4));
	xr_memory_unguard(&guard);
	assert_int_equal(landed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_every_kind_can_be_looked_at),
		cmocka_unit_test(a_description_passes_through_memory),
		cmocka_unit_test(blocks_follow_the_model),
		cmocka_unit_test(what_was_measured_once_is_read),
		cmocka_unit_test(what_is_kept_is_whole_and_ours),
		cmocka_unit_test(no_function_crashes_on_null),
		cmocka_unit_test(without_memory_a_call_fails_and_the_program_lives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
