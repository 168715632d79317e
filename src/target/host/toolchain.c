/* SPDX-License-Identifier: MIT */
#include "target/host/toolchain.h"

#include "target/embed.h"
#include "target/host/builtin.h"
#include "target/host/compiler.h"
#include "target/host/units.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/output.h"
#include "util/proc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t agent_key(const struct xr_toolchain *tc)
{
	uint64_t key = tc->identity[XR_PLAIN] + tc->carried;
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		key = xr_hash(key, e->text, strlen(e->text));
	if (tc->board) {
		struct xr_strbuf text = {0};
		xr_file_read(tc->board, &text);
		key = xr_hash(key, xr_strbuf_text(&text), text.len);
		xr_strbuf_release(&text);
	}
	return key + tc->threads; /* flags are part of the identity */
}

static int run_or_fail(struct xr_toolchain *tc, struct xr_command *c, const char *what, struct xr_error *err)
{
	struct xr_job job = {.argv = c->argv, .tmp = tc->work};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s, tc->watch);
	int status = 0;
	if (job.status)
		status = xr_fail(err, XR_EXIT_TARGET, "%s: %s", what, xr_compiler_complaint(tc, &job));
	xr_strbuf_release(&job.output);
	free(c->argv);
	return status;
}

/* Which of the agent's files a target needs: a board's are others. */
static bool is_part(const struct xr_toolchain *tc, const char *name)
{
	size_t len = strlen(name);
	return len > 2 && !strcmp(name + len - 2, ".c") && !strcmp(name, "bare.c") == (tc->board != NULL);
}

static struct xr_command agent_command(struct xr_toolchain *tc, bool baked, const char *object, const char *source)
{
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	if (tc->gnu) { /* whatever the flags for the measured code say: the loops of the agent must be tight */
		xr_command_add(&c, "-O2");
		xr_command_add(&c, "-w");
	}
	if (tc->gnu && tc->threads)
		xr_command_add(&c, "-pthread");
	if (!tc->threads)
		xr_command_add(&c, "-DXR_NO_THREADS");
	xr_command_add_words(tc, &c, tc->agent_flags);
	if (baked)
		xr_command_add(&c, "-DXR_BAKED");
	xr_command_add(&c, "-I");
	xr_command_add(&c, tc->work);
	xr_command_add(&c, "-c");
	xr_command_add(&c, "-o");
	xr_command_add(&c, object);
	xr_command_add(&c, source);
	return c;
}

enum { AGENT_FILES_MAX = 40 };

/* The agent's own files, carried along, or compiled once; baked programs hold another main loop. */
static int compile_agent(struct xr_toolchain *tc, bool baked, struct xr_command *link, struct xr_error *err)
{
	uint64_t base = agent_key(tc) + baked, keys[AGENT_FILES_MAX];
	struct xr_job jobs[AGENT_FILES_MAX] = {{0}};
	const char *source[AGENT_FILES_MAX];
	size_t n = 0, k = 0;
	const char *carried = tc->carried && !baked ? xr_builtin_object_path(tc) : NULL;
	if (carried) {
		xr_command_add(link, carried);
		return 0;
	}
	for (const struct xr_embedded *e = xr_agent_text; e->name && k + 1 < AGENT_FILES_MAX; e++)
		if (is_part(tc, e->name))
			source[k++] = xr_arena_printf(tc->arena, "%s/%s", tc->work, e->name);
	if (tc->board)
		source[k++] = tc->board;
	for (size_t i = 0; i < k; i++) {
		const char *name = strrchr(source[i], '/') ? strrchr(source[i], '/') + 1 : source[i];
		uint64_t key = xr_hash(base, name, strlen(name));
		const char *object = xr_compiled_path(tc, key, ".o");
		xr_command_add(link, object);
		if (xr_compiled_before(tc, key, ".o"))
			continue;
		keys[n] = key;
		jobs[n].tmp = tc->work;
		jobs[n++].argv = agent_command(tc, baked, object, source[i]).argv;
	}
	xr_jobs_run(jobs, n, tc->parallel, xr_compile_timeout_s, tc->watch);
	int status = 0;
	for (size_t i = 0; i < n; i++) {
		if (jobs[i].status && !status)
			status = xr_fail(err, XR_EXIT_TARGET, "the compiler '%s' cannot compile the agent: %s", tc->cc,
			                 xr_compiler_complaint(tc, &jobs[i]));
		else if (!status)
			xr_compiled_keep(tc, keys[i], ".o");
		xr_strbuf_release(&jobs[i].output);
		free((void *)(size_t)jobs[i].argv);
	}
	return status;
}

static void put_script(struct xr_strbuf *out, const char *const *script)
{
	xr_strbuf_printf(out, "const char *const xr_baked[] = {\n");
	for (; *script; script++) {
		xr_strbuf_printf(out, "\t\"");
		for (const char *c = *script; *c; c++)
			xr_strbuf_printf(out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
		xr_strbuf_printf(out, "\",\n");
	}
	xr_strbuf_printf(out, "\t0\n};\n");
}

static int compile_table(struct xr_toolchain *tc, const struct xr_strbuf *text, uint64_t *key, struct xr_error *err)
{
	*key = xr_hash(agent_key(tc), xr_strbuf_text(text), text->len);
	if (xr_compiled_before(tc, *key, ".o"))
		return 0;
	const char *source = xr_compiled_path(tc, *key, ".c");
	if (xr_file_write(source, xr_strbuf_text(text), text->len))
		return xr_fail(err, XR_EXIT_TARGET, "cannot write generated code: %s", strerror(errno));
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	xr_command_add(&c, "-I");
	xr_command_add(&c, tc->work);
	xr_command_add(&c, "-c");
	xr_command_add(&c, "-o");
	xr_command_add(&c, xr_compiled_path(tc, *key, ".o"));
	xr_command_add(&c, source);
	if (run_or_fail(tc, &c, "the table of functions does not compile", err))
		return -1;
	xr_compiled_keep(tc, *key, ".o");
	return 0;
}

static int link_program(struct xr_toolchain *tc, const uint64_t *unit, size_t n, const struct xr_strbuf *table,
                        bool baked, const char **program, struct xr_error *err)
{
	uint64_t key = agent_key(tc) + baked, table_key = 0;
	for (size_t i = 0; i < n; i++)
		key = xr_hash(key, &unit[i], sizeof key);
	key = xr_hash(key, xr_strbuf_text(table), table->len);
	*program = xr_compiled_path(tc, key, ".exe");
	if (xr_compiled_before(tc, key, ".exe"))
		return 0;
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	xr_command_add(&c, "-o");
	xr_command_add(&c, *program);
	int status = compile_agent(tc, baked, &c, err);
	if (!status)
		status = compile_table(tc, table, &table_key, err);
	if (status) {
		free(c.argv);
		return status;
	}
	xr_command_add(&c, xr_compiled_path(tc, table_key, ".o"));
	for (size_t i = 0; i < n; i++)
		xr_command_add(&c, xr_compiled_path(tc, unit[i], ".o"));
	if (tc->gnu && tc->threads)
		xr_command_add(&c, "-pthread");
	xr_command_add(&c, "-lm");
	xr_command_add_words(tc, &c, tc->ldflags);
	if (run_or_fail(tc, &c, "cannot link the agent", err)) {
		if (!tc->carried)
			return -1;
		tc->carried = 0; /* made for another C library, perhaps */
		return link_program(tc, unit, n, table, baked, program, err);
	}
	tc->unproved = key;
	return 0;
}

void xr_toolchain_proved(struct xr_toolchain *tc)
{
	if (tc->unproved)
		xr_compiled_keep(tc, tc->unproved, ".exe");
	tc->unproved = 0;
}

int xr_toolchain_build(struct xr_toolchain *tc, const struct xr_spec *specs, size_t n, struct xr_compiled *out,
                       const char *const *script, const char **program, struct xr_error *err)
{
	if (tc->builtin)
		return xr_builtin_build(tc, specs, n, out, program, err);
	struct xr_strbuf table = {0};
	uint64_t *unit = NULL;
	size_t n_units = 0, k = 0;
	struct xr_spec *good = xr_calloc(n + 1, sizeof *good);
	int status = xr_units_compile(tc, specs, n, out, &unit, &n_units, err);
	for (size_t i = 0; i < n && !status; i++)
		if (!out[i].failure)
			good[k++] = specs[i];
	if (!status && program) {
		xr_emit_table(&table, good, k);
		for (const char *const *line = script; tc->board && line && *line; line++)
			xr_strbuf_printf(&table, "%s\n", *line);
		if (script && !tc->board)
			put_script(&table, script);
		status = link_program(tc, unit, n_units, &table, script != NULL, program, err);
	}
	free(good);
	free(unit);
	xr_strbuf_release(&table);
	return status;
}
