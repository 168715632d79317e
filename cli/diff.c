/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <unistd.h>

int cmd_diff(const struct settings *s)
{
	struct xr_error err;
	struct xr_style style = cli_style(STDOUT_FILENO);
	struct xr_description *a = xr_description_read(s->operand[0], &err);
	struct xr_description *b = a ? xr_description_read(s->operand[1], &err) : NULL;
	int exit;
	if (b) {
		struct xr_verdict_counts counts =
			xr_report_diff(stdout, a, b, s->operand[0], s->operand[1], &style, s->all);
		exit = cli_finish_stdout();
		if (!exit)
			exit = counts.differ || counts.missing ? XR_EXIT_SOME : XR_EXIT_OK;
	} else {
		exit = cli_fail(&err);
	}
	xr_description_free(a);
	xr_description_free(b);
	return exit;
}
