/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include "report/value.h"

#include <errno.h>
#include <langinfo.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- errors and messages ----------------------------------------------------------------------------------------- */

int cli_error(enum xr_exit code, const char *format, ...)
{
	va_list ap;
	char *text = NULL;
	struct xr_arena arena = {0};
	cli_progress_clear();
	va_start(ap, format);
	int n = vasprintf(&text, format, ap);
	va_end(ap);
	fprintf(stderr, "xray: %s\n", xr_safe_text(&arena, n < 0 ? "out of memory" : text));
	xr_arena_release(&arena);
	if (n >= 0)
		free(text);
	return (int)code;
}

int cli_fail(const struct xr_error *err)
{
	return cli_error(err->code, "%s", err->text);
}

int cli_finish_stdout(void)
{
	if ((!fflush(stdout) && !ferror(stdout)) || errno == EPIPE) /* a reader who has seen enough is no error */
		return 0;
	return cli_error(XR_EXIT_USE, "cannot write standard output: %s", strerror(errno ? errno : EIO));
}

/* ---- the environment --------------------------------------------------------------------------------------------- */

static const char *environment(const char *name)
{
	const char *value = getenv(name);
	return value && *value ? value : NULL;
}

struct xr_style cli_style(int fd)
{
	struct winsize window;
	const char *term = environment("TERM");
	bool terminal = isatty(fd);
	struct xr_style style = {
		.colour = terminal && !environment("NO_COLOR") && term && strcmp(term, "dumb") != 0,
		.unicode = !strcmp(nl_langinfo(CODESET), "UTF-8"),
	};
	const char *columns = environment("COLUMNS"); /* what a person asks for, also of a pipe */
	int asked = columns ? atoi(columns) : 0;
	if (asked > 0)
		style.width = asked;
	else if (terminal && !ioctl(fd, TIOCGWINSZ, &window))
		style.width = window.ws_col;
	return style;
}

static int make_folders(char *path)
{
	for (char *c = path + 1; *c; c++) {
		if (*c != '/')
			continue;
		*c = 0;
		int rc = mkdir(path, 0700);
		*c = '/';
		if (rc && errno != EEXIST)
			return -1;
	}
	return mkdir(path, 0700) && errno != EEXIST ? -1 : access(path, W_OK | X_OK);
}

/* Where compiled experiments are kept: what the person said, else the place the XDG rules name. One that nobody asked
 * for and that cannot be used is no reason to stop; the target warns. */
int cli_cache_folder(const struct settings *s, char path[], const char **cache, struct xr_error *err)
{
	const char *base = environment("XDG_CACHE_HOME"), *home = environment("HOME");
	*cache = NULL;
	if (s->no_cache)
		return 0;
	if (s->target.cache)
		snprintf(path, PATH_MAX, "%s", s->target.cache);
	else if (base && *base == '/')
		snprintf(path, PATH_MAX, "%s/xray", base);
	else if (home && *home == '/')
		snprintf(path, PATH_MAX, "%s/.cache/xray", home);
	else
		return 0;
	*cache = path;
	if (!s->target.cache || !make_folders(path))
		return 0;
	err->code = XR_EXIT_USE;
	snprintf(err->text, sizeof err->text, "cannot write to the cache %.800s: %s; try --no-cache", path,
	         strerror(errno));
	return -1;
}

static const char *const oracles[] = {
	[XR_ORACLE_BOTH] = "both", [XR_ORACLE_TIME] = "time", [XR_ORACLE_COUNTERS] = "counters"};

/* -1: no oracle has that name. */
static int oracle_of(const char *name)
{
	for (int i = 0; name && i < (int)(sizeof oracles / sizeof *oracles); i++)
		if (!strcmp(name, oracles[i]))
			return i;
	return name ? -1 : XR_ORACLE_BOTH;
}

volatile int cli_interrupted;

static void on_interrupt(int signal_number)
{
	(void)signal_number;
	cli_interrupted = 1;
}

/* The first Ctrl-C keeps what was found; the second ends the program at once. The same for a terminal that goes
 * away and for whoever else asks us to end. Before anything is measured there is nothing to keep. */
static void catch_interrupts(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
	struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)}, before;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (ends[i] != SIGHUP ||
		    (!sigaction(SIGHUP, NULL, &before) && before.sa_handler != SIG_IGN)) /* nohup */
			sigaction(ends[i], &action, NULL);
}

struct xr_session *cli_open(const struct settings *s, struct xr_error *err)
{
	struct xr_options options = s->target;
	struct stat st;
	char path[PATH_MAX], machine[PATH_MAX];
	if (options.target && !stat(options.target, &st) && S_ISDIR(st.st_mode)) { /* what --record DIR made */
		snprintf(machine, sizeof machine, "%s/machine.ini", options.target);
		options.target = machine;
	}
	if (options.form && strcmp(options.form, "barrier") != 0 && strcmp(options.form, "switch") != 0) {
		err->code = XR_EXIT_USE;
		snprintf(err->text, sizeof err->text, "--form is 'barrier' or 'switch', not '%.200s'", options.form);
		return NULL;
	}
	if (oracle_of(s->oracle) < 0) {
		err->code = XR_EXIT_USE;
		snprintf(err->text, sizeof err->text, "--oracle is 'time', 'counters' or 'both', not '%.200s'",
		         s->oracle);
		return NULL;
	}
	if (cli_cache_folder(s, path, &options.cache, err))
		return NULL;
	if (!options.cc && !options.target) /* a target file names its compiler */
		options.cc = environment("CC");
	options.tmp = environment("TMPDIR");
	options.sample_ns = s->sample_us * 1e3;
	options.budget_s = s->budget_s;
	options.interrupt = &cli_interrupted;
	catch_interrupts();
	struct xr_session *session = xr_session_open(&options, err);
	if (session && xr_session_warning(session) && !s->quiet)
		cli_error(XR_EXIT_OK, "%s", xr_session_warning(session));
	return session;
}

/* ---- output files ------------------------------------------------------------------------------------------------ */

int cli_convert(const struct settings *s, cli_writer *write)
{
	struct xr_error err;
	char *text = NULL; /* all of it first: what cannot be made touches no file */
	size_t len = 0;
	struct xr_description *d = xr_description_read(s->operand[0], &err);
	if (!d)
		return cli_fail(&err);
	int exit = 0;
	FILE *out = open_memstream(&text, &len);
	if (out && write(out, d, s, &err))
		exit = cli_fail(&err);
	if ((!out || fclose(out)) && !exit)
		exit = cli_error(XR_EXIT_USE, "out of memory");
	if (!exit && xr_report_save(s->output, text, len, &err))
		exit = cli_fail(&err);
	free(text);
	xr_description_free(d);
	return exit;
}

/* ---- measuring --------------------------------------------------------------------------------------------------- */

struct xr_plan cli_plan(const struct settings *s)
{
	const int oracle = oracle_of(s->oracle);
	return (struct xr_plan){
		.oracle = oracle < 0 ? XR_ORACLE_BOTH : (enum xr_oracle)oracle, /* cli_open() has refused others */
		.quick = s->quick,
		.budget_s = s->budget_s,
		.progress = s->quiet ? NULL : cli_progress,
		.self = (void *)(uintptr_t)s,
		.interrupt = &cli_interrupted,
	};
}

int cli_can_write(const char *path, struct xr_error *err)
{
	return xr_report_savable(path, err);
}

static void say_how_it_went(const struct settings *s, const struct xr_outcome *outcome)
{
	if (outcome->interrupted)
		cli_error(XR_EXIT_SOME, "interrupted: %zu facts were found and are kept", outcome->ok);
	else if (outcome->over_budget && !s->quiet)
		cli_error(XR_EXIT_SOME, "the time allowed was used up: %zu facts were found, %zu not", outcome->ok,
		          outcome->failed);
}

static double now_s(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void say_conditions(const struct xr_conditions *c, bool waiting)
{
	for (const char *at = c->words; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		int n = (int)strcspn(at, "\n");
		cli_error(XR_EXIT_OK, "%.*s%s", n, at, waiting ? " (waiting)" : "");
	}
}

/* What takes no longer than a look around is measured without one: who disturbed it is said afterwards. */
static bool worth_a_look(const struct settings *s, const struct xr_plan *plan)
{
	const double short_s = 2;
	return s->wait_s > 0 || (!s->quiet && xr_plan_cost_s(plan) >= short_s);
}

void cli_look_around(const struct settings *s, struct xr_session *session)
{
	const double glance_s = 0.25, look_s = 1; /* ticks of the OS are 10 ms: 25 of them tell a twentieth */
	double start_s = now_s();
	struct xr_conditions c;
	if (xr_session_conditions(session, glance_s, &c))
		return;
	if (!s->quiet)
		say_conditions(&c, s->wait_s > 0 && !c.quiet);
	while (!c.quiet && !cli_interrupted && now_s() - start_s < s->wait_s)
		xr_session_conditions(session, look_s, &c);
	if (s->wait_s > 0 && !c.quiet && !s->quiet && !cli_interrupted)
		cli_error(XR_EXIT_OK, "no quiet moment in %.0f s; measuring all the same", s->wait_s);
}

struct xr_description *cli_measure(const struct settings *s, const char *const *select, size_t n_select,
                                   struct xr_outcome *outcome, int *exit)
{
	struct xr_error err = {0};
	struct xr_plan plan = cli_plan(s);
	struct xr_session *session = NULL;
	struct xr_description *d = NULL;
	double start_s = now_s();
	bool looked = false;
	plan.select = select;
	plan.n_select = n_select;
	if (!xr_plan_check(&plan, &err) && !(s->json && cli_can_write(s->json, &err)) &&
	    (session = cli_open(s, &err))) {
		looked = worth_a_look(s, &plan);
		if (looked)
			cli_look_around(s, session);
		start_s += s->wait_s > 0 ? now_s() - start_s : 0; /* waiting was asked for besides */
		if (plan.budget_s > 0)                            /* opening is part of what a person waits for */
			plan.budget_s = fmax(plan.budget_s - (now_s() - start_s), 1e-9);
		d = xr_session_measure(session, &plan, outcome, &err);
	}
	xr_session_free(session);
	cli_progress_clear();
	if (!d) {
		*exit = cli_fail(&err);
		return NULL;
	}
	*exit = (int)outcome->exit;
	if (!looked && !s->quiet)
		xr_report_disturbed(stderr, d, "xray: ");
	say_how_it_went(s, outcome);
	if (s->json && xr_description_write(d, s->json, &err))
		*exit = cli_fail(&err);
	return d;
}
