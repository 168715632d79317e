/* SPDX-License-Identifier: MIT */
#include "report/value.h"

#include "facts/trust.h"

#include "util/escape.h"
#include "util/strbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *xr_safe_text(struct xr_arena *arena, const char *text)
{
	struct xr_strbuf safe = {0};
	xr_escape_terminal(&safe, text);
	const char *copy = xr_arena_strdup(arena, xr_strbuf_text(&safe));
	xr_strbuf_release(&safe);
	return copy;
}

/* Three significant digits, no more decimals than say something. */
static const char *digits(struct xr_arena *arena, double value, const char *unit)
{
	double size = fabs(value);
	int decimals = size >= 99.95 || value == rint(value) ? 0 : size >= 9.995 ? 1 : 2;
	if (size > 0 && size < 0.00995)
		return xr_arena_printf(arena, "%.2g%s", value, unit);
	return xr_arena_printf(arena, "%.*f%s", decimals, value, unit);
}

static const char *scaled(struct xr_arena *arena, double value, double step, const char *const *units, size_t n)
{
	size_t i = 0;
	while (i + 1 < n && fabs(value) >= step) {
		value /= step;
		i++;
	}
	return digits(arena, value, units[i]);
}

static const char *bytes_words(struct xr_arena *arena, double value)
{
	static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
	return scaled(arena, value, 1024, units, 5);
}

static const char *number_words(struct xr_arena *arena, double value, const char *unit)
{
	static const char *const hz[] = {" Hz", " kHz", " MHz", " GHz"};
	static const char *const bps[] = {" B/s", " kB/s", " MB/s", " GB/s", " TB/s"};
	static const char *const ns[] = {" ns", " us", " ms", " s"};
	if (!strcmp(unit, "bytes"))
		return bytes_words(arena, value);
	if (!strcmp(unit, "Hz"))
		return scaled(arena, value, 1000, hz, 4);
	if (!strcmp(unit, "B/s"))
		return scaled(arena, value, 1000, bps, 5);
	if (!strcmp(unit, "ns"))
		return scaled(arena, value, 1000, ns, 4);
	if (!strcmp(unit, "s"))
		return scaled(arena, value * 1e9, 1000, ns, 4);
	if (!strcmp(unit, "cycles"))
		return xr_arena_printf(arena, "%.*f", fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value);
	return digits(arena, value, "");
}

/* ---- lists, trees, matrices -------------------------------------------------------------------------------------- */

enum { DEPTH_MAX = 16 };

static bool rising_integers(const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (!json_is_integer(json_array_get(list, i)) ||
		    (i &&
		     json_integer_value(json_array_get(list, i)) <= json_integer_value(json_array_get(list, i - 1))))
			return false;
	return json_array_size(list) > 2;
}

/* 0 1 2 3 8 becomes 0-3 8. */
static void put_ranges(struct xr_strbuf *out, const json_t *list)
{
	size_t n = json_array_size(list);
	for (size_t i = 0, last; i < n; i = last + 1) {
		json_int_t from = json_integer_value(json_array_get(list, i));
		last = i;
		while (last + 1 < n &&
		       json_integer_value(json_array_get(list, last + 1)) == from + (json_int_t)(last + 1 - i))
			last++;
		if (last == i + 1)
			last = i; /* two in a row are no range */
		xr_strbuf_printf(out, last > i ? "%s%lld-%lld" : "%s%lld", i ? " " : "", (long long)from,
		                 (long long)from + (long long)(last - i));
	}
}

static void put_value(struct xr_strbuf *out, struct xr_arena *arena, const json_t *value, const char *unit, int depth);

/* [[0, 1], [2, 3]] becomes {0 1} {2 3}. */
static void put_list(struct xr_strbuf *out, struct xr_arena *arena, const json_t *list, const char *unit, int depth)
{
	size_t i;
	json_t *one;
	if (rising_integers(list)) {
		put_ranges(out, list);
		return;
	}
	json_array_foreach(list, i, one)
	{
		bool inner = json_is_array(one);
		xr_strbuf_printf(out, "%s%s", i ? " " : "", inner ? "{" : "");
		put_value(out, arena, one, unit, depth + 1);
		xr_strbuf_printf(out, "%s", inner ? "}" : "");
	}
}

/* A tree of CPUs, as topology.tree has it: the leaves' CPUs in the braces of all they share. */
static void put_tree(struct xr_strbuf *out, struct xr_arena *arena, const json_t *node, int depth)
{
	const json_t *children = json_object_get(node, "children");
	xr_strbuf_printf(out, "{");
	if (!json_is_array(children) || depth >= DEPTH_MAX)
		put_list(out, arena, json_object_get(node, "cpus"), "", depth);
	else
		for (size_t i = 0; i < json_array_size(children); i++) {
			xr_strbuf_printf(out, "%s", i ? " " : "");
			put_tree(out, arena, json_array_get(children, i), depth + 1);
		}
	xr_strbuf_printf(out, "}");
}

/* From the least to the largest of a matrix: 25.7 to 26.0 ns. */
static void put_span(struct xr_strbuf *out, struct xr_arena *arena, const json_t *rows, const char *unit)
{
	double least = INFINITY, most = -INFINITY;
	for (size_t i = 0; i < json_array_size(rows); i++)
		for (size_t j = 0; j < json_array_size(json_array_get(rows, i)); j++) {
			const json_t *one = json_array_get(json_array_get(rows, i), j);
			if (!json_is_number(one))
				continue;
			least = fmin(least, json_number_value(one));
			most = fmax(most, json_number_value(one));
		}
	if (!(least <= most))
		return;
	const char *from = number_words(arena, least, unit), *to = number_words(arena, most, unit);
	const char *from_unit = strchr(from, ' '), *to_unit = strchr(to, ' ');
	bool same_unit = from_unit && to_unit && !strcmp(from_unit, to_unit);
	if (strcmp(from, to) != 0)
		xr_strbuf_printf(out, "%.*s to ", (int)(same_unit ? from_unit - from : (long)strlen(from)), from);
	xr_strbuf_printf(out, "%s", to);
}

static void put_value(struct xr_strbuf *out, struct xr_arena *arena, const json_t *value, const char *unit, int depth)
{
	if (json_is_number(value)) {
		xr_strbuf_printf(out, "%s", number_words(arena, json_number_value(value), unit));
	} else if (json_is_boolean(value)) {
		xr_strbuf_printf(out, "%s", json_is_true(value) ? "yes" : "no");
	} else if (json_is_string(value)) {
		xr_strbuf_printf(out, "%s", xr_safe_text(arena, json_string_value(value)));
	} else if (json_is_array(value) && depth < DEPTH_MAX) {
		put_list(out, arena, value, unit, depth);
	} else if (json_is_array(json_object_get(value, "rows"))) {
		put_span(out, arena, json_object_get(value, "rows"), unit);
	} else if (json_is_array(json_object_get(value, "cpus"))) {
		put_tree(out, arena, value, 0);
	} else if (json_is_string(json_object_get(value, "policy")) && json_is_number(json_object_get(value, "p"))) {
		xr_strbuf_printf(out, "%s %.0f %%",
		                 xr_safe_text(arena, json_string_value(json_object_get(value, "policy"))),
		                 100 * json_number_value(json_object_get(value, "p")));
	} else if (json_is_object(value)) {
		char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6));
		xr_strbuf_printf(out, "%s", xr_safe_text(arena, text ? text : "?"));
		free(text);
	}
}

const char *xr_value_words(struct xr_arena *arena, const json_t *value, const char *unit)
{
	struct xr_strbuf out = {0};
	put_value(&out, arena, value, unit, 0);
	const char *words = xr_arena_strdup(arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return words;
}

/* ---- doubt ---- */

const char *xr_fact_words(struct xr_arena *arena, const struct xr_fact *fact, double sure)
{
	const char *words = xr_value_words(arena, fact->value, fact->unit);
	if (!*words || (fact->status == XR_OK && xr_trust_enough(fact->confidence, sure)))
		return words;
	return xr_arena_printf(arena, "%s%s", words, fact->status == XR_OK ? "~" : "?");
}

double xr_value_left_s(double shown_s, double passed_s, double left_s)
{
	const double share = passed_s > 1 ? 0.3 : 0.1, news = 1.5, news_least_s = 5;
	if (shown_s < 0 || passed_s < 0 || left_s > fmax(news * shown_s, shown_s + news_least_s))
		return left_s;
	return fmin(shown_s, fmax((1 - share) * (shown_s - passed_s) + share * left_s, 0));
}
