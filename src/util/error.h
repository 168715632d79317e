/* SPDX-License-Identifier: MIT */
/* Errors: a fallible function returns 0 or -1 and, when it fails, says why in the struct xr_error it was given.
 *
 * The text is one line, names the thing that failed, and says what to do where that is known.
 * struct xr_error is part of the installed header. `code` is the exit status of the command line (see xray(1));
 * XR_EXIT_USE when a person's input is wrong.
 */
#ifndef XR_UTIL_ERROR_H
#define XR_UTIL_ERROR_H

#include "xray.h"

/* Sets the error and returns -1, so that a function can `return xr_fail(err, …)`. err may be NULL. */
int xr_fail(struct xr_error *err, enum xr_exit code, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
