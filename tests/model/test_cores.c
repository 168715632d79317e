/* SPDX-License-Identifier: MIT */
/* Cores that were built (machines/cores), asked for every fact with standard noise.
 *
 *   test_cores              each core once, against the record in docs/cores.md: what that lists as right stays right,
 *                           and nothing is sure and wrong that it does not own up to
 *   test_cores --table [N]  that page, from N runs of each core (default 5): a fact counts as right where all of them
 *                           are
 *   test_cores NAME         one core, every fact beside the truth
 *
 * The noise is the commit's throw of the dice (XR_SEED: another). What fails once is asked again, that alone, with other
 * dice, since a fact that is right nineteen times out of twenty is no news; what fails every time is. A row of the page
 * is a kind of fact, a cell `right/all` facts, `!n` behind it: n of them may be sure and wrong.
 */
#include "../lib/lab.h"
#include "../lib/shrink.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CORES = 40, ROWS = 160, TRIES = 4, RUNS = 5 };
/* Of all that the record lists as right, so few may fail every time: of thousands of facts that are right now and then,
 * some were right when the record was made. */
static const double chance = 0.001;
static const char *const page = "docs/cores.md";

struct cell {
	int all, right, sure_wrong; /* facts */
};

struct row {
	char name[64];
	struct cell cell[CORES];
};

struct table {
	glob_t files;
	int n_cores, n_rows;
	char core[CORES][48];
	struct row row[ROWS];
};

/* ---- names ---- */

static void row_of(const char *id, char name[static 64])
{
	lab_kind(id, name);
	for (int i = 0; i < 2; i++) {
		const char *const whole[] = {"isa.", "units."};
		if (!strncmp(id, whole[i], strlen(whole[i])))
			snprintf(name, 64, "%.*s", (int)strlen(whole[i]) - 1, id);
	}
}

static struct row *find_row(struct table *t, const char *name)
{
	for (int i = 0; i < t->n_rows; i++)
		if (!strcmp(t->row[i].name, name))
			return &t->row[i];
	if (t->n_rows == ROWS)
		return &t->row[ROWS - 1];
	struct row *row = &t->row[t->n_rows++];
	*row = (struct row){0};
	snprintf(row->name, sizeof row->name, "%s", name);
	return row;
}

static void name_core(const char *path, char name[static 48])
{
	const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	snprintf(name, 48, "%.*s", (int)strcspn(base, "."), base);
}

static bool list_cores(struct table *t)
{
	if (glob("machines/cores/*.ini", 0, NULL, &t->files) || t->files.gl_pathc > CORES)
		return false;
	t->n_cores = (int)t->files.gl_pathc;
	for (int i = 0; i < t->n_cores; i++)
		name_core(t->files.gl_pathv[i], t->core[i]);
	return true;
}

/* ---- measuring ---- */

struct complaint {
	int row, core;
	struct cell best; /* of all tries: most right, fewest sure and wrong */
};

struct survey {
	struct table *table;
	const int *only; /* which core machine i is; NULL: i */
	const struct table *record;
	const struct complaint *list; /* about which it is asked again */
	int n;
};

static void draw(void *self, int i, uint64_t seed, struct xr_machine *machine)
{
	const struct survey *s = self;
	struct xr_error err;
	int core = s->only ? s->only[i] : i;
	if (xr_machine_read(machine, s->table->files.gl_pathv[core], &err)) {
		fprintf(stderr, "%s\n", err.text);
		_Exit(1);
	}
	xr_machine_set_noise(machine, seed, XR_STANDARD);
}

static void count(void *self, const struct lab_fact *fact)
{
	struct survey *s = self;
	char name[64];
	row_of(fact->id, name);
	struct cell *cell = &find_row(s->table, name)->cell[s->only ? s->only[fact->machine] : fact->machine];
	cell->all++;
	cell->right += fact->verdict == RIGHT;
	cell->sure_wrong += fact->verdict == WRONG && fact->sure;
}

/* Asked again, a core is asked about what was complained of, and what that needs; about all where that is much. */
static void choose(void *self, int i, const char *select[static LAB_SELECT])
{
	const struct survey *s = self;
	int n = 0;
	for (int k = 0; k < s->n; k++) {
		const char *row = s->record->row[s->list[k].row].name;
		if (s->list[k].core != s->only[i])
			continue;
		if (n == LAB_SELECT) {
			select[0] = NULL;
			return;
		}
		select[n++] = strncmp(row, "op.", 3) ? row : "op"; /* rows of op have no type in their name */
	}
}

/* One run of the cores in `only` (NULL: all); what was counted before is forgotten. */
static int measure(struct survey s, int n, uint64_t seed)
{
	struct table *t = s.table;
	struct lab_plan plan = {.draw = draw, .each = count, .self = &s, .seed = seed, .n = s.only ? n : t->n_cores};
	if (s.list)
		plan.choose = choose;
	for (int i = 0; i < t->n_rows; i++)
		memset(t->row[i].cell, 0, sizeof t->row[i].cell);
	return lab_run(&plan);
}

/* ---- the page ---- */

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return strcmp(x->name, y->name);
}

static void worse_of(struct table *sum, const struct table *t)
{
	for (int i = 0; i < t->n_rows; i++) {
		struct row *row = find_row(sum, t->row[i].name);
		for (int c = 0; c < t->n_cores; c++) {
			const struct cell *seen = &t->row[i].cell[c];
			struct cell *cell = &row->cell[c];
			if (!cell->all)
				*cell = *seen;
			cell->right = seen->right < cell->right ? seen->right : cell->right;
			cell->sure_wrong = seen->sure_wrong > cell->sure_wrong ? seen->sure_wrong : cell->sure_wrong;
		}
	}
}

static void print_page(struct table *t, int runs)
{
	int all = 0, right = 0, sure_wrong = 0;
	qsort(t->row, (size_t)t->n_rows, sizeof *t->row, by_name);
	for (int i = 0; i < t->n_rows; i++)
		for (int c = 0; c < t->n_cores; c++) {
			all += t->row[i].cell[c].all;
			right += t->row[i].cell[c].right;
			sure_wrong += t->row[i].cell[c].sure_wrong;
		}
	printf("# Real cores, simulated\n\n"
	       "Made by `make cores-table`; do not edit. Each core of `machines/cores/` was asked for every fact %d times, with standard noise.\n"
	       "A cell is *right/all*: of so many facts that the core decides, so many were right in every run; `!n`: up to n were sure (confidence\n"
	       "0.9 or more) and wrong. An empty cell: the core has no such thing, or nobody can tell. What is neither right nor wrong and sure was\n"
	       "refused or told in doubt. `make test` fails where a core does worse than this page says.\n\n"
	       "In all %d of %d facts right, %d sure and wrong.\n\n|",
	       runs, right, all, sure_wrong);
	for (int c = 0; c < t->n_cores; c++)
		printf(" | %s", t->core[c]);
	printf(" |\n|---");
	for (int c = 0; c < t->n_cores; c++)
		printf("|---");
	printf("|\n");
	for (int i = 0; i < t->n_rows; i++) {
		printf("| %s", t->row[i].name);
		for (int c = 0; c < t->n_cores; c++) {
			const struct cell *cell = &t->row[i].cell[c];
			printf(" |");
			if (cell->all)
				printf(" %d/%d", cell->right, cell->all);
			if (cell->sure_wrong)
				printf(" !%d", cell->sure_wrong);
		}
		printf(" |\n");
	}
}

/* The page read back: cells by the names of core and row. */
static bool read_page(struct table *t)
{
	char line[4096];
	FILE *file = fopen(page, "r");
	int core[CORES], columns = 0;
	while (file && fgets(line, sizeof line, file)) {
		if (line[0] != '|' || line[1] == '-')
			continue;
		struct row *row = NULL;
		int column = -1;
		char *rest = line + 1, *word;
		while ((word = strsep(&rest, "|")) && rest) {
			char text[64] = "";
			struct cell cell = {0};
			sscanf(word, "%63s", text);
			if (column++ < 0) {
				row = text[0] ? find_row(t, text) : NULL;
			} else if (!row && column <= CORES) {
				core[column - 1] = -1;
				for (int c = 0; c < t->n_cores; c++)
					if (!strcmp(t->core[c], text))
						core[column - 1] = c;
				columns = column;
			} else if (column <= columns && core[column - 1] >= 0 &&
			           sscanf(word, "%d/%d !%d", &cell.right, &cell.all, &cell.sure_wrong) >= 2) {
				row->cell[core[column - 1]] = cell;
			}
		}
	}
	if (file)
		fclose(file);
	return columns > 0;
}

/* ---- the test ---- */

static bool worse(const struct cell *seen, const struct cell *record)
{
	return seen->right < record->right || seen->sure_wrong > record->sure_wrong;
}

/* What the record has and this run has not, too: a fact that is not told at all any more. */
static int compare(struct table *record, struct table *seen, struct complaint *list, int most)
{
	int n = 0;
	for (int i = 0; i < seen->n_rows; i++)
		find_row(record, seen->row[i].name);
	for (int i = 0; i < record->n_rows; i++) {
		const struct row *now = find_row(seen, record->row[i].name);
		for (int c = 0; c < seen->n_cores && n < most; c++)
			if (worse(&now->cell[c], &record->row[i].cell[c]))
				list[n++] = (struct complaint){i, c, now->cell[c]};
	}
	return n;
}

/* Complaints that another throw of the dice does not bear out are dropped. */
static int ask_again(struct table *record, struct table *seen, struct complaint *list, int n, uint64_t seed)
{
	int only[CORES], cores = 0, left = 0;
	for (int i = 0; i < n; i++) {
		bool listed = false;
		for (int c = 0; c < cores; c++)
			listed |= only[c] == list[i].core;
		if (!listed)
			only[cores++] = list[i].core;
	}
	measure((struct survey){seen, only, record, list, n}, cores, seed);
	for (int i = 0; i < n; i++) {
		const struct row *row = &record->row[list[i].row];
		const struct cell *again = &find_row(seen, row->name)->cell[list[i].core];
		struct complaint *c = &list[i];
		c->best.right = again->right > c->best.right ? again->right : c->best.right;
		c->best.sure_wrong = again->sure_wrong < c->best.sure_wrong ? again->sure_wrong : c->best.sure_wrong;
		if (worse(&c->best, &row->cell[c->core]))
			list[left++] = *c;
	}
	return left;
}

static int right_in(const struct table *t)
{
	int right = 0;
	for (int i = 0; i < t->n_rows; i++)
		for (int c = 0; c < t->n_cores; c++)
			right += t->row[i].cell[c].right;
	return right;
}

static int test(struct table *record, struct table *seen)
{
	static struct complaint list[CORES * ROWS];
	uint64_t seed = lab_seed();
	if (!read_page(record)) {
		printf("not ok %s cannot be read: make cores-table\n", page);
		return 1;
	}
	printf("# seed %" PRIu64 ": XR_SEED=%" PRIu64 " repeats it\n", seed, seed);
	int broken = measure((struct survey){.table = seen}, 0, seed);
	int n = compare(record, seen, list, CORES * ROWS);
	for (int i = 1; i < TRIES && n; i++)
		n = ask_again(record, seen, list, n, seed + (uint64_t)i * 1000);
	bool by_chance = n <= chance * right_in(record);
	for (int c = 0; c < seen->n_cores; c++) {
		int bad = 0;
		for (int i = 0; i < n; i++)
			if (list[i].core == c) {
				const struct row *row = &record->row[list[i].row];
				printf("# %s %s: %d of %d right, %d sure and wrong; the record has %d and %d\n",
				       seen->core[c], row->name, list[i].best.right, list[i].best.all,
				       list[i].best.sure_wrong, row->cell[c].right, row->cell[c].sure_wrong);
				bad += !by_chance;
			}
		printf("%s %s does as well as %s says%s\n", bad ? "not ok" : "ok", seen->core[c], page,
		       bad ? "; again: test_cores NAME" : "");
	}
	printf("%s no core breaks the tool\n", broken ? "not ok" : "ok");
	return (n > 0 && !by_chance) || broken;
}

static int show_core(struct table *t, const char *name)
{
	struct survey s = {.table = t};
	struct xr_machine machine;
	struct xr_error err = {0};
	for (int c = 0; c < t->n_cores; c++)
		if (!strcmp(t->core[c], name)) {
			draw(&s, c, lab_seed(), &machine);
			struct xr_description *d = measure_machine(&machine, NULL, 0, lab_seed(), &err);
			int bad = d ? show_verdicts(&machine, d, NULL) : 1;
			xr_description_free(d);
			return bad > 0;
		}
	fprintf(stderr, "no machines/cores/%s.ini\n", name);
	return 2;
}

int main(int argc, char **argv)
{
	struct table *record = calloc(1, sizeof *record), *seen = calloc(1, sizeof *seen);
	int status = 1, runs = argc > 2 ? atoi(argv[2]) : RUNS;
	if (!record || !seen || !list_cores(seen) || !list_cores(record)) {
		printf("not ok no machines/cores/*.ini\n");
	} else if (argc > 1 && strcmp(argv[1], "--table") != 0) {
		status = show_core(seen, argv[1]);
	} else if (argc > 1) {
		for (int i = 0; i < runs; i++) {
			measure((struct survey){.table = seen}, 0, lab_seed() + (uint64_t)i * 1000);
			worse_of(record, seen);
		}
		print_page(record, runs);
		status = 0;
	} else {
		status = test(record, seen);
	}
	if (record && seen) {
		globfree(&record->files);
		globfree(&seen->files);
	}
	free(record);
	free(seen);
	return status;
}
