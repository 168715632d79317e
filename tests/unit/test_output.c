/* SPDX-License-Identifier: MIT */
/* Files: outputs replace and never destroy, links are not followed, foreign files are bounded, private directories are
 * swept. */
#include "util/escape.h"
#include "util/files.h"
#include "util/output.h"
#include "util/trusted.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char top[4000];

static const char *place(const char *name)
{
	static char path[8][5000];
	static int turn;
	turn = (turn + 1) % 8;
	snprintf(path[turn], sizeof path[turn], "%s/%s", top, name);
	return path[turn];
}

static int begin(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "%s/outXXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	return mkdtemp(top) ? 0 : -1;
}

static int end(void **state)
{
	char command[4100];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", top);
	return system(command); /* NOLINT: a test's own folder */
}

static void put(const char *path, const char *text)
{
	assert_int_equal(xr_file_write(path, text, strlen(text)), 0);
}

static void holds(const char *path, const char *text)
{
	struct xr_strbuf is = {0};
	assert_int_equal(xr_file_read(path, &is), 0);
	assert_string_equal(xr_strbuf_text(&is), text);
	xr_strbuf_release(&is);
}

static int files_in(const char *path)
{
	char command[6000];
	snprintf(command, sizeof command, "ls -A '%s' | wc -l", path);
	FILE *f = popen(command, "r"); /* NOLINT */
	int n = -1;
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &n), 1);
	pclose(f);
	return n;
}

static void a_file_is_replaced_whole(void **state)
{
	struct xr_error err;
	(void)state;
	put(place("a"), "old");
	assert_int_equal(xr_output_check(place("a"), &err), 0);
	assert_int_equal(xr_output_write(place("a"), "new", 3, &err), 0);
	holds(place("a"), "new");
	assert_int_equal(files_in(top), 1);
	struct stat st;
	mode_t mask = umask(0);
	umask(mask);
	assert_int_equal(stat(place("a"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0666 & ~mask);
	assert_int_equal(xr_output_check(place("none/b"), &err), -1);
	assert_int_equal(xr_output_write(place("none/b"), "x", 1, &err), -1);
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_non_null(strstr(err.text, "none/b"));
	assert_int_equal(xr_output_write(top, "x", 1, &err), -1);
	assert_non_null(strstr(err.text, "directory"));
}

/* A limit stands for a full disk: the write fails half way. */
static void what_goes_wrong_leaves_the_old_file(void **state)
{
	(void)state;
	put(place("kept"), "old");
	pid_t child = fork();
	if (!child) {
		const struct rlimit limit = {1000, 1000};
		char *much = calloc(1, 100000);
		struct xr_error err = {0};
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(!(much && xr_output_write(place("kept"), much, 100000, &err) == -1 && strstr(err.text, "kept")));
	}
	int status = -1;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	holds(place("kept"), "old");
	assert_int_equal(files_in(top), 1);
}

static void links_are_replaced_not_followed(void **state)
{
	struct xr_error err;
	struct stat st;
	(void)state;
	put(place("victim"), "precious");
	assert_int_equal(symlink(place("victim"), place("link")), 0);
	assert_int_equal(xr_output_write(place("link"), "mine", 4, &err), 0);
	holds(place("victim"), "precious");
	holds(place("link"), "mine");
	assert_int_equal(lstat(place("link"), &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(symlink(place("victim"), place("again")), 0);
	int fd = xr_output_begin(place("again"), &err);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "mine", 4), 4);
	close(fd);
	holds(place("victim"), "precious");
	holds(place("again"), "mine");
}

static void devices_and_pipes_stay(void **state)
{
	struct xr_error err;
	struct stat st;
	(void)state;
	assert_int_equal(xr_output_write("/dev/null", "x", 1, &err), 0);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	if (!stat("/dev/full", &st)) {
		assert_int_equal(xr_output_write("/dev/full", "x", 1, &err), -1);
		assert_int_equal(stat("/dev/full", &st), 0);
		assert_true(S_ISCHR(st.st_mode));
	}
	assert_int_equal(mkfifo(place("pipe"), 0600), 0);
	int reader = open(place("pipe"), O_RDONLY | O_NONBLOCK);
	char text[8] = "";
	assert_int_equal(xr_output_write(place("pipe"), "through", 7, &err), 0);
	assert_int_equal(read(reader, text, 7), 7);
	close(reader);
	assert_int_equal(lstat(place("pipe"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void foreign_files_are_bounded(void **state)
{
	struct xr_strbuf text = {0};
	volatile int interrupt = 1;
	const struct xr_watch over = {.interrupt = &interrupt};
	(void)state;
	put(place("text"), "12345");
	assert_int_equal(xr_file_read_foreign(place("text"), 5, NULL, &text), 0);
	assert_string_equal(xr_strbuf_text(&text), "12345");
	assert_int_equal(xr_file_read_foreign(place("text"), 4, NULL, &text), -1);
	assert_int_equal(errno, EFBIG);
	assert_int_equal(xr_file_read_foreign("/dev/zero", 1 << 20, NULL, &text), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(xr_file_read_foreign(top, 1 << 20, NULL, &text), -1);
	assert_int_equal(errno, EISDIR);
	assert_int_equal(mkfifo(place("fifo"), 0600), 0);
	assert_int_equal(xr_file_read_foreign(place("fifo"), 1 << 20, &over, &text), -1);
	/* a file of the kernel's that never ends and has nothing to say for now */
	assert_int_equal(xr_file_read_foreign("/proc/kmsg", 1 << 24, &over, &text), -1);
	assert_int_equal(errno, EINTR);
	xr_strbuf_release(&text);
}

static void heard(int signal)
{
	(void)signal;
}

/* A pipe that is read by nobody, or only to its brim: the first signal ends the wait, though calls are restarted. */
static void a_signal_ends_the_wait_for_a_reader(void **state)
{
	(void)state;
	assert_int_equal(mkfifo(place("pipe"), 0600), 0);
	for (int with = 0; with < 2; with++) {
		int reader = with ? open(place("pipe"), O_RDONLY | O_NONBLOCK) : -1;
		char *much = calloc(1, 1 << 20);
		assert_non_null(much);
		pid_t child = fork();
		if (!child) {
			struct xr_error err;
			struct sigaction action = {.sa_handler = heard, .sa_flags = SA_RESTART};
			if (reader >= 0)
				close(reader);
			sigaction(SIGALRM, &action, NULL);
			alarm(1);
			_exit(xr_output_write(place("pipe"), much, 1 << 20, &err) == -1 ? 7 : 1);
		}
		int status = 0;
		for (int i = 0; i < 600 && waitpid(child, &status, WNOHANG) == 0; i++)
			usleep(100000);
		kill(child, SIGKILL); /* where it still waits */
		free(much);
		if (reader >= 0)
			close(reader);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 7);
	}
}

static void private_directories_of_the_dead_are_swept(void **state)
{
	int lock, other;
	struct stat st;
	char text[8] = "";
	(void)state;
	char *mine = xr_private_make(top, &lock);
	assert_non_null(mine);
	assert_int_equal(stat(mine, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	snprintf(text, sizeof text, "%s", "x");
	assert_int_equal(mkdir(place("outside"), 0700), 0);
	put(place("outside/precious"), "kept");
	const char *outside = strdup(place("outside"));
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (!child) { /* makes one, fills it and is killed */
		int held;
		char file[6000];
		char *dir = xr_private_make(top, &held);
		snprintf(file, sizeof file, "%s/file", dir ? dir : "");
		xr_file_write(file, text, 1);
		snprintf(file, sizeof file, "%s/folder", dir ? dir : ""); /* and one that a compiler left */
		mkdir(file, 0700);
		snprintf(file, sizeof file, "%s/folder/file", dir ? dir : "");
		xr_file_write(file, text, 1);
		snprintf(file, sizeof file, "%s/folder/out", dir ? dir : "");
		if (symlink(outside, file))
			_exit(2);
		if (dir && write(ends[1], dir, strlen(dir)) > 0)
			raise(SIGKILL);
		_exit(1);
	}
	char dead[5000] = "";
	close(ends[1]);
	assert_true(read(ends[0], dead, sizeof dead - 1) > 0);
	close(ends[0]);
	int status;
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(stat(dead, &st), 0);
	put(place("xray.txt"), "somebody's file");
	assert_int_equal(mkdir(place("xray.public"), 0755), 0);
	char *another = xr_private_make(top, &other);
	assert_non_null(another);
	assert_int_equal(stat(dead, &st), -1);
	assert_int_equal(stat(mine, &st), 0); /* its owner lives */
	assert_int_equal(stat(place("xray.public"), &st), 0);
	holds(place("xray.txt"), "somebody's file");
	holds(place("outside/precious"), "kept"); /* no link leads out */
	free((char *)(size_t)outside);
	xr_private_remove(mine, lock);
	xr_private_remove(another, other);
	free(mine);
	free(another);
	assert_int_equal(files_in(top), 3);
}

static int trusted(const char *path)
{
	struct xr_strbuf why = {0};
	int fd = xr_trusted_open(path, true, &why);
	if (fd >= 0)
		close(fd);
	else
		assert_true(why.len > 0);
	xr_strbuf_release(&why);
	return fd >= 0;
}

static void a_directory_is_trusted_with_all_its_parents(void **state)
{
	(void)state;
	assert_true(trusted(place("a/b/c")));
	assert_int_equal(chmod(place("a"), 0777), 0);
	assert_false(trusted(place("a/b/c"))); /* somebody may put another b there */
	assert_int_equal(chmod(place("a"), 01777), 0);
	assert_true(trusted(place("a/b/c"))); /* as in /tmp */
	assert_int_equal(chmod(place("a/b/c"), 0770), 0);
	assert_false(trusted(place("a/b/c")));
	assert_int_equal(chmod(place("a/b/c"), 0700), 0);
	assert_int_equal(symlink("a/b", place("way")), 0);
	assert_true(trusted(place("way/c")));
	assert_true(trusted(place("./a/./b/../b/c/")));
	assert_int_equal(symlink("loop", place("loop")), 0);
	assert_false(trusted(place("loop/c")));
	put(place("file"), "x");
	assert_false(trusted(place("file/c")));
	if (geteuid() ==
	    0) { /* a folder of somebody else's on the way, and a link of somebody else's in a shared one */
		assert_int_equal(chown(place("a"), 12345, 12345), 0);
		assert_false(trusted(place("a/b/c")));
		assert_int_equal(chown(place("a"), 0, 0), 0);
		assert_int_equal(symlink("b", place("a/theirs")), 0);
		assert_int_equal(lchown(place("a/theirs"), 12345, 12345), 0);
		assert_false(trusted(place("a/theirs/c")));
		assert_int_equal(chown(place("a/b/c"), 12345, 12345), 0);
		assert_false(trusted(place("a/b/c")));
	}
}

static bool safe(const char *path)
{
	struct xr_strbuf why = {0};
	int status = xr_trusted_place(path, &why);
	assert_true(!status == !why.len);
	xr_strbuf_release(&why);
	return !status;
}

static void what_lies_in_a_place_of_others_is_not_ours(void **state)
{
	(void)state;
	assert_int_equal(mkdir(place("p"), 0755), 0);
	assert_int_equal(mkdir(place("p/tmp"), 0755), 0);
	assert_true(safe(place("p/tmp")));
	assert_false(safe(place("p/none")));
	assert_int_equal(chmod(place("p/tmp"), 01777), 0);
	assert_true(safe(place("p/tmp")));
	assert_int_equal(chmod(place("p/tmp"), 0777), 0);
	assert_false(safe(place("p/tmp"))); /* anybody can put another directory in the place of one in it */
	assert_int_equal(chmod(place("p/tmp"), 0755), 0);
	assert_int_equal(chmod(place("p"), 0775), 0);
	assert_false(safe(place("p/tmp")));
	assert_int_equal(chmod(place("p"), 0755), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(place("p/tmp"), 12345, 12345), 0);
		assert_false(safe(place("p/tmp")));
		assert_int_equal(chown(place("p/tmp"), 65534, 65534), 0); /* nobody, who is in the map here */
		assert_false(safe(place("p/tmp")));
	}
}

static void escaped(const char *text, const char *as)
{
	struct xr_strbuf out = {0};
	xr_escape_terminal(&out, text);
	assert_string_equal(xr_strbuf_text(&out), as);
	xr_strbuf_release(&out);
}

static void nothing_a_terminal_obeys_gets_through(void **state)
{
	(void)state;
	escaped("48 KiB \u00b7 \u03bc\u8a9e\U0001f600", "48 KiB \u00b7 \u03bc\u8a9e\U0001f600");
	escaped("\033[2J\a\b\r\n\t\177", "\\x1b[2J\\x07\\x08\\x0d\\x0a\\x09\\x7f");
	escaped("\302\200|\302\233|\302\237|\302\240", "\\u{80}|\\u{9b}|\\u{9f}|\302\240"); /* both ends of C1 */
	escaped("\233[1m", "\\x9b[1m");                                                     /* no UTF-8 */
	escaped("a\340\200\257b\355\240\200", "a\\xe0\\x80\\xafb\\xed\\xa0\\x80");          /* overlong, surrogate */
	escaped("\342\200\256gnp", "\\u{202e}gnp");                                         /* written backwards */
	escaped("\303", "\\xc3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_replaced_whole, begin, end),
		cmocka_unit_test_setup_teardown(what_goes_wrong_leaves_the_old_file, begin, end),
		cmocka_unit_test_setup_teardown(links_are_replaced_not_followed, begin, end),
		cmocka_unit_test_setup_teardown(devices_and_pipes_stay, begin, end),
		cmocka_unit_test_setup_teardown(a_signal_ends_the_wait_for_a_reader, begin, end),
		cmocka_unit_test_setup_teardown(foreign_files_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(private_directories_of_the_dead_are_swept, begin, end),
		cmocka_unit_test_setup_teardown(a_directory_is_trusted_with_all_its_parents, begin, end),
		cmocka_unit_test_setup_teardown(what_lies_in_a_place_of_others_is_not_ours, begin, end),
		cmocka_unit_test(nothing_a_terminal_obeys_gets_through),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
