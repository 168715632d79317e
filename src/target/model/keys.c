/* SPDX-License-Identifier: MIT */
/* What each key of a machine file is: a table, and one function per kind of value. */
#include "target/model/keys.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	COUNT,  /* int */
	NUMBER, /* uint64_t */
	SIZE,   /* uint64_t with K, M, G */
	REAL,   /* double */
	YES,    /* int, yes or no */
	CHOICE, /* int, index of a word */
	WORDS,  /* char[size] */
	POLICY, /* int */
	BITS,   /* struct xr_index_bits: numbers of bits up to max */
	LIST,   /* uint64_t[size] */
};

struct key {
	const char *section, *name;
	enum kind kind;
	size_t offset;
	double min, max;
	const char *const *choices; /* CHOICE: the words; SIZE, NUMBER: a word that stands for 0 */
	size_t size;                /* WORDS */
};

static const char *const index_names[] = {"virtual", "physical", NULL};
static const char *const full_name[] = {"full", NULL};
static const char *const none_name[] = {"none", NULL};

#define M(field) offsetof(struct xr_machine, field)
#define C(field) offsetof(struct xr_machine_cache, field)
#define T(field) offsetof(struct xr_machine_tlb, field)
#define B(field) offsetof(struct xr_machine_btb, field)
#define O(field) offsetof(struct xr_machine_op, field)
#define GIB 1073741824.0

static const struct key keys[] = {
	{"target", "name", WORDS, M(name), 0, 0, NULL, XR_MACHINE_NAME},
	{"cpu", "mhz", REAL, M(mhz), 0.001, 1e6, NULL, 0},
	{"cpu", "width", COUNT, M(width), 1, 64, NULL, 0},
	{"cpu", "timer_ns", REAL, M(timer_ns), 0.001, 1e9, NULL, 0},
	{"cpu", "timer_cost_ns", REAL, M(timer_cost_ns), 0, 1e6, NULL, 0},
	{"cpu", "timer_spread", REAL, M(timer_spread), 0, 10, NULL, 0},
	{"cpu", "value_prediction", YES, M(value_prediction), 0, 0, NULL, 0},
	{"cpu", "vector_mhz", REAL, M(vector_mhz), 0.001, 1e6, NULL, 0},
	{"cpu", "vector_from", COUNT, M(vector_from), 1, 4096, NULL, 0},
	{"cpu", "vector_ms", REAL, M(vector_ms), 0, 1e6, NULL, 0},
	{"registers", "int", COUNT, M(registers_int), 0, 1024, NULL, 0},
	{"registers", "fp", COUNT, M(registers_fp), 0, 1024, NULL, 0},
	{"registers", "vector", COUNT, M(registers_vector), 0, 1024, NULL, 0},
	{"registers", "vector_bytes", COUNT, M(vector_bytes), 0, 4096, NULL, 0},
	{"registers", "spill_cycles", REAL, M(spill_cycles), 0, 1e4, NULL, 0},
	{"op", "latency", REAL, O(latency), 0.01, 1e6, NULL, 0},
	{"op", "busy", REAL, O(busy), 0.01, 1e6, NULL, 0},
	{"op", "unit", WORDS, O(unit_name), 0, 0, NULL, 16},
	{"cache", "holds", CHOICE, C(holds), 0, 0, xr_holds_names, 0},
	{"cache", "capacity", SIZE, C(capacity), 16, 64 * GIB, NULL, 0},
	{"cache", "ways", NUMBER, C(ways), 1, 1 << 24, full_name, 0},
	{"cache", "line", SIZE, C(line_bytes), 4, 1 << 16, NULL, 0},
	{"cache", "latency", REAL, C(latency), 0.01, 1e6, NULL, 0},
	{"cache", "policy", POLICY, C(policy), 0, 0, NULL, 0},
	{"cache", "write_allocate", YES, C(write_allocate), 0, 0, NULL, 0},
	{"cache", "write_back", YES, C(write_back), 0, 0, NULL, 0},
	{"cache", "index", CHOICE, C(index), 0, 0, index_names, 0},
	{"cache", "inclusion", CHOICE, C(inclusion), 0, 0, xr_inclusion_names, 0},
	{"cache", "shared_by", COUNT, C(shared_by), 1, XR_MACHINE_CORES, NULL, 0},
	{"cache", "hash", YES, C(hash), 0, 0, NULL, 0},
	{"cache", "rival", POLICY, C(rival), 0, 0, NULL, 0},
	{"cache", "leaders", COUNT, C(leaders), 1, 1 << 20, NULL, 0},
	{"cache", "modulo", YES, C(modulo), 0, 0, NULL, 0},
	{"cache", "slices", COUNT, C(slices), 2, 1024, NULL, 0},
	{"cache", "slice_bits", BITS, C(slice_bits), 0, 47, NULL, 0},
	{"cache", "index_bits", BITS, C(index_bits), 0, 47, NULL, 0},
	{"cache", "way_bits", BITS, C(way_bits), 0, 47, NULL, 0},
	{"cache", "same_set_cycles", REAL, C(same_set_cycles), 0, 1e4, NULL, 0},
	{"cache", "bandwidth", REAL, C(bandwidth), 0, 1e4, NULL, 0},
	{"cache", "misses", COUNT, C(misses), 0, 4096, NULL, 0},
	{"cache", "neighbours_gbs", REAL, C(neighbours_gbs), 0, 1e4, NULL, 0},
	{"memory", "latency", REAL, M(memory_latency), 0.01, 1e6, NULL, 0},
	{"memory", "parallelism", COUNT, M(parallelism), 1, 4096, NULL, 0},
	{"memory", "bandwidth_gbs", REAL, M(bandwidth_gbs), 1e-6, 1e6, NULL, 0},
	{"memory", "size", SIZE, M(memory_bytes), 64, 1048576 * GIB, NULL, 0},
	{"page", "size", SIZE, M(page_bytes), 0, GIB, NULL, 0},
	{"page", "huge", SIZE, M(huge_bytes), 0, 64 * GIB, none_name, 0},
	{"page", "placement", CHOICE, M(placement), 0, 0, xr_placement_names, 0},
	{"page", "resizing", YES, M(resizing), 0, 0, NULL, 0},
	{"page", "resizing_ms", REAL, M(resizing_ms), 0, 1e6, NULL, 0},
	{"page", "run", NUMBER, M(run_pages), 2, 1 << 20, NULL, 0},
	{"page", "host", SIZE, M(host_bytes), 16, 64 * GIB, none_name, 0},
	{"walk", "levels", COUNT, M(walk_levels), 0, XR_MACHINE_WALK, NULL, 0},
	{"walk", "step", REAL, M(walk_step), 0, 1e5, NULL, 0},
	{"walk", "tables", WORDS, M(walk_tables), 0, 0, NULL, 16},
	{"walk", "caches", LIST, M(walk_cache), 0, 1 << 20, NULL, XR_MACHINE_WALK},
	{"tlb", "holds", CHOICE, T(holds), 0, 0, xr_holds_names, 0},
	{"tlb", "entries", NUMBER, T(entries), 1, 1 << 20, NULL, 0},
	{"tlb", "ways", NUMBER, T(ways), 1, 1 << 20, full_name, 0},
	{"tlb", "penalty", REAL, T(penalty), 0, 1e6, NULL, 0},
	{"tlb", "policy", POLICY, T(policy), 0, 0, NULL, 0},
	{"tlb", "walks", COUNT, T(walks), 0, 4096, NULL, 0},
	{"tlb", "fold", YES, T(fold), 0, 0, NULL, 0},
	{"tlb", "index_bits", BITS, T(index_bits), 0, 35, NULL, 0},
	{"tlb", "coalesce", COUNT, T(coalesce), 1, 64, NULL, 0},
	{"tlb", "pages", CHOICE, T(pages), 0, 0, xr_pages_names, 0},
	{"tlb", "huge_ways", NUMBER, T(huge_ways), 1, 1 << 20, NULL, 0},
	{"tlb", "code_ways", NUMBER, T(code_ways), 1, 1 << 20, NULL, 0},
	{"code", "lines_ahead", COUNT, M(lines_ahead), 1, 1024, NULL, 0},
	{"code", "pages_ahead", COUNT, M(pages_ahead), 1, 1024, NULL, 0},
	{"code", "decode", REAL, M(decode), 0.1, 64, NULL, 0},
	{"decoded", "ops", NUMBER, M(decoded_ops), 1, 1 << 20, NULL, 0},
	{"decoded", "ways", NUMBER, M(decoded_ways), 1, 1 << 20, NULL, 0},
	{"decoded", "window", SIZE, M(decoded_window), 16, 4096, NULL, 0},
	{"decoded", "per_line", COUNT, M(decoded_per_line), 1, 64, NULL, 0},
	{"decoded", "inclusive", YES, M(decoded_inclusive), 0, 0, NULL, 0},
	{"decoded", "index", CHOICE, M(decoded_index), 0, 0, index_names, 0},
	{"btb", "entries", NUMBER, B(entries), 1, 1 << 20, NULL, 0},
	{"btb", "ways", NUMBER, B(ways), 1, 1 << 20, full_name, 0},
	{"btb", "cycles", REAL, B(cycles), 0, 1e4, NULL, 0},
	{"btb", "shift", COUNT, B(shift), 0, 16, NULL, 0},
	{"btb", "index_bits", BITS, B(index_bits), 0, 47, NULL, 0},
	{"prefetch", "adjacent", YES, M(prefetch_adjacent), 0, 0, NULL, 0},
	{"prefetch", "stride", YES, M(prefetch_stride), 0, 0, NULL, 0},
	{"prefetch", "stream", YES, M(prefetch_stream), 0, 0, NULL, 0},
	{"prefetch", "code", YES, M(prefetch_code), 0, 0, NULL, 0},
	{"prefetch", "distance", COUNT, M(prefetch_distance), 1, 64, NULL, 0},
	{"prefetch", "temporal", NUMBER, M(prefetch_temporal), 0, 1 << 24, none_name, 0},
	{"prefetch", "code_lines", COUNT, M(prefetch_code_lines), 0, 64, NULL, 0},
	{"threads", "cores", COUNT, M(cores), 1, XR_MACHINE_CORES, NULL, 0},
	{"threads", "smt", COUNT, M(smt), 1, 16, NULL, 0},
	{"threads", "shared_units", WORDS, M(shared_names), 0, 0, NULL, 128},
	{"threads", "nodes", COUNT, M(nodes), 1, XR_MACHINE_CORES, NULL, 0},
	{"threads", "second", WORDS, M(second), 0, 0, NULL, 128},
	{"threads", "near_ns", REAL, M(near_ns), 0.01, 1e9, NULL, 0},
	{"threads", "far_ns", REAL, M(far_ns), 0.01, 1e9, NULL, 0},
	{"os", "timeslice_ms", REAL, M(timeslice_ms), 0, 1e6, NULL, 0},
	{"os", "switch_us", REAL, M(switch_us), 0.001, 1e6, NULL, 0},
	{"os", "tick_ms", REAL, M(tick_ms), 0, 1e3, NULL, 0},
	{"branch", "mispredict", REAL, M(mispredict), 0, 1e5, NULL, 0},
	{"branch", "btb_miss", REAL, M(btb_miss), 0, 1e5, NULL, 0},
	{"branch", "learns", NUMBER, M(learns), 1, 1e9, NULL, 0},
	{"counters", "available", YES, M(counters), 0, 0, NULL, 0},
	{"counters", "lies", CHOICE, M(lies), 0, 0, xr_lies_names, 0},
	{"noise", "jitter", REAL, M(jitter), 0, 10, NULL, 0},
	{"noise", "interrupts_hz", REAL, M(interrupts_hz), 0, 1e6, NULL, 0},
	{"noise", "interrupt_us", REAL, M(interrupt_us), 0, 1e6, NULL, 0},
	{"noise", "drift", REAL, M(drift), 0, 0.9, NULL, 0},
	{"noise", "preempt_hz", REAL, M(preempt_hz), 0, 1e5, NULL, 0},
	{"noise", "preempt_ms", REAL, M(preempt_ms), 0, 1e5, NULL, 0},
	{"noise", "step", REAL, M(step), 0, 0.9, NULL, 0},
	{"noise", "step_ms", REAL, M(step_ms), 0.001, 1e6, NULL, 0},
	{"noise", "ramp", REAL, M(ramp), 0, 0.95, NULL, 0},
	{"noise", "ramp_ms", REAL, M(ramp_ms), 0.001, 1e6, NULL, 0},
	{"noise", "low", REAL, M(low), 0, 1, NULL, 0},
	{"noise", "sibling", REAL, M(sibling), 0, 1, NULL, 0},
	{"noise", "sibling_ms", REAL, M(sibling_ms), 0.001, 1e6, NULL, 0},
	{"noise", "sibling_takes", REAL, M(sibling_takes), 0, 0.9, NULL, 0},
	{"noise", "migrate_hz", REAL, M(migrate_hz), 0, 1e4, NULL, 0},
	{"noise", "migrate_us", REAL, M(migrate_us), 0, 1e6, NULL, 0},
};

static int fail(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(char *reason, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(reason, XR_KEY_REASON, format, args);
	va_end(args);
	return 0;
}

bool xr_keys_section(const char *section)
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i].section, section))
			return true;
	return false;
}

static int parse_number(const struct key *key, const char *text, bool units, double *out, char *reason)
{
	char *end;
	size_t digits = strspn(text, "0123456789.eE+-");
	double value = digits ? strtod(text, &end) : 0;
	if (!digits)
		return fail(reason, "%s = %s: not a number", key->name, text);
	if (units && end[0] && !end[1])
		switch (toupper((unsigned char)*end)) {
		case 'G':
			value *= 1024; /* fall through */
		case 'M':
			value *= 1024; /* fall through */
		case 'K':
			value *= 1024;
			end++;
		}
	if (end == text || *end)
		return fail(reason, "%s = %s: not a number%s", key->name, text, units ? " with K, M or G" : "");
	if (!(value >= key->min && value <= key->max))
		return fail(reason, "%s = %s: must be from %.12g to %.12g", key->name, text, key->min, key->max);
	if (key->kind != REAL && value != floor(value))
		return fail(reason, "%s = %s: must be a whole number", key->name, text);
	*out = value;
	return 1;
}

bool xr_keys_number(const char *name, const char *text, double min, double max, bool whole, double *out,
                    char reason[static XR_KEY_REASON])
{
	const struct key key = {"", name, whole ? COUNT : REAL, 0, min, max, NULL, 0};
	return parse_number(&key, text, false, out, reason);
}

bool xr_keys_yes(const char *name, const char *text, int *out, char reason[static XR_KEY_REASON])
{
	if (strcmp(text, "yes") && strcmp(text, "no"))
		return fail(reason, "%s = %s: must be yes or no", name, text);
	*out = !strcmp(text, "yes");
	return true;
}

static int parse_choice(const struct key *key, const char *text, int *out, char *reason)
{
	char all[128] = "";
	for (int i = 0; key->choices[i]; i++) {
		if (!strcmp(text, key->choices[i]) && strcmp(text, "-")) {
			*out = i;
			return 1;
		}
		if (strcmp(key->choices[i], "-") && strlen(all) + strlen(key->choices[i]) + 2 < sizeof all)
			strcat(strcat(all, " "), key->choices[i]);
	}
	return fail(reason, "%s = %s: must be one of%s", key->name, text, all);
}

static int parse_policy(const struct key *key, const char *text, int *out, char *reason)
{
	int policy = xr_policy_parse(text);
	if (policy < 0)
		return fail(reason,
		            "%s = %s: must be one of lru plru nru fifo random srrip mru_n nru_late, lruGplruT "
		            "(lru3plru4) or qlru_hXY_mX_rX_uX[_umo]",
		            key->name, text);
	*out = policy;
	return 1;
}

/* One bit of an index: bits joined by ^, or a mask 0x…. */
static int parse_mask(const struct key *key, const char *word, uint64_t *mask, char *reason)
{
	const uint64_t all = (UINT64_C(2) << (unsigned)key->max) - 1;
	char *end;
	*mask = 0;
	if (!strncmp(word, "0x", 2) && isxdigit((unsigned char)word[2]) && strlen(word) <= 2 + 16) {
		*mask = strtoull(word, &end, 16);
		if (!*end && *mask && !(*mask & ~all))
			return 1;
		return fail(reason, "%s: %.40s is no mask of bits 0 to %.0f", key->name, word, key->max);
	}
	for (const char *at = word;; at = end + 1) {
		if (!isdigit((unsigned char)*at))
			return fail(reason, "%s: %.40s: bits joined by ^ are wanted, 6^12", key->name, word);
		unsigned long bit = strtoul(at, &end, 10);
		if (bit > (unsigned long)key->max)
			return fail(reason, "%s: bit %.20s: must be from 0 to %.0f", key->name, at, key->max);
		if (*mask >> bit & 1)
			return fail(reason, "%s: bit %lu twice in %.40s", key->name, bit, word);
		*mask |= UINT64_C(1) << bit;
		if (!*end)
			return 1;
		if (*end != '^')
			return fail(reason, "%s: %.40s: bits joined by ^ are wanted, 6^12", key->name, word);
	}
}

static int parse_bits(const struct key *key, const char *text, struct xr_index_bits *out, char *reason)
{
	char words[1024], *rest = NULL;
	struct xr_index_bits bits = {0};
	snprintf(words, sizeof words, "%s", text);
	for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (bits.n == XR_INDEX_BITS)
			return fail(reason, "%s: more than %d bits", key->name, XR_INDEX_BITS);
		if (!parse_mask(key, word, &bits.mask[bits.n++], reason))
			return 0;
	}
	if (xr_index_rank(&bits) < bits.n)
		return fail(reason, "%s: one bit follows from the others, so that some values never occur", key->name);
	*out = bits;
	return 1;
}

static int parse_list(const struct key *key, const char *text, uint64_t *out, char *reason)
{
	char words[1024], *rest = NULL;
	size_t n = 0;
	double value = 0;
	snprintf(words, sizeof words, "%s", text);
	memset(out, 0, key->size * sizeof *out);
	for (char *word = strtok_r(words, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (n == key->size)
			return fail(reason, "%s: more than %zu numbers", key->name, key->size);
		if (!parse_number(key, word, false, &value, reason))
			return 0;
		out[n++] = (uint64_t)value;
	}
	return 1;
}

static int parse_words(const struct key *key, const char *text, char *to, char *reason)
{
	if (strlen(text) >= key->size)
		return fail(reason, "%s: longer than %zu characters", key->name, key->size - 1);
	if (strpbrk(text, ";#[]="))
		return fail(reason, "%s = %s: words must do without ; # [ ] =", key->name, text);
	memset(to, 0, key->size);
	snprintf(to, key->size, "%s", text);
	return 1;
}

static int parse_value(const struct key *key, void *base, const char *text, char *reason)
{
	void *to = (char *)base + key->offset;
	double value = 0;
	switch (key->kind) {
	case COUNT:
		if (!parse_number(key, text, false, &value, reason))
			return 0;
		*(int *)to = (int)value;
		return 1;
	case NUMBER:
	case SIZE:
		if (key->choices && !strcmp(text, key->choices[0])) {
			*(uint64_t *)to = 0;
			return 1;
		}
		if (!parse_number(key, text, key->kind == SIZE, &value, reason))
			return 0;
		*(uint64_t *)to = (uint64_t)value;
		return 1;
	case REAL:
		if (!parse_number(key, text, false, &value, reason))
			return 0;
		*(double *)to = value;
		return 1;
	case YES:
		return xr_keys_yes(key->name, text, to, reason);
	case CHOICE:
		return parse_choice(key, text, to, reason);
	case WORDS:
		return parse_words(key, text, to, reason);
	case POLICY:
		return parse_policy(key, text, to, reason);
	case BITS:
		return parse_bits(key, text, to, reason);
	case LIST:
		return parse_list(key, text, to, reason);
	}
	return 0;
}

int xr_keys_set(const char *section, const char *name, void *base, const char *text, char reason[static XR_KEY_REASON])
{
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (!strcmp(keys[i].section, section) && !strcmp(keys[i].name, name))
			return parse_value(&keys[i], base, text, reason);
	return -1;
}
