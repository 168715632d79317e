/* SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>

static void print_words(const char *head, const char *const *words, const char *separator)
{
	if (!words || !*words)
		return;
	fputs(head, stdout);
	for (const char *const *word = words; *word; word++)
		printf("%s%s", word == words ? "" : separator, *word);
	putchar('\n');
}

static bool listed(const struct settings *s, const struct xr_listing *one)
{
	bool found = s->n_operands == 0;
	for (size_t i = 0; i < s->n_operands; i++) {
		found |= !strcmp(one->id, s->operand[i]);
		for (const char *const *find = one->finds; find && *find; find++)
			found |= xr_id_matches(*find, s->operand[i]);
	}
	return found;
}

static void print_plain(const struct xr_listing *one)
{
	printf("%-14s %s (about %.1f s)\n", one->id, one->title, one->cost_s);
	print_words("               finds ", one->finds, " ");
	print_words("               needs ", one->needs, " ");
}

static void print_man_words(const char *head, const char *const *words)
{
	if (!words || !*words)
		return;
	printf("%s\n", head);
	for (const char *const *word = words; *word; word++)
		printf(".Li %s%s\n", *word, word[1] ? " ," : " .");
}

static void print_man(const struct xr_listing *one)
{
	printf(".It Cm %s\n%s; about %.1f s.\n", one->id, one->title, one->cost_s);
	print_man_words("Finds", one->finds);
	print_man_words("Needs", one->needs);
}

int cmd_list(const struct settings *s)
{
	struct xr_plan plan = {.select = s->operand, .n_select = s->n_operands};
	struct xr_listing one;
	struct xr_error err;
	if (xr_plan_check(&plan, &err))
		return cli_fail(&err);
	if (s->man)
		puts(".Bl -tag -width Ds");
	for (size_t i = 0; xr_listing_at(i, &one); i++)
		if (listed(s, &one))
			(s->man ? print_man : print_plain)(&one);
	if (s->man)
		puts(".El");
	return cli_finish_stdout();
}
