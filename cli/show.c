/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const struct xr_description *d, const char *sel)
{
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (xr_id_matches(fact->id, sel) || (fact->micro && !strcmp(fact->micro, sel)))
			return true;
	}
	return false;
}

static int not_there(const struct xr_description *d, const char *path, const char *sel)
{
	size_t n = xr_description_count(d);
	const char **ids = calloc(n + 1, sizeof *ids);
	for (size_t i = 0; ids && i < n; i++)
		ids[i] = xr_fact_id(xr_description_at(d, i));
	const char *near = ids ? xr_suggest(sel, ids, n) : NULL;
	int exit = near ? cli_error(XR_EXIT_USE, "%s has no fact '%s'; did you mean '%s'?", path, sel, near)
	                : cli_error(XR_EXIT_USE, "%s has no fact '%s'", path, sel);
	free(ids);
	return exit;
}

void cli_report(const struct xr_description *d, const struct settings *s)
{
	struct xr_style style = cli_style(STDOUT_FILENO);
	if (s->full || s->verbose)
		xr_report_terminal(stdout, d, &style, s->verbose);
	else
		xr_report_screen(stdout, d, &style);
}

int cmd_show(const struct settings *s)
{
	struct xr_error err;
	struct xr_style style = cli_style(STDOUT_FILENO);
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	int exit = 0;
	if (!d)
		return cli_fail(&err);
	for (size_t i = 1; i < s->n_operands && !exit; i++)
		if (!is_there(d, s->operand[i]))
			exit = not_there(d, s->operand[0], s->operand[i]);
	if (!exit && s->n_operands > 1)
		xr_report_facts(stdout, d, &style, s->operand + 1, s->n_operands - 1, s->verbose);
	else if (!exit)
		cli_report(d, s);
	xr_description_free(d);
	return exit ? exit : cli_finish_stdout();
}
