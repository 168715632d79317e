/* SPDX-License-Identifier: MIT */
/* A recorded machine: answers from a file what a real one once answered. */
#include "target/backend.h"
#include "target/border.h"
#include "target/initext.h"
#include "target/open.h"
#include "target/record.h"
#include "target/recording.h"
#include "util/files.h"
#include "util/memory.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECORDING_MAX = 256 << 20, TARGET_FILE_MAX = 1 << 20 };

struct replay {
	struct xr_target base;
	json_t *answers; /* spec text -> array of readings, in the order they were given */
	json_t *next;    /* spec text -> index of the next one to hand out */
};

static double real(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static int replay_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                       struct xr_reading *out, struct xr_error *err)
{
	struct replay *r = (struct replay *)target;
	struct xr_arena arena = {0};
	(void)effort;
	(void)err;
	for (size_t i = 0; i < n; i++) {
		const char *text = xr_recording_key(&arena, &specs[i]);
		const json_t *answers = json_object_get(r->answers, text);
		size_t count = json_array_size(answers);
		if (!count) {
			out[i].status = XR_READ_FAILED;
			out[i].reason = xr_arena_printf(&target->arena, "not in the recording: %s", text);
			continue;
		}
		size_t next = (size_t)json_integer_value(json_object_get(r->next, text));
		out[i] = xr_recording_to_reading(target, json_array_get(answers, next % count));
		json_object_set_new(r->next, text, json_integer((json_int_t)((next + 1) % count)));
	}
	xr_arena_release(&arena);
	return 0;
}

/* The recording went on elsewhere, if it did; what it then read is what comes next. */
static int replay_move(struct xr_target *target, int cpu, struct xr_error *err)
{
	(void)err;
	target->info.cpu_used = cpu;
	return 0;
}

static void replay_free(struct xr_target *target)
{
	struct replay *r = (struct replay *)target;
	json_decref(r->answers);
	json_decref(r->next);
	xr_target_deinit(target);
	free(r);
}

static const struct xr_backend replay_backend = {.time = replay_time, .move = replay_move, .free = replay_free};

static const char *word(struct xr_arena *arena, const json_t *info, const char *key)
{
	const char *text = json_string_value(json_object_get(info, key));
	return xr_arena_strdup(arena, text ? text : "");
}

static void info_from_json(struct xr_target *target, const json_t *json)
{
	struct xr_target_info *info = &target->info;
	struct xr_arena *arena = &target->arena;
	const json_t *cpus = json_object_get(json, "cpus");
	info->kind = "recorded";
	info->name = word(arena, json, "name");
	info->cpu = word(arena, json, "cpu");
	info->compiler = word(arena, json, "compiler");
	info->cflags = word(arena, json, "cflags");
	info->os = word(arena, json, "os");
	info->n_cpus = (int)json_array_size(cpus);
	int *ids = xr_arena_array(arena, int, info->n_cpus ? info->n_cpus : 1);
	for (int i = 0; i < info->n_cpus; i++)
		ids[i] = (int)json_integer_value(json_array_get(cpus, (size_t)i));
	info->cpu_ids = ids;
	info->cpu_quota = real(json, "quota");
	info->can_pin = json_is_true(json_object_get(json, "can_pin"));
	info->memory_bytes = (uint64_t)json_integer_value(json_object_get(json, "memory"));
	info->page_bytes = (uint64_t)json_integer_value(json_object_get(json, "page"));
	info->has_flavour[XR_PLAIN] = json_is_true(json_object_get(json, "plain"));
	info->has_flavour[XR_NATIVE] = json_is_true(json_object_get(json, "native"));
	info->kinds = (unsigned)json_integer_value(json_object_get(json, "kinds"));
}

/* One JSON object a line; the first describes the machine. */
static int load(struct replay *r, const char *path, const struct xr_watch *watch, struct xr_error *err)
{
	struct xr_strbuf text = {0};
	if (xr_file_read_foreign(path, RECORDING_MAX, watch, &text)) {
		xr_strbuf_release(&text);
		return xr_fail(err, XR_EXIT_USE, "cannot read the recording %s: %s", path, xr_foreign_why(errno));
	}
	int number = 0, status = 0;
	for (const char *at = xr_strbuf_text(&text); *at && !status && !xr_watch_over(watch);
	     at += strcspn(at, "\n"), at += *at == '\n') {
		size_t len = strcspn(at, "\n");
		json_error_t why;
		json_t *line = json_loadb(at, len, 0, &why);
		const char *spec = json_string_value(json_object_get(line, "spec"));
		json_t *reading = json_object_get(line, "reading");
		number++;
		if (!line) {
			status = xr_fail(err, XR_EXIT_USE, "%s:%d: %s", path, number, why.text);
		} else if (number == 1 && json_object_get(line, "cpus")) {
			info_from_json(&r->base, line);
		} else if (spec && json_is_object(reading)) {
			json_t *list = json_object_get(r->answers, spec);
			if (!list) {
				list = json_array();
				json_object_set_new(r->answers, spec, list);
			}
			json_array_append(list, reading);
		} else {
			status = xr_fail(err, XR_EXIT_USE, "%s:%d: not a line of a recording", path, number);
		}
		json_decref(line);
	}
	struct xr_error why = {0};
	if (!status && xr_watch_over(watch))
		status = xr_fail(err, XR_EXIT_USE, "%s: %s", path, xr_watch_why(watch));
	else if (!status && !r->base.info.kind)
		status = xr_fail(err, XR_EXIT_USE, "%s: not a recording: it does not say of what machine", path);
	else if (!status && xr_border_info(&r->base.info, &why))
		status = xr_fail(err, XR_EXIT_USE, "%s: not a machine: %s", path, why.text);
	xr_strbuf_release(&text);
	return status;
}

struct keys {
	char kind[32], readings[256], key[64];
};

static int take_key(void *self, const char *section, const char *name, const char *value)
{
	struct keys *k = self;
	if (strcmp(section, "target"))
		return 1;
	if (!strcmp(name, "kind"))
		snprintf(k->kind, sizeof k->kind, "%s", value);
	else if (!strcmp(name, "readings"))
		snprintf(k->readings, sizeof k->readings, "%s", value);
	else if (strcmp(name, "name") != 0)
		snprintf(k->key, sizeof k->key, "%s", name);
	return 1;
}

/* path: where the text is from; what it names lies beside it. */
static struct xr_target *replay_open(const char *path, const struct xr_strbuf *text, const struct xr_watch *watch,
                                     struct xr_error *err)
{
	struct keys keys = {0};
	int line = xr_ini_text(xr_strbuf_text(text), text->len, take_key, &keys);
	if (line) {
		xr_fail(err, XR_EXIT_USE, "%s:%d: not a line of a target file", path, line > 0 ? line : 1);
		return NULL;
	}
	if (strcmp(keys.kind, "recorded") != 0 || !keys.readings[0] || keys.key[0]) {
		xr_fail(err, XR_EXIT_USE,
		        keys.key[0] ? "%s: a recorded target has no key '%s'"
		                    : "%s: kind = recorded and readings = FILE are needed%s",
		        path, keys.key);
		return NULL;
	}
	struct replay *r = xr_calloc(1, sizeof *r);
	xr_target_init(&r->base, &replay_backend);
	r->answers = json_object();
	r->next = json_object();
	const char *slash = strrchr(path, '/');
	const char *readings =
		keys.readings[0] == '/' || !slash
			? keys.readings
			: xr_arena_printf(&r->base.arena, "%.*s/%s", (int)(slash - path), path, keys.readings);
	if (load(r, readings, watch, err)) {
		replay_free(&r->base);
		return NULL;
	}
	return &r->base;
}

static struct xr_target *exec_open(const char *path, const struct xr_strbuf *text, const struct xr_host_options *host,
                                   struct xr_error *err)
{
	struct xr_host_options options = host ? *host : (struct xr_host_options){.cpu = -1};
	struct xr_arena arena = {0};
	int status = xr_target_file_parse(path, xr_strbuf_text(text), text->len, &arena, &options, err);
	struct xr_target *target = status                ? NULL
	                           : options.words.board ? xr_board_open(&options, err)
	                                                 : xr_host_open(&options, err);
	xr_arena_release(&arena);
	return target;
}

/* Read once: it may be a pipe. */
struct xr_target *xr_target_open(const char *path, const struct xr_host_options *host, uint64_t seed,
                                 struct xr_error *err)
{
	struct keys keys = {0};
	struct xr_strbuf text = {0};
	struct xr_target *target = NULL;
	const struct xr_watch *watch = host ? &host->watch : NULL;
	if (xr_file_read_foreign(path, TARGET_FILE_MAX, watch, &text)) {
		xr_fail(err, XR_EXIT_USE, "cannot read %s: %s", path, xr_foreign_why(errno));
	} else {
		xr_ini_text(xr_strbuf_text(&text), text.len, take_key, &keys);
		if (!strcmp(keys.kind, "recorded"))
			target = replay_open(path, &text, watch, err);
		else if (!strcmp(keys.kind, "exec"))
			target = exec_open(path, &text, host, err);
		else /* it names the line when the file is no machine */
			target = xr_model_open_text(path, xr_strbuf_text(&text), text.len, seed, err);
	}
	xr_strbuf_release(&text);
	return target;
}
