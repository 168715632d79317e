/* SPDX-License-Identifier: MIT */
#include "report/reasons.h"

#include "report/table.h"
#include "report/value.h"

#include <string.h>

static const char *paint(const struct xr_reasons *r, const char *code)
{
	return r->style->colour ? code : "";
}

enum { NAMED_MAX = 12 };

/* The ids that share the reason of the first, as many as fit on a few lines unless all are wanted. */
static void print_sharers(const struct xr_reasons *r, size_t first)
{
	const struct xr_fact *fact = xr_description_at(r->d, first);
	size_t column = 4, width = r->style->width > 0 ? (size_t)r->style->width : 100, named = 0, more = 0;
	for (size_t i = first; i < xr_description_count(r->d); i++) {
		const struct xr_fact *other = xr_description_at(r->d, i);
		if (r->said[i] || other->status != fact->status || !other->reason ||
		    strcmp(other->reason, fact->reason))
			continue;
		r->said[i] = true;
		if (named == NAMED_MAX && !r->verbose) {
			more++;
			continue;
		}
		if (column + strlen(other->id) + 1 > width && column > 4) {
			fputs("\n    ", r->out);
			column = 4;
		}
		column += (size_t)fprintf(r->out, "%s%s", column > 4 ? " " : "", other->id);
		named++;
	}
	if (more)
		fprintf(r->out, " and %zu more", more);
	fputc('\n', r->out);
}

enum { REASONS_MAX = 4 };

static bool same_family(const char *a, const char *b)
{
	size_t n = strcspn(a, ".");
	return n == strcspn(b, ".") && !memcmp(a, b, n);
}

static bool has_reason(const struct xr_reasons *r, size_t i, enum xr_status status)
{
	const struct xr_fact *fact = xr_description_at(r->d, i);
	return !r->said[i] && fact->status == status && fact->reason;
}

/* How many facts of the family of the first have this status, and how many different reasons. */
static size_t count_family(const struct xr_reasons *r, size_t first, enum xr_status status, size_t *reasons)
{
	const char *seen[REASONS_MAX + 1];
	size_t count = 0;
	*reasons = 0;
	for (size_t i = first; i < xr_description_count(r->d); i++) {
		const struct xr_fact *fact = xr_description_at(r->d, i);
		if (!has_reason(r, i, status) || !same_family(fact->id, xr_description_at(r->d, first)->id))
			continue;
		count++;
		size_t k = 0;
		while (k < *reasons && strcmp(seen[k], fact->reason))
			k++;
		if (k == *reasons && k <= REASONS_MAX)
			seen[(*reasons)++] = fact->reason;
	}
	return count;
}

/* A family with a reason for each of its members (no such operation on this type, nor on that) in one line. */
static void print_family(const struct xr_reasons *r, size_t first, enum xr_status status, size_t count)
{
	const struct xr_fact *fact = xr_description_at(r->d, first);
	const char *text = xr_arena_printf(r->arena, "%.*s: %zu facts, such as %s: %s (--verbose has them all)",
	                                   (int)strcspn(fact->id, "."), fact->id, count, fact->id,
	                                   xr_safe_text(r->arena, fact->reason));
	fprintf(r->out, "  %s\n", xr_text_wrap(r->arena, text, r->style->width, 2));
	for (size_t i = first; i < xr_description_count(r->d); i++)
		r->said[i] |= has_reason(r, i, status) && same_family(xr_description_at(r->d, i)->id, fact->id);
}

/* Facts of this status that share a reason, in one paragraph each. */
static void print_reasons(const struct xr_reasons *r, const char *title, enum xr_status status, const char *colour)
{
	bool titled = false;
	for (size_t i = 0; i < xr_description_count(r->d); i++) {
		const struct xr_fact *fact = xr_description_at(r->d, i);
		size_t reasons, count;
		if (!has_reason(r, i, status))
			continue;
		if (!titled)
			fprintf(r->out, "\n%s%s%s\n", paint(r, "\033[1m"), title, paint(r, "\033[0m"));
		titled = true;
		count = count_family(r, i, status, &reasons);
		if (reasons > REASONS_MAX && !r->verbose) {
			print_family(r, i, status, count);
			continue;
		}
		const char *text = xr_safe_text(r->arena, fact->reason);
		fprintf(r->out, "  %s%s%s\n    ", paint(r, colour), xr_text_wrap(r->arena, text, r->style->width, 2),
		        paint(r, "\033[0m"));
		print_sharers(r, i);
	}
}

void xr_reasons_print(const struct xr_reasons *r)
{
	print_reasons(r, "Notes", XR_OK, "");
	print_reasons(r, "In doubt (marked ?)", XR_UNRELIABLE, "\033[33m");
	print_reasons(r, "Not there, or not to be measured here", XR_UNSUPPORTED, "");
	print_reasons(r, "Failed", XR_FAILED, "\033[31m");
}
