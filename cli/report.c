/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <unistd.h>

extern const char cli_page[], cli_page_end[]; /* made by scripts/page; empty when there was no npm */

static int write_page(FILE *out, const struct xr_description *d, const struct settings *s, struct xr_error *err)
{
	(void)s;
	return xr_report_page(out, d, cli_page, (size_t)(cli_page_end - cli_page), err);
}

int cmd_report(const struct settings *s)
{
	if (!s->output && isatty(STDOUT_FILENO))
		return cli_error(XR_EXIT_USE, "the page is not for terminals: name a file with -o OUT.html");
	return cli_convert(s, write_page);
}
