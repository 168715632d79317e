/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>

int cmd_help(const struct settings *s)
{
	const char *names[32];
	size_t n = 0;
	if (!s->n_operands) {
		cli_help(NULL);
		return cli_finish_stdout();
	}
	for (const struct command *c = cli_commands; c->name; c++) {
		names[n++] = c->name;
		if (!strcmp(c->name, s->operand[0])) {
			cli_help(c);
			return cli_finish_stdout();
		}
	}
	const char *near = xr_suggest(s->operand[0], names, n);
	if (near)
		return cli_error(XR_EXIT_USE, "no command is called '%s'; did you mean `xray help %s`?", s->operand[0],
		                 near);
	return cli_error(XR_EXIT_USE, "no command is called '%s'; `xray --help` lists them", s->operand[0]);
}

int cmd_version(const struct settings *s)
{
	(void)s;
	printf("xray %s\n", xr_version());
	return cli_finish_stdout();
}
