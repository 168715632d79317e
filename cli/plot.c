/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A fact with curves, or a series, that was meant, or NULL. */
static const char *nearest(const struct xr_description *d, const char *sel)
{
	size_t n = xr_description_count(d), n_series = xr_description_series_count(d);
	const char **ids = calloc(n + n_series + 1, sizeof *ids);
	for (size_t i = 0; ids && i < n; i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		ids[i] = fact->n_series || xr_fact_kind(fact) == XR_VALUE_MATRIX ? fact->id : NULL;
	}
	for (size_t i = 0; ids && i < n_series; i++)
		ids[n + i] = xr_description_series_at(d, i)->id;
	if (!ids)
		return NULL;
	ids[n + n_series] = "hierarchy";
	const char *near = xr_suggest(sel, ids, n + n_series + 1);
	free(ids);
	return near && strcmp(near, sel) != 0 ? near : NULL;
}

int cmd_plot(const struct settings *s)
{
	struct xr_error err;
	struct xr_style style = cli_style(STDOUT_FILENO);
	const char *sel = s->n_operands > 1 ? s->operand[1] : NULL;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	if (!xr_report_plot(stdout, d, &style, sel)) {
		const char *near = sel ? nearest(d, sel) : NULL;
		exit = near  ? cli_error(XR_EXIT_USE, "%s has no curve or matrix of '%s'; did you mean '%s'?",
		                         s->operand[0], sel, near)
		       : sel ? cli_error(XR_EXIT_USE, "%s has no curve or matrix of '%s'", s->operand[0], sel)
		             : cli_error(XR_EXIT_USE, "%s has nothing to draw", s->operand[0]);
	}
	xr_description_free(d);
	return exit ? exit : cli_finish_stdout();
}
