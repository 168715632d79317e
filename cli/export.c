/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "report/exports.h"

#include <stdio.h>

int cmd_export(const struct settings *s)
{
	struct xr_error err;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	FILE *out = cli_output(s, &err);
	if (!out)
		exit = cli_fail(&err);
	else
		exit = cli_output_close(s, out, xr_report_export(out, d, s->form, s->least, &err) ? &err : NULL);
	xr_description_free(d);
	return exit;
}

void cli_help_forms(void)
{
	puts("\nForms:");
	for (const struct xr_export_form *f = xr_export_forms; f->name; f++)
		printf("  %-22s %s\n", f->name, f->summary);
}
