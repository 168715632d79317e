#include "cli.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int cmd_header(const struct settings *s)
{
	struct xr_error err;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	FILE *out = s->output ? fopen(s->output, "w") : stdout;
	if (!out) {
		exit = cli_error(XR_EXIT_USE, "cannot write %s: %s", s->output, strerror(errno));
		goto out;
	}
	if (xr_report_header(out, d, s->prefix ? s->prefix : "XRAY", s->least, &err))
		exit = cli_fail(&err);
	if (!s->output) {
		exit = exit ? exit : cli_finish_stdout();
	} else {
		bool bad = ferror(out) != 0;
		if ((fclose(out) || bad) && !exit)
			exit = cli_error(XR_EXIT_USE, "cannot write %s: %s", s->output, strerror(errno ? errno : EIO));
		if (exit)
			unlink(s->output);
	}
out:
	xr_description_free(d);
	return exit;
}
