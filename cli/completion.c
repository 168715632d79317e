/* SPDX-License-Identifier: MIT */
/* Completion for shells, from the same tables as the help. */
#include "cli.h"
#include "report/exports.h"

#include <stdio.h>
#include <string.h>

/* First words of all facts, and the names of micro-benchmarks: what a person types. Each once. */
static void print_facts(const char *separator)
{
	enum { MAX = 192 };
	char seen[MAX][32];
	size_t n = 0;
	struct xr_listing one;
	for (size_t i = 0; xr_listing_at(i, &one); i++)
		for (int k = -1; k < 0 || (one.finds && one.finds[k]); k++) {
			const char *id = k < 0 ? one.id : one.finds[k];
			char word[32];
			size_t at = 0;
			snprintf(word, sizeof word, "%.*s", (int)strcspn(id, "."), id);
			while (at < n && strcmp(seen[at], word))
				at++;
			if (at < n || n == MAX || *word == '*')
				continue;
			strcpy(seen[n++], word);
			printf("%s%s", word, separator);
		}
}

static void print_commands(const char *separator)
{
	for (const struct command *c = cli_commands; c->name; c++)
		printf("%s%s", c->name, separator);
}

static void print_options(unsigned command, const char *separator)
{
	const struct option *o;
	for (size_t i = 0; (o = cli_option_at(i)); i++)
		if (o->commands & command)
			printf("--%s%s", o->name, separator);
}

static void print_forms(void)
{
	for (const struct xr_export_form *f = xr_export_forms; f->name; f++)
		printf("%s%s", f == xr_export_forms ? "" : " ", f->name);
}

/* What may follow a command: facts where its operands say so, and always files. */
static bool takes_facts(const struct command *c)
{
	return strstr(c->operands, "FACT") != NULL;
}

static void print_bash(void)
{
	puts("# bash completion for xray; made by `xray completion bash`\n_xray()\n{\n"
	     "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=measure i\n"
	     "\tfor ((i = 1; i < COMP_CWORD; i++)); do\n\t\tcase ${COMP_WORDS[i]} in");
	for (const struct command *c = cli_commands; c->name; c++)
		printf("\t\t%s) command=%s; break ;;\n", c->name, c->name);
	fputs("\t\tesac\n\tdone\n\tlocal options words facts='", stdout);
	print_facts(" ");
	fputs("' commands='", stdout);
	print_commands(" ");
	puts("'\n\tcase $command in");
	for (const struct command *c = cli_commands; c->name; c++) {
		printf("\t%s) options='", c->name);
		print_options(c->bit, " ");
		printf("'%s ;;\n", takes_facts(c) ? " words=$facts" : "");
	}
	fputs("\tesac\n\t[ \"$command\" = completion ] && words='bash zsh fish'\n\tcase $before in\n\t--to)\n\t\twords='",
	      stdout);
	print_forms();
	puts("'\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n\t\treturn ;;\n\tesac\n"
	     "\tcase $word in\n\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
	     "\t*)\n\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$word\") $(compgen -f -- \"$word\"))\n"
	     "\t\t[ \"$COMP_CWORD\" = 1 ] && COMPREPLY+=($(compgen -W \"$commands\" -- \"$word\"))\n"
	     "\t\t;;\n\tesac\n}\ncomplete -o filenames -F _xray xray");
}

/* Text between single quotes, for zsh and fish. */
static void print_single(const char *text)
{
	for (; *text; text++)
		if (*text == '\'')
			fputs("'\\''", stdout);
		else
			putchar(*text);
}

/* The default command stands for every other word, so it comes last. */
static void print_zsh_case(const struct command *c)
{
	printf("%s) options=(", c == cli_commands ? "*" : c->name);
	print_options(c->bit, " ");
	printf(")%s ;;\n", takes_facts(c) ? " operands=($facts)" : "");
}

static void print_zsh(void)
{
	puts("#compdef xray\n# zsh completion for xray; made by `xray completion zsh`\n"
	     "local -a commands facts options operands\ncommands=(");
	for (const struct command *c = cli_commands; c->name; c++) {
		printf("\t'%s:", c->name);
		print_single(c->summary);
		puts("'");
	}
	fputs(")\nfacts=(", stdout);
	print_facts(" ");
	puts(")\ncase ${words[2]} in");
	for (const struct command *c = cli_commands + 1; c->name; c++)
		print_zsh_case(c);
	print_zsh_case(cli_commands);
	fputs("esac\n[[ ${words[2]} == completion ]] && operands=(bash zsh fish)\n"
	      "[[ ${words[CURRENT-1]} == --to ]] && operands=(",
	      stdout);
	print_forms();
	puts(")\nif [[ $PREFIX == -* ]]; then\n\tcompadd -- $options\nelse\n"
	     "\t(( CURRENT == 2 )) && _describe command commands\n\tcompadd -- $operands\n\t_files\nfi");
}

/* Under which commands: those that have it; of what the default has, not under those that have not. */
static void print_fish_where(unsigned commands)
{
	bool usual = commands & cli_commands->bit, any = false;
	for (const struct command *c = cli_commands; c->name; c++)
		any |= !(c->bit & commands) == usual;
	if (!any)
		return;
	printf(" -n '%s__fish_seen_subcommand_from", usual ? "not " : "");
	for (const struct command *c = cli_commands; c->name; c++)
		if (!(c->bit & commands) == usual)
			printf(" %s", c->name);
	putchar('\'');
}

static void print_fish(void)
{
	const struct option *o;
	unsigned with_facts = 0;
	puts("# fish completion for xray; made by `xray completion fish`");
	for (const struct command *c = cli_commands; c->name; c++) {
		with_facts |= takes_facts(c) ? c->bit : 0;
		printf("complete -c xray -n __fish_use_subcommand -a %s -d '", c->name);
		print_single(c->summary);
		puts("'");
	}
	fputs("complete -c xray", stdout);
	print_fish_where(with_facts);
	fputs(" -a '", stdout);
	print_facts(" ");
	puts("'\ncomplete -c xray -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'");
	for (size_t i = 0; (o = cli_option_at(i)); i++) {
		fputs("complete -c xray", stdout);
		print_fish_where(o->commands);
		printf(" -l %s%s", o->name, o->argument ? " -r" : "");
		if (o->letter)
			printf(" -s %c", o->letter);
		if (!strcmp(o->name, "to")) {
			fputs(" -f -a '", stdout);
			print_forms();
			putchar('\'');
		}
		fputs(" -d '", stdout);
		print_single(o->help);
		puts("'");
	}
}

int cmd_completion(const struct settings *s)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
	for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
		if (!strcmp(shells[i].shell, s->operand[0])) {
			shells[i].print();
			return cli_finish_stdout();
		}
	return cli_error(XR_EXIT_USE, "no completion for '%s'; there is bash, zsh and fish", s->operand[0]);
}
