/* Files and directories, briefly. */
#ifndef XR_UTIL_FILES_H
#define XR_UTIL_FILES_H

#include "util/error.h"
#include "util/strbuf.h"

#include <stdbool.h>

bool xr_file_exists(const char *path);
/* 0, or -1 with errno set. */
int xr_file_read(const char *path, struct xr_strbuf *out);
int xr_file_write(const char *path, const void *data, size_t len);
/* To a new name beside `to`, then renamed: readers see the old file or the whole new one. Keeps the mode's x bits. */
int xr_file_copy(const char *from, const char *to);
/* mkdir -p, mode 0700 for what is made. */
int xr_dir_make(const char *path);
/* Removes a directory and the plain files in it. */
void xr_dir_remove(const char *path);
/* Is it a directory of ours that nobody else can write? */
bool xr_dir_is_private(const char *path);

#endif
