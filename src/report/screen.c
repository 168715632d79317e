/* SPDX-License-Identifier: MIT */
/* The machine on one screen: what an engineer asks first, in at most 40 lines.
 *
 * Machine; core; the hierarchy with what was measured and, where it differs, claimed; TLBs, memory, cores, OS in
 * a line each; then what differs from the OS, and what is in doubt, in plain words. Lines are made in memory
 * first, so that the last parts know how much room there is; where a narrow screen leaves them none, the report is
 * made again with less detail.
 */
#include "report/screen.h"

#include "facts/trust.h"
#include "report/compare.h"
#include "report/table.h"
#include "report/value.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_MAX = 40, PARTS_MAX = 16, LABEL = 8, BAR = 20, BAR_LEAST = 8 };

/* When a narrow screen goes without it. */
enum { SHED_FIRST = 1, SHED_SECOND, SHED_THIRD, SHED_NEVER };

/* ---- words ---------------------------------------------------------------------------------------------------------- */

static const char *paint(const struct xr_screen *s, const char *code)
{
	return s->style->colour ? code : "";
}

static const struct xr_fact *valued(const struct xr_screen *s, const char *id)
{
	const struct xr_fact *fact = xr_description_fact(s->d, id);
	return fact && fact->value ? fact : NULL;
}

static const char *mark(struct xr_screen *s, const struct xr_fact *fact)
{
	if (fact->status != XR_OK) {
		s->doubted = true;
		return "?";
	}
	if (!xr_trust_enough(fact->confidence, xr_trust_usual)) {
		s->less_sure = true;
		return "~";
	}
	return "";
}

/* "4", "14.3", "567~": cycles without the decimals that say nothing; all else as everywhere. "" when there is none. */
static const char *say(struct xr_screen *s, const char *id)
{
	const struct xr_fact *fact = valued(s, id);
	if (!fact)
		return "";
	if (json_is_number(fact->value) && !strcmp(fact->unit, "cycles")) {
		double value = json_number_value(fact->value);
		return xr_arena_printf(s->arena, "%.*f%s", value == rint(value) || value >= 99.95 ? 0 : 1, value,
		                       mark(s, fact));
	}
	const char *words = xr_value_words(s->arena, fact->value, fact->unit);
	return *words ? xr_arena_printf(s->arena, "%s%s", words, mark(s, fact)) : "";
}

static double number(const struct xr_screen *s, const char *id)
{
	const struct xr_fact *fact = valued(s, id);
	return fact && json_is_number(fact->value) ? json_number_value(fact->value) : 0;
}

/* ---- lines ---------------------------------------------------------------------------------------------------------- */

size_t xr_screen_lines(const struct xr_screen *s)
{
	size_t n = 0;
	for (const char *c = xr_strbuf_text(&s->text); *c; c++)
		n += *c == '\n';
	return n;
}

/* Words of a text, broken at blanks to the width; lines after the first are indented. */
void xr_screen_wrapped(struct xr_screen *s, const char *text, size_t column, size_t indent)
{
	while (*text) {
		size_t n = strcspn(text, " ");
		const char *word = xr_text_clip(s->arena, xr_arena_printf(s->arena, "%.*s", (int)n, text),
		                                s->width - indent, s->style->unicode);
		size_t columns = xr_text_columns(word);
		if (column > indent && column + 1 + columns > s->width) {
			xr_strbuf_printf(&s->text, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			xr_strbuf_printf(&s->text, " ");
			column++;
		}
		xr_strbuf_printf(&s->text, "%s", word);
		column += columns;
		text += n;
		text += strspn(text, " ");
	}
	xr_strbuf_printf(&s->text, "\n");
}

/* Something like "3.69 GHz · 6 operations a cycle": parts stay whole where they can. */
struct parts {
	const char *part[PARTS_MAX];
	size_t n;
};

static void add(struct xr_screen *s, struct parts *parts, const char *before, const char *words, const char *behind)
{
	if (*words && parts->n < PARTS_MAX)
		parts->part[parts->n++] = xr_arena_printf(s->arena, "%s%s%s", before, words, behind);
}

static void add_fact(struct xr_screen *s, int when, struct parts *parts, const char *before, const char *id,
                     const char *behind)
{
	if (s->shed < when)
		add(s, parts, before, say(s, id), behind);
}

static void put_parts(struct xr_screen *s, const char *label, const struct parts *parts)
{
	const char *dot = s->style->unicode ? " · " : " | ";
	size_t column = LABEL + 2;
	if (!parts->n)
		return;
	xr_strbuf_printf(&s->text, "%s%-*s%s", paint(s, "\033[1m"), LABEL + 2, label, paint(s, "\033[0m"));
	for (size_t i = 0; i < parts->n; i++) {
		size_t columns = xr_text_columns(parts->part[i]);
		bool first = column == LABEL + 2;
		if (!first && column + 3 + columns > s->width) {
			xr_strbuf_printf(&s->text, "\n%*s", LABEL + 2, "");
			column = LABEL + 2;
			first = true;
		}
		const char *part = LABEL + 2 + columns > s->width
		                           ? xr_text_wrap(s->arena, parts->part[i], (int)s->width, LABEL + 2)
		                           : parts->part[i];
		xr_strbuf_printf(&s->text, "%s%s", first ? "" : dot, part);
		column += columns + (first ? 0 : 3);
	}
	xr_strbuf_printf(&s->text, "\n");
}

void xr_screen_heading(struct xr_screen *s, const char *title)
{
	xr_strbuf_printf(&s->text, "\n%s%s%s\n", paint(s, "\033[1m"), title, paint(s, "\033[0m"));
}

/* ---- the top -------------------------------------------------------------------------------------------------------- */

/* At most two lines of somebody else's text. */
static const char *bounded(const struct xr_screen *s, const char *text)
{
	return xr_text_clip(s->arena, xr_safe_text(s->arena, text), 2 * (s->width - LABEL - 2), s->style->unicode);
}

static const char *target_text(const struct xr_screen *s, const char *key)
{
	return bounded(s, xr_description_target_text(s->d, key));
}

static void put_top(struct xr_screen *s)
{
	const char *cpu = target_text(s, "cpu"), *name = target_text(s, "name");
	double seconds = xr_description_target_number(s->d, "seconds");
	struct parts parts = {0};
	xr_strbuf_printf(&s->text, "%sX-Ray of ", paint(s, "\033[1m"));
	xr_screen_wrapped(s, *cpu ? cpu : *name ? name : "a machine", strlen("X-Ray of "), strlen("X-Ray of "));
	xr_strbuf_printf(&s->text, "%s", paint(s, "\033[0m"));
	if (*cpu && strcmp(name, "host") != 0 && strcmp(name, cpu) != 0 && s->shed < SHED_SECOND)
		add(s, &parts, "", name, "");
	if (s->shed < SHED_FIRST) {
		const char *flags = target_text(s, "cflags");
		add(s, &parts, "", target_text(s, "os"), "");
		add(s, &parts, "", target_text(s, "compiler"), *flags ? xr_arena_printf(s->arena, " %s", flags) : "");
	}
	add(s, &parts, "", target_text(s, "date"), "");
	if (seconds > 0)
		add(s, &parts, "", xr_arena_printf(s->arena, "%.1f", seconds), " s");
	if (json_is_true(json_object_get(xr_description_target_const(s->d), "quick")))
		add(s, &parts, "", "quick", "");
	put_parts(s, "measured", &parts);
}

/* What disturbed the run, when it mattered. First of all: who reads no further has read this. */
static void put_conditions(struct xr_screen *s)
{
	const json_t *conditions = json_object_get(xr_description_target_const(s->d), "conditions");
	const json_t *words = json_object_get(conditions, "words");
	for (size_t i = 0; i < json_array_size(words) && i < (s->shed < SHED_SECOND ? 3 : 1); i++) {
		const char *text = json_string_value(json_array_get(words, i));
		if (!text)
			continue;
		xr_strbuf_printf(&s->text, "%s%-*s", paint(s, "\033[33m"), LABEL + 2, i ? "" : "disturbed");
		xr_screen_wrapped(s, bounded(s, text), LABEL + 2, LABEL + 2);
		xr_strbuf_printf(&s->text, "%s", paint(s, "\033[0m"));
	}
}

/* ---- core ----------------------------------------------------------------------------------------------------------- */

/* "mul 3": least latency of an operation, and the most where operands matter. */
static void add_op(struct xr_screen *s, struct parts *parts, const char *op, const char *type)
{
	const char *low = say(s, xr_arena_printf(s->arena, "op.%s.%s.latency", op, type));
	const char *high = say(s, xr_arena_printf(s->arena, "op.%s.%s.latency_max", op, type));
	if (!*low)
		return;
	bool range = *high && strcmp(low, high) != 0;
	add(s, parts, xr_arena_printf(s->arena, "%s ", op), low, range ? xr_arena_printf(s->arena, "-%s", high) : "");
}

static void put_ops(struct xr_screen *s, const char *label, const char *type)
{
	static const char *const ops[] = {"add", "mul", "fma", "div", "sqrt"};
	struct parts parts = {0};
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		if (s->shed < SHED_SECOND || strcmp(ops[i], "sqrt") != 0)
			add_op(s, &parts, ops[i], type);
	if (parts.n && s->shed < SHED_FIRST)
		parts.part[parts.n - 1] = xr_arena_printf(s->arena, "%s cycles", parts.part[parts.n - 1]);
	put_parts(s, label, &parts);
}

/* A line that is not there says nothing: why it is not, does. */
static void put_uncompiled(struct xr_screen *s)
{
	const struct xr_fact *fact = xr_description_fact(s->d, "registers.int");
	struct parts parts = {0};
	if (!fact || fact->status != XR_UNSUPPORTED || strcmp(xr_fact_reason(fact), "needs a C compiler") != 0)
		return;
	add(s, &parts, "", "operations, registers, units and instructions need a C compiler", "");
	put_parts(s, "", &parts);
}

static void put_core(struct xr_screen *s)
{
	struct parts core = {0}, ways = {0}, registers = {0};
	static const char *const files[] = {"int", "f64", "v16", "v32", "v64"};
	const char *last = "";
	add_fact(s, SHED_NEVER, &core, "", "cpu.frequency", "");
	add_fact(s, SHED_NEVER, &core, "", "units.width", s->shed ? " ops a cycle" : " operations a cycle");
	add_fact(s, SHED_THIRD, &core, "", "isa.simd.width", " vectors");
	put_parts(s, "Core", &core);
	add_fact(s, SHED_NEVER, &ways, "mispredicted branch ", "branch.mispredict", "");
	add_fact(s, SHED_FIRST, &ways, "load to use ", "core.load_to_use", "");
	add_fact(s, SHED_FIRST, &ways, "store to load ", "core.store_forward", "");
	put_parts(s, "  cycles", &ways);
	put_ops(s, "  i64", "i64");
	put_ops(s, "  f64", "f64");
	for (size_t i = 0; i < sizeof files / sizeof *files && s->shed < SHED_THIRD; i++) {
		const char *n = say(s, xr_arena_printf(s->arena, "registers.%s", files[i]));
		if (*n && (i < 2 || strcmp(n, last) != 0)) /* vectors of all widths mostly share theirs */
			add(s, &registers, n, " ", files[i]);
		last = i >= 2 ? n : last;
	}
	put_parts(s, "  regs", &registers);
	put_uncompiled(s);
}

/* ---- the hierarchy -------------------------------------------------------------------------------------------------- */

/* As long as the logarithm of the latency, memory's being full. */
static const char *bar(const struct xr_screen *s, double cycles, double most, size_t columns)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	struct xr_strbuf out = {0};
	if (!(cycles >= 1) || !(most > 1))
		return "";
	double length = (double)columns * fmin(log(cycles + 1) / log(most + 1), 1);
	int whole = (int)length, rest = (int)((length - whole) * 8);
	for (int i = 0; i < whole; i++)
		xr_strbuf_printf(&out, "%s", s->style->unicode ? "█" : "#");
	if (s->style->unicode)
		xr_strbuf_printf(&out, "%s", eighths[rest]);
	const char *text = xr_arena_strdup(s->arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return text;
}

static const char *claim_that_differs(struct xr_screen *s, const char *id)
{
	const struct xr_fact *fact = valued(s, id);
	if (!fact || !fact->claimed || xr_values_agree(fact->value, fact->claimed, fact->unit, fact->id))
		return "";
	return xr_value_words(s->arena, fact->claimed, fact->unit);
}

enum { NAME, SIZE, CLAIM, WAYS, LINE, CORES, CYCLES, NS, PICTURE, COLUMNS };

static const char *ns_of(struct xr_screen *s, double cycles)
{
	double hz = number(s, "cpu.frequency");
	if (!(cycles > 0) || !(hz > 0))
		return "";
	double ns = cycles / hz * 1e9;
	return xr_arena_printf(s->arena, "%.*f ns", ns < 9.95 ? 1 : 0, ns);
}

static void put_level(struct xr_screen *s, struct xr_table *table, const char *level)
{
	const char *stem = xr_arena_printf(s->arena, "cache.%s", level);
	const char *capacity = xr_arena_printf(s->arena, "%s.capacity", stem);
	const char *latency = xr_arena_printf(s->arena, "%s.latency", stem);
	char *name = xr_arena_strdup(s->arena, level);
	name[0] = (char)toupper((unsigned char)name[0]);
	size_t row = xr_table_add(table, name);
	xr_table_set(table, row, SIZE, say(s, capacity));
	xr_table_set(table, row, CLAIM, claim_that_differs(s, capacity));
	xr_table_set(table, row, WAYS, say(s, xr_arena_printf(s->arena, "%s.ways", stem)));
	xr_table_set(table, row, LINE, say(s, xr_arena_printf(s->arena, "%s.line", stem)));
	xr_table_set(table, row, CORES, say(s, xr_arena_printf(s->arena, "%s.shared_by", stem)));
	xr_table_set(table, row, CYCLES, say(s, latency));
	xr_table_set(table, row, NS, ns_of(s, number(s, latency)));
}

static void clear_column(struct xr_table *table, size_t column)
{
	for (size_t row = 0; row < table->rows; row++)
		xr_table_set(table, row, column, "");
}

/* On a narrow screen, sizes and cycles are what counts. What is left of a wide one is for bars. */
static void fit_table(struct xr_screen *s, struct xr_table *table, const double *cycles)
{
	static const int order[] = {NS, CORES, LINE, WAYS};
	double most = 0;
	for (size_t i = 0; i < sizeof order / sizeof *order && xr_table_width(table) > s->width; i++)
		clear_column(table, (size_t)order[i]);
	size_t used = xr_table_width(table) + 2;
	if (used + BAR_LEAST > s->width)
		return;
	for (size_t row = 0; row < table->rows; row++)
		most = fmax(most, cycles[row]);
	size_t columns = s->width - used < BAR ? s->width - used : BAR;
	for (size_t row = 0; row < table->rows; row++)
		xr_table_set(table, row, PICTURE, bar(s, cycles[row], most, columns));
}

static void print_table(struct xr_screen *s, const struct xr_table *table)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return;
	xr_table_print(table, out, s->style);
	fclose(out);
	xr_strbuf_add(&s->text, text, bytes);
	free(text);
}

static bool any_known(const struct xr_screen *s, const char *sel)
{
	for (size_t i = 0; i < xr_description_count(s->d); i++) {
		const struct xr_fact *fact = xr_description_at(s->d, i);
		if (fact->value && xr_id_matches(fact->id, sel))
			return true;
	}
	return false;
}

static void put_hierarchy(struct xr_screen *s)
{
	static const char *const levels[] = {"l1d", "l1i", "l2", "l3", "l4"};
	static const char *const headings[COLUMNS] = {"",      "size",   "OS says", "ways",   "line",
	                                              "cores", "cycles", "time",    "latency"};
	struct xr_table table;
	double cycles[sizeof levels / sizeof *levels + 1];
	xr_table_init(&table, s->arena, headings, COLUMNS);
	table.whole = true;
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		const char *sel = xr_arena_printf(s->arena, "cache.%s", levels[i]);
		if (!any_known(s, sel))
			continue;
		cycles[table.rows] = number(s, xr_arena_printf(s->arena, "%s.latency", sel));
		put_level(s, &table, levels[i]);
	}
	if (*say(s, "memory.latency")) {
		cycles[table.rows] = number(s, "memory.latency");
		size_t row = xr_table_add(&table, "memory");
		const char *ns = say(s, "memory.latency_ns");
		xr_table_set(&table, row, CYCLES, say(s, "memory.latency"));
		xr_table_set(&table, row, NS, *ns ? ns : ns_of(s, number(s, "memory.latency")));
	}
	if (!table.rows)
		return;
	fit_table(s, &table, cycles);
	xr_strbuf_printf(&s->text, "\n");
	print_table(s, &table);
	xr_strbuf_printf(&s->text, "\n");
}

/* ---- the rest in a line each ---------------------------------------------------------------------------------------- */

static void put_tlbs(struct xr_screen *s)
{
	static const char *const tlbs[] = {"d1", "d2", "d3", "i1"};
	struct parts parts = {0};
	double page = number(s, "memory.page_size");
	for (size_t i = 0; i < sizeof tlbs / sizeof *tlbs; i++) {
		const char *id = xr_arena_printf(s->arena, "tlb.%s.entries", tlbs[i]);
		const char *entries = say(s, id);
		const char *penalty = say(s, xr_arena_printf(s->arena, "tlb.%s.penalty", tlbs[i]));
		if (!*entries)
			continue;
		json_t *reach = json_real(number(s, id) * page);
		const char *reaches =
			page > 0 && s->shed < SHED_FIRST
				? xr_arena_printf(s->arena, " (%s)", xr_value_words(s->arena, reach, "bytes"))
				: "";
		json_decref(reach);
		add(s, &parts, xr_arena_printf(s->arena, "%s ", tlbs[i]), entries,
		    xr_arena_printf(s->arena, " entries%s%s%s%s", reaches, *penalty ? ", +" : "", penalty,
		                    *penalty ? " cycles" : ""));
	}
	put_parts(s, "TLBs", &parts);
}

static void add_bandwidth(struct xr_screen *s, int when, struct parts *parts, const char *what)
{
	const char *all = "";
	if (s->shed < SHED_FIRST)
		all = say(s, xr_arena_printf(s->arena, "memory.bandwidth.%s.all", what));
	add_fact(s, when, parts, xr_arena_printf(s->arena, "%s ", what),
	         xr_arena_printf(s->arena, "memory.bandwidth.%s.one", what),
	         *all ? xr_arena_printf(s->arena, " (all cores %s)", all) : "");
}

static void put_memory(struct xr_screen *s)
{
	struct parts parts = {0};
	const struct xr_fact *huge = valued(s, "memory.huge_pages");
	add_fact(s, SHED_NEVER, &parts, "", "memory.page_size", " pages");
	if (huge)
		add(s, &parts, json_is_true(huge->value) ? "" : "no ", "huge pages", mark(s, huge));
	add_fact(s, SHED_SECOND, &parts, "", "memory.parallelism", " misses at once");
	add_bandwidth(s, SHED_NEVER, &parts, "read");
	add_bandwidth(s, SHED_THIRD, &parts, "write");
	add_bandwidth(s, SHED_SECOND, &parts, "copy");
	put_parts(s, "Memory", &parts);
}

static void put_cores(struct xr_screen *s)
{
	struct parts cores = {0}, os = {0};
	bool one_node = number(s, "topology.numa_nodes") == 1;
	add_fact(s, SHED_NEVER, &cores, "", "threads.logical", " CPUs");
	add_fact(s, SHED_NEVER, &cores, "", "threads.cores", number(s, "threads.cores") == 1 ? " core" : " cores");
	if (number(s, "threads.smt") > 1)
		add_fact(s, SHED_NEVER, &cores, "", "threads.smt", " threads each");
	else if (number(s, "threads.smt") > 0)
		add(s, &cores, "", "no SMT", mark(s, valued(s, "threads.smt")));
	add_fact(s, SHED_SECOND, &cores, "false sharing within ", "sharing.granule", "");
	add_fact(s, SHED_NEVER, &cores, "core to core ", "comm.latency", "");
	add_fact(s, one_node ? SHED_FIRST : SHED_NEVER, &cores, "", "topology.numa_nodes",
	         one_node ? " NUMA node" : " NUMA nodes");
	put_parts(s, "Cores", &cores);
	add_fact(s, SHED_THIRD, &os, "time slice ", "os.timeslice", "");
	add_fact(s, SHED_NEVER, &os, "context switch ", "os.context_switch", "");
	add_fact(s, SHED_FIRST, &os, "tick ", "os.tick", "");
	if (number(s, "noise.lost") > 0 && s->shed < SHED_SECOND)
		add(s, &os, "",
		    xr_arena_printf(s->arena, "%.2g %% of the time lost to others", 100 * number(s, "noise.lost")), "");
	put_parts(s, "OS", &os);
}

/* ---- legend ----------------------------------------------------------------------------------------------------------- */

/* With a blank line before it. */
static size_t put_legend(struct xr_screen *s, bool less_sure, bool doubted)
{
	struct parts parts = {0};
	size_t before = xr_screen_lines(s);
	if (less_sure)
		add(s, &parts, "", "~ less than 90 % sure", "");
	if (doubted)
		add(s, &parts, "", "? in doubt, not to build on", "");
	add(s, &parts, "", "--full shows everything", "");
	add(s, &parts, "", "`xray plot` draws it", "");
	xr_strbuf_printf(&s->text, "\n%s", paint(s, "\033[2m"));
	for (size_t i = 0, column = 0; i < parts.n; i++) {
		size_t columns = xr_text_columns(parts.part[i]);
		if (column && column + 3 + columns > s->width) {
			column = 0;
			xr_strbuf_printf(&s->text, "\n");
		}
		xr_strbuf_printf(&s->text, "%s%s", column ? "   " : "", parts.part[i]);
		column += columns + (column ? 3 : 0);
	}
	xr_strbuf_printf(&s->text, "%s\n", paint(s, "\033[0m"));
	return xr_screen_lines(s) - before;
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

static void clear(struct xr_screen *s)
{
	xr_strbuf_release(&s->text);
	s->text = (struct xr_strbuf){0};
	s->doubted = s->less_sure = false;
}

void xr_report_screen(FILE *out, const struct xr_description *d, const struct xr_style *style)
{
	struct xr_arena arena = {0};
	struct xr_style own = *style;
	own.width = style->width <= 0 ? 100 : style->width < 40 ? 40 : style->width > 110 ? 110 : style->width;
	struct xr_screen s = {.d = d, .style = &own, .arena = &arena, .width = (size_t)own.width};
	size_t last = LINES_MAX - put_legend(&s, true, true), lines = 0;
	for (s.shed = 0; s.shed < SHED_NEVER; s.shed++) {
		clear(&s);
		put_conditions(&s);
		put_top(&s);
		put_core(&s);
		put_hierarchy(&s);
		put_tlbs(&s);
		put_memory(&s);
		put_cores(&s);
		lines = xr_screen_lines(&s);
		if (lines + xr_screen_least(&s) <= last)
			break;
	}
	if (lines < last) {
		xr_screen_differences(&s, lines + (last - lines) / 2);
		xr_screen_doubts(&s, last);
	}
	put_legend(&s, s.less_sure, s.doubted);
	fputs(xr_strbuf_text(&s.text), out);
	xr_strbuf_release(&s.text);
	xr_arena_release(&arena);
}
