/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <unistd.h>

extern const char cli_page[], cli_page_end[]; /* made by scripts/page; empty when there was no npm */

int cmd_report(const struct settings *s)
{
	struct xr_error err;
	if (!s->output && isatty(STDOUT_FILENO))
		return cli_error(XR_EXIT_USE, "the page is not for terminals: name a file with -o OUT.html");
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	FILE *out = cli_output(s, &err);
	if (!out)
		exit = cli_fail(&err);
	else
		exit = cli_output_close(
			s, out,
			xr_report_page(out, d, cli_page, (size_t)(cli_page_end - cli_page), &err) ? &err : NULL);
	xr_description_free(d);
	return exit;
}
