/* SPDX-License-Identifier: MIT */
/* Consistency of a description, in one place.
 *
 * Rules are orders that every machine keeps: caches grow with their level, so do their latencies, memory is slower than
 * any cache, a second TLB has more entries than the first. When an order is broken, not both facts are right, and
 * P(a is right | not both are) = a (1 - b) / (1 - a b) for confidences a and b: the surer one hardly suffers.
 * And nothing is surer than the time allowed in which it was measured.
 */
#include "facts/trust.h"

#include "util/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const double xr_trust_least = 0.8, xr_trust_usual = 0.9;

enum { ID_MAX = 128 };

static struct xr_fact *find(struct xr_description *d, const char *prefix, const char *id)
{
	char full[ID_MAX];
	snprintf(full, sizeof full, "%s%s", prefix, id);
	struct xr_fact *fact = xr_description_edit(d, full);
	return fact && fact->status == XR_OK && json_is_number(fact->value) ? fact : NULL;
}

/* Behind what the fact says already. */
static void say(struct xr_fact *fact, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct xr_fact *fact, const char *format, ...)
{
	char words[256];
	va_list ap;
	va_start(ap, format);
	vsnprintf(words, sizeof words, format, ap);
	va_end(ap);
	char *before = fact->reason ? xr_strdup(fact->reason) : NULL;
	xr_fact_note(fact, "%s%s%s", before ? before : "", before ? "; " : "", words);
	free(before);
}

static void contradict(struct xr_fact *a, struct xr_fact *b, const char *words)
{
	double p = a->confidence, q = b->confidence, not_both = 1 - p * q;
	say(a, "contradicts %s: %s", b->id, words);
	say(b, "contradicts %s: %s", a->id, words);
	if (not_both > 0) {
		a->confidence = p * (1 - q) / not_both;
		b->confidence = q * (1 - p) / not_both;
	} else {
		a->confidence = b->confidence = 0.5; /* both claim certainty: one of them lies */
	}
}

static void must_rise(struct xr_fact *lower, struct xr_fact *upper, const char *words)
{
	if (lower && upper && json_number_value(lower->value) >= json_number_value(upper->value))
		contradict(lower, upper, words);
}

/* ---- the rules ---------------------------------------------------------------------------------------------------- */

/* Levels from the core outwards; one that is not known is stepped over. */
static void rise_along(struct xr_description *d, const char *prefix, const char *const *ids, const char *words)
{
	struct xr_fact *last = NULL;
	for (; *ids; ids++) {
		struct xr_fact *fact = find(d, prefix, *ids);
		must_rise(last, fact, words);
		last = fact ? fact : last;
	}
}

/* An exclusive cache may be smaller than the one before it: what it gives comes on top. */
static bool is_exclusive(const struct xr_description *d, const char *prefix, int level)
{
	char id[ID_MAX];
	snprintf(id, sizeof id, "%scache.l%d.inclusion", prefix, level);
	const struct xr_fact *fact = xr_description_fact(d, id);
	const char *word = fact && fact->value ? json_string_value(fact->value) : NULL;
	return word && !strcmp(word, "exclusive");
}

static void capacities_rise(struct xr_description *d, const char *prefix)
{
	struct xr_fact *last = find(d, prefix, "cache.l1d.capacity");
	for (int level = 2; level <= 5; level++) {
		char id[32];
		snprintf(id, sizeof id, "cache.l%d.capacity", level);
		struct xr_fact *fact = find(d, prefix, id);
		if (!is_exclusive(d, prefix, level))
			must_rise(last, fact, "each cache is larger than the one before it");
		last = fact ? fact : last;
	}
}

/* Memory's latency was read by walking over more than every cache holds, or it is a cache's. */
static void memory_was_walked(struct xr_description *d)
{
	static const char *const capacity[] = {"cache.l5.capacity", "cache.l4.capacity", "cache.l3.capacity",
	                                       "cache.l2.capacity", "cache.l1d.capacity"};
	const struct xr_series *walk = xr_description_series(d, "cache.walk");
	struct xr_fact *latency = find(d, "", "memory.latency"), *outer = NULL;
	const struct xr_fact *page = find(d, "", "memory.page_size");
	for (size_t i = 0; i < sizeof capacity / sizeof *capacity && !outer; i++)
		outer = find(d, "", capacity[i]);
	if (!walk || !walk->n || !latency || !page || !outer)
		return;
	double walked = walk->x[walk->n - 1] * json_number_value(page->value);
	if (json_number_value(outer->value) >= walked)
		contradict(latency, outer, "memory is what lies beyond the last cache, and no walk went there");
}

/* Points of the cost curve well inside n pages are cheap, those well beyond pay half of the penalty or more. Far beyond,
 * caches miss as well, and what translation costs drowns in that. */
static bool steps_at(const struct xr_series *curve, double n, double half)
{
	size_t inside = 0, cheap = 0, beyond = 0, dear = 0;
	for (size_t i = 0; i < curve->n; i++) {
		inside += curve->x[i] <= n / 2;
		cheap += curve->x[i] <= n / 2 && curve->y[i] < half;
		bool outside = curve->x[i] >= 2 * n && curve->x[i] <= 8 * n;
		beyond += outside;
		dear += outside && curve->y[i] > half;
	}
	return inside - cheap <= 1 && beyond - dear <= 1; /* one may be an accident, two are not */
}

/* The curve steps where the first TLB is full: after as many pages as it has entries, or as these cover. */
static void reach_fits_the_curve(struct xr_description *d)
{
	const struct xr_series *curve = xr_description_series(d, "tlb.data");
	struct xr_fact *entries = find(d, "", "tlb.d1.entries");
	const struct xr_fact *penalty = find(d, "", "tlb.d1.penalty");
	if (!curve || !entries || !penalty)
		return;
	double n = json_number_value(entries->value), half = json_number_value(penalty->value) / 2;
	double page = xr_description_number(d, "memory.page_size", 0);
	double each = page > 0 ? xr_description_number(d, "tlb.d1.page", page) / page : 1;
	if (steps_at(curve, n, half) || (each > 1 && steps_at(curve, n * each, half)))
		return;
	entries->confidence *= 0.5; /* the curve is as good a witness */
	say(entries, "the cost of translation over pages does not step there");
}

/* Without an optimiser variables live in memory. What was measured of operations and registers is true of such code alone;
 * where the agent is compiled like that, too, a cycle is counted by additions that pass through memory, and every
 * chase and stream has more to do than it should: only sizes hold, which are found by where times change. */
static void code_was_optimised(struct xr_description *d)
{
	static const char *const of_code[] = {"op.", "registers.", "units.", "isa.", "core."};
	static const char *const by_steps[] = {"bytes", "pages", "lines"};
	const char *which = json_string_value(json_object_get(xr_description_target(d), "unoptimised"));
	for (size_t i = 0; which && i < xr_description_count(d); i++) {
		struct xr_fact *fact = xr_description_edit(d, xr_description_at(d, i)->id);
		bool code = false, holds = !strncmp(fact->id, "timer.", 6) || json_is_boolean(fact->value);
		for (size_t k = 0; k < sizeof of_code / sizeof *of_code; k++)
			code |= !strncmp(fact->id, of_code[k], strlen(of_code[k]));
		for (size_t k = 0; k < sizeof by_steps / sizeof *by_steps; k++)
			holds |= fact->unit && !strcmp(fact->unit, by_steps[k]);
		holds |= !code && (!fact->unit || !*fact->unit || !strcmp(fact->unit, "count"));
		if (fact->status != XR_OK || (strcmp(which, "all") != 0 ? !code : holds))
			continue;
		xr_fact_doubt(fact, code ? "compiled without an optimiser: variables live in memory"
		                         : "the agent was compiled without an optimiser: its own loads and stores take "
		                           "part in it");
	}
}

static void check_one_type(struct xr_description *d, const char *prefix)
{
	static const char *const latencies[] = {"cache.l1d.latency", "cache.l2.latency", "cache.l3.latency",
	                                        "cache.l4.latency",  "memory.latency",   NULL};
	static const char *const entries[] = {"tlb.d1.entries", "tlb.d2.entries", "tlb.d3.entries", NULL};
	static const char *const code[] = {"cache.l1i.capacity", "cache.l2i.capacity", NULL};
	capacities_rise(d, prefix);
	rise_along(d, prefix, latencies, "each level takes longer than the one before it");
	rise_along(d, prefix, entries, "each TLB has more entries than the one before it");
	rise_along(d, prefix, code, "each cache is larger than the one before it");
}

/* Is anything told of that kind of core? *prefix: what its facts begin with. */
static bool has_type(const struct xr_description *d, int type, char *prefix, size_t size)
{
	const size_t n = (size_t)snprintf(prefix, size, "type.%d.", type);
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (!strncmp(xr_description_at(d, i)->id, prefix, n))
			return true;
	return false;
}

/* ---- the border ---------------------------------------------------------------------------------------------------- */

/* Whoever runs in between fills the caches that are not the first with lines of his own, and any reading may be one that
 * met them: what is said of those caches is no surer than the share of the time in which nobody else ran. */
static void others_left_the_caches_alone(struct xr_description *d)
{
	static const char *const shared[] = {"cache.levels",     "cache.l2.capacity", "cache.l2.ways",
	                                     "cache.l2.latency", "cache.l3.capacity", "cache.l3.ways",
	                                     "cache.l3.latency"};
	const double lost = xr_description_number(d, "noise.lost", 0);
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
		struct xr_fact *fact = find(d, "", shared[i]);
		if (!fact || !(fact->confidence > 1 - lost))
			continue;
		fact->confidence = fmax(0, 1 - lost);
		if (!xr_trust_enough(fact->confidence, xr_trust_least))
			say(fact, "others took %.0f %% of the time, and what they left in this cache may count",
			    100 * lost);
	}
}

bool xr_trust_enough(double confidence, double least)
{
	return rint(confidence * 100) >= rint(least * 100);
}

void xr_trust_apply(struct xr_description *d)
{
	char prefix[16];
	check_one_type(d, "");
	for (int type = 1; has_type(d, type, prefix, sizeof prefix); type++)
		check_one_type(d, prefix);
	memory_was_walked(d);
	reach_fits_the_curve(d);
	code_was_optimised(d);
	others_left_the_caches_alone(d);
	for (size_t i = 0; i < xr_description_count(d); i++) {
		struct xr_fact *fact = xr_description_edit(d, xr_description_at(d, i)->id);
		if (fact->status != XR_OK || xr_trust_enough(fact->confidence, xr_trust_least))
			continue;
		fact->status = XR_UNRELIABLE;
		char *before =
			fact->reason ? xr_strdup(fact->reason) : NULL; /* mostly a note, which explains no doubt */
		xr_fact_note(fact, "only %.0f %% sure%s%s", fact->confidence * 100, before ? ": " : "",
		             before ? before : "");
		free(before);
	}
}
