/* SPDX-License-Identifier: MIT */
#include "cli.h"

static int write_header(FILE *out, const struct xr_description *d, const struct settings *s, struct xr_error *err)
{
	return xr_report_header(out, d, s->prefix ? s->prefix : "XRAY", s->least, err);
}

int cmd_header(const struct settings *s)
{
	return cli_convert(s, write_header);
}
