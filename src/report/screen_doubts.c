/* SPDX-License-Identifier: MIT */
/* What differs from what the OS says, and what is in doubt, in plain words, as far as there is room; see screen.c. */
#include "report/screen.h"

#include "facts/trust.h"
#include "report/compare.h"
#include "report/table.h"
#include "report/value.h"

#include <string.h>

/* Does one line more about what is left, and the legend, still fit? */
static bool fits(const struct xr_screen *s, size_t lines_max, size_t left)
{
	return xr_screen_lines(s) + (left > 0) <= lines_max;
}

static void take_back(struct xr_screen *s, size_t length)
{
	s->text.len = length;
	s->text.data[length] = 0;
}

static bool differs(const struct xr_fact *fact)
{
	return fact->claimed && fact->value && fact->status == XR_OK &&
	       !xr_values_agree(fact->value, fact->claimed, fact->unit, fact->id);
}

static bool differs_by_half(const struct xr_fact *fact)
{
	double a = json_number_value(fact->value), b = json_number_value(fact->claimed);
	return a > 0 && b > 0 && (a >= 2 * b || b >= 2 * a);
}

static void put_difference(struct xr_screen *s, const struct xr_fact *fact, const char *why)
{
	xr_strbuf_printf(&s->text, "  ");
	xr_screen_wrapped(s,
	                  xr_arena_printf(s->arena, "%s is %s, the OS says %s%s%s", fact->id,
	                                  xr_value_words(s->arena, fact->value, fact->unit),
	                                  xr_value_words(s->arena, fact->claimed, fact->unit), why ? ": " : "",
	                                  why ? why : ""),
	                  2, 4);
}

static size_t count_differences(const struct xr_screen *s)
{
	size_t n = 0;
	for (size_t i = 0; i < xr_description_count(s->d); i++)
		n += differs(xr_description_at(s->d, i));
	return n;
}

/* The largest differences first: they are why a person looks. */
void xr_screen_differences(struct xr_screen *s, size_t lines_max)
{
	size_t left = count_differences(s);
	if (!left || xr_screen_lines(s) + XR_SCREEN_PART > lines_max)
		return;
	xr_screen_heading(s, "Not as the OS says");
	size_t n = xr_description_count(s->d);
	for (size_t i = 0; n && i < 2 * n; i++) {
		const struct xr_fact *fact = xr_description_at(s->d, i % n);
		if (!differs(fact) || differs_by_half(fact) != (i < n))
			continue;
		size_t before = s->text.len;
		put_difference(s, fact, xr_claim_explanation(s->d, fact));
		if (!fits(s, lines_max, left - 1)) { /* a narrow screen has no room for the explanation */
			take_back(s, before);
			put_difference(s, fact, NULL);
		}
		if (!fits(s, lines_max, left - 1)) {
			take_back(s, before);
			xr_strbuf_printf(&s->text, "  and %zu more, see `xray check`\n", left);
			return;
		}
		left--;
	}
}

/* What people ask for first, first: what the hierarchy shows, then what is behind it. */
static int rank(const char *id)
{
	static const char *const order[] = {"cpu.frequency",
	                                    "cache.l1d.capacity",
	                                    "cache.l1d.latency",
	                                    "cache.l2.capacity",
	                                    "cache.l2.latency",
	                                    "cache.l3.capacity",
	                                    "cache.l3.latency",
	                                    "memory.latency",
	                                    "tlb.d1.entries",
	                                    "tlb.d2.entries",
	                                    "cache",
	                                    "tlb",
	                                    "memory",
	                                    "op",
	                                    "registers",
	                                    "threads"};
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		if (xr_id_matches(id, order[i]))
			return (int)i;
	return (int)(sizeof order / sizeof *order);
}

static bool is_doubt(const struct xr_fact *fact)
{
	return (fact->status == XR_UNRELIABLE || fact->status == XR_FAILED) && strncmp(fact->id, "noise.", 6) != 0;
}

/* The reason; where there is none but too little confidence, how much exactly does not matter here. */
static const char *doubt(const struct xr_screen *s, const struct xr_fact *fact)
{
	int percent, end = 0;
	const char *reason = xr_fact_reason(fact);
	if (sscanf(reason, "only %d %% sure%n", &percent, &end) != 1 || !end || reason[end])
		return reason;
	return xr_arena_printf(s->arena, "less than %.0f %% sure", 100 * xr_trust_least);
}

static bool same_doubt(const struct xr_screen *s, const struct xr_fact *a, const struct xr_fact *b)
{
	return a->status == b->status && !strcmp(doubt(s, a), doubt(s, b));
}

/* "cache.l2.ways, cache.l2.line and 3 more: the reason", the most asked for first. */
static const char *doubt_words(struct xr_screen *s, size_t first, bool *said)
{
	enum { NAMED = 4 };
	const struct xr_fact *fact = xr_description_at(s->d, first);
	const char *names = "";
	size_t n = 0;
	for (int r = 0; r <= rank(""); r++)
		for (size_t i = 0; i < xr_description_count(s->d); i++) {
			const struct xr_fact *other = xr_description_at(s->d, i);
			if (said[i] || !is_doubt(other) || rank(other->id) != r || !same_doubt(s, fact, other))
				continue;
			said[i] = true;
			if (n++ < NAMED)
				names = xr_arena_printf(s->arena, "%s%s%s", names, *names ? ", " : "", other->id);
		}
	if (n > NAMED)
		names = xr_arena_printf(s->arena, "%s and %zu more", names, n - NAMED);
	return xr_arena_printf(s->arena, "%s: %s", names, xr_safe_text(s->arena, doubt(s, fact)));
}

static size_t count_doubts(const struct xr_screen *s, const bool *said)
{
	size_t n = 0;
	for (size_t i = 0; i < xr_description_count(s->d); i++)
		n += !(said && said[i]) && is_doubt(xr_description_at(s->d, i));
	return n;
}

size_t xr_screen_least(const struct xr_screen *s)
{
	size_t parts = (size_t)(count_differences(s) > 0) + (size_t)(count_doubts(s, NULL) > 0);
	return parts * XR_SCREEN_PART;
}

/* The first of them is always said, cut where there is no room for all of it. */
static void put_first_doubt(struct xr_screen *s, const char *words, size_t lines_max, size_t left)
{
	size_t before = s->text.len;
	for (size_t columns = xr_text_columns(words); columns > s->width / 2; columns--) {
		take_back(s, before);
		xr_strbuf_printf(&s->text, "  ");
		xr_screen_wrapped(s, xr_text_clip(s->arena, words, columns, s->style->unicode), 2, 4);
		if (fits(s, lines_max, left))
			return;
	}
}

void xr_screen_doubts(struct xr_screen *s, size_t lines_max)
{
	size_t n = xr_description_count(s->d);
	bool *said = xr_arena_array(s->arena, bool, n + 1);
	bool first = true;
	if (!count_doubts(s, said) || xr_screen_lines(s) + XR_SCREEN_PART > lines_max)
		return;
	xr_screen_heading(s, "In doubt");
	for (int r = 0; r <= rank(""); r++)
		for (size_t i = 0; i < n; i++) {
			const struct xr_fact *fact = xr_description_at(s->d, i);
			if (said[i] || !is_doubt(fact) || rank(fact->id) != r)
				continue;
			size_t before = s->text.len, left = count_doubts(s, said);
			const char *words = doubt_words(s, i, said);
			if (first) {
				put_first_doubt(s, words, lines_max, count_doubts(s, said));
				first = false;
				continue;
			}
			xr_strbuf_printf(&s->text, "  ");
			xr_screen_wrapped(s, words, 2, 4);
			if (fits(s, lines_max, count_doubts(s, said)))
				continue;
			take_back(s, before);
			xr_strbuf_printf(&s->text, "  and %zu more facts\n", left);
			return;
		}
}
