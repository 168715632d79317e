/* SPDX-License-Identifier: MIT */
/* The command line: what its files share. One table of options feeds the parser, --help and "did you mean"; one table of
 * commands names the subcommands. The environment is read here and nowhere else. */
#ifndef XR_CLI_CLI_H
#define XR_CLI_CLI_H

#include "report/report.h"
#include "xray.h"

/* Commands, as bits, so that an option can say which take it. */
enum {
	CMD_MEASURE = 1 << 0,
	CMD_LIST = 1 << 1,
	CMD_SHOW = 1 << 2,
	CMD_HEADER = 1 << 3,
	CMD_TIME = 1 << 4,
	CMD_CHECK = 1 << 5,
	CMD_DIFF = 1 << 6,
	CMD_EXPORT = 1 << 7,
	CMD_PLOT = 1 << 8,
	CMD_HELP = 1 << 9,
	CMD_VERSION = 1 << 10,
	CMD_COMPLETION = 1 << 11,
	CMD_CLEAR = 1 << 12,
	CMD_BOARD = 1 << 13,
	CMD_REPORT = 1 << 14,
	CMD_TARGET = CMD_MEASURE | CMD_TIME | CMD_CHECK, /* those that run something on a target */
	CMD_ALL = (1 << 15) - 1,
};

/* What the options came to. Options not given are zero, but cpu is -1. */
struct settings {
	struct xr_options target;
	const char *json, *output, *against, *type, *flavour, *prefix, *form, *oracle;
	double budget_s, sample_us, wait_s, least;
	bool quick, quiet, verbose, no_cache, help, version, man, all, full;
	const char *measuring;      /* an option was given that only makes sense when something is measured: its name */
	const char *const *operand;
	size_t n_operands;
};

struct command {
	unsigned bit;
	const char *name, *operands, *summary, *details;
	size_t min_operands, max_operands;
	int (*run)(const struct settings *s);
};
extern const struct command cli_commands[]; /* ended by a NULL name; the first is the default */

int cmd_measure(const struct settings *s);
int cmd_list(const struct settings *s);
int cmd_show(const struct settings *s);
int cmd_header(const struct settings *s);
int cmd_time(const struct settings *s);
int cmd_check(const struct settings *s);
int cmd_diff(const struct settings *s);
int cmd_export(const struct settings *s);
int cmd_plot(const struct settings *s);
int cmd_report(const struct settings *s);
int cmd_help(const struct settings *s);
int cmd_version(const struct settings *s);
int cmd_completion(const struct settings *s);
int cmd_clear_cache(const struct settings *s);
int cmd_target(const struct settings *s);

/* options.c. Returns the command, or NULL when an error was printed. */
const struct command *cli_parse(int argc, char **argv, struct settings *s);
struct option {
	const char *name;     /* long, without the dashes */
	char letter;          /* short; 0: none */
	const char *argument; /* NULL: a switch */
	int kind;
	size_t offset;        /* of its field in struct settings */
	unsigned commands;    /* that take it */
	const char *help;
};
const struct option *cli_option_at(size_t i); /* NULL: there is no i-th */
void cli_help(const struct command *command); /* NULL: of xray as a whole */

/* common.c */
int cli_error(enum xr_exit code, const char *format, ...) __attribute__((format(printf, 2, 3))); /* returns code */
int cli_fail(const struct xr_error *err);      /* the same for the library's errors */
struct xr_style cli_style(int fd);            /* how to write to this file descriptor */
struct xr_session *cli_open(const struct settings *s, struct xr_error *err);
int cli_cache_folder(const struct settings *s, char path[], const char **cache, struct xr_error *err);
	/* where compiled experiments are kept, PATH_MAX bytes; *cache NULL: nowhere */
struct xr_plan cli_plan(const struct settings *s);
int cli_can_write(const char *path, struct xr_error *err); /* before measuring: better now than after a minute */
int cli_finish_stdout(void);                   /* 0, or XR_EXIT_USE when standard output could not be written */
struct xr_description *cli_measure(const struct settings *s, const char *const *select, size_t n_select,
                                   struct xr_outcome *outcome, int *exit);
	/* opens, measures, says how it went on stderr, writes --json; *exit has the status to leave with */
void cli_look_around(const struct settings *s, struct xr_session *session);
	/* says on stderr what may disturb; with --wait-quiet, waits until nothing does */
extern volatile int cli_interrupted; /* set by Ctrl-C */

/* The description that the operand names, in another form, to --output FILE or standard output: whole or not at all.
 * write: 0, or -1 and why. Returns the exit status. */
typedef int cli_writer(FILE *out, const struct xr_description *d, const struct settings *s, struct xr_error *err);
int cli_convert(const struct settings *s, cli_writer *write);

/* export.c */
void cli_help_forms(void);

/* show.c: the report, as long as asked for, on standard output */
void cli_report(const struct xr_description *d, const struct settings *s);

/* progress.c */
void cli_progress(void *self, const struct xr_progress *progress); /* self: struct settings */
void cli_progress_clear(void);

#endif
