/* SPDX-License-Identifier: MIT */
/* The agent: carries generated nano-benchmarks to the target and times them there.
 *
 * It reads lines and answers with lines, so that any pipe will do (a process, a runner in front of it, ssh).
 * Compiled with XR_BAKED the lines come from a table inside the program, for targets that cannot be talked to.
 *
 *   hello                             hello 1 COST_NS GRANULE_NS REFERENCE_ADDS ALONE CPU REPEATS
 *   about                             about CHAR SHORT INT LONG POINTER FLOAT DOUBLE big|little FRESH NOW_NS: see nature.h
 *   spin N                            spun OPERATIONS NS: N repetitions of the reference chain
 *   work W ops K | chain … | flow …   what members of a team do
 *   spec I clock | ops K | chain … | walk … | team … | flow …     (the words of xr_spec_text(), but ops K POWER:
 *                                     index of the generated function; its vectors' class, 0: none in it; then
 *                                     perhaps the index of its twin with twice as many statements in the loop)
 *   patience NS                       to be spent on waiting until nobody else uses the core; replaces what is left of it
 *   ready SAMPLE_NS                   for each spec:  try I   then   ok I CODE_BYTES   or   bad I u|f REASON
 *                                     and in the end  done PATIENCE_NS QUIET_NS CPU TURN, the first of them 1
 *   rounds N I I …                    for each sample:  s I LONG_NS LONG_OPS SHORT_NS SHORT_OPS REF_NS HIT
 *                                     a specification that fails now:  bad I f REASON; in the end  done …
 *   count I I …                       events by operation, -1 for what cannot be counted:
 *                                     e I CYCLES INSNS L1D DTLB L1I ITLB SWITCHES FAULTS; in the end  done …
 *   settle                            to a core that is left alone, if there is one:  at CPU
 *   clear                             forgets all specifications of this batch; buffers stay
 *   quit
 *
 * `try I` is said before specification I runs for the first time: when the agent dies or falls silent, that one
 * did it. Nothing is printed while samples are taken.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "clock.h"
#include "count.h"
#include "flow.h"
#include "nature.h"
#include "sample.h"
#include "where.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct xr_agent_spec *specs;
static int n_specs;
static struct xr_work *works;
static int n_works;
static double core_alone; /* see xr_core_find() */
static struct xr_team_pool *pool;

void xr_agent_die(const char *why)
{
	fprintf(stderr, "xray agent: %s\n", why);
	exit(70);
}

void *xr_agent_grown(void *p, size_t bytes)
{
	p = realloc(p, bytes ? bytes : 1);
	if (!p)
		xr_agent_die("out of memory");
	return p;
}

/* ---- the work of members of teams ---- */
static double run_work_ops(void *self, unsigned long reps) /* reps: operations */
{
	int k = *(int *)self;
	unsigned long body = (unsigned long)xr_nano_body[k];
	return xr_spec_run_ops(self, (reps + body - 1) / body);
}

static double run_work_chain(void *self, unsigned long reps)
{
	double timed;
	return xr_chain_run(self, reps, &timed);
}

static void ready_chain(void *self)
{
	xr_chain_ready(self);
}

static double run_work_flow(void *self, unsigned long reps)
{
	return xr_flow_run(self, reps);
}

/* ---- lines ---- */

static void forget(void)
{
	for (int i = 0; i < n_specs; i++) {
		xr_team_free(specs[i].team);
		xr_chain_free(specs[i].chain);
		xr_walk_free(specs[i].walk);
		xr_flow_free(specs[i].flow);
	}
	for (int i = 0; i < n_works; i++) {
		if (works[i].run == run_work_chain)
			xr_chain_free(works[i].self);
		else if (works[i].run == run_work_flow)
			xr_flow_free(works[i].self);
		else
			free(works[i].self);
	}
	n_specs = n_works = 0;
}

static int nano_index(const char *word)
{
	int k = atoi(word);
	if (k < 0 || k >= xr_nano_count)
		xr_agent_die("no such function");
	return k;
}

static void add_work(char **words, int n)
{
	char error[256];
	int i = atoi(words[1]);
	if (i != n_works)
		xr_agent_die("work out of order");
	works = xr_agent_grown(works, (size_t)(n_works + 1) * sizeof *works);
	if (!strcmp(words[2], "ops")) {
		int *k = xr_agent_grown(NULL, sizeof *k);
		*k = nano_index(words[3]);
		works[i].run = run_work_ops;
		works[i].self = k;
		works[i].ready = NULL;
	} else if (!strcmp(words[2], "flow")) {
		works[i].run = run_work_flow;
		works[i].self = xr_flow_make(words + 3, n - 3, error, sizeof error);
		works[i].ready = NULL;
	} else {
		works[i].run = run_work_chain;
		works[i].self = xr_chain_make(words + 3, n - 3, error, sizeof error);
		works[i].ready = ready_chain;
	}
	n_works++;
}

/* 0, or the kind of failure with error filled in: 'u' this target has no such thing, 'f' it failed. */
static char make_spec(struct xr_agent_spec *s, char **words, int n, char *error, size_t error_size)
{
	error[0] = '\0';
	if (!strcmp(words[0], "clock")) {
		s->kind = XR_SPEC_CLOCK;
		return 0;
	}
	if (!strcmp(words[0], "ops") && n > 1) {
		s->kind = XR_SPEC_OPS;
		s->nano = nano_index(words[1]);
		s->power = n > 2 ? atoi(words[2]) : 0;
		s->twin = n > 3 ? nano_index(words[3]) : -1;
		return 0;
	}
	if (!strcmp(words[0], "chain")) {
		s->kind = XR_SPEC_CHAIN;
		s->chain = xr_chain_make(words + 1, n - 1, error, error_size);
		return s->chain ? 0 : 'f';
	}
	if (!strcmp(words[0], "walk")) {
		s->kind = XR_SPEC_WALK;
		s->walk = xr_walk_make(words + 1, n - 1, error, error_size);
		return s->walk ? 0 : strncmp(error, "unsupported: ", 13) ? 'f' : 'u';
	}
	if (!strcmp(words[0], "flow")) {
		s->kind = XR_SPEC_FLOW;
		s->flow = xr_flow_make(words + 1, n - 1, error, error_size);
		return s->flow ? 0 : strncmp(error, "unsupported: ", 13) ? 'f' : 'u';
	}
	if (!strcmp(words[0], "team")) {
		s->kind = XR_SPEC_TEAM;
		if (!pool) {
			snprintf(error, error_size, "this target has no threads");
			return 'u';
		}
		for (int i = 0; i < n_works; i++)
			if (!works[i].self) {
				snprintf(error, error_size, "a member's work could not be laid out");
				return 'f';
			}
		s->team = xr_team_make(pool, words + 1, n - 1, works, n_works, error, error_size);
		return s->team ? 0 : 'f';
	}
	xr_agent_die("unknown kind of specification");
	return 'f';
}

/* Specifications are laid out when they are read, so that their words need not be kept; failures are said at
 * `ready`. */
static struct failure {
	char kind;
	char text[256];
} * failures;

static void add_spec(char **words, int n)
{
	int i = atoi(words[1]);
	if (i != n_specs)
		xr_agent_die("specification out of order");
	specs = xr_agent_grown(specs, (size_t)(n_specs + 1) * sizeof *specs);
	failures = xr_agent_grown(failures, (size_t)(n_specs + 1) * sizeof *failures);
	memset(&specs[i], 0, sizeof specs[i]);
	n_specs++;
	printf("try %d\n", i);
	fflush(stdout);
	failures[i].kind = make_spec(&specs[i], words + 2, n - 2, failures[i].text, sizeof failures[i].text);
	specs[i].bad = failures[i].kind != 0;
}

static void make_ready(double wanted_ns, double wait_ns)
{
	int power = 0;
	xr_sampling_begin(wanted_ns, wait_ns);
	for (int i = 0; i < n_specs; i++) {
		if (specs[i].bad) {
			const char *text = failures[i].text;
			if (!strncmp(text, "unsupported: ", 13))
				text += 13;
			printf("bad %d %c %s\n", i, failures[i].kind, text);
			continue;
		}
		printf("try %d\n", i);
		fflush(stdout);
		xr_spec_calibrate(&specs[i]);
		if (specs[i].power > power) { /* too slow still */
			xr_spec_wake_up(&specs[i]);
			xr_spec_calibrate(&specs[i]);
		}
		power = specs[i].power;
		printf("ok %d %g\n", i,
		       specs[i].kind == XR_SPEC_WALK   ? xr_walk_code_bytes(specs[i].walk)
		       : specs[i].kind == XR_SPEC_FLOW ? xr_flow_width(specs[i].flow)
		                                       : 0.0);
	}
	xr_say_done();
}

/* Of specifications; to be freed. */
static int *numbers(char **words, int k)
{
	int *idx = xr_agent_grown(NULL, (size_t)k * sizeof *idx);
	for (int i = 0; i < k; i++) {
		idx[i] = atoi(words[i]);
		if (idx[i] < 0 || idx[i] >= n_specs)
			xr_agent_die("no such specification");
	}
	return idx;
}

static void obey(char *line)
{
	static char **words;
	static int room;
	int n = 0;
	for (char *at = line; *at;) { /* where every instruction is simulated, lines of a thousand words count */
		while (*at == ' ' || *at == '\n' || *at == '\r')
			*at++ = '\0';
		if (!*at)
			break;
		if (n + 1 >= room) {
			room = room ? room * 2 : 64;
			words = xr_agent_grown(words, (size_t)room * sizeof *words);
		}
		words[n++] = at;
		while ((unsigned char)*at > ' ')
			at++;
		if (*at && *at != ' ' && *at != '\n' && *at != '\r')
			*at = ' ';
	}
	if (!n)
		return;
	if (!strcmp(words[0], "hello")) {
		printf("hello 1 %.17g %.17g %d %.17g %d %d\n", xr_clock_cost_ns(), xr_clock_granule_ns(),
		       xr_reference_adds(), core_alone, xr_where(), xr_clock_repeats());
		fflush(stdout);
	} else if (!strcmp(words[0], "about")) {
		xr_nature_tell();
	} else if (!strcmp(words[0], "spin") && n == 2) {
		double ns, ops = xr_reference_spin(strtoul(words[1], NULL, 10), &ns);
		printf("spun %.17g %.17g\n", ops, ns);
		fflush(stdout);
	} else if (!strcmp(words[0], "spec") && n >= 3) {
		add_spec(words, n);
	} else if (!strcmp(words[0], "work") && n >= 4) {
		add_work(words, n);
	} else if (!strcmp(words[0], "patience") && n == 2) {
		xr_sampling_patience(atof(words[1]));
	} else if (!strcmp(words[0], "ready")) {
		make_ready(n > 1 ? atof(words[1]) : 0, n > 2 ? atof(words[2]) : 0);
	} else if (!strcmp(words[0], "rounds") && n >= 2) {
		int *idx = numbers(words + 2, n - 2);
		xr_take_rounds(specs, atoi(words[1]), idx, n - 2);
		free(idx);
	} else if (!strcmp(words[0], "count")) {
		int *idx = numbers(words + 1, n - 1);
		xr_count_specs(specs, idx, n - 1);
		free(idx);
	} else if (!strcmp(words[0], "settle")) {
		xr_where_settle();
		printf("at %d\n", xr_where());
		fflush(stdout);
	} else if (!strcmp(words[0], "clear")) {
		forget();
	} else {
		xr_agent_die("unknown line");
	}
}

#if defined(XR_BAKED)
extern const char *const xr_baked[];

static char *next_line(void)
{
	static int i;
	static char *line;
	if (!xr_baked[i])
		return NULL;
	line = xr_agent_grown(line, strlen(xr_baked[i]) + 1);
	return strcpy(line, xr_baked[i++]);
}
#else
static char *next_line(void)
{
	static char *line;
	static size_t room;
	size_t len = 0;
	for (;;) {
		if (len + 2 > room) {
			room = room ? room * 2 : 4096;
			line = xr_agent_grown(line, room);
		}
		if (!fgets(line + len, (int)(room - len < 65536 ? room - len : 65536), stdin))
			return NULL;
		len += strlen(line + len);
		if (len && line[len - 1] == '\n')
			break;
	}
	line[--len] = '\0';
	return line;
}
#endif

/* Arguments: CPUS MEMORY_BYTES REFERENCE_ADDS ALONE REPEATS (these three as an earlier agent said hello; 0, 0, -1: find
 * out). CPUS: see xr_where_init(). */
int main(int argc, char **argv)
{
	double memory = argc > 2 ? atof(argv[2]) : 0;
	const char *fault = xr_clock_fault();
	char *line;

	if (fault)
		xr_agent_die(fault);
	xr_clock_init(argc > 5 ? atoi(argv[5]) : -1);
	pool = xr_pool_new(xr_now_ns, xr_reference_ns); /* before pinning: it remembers which CPUs were allowed */
	xr_where_init(argc > 1 ? argv[1] : "-1");
	xr_chain_setup(xr_now_ns, xr_clock_cost_ns(), (unsigned long long)memory);
	xr_walk_exact(xr_clock_repeats());
	if (xr_clock_repeats())
		xr_chain_exact();
	else
		xr_warm_up();
	xr_reference_find(argc > 3 ? atoi(argv[3]) : 0);
	if (!xr_clock_repeats()) /* else there is nobody else */
		core_alone = xr_where_find(argc > 4 ? atof(argv[4]) : 0);
	while ((line = next_line()) && strcmp(line, "quit"))
		obey(line);
	forget();
	xr_chain_release();
	xr_pool_free(pool);
	free(specs);
	free(works);
	xr_sampling_release();
	xr_count_release();
	free(failures);
	return 0;
}
