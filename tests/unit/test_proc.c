/* SPDX-License-Identifier: MIT */
/* Subprocesses: no shell, one deadline, nobody left behind. */
#include "util/files.h"
#include "util/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* What takes so long hangs; a busy machine may take a good part of it. */
enum { HANGS_S = 120 };

static const char *place(const char *name)
{
	static char path[4][4096];
	static int turn;
	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof path[turn], "%s/%s", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", name);
	return path[turn];
}

static const char *script(const char *name, const char *text)
{
	const char *path = place(name);
	assert_int_equal(xr_file_write_program(path, text, strlen(text)), 0);
	return path;
}

static struct xr_job run(const char *const *argv, double timeout_s, const struct xr_watch *watch)
{
	struct xr_job job = {.argv = argv};
	xr_jobs_run(&job, 1, 1, timeout_s, watch);
	return job;
}

static void nap(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* execvp() would hand it to /bin/sh. */
static void what_is_no_program_is_not_run(void **state)
{
	const char *mark = place("ran");
	char text[5000];
	struct xr_proc proc;
	struct xr_error err;
	(void)state;
	snprintf(text, sizeof text, "touch %s\n", mark);
	const char *argv[] = {script("text", text), NULL};
	struct xr_job job = run(argv, HANGS_S, NULL);
	assert_int_equal(job.status, XR_JOB_NOT_STARTED);
	assert_string_equal(xr_strbuf_text(&job.output), "it is no program");
	xr_strbuf_release(&job.output);
	assert_int_equal(xr_proc_start(&proc, argv, &err), -1);
	assert_non_null(strstr(err.text, "no program"));
	assert_false(xr_file_exists(mark));
}

static void nothing(int signal)
{
	(void)signal;
}

/* Every call that waits is interrupted now and again (a resized terminal, a timer of the caller's): nothing is lost. */
static void signals_do_not_disturb(void **state)
{
	struct sigaction quiet = {.sa_handler = nothing}, before; /* without SA_RESTART */
	const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
	const char *argv[] = {"sh", "-c", "sleep 0.05; echo said; exit 3", NULL};
	const char *cat[] = {"cat", NULL};
	struct xr_proc proc;
	struct xr_error err;
	const char *line;
	(void)state;
	sigaction(SIGALRM, &quiet, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < 5; i++) {
		struct xr_job job = run(argv, HANGS_S, NULL);
		assert_int_equal(job.status, 3);
		assert_string_equal(xr_strbuf_text(&job.output), "said\n");
		xr_strbuf_release(&job.output);
		assert_int_equal(xr_proc_start(&proc, cat, &err), 0);
		assert_int_equal(xr_proc_send(&proc, "hello\n", 6, NULL), 0);
		assert_int_equal(xr_proc_line(&proc, HANGS_S, NULL, &line), 1);
		assert_string_equal(line, "hello");
		xr_proc_stop(&proc, NULL);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and nobody is left */
	assert_int_equal(errno, ECHILD);
}

static void programs_are_found_by_path(void **state)
{
	char *sh = xr_program_find("sh");
	(void)state;
	assert_non_null(sh);
	assert_int_equal(sh[0], '/');
	free(sh);
	assert_null(xr_program_find("no-such-program-anywhere"));
	assert_int_equal(errno, ENOENT);
	assert_null(xr_program_find("/tmp")); /* a folder */
	assert_null(xr_program_find(""));
	const char *argv[] = {"sh", "-c", "echo $0; exit 3", NULL};
	struct xr_job job = run(argv, HANGS_S, NULL);
	assert_int_equal(job.status, 3);
	assert_string_equal(xr_strbuf_text(&job.output), "sh\n");
	xr_strbuf_release(&job.output);
}

/* Standard input is at its end; temporary files go where we say. */
static void jobs_get_no_input_and_a_place_for_temporary_files(void **state)
{
	const char *const argv[] = {"sh", "-c", "cat; echo $TMPDIR", NULL};
	struct xr_job job = {.argv = argv, .tmp = "/some/where"};
	(void)state;
	xr_jobs_run(&job, 1, 1, HANGS_S, NULL);
	assert_int_equal(job.status, 0);
	assert_string_equal(xr_strbuf_text(&job.output), "/some/where\n");
	xr_strbuf_release(&job.output);
}

static void a_job_is_over_in_time_whatever_it_does(void **state)
{
	static const char *const hangs[] = {"exec >&- 2>&-; sleep 1000", "sleep 1000", "trap '' TERM INT; sleep 1000",
	                                    "sleep 1000 & exec >&- 2>&-; wait"};
	(void)state;
	for (size_t i = 0; i < sizeof hangs / sizeof *hangs; i++) {
		const char *argv[] = {"sh", "-c", hangs[i], NULL};
		double start = xr_clock_s();
		struct xr_job job = run(argv, 0.3, NULL);
		assert_int_equal(job.status, XR_JOB_TOO_LONG);
		assert_true(xr_clock_s() - start < HANGS_S);
		xr_strbuf_release(&job.output);
	}
}

static void one_watch_stops_all_jobs(void **state)
{
	const char *const argv[] = {"sh", "-c", "exec >&- 2>&-; sleep 1000", NULL};
	struct xr_job jobs[8];
	struct xr_watch watch = {.end_s = xr_clock_s() + 0.3};
	double start = xr_clock_s();
	(void)state;
	for (int i = 0; i < 8; i++)
		jobs[i] = (struct xr_job){.argv = argv};
	xr_jobs_run(jobs, 8, 2, HANGS_S, &watch);
	assert_true(xr_clock_s() - start < HANGS_S);
	for (int i = 0; i < 8; i++) {
		assert_int_equal(jobs[i].status, XR_JOB_STOPPED);
		xr_strbuf_release(&jobs[i].output);
	}
	volatile int interrupt = 1;
	watch = (struct xr_watch){.interrupt = &interrupt};
	struct xr_job job = run(argv, HANGS_S, &watch);
	assert_int_equal(job.status, XR_JOB_STOPPED);
	assert_string_equal(xr_watch_why(&watch), "interrupted");
	xr_strbuf_release(&job.output);
}

static void output_without_end_takes_no_memory(void **state)
{
	const char *const argv[] = {"sh", "-c", "head -c 50000000 /dev/zero", NULL};
	(void)state;
	struct xr_job job = run(argv, HANGS_S, NULL);
	assert_int_equal(job.status, 0);
	assert_true(job.output.len < 2 << 20);
	xr_strbuf_release(&job.output);
}

/* Who a job leaves behind is killed with it. */
static void nobody_is_left_behind(void **state)
{
	const char *file = place("pid");
	char text[8192], pid_text[32] = "";
	(void)state;
	snprintf(text, sizeof text, "sleep 300 > /dev/null 2>&1 & echo $! > %s", file);
	const char *argv[] = {"sh", "-c", text, NULL};
	struct xr_job job = run(argv, HANGS_S, NULL);
	assert_int_equal(job.status, 0);
	xr_strbuf_release(&job.output);
	FILE *f = fopen(file, "r");
	assert_non_null(f);
	assert_non_null(fgets(pid_text, sizeof pid_text, f));
	fclose(f);
	pid_t pid = (pid_t)atol(pid_text);
	assert_true(pid > 1);
	for (int i = 0; i < 20 * HANGS_S && !kill(pid, 0); i++) {
		char stat_path[64], stat_text[256] = "";
		snprintf(stat_path, sizeof stat_path, "/proc/%ld/stat", (long)pid);
		struct xr_strbuf stat = {0};
		if (!xr_file_read(stat_path, &stat))
			snprintf(stat_text, sizeof stat_text, "%s", xr_strbuf_text(&stat));
		xr_strbuf_release(&stat);
		if (strstr(stat_text, ") Z "))
			return; /* killed; whoever adopted it has not looked yet */
		nap(50);
	}
	assert_int_equal(kill(pid, 0), -1);
}

/* The tool is killed while a script runs something: that goes, too. */
static void children_die_with_the_tool(void **state)
{
	const char *file = place("child");
	char text[8192];
	(void)state;
	snprintf(text, sizeof text, "#!/bin/sh\nsh -c 'echo $$ > %s.new; mv %s.new %s; while :; do :; done'\n", file,
	         file, file);
	const char *argv[] = {script("spinning", text), NULL};
	unlink(file);
	pid_t tool = fork();
	if (!tool) {
		struct xr_proc proc;
		if (xr_proc_start(&proc, argv, NULL))
			_exit(1);
		for (;;)
			pause();
	}
	for (int i = 0; i < 20 * HANGS_S && !xr_file_exists(file); i++)
		nap(50);
	struct xr_strbuf said = {0};
	assert_int_equal(xr_file_read(file, &said), 0);
	pid_t spinning = (pid_t)atol(xr_strbuf_text(&said));
	xr_strbuf_release(&said);
	assert_true(spinning > 1);
	assert_int_equal(kill(spinning, 0), 0);
	kill(tool, SIGKILL);
	int status;
	waitpid(tool, &status, 0);
	bool gone = false;
	for (int i = 0; i < 20 * HANGS_S && !gone; i++) {
		char path[64];
		struct xr_strbuf stat = {0};
		snprintf(path, sizeof path, "/proc/%ld/stat", (long)spinning);
		gone = kill(spinning, 0) || (!xr_file_read(path, &stat) && strstr(xr_strbuf_text(&stat), ") Z "));
		xr_strbuf_release(&stat);
		nap(50);
	}
	if (!gone)
		kill(spinning, SIGKILL);
	assert_true(gone);
}

static void its_standard_error_blocks(void **state)
{
	/* so many bytes do not fit into the pipe: who writes there without looking would lose some */
	const char *const argv[] = {"sh", "-c", "head -c 300000 /dev/zero >&2 && echo all; read x", NULL};
	struct xr_proc proc;
	const char *line = "";
	(void)state;
	assert_int_equal(xr_proc_start(&proc, argv, NULL), 0);
	assert_int_equal(xr_proc_line(&proc, HANGS_S, NULL, &line), 1);
	assert_string_equal(line, "all");
	xr_proc_stop(&proc, NULL);
}

static void a_line_without_end_is_noticed(void **state)
{
	const char *const argv[] = {"sh", "-c", "head -c 4000000 /dev/zero | tr '\\0' x; sleep 1000", NULL};
	struct xr_proc proc;
	struct xr_watch watch = {.end_s = xr_clock_s() + 0.2};
	const char *line;
	(void)state;
	assert_int_equal(xr_proc_start(&proc, argv, NULL), 0);
	assert_int_equal(xr_proc_line(&proc, HANGS_S, NULL, &line), -2);
	xr_proc_stop(&proc, NULL);
	const char *const silent[] = {"sleep", "1000", NULL};
	assert_int_equal(xr_proc_start(&proc, silent, NULL), 0);
	assert_int_equal(xr_proc_line(&proc, HANGS_S, &watch, &line), -1);
	/* and who does not read is not waited for */
	char *much = calloc(1, 8 << 20);
	assert_non_null(much);
	assert_int_equal(xr_proc_send(&proc, much, 8 << 20, &watch), -1);
	free(much);
	xr_proc_stop(&proc, NULL);
}

/* How it ended is its own to say, even where the machine is busy and it takes a while. */
static void who_takes_a_while_to_end_says_how(void **state)
{
	const char *const argv[] = {"sh", "-c", "exec >&-; sleep 0.3; echo late >&2; exit 7", NULL};
	struct xr_proc proc;
	struct xr_strbuf how = {0};
	const char *line;
	(void)state;
	assert_int_equal(xr_proc_start(&proc, argv, NULL), 0);
	assert_int_equal(xr_proc_line(&proc, HANGS_S, NULL, &line), 0);
	xr_proc_stop(&proc, &how);
	assert_string_equal(xr_strbuf_text(&how), "exited with status 7: late");
	xr_strbuf_release(&how);
}

/* The program that waits is stopped for longer than it would wait: that is nobody's silence. */
static void time_stood_still_is_no_silence(void **state)
{
	const char *const argv[] = {"sh", "-c", "kill -STOP $PPID; sleep 5.3; kill -CONT $PPID; sleep 0.3; echo late",
	                            NULL};
	(void)state;
	pid_t tool = fork();
	if (!tool) {
		struct xr_proc proc;
		const char *line;
		if (xr_proc_start(&proc, argv, NULL))
			_exit(2);
		int got = xr_proc_line(&proc, 5, NULL, &line);
		xr_proc_stop(&proc, NULL);
		_exit(got == 1 ? 0 : 1);
	}
	int status = -1;
	assert_int_equal(waitpid(tool, &status, 0), tool);
	assert_int_equal(status, 0);
}

/* A program started with closed descriptors gets its own, not ours. */
static void closed_standard_streams_do_no_harm(void **state)
{
	(void)state;
	pid_t child = fork();
	if (!child) {
		const char *const argv[] = {"sh", "-c", "read x; echo $x; echo oops >&2", NULL};
		struct xr_proc proc;
		const char *line;
		close(0);
		close(1);
		close(2);
		bool good = !xr_proc_start(&proc, argv, NULL) && !xr_proc_send(&proc, "hi\n", 3, NULL) &&
		            xr_proc_line(&proc, HANGS_S, NULL, &line) == 1 && !strcmp(line, "hi") &&
		            xr_proc_line(&proc, HANGS_S, NULL, &line) == 0;
		struct xr_strbuf how = {0};
		xr_proc_stop(&proc, &how);
		good = good && !strcmp(xr_strbuf_text(&how), "exited with status 0: oops");
		_exit(good ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_program_is_not_run),
		cmocka_unit_test(signals_do_not_disturb),
		cmocka_unit_test(programs_are_found_by_path),
		cmocka_unit_test(jobs_get_no_input_and_a_place_for_temporary_files),
		cmocka_unit_test(a_job_is_over_in_time_whatever_it_does),
		cmocka_unit_test(one_watch_stops_all_jobs),
		cmocka_unit_test(output_without_end_takes_no_memory),
		cmocka_unit_test(nobody_is_left_behind),
		cmocka_unit_test(children_die_with_the_tool),
		cmocka_unit_test(its_standard_error_blocks),
		cmocka_unit_test(a_line_without_end_is_noticed),
		cmocka_unit_test(closed_standard_streams_do_no_harm),
		cmocka_unit_test(who_takes_a_while_to_end_says_how),
		cmocka_unit_test(time_stood_still_is_no_silence),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
