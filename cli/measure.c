/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A first word that is no fact but nearly a command was probably meant as one, unless a fact is nearer. */
static const char *nearly_a_command(const struct settings *s)
{
	enum { MAX = 256 };
	const char *names[MAX];
	struct xr_plan first = {.select = s->operand, .n_select = 1};
	struct xr_listing one;
	size_t n = 0, n_commands;
	if (!xr_plan_check(&first, NULL))
		return NULL;
	/* families stand first: of two that are as near, the fact is meant */
	static char family[MAX][24];
	for (size_t i = 0; xr_listing_at(i, &one); i++)
		for (const char *const *find = one.finds; find && *find && n < MAX / 2; find++) {
			snprintf(family[n], sizeof family[n], "%.*s", (int)strcspn(*find, "."), *find);
			names[n] = family[n];
			n += !n || strcmp(names[n], names[n - 1]) != 0;
		}
	n_commands = n;
	for (const struct command *c = cli_commands; c->name; c++)
		names[n++] = c->name;
	const char *near = xr_suggest(s->operand[0], names, n);
	for (size_t i = n_commands; near && i < n; i++)
		if (names[i] == near)
			return near;
	return NULL;
}

static void print_time_spent(const struct xr_description *d)
{
	fprintf(stderr, "xray: %.2f s in all, of which %.2f s preparing (compiling, laying out) and %.2f s timing\n",
	        xr_description_target_number(d, "seconds"), xr_description_target_number(d, "seconds_preparing"),
	        xr_description_target_number(d, "seconds_timing"));
}

int cmd_measure(const struct settings *s)
{
	struct xr_outcome outcome = {0};
	struct xr_plan plan = {.select = s->operand, .n_select = s->n_operands};
	struct xr_error err;
	int exit;
	if (xr_plan_check(&plan, &err)) {
		const char *near = nearly_a_command(s);
		if (near)
			return cli_error(XR_EXIT_USE, "no command or fact is called '%s'; did you mean `xray %s`?",
			                 s->operand[0], near);
		return cli_fail(&err);
	}
	struct xr_description *d = cli_measure(s, s->operand, s->n_operands, &outcome, &exit);
	if (!d)
		return exit;
	struct xr_style style = cli_style(STDOUT_FILENO);
	if (s->json && !strcmp(s->json, "-"))
		;
	else if (s->n_operands)
		xr_report_facts(stdout, d, &style, s->operand, s->n_operands, s->verbose);
	else
		cli_report(d, s);
	if (s->verbose)
		print_time_spent(d);
	xr_description_free(d);
	return cli_finish_stdout() ? XR_EXIT_USE : exit;
}
