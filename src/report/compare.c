/* SPDX-License-Identifier: MIT */
#include "report/compare.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Relative difference that two honest runs on one machine may show; the first rule that fits counts. What no rule and
 * no unit below names is counted, not timed, and must be equal. */
static const struct {
	const char *selector;
	double tolerance;
} rules[] = {
	{"op.*.*.in_flight", 0.34},
	{"units.width", 0.05}, /* operations a cycle, timed */
	{"statement.in_flight", 0.34},
	{"timer", 0.5},
	{"cpu.frequency", 0.1},
	{"cache.l3.capacity", 0.35}, /* what neighbours leave of it */
	{"cache.*.capacity", 0.12},
	{"cache.l3.latency", 0.2},
	{"memory.latency", 0.2},
	{"memory.latency_ns", 0.2},
	{"memory.parallelism", 0.25},
	{"memory.bandwidth", 0.2},
	{"tlb.*.entries", 0.1},
	{"tlb.*.penalty", 0.25},
	{"code", 0.12},
	{"comm", 0.25},
	{"os", 0.25},
	{"core", 0.12},
};

static const struct {
	const char *unit;
	double tolerance;
} unit_rules[] = {
	{"cycles", 0.05}, {"ns", 0.15}, {"s", 0.15}, {"Hz", 0.1}, {"B/s", 0.2}, {"bytes/cycle", 0.2},
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

static bool numbers_agree(const json_t *a, const json_t *b, double share, double least)
{
	double x = json_number_value(a), y = json_number_value(b);
	return fabs(x - y) <= fmax(share * fmax(fabs(x), fabs(y)), least);
}

/* Inside lists and matrices what is counted is an integer and what is timed is not. */
static bool parts_agree(const json_t *a, const json_t *b, double share)
{
	const char *key;
	json_t *one;
	size_t i;
	if (json_is_real(a) && json_is_real(b))
		return numbers_agree(a, b, share, 0);
	if (json_is_array(a) && json_is_array(b)) {
		json_array_foreach(a, i, one) if (!json_array_get(b, i) ||
		                                  !parts_agree(one, json_array_get(b, i), share)) return false;
		return json_array_size(a) == json_array_size(b);
	}
	if (json_is_object(a) && json_is_object(b)) {
		json_object_foreach((json_t *)(uintptr_t)a, key,
		                    one) if (!json_object_get(b, key) ||
		                             !parts_agree(one, json_object_get(b, key), share)) return false;
		return json_object_size(a) == json_object_size(b);
	}
	return json_equal(a, b);
}

bool xr_values_agree(const json_t *a, const json_t *b, const char *unit, const char *id)
{
	if (json_is_number(a) && json_is_number(b))
		return numbers_agree(a, b, tolerance(unit, id), strcmp(unit, "cycles") ? 0 : least_cycles);
	return parts_agree(a, b, fmax(tolerance(unit, id), 0.05));
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
