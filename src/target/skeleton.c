/* SPDX-License-Identifier: MIT */
/* Files to begin with, for somebody who brings up X-Ray on a board. */
#include "target/embed.h"
#include "util/error.h"
#include "util/files.h"
#include "util/strbuf.h"

#include <errno.h>
#include <string.h>

int xr_target_init_dir(const char *dir, struct xr_error *err)
{
	struct xr_strbuf path = {0};
	int status = 0;
	if (!dir || !*dir)
		return xr_fail(err, XR_EXIT_USE, "no directory is named");
	if (xr_dir_make(dir))
		return xr_fail(err, XR_EXIT_USE, "cannot make the directory %s: %s", dir, strerror(errno));
	for (int write = 0; write < 2; write++) /* nothing is written where something would be written over */
		for (const struct xr_embedded *e = xr_skeleton_text; e->name && !status; e++) {
			xr_strbuf_clear(&path);
			xr_strbuf_printf(&path, "%s/%s", dir, e->name);
			if (!write && xr_file_exists(xr_strbuf_text(&path)))
				status = xr_fail(err, XR_EXIT_USE, "%s is there already", xr_strbuf_text(&path));
			if (write && xr_file_write(xr_strbuf_text(&path), e->text, strlen(e->text)))
				status = xr_fail(err, XR_EXIT_USE, "cannot write %s: %s", xr_strbuf_text(&path),
				                 strerror(errno));
		}
	xr_strbuf_release(&path);
	return status;
}
