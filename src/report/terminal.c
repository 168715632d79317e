/* SPDX-License-Identifier: MIT */
/* The full report: everything that was found, as tables and lists.
 *
 * A section takes the facts it knows how to lay out; what no section took is listed as it is, so that a new fact shows
 * up without an edit here. Facts that are not ok come last, grouped by reason.
 */
#include "facts/trust.h"
#include "report/compare.h"
#include "report/reasons.h"
#include "report/report.h"
#include "report/table.h"
#include "report/value.h"

#include <stdlib.h>
#include <string.h>

struct page {
	FILE *out;
	const struct xr_description *d;
	const struct xr_style *style;
	struct xr_arena *arena;
	bool verbose;
	bool *taken;  /* by place in the description: shown, or not to be shown */
	bool *wanted; /* the same: among those selected */
};

static const char *paint(const struct page *page, const char *code)
{
	return page->style->colour ? code : "";
}

static void heading(const struct page *page, const char *title, const char *beside)
{
	fprintf(page->out, "\n%s%s%s", paint(page, "\033[1m"), title, paint(page, "\033[0m"));
	if (*beside)
		fprintf(page->out, "%s %s%s", paint(page, "\033[2m"), beside, paint(page, "\033[0m"));
	fputc('\n', page->out);
}

/* A fact worth showing in place: ok or doubtful, not yet taken. */
static bool open_fact(const struct page *page, size_t i)
{
	return !page->taken[i] && xr_description_at(page->d, i)->value;
}

static long index_of(const struct page *page, const char *id)
{
	for (size_t i = 0; i < xr_description_count(page->d); i++)
		if (!strcmp(xr_description_at(page->d, i)->id, id))
			return (long)i;
	return -1;
}

/* The words for the fact of this id; it counts as shown. "" when there is none. */
static const char *take(struct page *page, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(page->d, id);
	if (!fact || !fact->value)
		return "";
	long i = index_of(page, id);
	if (page->taken[i])
		return "";
	page->taken[i] = true;
	const char *words = xr_fact_words(page->arena, fact, xr_trust_usual);
	if (!json_is_number(fact->claimed) || xr_values_agree(fact->value, fact->claimed, fact->unit, fact->id))
		return words;
	return xr_arena_printf(page->arena, "%s (OS: %s)", words,
	                       xr_value_words(page->arena, fact->claimed, fact->unit));
}

/* The n-th dotted word of an id, n from 0; "" when it has fewer. */
static const char *word_of(struct xr_arena *arena, const char *id, int n)
{
	while (n-- > 0) {
		id = strchr(id, '.');
		if (!id)
			return "";
		id++;
	}
	return xr_arena_printf(arena, "%.*s", (int)strcspn(id, "."), id);
}

/* Different n-th words of open facts under the selector, in order of appearance. */
static size_t words_under(struct page *page, const char *sel, int n, const char **words, size_t max)
{
	size_t count = 0;
	for (size_t i = 0; i < xr_description_count(page->d); i++) {
		const char *id = xr_description_at(page->d, i)->id;
		if (!open_fact(page, i) || !xr_id_matches(id, sel))
			continue;
		const char *word = word_of(page->arena, id, n);
		size_t seen = 0;
		while (seen < count && strcmp(words[seen], word))
			seen++;
		if (seen == count && count < max)
			words[count++] = word;
	}
	return count;
}

/* ---- the top ----------------------------------------------------------------------------------------------------- */

static void top_part(const struct page *page, size_t *column, const char *text, const char *unit)
{
	if (!*text)
		return;
	const char *safe = xr_arena_printf(page->arena, "%s%s", xr_safe_text(page->arena, text), unit);
	size_t columns = xr_text_columns(safe) + (*column ? 3 : 0);
	bool breaks = *column && page->style->width > 0 && *column + columns > (size_t)page->style->width;
	fprintf(page->out, "%s%s", !*column ? "" : breaks ? "\n" : page->style->unicode ? " · " : ", ", safe);
	*column = breaks ? columns - 3 : *column + columns;
}

/* Who reads no further has read this. */
static void print_disturbed(const struct page *page)
{
	const json_t *target = xr_description_target_const(page->d);
	const json_t *words = json_object_get(json_object_get(target, "conditions"), "words");
	for (size_t i = 0; i < json_array_size(words); i++)
		if (json_is_string(json_array_get(words, i)))
			fprintf(page->out, "%sDisturbed: %s%s\n", paint(page, "\033[33m"),
			        xr_text_wrap(page->arena,
			                     xr_safe_text(page->arena, json_string_value(json_array_get(words, i))),
			                     page->style->width, strlen("Disturbed: ")),
			        paint(page, "\033[0m"));
}

void xr_report_disturbed(FILE *out, const struct xr_description *d, const char *front)
{
	const json_t *target = xr_description_target_const(d);
	const json_t *words = json_object_get(json_object_get(target, "conditions"), "words");
	struct xr_arena arena = {0};
	for (size_t i = 0; i < json_array_size(words); i++)
		if (json_is_string(json_array_get(words, i)))
			fprintf(out, "%s%s\n", front,
			        xr_safe_text(&arena, json_string_value(json_array_get(words, i))));
	xr_arena_release(&arena);
}

static void print_top(const struct page *page)
{
	const struct xr_description *d = page->d;
	const char *name = xr_description_target_text(d, "name"), *cpu = xr_description_target_text(d, "cpu");
	size_t column = 0;
	print_disturbed(page);
	fprintf(page->out, "%sX-Ray of %s%s\n", paint(page, "\033[1m"),
	        xr_safe_text(page->arena, *cpu    ? cpu
	                                  : *name ? name
	                                          : "a machine"),
	        paint(page, "\033[0m"));
	fputs(paint(page, "\033[2m"), page->out);
	if (*cpu && strcmp(cpu, name) != 0)
		top_part(page, &column, name, "");
	top_part(page, &column, xr_description_target_text(d, "os"), "");
	const char *flags = xr_description_target_text(d, "cflags");
	top_part(page, &column, xr_description_target_text(d, "compiler"),
	         *flags ? xr_arena_printf(page->arena, " %s", xr_safe_text(page->arena, flags)) : "");
	top_part(page, &column, xr_description_target_text(d, "date"), "");
	if (xr_description_target_number(d, "seconds") > 0)
		top_part(page, &column,
		         xr_arena_printf(page->arena, "%.1f", xr_description_target_number(d, "seconds")), " s");
	if (json_is_true(json_object_get(xr_description_target_const(d), "quick")))
		top_part(page, &column, "quick", "");
	fprintf(page->out, "%s\n", paint(page, "\033[0m"));
}

/* ---- tables: one row per second word, one column per kind of fact ------------------------------------------------ */

struct column {
	const char *suffix, *heading;
};

struct grid {
	const char *title, *beside, *family;
	const struct column *column; /* ended by a NULL suffix */
};

static const struct column cache_columns[] = {
	{"capacity", "size"},
	{"ways", "ways"},
	{"line", "line"},
	{"latency", "latency"},
	{"policy", "policy"},
	{"shared_by", "cores"},
	{"inclusion", "inclusion"},
	{"index", "index"},
	{"unified", "unified"},
	{"write_allocate", "allocates"},
	{"write_back", "writes back"},
	{"bandwidth.read", "read"},
	{"bandwidth.write", "write"},
	{"bandwidth.copy", "copy"},
	{NULL, NULL},
};
static const struct column tlb_columns[] = {
	{"entries", "entries"}, {"ways", "ways"},   {"penalty", "penalty"},
	{"page", "page"},       {"reach", "reach"}, {NULL, NULL},
};
static const struct column bandwidth_columns[] = {{"one", "one core"}, {"all", "all cores"}, {NULL, NULL}};

static const struct grid grids[] = {
	{"Caches", "latency in cycles", "cache", cache_columns},
	{"TLBs", "penalty in cycles", "tlb", tlb_columns},
	{"Memory bandwidth", "", "memory.bandwidth", bandwidth_columns},
};

static int dots(const char *text)
{
	int n = 0;
	for (; *text; text++)
		n += *text == '.';
	return n;
}

enum { COLUMNS_MAX = 24, ROWS_MAX = 64 };

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void print_grid(struct page *page, const struct grid *grid)
{
	const char *names[ROWS_MAX], *headings[COLUMNS_MAX] = {""};
	struct xr_table table;
	size_t columns = 0, filled = 0;
	int row_word = dots(grid->family) + 1;
	size_t rows = words_under(page, grid->family, row_word, names, ROWS_MAX);
	qsort(names, rows, sizeof *names, by_name);
	for (; grid->column[columns].suffix; columns++)
		headings[columns + 1] = grid->column[columns].heading;
	xr_table_init(&table, page->arena, headings, columns + 1);
	for (size_t r = 0; r < rows; r++) {
		const char *cell[COLUMNS_MAX];
		size_t cells = 0;
		for (size_t c = 0; c < columns; c++) {
			cell[c] = take(page, xr_arena_printf(page->arena, "%s.%s.%s", grid->family, names[r],
			                                     grid->column[c].suffix));
			cells += *cell[c] != 0;
		}
		if (!cells)
			continue;
		size_t row = xr_table_add(&table, names[r]);
		for (size_t c = 0; c < columns; c++)
			xr_table_set(&table, row, c + 1, cell[c]);
		filled += cells;
	}
	if (!filled)
		return;
	heading(page, grid->title, grid->beside);
	xr_table_print(&table, page->out, page->style);
}

/* ---- operations: rows are operations, columns types, cells "latency / throughput" ------------------------------------- */

/* "1.00", or "12.00-18.00" where the cost depends on the operands. */
static const char *take_range(struct page *page, const char *stem, const char *what)
{
	const char *id = xr_arena_printf(page->arena, "%s.%s", stem, what);
	const struct xr_fact *least = xr_description_fact(page->d, id);
	const char *low = take(page, id);
	id = xr_arena_printf(page->arena, "%s_max", id);
	const struct xr_fact *most = xr_description_fact(page->d, id);
	const char *high = take(page, id);
	if (!*high || !*low || !least || !most || xr_values_agree(least->value, most->value, least->unit, least->id))
		return *low ? low : "-";
	return xr_arena_printf(page->arena, "%s-%s", low, high);
}

/* One table of the types that are vectors, or of those that are not: side by side they fit no page. */
static void print_operations(struct page *page, bool vectors)
{
	const char *ops[ROWS_MAX], *all[COLUMNS_MAX], *types[COLUMNS_MAX + 1] = {""};
	struct xr_table table;
	size_t n_ops = words_under(page, "op", 1, ops, ROWS_MAX);
	size_t n_all = words_under(page, "op", 2, all, COLUMNS_MAX), n_types = 0;
	for (size_t i = 0; i < n_all; i++)
		if ((all[i][0] == 'v') == vectors)
			types[++n_types] = all[i];
	if (!n_types)
		return;
	xr_table_init(&table, page->arena, types, n_types + 1);
	for (size_t o = 0; o < n_ops; o++) {
		size_t row = xr_table_add(&table, ops[o]);
		for (size_t t = 1; t <= n_types; t++) {
			const char *stem = xr_arena_printf(page->arena, "op.%s.%s", ops[o], types[t]);
			const char *latency = take_range(page, stem, "latency");
			const char *throughput = take_range(page, stem, "throughput");
			take(page, xr_arena_printf(page->arena, "%s.in_flight", stem)); /* their ratio */
			if (strcmp(latency, "-") || strcmp(throughput, "-"))
				xr_table_set(&table, row, t,
				             xr_arena_printf(page->arena, "%s / %s", latency, throughput));
		}
	}
	heading(page, vectors ? "Vector operations" : "Operations", "latency / throughput, cycles");
	xr_table_print(&table, page->out, page->style);
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

struct list {
	const char *title;
	const char *family[8];
};

static const struct list lists[] = {
	{"Clock", {"cpu", "timer"}},
	{"Operations", {"op"}},
	{"Core", {"registers", "isa", "branch", "core", "code", "load", "store"}},
	{"Units", {"units"}},
	{"Memory", {"cache", "memory", "prefetch", "tlb"}},
	{"Cores and OS", {"threads", "sharing", "topology", "comm", "os"}},
	{"Statement", {"statement"}},
	{"Quiet or not", {"noise"}},
};

static const char *with_unit(struct page *page, const struct xr_fact *fact, const char *words)
{
	bool bare = !strcmp(fact->unit, "cycles") || !strcmp(fact->unit, "lines") || !strcmp(fact->unit, "entries");
	return bare ? xr_arena_printf(page->arena, "%s %s", words, fact->unit) : words;
}

static size_t widest_id(const struct page *page, const bool *chosen)
{
	size_t widest = 0;
	for (size_t i = 0; i < xr_description_count(page->d); i++) {
		size_t n = chosen[i] ? strlen(xr_description_at(page->d, i)->id) : 0;
		widest = n > widest && n < 40 ? n : widest;
	}
	return widest;
}

static void print_fact(struct page *page, size_t i, size_t width)
{
	const struct xr_fact *fact = xr_description_at(page->d, i);
	const char *words = with_unit(page, fact, take(page, fact->id));
	page->taken[i] = true;
	fprintf(page->out, "  %-*s  %s", (int)width, fact->id, words);
	if (page->verbose)
		fprintf(page->out, "%s  (%.0f %% sure, %s)%s", paint(page, "\033[2m"), fact->confidence * 100,
		        xr_safe_text(page->arena, fact->method), paint(page, "\033[0m"));
	fputc('\n', page->out);
}

/* Facts under any of the selectors; all open ones when there are none. */
static void print_list(struct page *page, const char *title, const char *const *select, size_t n_select)
{
	size_t n = xr_description_count(page->d), found = 0;
	bool *chosen = xr_arena_array(page->arena, bool, n + 1);
	for (size_t i = 0; i < n; i++) {
		bool fits = n_select == 0;
		for (size_t s = 0; s < n_select; s++)
			fits |= xr_id_matches(xr_description_at(page->d, i)->id, select[s]);
		chosen[i] = fits && open_fact(page, i);
		found += chosen[i];
	}
	if (!found)
		return;
	size_t width = widest_id(page, chosen);
	heading(page, title, "");
	for (size_t i = 0; i < n; i++)
		if (chosen[i])
			print_fact(page, i, width);
}

static void print_one_list(struct page *page, const struct list *list)
{
	size_t n = 0;
	while (n < sizeof list->family / sizeof *list->family && list->family[n])
		n++;
	print_list(page, list->title, list->family, n);
}

/* ---- what instructions there are, and what not, in a line each --------------------------------------------------------- */

/* Types of a family whose answer is yes, or no; they count as shown. */
static const char *types_with(struct page *page, const char *family, bool answer)
{
	const char *types = "";
	size_t n = strlen(family);
	for (size_t i = 0; i < xr_description_count(page->d); i++) {
		const struct xr_fact *fact = xr_description_at(page->d, i);
		if (!open_fact(page, i) || strncmp(fact->id, family, n) || fact->id[n] != '.' ||
		    strchr(fact->id + n + 1, '.') || !json_is_boolean(fact->value) ||
		    json_is_true(fact->value) != answer)
			continue;
		page->taken[i] = true;
		types = xr_arena_printf(page->arena, "%s%s%s%s", types, *types ? " " : "", fact->id + n + 1,
		                        fact->status != XR_OK                                ? "?"
		                        : !xr_trust_enough(fact->confidence, xr_trust_usual) ? "~"
		                                                                             : "");
	}
	return types;
}

static void print_instructions(struct page *page)
{
	static const char *const families[] = {"isa.fpu", "isa.fma", "isa.plain.fma", "isa.simd"};
	bool titled = false;
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		const char *has = types_with(page, families[i], true), *lacks = types_with(page, families[i], false);
		if (!*has && !*lacks)
			continue;
		if (!titled)
			heading(page, "Instructions", "");
		titled = true;
		fprintf(page->out, "  %-13s  %s%s%s%s\n", families[i], has, *has && *lacks ? "; " : "",
		        *lacks ? "not " : "", lacks);
	}
}

/* ---- lists of lists, one item a line ------------------------------------------------------------------------------- */

enum { SHORT_LIST = 3 };

static bool is_long_list(const struct xr_fact *fact)
{
	const json_t *first = json_array_get(fact->value, 0);
	return json_array_size(fact->value) > SHORT_LIST && json_is_string(json_array_get(first, 0));
}

static void print_long_lists(struct page *page)
{
	for (size_t i = 0; i < xr_description_count(page->d); i++) {
		const struct xr_fact *fact = xr_description_at(page->d, i);
		if (!open_fact(page, i) || !is_long_list(fact))
			continue;
		page->taken[i] = true;
		heading(page, fact->id, fact->status == XR_OK ? "" : "in doubt");
		for (size_t k = 0; k < json_array_size(fact->value); k++)
			fprintf(page->out, "  %s\n",
			        xr_value_words(page->arena, json_array_get(fact->value, k), fact->unit));
	}
}

/* ---- matrices: rows and columns are CPUs ------------------------------------------------------------------------- */

enum { MATRIX_MAX = 17 };

static void print_matrix(struct page *page, const struct xr_fact *fact)
{
	const json_t *cpus = json_object_get(fact->value, "cpus"), *rows = json_object_get(fact->value, "rows");
	size_t n = json_array_size(cpus);
	const char *headings[MATRIX_MAX + 1] = {"CPU"};
	struct xr_table table;
	if (n < 2 || n >= MATRIX_MAX || json_array_size(rows) != n) /* larger ones are for the JSON and the page */
		return;
	for (size_t i = 0; i < n; i++)
		headings[i + 1] = xr_value_words(page->arena, json_array_get(cpus, i), "");
	xr_table_init(&table, page->arena, headings, n + 1);
	for (size_t i = 0; i < n; i++) {
		size_t row = xr_table_add(&table, headings[i + 1]);
		for (size_t j = 0; j < n && j < json_array_size(json_array_get(rows, i)); j++)
			xr_table_set(
				&table, row, j + 1,
				xr_value_words(page->arena, json_array_get(json_array_get(rows, i), j), fact->unit));
	}
	heading(page, fact->id, "from row to column");
	xr_table_print(&table, page->out, page->style);
}

static void print_matrices(struct page *page)
{
	for (size_t i = 0; i < xr_description_count(page->d); i++)
		if (page->wanted[i] && json_is_array(json_object_get(xr_description_at(page->d, i)->value, "rows")))
			print_matrix(page, xr_description_at(page->d, i));
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static struct page page_of(FILE *out, const struct xr_description *d, const struct xr_style *style,
                           struct xr_arena *arena, bool verbose)
{
	struct page page = {
		.out = out,
		.d = d,
		.style = style,
		.arena = arena,
		.verbose = verbose,
		.taken = xr_arena_array(arena, bool, xr_description_count(d) + 1),
		.wanted = xr_arena_array(arena, bool, xr_description_count(d) + 1),
	};
	memset(page.wanted, true, xr_description_count(d));
	return page;
}

static void print_sections(struct page *page)
{
	print_one_list(page, &lists[0]);
	if (!page->verbose) {
		print_operations(page, false);
		print_operations(page, true);
		for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
			print_grid(page, &grids[i]);
		print_instructions(page);
		print_long_lists(page);
	}
	for (size_t i = 1; i < sizeof lists / sizeof *lists; i++)
		print_one_list(page, &lists[i]);
	print_list(page, "Others", NULL, 0);
	print_matrices(page);
}

static void print_legend(const struct page *page)
{
	bool less = false, doubt = false;
	for (size_t i = 0; i < xr_description_count(page->d); i++) {
		const struct xr_fact *fact = xr_description_at(page->d, i);
		less |= fact->value && fact->status == XR_OK && !xr_trust_enough(fact->confidence, xr_trust_usual);
		doubt |= fact->value && fact->status == XR_UNRELIABLE;
	}
	if (less || doubt)
		fprintf(page->out, "\n%s%s%s%s%s\n", paint(page, "\033[2m"), less ? "~ less than 90 % sure" : "",
		        less && doubt ? "   " : "", doubt ? "? in doubt, not to build on" : "", paint(page, "\033[0m"));
}

void xr_report_terminal(FILE *out, const struct xr_description *d, const struct xr_style *style, bool verbose)
{
	struct xr_arena arena = {0};
	struct page page = page_of(out, d, style, &arena, verbose);
	print_top(&page);
	print_sections(&page);
	xr_reasons_print(&(struct xr_reasons){out, d, style, &arena, verbose,
	                                      xr_arena_array(&arena, bool, xr_description_count(d) + 1)});
	print_legend(&page);
	xr_arena_release(&arena);
}

/* Is there enough for a table? One row is better read as a list. */
static bool worth_a_table(struct page *page)
{
	static const struct {
		const char *family;
		int row_word;
	} tables[] = {{"op", 1}, {"cache", 1}, {"tlb", 1}, {"memory.bandwidth", 2}};
	const char *rows[ROWS_MAX];
	for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
		size_t facts = 0;
		for (size_t f = 0; f < xr_description_count(page->d); f++)
			facts += open_fact(page, f) &&
			         xr_id_matches(xr_description_at(page->d, f)->id, tables[i].family);
		if (facts >= 6 && words_under(page, tables[i].family, tables[i].row_word, rows, ROWS_MAX) > 1)
			return true;
	}
	return false;
}

void xr_report_facts(FILE *out, const struct xr_description *d, const struct xr_style *style, const char *const *select,
                     size_t n_select, bool verbose)
{
	struct xr_arena arena = {0};
	struct page page = page_of(out, d, style, &arena, verbose);
	size_t n = xr_description_count(d);
	bool *said = xr_arena_array(&arena, bool, n + 1), *chosen = xr_arena_array(&arena, bool, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		for (size_t s = 0; s < n_select; s++)
			chosen[i] |=
				xr_id_matches(fact->id, select[s]) || (fact->micro && !strcmp(fact->micro, select[s]));
		said[i] = page.taken[i] = !chosen[i];
		page.wanted[i] = chosen[i];
		chosen[i] &= fact->value != NULL;
	}
	if (!verbose && worth_a_table(&page)) {
		print_sections(&page);
	} else {
		size_t width = widest_id(&page, chosen);
		for (size_t i = 0; i < n; i++)
			if (chosen[i] && !page.taken[i])
				print_fact(&page, i, width);
	}
	xr_reasons_print(&(struct xr_reasons){out, d, style, &arena, verbose, said});
	xr_arena_release(&arena);
}
