/* SPDX-License-Identifier: MIT */
/* Target files of machines that run things: a compiler, a runner and a clock (docs/targets.md).
 *
 * In every value `{dir}` stands for the folder of the file, so that a board's hooks can lie beside it. What the command
 * line says wins over the file.
 */
#include "target/initext.h"
#include "target/open.h"

#include "util/files.h"

#include <ctype.h>
#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	struct xr_arena *arena;
	struct xr_host_options *options;
	const char *dir; /* of the file */
	char clock[512]; /* as the file says */
	double clock_hz;
	char wrong[512]; /* what is wrong with the line that was read last */
};

enum kind { IGNORED, TEXT, BYTES, NUMBER, TALKS, THREADS, TIMING, CLOCK, CLOCK_HZ };

/* A file's text goes where nothing stands yet. */
struct key {
	const char *name;
	enum kind kind;
	size_t at; /* of a const char * in struct xr_host_options */
};

#define AT(member) offsetof(struct xr_host_options, member)

static const struct key keys[] = {
	{"kind", IGNORED, 0},
	{"name", TEXT, AT(words.name)},
	{"cpu", TEXT, AT(words.cpu)},
	{"os", TEXT, AT(words.os)},
	{"cc", TEXT, AT(cc)},
	{"cflags", TEXT, AT(cflags)},
	{"ldflags", TEXT, AT(words.ldflags)},
	{"board", TEXT, AT(words.board)},
	{"board_flags", TEXT, AT(words.agent_flags)},
	{"runner", TEXT, AT(runner)},
	{"form", TEXT, AT(form)},
	{"talks", TALKS, 0},
	{"clock", CLOCK, 0},
	{"clock_hz", CLOCK_HZ, 0},
	{"speed", NUMBER, 0},
	{"memory", BYTES, 0},
	{"threads", THREADS, 0},
	{"timing", TIMING, 0},
};
enum { N_KEYS = sizeof keys / sizeof *keys };

/* `{dir}` becomes the folder of the file. */
static const char *expand(const struct reader *r, const char *text)
{
	static const char mark[] = "{dir}";
	struct xr_strbuf out = {0};
	for (const char *at; (at = strstr(text, mark)); text = at + strlen(mark))
		xr_strbuf_printf(&out, "%.*s%s", (int)(at - text), text, r->dir);
	xr_strbuf_printf(&out, "%s", text);
	const char *copy = xr_arena_strdup(r->arena, xr_strbuf_text(&out));
	xr_strbuf_release(&out);
	return copy;
}

static int complain(struct reader *r, const char *name, const char *expected, const char *value)
{
	snprintf(r->wrong, sizeof r->wrong, "%s is %s, not '%.200s'", name, expected, value);
	return 0;
}

static int number(struct reader *r, const char *name, const char *value, double *out)
{
	char *end;
	errno = 0;
	*out = strtod(value, &end);
	if (end == value || *end || errno || !(*out > 0) || *out > 1e18)
		return complain(r, name, "a number above 0", value);
	return 1;
}

/* 64K, 16M, 2G, or plain bytes. */
static int bytes(struct reader *r, const char *name, const char *value, uint64_t *out)
{
	static const char units[] = "KMG";
	char *end;
	errno = 0;
	double n = strtod(value, &end);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	n *= unit ? (double)(UINT64_C(1024) << 10 * (unit - units)) : 1;
	if (end == value || errno || !(n >= 1) || n > 1e18 || (*end && (!unit || end[1])))
		return complain(r, name, "a size such as 2K or 512M", value);
	*out = (uint64_t)n;
	return 1;
}

static int yes_no(struct reader *r, const char *name, const char *value, bool *out)
{
	if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
		return complain(r, name, "yes or no", value);
	*out = !strcmp(value, "yes");
	return 1;
}

static int take_value(struct reader *r, const struct key *key, const char *value)
{
	struct xr_host_options *o = r->options;
	bool yes = false;
	switch (key->kind) {
	case TEXT: {
		const char **text = (const char **)(void *)((char *)o + key->at);
		if (!*text && (*value || !strcmp(key->name, "cflags")))
			*text = expand(r, value);
		return 1;
	}
	case TALKS:
		if (!yes_no(r, key->name, value, &yes))
			return 0;
		o->baked |= !yes;
		return 1;
	case THREADS:
		if (!yes_no(r, key->name, value, &yes))
			return 0;
		o->words.no_threads = !yes;
		return 1;
	case TIMING:
		if (!yes_no(r, key->name, value, &yes))
			return 0;
		o->words.timing = yes ? XR_TIMING_YES : XR_TIMING_NO;
		return 1;
	case CLOCK:
		snprintf(r->clock, sizeof r->clock, "%s", value);
		return 1;
	case CLOCK_HZ:
		return number(r, key->name, value, &r->clock_hz);
	case NUMBER:
		return number(r, key->name, value, &o->words.mips);
	case BYTES:
		return bytes(r, key->name, value, &o->words.memory_bytes);
	default:
		return 1;
	}
}

static int take_line(void *self, const char *section, const char *name, const char *value)
{
	struct reader *r = self;
	if (r->wrong[0])
		return 1; /* the first line that is wrong is the one to tell of */
	if (strcmp(section, "target") != 0) {
		snprintf(r->wrong, sizeof r->wrong, "there is no section [%.100s] in a target file, only [target]",
		         section);
		return 0;
	}
	for (size_t i = 0; i < N_KEYS; i++)
		if (!strcmp(keys[i].name, name))
			return take_value(r, &keys[i], value);
	snprintf(r->wrong, sizeof r->wrong, "a target file has no key '%.100s'", name);
	return 0;
}

/* The agent's clock: POSIX, the core's cycle counter, or what a header of the user's defines as XR_NOW_NS. */
static int set_clock(struct reader *r, const char *path, struct xr_error *err)
{
	struct xr_target_words *w = &r->options->words;
	if (w->board) {
		if (!(r->clock_hz > 0))
			return xr_fail(err, XR_EXIT_USE, "%s: a board needs clock_hz, its counter's steps per second",
			               path);
		w->clock = xr_arena_printf(r->arena, "the board's counter at %.10g Hz", r->clock_hz);
		w->clock_hz = r->clock_hz;
		return 0;
	}
	if (!r->clock[0] || !strcmp(r->clock, "posix"))
		return 0;
	if (!strcmp(r->clock, "cycles")) {
		if (!(r->clock_hz > 0))
			return xr_fail(err, XR_EXIT_USE,
			               "%s: clock = cycles needs clock_hz, the counter's steps per second", path);
		w->clock = xr_arena_printf(r->arena, "cycle counter at %.10g Hz", r->clock_hz);
		w->agent_flags = xr_arena_printf(r->arena, "-DXR_CYCLES_PER_SECOND=%.17g", r->clock_hz);
		return 0;
	}
	w->clock = expand(r, r->clock);
	if (*w->clock != '/' && !strchr(r->clock, '{'))
		w->clock = xr_arena_printf(r->arena, "%s/%s", r->dir, w->clock);
	if (!xr_file_exists(w->clock))
		return xr_fail(err, XR_EXIT_USE, "%s: clock is posix, cycles or a header; there is no %s", path,
		               w->clock);
	w->agent_flags = xr_arena_printf(r->arena, "-include '%s'", w->clock);
	return 0;
}

int xr_target_file_parse(const char *path, const char *text, size_t bytes, struct xr_arena *arena,
                         struct xr_host_options *options, struct xr_error *err)
{
	struct reader r = {.arena = arena, .options = options, .dir = "."};
	char *here = realpath(path, NULL), *slash = here ? strrchr(here, '/') : NULL;
	if (slash)
		r.dir = xr_arena_printf(arena, "%.*s", (int)(slash - here), here);
	free(here);
	int line = xr_ini_text(text, bytes, take_line, &r);
	if (line < 0)
		return xr_fail(err, XR_EXIT_USE, "%s: no memory for its lines", path);
	if (line > 0)
		return xr_fail(err, XR_EXIT_USE, "%s:%d: %s", path, line,
		               r.wrong[0] ? r.wrong : "not a line of a target file");
	if (!options->words.name)
		options->words.name = xr_arena_strdup(arena, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	return set_clock(&r, path, err);
}
