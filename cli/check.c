/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <unistd.h>

/* What differs weighs most; then whether the run itself is to be believed. */
static int exit_of(const struct xr_verdict_counts *counts, int measured)
{
	if (counts->differ || counts->missing)
		return XR_EXIT_SOME;
	return counts->agree ? XR_EXIT_OK : measured;
}

int cmd_check(const struct settings *s)
{
	struct xr_error err;
	struct xr_outcome outcome = {0};
	struct xr_style style = cli_style(STDOUT_FILENO);
	struct xr_verdict_counts counts;
	struct xr_description *golden = NULL, *d = NULL;
	int exit = XR_EXIT_OK;
	if (s->n_operands && s->measuring)
		return cli_error(XR_EXIT_USE, "--%s is for measuring, but %s was measured already; leave one out",
		                 s->measuring, s->operand[0]);
	if (s->against && !(golden = xr_description_read(s->against, &err)))
		return cli_fail(&err);
	if (!s->n_operands)
		d = cli_measure(s, NULL, 0, &outcome, &exit);
	else if (!(d = xr_description_read(s->operand[0], &err)))
		exit = cli_fail(&err);
	if (!d)
		goto out;
	if (golden)
		counts = xr_report_against(stdout, d, golden, s->n_operands ? s->operand[0] : "measured", s->against,
		                           &style, s->all);
	else
		counts = xr_report_check(stdout, d, &style, s->all);
	exit = exit_of(&counts, exit);
	if (cli_finish_stdout())
		exit = XR_EXIT_USE;
out:
	xr_description_free(d);
	xr_description_free(golden);
	return exit;
}
