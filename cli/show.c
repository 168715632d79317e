#include "cli.h"

#include <unistd.h>

int cmd_show(const struct settings *s)
{
	struct xr_error err;
	struct xr_style style = cli_style(STDOUT_FILENO);
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	if (s->n_operands > 1)
		xr_report_facts(stdout, d, &style, s->operand + 1, s->n_operands - 1, s->verbose);
	else
		xr_report_terminal(stdout, d, &style, s->verbose);
	xr_description_free(d);
	return cli_finish_stdout();
}
