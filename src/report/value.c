#include "report/value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Below this a value is shown with a sign of doubt. */
static const double sure = 0.9;

const char *xr_safe_text(struct xr_arena *arena, const char *text)
{
	char *safe = xr_arena_strdup(arena, text);
	for (unsigned char *c = (unsigned char *)safe; *c; c++) {
		if (*c < ' ' || *c == 127)
			*c = ' ';
		else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) /* control characters of the upper half, in UTF-8 */
			c[0] = c[1] = ' ';
	}
	return safe;
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
		return xr_arena_printf(arena, fabs(value) < 99.95 ? "%.2f" : "%.0f", value);
	return digits(arena, value, "");
}

/* [[0, 1], [2, 3]] becomes {0 1} {2 3}; deeper things stay JSON. */
static const char *list_words(struct xr_arena *arena, const json_t *list, const char *unit, int depth)
{
	const char *words = "";
	size_t i;
	json_t *one;
	json_array_foreach (list, i, one) {
		const char *each = json_is_array(one) && depth < 8
					   ? xr_arena_printf(arena, "{%s}", list_words(arena, one, unit, depth + 1))
					   : xr_value_words(arena, one, unit);
		words = xr_arena_printf(arena, "%s%s%s", words, i ? " " : "", each);
	}
	return words;
}

const char *xr_value_words(struct xr_arena *arena, const json_t *value, const char *unit)
{
	if (!value || json_is_null(value))
		return "";
	if (json_is_number(value))
		return number_words(arena, json_number_value(value), unit);
	if (json_is_boolean(value))
		return json_is_true(value) ? "yes" : "no";
	if (json_is_string(value))
		return xr_safe_text(arena, json_string_value(value));
	if (json_is_array(value) && json_array_size(value) <= 1000)
		return list_words(arena, value, unit, 0);
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	const char *words = xr_safe_text(arena, text ? text : "?");
	free(text);
	return words;
}

const char *xr_fact_words(struct xr_arena *arena, const struct xr_fact *fact)
{
	const char *words = xr_value_words(arena, fact->value, fact->unit);
	if (!*words || (fact->status == XR_OK && fact->confidence >= sure))
		return words;
	return xr_arena_printf(arena, "%s%s", words, fact->status == XR_OK ? "~" : "?");
}
