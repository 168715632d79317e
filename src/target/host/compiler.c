#include "target/host/compiler.h"

#include "target/embed.h"
#include "util/files.h"
#include "util/hash.h"
#include "util/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	if (job->status == -2)
		return "the compiler did not finish";
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
	xr_command_add(&c, "/dev/null");
	struct xr_job job = {.argv = c.argv};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s);
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
	return tc->cc;
}

static void find_triple(struct xr_toolchain *tc)
{
	struct xr_command c = xr_compiler_command(tc, XR_PLAIN);
	xr_command_add(&c, "-dumpmachine");
	struct xr_job job = {.argv = c.argv};
	xr_jobs_run(&job, 1, 1, xr_compile_timeout_s);
	free(c.argv);
	size_t len = strcspn(xr_strbuf_text(&job.output), "\n");
	if (!job.status && len && len < 100)
		tc->triple = xr_arena_printf(tc->arena, "%.*s", (int)len, xr_strbuf_text(&job.output));
	xr_strbuf_release(&job.output);
}

static int find_out(struct xr_toolchain *tc, struct xr_error *err)
{
	static const char *const native_flags[] = {"-march=native", "-mcpu=native"};
	struct xr_strbuf text = {0};
	int status = macros(tc, NULL, &text);
	if (status == -1) {
		xr_fail(err, XR_EXIT_TARGET,
		        "cannot run the compiler '%s' (%s): install one (apt-get install gcc) or name it with --cc",
		        tc->cc, xr_strbuf_text(&text));
		xr_strbuf_release(&text);
		return -1;
	}
	tc->gnu = status == 0 && macro(tc, &text, "__GNUC__");
	tc->name = compiler_name(tc, &text);
	tc->identity[XR_PLAIN] = xr_hash(xr_hash(1, tc->cc, strlen(tc->cc)), xr_strbuf_text(&text), text.len);
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

/* Brings a file of the cache into the work directory. */
bool xr_compiled_before(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	const char *here = xr_compiled_path(tc, key, suffix);
	if (xr_file_exists(here))
		return true;
	if (!tc->cache)
		return false;
	return !xr_file_copy(xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->cache, key, suffix), here);
}

/* A cache that cannot take a file is no reason to stop. */
void xr_compiled_keep(struct xr_toolchain *tc, uint64_t key, const char *suffix)
{
	if (tc->cache)
		xr_file_copy(xr_compiled_path(tc, key, suffix),
		             xr_arena_printf(tc->arena, "%s/%016" PRIx64 "%s", tc->cache, key, suffix));
}

static int open_cache(struct xr_toolchain *tc, const char *cache)
{
	if (!cache)
		return 0;
	if (xr_dir_make(cache))
		tc->warning = xr_arena_printf(tc->arena, "cannot use the cache %s (%s): compiling everything anew",
		                              cache, strerror(errno));
	else if (!xr_dir_is_private(cache))
		tc->warning =
			xr_arena_printf(tc->arena, "not using the cache %s: it is not writable by you alone", cache);
	else
		tc->cache = xr_arena_strdup(tc->arena, cache);
	return 0;
}

int xr_toolchain_init(struct xr_toolchain *tc, const struct xr_host_options *options, int parallel,
                      struct xr_arena *arena, struct xr_error *err)
{
	*tc = (struct xr_toolchain){.arena = arena, .parallel = parallel};
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
	tc->threads = !options->words.no_threads;
	if (find_out(tc, err))
		return -1;
	if (options->form && strcmp(options->form, "barrier") && strcmp(options->form, "switch"))
		return xr_fail(err, XR_EXIT_USE, "--form is 'barrier' or 'switch', not '%s'", options->form);
	tc->form = !tc->gnu || (options->form && !strcmp(options->form, "switch")) ? XR_FORM_SWITCH : XR_FORM_BARRIER;
	if (options->keep) {
		tc->keep = xr_arena_strdup(arena, options->keep);
		if (xr_dir_make(tc->keep))
			return xr_fail(err, XR_EXIT_USE, "cannot make the directory %s: %s", tc->keep, strerror(errno));
	}
	open_cache(tc, options->cache);
	char *work = xr_arena_printf(arena, "%s/xray.XXXXXX", options->tmp && *options->tmp ? options->tmp : "/tmp");
	if (!mkdtemp(work))
		return xr_fail(err, XR_EXIT_TARGET, "cannot make a private directory %s: %s", work, strerror(errno));
	tc->work = work;
	for (const struct xr_embedded *e = xr_agent_text; e->name; e++)
		if (xr_file_write(xr_arena_printf(arena, "%s/%s", work, e->name), e->text, strlen(e->text)))
			return xr_fail(err, XR_EXIT_TARGET, "cannot write to %s: %s", work, strerror(errno));
	return 0;
}

void xr_toolchain_release(struct xr_toolchain *tc)
{
	if (tc->work)
		xr_dir_remove(tc->work);
	tc->work = NULL;
	free(tc->known);
	tc->known = NULL;
	tc->n_known = tc->room_known = 0;
}
