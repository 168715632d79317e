/* SPDX-License-Identifier: MIT */
#include "util/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

bool xr_file_exists(const char *path)
{
	return !access(path, F_OK);
}

int xr_fd_read(int fd, struct xr_strbuf *out)
{
	char text[65536];
	ssize_t got;
	while ((got = read(fd, text, sizeof text)) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			xr_strbuf_add(out, text, (size_t)got);
	return got < 0 ? -1 : 0;
}

int xr_file_read(const char *path, struct xr_strbuf *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int status = xr_fd_read(fd, out), saved = errno;
	close(fd);
	errno = saved;
	return status;
}

static const double foreign_patience_s = 10;

/* Until there is something to read: a pipe without a writer, a file of the kernel's that says `later`. */
static int wait_to_read(int fd, double end_s, const struct xr_watch *watch)
{
	for (;;) {
		struct pollfd wait = {fd, POLLIN, 0};
		int n = poll(&wait, 1, 100);
		if (n < 0 && errno != EINTR)
			return -1;
		errno = xr_watch_over(watch) ? EINTR : ETIMEDOUT;
		if (xr_watch_over(watch) || xr_clock_s() > end_s)
			return -1;
		if (n > 0)
			return 0;
	}
}

static int read_foreign(int fd, size_t most, const struct xr_watch *watch, struct xr_strbuf *out)
{
	char text[65536];
	struct stat st;
	double end_s = xr_clock_s() + foreign_patience_s;
	if (fstat(fd, &st))
		return -1;
	if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	bool later = !S_ISREG(st.st_mode);
	for (size_t len = 0;;) {
		if (later && wait_to_read(fd, end_s, watch))
			return -1;
		ssize_t got = read(fd, text, sizeof text);
		later = later || (got < 0 && errno == EAGAIN);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return (int)got;
		len += (size_t)got;
		if (len > most) {
			errno = EFBIG;
			return -1;
		}
		xr_strbuf_add(out, text, (size_t)got);
		end_s = xr_clock_s() + foreign_patience_s;
	}
}

int xr_file_read_foreign(const char *path, size_t most, const struct xr_watch *watch, struct xr_strbuf *out)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -1;
	int status = read_foreign(fd, most, watch, out), saved = errno;
	close(fd);
	errno = saved;
	return status;
}

const char *xr_foreign_why(int code)
{
	switch (code) {
	case EINVAL:
		return "it is no file";
	case EFBIG:
		return "it is too large";
	case ETIMEDOUT:
		return "nobody writes to it";
	case EINTR:
		return "interrupted, or the time allowed was used up";
	default:
		return strerror(code);
	}
}

static int write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t put = write(fd, data, len);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -1;
		data += put;
		len -= (size_t)put;
	}
	return 0;
}

/* Files that may not grow and readers that are gone are errors of write(), no reason to end the program that called
 * the library: the signal that comes along is taken away, unless it was there before. */
int xr_write_all(int fd, const char *data, size_t len)
{
	static const struct timespec at_once;
	sigset_t deadly, before, waiting;
	sigemptyset(&deadly);
	sigaddset(&deadly, SIGXFSZ);
	sigaddset(&deadly, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &deadly, &before);
	sigpending(&waiting);
	int status = write_all(fd, data, len), why = errno;
	const int signal = status && why == EFBIG ? SIGXFSZ : status && why == EPIPE ? SIGPIPE : 0;
	if (signal && !sigismember(&waiting, signal)) {
		sigemptyset(&deadly);
		sigaddset(&deadly, signal);
		while (sigtimedwait(&deadly, NULL, &at_once) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = why;
	return status;
}

static int write_with_mode(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	int status = xr_write_all(fd, data, len), saved = errno;
	if (close(fd) && !status) {
		status = -1;
		saved = errno;
	}
	if (status)
		unlink(path);
	errno = saved;
	return status;
}

int xr_file_write(const char *path, const void *data, size_t len)
{
	return write_with_mode(path, data, len, 0666);
}

int xr_file_write_program(const char *path, const void *data, size_t len)
{
	return write_with_mode(path, data, len, 0700);
}

int xr_dir_make(const char *path)
{
	char part[PATH_MAX];
	size_t len = strlen(path);
	if (len >= sizeof part) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (size_t i = 1; i <= len; i++)
		if (path[i] == '/' || path[i] == '\0') {
			memcpy(part, path, i);
			part[i] = '\0';
			if (mkdir(part, 0700) && errno != EEXIST)
				return -1;
		}
	struct stat st;
	if (stat(path, &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	return 0;
}

/* All that is in a directory, also folders, which compilers leave behind, too: no links are followed, and only so deep. */
static void remove_files(int fd, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		const char *name = entry->d_name;
		if (!strcmp(name, ".") || !strcmp(name, "..") || !unlinkat(dirfd(dir), name, 0))
			continue;
		int folder = depth ? openat(dirfd(dir), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
		if (folder >= 0)
			remove_files(folder, depth - 1);
		unlinkat(dirfd(dir), name, AT_REMOVEDIR);
	}
	if (dir)
		closedir(dir);
	else
		close(fd);
}

enum { DEPTH_MAX = 32 };

void xr_dir_remove(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		remove_files(fd, DEPTH_MAX);
	rmdir(path);
}

/* ---- private directories ---- */

static const char private_name[] = "xray.XXXXXX";

/* One of ours, and nobody holds its lock: its owner was killed, or crashed. */
static void sweep_one(int parent, const char *name)
{
	struct stat st;
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700 && !flock(fd, LOCK_EX | LOCK_NB)) {
		int files = dup(fd);
		if (files >= 0)
			remove_files(files, DEPTH_MAX);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	close(fd);
}

static void sweep(const char *parent)
{
	DIR *dir = opendir(parent);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (strlen(entry->d_name) == sizeof private_name - 1 && !strncmp(entry->d_name, private_name, 5))
			sweep_one(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
}

/* Whoever sweeps may be quicker than we lock: then the directory is gone, and there is another. */
char *xr_private_make(const char *parent, int *lock)
{
	sweep(parent);
	for (int i = 0; i < 100; i++) {
		struct xr_strbuf path = {0};
		struct stat st;
		xr_strbuf_printf(&path, "%s/%s", parent, private_name);
		if (!mkdtemp(path.data)) {
			int saved = errno;
			xr_strbuf_release(&path);
			errno = saved;
			return NULL;
		}
		*lock = open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		bool swept = *lock >= 0 && flock(*lock, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
		if (*lock >= 0 && !swept && !fstat(*lock, &st) && st.st_nlink > 0)
			return path.data;
		if (*lock >= 0)
			close(*lock);
		xr_strbuf_release(&path);
	}
	errno = EAGAIN;
	return NULL;
}

void xr_private_remove(const char *path, int lock)
{
	xr_dir_remove(path);
	close(lock);
}
