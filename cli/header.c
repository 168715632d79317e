/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>

int cmd_header(const struct settings *s)
{
	struct xr_error err;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	const char *prefix = s->prefix ? s->prefix : "XRAY";
	FILE *out = cli_output(s, &err);
	if (!out)
		exit = cli_fail(&err);
	else
		exit = cli_output_close(s, out, xr_report_header(out, d, prefix, s->least, &err) ? &err : NULL);
	xr_description_free(d);
	return exit;
}
