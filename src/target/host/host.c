/* SPDX-License-Identifier: MIT */
/* Targets that run things: this machine, or another behind a runner. The host is not special: it is the target
 * with the machine's own compiler, no runner and POSIX time.
 *
 * One agent without generated code stays up for address chains, code walks and teams. A batch with operation
 * streams gets a program of its own, linked from the agent and the compiled streams, which ends when something
 * else is asked. Whichever dies or falls silent costs the specification that it was at: that one is failed, the
 * others are asked again.
 */
#include "target/host/host.h"
#include "target/host/nature.h"
#include "target/host/compiler.h"
#include "target/host/os.h"
#include "target/host/talk.h"
#include "target/open.h"
#include "util/hash.h"
#include "util/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waiting for a neighbour on the core's other thread to pause, in a whole run. */
static const double patience_all_ns = 1.8e9;

static bool all_streams(const struct xr_host *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->specs[i].kind != XR_OPS)
			return false;
	return true;
}

/* Samples of tens of microseconds: long against the clock's cost and grain, short against interrupts. Streams of
 * operations have nothing to warm up; their samples are as short as the clock allows, because a neighbour on the core's
 * other thread leaves it alone only for microseconds at a time (agent/clock.h). */
static double natural_sample_ns(const struct xr_host *h)
{
	double length = 500 * h->cost_ns > 1000 * h->granule_ns ? 500 * h->cost_ns : 1000 * h->granule_ns;
	if (h->granule_ns >= 1000)
		return 1000 * h->granule_ns;
	if (all_streams(h) && length < 20e3)
		return length / 2;
	return length < 20e3 ? 20e3 : length > 100e3 ? 100e3 : length;
}

/* ---- the backend ---- */

static int host_bake(struct xr_host *h, struct xr_reading *out, struct xr_streams *streams, struct xr_error *err);

static void forget_batch(struct xr_host *h)
{
	if (h->visitor.pid)
		xr_proc_send(&h->visitor, "quit\n", 5, &h->base.watch);
	xr_proc_stop(&h->visitor, NULL);
	free(h->lines);
	free(h->out_of_play);
	free(h->order);
	free(h->outset);
	h->lines = NULL;
	h->out_of_play = NULL;
	h->order = NULL;
	h->outset = NULL;
	h->key = 0;
}

/* Of what a batch of streams asks; 0: others change what they leave behind, and are laid out anew. */
static uint64_t key_of(const struct xr_host *h, const struct xr_effort *effort, const struct xr_spec *specs, size_t n)
{
	struct xr_arena scratch = {0};
	uint64_t key = xr_hash(n, &effort->sample_ns, sizeof effort->sample_ns);
	for (size_t i = 0; i < n && key; i++) {
		const char *text = xr_spec_text(&scratch, &specs[i]);
		key = specs[i].kind == XR_OPS ? xr_hash(key, text, strlen(text)) : 0;
	}
	xr_arena_release(&scratch);
	return h->baked ? 0 : key;
}

/* The same as last time, and who was asked still stands there, ready. */
static bool still_ready(struct xr_host *h, const struct xr_spec *specs, uint64_t key, struct xr_reading *out)
{
	struct xr_strbuf text = {0};
	if (!key || key != h->key || !h->visitor.pid)
		return false;
	xr_talk_patience(h, &text);
	bool told = !xr_proc_send(&h->visitor, xr_strbuf_text(&text), text.len, &h->base.watch);
	xr_strbuf_release(&text);
	h->specs = specs;
	for (size_t i = 0; i < h->n && told; i++)
		out[i] = h->outset[i];
	return told;
}

static int host_prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                        struct xr_reading *out, struct xr_error *err)
{
	struct xr_host *h = (struct xr_host *)target;
	struct xr_streams streams = {0};
	uint64_t key = key_of(h, effort, specs, n);
	h->hasty = effort->hasty;
	h->count = effort->count && target->info.counters && !h->baked;
	if (still_ready(h, specs, key, out))
		return 0;
	forget_batch(h);
	h->specs = specs;
	h->n = n;
	h->lines = xr_calloc(n, sizeof *h->lines);
	h->out_of_play = xr_calloc(n, sizeof *h->out_of_play);
	h->order = xr_calloc(n, sizeof *h->order);
	h->quiet_ns = h->quiet_all_ns = effort->quiet_ns;
	h->batch_sample_ns = effort->sample_ns > 0 ? effort->sample_ns : natural_sample_ns(h);
	h->program = NULL;
	h->n_works = 0;
	h->window_ns = 0;
	xr_strbuf_clear(&h->works);

	xr_streams_collect(h, &streams, &target->arena);
	int status = 0;
	if (streams.n)
		status = xr_toolchain_build(&h->tc, streams.spec, streams.n, streams.compiled, NULL, &h->program, err);
	if (!status) {
		xr_streams_tell(h, &streams, out);
		for (size_t i = 0; i < n; i++)
			h->out_of_play[i] = out[i].status != XR_READ_OK;
		status = h->baked ? host_bake(h, out, &streams, err) : xr_talk_ready(h, out, err);
	}
	if (!status && h->program) {
		h->key = key;
		h->outset = xr_calloc(n, sizeof *h->outset);
		memcpy(h->outset, out, n * sizeof *out);
	}
	free(streams.spec);
	free(streams.text);
	free(streams.compiled);
	return status;
}

/* Interleaved; when the agent dies on the way, each alone, so that only the guilty one fails. */
static int host_rounds(struct xr_target *target, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
                       struct xr_reading *out, struct xr_error *err)
{
	struct xr_host *h = (struct xr_host *)target;
	const char *how = NULL;
	if (h->baked) {
		for (size_t j = 0; j < k; j++) {
			struct xr_raw_list *from = &h->baked_samples[idx[j]];
			for (size_t i = 0; i < from->n; i++)
				xr_raw_add(&lists[idx[j]], from->raw[i]);
			from->n = 0;
		}
		return 0;
	}
	int status = xr_talk_rounds(h, idx, k, rounds, lists, out, &how);
	if (!status && h->count)
		status = xr_talk_rounds(h, idx, k, 0, NULL, out, &how);
	h->count = false;
	for (size_t j = 0; j < k; j++)
		out[idx[j]].waited_ns = h->quiet_all_ns - h->quiet_ns;
	if (!status)
		return 0;
	h->key = 0;
	if (xr_watch_over(&h->base.watch))
		return xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(&h->base.watch));
	for (size_t j = 0; j < k; j++) {
		size_t i = idx[j];
		if (k == 1) {
			xr_reading_fail(&out[i], XR_READ_FAILED, how);
			h->out_of_play[i] = true;
			return 0;
		}
		if (!xr_talk_agent(h)->pid && xr_talk_ready(h, out, err))
			return -1;
		if (out[i].status == XR_READ_OK && xr_talk_rounds(h, &i, 1, rounds, lists, out, &how)) {
			xr_reading_fail(&out[i], XR_READ_FAILED, how);
			h->out_of_play[i] = true;
		}
	}
	return 0;
}

static void host_done(struct xr_target *target)
{
	struct xr_host *h = (struct xr_host *)target;
	if (h->resident.pid && !h->program)
		xr_proc_send(&h->resident, "clear\n", 6, &h->base.watch);
	for (size_t i = 0; h->baked_samples && i < h->n; i++)
		free(h->baked_samples[i].raw);
	free(h->baked_samples);
	h->baked_samples = NULL;
	if (!h->key)
		forget_batch(h);
}

static void host_free(struct xr_target *target)
{
	struct xr_host *h = (struct xr_host *)target;
	if (h->resident.pid)
		xr_proc_send(&h->resident, "quit\n", 5, &h->base.watch);
	xr_proc_stop(&h->resident, NULL);
	forget_batch(h);
	xr_toolchain_release(&h->tc);
	xr_strbuf_release(&h->works);
	xr_target_deinit(target);
	free(h);
}

/* Baked: the lines of the whole conversation go into the program, which prints its answers and ends. */
static int host_bake(struct xr_host *h, struct xr_reading *out, struct xr_streams *streams, struct xr_error *err)
{
	const int rounds = h->base.info.exact ? 2 : 21; /* all that will ever be heard of it */
	struct xr_strbuf text = {0};
	struct xr_arena arena = {0};
	size_t n_lines = 1;
	xr_talk_tell(h, &text);
	xr_strbuf_printf(&text, "rounds %d", rounds);
	for (size_t i = 0; i < h->n_order; i++)
		xr_strbuf_printf(&text, " %zu", i);
	for (const char *c = xr_strbuf_text(&text); *c; c++)
		n_lines += *c == '\n';
	const char **script = xr_arena_array(&arena, const char *, n_lines + 1);
	char *copy = xr_arena_strdup(&arena, xr_strbuf_text(&text)), *state = NULL;
	size_t k = 0;
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state))
		script[k++] = line;
	h->baked_samples = xr_calloc(h->n, sizeof *h->baked_samples);

	int status = xr_toolchain_build(&h->tc, streams->spec, streams->n, streams->compiled, script, &h->program, err);
	if (!status)
		status = xr_talk_hear(h, rounds, h->baked_samples, out, err);
	xr_strbuf_release(&text);
	xr_arena_release(&arena);
	return status;
}

/* A core of another type need not do as many additions at once, nor be as quick, so the agent there finds out anew. */
static int host_move(struct xr_target *target, int cpu, struct xr_error *err)
{
	struct xr_host *h = (struct xr_host *)target;
	if (!target->info.can_pin)
		return -1;
	xr_proc_stop(&h->resident, NULL);
	forget_batch(h);
	h->cpu = target->info.cpu_used = cpu;
	h->n_cpus = 0;
	h->reference_adds = 0;
	h->core_alone = 0;
	h->patience_ns = patience_all_ns;
	return xr_talk_begin(h, &h->resident, h->resident_program, err);
}

static void host_settle(struct xr_target *target)
{
	xr_talk_settle((struct xr_host *)target);
}

static const struct xr_backend host_backend = {
	.prepare = host_prepare,
	.rounds = host_rounds,
	.done = host_done,
	.move = host_move,
	.settle = host_settle,
	.free = host_free,
};

/* ---- opening ---- */

static const char *words_or(struct xr_arena *arena, const char *stated, const char *otherwise)
{
	return stated ? xr_arena_strdup(arena, stated) : otherwise;
}

/* What a target file states of the machine. */
static void state(struct xr_target_info *info, struct xr_arena *arena, const struct xr_target_words *words)
{
	info->name = words_or(arena, words->name, info->name);
	info->cpu = words_or(arena, words->cpu, info->cpu);
	info->os = words_or(arena, words->os, info->os);
	info->clock = words_or(arena, words->clock, NULL);
	info->mips = words->mips;
	if (words->memory_bytes)
		info->memory_bytes = words->memory_bytes;
}

static void describe(struct xr_host *h, const struct xr_host_options *options)
{
	struct xr_target_info *info = &h->base.info;
	struct xr_arena *arena = &h->base.arena;
	info->kind = options->runner ? "exec" : "host";
	info->name = "host";
	info->cpu = xr_os_cpu_name(arena);
	info->os = xr_os_name(arena);
	info->n_cpus = xr_os_cpus(arena, &info->cpu_ids);
	info->can_pin = xr_os_can_pin();
	info->counters = !options->runner && xr_os_counts();
	info->cpu_quota = xr_os_quota();
	info->memory_bytes = xr_os_memory();
	info->page_bytes = xr_os_page();
	info->kinds = 1u << XR_CLOCK | 1u << XR_OPS | 1u << XR_CHAIN | 1u << XR_WALK | 1u << XR_TEAM | 1u << XR_FLOW;
	state(info, arena, &options->words);
	info->runner = options->runner ? xr_arena_strdup(arena, options->runner) : NULL;
}

/* Less than this for all buffers, and some are smaller than they would be. */
static const uint64_t plenty_bytes = UINT64_C(1) << 30;

/* What the user should know before: that a compiler's answers are not kept, that there is little memory. */
static const char *warnings(struct xr_host *h)
{
	uint64_t bytes = h->base.info.memory_bytes;
	if (bytes >= plenty_bytes)
		return h->tc.warning;
	const char *little = xr_arena_printf(&h->base.arena,
	                                     "at most %" PRIu64 " MiB of memory may be used here: buffers are smaller, "
	                                     "and large caches may not be seen whole",
	                                     bytes >> 20);
	return h->tc.warning ? xr_arena_printf(&h->base.arena, "%s; %s", h->tc.warning, little) : little;
}

static int build_resident(struct xr_host *h, struct xr_error *err)
{
	return xr_toolchain_build(&h->tc, NULL, 0, NULL, h->baked ? xr_nature_script : NULL, &h->resident_program, err);
}

/* Without generated code: proves that the compiler, the linker and the runner work. A runner that hands its program
 * nothing to read gets programs that need nothing. */
static int meet(struct xr_host *h, struct xr_error *err)
{
	struct xr_error first = {0};
	h->repeats = h->runner ? -1 : 0;
	if (build_resident(h, err))
		return -1;
	int status = xr_talk_begin(h, &h->resident, h->resident_program, &first);
	if (!status)
		return 0;
	bool may_be_deaf = status == -2 && h->runner && !h->baked && !xr_watch_over(&h->base.watch);
	h->baked |= may_be_deaf;
	h->repeats = -1;
	if (may_be_deaf && !build_resident(h, err) && !xr_talk_begin(h, &h->resident, h->resident_program, err)) {
		h->base.info.warning =
			"nothing that is sent through the runner reaches the program: experiments are built into "
			"programs, which takes longer";
		return 0;
	}
	return xr_fail(err, first.code, "%s", first.text);
}

struct xr_target *xr_host_open(const struct xr_host_options *options, struct xr_error *err)
{
	struct xr_host *h = xr_calloc(1, sizeof *h);
	struct xr_target_info *info = &h->base.info;
	xr_target_init(&h->base, &host_backend);
	h->base.watch = options->watch;
	describe(h, options);
	h->runner = options->runner ? xr_arena_strdup(&h->base.arena, options->runner) : NULL;
	h->baked = options->baked;
	h->base.effort.sample_ns = options->sample_ns;
	h->patience_ns = patience_all_ns;

	if (options->cpu >= 0 && !xr_talk_may_run_on(info, options->cpu)) {
		xr_fail(err, XR_EXIT_USE, "CPU %d cannot be used: allowed are %d CPUs, the first is %d", options->cpu,
		        info->n_cpus, info->cpu_ids[0]);
		goto fail;
	}
	char **words = h->runner ? xr_words_split(h->runner) : NULL;
	if (h->runner && (!words || !words[0])) {
		xr_fail(err, XR_EXIT_USE, "--runner '%s' is no command", h->runner);
		free(words);
		goto fail;
	}
	free(words);
	if (xr_toolchain_init(&h->tc, options, info->n_cpus, &h->base.arena, &h->base.watch, err))
		goto fail;
	if (options->cpu < 0)
		h->n_cpus = xr_os_quiet_cpus(info->cpu_ids, info->n_cpus, h->cpus, XR_HOST_CPUS);
	h->cpu = options->cpu >= 0 ? options->cpu : h->cpus[0];
	info->cpu_used = info->can_pin ? h->cpu : -1;
	info->compiler = h->tc.name;
	info->unoptimised = h->tc.unoptimised;
	if (!h->tc.threads)
		info->kinds &= ~(1u << XR_TEAM);
	info->cflags = h->tc.cflags;
	info->warning = warnings(h);
	info->has_flavour[XR_PLAIN] = true;
	info->no_compiler = h->tc.builtin;
	info->has_flavour[XR_NATIVE] = h->tc.native_flag != NULL;

	info->triple = h->tc.triple;
	if (meet(h, err) || xr_nature_find(h, &options->words, err))
		goto fail;
	if (h->repeats && !info->exact) { /* a true clock, and a quiet moment */
		xr_proc_stop(&h->resident, NULL);
		h->repeats = 0;
		if (xr_talk_begin(h, &h->resident, h->resident_program, err))
			goto fail;
	}
	if (h->baked) /* it has said what there was to say */
		xr_proc_stop(&h->resident, NULL);
	return &h->base;
fail:
	host_free(&h->base);
	return NULL;
}
