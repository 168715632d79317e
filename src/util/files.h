/* SPDX-License-Identifier: MIT */
/* Files and directories, briefly. */
#ifndef XR_UTIL_FILES_H
#define XR_UTIL_FILES_H

#include "util/error.h"
#include "util/strbuf.h"
#include "util/watch.h"

#include <stdbool.h>

bool xr_file_exists(const char *path);
/* 0, or -1 with errno set. */
int xr_file_read(const char *path, struct xr_strbuf *out);
int xr_fd_read(int fd, struct xr_strbuf *out); /* up to its end */
/* What somebody else may have made: a file, a pipe or a socket, no device and no folder (EINVAL, EISDIR), of at
 * most `most` bytes (EFBIG), for as long as the watch allows, and no longer than ten seconds for nothing
 * (ETIMEDOUT). */
int xr_file_read_foreign(const char *path, size_t most, const struct xr_watch *watch, struct xr_strbuf *out);
const char *xr_foreign_why(int code); /* the above in words */
int xr_file_write(const char *path, const void *data, size_t len);
int xr_file_write_program(const char *path, const void *data, size_t len); /* mode 0700 */
/* mkdir -p, mode 0700 for what is made. */
int xr_dir_make(const char *path);
/* Removes a directory and the plain files in it. */
void xr_dir_remove(const char *path);

/* ---- private directories ---- */

/* One under `parent` that nobody else can see, called xray.XXXXXX, and locked as long as the descriptor *lock is
 * open, so that others know that its owner lives. Removes those of ours whose owner is gone, however it went. The
 * name, malloc'ed; NULL with errno set. Give it back with xr_private_remove(). */
char *xr_private_make(const char *parent, int *lock);
void xr_private_remove(const char *path, int lock);

/* All of it, however many calls that takes. 0, or -1 with errno; no signal ends the program for it (SIGXFSZ, SIGPIPE). */
int xr_write_all(int fd, const char *data, size_t len);

#endif
