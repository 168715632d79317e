/* SPDX-License-Identifier: MIT */
/* A description as a C header: for programs that tune themselves when they are compiled.
 *
 * Every fact gets PREFIX_HAS_…, 1 or 0, and when it is 1 also PREFIX_… with its value and PREFIX_CONF_… with its
 * confidence in percent. Bytes and counts are integers, so that #if can compare them. Plain C89 that is C++ too: no
 * // comments, no string beyond 509 characters, no trigraphs; integers beyond 32 bits need a long of 64.
 */
#include "facts/trust.h"
#include "report/report.h"
#include "report/value.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STRING_MAX = 480 };

static char *macro_name(struct xr_arena *arena, const char *prefix, const char *id)
{
	char *name = xr_arena_printf(arena, "%s_%s", prefix, id);
	for (char *c = name + strlen(prefix); *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
	return name;
}

/* Text inside a comment must not end it. */
static const char *in_comment(struct xr_arena *arena, const char *text)
{
	char *safe = xr_arena_strdup(arena, xr_safe_text(arena, text));
	for (char *c = safe; *c; c++)
		if ((c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*') || *c == '\\' || *c == '?' ||
		    (unsigned char)*c > 126)
			*c = *c == '*' ? 'x' : ' ';
	return safe;
}

static const char *string_literal(struct xr_arena *arena, const char *text)
{
	char *quoted = xr_arena_alloc(arena, strlen(text) * 4 + 3), *out = quoted;
	*out++ = '"';
	for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
		if (*c == '"' || *c == '\\' || *c == '?')
			out += sprintf(out, "\\%c", *c);
		else if (*c < ' ' || *c > 126)
			out += sprintf(out, "\\%03o", *c);
		else
			*out++ = (char)*c;
	}
	*out++ = '"';
	return strlen(quoted) <= STRING_MAX ? quoted : NULL;
}

static const char *real_literal(struct xr_arena *arena, double value)
{
	const char *text = xr_arena_printf(arena, "%.15g", value);
	const char *wrap = value < 0 ? "(%s%s)" : "%s%s";
	return xr_arena_printf(arena, wrap, text, strpbrk(text, ".e") ? "" : ".0");
}

static const char *integer_literal(struct xr_arena *arena, json_int_t value)
{
	if (value >= 0 && value <= 2147483647)
		return xr_arena_printf(arena, "%ld", (long)value);
	if (value < 0 && value >= -2147483647)
		return xr_arena_printf(arena, "(%ld)", (long)value);
	if (value == LLONG_MIN) /* C has no literal for it */
		return xr_arena_printf(arena, "(%lldL - 1)", (long long)value + 1);
	return value > 0 ? xr_arena_printf(arena, "%lldUL", (long long)value)
	                 : xr_arena_printf(arena, "(%lldL)", (long long)value);
}

/* Counted, not timed: has no unit, or one of things there is a whole number of. */
static bool is_counted(const struct xr_fact *fact)
{
	static const char *const units[] = {"", "bytes", "count", "entries", "lines", "pages"};
	double value = json_number_value(fact->value);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(fact->unit, units[i]))
			return fabs(value) < 9e15 && (*fact->unit || value == rint(value));
	return false;
}

/* NULL: nothing C89 could hold. */
static const char *literal(struct xr_arena *arena, const struct xr_fact *fact)
{
	const json_t *value = fact->value;
	if (json_is_boolean(value))
		return json_is_true(value) ? "1" : "0";
	if (json_is_integer(value))
		return integer_literal(arena, json_integer_value(value));
	if (json_is_real(value) && is_counted(fact))
		return integer_literal(arena, (json_int_t)llround(json_real_value(value)));
	if (json_is_real(value))
		return real_literal(arena, json_real_value(value));
	if (json_is_string(value))
		return string_literal(arena, json_string_value(value));
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));
	const char *quoted = text ? string_literal(arena, text) : NULL;
	free(text);
	return quoted;
}

struct header {
	FILE *out;
	struct xr_arena *arena;
	const char *prefix;
	double least; /* confidence; what is less sure is not there */
	json_t *used; /* names */
};

/* Why there is no value to build on; NULL: there is one. */
static const char *why_not(const struct header *h, const struct xr_fact *fact)
{
	const char *reason = xr_fact_reason(fact);
	if (!fact->value || fact->status == XR_UNSUPPORTED || fact->status == XR_FAILED ||
	    (fact->status == XR_UNRELIABLE && !xr_trust_enough(fact->confidence, h->least)))
		return xr_arena_printf(h->arena, "%s%s%s", xr_status_names[fact->status], *reason ? ": " : "", reason);
	if (!xr_trust_enough(fact->confidence, h->least))
		return xr_arena_printf(h->arena, "only %.0f %% sure", fact->confidence * 100);
	return literal(h->arena, fact) ? NULL : "too long for C89";
}

static bool take_name(const struct header *h, const char *name)
{
	bool free_name = !json_object_get(h->used, name);
	json_object_set_new(h->used, name, json_true());
	return free_name;
}

static void write_fact(const struct header *h, const struct xr_fact *fact)
{
	const char *name = macro_name(h->arena, h->prefix, fact->id);
	const char *has = macro_name(h->arena, xr_arena_printf(h->arena, "%s_HAS", h->prefix), fact->id);
	const char *conf = macro_name(h->arena, xr_arena_printf(h->arena, "%s_CONF", h->prefix), fact->id);
	const char *why = why_not(h, fact);
	if (strchr(fact->id, '*')) {
		fprintf(h->out, "/* %s: %s */\n", in_comment(h->arena, fact->id),
		        in_comment(h->arena, why ? why : "a family"));
		return;
	}
	if (!take_name(h, name) || !take_name(h, has) || !take_name(h, conf)) {
		fprintf(h->out, "/* %s: name taken */\n", in_comment(h->arena, fact->id));
		return;
	}
	if (why) {
		fprintf(h->out, "#define %s 0 /* %s */\n", has, in_comment(h->arena, why));
		return;
	}
	fprintf(h->out, "#define %s 1\n#define %s %s%s%s%s\n#define %s %.0f\n", has, name, literal(h->arena, fact),
	        *fact->unit ? " /* " : "", in_comment(h->arena, fact->unit), *fact->unit ? " */" : "", conf,
	        rint(fact->confidence * 100));
}

static bool good_prefix(const char *prefix)
{
	size_t n = strspn(prefix, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return n > 0 && n <= 40 && !prefix[n] && !isdigit((unsigned char)*prefix);
}

int xr_report_header(FILE *out, const struct xr_description *d, const char *prefix, double least, struct xr_error *err)
{
	struct xr_arena arena = {0};
	if (!good_prefix(prefix))
		return xr_fail(err, XR_EXIT_USE, "--prefix must be a C name of at most 40 characters, not '%.60s'",
		               prefix);
	const char *guard = xr_arena_printf(&arena, "%s_FACTS_H", prefix);
	const char *name = xr_description_target_text(d, "cpu");
	if (!*name)
		name = xr_description_target_text(d, "name");
	fprintf(out, "/* Measured facts of %s, %s.\n", in_comment(&arena, *name ? name : "a machine"),
	        in_comment(&arena, xr_description_target_text(d, "date")));
	fprintf(out,
	        " * Made by `xray header`, version %s. %s_HAS_x is 1 where x is known and at least %.0f %% sure;\n"
	        " * then %s_x is its value and %s_CONF_x its confidence in percent. */\n",
	        XR_VERSION, prefix, least * 100, prefix, prefix);
	fprintf(out, "#ifndef %s\n#define %s\n\n", guard, guard);
	const struct header h = {out, &arena, prefix, least, json_object()};
	json_object_set_new(h.used, guard, json_true());
	for (size_t i = 0; i < xr_description_count(d); i++)
		write_fact(&h, xr_description_at(d, i));
	fputs("\n#endif\n", out);
	json_decref(h.used);
	xr_arena_release(&arena);
	return 0;
}
