/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct settings settings;
	setlocale(LC_CTYPE, "");
	const struct command *command = cli_parse(argc, argv, &settings);
	if (!command)
		return XR_EXIT_USE;
	if (settings.help) {
		cli_help(command);
		return cli_finish_stdout();
	}
	if (settings.version) {
		printf("xray %s\n", xr_version());
		return cli_finish_stdout();
	}
	/* A reader who has seen enough, or a limit on the size of files, must not end the run: what was found is
	 * still to be written, or an error to be told. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return command->run(&settings);
}
