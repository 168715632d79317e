/* SPDX-License-Identifier: MIT */
#include "util/error.h"

#include <stdarg.h>
#include <stdio.h>

int xr_fail(struct xr_error *err, enum xr_exit code, const char *format, ...)
{
	if (err) {
		va_list ap;
		va_start(ap, format);
		vsnprintf(err->text, sizeof err->text, format, ap);
		va_end(ap);
		err->code = code;
	}
	return -1;
}
