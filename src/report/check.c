/* SPDX-License-Identifier: MIT */
/* Measured beside claimed, with a verdict in words. */
#include "facts/trust.h"
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
		                       fact->status != XR_UNRELIABLE ? "not measured"
		                       : fact->value                 ? "in doubt"
		                                                     : "not decided");
	return "unknown: no claim";
}

/* A fact that was not found has no unit; its claim has one all the same. */
static const char *claim_unit(const struct xr_fact *fact)
{
	static const struct {
		const char *selector, *unit;
	} units[] = {{"cache.*.capacity", "bytes"}, {"cache.*.line", "bytes"}, {"memory.page_size", "bytes"},
	             {"cpu.frequency", "Hz"},       {"os.tick", "s"},          {"os.timeslice", "s"}};
	if (fact->unit && *fact->unit)
		return fact->unit;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (xr_id_matches(fact->id, units[i].selector))
			return units[i].unit;
	return "";
}

/* What makes a machine give something else than its OS says. Of numbers, where they differ by a factor of two;
 * the clock rate where it differs at all. */
enum direction { LESS, MORE, OTHERWISE };
static const struct {
	const char *selector;
	enum direction direction;
	const char *why;
	const char *bare; /* the same where no hypervisor is; NULL: then it is no explanation */
} explanations[] = {
	{"cache.*.capacity", LESS,
         "a partition of the cache, neighbours that use it, or the hypervisor may take the rest",
         "a partition of the cache, or neighbours that use it, may take the rest"},
	{"cache.*.capacity", MORE, "the hypervisor may describe another processor", NULL},
	{"cache.*.ways", LESS, "a partition of the cache may leave only some of the ways",
         "a partition of the cache may leave only some of the ways"},
	{"cache.*.shared_by", OTHERWISE,
         "the hypervisor may run virtual CPUs on other cores than it says, and move them", NULL},
	{"cache.*", OTHERWISE, "the hypervisor may describe another processor", NULL},
	{"tlb", OTHERWISE, "the hypervisor may describe another processor",
         "the processor may have separate entries for large pages, or for code"},
	{"threads", OTHERWISE,
         "virtual CPUs may share cores without the hypervisor saying so, or be moved between them", NULL},
	{"topology", OTHERWISE, "the hypervisor may hide NUMA nodes, or make some up", NULL},
	{"memory.huge_pages", OTHERWISE, "the hypervisor may back huge pages with small ones", NULL},
	{"memory.page_size", OTHERWISE, "the TLB may coalesce neighbouring pages, or the OS promote them",
         "the TLB may coalesce neighbouring pages, or the OS promote them"},
	{"cpu.frequency", MORE, "the OS may name the base rate; processors go faster while power and heat allow",
         "the OS may name the base rate; processors go faster while power and heat allow"},
	{"cpu.frequency", LESS, "the OS may name the highest rate; power, heat or a governor may allow less",
         "the OS may name the highest rate; power, heat or a governor may allow less"},
	{"os.tick", LESS, "the hypervisor's own tick may have been taken for the OS's", NULL},
	{"os.timeslice", LESS, "other threads that woke up, or the hypervisor, may have cut the runs short",
         "other threads that woke up may have cut the runs short"},
};

const char *xr_claim_explanation(const struct xr_description *d, const struct xr_fact *fact)
{
	const bool bare = json_is_false(json_object_get(xr_description_target_const(d), "virtual"));
	bool numbers = json_is_number(fact->value) && json_is_number(fact->claimed);
	double x = json_number_value(fact->value), y = json_number_value(fact->claimed);
	enum direction direction = !numbers ? OTHERWISE : x < y ? LESS : MORE;
	bool far = !numbers || x >= 1.995 * y || y >= 1.995 * x || xr_id_matches(fact->id, "cpu.frequency");

	for (size_t i = 0; far && i < sizeof explanations / sizeof *explanations; i++)
		if (xr_id_matches(fact->id, explanations[i].selector) &&
		    (explanations[i].direction == OTHERWISE || explanations[i].direction == direction))
			return bare ? explanations[i].bare : explanations[i].why;
	return NULL;
}

static void print_explanations(FILE *out, struct xr_arena *arena, const struct xr_description *d, int width)
{
	bool first = true;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		const char *why = against_claim(fact) == XR_DIFFER ? xr_claim_explanation(d, fact) : NULL;
		if (!why)
			continue;
		const char *text = xr_arena_printf(arena, "%s: %s", fact->id, why);
		fprintf(out, "%s  %s\n", first ? "\nPossible reasons\n" : "", xr_text_wrap(arena, text, width, 2));
		first = false;
	}
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
			return xr_arena_printf(arena, "%s and others", names);
		names = xr_arena_printf(arena, "%s%s%s", names, *names ? ", " : "", fact->id);
	}
	return names;
}

static void print_verdict(FILE *out, struct xr_arena *arena, const struct xr_description *d,
                          const struct xr_verdict_counts *counts, size_t unclaimed, int width)
{
	const char *verdict = "No verdict: no fact was both measured and claimed.";
	print_explanations(out, arena, d, width);
	if (counts->differ)
		verdict = xr_arena_printf(arena, "Verdict: this machine is not what the OS says: %s %s.",
		                          names_of(arena, d, XR_DIFFER), counts->differ == 1 ? "differs" : "differ");
	else if (counts->agree)
		verdict = "Verdict: this machine is what the OS says, as far as both can tell.";
	fprintf(out, "\n%s\n", xr_text_wrap(arena, verdict, width, 0));
	verdict = xr_arena_printf(arena, "%zu agree, %zu differ, %zu unknown; the OS claims nothing about %zu others.",
	                          counts->agree, counts->differ, counts->unknown - unclaimed, unclaimed);
	fprintf(out, "%s\n", xr_text_wrap(arena, verdict, width, 0));
}

struct xr_verdict_counts xr_report_check(FILE *out, const struct xr_description *d, const struct xr_style *style,
                                         bool all)
{
	static const char *const headings[] = {"fact", "measured", "claimed", "verdict"};
	struct xr_verdict_counts counts = {0};
	struct xr_arena arena = {0};
	struct xr_table table;
	size_t unclaimed = 0;
	xr_table_init(&table, &arena, headings, 4);
	table.whole = true;
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		enum xr_agreement agreement = against_claim(fact);
		xr_count_verdict(&counts, agreement);
		unclaimed += !fact->claimed;
		if (!fact->claimed && !all)
			continue;
		size_t row = xr_table_add(&table, fact->id);
		const char *measured = xr_fact_words(&arena, fact, xr_trust_usual);
		xr_table_set(&table, row, 1, *measured ? measured : "-");
		xr_table_set(&table, row, 2,
		             fact->claimed ? xr_value_words(&arena, fact->claimed, claim_unit(fact)) : "-");
		xr_table_set(&table, row, 3,
		             xr_paint_verdict(&arena, style, agreement, plain_verdict(&arena, fact, agreement)));
	}
	if (table.rows)
		xr_table_print(&table, out, style);
	print_verdict(out, &arena, d, &counts, unclaimed, style->width);
	xr_arena_release(&arena);
	return counts;
}
