/* SPDX-License-Identifier: MIT */
#include "report/report.h"
#include "util/error.h"
#include "util/output.h"

#include <errno.h>
#include <string.h>

static bool is_stdout(const char *path)
{
	return !path || !strcmp(path, "-");
}

int xr_report_save(const char *path, const char *text, size_t len, struct xr_error *err)
{
	if (!is_stdout(path))
		return xr_output_write(path, text, len, err);
	if ((fwrite(text, 1, len, stdout) == len && !fflush(stdout)) ||
	    errno == EPIPE) /* a reader who has seen enough */
		return 0;
	return xr_fail(err, XR_EXIT_USE, "cannot write standard output: %s", strerror(errno ? errno : EIO));
}

int xr_report_savable(const char *path, struct xr_error *err)
{
	return is_stdout(path) ? 0 : xr_output_check(path, err);
}
