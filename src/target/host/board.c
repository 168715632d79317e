/* SPDX-License-Identifier: MIT */
/* Boards: targets without an OS, that cannot be talked to and print what they find (agent/bare.h).
 *
 * A batch becomes a program of its own: compiled, run, its console read until it says that it is done. What does
 * not fit into the board's memory is halved until it does. A line that the console garbled is not believed; a
 * board that falls silent, resets or goes away costs the specification that it was at, and the others are asked
 * again without it.
 */
#include "target/host/host.h"
#include "target/open.h"
#include "util/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double silence_s = 30;

struct board {
	struct xr_target base;
	struct xr_toolchain tc;
	const char *runner;
	double tick_ns;
	int cost_ticks;
	const struct xr_spec *specs; /* of the batch */
	size_t n;
	struct xr_raw_list *samples;
};

/* A part of the batch that goes into one program. */
struct part {
	const size_t *index; /* into the batch */
	size_t n;
	struct xr_spec *stream; /* specifications of operations, and their twins behind them */
	struct xr_compiled *compiled;
	size_t n_streams;
	size_t *told; /* place in the program's table -> index */
	size_t n_told;
};

/* ---- the console ---- */

/* The words of a line that is whole, without frame and sum; NULL: it is none of ours, or it was garbled. */
static char *unwrap(struct xr_arena *arena, const char *line, bool *garbled)
{
	const char *start = strstr(line, "xray: "), *end = start ? strrchr(start, '#') : NULL;
	unsigned sum = 0, stated;
	if (!start)
		return NULL;
	start += strlen("xray: ");
	if (!end || end == start || end[-1] != ' ' || sscanf(end, "#%u", &stated) != 1) {
		*garbled = true;
		return NULL;
	}
	for (const char *c = start; c < end - 1; c++)
		sum = (sum + (unsigned char)*c) & 0xffffu;
	if (sum != stated) {
		*garbled = true;
		return NULL;
	}
	return xr_arena_printf(arena, "%.*s", (int)(end - 1 - start), start);
}

struct hearing {
	long at;    /* the specification it is at; -1: none yet */
	int hellos; /* more than one: it started again */
	bool done, silent, garbled;
	const char *how; /* it ended, when it did not say done */
};

static void take_line(struct board *b, const struct part *part, const char *words, struct hearing *h)
{
	unsigned long i, cost;
	double long_ticks, long_ops, short_ticks, short_ops;
	int bits[7];
	char order[8];
	if (sscanf(words, "hello %lu", &cost) == 1) {
		h->hellos++;
		b->cost_ticks = (int)cost;
	} else if (sscanf(words, "about %d %d %d %d %d %d %d %7s", &bits[0], &bits[1], &bits[2], &bits[3], &bits[4],
	                  &bits[5], &bits[6], order) == 8) {
		struct xr_target_info *info = &b->base.info;
		info->abi = xr_abi_words(&b->base.arena, bits, order);
		info->word_bytes = xr_abi_word(&b->tc, bits);
	} else if (sscanf(words, "try %lu", &i) == 1) {
		h->at = (long)i;
	} else if (sscanf(words, "s %lu %lf %lf %lf %lf", &i, &long_ticks, &long_ops, &short_ticks, &short_ops) == 5) {
		if (i >= part->n_told || h->hellos > 1)
			return;
		struct xr_raw raw = {(long_ticks - b->cost_ticks) * b->tick_ns,
		                     long_ops,
		                     (short_ticks - b->cost_ticks) * b->tick_ns,
		                     short_ops,
		                     b->tick_ns,
		                     false,
		                     0};
		if (b->specs[part->told[i]].kind == XR_CLOCK) {
			raw.long_ns = long_ticks * b->tick_ns / long_ops;
			raw.long_ops = 1;
			raw.short_ns = 0;
		}
		xr_raw_add(&b->samples[part->told[i]], raw);
	} else if (!strcmp(words, "done")) {
		h->done = true;
	}
}

static int start(struct board *b, struct xr_proc *proc, const char *program, struct xr_error *err)
{
	const char *argv[64];
	size_t n = 0;
	char **words = b->runner ? xr_words_split(b->runner) : NULL;
	for (char **w = words; w && *w && n < 62; w++)
		argv[n++] = *w;
	argv[n++] = program;
	argv[n] = NULL;
	int status = xr_proc_start(proc, argv, err);
	free(words);
	return status;
}

/* Runs a program to its end, or to ours. */
static int hear(struct board *b, const struct part *part, const char *program, struct hearing *h, struct xr_error *err)
{
	struct xr_proc proc = {0};
	struct xr_arena arena = {0};
	struct xr_strbuf how = {0};
	const char *line;
	int got = 0;
	*h = (struct hearing){.at = -1};
	if (start(b, &proc, program, err))
		return -1;
	while (!h->done && h->hellos < 2 && (got = xr_proc_line(&proc, silence_s, &b->base.watch, &line)) == 1) {
		char *words = unwrap(&arena, line, &h->garbled);
		if (words)
			take_line(b, part, words, h);
	}
	h->silent = got < 0;
	xr_proc_stop(&proc, &how);
	if (!h->done)
		h->how = h->hellos > 1 ? "the board started again in the middle"
		         : h->silent   ? xr_arena_printf(&b->base.arena, "nothing on the console for %.0f s", silence_s)
		         : h->hellos
		                 ? xr_arena_printf(&b->base.arena, "the board stopped: %s", xr_strbuf_text(&how))
		                 : xr_arena_printf(&b->base.arena, "the board said nothing: %s", xr_strbuf_text(&how));
	xr_strbuf_release(&how);
	xr_arena_release(&arena);
	return 0;
}

/* ---- from specifications to a program ---- */

static const char *objection(const struct xr_spec *spec)
{
	if (spec->kind == XR_WALK)
		return "a board without an OS gets no code copied";
	if (spec->kind == XR_TEAM)
		return "a board without an OS has no threads";
	if (spec->kind == XR_CHAIN &&
	    (spec->chain.n_phases != 1 || spec->chain.phase[0].passes || spec->chain.phase[0].access != XR_READ ||
	     spec->chain.cursors > 1 || spec->chain.storing))
		return "the agent of a board walks one ring of addresses at a time";
	if (spec->kind != XR_CLOCK && spec->kind != XR_OPS && spec->kind != XR_CHAIN)
		return "the agent of a board does not know this kind of experiment";
	for (int i = 0; spec->kind == XR_OPS && i < spec->ops.n_streams; i++)
		if (xr_types[spec->ops.stream[i].type].vector)
			return "a board's agent has no vectors";
	return NULL;
}

static void put_chain(struct xr_strbuf *text, const struct xr_chain_spec *chain, size_t i)
{
	const struct xr_phase *p = &chain->phase[0];
	xr_strbuf_printf(text, "static const struct xr_bare_span spans_%zu[] = {\n", i);
	for (size_t k = 0; k < p->n_spans; k++)
		xr_strbuf_printf(text, "\t{%" PRIu64 "ul, %" PRIu64 "ul, %uul},\n", p->span[k].base, p->span[k].stride,
		                 (unsigned)p->span[k].count);
	xr_strbuf_printf(text, "};\n");
}

static long place_of(const struct part *part, size_t stream)
{
	long place = 0;
	if (part->compiled[stream].failure)
		return -1;
	for (size_t i = 0; i < stream; i++)
		place += !part->compiled[i].failure;
	return place;
}

/* The table of the program: what bare.h declares. */
static void put_table(struct board *b, struct part *part, const long *nano, const long *twin, struct xr_strbuf *text)
{
	uint64_t bytes = 0, align = sizeof(void *);
	xr_strbuf_printf(text, "#include \"bare.h\"\n");
	for (size_t i = 0; i < part->n_told; i++) {
		const struct xr_spec *spec = &b->specs[part->told[i]];
		if (spec->kind != XR_CHAIN)
			continue;
		put_chain(text, &spec->chain, i);
		bytes = spec->chain.buffer.bytes > bytes ? spec->chain.buffer.bytes : bytes;
	}
	while (align < bytes && align < 64)
		align *= 2;
	if (!bytes)
		align = 1;
	xr_strbuf_printf(text, "const struct xr_bare_spec xr_bare_specs[] = {\n");
	for (size_t i = 0; i < part->n_told; i++) {
		const struct xr_spec *spec = &b->specs[part->told[i]];
		if (spec->kind == XR_CHAIN)
			xr_strbuf_printf(text, "\t{XR_BARE_CHAIN, 0, -1, spans_%zu, %zu, %d},\n", i,
			                 spec->chain.phase[0].n_spans, spec->chain.phase[0].seed != 0);
		else
			xr_strbuf_printf(text, "\t{%s, %ld, %ld, 0, 0, 0},\n",
			                 spec->kind == XR_OPS ? "XR_BARE_OPS" : "XR_BARE_CLOCK", nano[i], twin[i]);
	}
	xr_strbuf_printf(text, "\t{XR_BARE_CLOCK, 0, -1, 0, 0, 0}\n};\nconst int xr_bare_count = %zu;\n", part->n_told);
	xr_strbuf_printf(text,
	                 "unsigned char xr_bare_buffer[%" PRIu64 "];\nconst unsigned long xr_bare_align = %" PRIu64
	                 "ul;\n",
	                 bytes + align, align);
}

/* The statements of each specification, and the same with twice as many: what the loop itself takes cancels. */
static void collect(struct board *b, struct part *part)
{
	part->stream = xr_calloc(2 * part->n + 1, sizeof *part->stream);
	part->compiled = xr_calloc(2 * part->n + 1, sizeof *part->compiled);
	for (int twin = 0; twin < 2; twin++)
		for (size_t i = 0; i < part->n; i++) {
			const struct xr_spec *spec = &b->specs[part->index[i]];
			if (spec->kind != XR_OPS)
				continue;
			part->stream[part->n_streams] = *spec;
			if (twin)
				part->stream[part->n_streams].ops.unroll = 2 * xr_ops_body(&spec->ops);
			part->n_streams++;
		}
}

/* Fails what did not compile; lists the others in the order of the program's table. */
static void tell(struct board *b, struct part *part, long *nano, long *twin, struct xr_reading *out)
{
	size_t stream = 0;
	for (size_t i = 0; i < part->n; i++) {
		size_t at = part->index[i];
		if (b->specs[at].kind == XR_OPS) {
			const struct xr_compiled *c = &part->compiled[stream];
			nano[part->n_told] = place_of(part, stream);
			twin[part->n_told] = place_of(part, stream + part->n_streams / 2);
			stream++;
			out[at].look = c->look;
			if (c->failure) {
				xr_reading_fail(&out[at], XR_READ_FAILED,
				                xr_arena_printf(&b->base.arena, "does not compile: %s", c->failure));
				out[at].refused = true;
				continue;
			}
		}
		part->told[part->n_told++] = at;
	}
}

static int bake(struct board *b, const size_t *index, size_t n, struct xr_reading *out, struct xr_error *err);

/* Without the guilty one, if the board got as far; twice the same end without one costs them all. */
static int go_on(struct board *b, struct part *part, const struct hearing *h, struct xr_reading *out,
                 struct xr_error *err)
{
	size_t *rest = xr_calloc(part->n_told + 1, sizeof *rest), n = 0;
	const char *how = h->garbled ? xr_arena_printf(&b->base.arena, "%s; its console was garbled", h->how) : h->how;
	for (size_t i = 0; i < part->n_told; i++) {
		size_t at = part->told[i];
		if (h->at < 0 || h->at == (long)i)
			xr_reading_fail(&out[at], XR_READ_FAILED, how);
		else if ((long)i > h->at)
			rest[n++] = at;
	}
	int status = n ? bake(b, rest, n, out, err) : 0;
	free(rest);
	return status;
}

/* Builds and runs one part. */
static int bake_part(struct board *b, struct part *part, struct xr_reading *out, struct xr_error *err)
{
	struct xr_strbuf text = {0};
	long *nano = xr_calloc(part->n + 1, sizeof *nano), *twin = xr_calloc(part->n + 1, sizeof *twin);
	const char *program = NULL;
	struct xr_error why = {0};
	struct hearing h;
	int status = xr_toolchain_build(&b->tc, part->stream, part->n_streams, part->compiled, NULL, NULL, err);
	if (!status && xr_watch_over(&b->base.watch))
		status = xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(&b->base.watch));
	if (!status) {
		tell(b, part, nano, twin, out);
		put_table(b, part, nano, twin, &text);
		const char *script[] = {xr_strbuf_text(&text), NULL};
		bool linked = part->n_told && !xr_toolchain_build(&b->tc, part->stream, part->n_streams, part->compiled,
		                                                  script, &program, &why);
		if (part->n_told && !linked && part->n_told > 1) {
			size_t half = part->n_told / 2;
			status = bake(b, part->told, half, out, err) ||
			                         bake(b, part->told + half, part->n_told - half, out, err)
			                 ? -1
			                 : 0;
		} else if (part->n_told && !linked) {
			xr_reading_fail(&out[part->told[0]], XR_READ_UNSUPPORTED,
			                xr_arena_printf(&b->base.arena, "does not fit: %s", why.text));
		} else if (part->n_told) {
			status = hear(b, part, program, &h, err);
			if (!status && !h.done)
				status = go_on(b, part, &h, out, err);
		}
	}
	free(nano);
	free(twin);
	xr_strbuf_release(&text);
	return status;
}

static int bake(struct board *b, const size_t *index, size_t n, struct xr_reading *out, struct xr_error *err)
{
	struct part part = {.index = index, .n = n};
	part.told = xr_calloc(n + 1, sizeof *part.told);
	collect(b, &part);
	int status = bake_part(b, &part, out, err);
	free(part.told);
	free(part.stream);
	free(part.compiled);
	return status;
}

/* ---- the backend ---- */

static int board_prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                         size_t n, struct xr_reading *out, struct xr_error *err)
{
	struct board *b = (struct board *)target;
	size_t *index = xr_calloc(n + 1, sizeof *index), k = 0;
	(void)effort;
	b->specs = specs;
	b->n = n;
	b->samples = xr_calloc(n + 1, sizeof *b->samples);
	for (size_t i = 0; i < n; i++) {
		const char *why = objection(&specs[i]);
		out[i].granule_ns = b->tick_ns;
		if (why)
			xr_reading_fail(&out[i], XR_READ_UNSUPPORTED, why);
		else
			index[k++] = i;
	}
	int status = k ? bake(b, index, k, out, err) : 0;
	free(index);
	return status;
}

static int board_rounds(struct xr_target *target, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
                        struct xr_reading *out, struct xr_error *err)
{
	struct board *b = (struct board *)target;
	(void)rounds;
	(void)out;
	(void)err;
	for (size_t j = 0; j < k; j++) {
		struct xr_raw_list *from = &b->samples[idx[j]];
		for (size_t i = 0; i < from->n; i++)
			xr_raw_add(&lists[idx[j]], from->raw[i]);
		from->n = 0;
	}
	return 0;
}

static void board_done(struct xr_target *target)
{
	struct board *b = (struct board *)target;
	for (size_t i = 0; b->samples && i < b->n; i++)
		free(b->samples[i].raw);
	free(b->samples);
	b->samples = NULL;
}

static void board_free(struct xr_target *target)
{
	struct board *b = (struct board *)target;
	xr_toolchain_release(&b->tc);
	xr_target_deinit(target);
	free(b);
}

static const struct xr_backend board_backend = {
	.prepare = board_prepare,
	.rounds = board_rounds,
	.done = board_done,
	.free = board_free,
};

/* ---- opening ---- */

static const char *copy(struct xr_arena *arena, const char *text)
{
	return xr_arena_strdup(arena, text ? text : "");
}

static void describe(struct board *b, const struct xr_host_options *options)
{
	static const int only = 0;
	struct xr_target_info *info = &b->base.info;
	struct xr_arena *arena = &b->base.arena;
	info->kind = "board";
	info->name = copy(arena, options->words.name);
	info->cpu = copy(arena, options->words.cpu);
	info->os = copy(arena, options->words.os);
	info->clock = copy(arena, options->words.clock);
	info->runner = copy(arena, options->runner);
	info->cpu_ids = &only;
	info->n_cpus = 1;
	info->cpu_used = -1;
	info->memory_bytes = options->words.memory_bytes ? options->words.memory_bytes : 1024;
	info->has_flavour[XR_PLAIN] = true;
	info->kinds = 1u << XR_CLOCK | 1u << XR_OPS | 1u << XR_CHAIN;
	info->exact = true;
	if (options->words.timing == XR_TIMING_NO)
		info->untimed = "the target file says that times are not the target's";
}

struct xr_target *xr_board_open(const struct xr_host_options *options, struct xr_error *err)
{
	struct board *b = xr_calloc(1, sizeof *b);
	struct part nothing = {0};
	struct hearing h = {0};
	const char *program = NULL;
	static const char *const empty[] = {
		"#include \"bare.h\"\nconst struct xr_bare_spec xr_bare_specs[] = {{XR_BARE_CLOCK, 0, -1, 0, 0, 0}};\n"
		"const int xr_bare_count = 0;\nunsigned char xr_bare_buffer[1];\nconst unsigned long xr_bare_align = 1ul;\n",
		NULL};
	xr_target_init(&b->base, &board_backend);
	describe(b, options);
	b->runner = options->runner ? xr_arena_strdup(&b->base.arena, options->runner) : NULL;
	b->tick_ns = 1e9 / options->words.clock_hz;
	b->base.watch = options->watch;
	if (xr_toolchain_init(&b->tc, options, 2, &b->base.arena, &b->base.watch, err))
		goto fail;
	b->base.info.compiler = b->tc.name;
	b->base.info.unoptimised = b->tc.unoptimised;
	b->base.info.cflags = b->tc.cflags;
	b->base.info.triple = b->tc.triple;
	b->base.info.warning = b->tc.warning;
	/* Without experiments: proves that the compiler, the linker, the runner and the console work. */
	if (xr_toolchain_build(&b->tc, NULL, 0, NULL, empty, &program, err) || hear(b, &nothing, program, &h, err))
		goto fail;
	if (!h.done || !h.hellos) {
		xr_fail(err, XR_EXIT_TARGET, "%s", h.how ? h.how : "the board did not say hello");
		goto fail;
	}
	return &b->base;
fail:
	board_free(&b->base);
	return NULL;
}
