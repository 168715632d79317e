/* SPDX-License-Identifier: MIT */
/* xray target init DIR: files to begin with, for a new board. */
#include "cli.h"

#include "report/value.h"

#include <stdio.h>
#include <string.h>

int cmd_target(const struct settings *s)
{
	struct xr_error err = {0};
	if (strcmp(s->operand[0], "init") != 0)
		return cli_error(XR_EXIT_USE, "`xray target` knows init, not '%s'", s->operand[0]);
	if (xr_target_init_dir(s->operand[1], &err))
		return cli_fail(&err);
	if (!s->quiet) {
		struct xr_arena arena = {0};
		const char *dir = xr_safe_text(&arena, s->operand[1]);
		printf("%s/target.ini: compiler, runner, clock; %s/board.c: the three hooks. Next: xray --target %s/target.ini timer\n",
		       dir, dir, dir);
		xr_arena_release(&arena);
	}
	return cli_finish_stdout();
}
