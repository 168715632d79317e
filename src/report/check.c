/* Measured beside claimed, with a verdict in words. */
#include "report/compare.h"
#include "report/value.h"

#include <string.h>

static enum xr_agreement against_claim(const struct xr_fact *fact)
{
	if (!fact->claimed || fact->status != XR_OK || !fact->value)
		return XR_UNKNOWN;
	return xr_values_agree(fact->value, fact->claimed, fact->unit, fact->id) ? XR_AGREE : XR_DIFFER;
}

static const char *plain_verdict(struct xr_arena *arena, const struct xr_fact *fact, enum xr_agreement agreement)
{
	if (agreement == XR_AGREE)
		return "agree";
	if (agreement == XR_DIFFER) {
		const char *ratio = xr_ratio_words(arena, fact->value, fact->claimed);
		return *ratio ? xr_arena_printf(arena, "differ: %s", ratio) : "differ";
	}
	if (fact->status != XR_OK)
		return xr_arena_printf(arena, "unknown: %s",
		                       fact->status == XR_UNRELIABLE ? "measured in doubt" : "not measured");
	return "unknown: no claim";
}

/* Names of what differs, for the last line. */
static const char *names_of(struct xr_arena *arena, const struct xr_description *d, enum xr_agreement wanted)
{
	const char *names = "";
	int n = 0;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (against_claim(fact) != wanted)
			continue;
		if (++n > 6)
			return xr_arena_printf(arena, "%s, …", names);
		names = xr_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", fact->id);
	}
	return names;
}

static void print_verdict(FILE *out, struct xr_arena *arena, const struct xr_description *d,
                          const struct xr_verdict_counts *counts)
{
	if (counts->differ)
		fprintf(out, "\nVerdict: this machine is not what the OS says: %s %s.\n", names_of(arena, d, XR_DIFFER),
		        counts->differ == 1 ? "differs" : "differ");
	else if (counts->agree)
		fprintf(out, "\nVerdict: this machine is what the OS says, as far as both can tell.\n");
	else
		fprintf(out, "\nVerdict: none; no fact was both measured and claimed.\n");
	fprintf(out, "%zu agree, %zu differ, %zu unknown.\n", counts->agree, counts->differ, counts->unknown);
}

struct xr_verdict_counts xr_report_check(FILE *out, const struct xr_description *d, const struct xr_style *style,
                                         bool all)
{
	static const char *const headings[] = {"fact", "measured", "claimed", "verdict"};
	struct xr_verdict_counts counts = {0};
	struct xr_arena arena = {0};
	struct xr_table table;
	double sure = xr_sure_enough(d);
	xr_table_init(&table, &arena, headings, 4);
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		enum xr_agreement agreement = against_claim(fact);
		xr_count_verdict(&counts, agreement);
		if (!fact->claimed && !all)
			continue;
		size_t row = xr_table_add(&table, fact->id);
		const char *measured = xr_fact_words(&arena, fact, sure);
		xr_table_set(&table, row, 1, *measured ? measured : "-");
		xr_table_set(&table, row, 2, fact->claimed ? xr_value_words(&arena, fact->claimed, fact->unit) : "-");
		xr_table_set(&table, row, 3,
		             xr_paint_verdict(&arena, style, agreement, plain_verdict(&arena, fact, agreement)));
	}
	if (table.rows)
		xr_table_print(&table, out, style);
	print_verdict(out, &arena, d, &counts);
	xr_arena_release(&arena);
	return counts;
}
