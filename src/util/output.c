/* SPDX-License-Identifier: MIT */
#include "util/output.h"

#include "util/files.h"
#include "util/strbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int cannot(const char *path, int why, struct xr_error *err)
{
	return xr_fail(err, XR_EXIT_USE, "cannot write %.800s: %s", path, strerror(why ? why : EIO));
}

/* Something that is there and is no file: it is written to, not replaced. */
static bool is_stream(const char *path)
{
	struct stat st;
	if (lstat(path, &st))
		return false;
	if (S_ISLNK(st.st_mode) && (strncmp(path, "/dev/", 5) != 0 || stat(path, &st)))
		return false;
	return S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode);
}

static const int reader_patience_ms = 10000, look_ms = 100;

/* A pipe without a reader cannot be opened at once. -1: nobody came, or somebody wants us to end. */
static int open_stream(const char *path)
{
	int fd;
	for (int waited = 0; (fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) < 0; waited += look_ms) {
		if (errno != ENXIO || waited >= reader_patience_ms)
			break;
		if (poll(NULL, 0, look_ms) < 0) /* by a signal; errno says so */
			break;
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, 0);
	return fd;
}

/* As fast as it is read, and no longer than until a signal comes: what blocks in write() goes on after it. */
static int write_slowly(int fd, const char *data, size_t len)
{
	while (len) {
		struct pollfd wait = {fd, POLLOUT, 0};
		if (poll(&wait, 1, -1) < 0)
			return -1;
		size_t n = len < PIPE_BUF ? len : PIPE_BUF; /* as much as poll() promises */
		if (xr_write_all(fd, data, n))
			return -1;
		data += n;
		len -= n;
	}
	return 0;
}

static int write_stream(const char *path, const char *data, size_t len, struct xr_error *err)
{
	int fd = open_stream(path);
	if (fd < 0 && errno == ENXIO)
		return xr_fail(err, XR_EXIT_USE, "cannot write %.800s: nobody reads it", path);
	if (fd < 0)
		return cannot(path, errno, err);
	int status = write_slowly(fd, data, len), why = errno;
	if (close(fd) && !status) {
		status = -1;
		why = errno;
	}
	return status ? cannot(path, why, err) : 0;
}

/* A new file beside `path`, with the rights that a file made by open() has. */
static int make_fresh(const char *path, struct xr_strbuf *fresh)
{
	struct stat st;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		return -1;
	}
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) + 1 : 0;
	for (unsigned i = 0; i < 100; i++) {
		xr_strbuf_clear(fresh);
		xr_strbuf_printf(fresh, "%.*s.xray-%ld-%u.new", folder, path, (long)getpid(), i);
		int fd = open(xr_strbuf_text(fresh), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static int replace(const char *path, const void *data, size_t len, struct xr_error *err)
{
	struct xr_strbuf fresh = {0};
	int fd = make_fresh(path, &fresh), status = 0, why = errno;
	if (fd < 0) {
		xr_strbuf_release(&fresh);
		return cannot(path, why, err);
	}
	if (xr_write_all(fd, data, len) || (fsync(fd) && errno != EINVAL && errno != ENOTSUP)) {
		status = -1;
		why = errno;
	}
	if (close(fd) && !status) {
		status = -1;
		why = errno;
	}
	if (!status && rename(xr_strbuf_text(&fresh), path)) {
		status = -1;
		why = errno;
	}
	if (status)
		unlink(xr_strbuf_text(&fresh));
	xr_strbuf_release(&fresh);
	return status ? cannot(path, why, err) : 0;
}

/* Who is told to end while the new file is there ends behind it: nothing is left. */
int xr_output_write(const char *path, const void *data, size_t len, struct xr_error *err)
{
	sigset_t ends, before;
	if (is_stream(path))
		return write_stream(path, data, len, err);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigaddset(&ends, SIGQUIT);
	pthread_sigmask(SIG_BLOCK, &ends, &before);
	int status = replace(path, data, len, err);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

int xr_output_begin(const char *path, struct xr_error *err)
{
	struct xr_strbuf fresh = {0};
	int fd = make_fresh(path, &fresh), why = errno;
	if (fd >= 0 && rename(xr_strbuf_text(&fresh), path)) {
		why = errno;
		unlink(xr_strbuf_text(&fresh));
		close(fd);
		fd = -1;
	}
	xr_strbuf_release(&fresh);
	if (fd < 0)
		cannot(path, why, err);
	return fd;
}

int xr_output_check(const char *path, struct xr_error *err)
{
	struct stat st;
	struct xr_strbuf folder = {0};
	const char *slash = strrchr(path, '/');
	if (is_stream(path))
		return access(path, W_OK) ? cannot(path, errno, err) : 0;
	if (!lstat(path, &st) && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return cannot(path, S_ISDIR(st.st_mode) ? EISDIR : EINVAL, err);
	xr_strbuf_printf(&folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	int status = access(xr_strbuf_text(&folder), W_OK | X_OK), why = errno;
	xr_strbuf_release(&folder);
	return status ? cannot(path, why, err) : 0;
}
