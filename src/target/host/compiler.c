/* SPDX-License-Identifier: MIT */
#include "target/host/compiler.h"

#include "target/embed.h"
#include "target/host/builtin.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"
#include "util/trusted.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const double xr_compile_timeout_s = 120;

/* ---- commands ---- */

void xr_command_add(struct xr_command *c, const char *word)
{
	if (c->n + 1 >= c->room) {
		c->room = c->room ? c->room * 2 : 32;
		c->argv = xr_realloc(c->argv, c->room, sizeof *c->argv);
	}
	c->argv[c->n++] = word;
	c->argv[c->n] = NULL;
}

/* Words live in the toolchain's arena. */
int xr_command_add_words(struct xr_toolchain *tc, struct xr_command *c, const char *text)
{
	char **words = xr_words_split(text);
	if (!words)
		return -1;
	for (char **w = words; *w; w++)
		xr_command_add(c, xr_arena_strdup(tc->arena, *w));
	free(words);
	return 0;
}

struct xr_command xr_compiler_command(struct xr_toolchain *tc, enum xr_flavour flavour)
{
	struct xr_command c = {0};
	xr_command_add_words(tc, &c, tc->cc);
	xr_command_add_words(tc, &c, tc->cflags);
	if (flavour == XR_NATIVE && tc->native_flag)
		xr_command_add(&c, tc->native_flag);
	return c;
}

/* The line of a compiler's output that says what is wrong. */
const char *xr_compiler_complaint(struct xr_toolchain *tc, const struct xr_job *job)
{
	const char *text = xr_strbuf_text(&job->output), *line = text;
	if (job->status == XR_JOB_TOO_LONG)
		return "the compiler did not finish";
	if (job->status == XR_JOB_STOPPED)
		return xr_watch_why(tc->watch);
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		size_t len = strcspn(at, "\n");
		if (memmem(at, len, "error", 5) || memmem(at, len, "Error", 5)) {
			line = at;
			break;
		}
	}
	size_t len = strcspn(line, "\n");
	if (!len)
		return xr_arena_printf(tc->arena, "the compiler ended with status %d", job->status);
	return xr_arena_printf(tc->arena, "%.*s", (int)(len > 500 ? 500 : len), line);
}

/* ---- who is it ---- */

/* Predefined macros tell a compiler apart from all others, and what -march=native means on this machine. */
static int macros(struct xr_toolchain *tc, const char *flag, struct xr_strbuf *out)
{
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	if (flag)
		xr_command_add(&c, flag);
	xr_command_add(&c, "-dM");
	xr_command_add(&c, "-E");
	xr_command_add(&c, "-x");
	xr_command_add(&c, "c");
	xr_command_add(&c, "-"); /* standard input is empty */
	struct xr_job job = {.argv = c.argv, .tmp = tc->work};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s, tc->watch);
	free(c.argv);
	xr_strbuf_add(out, xr_strbuf_text(&job.output), job.output.len);
	xr_strbuf_release(&job.output);
	return job.status;
}

static const char *macro(struct xr_toolchain *tc, const struct xr_strbuf *macros_text, const char *name)
{
	char key[64];
	snprintf(key, sizeof key, "#define %s ", name);
	const char *at = strstr(xr_strbuf_text(macros_text), key);
	if (!at)
		return NULL;
	at += strlen(key);
	return xr_arena_printf(tc->arena, "%.*s", (int)strcspn(at, "\n"), at);
}

static const char *compiler_name(struct xr_toolchain *tc, const struct xr_strbuf *text)
{
	const char *clang = macro(tc, text, "__clang_major__");
	if (clang)
		return xr_arena_printf(tc->arena, "clang %s.%s.%s", clang, macro(tc, text, "__clang_minor__"),
		                       macro(tc, text, "__clang_patchlevel__"));
	const char *gcc = macro(tc, text, "__GNUC__");
	if (gcc)
		return xr_arena_printf(tc->arena, "gcc %s.%s.%s", gcc, macro(tc, text, "__GNUC_MINOR__"),
		                       macro(tc, text, "__GNUC_PATCHLEVEL__"));
	const char *tcc = macro(tc, text, "__TINYC__"); /* 927: 0.9.27 */
	int version = tcc ? atoi(tcc) : 0;
	if (version > 0)
		return xr_arena_printf(tc->arena, "tcc %d.%d.%d", version / 10000, version / 100 % 100, version % 100);
	return tc->cc;
}

/* What threads share needs C11's atomics; an older compiler does without threads. */
static bool has_atomics(struct xr_toolchain *tc, const struct xr_strbuf *text)
{
	const char *version = macro(tc, text, "__STDC_VERSION__");
	return tc->gnu || (version && strtol(version, NULL, 10) >= 201112 && !macro(tc, text, "__STDC_NO_ATOMICS__"));
}

/* What no optimiser means: variables live in memory, so an addition is a load, an addition and a store. The agent of a
 * GNU compiler is optimised whatever the flags for the measured code say; tcc has no optimiser for it either. Of a
 * compiler nobody knows, nothing is said. */
static void find_optimiser(struct xr_toolchain *tc, const struct xr_strbuf *text)
{
	if (tc->gnu && !macro(tc, text, "__OPTIMIZE__")) {
		tc->unoptimised = "code";
		tc->warning =
			"these flags do not optimise: variables live in memory, operations and registers are not the "
			"core's (--cflags -O2)";
	} else if (!tc->gnu && macro(tc, text, "__TINYC__")) {
		tc->unoptimised = "all";
		tc->warning =
			xr_arena_printf(tc->arena,
		                        "%s has no optimiser: variables live in memory, so sizes are measured, and "
		                        "times, operations and registers are not the core's",
		                        tc->name);
	}
}

static void find_triple(struct xr_toolchain *tc)
{
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	xr_command_add(&c, "-dumpmachine");
	struct xr_job job = {.argv = c.argv, .tmp = tc->work};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s, tc->watch);
	free(c.argv);
	size_t len = strcspn(xr_strbuf_text(&job.output), "\n");
	if (!job.status && len && len < 100)
		tc->triple = xr_arena_printf(tc->arena, "%.*s", (int)len, xr_strbuf_text(&job.output));
	xr_strbuf_release(&job.output);
}

/* A file as it is now: another compiler of the same name is another compiler. */
static uint64_t file_key(uint64_t key, const char *word)
{
	struct stat st = {0};
	char *path = strchr(word, '/') ? xr_strdup(word) : xr_program_find(word);
	key = xr_hash(key, word, strlen(word));
	if (path && !stat(path, &st)) {
		const int64_t what[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (int64_t)st.st_ino};
		key = xr_hash(xr_hash(key, path, strlen(path)), what, sizeof what);
	}
	free(path);
	return key;
}

/* One of the programs behind a driver, by its own words. */
static uint64_t helper_key(struct xr_toolchain *tc, uint64_t key, const char *question)
{
	struct xr_command c = {0};
	xr_command_add_words(tc, &c, tc->cc);
	xr_command_add(&c, question);
	struct xr_job job = {.argv = c.argv, .tmp = tc->work};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s, tc->watch);
	char *line = xr_arena_printf(tc->arena, "%.*s", (int)strcspn(xr_strbuf_text(&job.output), "\n"),
	                             xr_strbuf_text(&job.output));
	xr_strbuf_release(&job.output);
	free(c.argv);
	return file_key(key, line);
}

/* The compiler by path, size and date of the command's words (`ccache gcc`), of the compiler proper and the
 * assembler, and by its flags. Its version is among the macros. */
static uint64_t who(struct xr_toolchain *tc)
{
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	uint64_t key = 2;
	xr_command_add_words(tc, &c, tc->agent_flags); /* headers that it is compiled with */
	xr_command_add_words(tc, &c, tc->ldflags);
	for (size_t i = 0; i < c.n; i++)
		key = file_key(key, c.argv[i]);
	free(c.argv);
	if (tc->gnu) {
		key = helper_key(tc, key, "-print-prog-name=cc1");
		key = helper_key(tc, key, "-print-prog-name=as");
	}
	return key;
}

static int find_out(struct xr_toolchain *tc, struct xr_error *err)
{
	static const char *const native_flags[] = {"-march=native", "-mcpu=native"};
	struct xr_strbuf text = {0};
	int status = macros(tc, NULL, &text);
	if (status == XR_JOB_STOPPED || status == XR_JOB_TOO_LONG) {
		xr_strbuf_release(&text);
		return xr_fail(err, XR_EXIT_TARGET, "the compiler '%s' did not answer: %s", tc->cc,
		               status == XR_JOB_STOPPED ? xr_watch_why(tc->watch) : "it does not finish");
	}
	if (status == XR_JOB_NOT_STARTED && tc->builtin) {
		tc->name = "no compiler";
		tc->cflags = "";
		tc->warning =
			"no C compiler: what operations cost, registers, units and instructions cannot be measured "
			"(apt-get install gcc)";
		xr_strbuf_release(&text);
		return 0;
	}
	tc->builtin = false;
	if (status == XR_JOB_NOT_STARTED) {
		xr_fail(err, XR_EXIT_TARGET,
		        "cannot run the compiler '%s' (%s): install one (apt-get install gcc) or name it with --cc",
		        tc->cc, xr_strbuf_text(&text));
		xr_strbuf_release(&text);
		return -1;
	}
	tc->gnu = status == 0 && macro(tc, &text, "__GNUC__");
	tc->name = compiler_name(tc, &text);
	find_optimiser(tc, &text);
	tc->threads &= has_atomics(tc, &text);
	tc->identity[XR_PLAIN] = xr_hash(who(tc), xr_strbuf_text(&text), text.len);
	for (size_t i = 0; tc->gnu && !tc->native_flag && i < sizeof native_flags / sizeof *native_flags; i++) {
		xr_strbuf_clear(&text);
		if (macros(tc, native_flags[i], &text) == 0) {
			tc->native_flag = native_flags[i];
			tc->identity[XR_NATIVE] =
				xr_hash(tc->identity[XR_PLAIN] + 1 + i, xr_strbuf_text(&text), text.len);
		}
	}
	xr_strbuf_release(&text);
	if (tc->gnu)
		find_triple(tc);
	return 0;
}

/* ---- places ---- */

const char *xr_compiled_path(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	return xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->work, key, suffix);
}

/* Brings an entry of the cache into the work directory. */
bool xr_compiled_before(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	const char *here = xr_compiled_path(tc, key, suffix);
	struct xr_strbuf data = {0};
	if (xr_file_exists(here))
		return true;
	bool there = xr_cache_get(&tc->cache, key, suffix, &data) &&
	             !xr_file_write_program(here, xr_strbuf_text(&data), data.len);
	xr_strbuf_release(&data);
	return there;
}

void xr_compiled_keep(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	struct xr_strbuf data = {0};
	if (tc->cache.dir >= 0 && !xr_file_read(xr_compiled_path(tc, key, suffix), &data))
		xr_cache_put(&tc->cache, key, suffix, xr_strbuf_text(&data), data.len);
	xr_strbuf_release(&data);
}

static void open_cache(struct xr_toolchain *tc, const char *cache)
{
	struct xr_strbuf why = {0};
	if (xr_cache_open(&tc->cache, cache, &why))
		tc->warning = xr_arena_printf(tc->arena, "cannot use the cache %s (%s): compiling everything anew",
		                              cache, xr_strbuf_text(&why));
	xr_strbuf_release(&why);
}

static int make_work(struct xr_toolchain *tc, const char *tmp, struct xr_error *err)
{
	if (!tmp || !*tmp)
		tmp = "/tmp";
	struct xr_strbuf why = {0};
	char *work = xr_trusted_place(tmp, &why) ? NULL : xr_private_make(tmp, &tc->work_lock);
	if (!work) { /* what is run from there must be ours */
		xr_fail(err, XR_EXIT_TARGET, "cannot make a private directory in %s: %s", tmp,
		        why.len ? xr_strbuf_text(&why) : strerror(errno));
		xr_strbuf_release(&why);
		return -1;
	}
	tc->work = xr_arena_strdup(tc->arena, work);
	free(work);
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		if (xr_file_write(xr_arena_printf(tc->arena, "%s/%s", tc->work, e->name), e->text, strlen(e->text)))
			return xr_fail(err, XR_EXIT_TARGET, "cannot write to %s: %s", tc->work, strerror(errno));
	return 0;
}

int xr_toolchain_init(struct xr_toolchain *tc, const struct xr_host_options *options, int parallel,
                      struct xr_arena *arena, const struct xr_watch *watch, struct xr_error *err)
{
	*tc = (struct xr_toolchain){.arena = arena, .parallel = parallel, .watch = watch, .cache.dir = -1};
	tc->cc = xr_arena_strdup(arena, options->cc && *options->cc ? options->cc : "cc");
	tc->cflags = xr_arena_strdup(arena, options->cflags ? options->cflags : "-O2");
	struct xr_command check = {0};
	if (xr_command_add_words(tc, &check, tc->cc) || xr_command_add_words(tc, &check, tc->cflags) || !check.n) {
		free(check.argv);
		return xr_fail(err, XR_EXIT_USE, "a quote is not closed in --cc or --cflags");
	}
	free(check.argv);
	tc->ldflags = xr_arena_strdup(arena, options->words.ldflags ? options->words.ldflags : "");
	tc->agent_flags = xr_arena_strdup(arena, options->words.agent_flags ? options->words.agent_flags : "");
	tc->threads = !options->words.no_threads && !options->words.board;
	tc->board = options->words.board ? xr_arena_strdup(arena, options->words.board) : NULL;
	/* who names a compiler wants that one */
	tc->builtin = !options->cc && !options->runner && !options->baked && !tc->board && xr_builtin_there();
	bool usual = tc->builtin && !options->cflags && !*tc->ldflags && !*tc->agent_flags && tc->threads;
	if (make_work(tc, options->tmp, err) || find_out(tc, err))
		return -1;
	tc->carried = usual && tc->gnu && tc->threads && xr_builtin_object_there() ? xr_builtin_object_key() : 0;
	if (options->form && strcmp(options->form, "barrier") && strcmp(options->form, "switch"))
		return xr_fail(err, XR_EXIT_USE, "--form is 'barrier' or 'switch', not '%s'", options->form);
	tc->form = !tc->gnu || (options->form && !strcmp(options->form, "switch")) ? XR_FORM_SWITCH : XR_FORM_BARRIER;
	if (options->keep) {
		tc->keep = xr_arena_strdup(arena, options->keep);
		if (xr_dir_make(tc->keep))
			return xr_fail(err, XR_EXIT_USE, "cannot make the directory %s: %s", tc->keep, strerror(errno));
	}
	open_cache(tc, options->cache);
	return 0;
}

void xr_toolchain_release(struct xr_toolchain *tc)
{
	if (tc->arena) /* it was begun */
		xr_cache_close(&tc->cache);
	if (tc->work)
		xr_private_remove(tc->work, tc->work_lock);
	tc->work = NULL;
	free(tc->known);
	tc->known = NULL;
	tc->n_known = tc->room_known = 0;
}
