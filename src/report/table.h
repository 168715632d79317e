/* SPDX-License-Identifier: MIT */
/* Tables of text: columns as wide as they need, empty ones left out, broken into parts that fit the width. */
#ifndef XR_REPORT_TABLE_H
#define XR_REPORT_TABLE_H

#include "report/report.h"
#include "util/arena.h"

struct xr_table {
	struct xr_arena *arena;
	size_t columns, rows, room;
	const char **heading;     /* columns of them; the first names the rows */
	const char **cell;        /* rows × columns; NULL or "": empty */
	bool whole;               /* never broken into parts: the middle columns are cut to fit */
};

void xr_table_init(struct xr_table *table, struct xr_arena *arena, const char *const *heading, size_t columns);
size_t xr_table_add(struct xr_table *table, const char *name); /* a row; returns its number */
void xr_table_set(struct xr_table *table, size_t row, size_t column, const char *text);
size_t xr_table_width(const struct xr_table *table); /* as wide as it would print */
void xr_table_print(const struct xr_table *table, FILE *out, const struct xr_style *style);

/* The text with line breaks for blanks, so that it fits the width; lines after the first are indented. 0: as it is. */
const char *xr_text_wrap(struct xr_arena *arena, const char *text, int width, size_t indent);

/* As much of a text as fits so many columns (at least four); what is cut shows. */
const char *xr_text_clip(struct xr_arena *arena, const char *text, size_t columns, bool unicode);

size_t xr_text_columns(const char *text); /* as wide as it prints: UTF-8 characters, colours not counted */

#endif
