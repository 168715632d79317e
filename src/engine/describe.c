/* SPDX-License-Identifier: MIT */
#include "engine/claims_cpu.h"
#include "engine/engine.h"

#include <string.h>
#include <time.h>

static void set_text(json_t *object, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_t *value = json_string(text);
	json_object_set_new(object, key,
	                    value ? value : json_string("?")); /* not UTF-8: what a compiler said of itself */
}

void xr_describe_target(struct xr_description *d, const struct xr_target *target, uint64_t seed, bool quick,
                        double seconds)
{
	const struct xr_target_info *info = xr_target_info(target);
	json_t *object = xr_description_target(d);
	json_t *spent = json_incref(json_object_get(object, "spent"));
	double preparing_s, timing_s;
	char date[32];
	time_t now = time(NULL);
	struct tm utc;
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	xr_target_spent(target, &preparing_s, &timing_s);
	json_object_clear(object);
	set_text(object, "name", info->name);
	set_text(object, "kind", info->kind);
	set_text(object, "cpu", info->cpu);
	set_text(object, "compiler", info->compiler);
	set_text(object, "cflags", info->cflags);
	set_text(object, "os", info->os);
	set_text(object, "triple", info->triple);
	set_text(object, "runner", info->runner);
	set_text(object, "clock", info->clock);
	set_text(object, "abi", info->abi);
	if (info->emulated)
		json_object_set_new(object, "emulated", json_true());
	set_text(object, "untimed", info->untimed);
	set_text(object, "unoptimised", info->unoptimised);
	json_object_set_new(object, "cpus", json_integer(info->n_cpus));
	json_object_set_new(object, "date", json_string(date));
	json_object_set_new(object, "seconds", json_real(seconds));
	json_object_set_new(object, "seconds_preparing", json_real(preparing_s));
	json_object_set_new(object, "seconds_timing", json_real(timing_s));
	json_object_set_new(object, "seed", json_integer((json_int_t)seed));
	if (!strcmp(info->kind, "host"))
		json_object_set_new(object, "virtual", json_boolean(xr_claims_virtual()));
	if (quick)
		json_object_set_new(object, "quick", json_true());
	if (spent)
		json_object_set_new(object, "spent", spent);
}
