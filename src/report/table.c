/* SPDX-License-Identifier: MIT */
#include "report/table.h"

#include "util/strbuf.h"

#include <string.h>

size_t xr_text_columns(const char *text)
{
	size_t n = 0;
	for (; *text; text++) {
		if (*text == '\033')
			text += strcspn(text, "m");
		else
			n += ((unsigned char)*text & 0xc0) != 0x80;
		if (!*text)
			break;
	}
	return n;
}

const char *xr_text_clip(struct xr_arena *arena, const char *text, size_t columns, bool unicode)
{
	const char *mark = unicode ? "…" : "...";
	size_t keep = columns - xr_text_columns(mark), used = 0;
	if (xr_text_columns(text) <= columns || strchr(text, '\033'))
		return text;
	const char *end = text;
	for (; *end && used < keep; end++)
		used += ((unsigned char)end[1] & 0xc0) != 0x80;
	return xr_arena_printf(arena, "%.*s%s", (int)(end - text), text, mark);
}

const char *xr_text_wrap(struct xr_arena *arena, const char *text, int width, size_t indent)
{
	struct xr_strbuf out = {0};
	size_t column = indent; /* who calls has begun the first line with as much */
	if (width <= 0)
		return text;
	while (*text) {
		size_t n = strcspn(text, " "), columns = xr_text_columns(xr_arena_printf(arena, "%.*s", (int)n, text));
		if (column > indent && column + 1 + columns > (size_t)width) {
			xr_strbuf_printf(&out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > indent) {
			xr_strbuf_printf(&out, " ");
			column++;
		}
		xr_strbuf_add(&out, text, n);
		column += columns;
		text += n;
		text += strspn(text, " ");
	}
	const char *wrapped = xr_arena_strdup(arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return wrapped;
}

void xr_table_init(struct xr_table *table, struct xr_arena *arena, const char *const *heading, size_t columns)
{
	*table = (struct xr_table){
		.arena = arena,
		.columns = columns,
		.heading = xr_arena_copy(arena, heading, columns * sizeof *heading),
	};
}

size_t xr_table_add(struct xr_table *table, const char *name)
{
	if (table->rows == table->room) {
		size_t room = table->room ? 2 * table->room : 16;
		const char **cell = xr_arena_array(table->arena, const char *, room * table->columns);
		if (table->rows)
			memcpy(cell, table->cell, table->rows * table->columns * sizeof *cell);
		table->cell = cell;
		table->room = room;
	}
	xr_table_set(table, table->rows, 0, name);
	return table->rows++;
}

void xr_table_set(struct xr_table *table, size_t row, size_t column, const char *text)
{
	table->cell[row * table->columns + column] = text;
}

static const char *cell_text(const struct xr_table *table, size_t row, size_t column)
{
	const char *text = table->cell[row * table->columns + column];
	return text ? text : "";
}

/* 0: nothing in it. */
static size_t column_width(const struct xr_table *table, size_t column)
{
	size_t widest = 0;
	for (size_t row = 0; row < table->rows; row++) {
		size_t width = xr_text_columns(cell_text(table, row, column));
		widest = width > widest ? width : widest;
	}
	size_t heading = xr_text_columns(table->heading[column]);
	return widest && heading > widest ? heading : widest;
}

size_t xr_table_width(const struct xr_table *table)
{
	size_t used = 2 + column_width(table, 0);
	for (size_t column = 1; column < table->columns; column++) {
		size_t width = column_width(table, column);
		used += width ? width + 2 : 0;
	}
	return used;
}

/* row -1: the headings, dimmed where colours are. */
static void print_line(const struct xr_table *table, FILE *out, const struct xr_style *style, long row,
                       const size_t *width, size_t first, size_t last)
{
	bool dim = row < 0 && style->colour;
	const char *name = row < 0 ? table->heading[0] : cell_text(table, (size_t)row, 0);
	size_t blank = width[0] - xr_text_columns(name);
	fprintf(out, "%s  %s", dim ? "\033[2m" : "", name);
	for (size_t column = first; column < last; column++) {
		const char *text = row < 0 ? table->heading[column] : cell_text(table, (size_t)row, column);
		if (!width[column])
			continue;
		if (!*text) {
			blank += 2 + width[column];
			continue;
		}
		fprintf(out, "%*s  %s", (int)blank, "", text); /* blanks only where something follows */
		blank = width[column] - xr_text_columns(text);
	}
	fprintf(out, "%s\n", dim ? "\033[0m" : "");
}

static bool row_is_empty(const struct xr_table *table, size_t row, size_t first, size_t last)
{
	for (size_t column = first; column < last; column++)
		if (*cell_text(table, row, column))
			return false;
	return true;
}

/* Middle columns of a table that must stay whole share what the first and the last leave. */
static void cut_to_fit(const struct xr_table *table, const struct xr_style *style, size_t fits)
{
	enum { LEAST = 8 };
	size_t last = table->columns - 1, middle = table->columns - 2;
	size_t outer = column_width(table, 0) + column_width(table, last) + 2 * table->columns;
	size_t each = middle && fits > outer + middle * LEAST ? (fits - outer) / middle : LEAST, wide = 0, spare = 0;
	for (size_t column = 1; column < last; column++) {
		size_t width = column_width(table, column);
		wide += width > each;
		spare += width > each ? 0 : each - width;
	}
	for (size_t column = 1; column < last && wide; column++) {
		size_t room = each + spare / wide;
		if (column_width(table, column) <= each)
			continue;
		table->heading[column] = xr_text_clip(table->arena, table->heading[column], room, style->unicode);
		for (size_t row = 0; row < table->rows; row++)
			table->cell[row * table->columns + column] =
				xr_text_clip(table->arena, cell_text(table, row, column), room, style->unicode);
	}
}

void xr_table_print(const struct xr_table *table, FILE *out, const struct xr_style *style)
{
	size_t *width = xr_arena_array(table->arena, size_t, table->columns), parts = 0;
	size_t fits = style->width > 0 ? (size_t)style->width : 100;
	if (table->whole && table->columns > 2)
		cut_to_fit(table, style, fits);
	for (size_t column = 0; column < table->columns; column++)
		width[column] = column_width(table, column);
	for (size_t first = 1, last; first < table->columns; first = last) {
		size_t used = 2 + width[0], shown = 0;
		for (last = first; last < table->columns; last++) {
			size_t more = width[last] ? width[last] + 2 : 0;
			if (shown && used + more > fits && !table->whole)
				break;
			used += more;
			shown += more > 0;
		}
		if (!shown)
			continue;
		if (parts++)
			fputc('\n', out);
		print_line(table, out, style, -1, width, first, last);
		for (size_t row = 0; row < table->rows; row++)
			if (!row_is_empty(table, row, first, last))
				print_line(table, out, style, (long)row, width, first, last);
	}
}
