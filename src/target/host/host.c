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
#include "target/host/answer.h"
#include "target/host/nature.h"
#include "target/host/compiler.h"
#include "target/host/os.h"
#include "target/open.h"
#include "util/hash.h"
#include "util/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waiting for a neighbour on the core's other thread to pause: in a whole run; of what is left, in one batch. */
static const double patience_all_ns = 1.8e9, patience_share = 0.15;

/* ---- starting an agent ---- */

static double patience(const struct xr_host *h, double seconds)
{
	return h->runner ? seconds * 5 : seconds;
}

static int start_agent(struct xr_host *h, struct xr_proc *proc, const char *program, struct xr_error *err)
{
	struct xr_strbuf cpus = {0};
	struct xr_command c = {0};
	char memory[32], adds[16], alone[32];
	char **words = h->runner ? xr_words_split(h->runner) : NULL;
	for (char **w = words; w && *w; w++)
		xr_command_add(&c, *w);
	xr_strbuf_printf(&cpus, "%d", h->base.info.can_pin ? h->cpu : -1);
	for (int i = 0; h->base.info.can_pin && i < h->n_cpus; i++)
		if (h->cpus[i] != h->cpu)
			xr_strbuf_printf(&cpus, ",%d", h->cpus[i]);
	snprintf(memory, sizeof memory, "%" PRIu64, h->base.info.memory_bytes);
	snprintf(adds, sizeof adds, "%d", h->reference_adds);
	snprintf(alone, sizeof alone, "%.17g", h->core_alone);
	xr_command_add(&c, program);
	xr_command_add(&c, xr_strbuf_text(&cpus));
	xr_command_add(&c, memory);
	xr_command_add(&c, adds);
	xr_command_add(&c, alone);
	xr_command_add(&c, h->repeats < 0 ? "-1" : h->repeats ? "1" : "0");
	int status = xr_proc_start(proc, c.argv, err);
	xr_strbuf_release(&cpus);
	free(c.argv);
	free(words);
	return status;
}

static bool may_run_on(const struct xr_target_info *info, int cpu)
{
	for (int i = 0; i < info->n_cpus; i++)
		if (info->cpu_ids[i] == cpu)
			return true;
	return false;
}

/* The agent looks for a core that is left alone; the next one starts where it is. */
static void now_on(struct xr_host *h, int cpu)
{
	if (cpu >= 0 && may_run_on(&h->base.info, cpu))
		h->cpu = h->base.info.cpu_used = cpu;
}

static bool sensible(const struct xr_host *h)
{
	return h->cost_ns > 0 && h->cost_ns < 1e12 && h->granule_ns > 0 && h->granule_ns < 1e12 &&
	       h->reference_adds > 0 && h->reference_adds <= 1 << 20;
}

static int greet(struct xr_host *h, struct xr_proc *proc, struct xr_error *err)
{
	const char *line;
	int cpu;
	if (!xr_proc_send(proc, "hello\n", 6, &h->base.watch) &&
	    xr_proc_line(proc, patience(h, 10), &h->base.watch, &line) == 1 &&
	    sscanf(line, "hello 1 %lf %lf %d %lf %d %d", &h->cost_ns, &h->granule_ns, &h->reference_adds,
	           &h->core_alone, &cpu, &h->repeats) == 6) {
		now_on(h, cpu);
		if (sensible(h)) {
			/* a ratio of differences: under an emulator it may be less than nothing, or anything */
			h->core_alone = h->core_alone > 0 && h->core_alone < 1e12 ? h->core_alone : 0;
			xr_toolchain_proved(&h->tc);
			return 0;
		}
		xr_proc_stop(proc, NULL);
		return xr_fail(err, XR_EXIT_TARGET,
		               "the agent's clock cannot be: it costs %g ns and goes in steps of %g ns", h->cost_ns,
		               h->granule_ns);
	}
	struct xr_strbuf how = {0};
	xr_proc_stop(proc, &how);
	xr_fail(err, XR_EXIT_TARGET, "the agent does not answer%s%s: %s", h->runner ? " behind the runner " : "",
	        h->runner ? h->runner : "", xr_strbuf_text(&how));
	xr_strbuf_release(&how);
	return -1;
}

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

/* ---- talking ---- */

static struct xr_proc *batch_agent(struct xr_host *h)
{
	return h->program ? &h->visitor : &h->resident;
}

static int revive(struct xr_host *h, struct xr_error *err)
{
	struct xr_proc *proc = batch_agent(h);
	if (proc->pid)
		return 0;
	if (start_agent(h, proc, h->program ? h->program : h->resident_program, err))
		return -1;
	return greet(h, proc, err);
}

static void give_patience(struct xr_host *h, struct xr_strbuf *text)
{
	h->given_ns = h->hasty ? 0 : h->patience_ns * patience_share;
	xr_strbuf_printf(text, "patience %.0f\n", h->given_ns);
}

/* Everything the agent must know of the specifications in play; sets order[]. */
static void tell(struct xr_host *h, struct xr_strbuf *text)
{
	h->n_order = 0;
	give_patience(h, text);
	xr_strbuf_printf(text, "clear\n%s", xr_strbuf_text(&h->works));
	for (size_t i = 0; i < h->n; i++)
		if (!h->out_of_play[i]) {
			xr_strbuf_printf(text, "spec %zu %s\n", h->n_order, h->lines[i]);
			h->order[h->n_order++] = i;
		}
	xr_strbuf_printf(text, "ready %.17g %.17g\n", h->batch_sample_ns, h->quiet_ns);
}

/* Takes an answer; true: it was the last. */
static bool take(struct xr_host *h, const char *line, struct xr_raw_list *lists, struct xr_reading *out, size_t *at)
{
	struct xr_answer a;
	enum xr_answer_kind kind = xr_answer_read(line, h->n_order, &a);
	size_t i = kind != XR_ANSWER_NONE && kind != XR_ANSWER_DONE ? h->order[a.index] : 0;
	switch (kind) {
	case XR_ANSWER_TRY:
		*at = a.index;
		return false;
	case XR_ANSWER_READY:
		out[i].code_bytes = a.code_bytes;
		out[i].granule_ns = h->granule_ns;
		return false;
	case XR_ANSWER_BAD:
		xr_reading_fail(&out[i], a.unsupported ? XR_READ_UNSUPPORTED : XR_READ_FAILED,
		                xr_arena_strdup(&h->base.arena, a.reason));
		h->out_of_play[i] = true;
		return false;
	case XR_ANSWER_SAMPLE:
		if (lists)
			xr_raw_add(&lists[i], a.raw);
		return false;
	case XR_ANSWER_EVENTS:
		xr_answer_events(&h->specs[i], &a, &out[i].events);
		return false;
	case XR_ANSWER_DONE:
		now_on(h, a.cpu);
		a.left_ns = fmax(0, fmin(a.left_ns, h->given_ns)); /* it cannot have more than it was given */
		h->patience_ns -= h->given_ns - a.left_ns;
		h->given_ns = a.left_ns;
		h->quiet_ns = fmax(0, fmin(a.quiet_ns, h->quiet_ns));
		return true;
	default:
		return false;
	}
}

enum ending { DONE, DIED, SILENT, ENDLESS, STOPPED };

/* Reads answers until `done`. *at gets the specification that was tried last, n_order when none. */
static enum ending listen(struct xr_host *h, struct xr_proc *proc, double silence_s, struct xr_raw_list *lists,
                          struct xr_reading *out, size_t *at)
{
	const char *line;
	double end_s = xr_clock_s() + patience(h, silence_s) * (double)(h->n_order + 2);
	*at = h->n_order;
	for (;;) {
		int got = xr_proc_line(proc, patience(h, silence_s), &h->base.watch, &line);
		if (got <= 0 && xr_watch_over(&h->base.watch))
			return STOPPED;
		if (got <= 0)
			return got == -2 ? ENDLESS : got ? SILENT : DIED;
		if (xr_clock_s() > end_s)
			return ENDLESS;
		if (take(h, line, lists, out, at))
			return DONE;
	}
}

static const char *how_it_ended(struct xr_host *h, struct xr_proc *proc, enum ending ending, double silence_s)
{
	struct xr_strbuf how = {0};
	struct xr_arena *arena = &h->base.arena;
	xr_proc_stop(proc, &how);
	const char *text = ending == SILENT
	                           ? xr_arena_printf(arena, "did not end within %.0f s", patience(h, silence_s))
	                   : ending == ENDLESS ? "talks without end"
	                   : ending == STOPPED ? xr_watch_why(&h->base.watch)
	                                       : xr_arena_strdup(arena, xr_strbuf_text(&how));
	xr_strbuf_release(&how);
	return text;
}

/* How long an agent may say nothing while it tries specification after specification. */
static double try_silence_s(const struct xr_host *h)
{
	for (size_t i = 0; i < h->n; i++)
		if (h->specs[i].kind != XR_OPS && h->specs[i].kind != XR_CLOCK)
			return 20;
	return 3;
}

/* Tells, waits until all are ready; takes the guilty ones out of play until the rest is. */
static int get_ready(struct xr_host *h, struct xr_reading *out, struct xr_error *err)
{
	for (int deaths = 0;;) {
		struct xr_proc *proc = batch_agent(h);
		struct xr_strbuf text = {0};
		size_t at;
		if (revive(h, err))
			return -1;
		tell(h, &text);
		int sent = xr_proc_send(proc, xr_strbuf_text(&text), text.len, &h->base.watch);
		xr_strbuf_release(&text);
		enum ending ending = sent ? DIED : listen(h, proc, try_silence_s(h), NULL, out, &at);
		if (sent)
			at = h->n_order;
		if (ending == DONE)
			return 0;
		const char *how = how_it_ended(h, proc, ending, try_silence_s(h));
		if (xr_watch_over(&h->base.watch))
			return xr_fail(err, XR_EXIT_TARGET, "%s", xr_watch_why(&h->base.watch));
		if (at < h->n_order) {
			xr_reading_fail(&out[h->order[at]], XR_READ_FAILED, how);
			h->out_of_play[h->order[at]] = true;
		} else if (++deaths > 2) {
			return xr_fail(err, XR_EXIT_TARGET, "the agent keeps dying: %s", how);
		}
	}
}

static double rounds_silence_s(const struct xr_host *h, size_t k, int rounds)
{
	double expected = (double)k * rounds * (h->batch_sample_ns * 3 + h->window_ns * 8) * 1e-9;
	return 10 + 10 * expected;
}

enum { COUNTED_RUNS = 64 }; /* of a specification: eight counters, eight times */

/* rounds 0: events instead. */
static int ask_rounds(struct xr_host *h, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
                      struct xr_reading *out, const char **how)
{
	struct xr_proc *proc = batch_agent(h);
	struct xr_strbuf text = {0};
	size_t at, asked = 0;
	if (rounds)
		xr_strbuf_printf(&text, "rounds %d", rounds);
	else
		xr_strbuf_printf(&text, "count");
	for (size_t index = 0; index < h->n_order; index++)
		for (size_t j = 0; j < k; j++)
			if (h->order[index] == idx[j] && !h->out_of_play[idx[j]]) {
				xr_strbuf_printf(&text, " %zu", index);
				asked++;
			}
	xr_strbuf_printf(&text, "\n");
	enum ending ending = DONE;
	if (asked) {
		double silence = rounds_silence_s(h, asked, rounds ? rounds : COUNTED_RUNS);
		ending = xr_proc_send(proc, xr_strbuf_text(&text), text.len, &h->base.watch)
		                 ? DIED
		                 : listen(h, proc, silence, lists, out, &at);
		if (ending != DONE)
			*how = how_it_ended(h, proc, ending, silence);
	}
	xr_strbuf_release(&text);
	return ending == DONE ? 0 : -1;
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
	give_patience(h, &text);
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
		status = h->baked ? host_bake(h, out, &streams, err) : get_ready(h, out, err);
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
	int status = ask_rounds(h, idx, k, rounds, lists, out, &how);
	if (!status && h->count)
		status = ask_rounds(h, idx, k, 0, NULL, out, &how);
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
		if (!batch_agent(h)->pid && get_ready(h, out, err))
			return -1;
		if (out[i].status == XR_READ_OK && ask_rounds(h, &i, 1, rounds, lists, out, &how)) {
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
	enum { BAKED_ROUNDS = 21 };
	struct xr_strbuf text = {0};
	struct xr_arena arena = {0};
	size_t at, n_lines = 1;
	tell(h, &text);
	xr_strbuf_printf(&text, "rounds %d", BAKED_ROUNDS);
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
		status = start_agent(h, &h->visitor, h->program, err);
	if (!status) {
		enum ending ending = listen(h, &h->visitor, try_silence_s(h), NULL, out, &at);
		if (ending == DONE)
			ending = listen(h, &h->visitor, rounds_silence_s(h, h->n_order, BAKED_ROUNDS), h->baked_samples,
			                out, &at);
		if (ending != DONE) {
			const char *how = how_it_ended(h, &h->visitor, ending, try_silence_s(h));
			for (size_t i = 0; i < h->n; i++)
				if (out[i].status == XR_READ_OK)
					xr_reading_fail(&out[i], XR_READ_FAILED, how);
		}
	}
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
	return start_agent(h, &h->resident, h->resident_program, err) || greet(h, &h->resident, err) ? -1 : 0;
}

static void host_settle(struct xr_target *target)
{
	struct xr_host *h = (struct xr_host *)target;
	const char *line;
	int cpu;
	if (h->n_cpus > 1 && h->resident.pid && !xr_proc_send(&h->resident, "settle\n", 7, &h->base.watch) &&
	    xr_proc_line(&h->resident, patience(h, 10), &h->base.watch, &line) == 1 && sscanf(line, "at %d", &cpu) == 1)
		now_on(h, cpu);
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
	if (words->no_threads)
		info->kinds &= ~(1u << XR_TEAM);
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

	if (options->cpu >= 0 && !may_run_on(info, options->cpu)) {
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
	info->cflags = h->tc.cflags;
	info->warning = warnings(h);
	info->has_flavour[XR_PLAIN] = true;
	info->no_compiler = h->tc.builtin;
	info->has_flavour[XR_NATIVE] = h->tc.native_flag != NULL;

	info->triple = h->tc.triple;
	/* Without generated code: proves that the compiler, the linker and the runner work. */
	h->repeats = h->runner ? -1 : 0;
	if (xr_toolchain_build(&h->tc, NULL, 0, NULL, NULL, &h->resident_program, err) ||
	    start_agent(h, &h->resident, h->resident_program, err) || greet(h, &h->resident, err) ||
	    xr_nature_find(h, &options->words, err))
		goto fail;
	if (h->repeats && !info->exact) { /* a true clock, and a quiet moment */
		xr_proc_stop(&h->resident, NULL);
		h->repeats = 0;
		if (start_agent(h, &h->resident, h->resident_program, err) || greet(h, &h->resident, err))
			goto fail;
	}
	return &h->base;
fail:
	host_free(&h->base);
	return NULL;
}
