/* SPDX-License-Identifier: MIT */
/* The conversation with an agent, line by line; see talk.h. */
#include "target/host/talk.h"

#include "target/host/answer.h"
#include "target/host/compiler.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of what is left for waiting in a whole run, in one batch. */
static const double patience_share = 0.15;
enum { LONGER = 3 }; /* times as long for one that gets no time to run */

/* ---- starting an agent ---- */

/* Behind a runner there may be a connection; a simulator of less than a million operations a second needs longer still. */
static double patience(const struct xr_host *h, double seconds)
{
	double mips = h->base.info.mips, slow = mips > 0 ? 1 + 1 / mips : 1;
	return h->runner ? seconds * 5 * slow : seconds;
}

/* The next line of an agent. One that says nothing because others have its CPU is no silent one: it is waited for longer, but
 * not for ever. Of one behind a runner nobody knows what it got. */
static int next_line(struct xr_host *h, struct xr_proc *proc, double silence_s, const char **line)
{
	const double before_s = xr_proc_used_s(proc);
	int got = -1;
	for (int i = 0; i < LONGER && got == -1 && !xr_watch_over(&h->base.watch); i++) {
		got = xr_proc_line(proc, patience(h, silence_s), &h->base.watch, line);
		if (h->runner || before_s < 0 || xr_proc_used_s(proc) - before_s > silence_s / 2)
			break;
	}
	return got;
}

static int start(struct xr_host *h, struct xr_proc *proc, const char *program, struct xr_error *err)
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

bool xr_talk_may_run_on(const struct xr_target_info *info, int cpu)
{
	for (int i = 0; i < info->n_cpus; i++)
		if (info->cpu_ids[i] == cpu)
			return true;
	return false;
}

static void now_on(struct xr_host *h, int cpu)
{
	if (cpu >= 0 && xr_talk_may_run_on(&h->base.info, cpu))
		h->cpu = h->base.info.cpu_used = cpu;
}

static bool sensible(const struct xr_host *h)
{
	return h->cost_ns > 0 && h->cost_ns < 1e12 && h->granule_ns > 0 && h->granule_ns < 1e12 &&
	       h->reference_adds > 0 && h->reference_adds <= 1 << 20;
}

int xr_talk_answer(struct xr_host *h, struct xr_proc *proc, const char *word, double seconds, const char **answer)
{
	const double end_s = xr_clock_s() + patience(h, seconds);
	const char *line;
	do {
		if (next_line(h, proc, seconds, &line) != 1)
			return -1;
		*answer = h->runner ? strstr(line, word) : line;
	} while (!*answer && xr_clock_s() < end_s);
	return *answer ? 0 : -1;
}

static int greet(struct xr_host *h, struct xr_proc *proc, struct xr_error *err)
{
	const char *line;
	int cpu;
	if ((h->baked || !xr_proc_send(proc, "hello\n", 6, &h->base.watch)) &&
	    !xr_talk_answer(h, proc, "hello 1 ", 20, &line) &&
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

int xr_talk_begin(struct xr_host *h, struct xr_proc *proc, const char *program, struct xr_error *err)
{
	return start(h, proc, program, err) ? -1 : greet(h, proc, err) ? -2 : 0;
}

void xr_talk_settle(struct xr_host *h)
{
	const char *line;
	int cpu;
	if (h->n_cpus > 1 && h->resident.pid && !xr_proc_send(&h->resident, "settle\n", 7, &h->base.watch) &&
	    next_line(h, &h->resident, 10, &line) == 1 && sscanf(line, "at %d", &cpu) == 1)
		now_on(h, cpu);
}

/* ---- talking ---- */

struct xr_proc *xr_talk_agent(struct xr_host *h)
{
	return h->program ? &h->visitor : &h->resident;
}

static int revive(struct xr_host *h, struct xr_error *err)
{
	struct xr_proc *proc = xr_talk_agent(h);
	if (proc->pid)
		return 0;
	return xr_talk_begin(h, proc, h->program ? h->program : h->resident_program, err);
}

void xr_talk_patience(struct xr_host *h, struct xr_strbuf *text)
{
	h->given_ns = h->hasty ? 0 : h->patience_ns * patience_share;
	xr_strbuf_printf(text, "patience %.0f\n", h->given_ns);
}

void xr_talk_tell(struct xr_host *h, struct xr_strbuf *text)
{
	h->n_order = 0;
	xr_talk_patience(h, text);
	xr_strbuf_printf(text, "clear\n%s", xr_strbuf_text(&h->works));
	for (size_t i = 0; i < h->n; i++)
		if (!h->out_of_play[i]) {
			xr_strbuf_printf(text, "spec %zu %s\n", h->n_order, h->lines[i]);
			h->order[h->n_order++] = i;
		}
	xr_strbuf_printf(text, "ready %.17g %.17g\n", h->batch_sample_ns, h->quiet_ns);
}

/* Takes an answer. */
static enum xr_answer_kind take(struct xr_host *h, struct xr_proc *proc, const char *line, struct xr_raw_list *lists,
                                struct xr_reading *out, size_t *at)
{
	struct xr_answer a;
	enum xr_answer_kind kind = xr_answer_read(line, h->n_order, &a);
	size_t i = kind > XR_ANSWER_WRONG && kind != XR_ANSWER_DONE ? h->order[a.index] : 0;
	switch (kind) {
	case XR_ANSWER_TRY:
		*at = a.index;
		return kind;
	case XR_ANSWER_READY:
		out[i].code_bytes = a.code_bytes;
		out[i].granule_ns = h->granule_ns;
		return kind;
	case XR_ANSWER_BAD:
		xr_reading_fail(&out[i], a.unsupported ? XR_READ_UNSUPPORTED : XR_READ_FAILED,
		                xr_arena_strdup(&h->base.arena, a.reason));
		h->out_of_play[i] = true;
		return kind;
	case XR_ANSWER_SAMPLE:
		if (lists)
			xr_raw_add(&lists[i], a.raw);
		return kind;
	case XR_ANSWER_EVENTS:
		xr_answer_events(&h->specs[i], &a, &out[i].events);
		return kind;
	case XR_ANSWER_DONE:
		if (a.turn !=
		    ++proc->turn) /* the end of something else: all that follows would be taken for something else, too */
			return XR_ANSWER_WRONG;
		now_on(h, a.cpu);
		a.left_ns = fmax(0, fmin(a.left_ns, h->given_ns)); /* it cannot have more than it was given */
		h->patience_ns -= h->given_ns - a.left_ns;
		h->given_ns = a.left_ns;
		h->quiet_ns = fmax(0, fmin(a.quiet_ns, h->quiet_ns));
		return kind;
	default:
		return kind;
	}
}

enum ending { DONE, DIED, SILENT, ENDLESS, GARBLED, STOPPED };

/* Reads answers until `done`. *at gets the specification that was tried last, n_order when none. */
static enum ending listen(struct xr_host *h, struct xr_proc *proc, double silence_s, struct xr_raw_list *lists,
                          struct xr_reading *out, size_t *at)
{
	const char *line;
	double end_s = xr_clock_s() + LONGER * patience(h, silence_s) * (double)(h->n_order + 2);
	*at = h->n_order;
	for (;;) {
		int got = next_line(h, proc, silence_s, &line);
		if (got <= 0 && xr_watch_over(&h->base.watch))
			return STOPPED;
		if (got <= 0)
			return got == -2 ? ENDLESS : got ? SILENT : DIED;
		if (xr_clock_s() > end_s)
			return ENDLESS;
		enum xr_answer_kind kind = take(h, proc, line, lists, out, at);
		if (kind == XR_ANSWER_DONE || kind == XR_ANSWER_WRONG)
			return kind == XR_ANSWER_DONE ? DONE : GARBLED;
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
	                   : ending == GARBLED ? "its answers are garbled"
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

int xr_talk_ready(struct xr_host *h, struct xr_reading *out, struct xr_error *err)
{
	for (int deaths = 0;;) {
		struct xr_proc *proc = xr_talk_agent(h);
		struct xr_strbuf text = {0};
		size_t at;
		if (revive(h, err))
			return -1;
		xr_talk_tell(h, &text);
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

int xr_talk_rounds(struct xr_host *h, const size_t *idx, size_t k, int rounds, struct xr_raw_list *lists,
                   struct xr_reading *out, const char **how)
{
	struct xr_proc *proc = xr_talk_agent(h);
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

int xr_talk_hear(struct xr_host *h, int rounds, struct xr_raw_list *lists, struct xr_reading *out, struct xr_error *err)
{
	size_t at;
	if (start(h, &h->visitor, h->program, err))
		return -1;
	enum ending ending = listen(h, &h->visitor, try_silence_s(h), NULL, out, &at);
	if (ending == DONE)
		ending = listen(h, &h->visitor, rounds_silence_s(h, h->n_order, rounds), lists, out, &at);
	if (ending == DONE)
		return 0;
	const char *how = how_it_ended(h, &h->visitor, ending, try_silence_s(h));
	for (size_t i = 0; i < h->n; i++)
		if (out[i].status == XR_READ_OK)
			xr_reading_fail(&out[i], XR_READ_FAILED, how);
	return 0;
}
