#include "report/compare.h"

#include <math.h>
#include <string.h>

/* Relative difference that two honest runs on one machine may show; the first rule that fits counts. What no rule and no
 * unit below names is counted, not timed, and must be equal. */
static const struct {
	const char *selector;
	double tolerance;
} rules[] = {
	{"op.*.*.in_flight", 0.34},      {"statement.in_flight", 0.34}, {"timer", 0.5},           {"cpu.frequency", 0.1},
	{"cache.*.capacity", 0.12},      {"cache.l3.latency", 0.2},     {"memory.latency", 0.2},  {"memory.latency_ns", 0.2},
	{"memory.parallelism", 0.25},    {"memory.bandwidth", 0.2},     {"tlb.*.entries", 0.1},   {"tlb.*.penalty", 0.25},
	{"code", 0.12},                  {"comm", 0.25},                {"os", 0.25},             {"core", 0.12},
};

static const struct {
	const char *unit;
	double tolerance;
} unit_rules[] = {
	{"cycles", 0.05}, {"ns", 0.15}, {"s", 0.15}, {"Hz", 0.1}, {"B/s", 0.2},
};

/* Clocks of a nanosecond and loops of a hundred do not tell less than this apart. */
static const double least_cycles = 0.1;

static double tolerance(const char *unit, const char *id)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (xr_id_matches(id, rules[i].selector))
			return rules[i].tolerance;
	for (size_t i = 0; i < sizeof unit_rules / sizeof *unit_rules; i++)
		if (!strcmp(unit, unit_rules[i].unit))
			return unit_rules[i].tolerance;
	return 0;
}

bool xr_values_agree(const json_t *a, const json_t *b, const char *unit, const char *id)
{
	if (!json_is_number(a) || !json_is_number(b))
		return json_equal(a, b);
	double x = json_number_value(a), y = json_number_value(b);
	double apart = fabs(x - y), larger = fmax(fabs(x), fabs(y));
	return apart <= tolerance(unit, id) * larger || (!strcmp(unit, "cycles") && apart <= least_cycles);
}

const char *xr_ratio_words(struct xr_arena *arena, const json_t *a, const json_t *b)
{
	if (!json_is_number(a) || !json_is_number(b))
		return "";
	double x = json_number_value(a), y = json_number_value(b);
	if (!(x > 0) || !(y > 0))
		return "";
	if (x >= 1.995 * y)
		return xr_arena_printf(arena, "%.3g times as much", x / y);
	if (y >= 1.995 * x)
		return xr_arena_printf(arena, "1/%.3g of it", y / x);
	return xr_arena_printf(arena, "%.3g %% %s", fabs(x / y - 1) * 100, x > y ? "more" : "less");
}

void xr_count_verdict(struct xr_verdict_counts *counts, enum xr_agreement agreement)
{
	size_t *const count[] = {&counts->agree, &counts->differ, &counts->unknown, &counts->missing};
	++*count[agreement];
}

const char *xr_paint_verdict(struct xr_arena *arena, const struct xr_style *style, enum xr_agreement agreement,
                             const char *words)
{
	static const char *const colour[] = {"\033[32m", "\033[31m", "\033[2m", "\033[33m"};
	return style->colour ? xr_arena_printf(arena, "%s%s\033[0m", colour[agreement], words) : words;
}
