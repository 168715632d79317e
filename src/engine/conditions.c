/* SPDX-License-Identifier: MIT */
#include "engine/conditions.h"

#include <string.h>
#include <time.h>

bool xr_conditions_can(const struct xr_target *target)
{
	return !strcmp(xr_target_info(target)->kind, "host");
}

static const char *all_words(struct xr_arena *arena, const struct xr_around *around)
{
	const char *words = "", *sentence;
	for (int i = 0; (sentence = xr_around_words(arena, around, false, false, i)); i++)
		words = xr_arena_printf(arena, "%s%s%s", words, *words ? "\n" : "", sentence);
	return words;
}

void xr_conditions_look(struct xr_arena *arena, const struct xr_target *target, double interval_s,
                        struct xr_conditions *out)
{
	const struct xr_target_info *info = xr_target_info(target);
	struct timespec nap = {(time_t)interval_s, (long)((interval_s - (double)(time_t)interval_s) * 1e9)};
	struct xr_moment from, to;
	struct xr_around around;
	xr_moment_take(&from, arena, info->cpu_ids, info->n_cpus);
	nanosleep(&nap, NULL);
	xr_moment_take(&to, arena, info->cpu_ids, info->n_cpus);
	xr_around_between(&around, &from, &to, info->n_cpus);
	*out = (struct xr_conditions){
		.busy = around.busy,
		.steal = around.steal,
		.load = around.load,
		.quota = around.quota,
		.quiet = xr_around_quiet(&around),
		.words = all_words(arena, &around),
	};
}

static json_t *who(const struct xr_around *around)
{
	json_t *list = json_array();
	for (size_t i = 0; i < around->n_who; i++)
		json_array_append_new(
			list, json_pack("{s:s, s:f}", "name", around->who[i].name, "share", around->who[i].share));
	return list;
}

void xr_conditions_note(struct xr_description *d, const struct xr_target *target, const struct xr_moment *from)
{
	const double least_s = 0.2; /* the OS counts in ticks of 10 ms: of less, a share says nothing */
	const struct xr_target_info *info = xr_target_info(target);
	const struct xr_fact *neighbour = xr_description_fact(d, "noise.neighbour");
	bool shared = neighbour && neighbour->status == XR_OK && json_is_true(neighbour->value);
	json_t *object = json_object(), *words = json_array();
	struct xr_arena arena = {0};
	struct xr_moment to;
	struct xr_around around;
	const char *sentence;
	xr_moment_take(&to, &arena, info->cpu_ids, info->n_cpus);
	if (to.at_s - from->at_s < least_s)
		goto out;
	xr_around_between(&around, from, &to, info->n_cpus);
	json_object_set_new(object, "busy", json_real(around.busy));
	json_object_set_new(object, "steal", json_real(around.steal));
	if (around.load >= 0)
		json_object_set_new(object, "load", json_real(around.load));
	if (around.quota > 0)
		json_object_set_new(object, "quota", json_real(around.quota));
	if (*around.governor)
		json_object_set_new(object, "governor", json_string(around.governor));
	if (*around.huge)
		json_object_set_new(object, "huge_pages", json_string(around.huge));
	if (around.n_who)
		json_object_set_new(object, "who", who(&around));
	for (int i = 0; (sentence = xr_around_words(&arena, &around, true, shared, i)); i++)
		json_array_append_new(words, json_string(sentence));
	json_object_set(object, "words", words);
	json_object_set(xr_description_target(d), "conditions", object);
out:
	json_decref(words);
	json_decref(object);
	xr_arena_release(&arena);
}
