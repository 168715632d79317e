/* SPDX-License-Identifier: MIT */
#include "target/record.h"

#include "target/backend.h"
#include "target/open.h"
#include "target/recording.h"
#include "util/files.h"
#include "util/memory.h"
#include "util/output.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct xr_recorder {
	int fd;
	char *path;
};

static json_t *info_to_json(const struct xr_target_info *info)
{
	json_t *cpus = json_array();
	for (int i = 0; i < info->n_cpus; i++)
		json_array_append_new(cpus, json_integer(info->cpu_ids[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:f, s:b, s:I, s:I, s:b, s:b, s:b, s:i}", "kind",
	                 info->kind, "name", info->name ? info->name : "", "cpu", info->cpu ? info->cpu : "",
	                 "compiler", info->compiler ? info->compiler : "", "cflags", info->cflags ? info->cflags : "",
	                 "os", info->os ? info->os : "", "cpus", cpus, "quota", info->cpu_quota, "can_pin",
	                 info->can_pin, "memory", (json_int_t)info->memory_bytes, "page", (json_int_t)info->page_bytes,
	                 "plain", info->has_flavour[XR_PLAIN], "native", info->has_flavour[XR_NATIVE], "counters",
	                 info->counters, "kinds", (int)info->kinds);
}

static int put_line(struct xr_recorder *r, json_t *line, struct xr_error *err)
{
	if (!line)
		return xr_fail(err, XR_EXIT_USE, "cannot write %s: a reading does not fit into JSON", r->path);
	char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));
	json_decref(line);
	bool written = text && !xr_write_all(r->fd, text, strlen(text)) && !xr_write_all(r->fd, "\n", 1);
	int why = text ? errno : ENOMEM;
	free(text);
	if (!written)
		return xr_fail(err, XR_EXIT_USE, "cannot write %s: %s", r->path, strerror(why));
	return 0;
}

/* A name may come from a file of somebody's: in ours it stays on its line. */
static const char *plain_name(const char *name, char plain[64])
{
	size_t n = 0;
	for (; name && name[n] && n < 63; n++)
		plain[n] = isalnum((unsigned char)name[n]) || strchr("._-+ ", name[n]) ? name[n] : '_';
	plain[n] = '\0';
	return n ? plain : "machine";
}

struct xr_recorder *xr_recorder_new(const char *dir, const struct xr_target_info *info, struct xr_error *err)
{
	struct xr_recorder *r = xr_calloc(1, sizeof *r);
	struct xr_strbuf path = {0}, ini = {0};
	char name[64];
	if (xr_dir_make(dir)) {
		xr_fail(err, XR_EXIT_USE, "cannot make the directory %s: %s", dir, strerror(errno));
		free(r);
		return NULL;
	}
	xr_strbuf_printf(
		&ini,
		"; a recording made by xray --record\n[target]\nkind = recorded\nname = %s\nreadings = readings.jsonl\n",
		plain_name(info->name, name));
	xr_strbuf_printf(&path, "%s/machine.ini", dir);
	r->fd = -1;
	if (!xr_output_write(xr_strbuf_text(&path), xr_strbuf_text(&ini), ini.len, err)) {
		xr_strbuf_clear(&path);
		xr_strbuf_printf(&path, "%s/readings.jsonl", dir);
		r->fd = xr_output_begin(xr_strbuf_text(&path), err);
	}
	r->path = xr_strdup(xr_strbuf_text(&path));
	xr_strbuf_release(&path);
	xr_strbuf_release(&ini);
	if (r->fd < 0 || put_line(r, info_to_json(info), err)) {
		xr_recorder_free(r);
		return NULL;
	}
	return r;
}

int xr_recorder_put(struct xr_recorder *recorder, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                    const struct xr_reading *readings, struct xr_error *err)
{
	struct xr_arena arena = {0};
	int status = 0;
	(void)effort;
	for (size_t i = 0; i < n && !status; i++) {
		json_t *line = json_pack("{s:s, s:o}", "spec", xr_recording_key(&arena, &specs[i]), "reading",
		                         xr_recording_from_reading(&readings[i]));
		status = put_line(recorder, line, err);
	}
	xr_arena_release(&arena);
	return status;
}

void xr_recorder_free(struct xr_recorder *recorder)
{
	if (!recorder)
		return;
	if (recorder->fd >= 0)
		close(recorder->fd);
	free(recorder->path);
	free(recorder);
}

int xr_target_record(struct xr_target *target, const char *dir, struct xr_error *err)
{
	target->recorder = xr_recorder_new(dir, &target->info, err);
	return target->recorder ? 0 : -1;
}
