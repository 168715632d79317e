/* SPDX-License-Identifier: MIT */
#include "cli.h"
#include "report/exports.h"

#include <stdio.h>

static int write_form(FILE *out, const struct xr_description *d, const struct settings *s, struct xr_error *err)
{
	return xr_report_export(out, d, s->form, s->least, err);
}

int cmd_export(const struct settings *s)
{
	return cli_convert(s, write_form);
}

void cli_help_forms(void)
{
	puts("\nForms:");
	for (const struct xr_export_form *f = xr_export_forms; f->name; f++)
		printf("  %-22s %s\n", f->name, f->summary);
}
