/* SPDX-License-Identifier: MIT
 *
 * Which streams of operations the built-in agent carries, and their C: run while X-Ray is built.
 *
 *   builtin OUT MACHINE...      writes OUT/builtin_units.c, OUT/builtin_table.c, OUT/builtin_ids.c
 *
 * Every micro-benchmark that does not need a compiler by its nature is run on simulated machines, and what it asks for
 * is noted: a new or changed one is carried without an edit here.
 */
#include "engine/engine.h"
#include "micro/table.h"
#include "nano/emit.h"
#include "target/backend.h"
#include "target/host/builtin.h"
#include "target/open.h"
#include "util/strbuf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of this program there is none yet. */
const uint64_t xr_builtin_ids[1];
const size_t xr_builtin_count = 0;
const unsigned char xr_builtin_program[1], xr_builtin_program_end[1], xr_builtin_object[1], xr_builtin_object_end[1];

enum { SPECS_MAX = 2048, SELECT_MAX = 128 };
static struct xr_spec specs[SPECS_MAX];
static uint64_t ids[SPECS_MAX];
static size_t n_specs;
static struct xr_backend spy;
static const struct xr_backend *real;

static void note(const struct xr_spec *spec)
{
	if (spec->kind != XR_OPS || spec->ops.flavour != XR_PLAIN || n_specs == SPECS_MAX)
		return;
	uint64_t id = xr_builtin_id(spec);
	for (size_t i = 0; i < n_specs; i++)
		if (ids[i] == id)
			return;
	for (int i = 0; i < spec->ops.n_streams; i++)
		if (spec->ops.stream[i].op == XR_TEXT)
			return; /* somebody's own words */
	ids[n_specs] = id;
	specs[n_specs++] = *spec;
}

static int prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *list, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	for (size_t i = 0; i < n; i++) {
		note(&list[i]);
		for (unsigned m = 0; list[i].kind == XR_TEAM && m < list[i].team.n_members; m++)
			if (list[i].team.member[m].work)
				note(list[i].team.member[m].work);
	}
	return real->prepare(target, effort, list, n, out, err);
}

static int try_machine(const char *path)
{
	static const struct xr_host_options host = {.cpu = -1};
	const char *select[SELECT_MAX];
	struct xr_plan plan = {.select = select};
	struct xr_outcome outcome;
	struct xr_error err = {0};
	struct xr_target *target = xr_target_open(path, &host, 1, &err);
	if (!target) {
		fprintf(stderr, "builtin: %s\n", err.text);
		return -1;
	}
	for (size_t i = 0; xr_micro_table[i] && plan.n_select < SELECT_MAX; i++)
		if (!(xr_micro_table[i]->kinds & XR_WITH_COMPILER) && (xr_micro_table[i]->kinds & 1u << XR_OPS))
			select[plan.n_select++] = xr_micro_table[i]->id;
	real = target->backend;
	spy = *real;
	spy.prepare = prepare;
	target->backend = &spy;
	struct xr_description *d = xr_description_new();
	int rc = xr_engine_run(target, xr_micro_table, &plan, 1, NULL, d, &outcome, &err);
	if (rc)
		fprintf(stderr, "builtin: %s: %s\n", path, err.text);
	xr_description_free(d);
	xr_target_free(target);
	return rc;
}

static int save(const char *dir, const char *name, const struct xr_strbuf *text)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *file = fopen(path, "w");
	if (!file || fputs(xr_strbuf_text(text), file) < 0 || fclose(file)) {
		perror(path);
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct xr_strbuf units = {0}, table = {0}, list = {0};
	if (argc < 3)
		return fputs("usage: builtin OUT MACHINE...\n", stderr), 2;
	for (int i = 2; i < argc; i++)
		if (try_machine(argv[i]))
			return 1;
	xr_emit_unit(&units, specs, n_specs, XR_FORM_BARRIER);
	xr_emit_table(&table, specs, n_specs);
	xr_strbuf_printf(&list, "/* Made by scripts/builtin.c: what the built-in agent carries. */\n"
	                        "#include <stddef.h>\n#include <stdint.h>\nextern const uint64_t xr_builtin_ids[];\n"
	                        "extern const size_t xr_builtin_count;\nconst uint64_t xr_builtin_ids[] = {\n");
	for (size_t i = 0; i < n_specs; i++)
		xr_strbuf_printf(&list, "\tUINT64_C(0x%016" PRIx64 "),\n", ids[i]);
	xr_strbuf_printf(&list, "\t0};\nconst size_t xr_builtin_count = %zu;\n", n_specs);
	int bad = save(argv[1], "builtin_units.c", &units) || save(argv[1], "builtin_table.c", &table) ||
	          save(argv[1], "builtin_ids.c", &list);
	xr_strbuf_release(&units);
	xr_strbuf_release(&table);
	xr_strbuf_release(&list);
	return bad;
}
