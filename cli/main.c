/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>

volatile int cli_interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	cli_interrupted = 1;
}

/* The first Ctrl-C keeps what was found; the second ends the program at once. The same for a terminal that goes
 * away and for whoever else asks us to end. */
static void catch_interrupts(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)}, before;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i] != SIGHUP ||
		    (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)) /* nohup */
			sigaction(ends[i], &action, NULL);
}

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
	if (command->bit & CMD_TARGET) /* the others have nothing to keep */
		catch_interrupts();
	/* A reader who has seen enough, or a limit on the size of files, must not end the run: what was found is
	 * still to be written, or an error to be told. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	return command->run(&settings);
}
