/* SPDX-License-Identifier: MIT */
#include "target/recording.h"

#include "util/hash.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LONG_KEY = 240, KEY_START = 160 };

const char *xr_recording_key(struct xr_arena *arena, const struct xr_spec *spec)
{
	const char *text = xr_spec_text(arena, spec);
	size_t len = strlen(text);
	if (len <= LONG_KEY)
		return text;
	return xr_arena_printf(arena, "%.*s... %zu characters, hash %016llx", KEY_START, text, len,
	                       (unsigned long long)xr_hash(0, text, len));
}

/* ---- the fields of a reading --------------------------------------------------------------------------------------- */

#define FIELD(member) offsetof(struct xr_reading, member)

static const struct {
	const char *name;
	size_t at;
} reals[] = {{"ns", FIELD(ns)},
             {"cycles", FIELD(cycles)},
             {"median_ns", FIELD(median_ns)},
             {"median_cycles", FIELD(median_cycles)},
             {"spread", FIELD(spread)},
             {"nonlinear", FIELD(nonlinear)},
             {"cycle_ns", FIELD(cycle_ns)},
             {"waited_ns", FIELD(waited_ns)},
             {"insns", FIELD(look.insns)},
             {"stack_refs", FIELD(look.stack_refs)},
             {"calls", FIELD(look.calls)},
             {"moves", FIELD(look.moves)},
             {"code_bytes", FIELD(code_bytes)},
             {"granule_ns", FIELD(granule_ns)}},
  ints[] = {{"dropped", FIELD(dropped)}, {"n_disturbed", FIELD(n_disturbed)}},
  bools[] = {{"refused", FIELD(refused)},
             {"bimodal", FIELD(bimodal)},
             {"disturbed", FIELD(disturbed)},
             {"looked", FIELD(look.looked)}};

#define EACH(i, table)                                                                                                 \
	size_t i = 0;                                                                                                  \
	(i) < sizeof(table) / sizeof *(table);                                                                         \
	(i)++

/* JSON has no infinities; a reading of a batch that was cut short may. */
static json_t *number(double x)
{
	return json_real(isfinite(x) ? x : 0);
}

static json_t *numbers(const double *x, size_t n)
{
	json_t *array = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, number(x[i]));
	return array;
}

static double real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void to_numbers(const json_t *array, double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] = json_number_value(json_array_get(array, i));
}

/* ---- there and back ------------------------------------------------------------------------------------------------ */

json_t *xr_recording_from_reading(const struct xr_reading *r)
{
	const char *base = (const char *)r;
	json_t *json = json_pack("{s:i}", "status", (int)r->status);
	if (r->status != XR_READ_OK)
		json_object_set_new(json, "reason", json_string(r->reason ? r->reason : ""));
	for (EACH(i, reals)) {
		double x = *(const double *)(base + reals[i].at);
		if (x > 0 || x < 0)
			json_object_set_new(json, reals[i].name, number(x));
	}
	for (EACH(i, ints))
		if (*(const int *)(base + ints[i].at))
			json_object_set_new(json, ints[i].name, json_integer(*(const int *)(base + ints[i].at)));
	for (EACH(i, bools))
		if (*(const bool *)(base + bools[i].at))
			json_object_set_new(json, bools[i].name, json_true());
	if (r->samples && r->sample)
		json_object_set_new(json, "sample", numbers(r->sample, (size_t)r->samples));
	if (r->events.counted)
		json_object_set_new(json, "events",
		                    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}", "cycles",
		                              number(r->events.cycles), "insns", number(r->events.insns), "cache_miss",
		                              numbers(r->events.cache_miss, XR_EVENT_LEVELS), "tlb_miss",
		                              numbers(r->events.tlb_miss, XR_EVENT_LEVELS), "switches",
		                              number(r->events.switches), "faults", number(r->events.faults),
		                              "no_cache", r->events.no_cache, "no_tlb", r->events.no_tlb));
	return json;
}

struct xr_reading xr_recording_to_reading(struct xr_target *target, const json_t *json)
{
	struct xr_reading r = {0};
	char *base = (char *)&r;
	json_int_t status = json_integer_value(json_object_get(json, "status"));
	const char *reason = json_string_value(json_object_get(json, "reason"));
	if (status) {
		r.status = status == XR_READ_UNSUPPORTED ? XR_READ_UNSUPPORTED : XR_READ_FAILED;
		r.reason = xr_arena_strdup(&target->arena, reason ? reason : "");
	}
	for (EACH(i, reals))
		*(double *)(base + reals[i].at) = real(json, reals[i].name);
	for (EACH(i, ints))
		*(int *)(base + ints[i].at) = (int)json_integer_value(json_object_get(json, ints[i].name));
	for (EACH(i, bools))
		*(bool *)(base + bools[i].at) = json_is_true(json_object_get(json, bools[i].name));

	const json_t *sample = json_object_get(json, "sample");
	double *values = xr_arena_array(&target->samples, double, json_array_size(sample) + 1);
	to_numbers(sample, values, json_array_size(sample));
	r.sample = values;
	r.samples = (int)json_array_size(sample);

	const json_t *events = json_object_get(json, "events");
	r.events.counted = events != NULL;
	r.events.cycles = real(events, "cycles");
	r.events.insns = real(events, "insns");
	r.events.switches = real(events, "switches");
	r.events.faults = real(events, "faults");
	r.events.no_cache = json_is_true(json_object_get(events, "no_cache"));
	r.events.no_tlb = json_is_true(json_object_get(events, "no_tlb"));
	to_numbers(json_object_get(events, "cache_miss"), r.events.cache_miss, XR_EVENT_LEVELS);
	to_numbers(json_object_get(events, "tlb_miss"), r.events.tlb_miss, XR_EVENT_LEVELS);
	return r;
}
