/* SPDX-License-Identifier: MIT */
/* Two descriptions beside each other: `xray diff A B`, and `xray check --against`, where the second is the rule. */
#include "report/compare.h"
#include "report/value.h"

#include <string.h>

struct pair {
	const char *id;
	const struct xr_fact *a, *b; /* either may be NULL */
};

static bool known(const struct xr_fact *fact)
{
	return fact && fact->status == XR_OK && fact->value;
}

/* How much others disturbed is no property of the machine: it is another in every run. */
static bool of_the_moment(const char *id)
{
	return xr_id_matches(id, "noise");
}

static enum xr_agreement compare(const struct pair *pair)
{
	if (of_the_moment(pair->id))
		return XR_UNKNOWN;
	if (known(pair->a) && known(pair->b))
		return xr_values_agree(pair->a->value, pair->b->value, pair->a->unit, pair->id) ? XR_AGREE : XR_DIFFER;
	return known(pair->a) || known(pair->b) ? XR_MISSING : XR_UNKNOWN;
}

static const char *words_of(struct xr_arena *arena, const struct xr_fact *fact)
{
	const char *words = fact ? xr_fact_words(arena, fact, 0) : "";
	return *words ? words : fact ? xr_status_names[fact->status] : "-";
}

static const char *verdict_of(struct xr_arena *arena, const struct pair *pair, enum xr_agreement agreement)
{
	switch (agreement) {
	case XR_AGREE:
		return "agree";
	case XR_DIFFER: {
		const char *ratio = xr_ratio_words(arena, pair->a->value, pair->b->value);
		return *ratio ? xr_arena_printf(arena, "differ: %s", ratio) : "differ";
	}
	case XR_MISSING:
		return known(pair->a) ? "only in the first" : "only in the second";
	default:
		return of_the_moment(pair->id) ? "of the moment" : "unknown";
	}
}

/* Ids of both, those of a in its order, then those only b has. */
static struct pair *pair_up(struct xr_arena *arena, const struct xr_description *a, const struct xr_description *b,
                            size_t *n)
{
	size_t na = xr_description_count(a), nb = xr_description_count(b);
	struct pair *pairs = xr_arena_array(arena, struct pair, na + nb + 1);
	*n = 0;
	for (size_t i = 0; i < na; i++) {
		const struct xr_fact *fact = xr_description_at(a, i);
		pairs[(*n)++] = (struct pair){fact->id, fact, xr_description_fact(b, fact->id)};
	}
	for (size_t i = 0; i < nb; i++) {
		const struct xr_fact *fact = xr_description_at(b, i);
		if (!xr_description_fact(a, fact->id))
			pairs[(*n)++] = (struct pair){fact->id, NULL, fact};
	}
	return pairs;
}

/* Of a path: what tells two files apart, as a rule. */
static const char *last_part(const char *name)
{
	const char *slash = strrchr(name, '/');
	return slash && slash[1] ? slash + 1 : name;
}

static struct xr_verdict_counts report(FILE *out, const struct xr_description *a, const struct xr_description *b,
                                       const char *a_name, const char *b_name, const struct xr_style *style, bool all,
                                       bool b_rules)
{
	struct xr_verdict_counts counts = {0};
	struct xr_arena arena = {0};
	struct xr_table table;
	size_t n;
	const struct pair *pairs = pair_up(&arena, a, b, &n);
	const char *a_last = last_part(a_name), *b_last = last_part(b_name);
	const bool apart = strcmp(a_last, b_last) != 0;
	const char *headings[] = {"fact", xr_safe_text(&arena, apart ? a_last : a_name),
	                          xr_safe_text(&arena, apart ? b_last : b_name), "verdict"};
	xr_table_init(&table, &arena, headings, 4);
	table.whole = true;
	for (size_t i = 0; i < n; i++) {
		enum xr_agreement agreement = compare(&pairs[i]);
		if (b_rules && !known(pairs[i].b))
			agreement = XR_UNKNOWN; /* the rule says nothing about it */
		xr_count_verdict(&counts, agreement);
		if (!all && agreement != XR_DIFFER && agreement != XR_MISSING)
			continue;
		size_t row = xr_table_add(&table, pairs[i].id);
		xr_table_set(&table, row, 1, words_of(&arena, pairs[i].a));
		xr_table_set(&table, row, 2, words_of(&arena, pairs[i].b));
		xr_table_set(&table, row, 3,
		             xr_paint_verdict(&arena, style, agreement, verdict_of(&arena, &pairs[i], agreement)));
	}
	if (table.rows)
		xr_table_print(&table, out, style);
	fprintf(out, "%s%zu agree, %zu differ, %zu in one only, %zu in neither.\n", table.rows ? "\n" : "",
	        counts.agree, counts.differ, counts.missing, counts.unknown);
	xr_arena_release(&arena);
	return counts;
}

struct xr_verdict_counts xr_report_diff(FILE *out, const struct xr_description *a, const struct xr_description *b,
                                        const char *a_name, const char *b_name, const struct xr_style *style, bool all)
{
	return report(out, a, b, a_name, b_name, style, all, false);
}

struct xr_verdict_counts xr_report_against(FILE *out, const struct xr_description *d,
                                           const struct xr_description *golden, const char *name,
                                           const char *golden_name, const struct xr_style *style, bool all)
{
	struct xr_verdict_counts counts = report(out, d, golden, name, golden_name, style, all, true);
	if (counts.differ || counts.missing)
		fputs("Verdict: not the same machine, or not in the same state.\n", out);
	else if (counts.agree)
		fputs("Verdict: the same, within what two honest runs differ.\n", out);
	else
		fputs("Verdict: none; nothing could be compared.\n", out);
	return counts;
}
