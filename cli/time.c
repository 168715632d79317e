/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void print_one(const struct xr_description *d, const char *name, const char *id, const char *ns_id,
                      const char *words)
{
	const struct xr_fact *fact = xr_description_fact(d, id);
	double value = fact ? xr_fact_value(fact, -1) : -1;
	if (value < 0)
		return;
	printf("%-11s ", name);
	if (ns_id)
		printf("%.2f cycles (%.3g ns)", value, xr_fact_value(xr_description_fact(d, ns_id), 0));
	else
		printf("%.0f", value);
	printf("%s%s", words, xr_fact_status(fact) == XR_OK ? "" : "  ?");
	if (*xr_fact_reason(fact))
		printf("  (%s)", xr_fact_reason(fact));
	putchar('\n');
}

/* Facts that say the same are said once. */
static void print_failure(const struct xr_description *d)
{
	const struct xr_fact *fact = xr_description_fact(d, "statement.latency");
	if (fact && xr_fact_status(fact) != XR_OK && xr_fact_value(fact, -1) < 0)
		cli_error(XR_EXIT_SOME, "the statement cannot be timed: %s", xr_fact_reason(fact));
}

int cmd_time(const struct settings *s)
{
	struct xr_error err = {0};
	struct xr_statement statement = {.text = s->operand[0], .type = s->type};
	struct xr_plan plan = cli_plan(s);
	struct xr_outcome outcome = {0};
	struct xr_session *session = NULL;
	struct xr_description *d = NULL;
	if (s->flavour && strcmp(s->flavour, "plain") != 0 && strcmp(s->flavour, "native") != 0)
		return cli_error(XR_EXIT_USE, "--flavour is 'plain' or 'native', not '%s'", s->flavour);
	statement.native = s->flavour && !strcmp(s->flavour, "native");
	if (!(s->json && cli_can_write(s->json, &err)) && (session = cli_open(s, &err))) {
		if (s->wait_s > 0)
			cli_look_around(s, session);
		d = xr_session_time(session, &statement, &plan, &outcome, &err);
	}
	xr_session_free(session);
	cli_progress_clear();
	if (!d)
		return cli_fail(&err);
	int exit = (int)outcome.exit;
	if (s->json && xr_description_write(d, s->json, &err))
		exit = cli_fail(&err);
	if (!s->json || strcmp(s->json, "-") != 0) {
		print_one(d, "latency", "statement.latency", "statement.latency_ns", "");
		print_one(d, "throughput", "statement.throughput", "statement.throughput_ns", " per statement");
		print_one(d, "in flight", "statement.in_flight", NULL, "");
	}
	print_failure(d);
	xr_description_free(d);
	return cli_finish_stdout() ? XR_EXIT_USE : exit;
}
