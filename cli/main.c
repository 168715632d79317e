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

/* The first Ctrl-C keeps what was found; the second ends the program at once. */
static void catch_interrupts(void)
{
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE,
	       SIG_IGN); /* a reader who has seen enough must not end the run: what was found is still to be written */
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
	catch_interrupts();
	return command->run(&settings);
}
