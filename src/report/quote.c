/* SPDX-License-Identifier: MIT */
#include "report/quote.h"

#include "report/value.h"
#include "util/strbuf.h"

#include <ctype.h>
#include <string.h>

/* Each of `special` gets `before` in front of it. */
static const char *escaped(struct xr_arena *arena, const char *text, const char *special, const char *open,
                           const char *close)
{
	struct xr_strbuf out = {0};
	xr_strbuf_printf(&out, "%s", open);
	for (const char *c = xr_safe_text(arena, text); *c; c++)
		xr_strbuf_printf(&out, strchr(special, *c) ? "\\%c" : "%c", *c);
	xr_strbuf_printf(&out, "%s", close);
	const char *result = xr_arena_strdup(arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return result;
}

const char *xr_quote_csv(struct xr_arena *arena, const char *text)
{
	struct xr_strbuf out = {0};
	const char *safe = xr_safe_text(arena, text);
	/* a spreadsheet runs what begins like a formula; a number may begin with a minus */
	bool formula = strchr("=+@", *safe) || (*safe == '-' && !isdigit((unsigned char)safe[1]));
	if (*safe && !formula && !strpbrk(safe, ",\""))
		return safe;
	xr_strbuf_printf(&out, "\"%s", *safe && formula ? "'" : "");
	for (const char *c = safe; *c; c++)
		xr_strbuf_printf(&out, *c == '"' ? "\"\"" : "%c", *c);
	xr_strbuf_printf(&out, "\"");
	const char *result = *safe ? xr_arena_strdup(arena, xr_strbuf_text(&out)) : "";
	xr_strbuf_release(&out);
	return result;
}

const char *xr_quote_markdown(struct xr_arena *arena, const char *text)
{
	struct xr_strbuf out = {0};
	for (const char *c = xr_safe_text(arena, text); *c; c++) {
		if (*c == '<' || *c == '>' || *c == '&')
			xr_strbuf_printf(&out, "&%s;", *c == '<' ? "lt" : *c == '>' ? "gt" : "amp");
		else
			xr_strbuf_printf(&out, strchr("\\|`*_[]~!", *c) ? "\\%c" : "%c", *c);
	}
	const char *result = xr_arena_strdup(arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return result;
}

const char *xr_quote_label(struct xr_arena *arena, const char *text)
{
	return escaped(arena, text, "\\\"", "", "");
}

const char *xr_quote_yaml(struct xr_arena *arena, const char *text)
{
	return escaped(arena, text, "\\\"", "\"", "\"");
}

const char *xr_quote_cmake(struct xr_arena *arena, const char *text)
{
	return escaped(arena, text, "\\\"$;", "\"", "\"");
}
