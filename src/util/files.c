#include "util/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool xr_file_exists(const char *path)
{
	return !access(path, F_OK);
}

int xr_file_read(const char *path, struct xr_strbuf *out)
{
	char text[65536];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got;
	while ((got = read(fd, text, sizeof text)) > 0 || (got < 0 && errno == EINTR))
		if (got > 0)
			xr_strbuf_add(out, text, (size_t)got);
	int saved = errno;
	close(fd);
	errno = saved;
	return got < 0 ? -1 : 0;
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

static int write_with_mode(const char *path, const void *data, size_t len, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	int status = write_all(fd, data, len), saved = errno;
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

int xr_file_copy(const char *from, const char *to)
{
	struct xr_strbuf data = {0}, name = {0};
	struct stat st;
	int status = -1;
	if (!stat(from, &st) && !xr_file_read(from, &data)) {
		xr_strbuf_printf(&name, "%s.%ld", to, (long)getpid());
		status = write_with_mode(xr_strbuf_text(&name), xr_strbuf_text(&data), data.len, st.st_mode & 0700);
		if (!status && rename(xr_strbuf_text(&name), to)) {
			unlink(xr_strbuf_text(&name));
			status = -1;
		}
	}
	xr_strbuf_release(&data);
	xr_strbuf_release(&name);
	return status;
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

void xr_dir_remove(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	while (dir && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(path);
}

bool xr_dir_is_private(const char *path)
{
	struct stat st;
	return !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) &&
	       !access(path, W_OK | X_OK);
}
