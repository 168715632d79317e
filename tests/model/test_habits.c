/* SPDX-License-Identifier: MIT */
/* Each habit of real cores alone, on random machines: what the tool gets.
 *
 *   test_habits               docs/habits.md has a row for every habit; each can be put on random machines and breaks
 *                            nothing
 *   test_habits --table [N]   that page, N machines for each habit (default 100)
 *   test_habits --row N NAME  one row of it
 *   test_habits NAME [SEED [FACT...]]  one machine with that habit, these facts (default: all) beside the truth
 *
 * Machines come from the first generator with standard noise. A cell of the page: of the machines that have such facts,
 * the share on which all of that group are right, and behind `!` the share with something sure (0.9 or more) and wrong.
 */
#include "../lib/habits.h"
#include "../lib/lab.h"
#include "../lib/shrink.h"
#include "../lib/tally.h"
#include "../lib/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const page = "docs/habits.md";
static const char *const groups[] = {"operations", "core",     "cache.levels", "cache.l1d", "cache.l1i", "cache.l2",
                                     "cache.l2i",  "cache.l3", "tlb.d1",       "tlb.d2",    "tlb.i1",    "memory"};
enum { N_GROUPS = sizeof groups / sizeof *groups, N = 100 };

/* What is not found on most plain machines, since no engine looks for it yet or only one of its values is ever told,
 * would hide what the habit does: it is left out here and counted in docs/cores.md. */
static bool is_asked(const char *id)
{
	enum { MOST = 512 };
	static struct {
		char kind[64];
		bool asked;
	} seen[MOST];
	static int n;
	char kind[64];
	lab_kind(id, kind);
	for (int i = 0; i < n; i++)
		if (!strcmp(seen[i].kind, kind))
			return seen[i].asked;
	const struct rate plain = rate_read("tests/model/rates.txt", "first-standard", kind);
	bool asked = 2 * plain.right > plain.n;
	if (n < MOST) {
		snprintf(seen[n].kind, sizeof seen[n].kind, "%s", kind);
		seen[n++].asked = asked;
	}
	return asked;
}

struct survey {
	const struct habit *habit; /* NULL: none, to compare with */
	struct tallies groups;
};

static void draw(void *self, int i, uint64_t seed, struct xr_machine *machine)
{
	const struct survey *s = self;
	(void)i;
	for (uint64_t again = 0; again < 50; again++) { /* another one where this one cannot have it */
		xr_machine_random(machine, seed + again * 100003, XR_REALISTIC, XR_STANDARD);
		if (!s->habit || habit_put(s->habit, machine, seed))
			return;
	}
}

static void count(void *self, const struct lab_fact *fact)
{
	struct survey *s = self;
	if (is_asked(fact->id))
		tally_count(&s->groups, lab_group(fact->id), fact);
}

static int survey(struct survey *s, const struct habit *habit, int n)
{
	*s = (struct survey){.habit = habit};
	struct lab_plan plan = {.draw = draw, .each = count, .self = s, .seed = lab_seed(), .n = n};
	for (int i = 0; habit && habit->select[i]; i++)
		plan.select[i] = habit->select[i];
	return lab_run(&plan);
}

static void print_row(const char *name, const char *what, const struct survey *s, int broken)
{
	printf("| %s | %s", name, what);
	for (int g = 0; g < N_GROUPS; g++) {
		const struct tally *t = NULL;
		for (int i = 0; i < s->groups.n; i++)
			if (!strcmp(s->groups.kind[i].kind, groups[g]))
				t = &s->groups.kind[i];
		printf(" |");
		if (t)
			printf(" %.0f", 100.0 * t->right / t->machines);
		if (t && t->sure_wrong)
			printf(" !%.0f", 100.0 * t->sure_wrong / t->machines);
	}
	printf(broken ? " | %d |\n" : " | |\n", broken);
	fflush(stdout);
}

static void print_survey(const struct habit *habit, int n)
{
	static struct survey s;
	int broken = survey(&s, habit, n);
	print_row(habit ? habit->name : "none", habit ? habit->what : "to compare with", &s, broken);
}

static int print_page(int n)
{
	printf("# Habits of real cores\n\n"
	       "Made by `make habits`; do not edit. Each habit alone on %d random machines with standard noise. A cell: percent of the machines on\n"
	       "which all facts of the group are right (missing counts as not right); behind `!` percent of the machines with something sure\n"
	       "(confidence 0.9 or more) and wrong. Empty: not asked, since the habit does not touch it. Facts that no engine looks for yet\n"
	       "(policies, write behaviour, inclusion, bandwidth …) are left out here and counted in [cores.md](cores.md). What each\n"
	       "habit is: [machines.md](machines.md).\n\n| habit | what",
	       n);
	for (int g = 0; g < N_GROUPS; g++)
		printf(" | %s", groups[g]);
	printf(" | broke |\n|---|---");
	for (int g = 0; g < N_GROUPS; g++)
		printf("|---");
	printf("|---|\n");
	print_survey(NULL, n);
	for (int h = 0; h < n_habits; h++)
		print_survey(&habits[h], n);
	return 0;
}

static int print_one(int n, const char *name)
{
	for (int h = 0; h < n_habits; h++)
		if (!strcmp(habits[h].name, name)) {
			print_survey(&habits[h], n);
			return 0;
		}
	if (!strcmp(name, "none")) {
		print_survey(NULL, n);
		return 0;
	}
	fprintf(stderr, "no habit '%s'\n", name);
	return 2;
}

static bool has_row(const char *name)
{
	char line[4096], start[64];
	bool found = false;
	FILE *file = fopen(page, "r");
	snprintf(start, sizeof start, "| %s |", name);
	while (file && fgets(line, sizeof line, file))
		found |= !strncmp(line, start, strlen(start));
	if (file)
		fclose(file);
	return found;
}

/* The habit is there, can be written down, and reads back as the same machine. */
static bool can_be_put(const struct habit *habit)
{
	for (uint64_t seed = lab_seed(); seed < lab_seed() + 200; seed++) {
		struct xr_machine machine;
		xr_machine_random(&machine, seed, XR_REALISTIC, XR_STANDARD);
		struct xr_machine plain = machine;
		if (habit_put(habit, &machine, seed) && memcmp(&plain, &machine, sizeof plain) != 0)
			return true;
	}
	return false;
}

static int test(void)
{
	int bad = 0;
	for (int h = 0; h < n_habits; h++) {
		bool put = can_be_put(&habits[h]), row = has_row(habits[h].name);
		printf("%s %s can be put on random machines\n", put ? "ok" : "not ok", habits[h].name);
		printf("%s %s is in %s%s\n", row ? "ok" : "not ok", habits[h].name, page, row ? "" : ": make habits");
		bad += !put + !row;
	}
	return bad > 0;
}

static int show(const char *name, uint64_t seed, const char *const *facts, int n)
{
	for (int h = 0; h < n_habits; h++)
		if (!strcmp(habits[h].name, name)) {
			struct survey s = {.habit = &habits[h]};
			struct xr_machine machine;
			struct xr_error err = {0};
			draw(&s, 0, seed, &machine);
			machine_write(&machine, stdout);
			struct xr_description *d = measure_machine(&machine, facts, (size_t)n, seed, &err);
			int bad = d ? show_verdicts(&machine, d, NULL) : 1;
			xr_description_free(d);
			return bad > 0;
		}
	fprintf(stderr, "no habit '%s'\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--table"))
		return print_page(argc > 2 ? atoi(argv[2]) : N);
	if (argc > 3 && !strcmp(argv[1], "--row"))
		return print_one(atoi(argv[2]), argv[3]);
	if (argc > 1)
		return show(argv[1], argc > 2 ? strtoull(argv[2], NULL, 10) : lab_seed(),
		            argc > 3 ? (const char *const *)argv + 3 : NULL, argc > 3 ? argc - 3 : 0);
	return test();
}
