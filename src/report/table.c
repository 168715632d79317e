#include "report/table.h"

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

void xr_table_print(const struct xr_table *table, FILE *out, const struct xr_style *style)
{
	size_t *width = xr_arena_array(table->arena, size_t, table->columns), parts = 0;
	size_t fits = style->width > 40 ? (size_t)style->width : 100;
	for (size_t column = 0; column < table->columns; column++)
		width[column] = column_width(table, column);
	for (size_t first = 1, last; first < table->columns; first = last) {
		size_t used = 2 + width[0], shown = 0;
		for (last = first; last < table->columns; last++) {
			size_t more = width[last] ? width[last] + 2 : 0;
			if (shown && used + more > fits)
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
