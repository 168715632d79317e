/* SPDX-License-Identifier: MIT */
/* The option table, and the parser that reads it. */
#include "cli.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, COUNT, SEED, SHARE, SECONDS, MICROSECONDS };

#define AT(field) offsetof(struct settings, field)

static const struct option options[] = {
	{"json", 'j', "FILE", TEXT, AT(json), CMD_TARGET, "also write the description as JSON; - for standard output"},
	{"quick", 'q', NULL, FLAG, AT(quick), CMD_TARGET, "five seconds: the main facts, less sure"},
	{"budget", 'b', "TIME", SECONDS, AT(budget_s), CMD_TARGET,
         "stop after TIME (30s): the main facts first, then what is in doubt"},
	{"wait-quiet", 0, "TIME", SECONDS, AT(wait_s), CMD_TARGET,
         "wait up to TIME (2m) for other processes to leave the CPUs alone"},
	{"oracle", 0, "NAME", TEXT, AT(oracle), CMD_TARGET, "measure by time, counters, or both [both]"},
	{"target", 't', "FILE", TEXT, AT(target.target), CMD_TARGET,
         "a cross, remote, bare-metal, simulated or recorded machine"},
	{"cpu", 0, "N", COUNT, AT(target.cpu), CMD_TARGET, "measure on this logical CPU"},
	{"cc", 0, "CC", TEXT, AT(target.cc), CMD_TARGET, "the C compiler [$CC, or cc]"},
	{"cflags", 0, "FLAGS", TEXT, AT(target.cflags), CMD_TARGET, "its flags [-O2]"},
	{"runner", 0, "CMD", TEXT, AT(target.runner), CMD_TARGET,
         "run the generated programs with this command (qemu, ssh)"},
	{"baked", 0, NULL, FLAG, AT(target.baked), CMD_TARGET,
         "compile experiments into the program: for targets that take no input"},
	{"form", 0, "FORM", TEXT, AT(target.form), CMD_TARGET,
         "style of the generated C: barrier, or switch (plain C89) [barrier]"},
	{"sample", 0, "TIME", MICROSECONDS, AT(sample_us), CMD_TARGET,
         "length of one sample, such as 50us [from the clock]"},
	{"seed", 0, "N", SEED, AT(target.seed), CMD_TARGET, "seed of every random choice [0]"},
	{"record", 0, "DIR", TEXT, AT(target.record), CMD_TARGET,
         "record every reading in DIR; --target DIR replays it"},
	{"keep", 0, "DIR", TEXT, AT(target.keep), CMD_TARGET, "keep the generated C in DIR"},
	{"cache-dir", 0, "DIR", TEXT, AT(target.cache), CMD_TARGET | CMD_CLEAR,
         "the cache of compiled experiments [$XDG_CACHE_HOME/xray]"},
	{"no-cache", 0, NULL, FLAG, AT(no_cache), CMD_TARGET, "compile everything anew, keep nothing"},
	{"type", 'T', "TYPE", TEXT, AT(type), CMD_TIME,
         "type of p0, p1, ...: i8 to i64, f32, f64, v16f32 to v64i32 [i32]"},
	{"flavour", 0, "NAME", TEXT, AT(flavour), CMD_TIME, "plain, or native: all this machine has [plain]"},
	{"against", 'a', "GOLDEN", TEXT, AT(against), CMD_CHECK,
         "compare with this description, not with the OS's claims"},
	{"to", 0, "FORM", TEXT, AT(form), CMD_EXPORT, "the format to write, see below"},
	{"prefix", 'p', "NAME", TEXT, AT(prefix), CMD_HEADER, "prefix of every macro [XRAY]"},
	{"min-confidence", 0, "P", SHARE, AT(least), CMD_HEADER | CMD_EXPORT,
         "leave out what is less sure, 0 to 1 [0.8]"},
	{"output", 'o', "FILE", TEXT, AT(output), CMD_HEADER | CMD_EXPORT | CMD_REPORT,
         "write to this file, not to standard output"},
	{"full", 'f', NULL, FLAG, AT(full), CMD_MEASURE | CMD_SHOW, "the whole report, not one screen of it"},
	{"all", 0, NULL, FLAG, AT(all), CMD_CHECK | CMD_DIFF, "also facts that agree, or have no counterpart"},
	{"man", 0, NULL, FLAG, AT(man), CMD_LIST, "as mdoc, for the manual page"},
	{"quiet", 0, NULL, FLAG, AT(quiet), CMD_TARGET | CMD_CLEAR | CMD_BOARD, "no progress, no messages but errors"},
	{"verbose", 'v', NULL, FLAG, AT(verbose), CMD_TARGET | CMD_SHOW | CMD_LIST,
         "also the method, the confidence, and where the time went"},
	{"help", 'h', NULL, FLAG, AT(help), CMD_ALL, "this help"},
	{"version", 'V', NULL, FLAG, AT(version), CMD_ALL, "the version"},
};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* Pairs that contradict each other. */
static const char *const conflicts[][2] = {
	{"quick", "budget"},
	{"no-cache", "cache-dir"},
};

static const char exits[] =
	"Exit status: 0 all asked-for facts found (check, diff: all agree); 1 some not found (or differ);\n"
	"2 wrong use or bad input; 3 the target cannot be used; 4 measured but not trustworthy.\n";

static const char *exits_of(const struct command *command)
{
	if (command->bit == CMD_CHECK)
		return "Exit status: 0 all agree; 1 some differ; 2 wrong use or bad input; 3 the target cannot be used;\n"
		       "4 measured but not trustworthy.\n";
	if (command->bit == CMD_DIFF)
		return "Exit status: 0 all agree; 1 some differ; 2 wrong use or bad input.\n";
	return command->bit & CMD_TARGET ? exits : "Exit status: 0 done; 2 wrong use or bad input.\n";
}

const struct command cli_commands[] = {
	{CMD_MEASURE, "measure", "[FACT...]", "measure a machine (the default)",
         "Measures the facts named, and what they need: ids (cache.l1d.capacity), families (cache, op.mul), or\n"
         "micro-benchmarks (see `xray list`). None named: everything.",
         0, SIZE_MAX, cmd_measure},
	{CMD_LIST, "list", "[FACT...]", "every micro-benchmark: what it finds, what it needs, what it costs", NULL, 0,
         SIZE_MAX, cmd_list},
	{CMD_SHOW, "show", "FILE [FACT...]", "print the report of a description",
         "FILE is what --json wrote; - for standard input. With facts named, only those.", 1, SIZE_MAX, cmd_show},
	{CMD_HEADER, "header", "FILE", "print a C header of a description",
         "XRAY_HAS_... tells that a fact is known and sure enough, XRAY_... is its value, XRAY_CONF_... its confidence in\n"
         "percent. For C89 and C++.",
         1, 1, cmd_header},
	{CMD_TIME, "time", "STATEMENT", "latency, throughput and in-flight count of a C statement",
         "In 'p0 = p0 * p1 + p2', p0 is a variable of each stream's own, p1, p2, ... are constants shared by all.", 1,
         1, cmd_time},
	{CMD_CHECK, "check", "[FILE]", "measured against claimed, or against another description",
         "Without FILE the machine is measured first.", 0, 1, cmd_check},
	{CMD_DIFF, "diff", "A B", "what differs between two descriptions", NULL, 2, 2, cmd_diff},
	{CMD_EXPORT, "export", "FILE --to FORM", "a description in a form that other programs read", NULL, 1, 1,
         cmd_export},
	{CMD_PLOT, "plot", "FILE [FACT]", "draw a description: hierarchy, latency over size, core to core",
         "FACT: the curves behind it; also the id of a series, or `hierarchy`.", 1, 2, cmd_plot},
	{CMD_REPORT, "report", "FILE -o OUT", "one page for a browser, with every chart, all in one file",
         "For example, `xray report machine.json -o machine.html`. The page needs no network; behind every fact are its reason\n"
         "and the curves it was found from.",
         1, 1, cmd_report},
	{CMD_COMPLETION, "completion", "SHELL", "print completion for bash, zsh or fish",
         "For example, `xray completion bash > ~/.local/share/bash-completion/completions/xray`.", 1, 1,
         cmd_completion},
	{CMD_HELP, "help", "[COMMAND]", "help on a command", NULL, 0, 1, cmd_help},
	{CMD_VERSION, "version", "", "the version", NULL, 0, 0, cmd_version},
	{CMD_BOARD, "target", "init DIR", "files to start from, for a new board",
         "Writes DIR/target.ini and DIR/board.c, which work as they are; docs/boards.md goes on from there.", 2, 2,
         cmd_target},
	{CMD_CLEAR, "clear-cache", "", "empty the cache of compiled experiments", NULL, 0, 0, cmd_clear_cache},
	{0, NULL, NULL, NULL, NULL, 0, 0, NULL},
};

/* ---- help -------------------------------------------------------------------------------------------------------- */

static int left_column(char *buffer, size_t size, const struct option *option)
{
	char letter[8] = "    ";
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	return snprintf(buffer, size, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
	                option->argument ? option->argument : "");
}

static void help_options(unsigned commands)
{
	char left[64];
	puts("\nOptions:");
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (options[i].commands & commands) {
			left_column(left, sizeof left, &options[i]);
			printf("%-24s %s\n", left, options[i].help);
		}
}

void cli_help(const struct command *command)
{
	if (command && command != cli_commands) {
		printf("Usage: xray %s [OPTION...]%s%s\n\n%c%s.\n", command->name, *command->operands ? " " : "",
		       command->operands, toupper((unsigned char)*command->summary), command->summary + 1);
		if (command->details)
			printf("%s\n", command->details);
		help_options(command->bit);
		if (command->bit == CMD_EXPORT)
			cli_help_forms();
		printf("\n%s", exits_of(command));
		return;
	}
	puts("Usage: xray [OPTION...] [FACT...]\n"
	     "       xray COMMAND [OPTION...] [OPERAND...]\n\n"
	     "Measures what this machine really gives a program: caches, registers, latencies, cores.\n\n"
	     "Commands:");
	for (const struct command *c = cli_commands; c->name; c++) {
		char left[64];
		snprintf(left, sizeof left, "%s %s", c->name, c->operands);
		printf("  %-22s %s\n", left, c->summary);
	}
	printf("\n%s\n", cli_commands->details);
	help_options(CMD_MEASURE);
	printf("\n`xray COMMAND --help` has the options of each command; `man xray` has it all.\n%s", exits);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static void *field(struct settings *s, const struct option *option)
{
	return (char *)s + option->offset;
}

/* A number with a unit behind it; -1 when it is none, or not above zero. */
static double duration(const char *text, const char *const *unit, const double *scale, size_t n)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || errno || !(value > 0) || !isfinite(value) || !isdigit((unsigned char)*text))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(end, unit[i]))
			return value * scale[i];
	return -1;
}

static int set_value(struct settings *s, const struct option *option, const char *text)
{
	static const char *const long_unit[] = {"", "s", "m", "min", "h", "ms"};
	static const double long_scale[] = {1, 1, 60, 60, 3600, 1e-3};
	static const char *const short_unit[] = {"us", "", "ns", "ms", "s"};
	static const double short_scale[] = {1, 1, 1e-3, 1e3, 1e6};
	char *end;
	assert(text || option->kind == FLAG);
	errno = 0;
	switch ((enum kind)option->kind) {
	case FLAG:
		*(bool *)field(s, option) = true;
		if (!strcmp(option->name, "quiet")) /* the last of the two wins */
			s->verbose = false;
		if (!strcmp(option->name, "verbose"))
			s->quiet = false;
		return 0;
	case TEXT:
		if (!*text && strcmp(option->name, "cflags") != 0)
			return cli_error(XR_EXIT_USE, "--%s needs a %s that is not empty", option->name,
			                 option->argument);
		*(const char **)field(s, option) = text;
		return 0;
	case COUNT: {
		long value = strtol(text, &end, 10);
		if (!isdigit((unsigned char)*text) || *end || errno || value > 1 << 20)
			return cli_error(XR_EXIT_USE, "--%s needs a number from 0 on, not '%s'", option->name, text);
		*(int *)field(s, option) = (int)value;
		return 0;
	}
	case SEED: {
		unsigned long long value = strtoull(text, &end, 0);
		if (!isdigit((unsigned char)*text) || *end || errno)
			return cli_error(XR_EXIT_USE, "--%s needs a number, not '%s'", option->name, text);
		*(uint64_t *)field(s, option) = value;
		return 0;
	}
	case SHARE: {
		double value = strtod(text, &end);
		if (!isdigit((unsigned char)*text) || *end || errno || !(value >= 0 && value <= 1))
			return cli_error(XR_EXIT_USE, "--%s needs a number from 0 to 1, not '%s'", option->name, text);
		*(double *)field(s, option) = value;
		return 0;
	}
	case SECONDS:
	case MICROSECONDS: {
		double value = option->kind == SECONDS ? duration(text, long_unit, long_scale, 6)
		                                       : duration(text, short_unit, short_scale, 5);
		if (value <= 0)
			return cli_error(XR_EXIT_USE, "--%s needs a time such as %s, not '%s'", option->name,
			                 option->kind == SECONDS ? "30s or 2m" : "50us or 1ms", text);
		*(double *)field(s, option) = value;
		return 0;
	}
	}
	return 0;
}

const struct option *cli_option_at(size_t i)
{
	return i < N_OPTIONS ? &options[i] : NULL;
}

static const struct option *by_name(const char *name, size_t n)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (strlen(options[i].name) == n && !memcmp(options[i].name, name, n))
			return &options[i];
	return NULL;
}

static const struct option *by_letter(char letter)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (letter && options[i].letter == letter)
			return &options[i];
	return NULL;
}

static int unknown_option(const char *word)
{
	const char *names[N_OPTIONS];
	for (size_t i = 0; i < N_OPTIONS; i++)
		names[i] = options[i].name;
	int n = (int)strcspn(word, "=");
	char bare[64];
	snprintf(bare, sizeof bare, "%.*s", n, word + strspn(word, "-") > word + n ? "" : word + strspn(word, "-"));
	bare[strcspn(bare, "=")] = 0;
	const char *near = xr_suggest(bare, names, N_OPTIONS);
	if (near)
		return cli_error(XR_EXIT_USE, "no option '%.*s'; did you mean '--%s'?", n, word, near);
	return cli_error(XR_EXIT_USE, "no option '%.*s'; `xray --help` lists them", n, word);
}

/* One word that starts with a dash, and the value in it or behind it. */
static int take_option(struct settings *s, char **argv, int argc, int *i, bool *given)
{
	const char *word = argv[*i], *value = NULL;
	bool is_long = word[1] == '-';
	const struct option *option = is_long ? by_name(word + 2, strcspn(word + 2, "=")) : by_letter(word[1]);
	if (!option)
		return unknown_option(word);
	if (is_long && strchr(word, '='))
		value = strchr(word, '=') + 1;
	else if (!is_long && word[2])
		value = word + 2;
	if (!option->argument && value)
		return is_long ? cli_error(XR_EXIT_USE, "--%s takes no value", option->name) : unknown_option(word);
	if (option->argument && !value) {
		if (*i + 1 >= argc)
			return cli_error(XR_EXIT_USE, "--%s needs a value: --%s %s", option->name, option->name,
			                 option->argument);
		value = argv[++*i];
	}
	given[option - options] = true;
	if (option->commands == CMD_TARGET)
		s->measuring = option->name;
	return set_value(s, option, value);
}

static const struct command *command_named(const char *word)
{
	for (const struct command *c = cli_commands; c->name; c++)
		if (!strcmp(c->name, word))
			return c;
	return NULL;
}

static int check_options(const struct command *command, const bool *given)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (given[i] && !(options[i].commands & command->bit))
			return cli_error(XR_EXIT_USE, "`xray %s` takes no --%s; see `xray %s --help`", command->name,
			                 options[i].name, command->name);
	for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++) {
		const struct option *a = by_name(conflicts[i][0], strlen(conflicts[i][0]));
		const struct option *b = by_name(conflicts[i][1], strlen(conflicts[i][1]));
		if (given[a - options] && given[b - options])
			return cli_error(XR_EXIT_USE, "--%s and --%s contradict each other; leave one out", a->name,
			                 b->name);
	}
	return 0;
}

static int check_operands(const struct command *command, const struct settings *s)
{
	if (command->bit == CMD_EXPORT && !s->form)
		return cli_error(XR_EXIT_USE, "`xray export` needs --to FORM; `xray export --help` lists the forms");
	if (s->n_operands < command->min_operands)
		return cli_error(XR_EXIT_USE, "`xray %s` needs %s; see `xray %s --help`", command->name,
		                 command->operands, command->name);
	if (s->n_operands > command->max_operands)
		return cli_error(XR_EXIT_USE, "`xray %s` takes %s, '%s' is too much", command->name, command->operands,
		                 s->operand[command->max_operands]);
	return 0;
}

const struct command *cli_parse(int argc, char **argv, struct settings *s)
{
	bool given[N_OPTIONS] = {false}, only_operands = false;
	const struct command *command = NULL;
	size_t n = 0;
	*s = (struct settings){.target.cpu = -1, .least = 0.8};
	for (int i = 1; i < argc; i++) {
		char *word = argv[i];
		if (only_operands || word[0] != '-' || !word[1]) {
			if (!command && !only_operands && n == 0 && (command = command_named(word)))
				continue;
			argv[n++] = word; /* words already read give their places to the operands */
		} else if (!strcmp(word, "--")) {
			only_operands = true;
		} else if (take_option(s, argv, argc, &i, given)) {
			return NULL;
		}
	}
	if (!command)
		command = cli_commands;
	s->operand = (const char *const *)argv;
	s->n_operands = n;
	if (s->help || s->version)
		return command;
	return check_options(command, given) || check_operands(command, s) ? NULL : command;
}
