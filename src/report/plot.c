/* SPDX-License-Identifier: MIT */
/* Pictures for the terminal: curves in braille dots, matrices as heat maps, the hierarchy as bars.
 *
 * Without Unicode, curves are stars and heat maps digits. Axes are logarithmic where values span more than a decade.
 */
#include "report/compare.h"
#include "report/report.h"
#include "report/table.h"
#include "report/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 14, LEFT = 10, DOTS_X = 2, DOTS_Y = 4 };

struct plot {
	FILE *out;
	const struct xr_style *style;
	struct xr_arena *arena;
	size_t columns; /* of the drawing itself */
};

struct axis {
	double least, most;
	bool logarithmic;
};

static struct axis axis_of(const double *values, size_t n)
{
	struct axis a = {INFINITY, -INFINITY, false};
	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i])) {
			a.least = fmin(a.least, values[i]);
			a.most = fmax(a.most, values[i]);
		}
	a.logarithmic = a.least > 0 && a.most >= 10 * a.least;
	return a;
}

/* 0..1 along the axis. */
static double along(const struct axis *a, double value)
{
	if (!(a->most > a->least))
		return 0.5;
	return a->logarithmic ? log(value / a->least) / log(a->most / a->least)
	                      : (value - a->least) / (a->most - a->least);
}

static double value_at(const struct axis *a, double share)
{
	return a->logarithmic ? a->least * pow(a->most / a->least, share) : a->least + (a->most - a->least) * share;
}

static const char *number_words(const struct plot *p, double value, const char *unit)
{
	json_t *json = json_real(value);
	const char *words = json ? xr_value_words(p->arena, json, unit) : "";
	json_decref(json);
	return words;
}

/* ---- curves ------------------------------------------------------------------------------------------------------- */

static void dot(unsigned char *cells, size_t columns, size_t x, size_t y)
{
	/* bits of a braille character: the two columns of three rows, then the fourth row */
	static const unsigned char bit[DOTS_Y][DOTS_X] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
	cells[y / DOTS_Y * columns + x / DOTS_X] |= bit[y % DOTS_Y][x % DOTS_X];
}

static void draw_points(const struct plot *p, const struct xr_series *s, const struct axis *x, const struct axis *y,
                        unsigned char *cells)
{
	size_t width = p->columns * DOTS_X - 1, height = ROWS * DOTS_Y - 1;
	double last_x = NAN, last_y = NAN;
	for (size_t i = 0; i < s->n; i++) {
		if (!isfinite(s->x[i]) || !isfinite(s->y[i]))
			continue;
		double px = along(x, s->x[i]) * (double)width, py = (1 - along(y, s->y[i])) * (double)height;
		int steps = isnan(last_x) ? 0 : (int)fmax(fabs(px - last_x), fabs(py - last_y));
		for (int k = 0; k <= steps; k++) { /* a line from the point before, so that steps are seen */
			double share = steps ? (double)k / steps : 1;
			double dx = steps ? last_x + (px - last_x) * share : px,
			       dy = steps ? last_y + (py - last_y) * share : py;
			dot(cells, p->columns, (size_t)rint(dx), (size_t)rint(dy));
		}
		last_x = px;
		last_y = py;
	}
}

static void print_cells(const struct plot *p, const unsigned char *cells, const struct axis *y, const char *unit)
{
	for (size_t row = 0; row < ROWS; row++) {
		bool labelled = row == 0 || row == ROWS - 1 || row == ROWS / 2;
		double share = 1 - (double)row / (ROWS - 1);
		const char *words = labelled ? number_words(p, value_at(y, share), unit) : "";
		size_t used = xr_text_columns(words), last = p->columns;
		while (last && !cells[row * p->columns + last - 1])
			last--;
		fprintf(p->out, "%*s%s %s", used < LEFT ? (int)(LEFT - used) : 0, "", words,
		        p->style->unicode ? "│" : "|");
		for (size_t c = 0; c < last; c++) {
			unsigned bits = cells[row * p->columns + c];
			if (p->style->unicode)
				fprintf(p->out, "\xe2%c%c", 0xa0 | (int)(bits >> 6), 0x80 | (int)(bits & 0x3f));
			else
				fputc(bits ? '*' : ' ', p->out);
		}
		fputc('\n', p->out);
	}
}

static void print_title(const struct plot *p, const char *title)
{
	fprintf(p->out, "%s\n", xr_text_wrap(p->arena, title, (int)(p->columns + LEFT + 3), 0));
}

static void print_curve(const struct plot *p, const struct xr_series *s)
{
	struct axis x = axis_of(s->x, s->n), y = axis_of(s->y, s->n);
	if (!(x.least <= x.most) || !(y.least <= y.most))
		return;
	unsigned char *cells = xr_arena_array(p->arena, unsigned char, p->columns *ROWS);
	print_title(p, xr_arena_printf(p->arena, "%s: %s%s%s%s over %s%s", s->id, xr_safe_text(p->arena, s->y_name),
	                               *s->y_unit ? ", " : "", xr_safe_text(p->arena, s->y_unit),
	                               y.logarithmic ? " (logarithmic)" : "", xr_safe_text(p->arena, s->x_name),
	                               x.logarithmic ? " (logarithmic)" : ""));
	draw_points(p, s, &x, &y, cells);
	print_cells(p, cells, &y, s->y_unit);
	fprintf(p->out, "%*s %s", LEFT, "", p->style->unicode ? "└" : "+");
	for (size_t c = 0; c < p->columns; c++)
		fputs(p->style->unicode ? "─" : "-", p->out);
	const char *from = number_words(p, x.least, s->x_unit), *to = number_words(p, x.most, s->x_unit);
	size_t blank = p->columns > strlen(from) + strlen(to) ? p->columns - strlen(from) - strlen(to) : 1;
	fprintf(p->out, "\n%*s %s%*s%s\n", LEFT + 1, "", from, (int)blank, "", to);
}

/* ---- heat maps ---------------------------------------------------------------------------------------------------- */

enum { SHADES = 5, MAP_MAX = 64 };

static void print_heat(const struct plot *p, const struct xr_fact *fact)
{
	static const char *const shade[SHADES] = {"  ", "░░", "▒▒", "▓▓", "██"};
	const json_t *rows = json_object_get(fact->value, "rows"), *cpus = json_object_get(fact->value, "cpus");
	size_t n = json_array_size(rows);
	double least = INFINITY, most = -INFINITY;
	n = n > MAP_MAX ? MAP_MAX : n;
	for (size_t i = 0; i < n * n; i++) {
		const json_t *one = json_array_get(json_array_get(rows, i / n), i % n);
		if (i / n == i % n || !json_is_number(one))
			continue;
		least = fmin(least, json_number_value(one));
		most = fmax(most, json_number_value(one));
	}
	if (!(least <= most))
		return;
	print_title(p, xr_arena_printf(p->arena, "%s: from row to column, %s is light, %s dark", fact->id,
	                               number_words(p, least, fact->unit), number_words(p, most, fact->unit)));
	for (size_t i = 0; i < n; i++) {
		const json_t *cpu = json_array_get(cpus, i);
		fprintf(p->out, "%*lld %s", LEFT,
		        json_is_integer(cpu) ? (long long)json_integer_value(cpu) : (long long)i,
		        p->style->unicode ? "│" : "|");
		for (size_t j = 0; j < n; j++) {
			const json_t *one = json_array_get(json_array_get(rows, i), j);
			double share = most > least ? (json_number_value(one) - least) / (most - least) : 0;
			int level = (int)fmin(fmax(share, 0) * SHADES, SHADES - 1);
			if (i == j || !json_is_number(one))
				fputs(p->style->unicode ? " ·" : " .", p->out);
			else if (p->style->unicode)
				fputs(shade[level], p->out);
			else
				fprintf(p->out, " %d", level);
		}
		fprintf(p->out, "%s\n", p->style->unicode ? "│" : "|");
	}
}

/* ---- the hierarchy ------------------------------------------------------------------------------------------------ */

/* Sizes to scale of their logarithms: what was measured is filled, what is claimed beyond it outlined. */
static bool print_hierarchy(const struct plot *p, const struct xr_description *d)
{
	static const char *const levels[] = {"l1d", "l1i", "l2", "l3", "l4"};
	double most = 0;
	bool any = false;
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
			const struct xr_fact *fact =
				xr_description_fact(d, xr_arena_printf(p->arena, "cache.%s.capacity", levels[i]));
			double bytes = fact ? json_number_value(fact->value) : 0;
			double claimed = fact ? fmax(json_number_value(fact->claimed), 0) : 0;
			most = fmax(most, fmax(bytes, claimed));
			if (!pass || !(bytes > 0))
				continue;
			if (!any)
				print_title(p, "hierarchy: sizes, logarithmic; filled is measured, light is what the "
				               "OS claims beyond it");
			any = true;
			double unit = (double)(p->columns > 24 ? p->columns - 22 : 4) / log2(most / 1024 + 2);
			int full = (int)rint(log2(bytes / 1024 + 1) * unit),
			    outline = (int)rint(log2(claimed / 1024 + 1) * unit);
			fprintf(p->out, "%*s %s", LEFT, levels[i], p->style->unicode ? "│" : "|");
			for (int k = 0; k < full; k++)
				fputs(p->style->unicode ? "█" : "#", p->out);
			for (int k = full; k < outline; k++)
				fputs(p->style->unicode ? "░" : ".", p->out);
			fprintf(p->out, " %s%s", xr_value_words(p->arena, fact->value, fact->unit),
			        fact->status == XR_OK ? "" : "?");
			if (outline > full)
				fprintf(p->out, " of %s", xr_value_words(p->arena, fact->claimed, fact->unit));
			fputc('\n', p->out);
		}
	return any;
}

/* ---- what to draw ------------------------------------------------------------------------------------------------- */

static bool is_matrix(const struct xr_fact *fact)
{
	return fact->value && json_array_size(json_object_get(fact->value, "rows")) > 1;
}

static bool is_curve(const struct xr_series *s)
{
	return s && s->n >= 3;
}

/* The curve of latency over size, by whatever engine measured it. */
static const struct xr_series *latency_curve(const struct xr_description *d)
{
	static const char *const ids[] = {"memory.curve.small", "cache.walk"};
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		if (is_curve(xr_description_series(d, ids[i])))
			return xr_description_series(d, ids[i]);
	return NULL;
}

static size_t draw_all(const struct plot *p, const struct xr_description *d)
{
	static const char *const also[] = {"memory.curve.huge", "tlb.data"};
	size_t drawn = print_hierarchy(p, d);
	const struct xr_series *s = latency_curve(d);
	if (s) {
		fputs(drawn++ ? "\n" : "", p->out);
		print_curve(p, s);
	}
	for (size_t i = 0; i < sizeof also / sizeof *also; i++)
		if (is_curve(xr_description_series(d, also[i]))) {
			fputs(drawn++ ? "\n" : "", p->out);
			print_curve(p, xr_description_series(d, also[i]));
		}
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (is_matrix(xr_description_at(d, i))) {
			fputs(drawn++ ? "\n" : "", p->out);
			print_heat(p, xr_description_at(d, i));
		}
	return drawn;
}

/* Everything behind the facts under one selector, each curve once; or a series by its own name. */
static size_t draw_some(const struct plot *p, const struct xr_description *d, const char *sel)
{
	size_t drawn = 0, n_series = xr_description_series_count(d);
	bool *done = xr_arena_array(p->arena, bool, n_series + 1);
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (!xr_id_matches(fact->id, sel))
			continue;
		if (is_matrix(fact)) {
			fputs(drawn++ ? "\n" : "", p->out);
			print_heat(p, fact);
		}
		for (size_t k = 0; k < n_series; k++)
			for (size_t j = 0; j < fact->n_series; j++)
				done[k] |= !strcmp(xr_description_series_at(d, k)->id, fact->series[j]);
	}
	for (size_t k = 0; k < n_series; k++) {
		const struct xr_series *s = xr_description_series_at(d, k);
		if ((!done[k] && !xr_id_matches(s->id, sel)) || !is_curve(s))
			continue;
		fputs(drawn++ ? "\n" : "", p->out);
		print_curve(p, s);
	}
	return drawn;
}

size_t xr_report_plot(FILE *out, const struct xr_description *d, const struct xr_style *style, const char *sel)
{
	struct xr_arena arena = {0};
	int width = style->width <= 0 ? 100 : style->width < 40 ? 40 : style->width > 200 ? 200 : style->width;
	const struct plot p = {out, style, &arena, (size_t)width - LEFT - 3};
	size_t drawn = !sel                        ? draw_all(&p, d)
	               : !strcmp(sel, "hierarchy") ? print_hierarchy(&p, d)
	                                           : draw_some(&p, d, sel);
	xr_arena_release(&arena);
	return drawn;
}
