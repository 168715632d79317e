/* SPDX-License-Identifier: MIT */
/* Files for others to read, written as git does: a new file beside the old one, filled, brought to the disk, and
 * renamed over it. Whoever reads sees the old one or the whole new one; whatever goes wrong leaves the old one as
 * it was.
 *
 * A link is replaced, never followed, but for those of /dev (/dev/stdout). Devices and pipes are written to as
 * they are; a pipe that nobody reads is an error after ten seconds, and a signal ends the wait. Nothing is removed but
 * what was made here.
 */
#ifndef XR_UTIL_OUTPUT_H
#define XR_UTIL_OUTPUT_H

#include "util/error.h"

#include <stddef.h>

/* 0, or -1 with one line that names the file. */
int xr_output_write(const char *path, const void *data, size_t len, struct xr_error *err);
/* For what is written bit by bit: an empty new file in the place of `path`. The descriptor, or -1. */
int xr_output_begin(const char *path, struct xr_error *err);
/* Could it be written? Makes nothing. */
int xr_output_check(const char *path, struct xr_error *err);

#endif
