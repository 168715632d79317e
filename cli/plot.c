#include "cli.h"

#include <unistd.h>

int cmd_plot(const struct settings *s)
{
	struct xr_error err;
	struct xr_style style = cli_style(STDOUT_FILENO);
	const char *sel = s->n_operands > 1 ? s->operand[1] : NULL;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	size_t drawn = xr_report_plot(stdout, d, &style, sel);
	xr_description_free(d);
	if (!drawn)
		return sel ? cli_error(XR_EXIT_USE, "%s has no curve or matrix of '%s'", s->operand[0], sel)
		           : cli_error(XR_EXIT_USE, "%s has nothing to draw", s->operand[0]);
	return cli_finish_stdout();
}
