/* SPDX-License-Identifier: MIT */
/* What every engine asks and answers on a few machines, to the last digit: tests/model/answers.txt. A change that is not
 * meant to change anything does not; one that is, shows here what it changes.
 *
 *   test_answers [MACHINE]   prints TAP, and the differences
 *   test_answers --write     prints the record: `make answers`
 *
 * The last bits of floating-point numbers depend on whether the compiler fuses multiplications and additions (on
 * x86-64 it does not) and on the mathematical library, which has other code for other CPUs: the record says what its
 * functions gave, and where they give something else there is nothing to compare.
 */
#include "../lib/listener.h"
#include "../lib/random.h"

#include "engine/engine.h"
#include "micro/table.h"
#include "nano/spec.h"
#include "target/model/model.h"
#include "util/hash.h"
#include "util/strbuf.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char record[] = "tests/model/answers.txt";
/* Those that lead engines through most of their lines in little time; of the first generator by seed. */
static const char *const machines[] = {"machines/p6.ini",
                                       "tests/data/crowd.ini",
                                       "machines/harvard.ini",
                                       "machines/tlb.ini",
                                       "machines/microcontroller.ini",
                                       "machines/cores/cortex-m7.ini",
                                       "random 3",
                                       "random 11",
                                       "random 15"};

/* What exp(), log() and the like give here, to the last bit. */
static unsigned long long mathematics(void)
{
	double (*const function[])(double) = {exp, log, log2, log1p, lgamma, erfc, tgamma, cbrt, sqrt};
	uint64_t digest = 0;
	for (int i = 1; i < 2000; i++) {
		volatile double x = i * 0.0137; /* nothing is folded */
		double y[sizeof function / sizeof *function + 2];
		size_t n = 0;
		for (size_t f = 0; f < sizeof function / sizeof *function; f++)
			y[n++] = function[f](x);
		y[n++] = pow(x, 0.37);
		y[n++] = hypot(x, 1.3);
		digest = xr_hash(digest, y, n * sizeof *y);
	}
	return digest;
}

struct talk {
	struct listener listener;
	struct xr_strbuf text;
	unsigned long questions, specs; /* of the micro-benchmark at work */
	uint64_t digest;
};

static int heard(void *self, const struct xr_spec *specs, size_t n, struct xr_reading *out, struct xr_error *err)
{
	struct talk *t = self;
	struct xr_arena arena = {0};
	(void)out;
	(void)err;
	for (size_t i = 0; i < n; i++) {
		const char *text = xr_spec_text(&arena, &specs[i]);
		t->digest = xr_hash(t->digest, text, strlen(text));
	}
	xr_arena_release(&arena);
	t->questions++;
	t->specs += n;
	return 0;
}

static void progress(void *self, const struct xr_progress *p)
{
	struct talk *t = self;
	if (!p->finished)
		return;
	xr_strbuf_printf(&t->text, "%s asks %lu questions of %lu specifications, %016llx\n", p->micro, t->questions,
	                 t->specs, (unsigned long long)t->digest);
	t->questions = t->specs = 0;
	t->digest = 0;
}

/* Costs of operations are many, and found the same way everywhere: those of the first machine stand for all. */
static void put_facts(struct xr_strbuf *text, const struct xr_description *d, bool costs)
{
	static const char *const names[] = {
		[XR_OK] = "ok",
		[XR_UNSUPPORTED] = "unsupported",
		[XR_UNRELIABLE] = "unreliable",
		[XR_FAILED] = "failed",
	};
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (!costs && !strncmp(fact->id, "op.", 3))
			continue;
		char *value = fact->value
		                      ? json_dumps(fact->value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6))
		                      : NULL;
		xr_strbuf_printf(text, "%s %s %s %.2f%s%s\n", fact->id, names[fact->status], value ? value : "-",
		                 fact->confidence, fact->reason ? " " : "", fact->reason ? fact->reason : "");
		free(value);
	}
}

/* The record of one machine. */
static struct xr_strbuf listen_to(const char *path)
{
	struct talk t = {.questions = 0};
	struct xr_machine machine;
	struct xr_error err = {0};
	struct xr_outcome outcome;
	const char *decide[128];
	size_t n = 0;
	for (size_t i = 0; xr_micro_table[i] && n < 128; i++)
		if (!xr_micro_table[i]->late)
			decide[n++] = xr_micro_table[i]->id;
	xr_strbuf_printf(&t.text, "\n[%s]\n", path);
	if (machine_named(path, &machine, &err)) {
		xr_strbuf_printf(&t.text, "%s\n", err.text);
		return t.text;
	}
	struct xr_target *model = xr_model_open_machine(&machine, 1);
	struct xr_description *d = xr_description_new();
	const struct xr_plan plan = {.select = decide, .n_select = n, .progress = progress, .self = &t};
	listener_init(&t.listener, model);
	t.listener.heard = heard;
	t.listener.self = &t;
	if (xr_engine_run(&t.listener.target, xr_micro_table, &plan, 1, NULL, d, &outcome, &err))
		xr_strbuf_printf(&t.text, "%s\n", err.text);
	put_facts(&t.text, d, path == machines[0]);
	xr_description_free(d);
	listener_release(&t.listener);
	xr_target_free(model);
	return t.text;
}

/* Lines of `now` that `then` does not have. */
static int show_new(const char *sign, const char *now, const char *then)
{
	struct xr_strbuf copy = {0};
	char *state = NULL;
	int n = 0;
	xr_strbuf_printf(&copy, "%s", now);
	for (char *line = strtok_r(copy.data, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		const char *at = strstr(then, line);
		size_t len = strlen(line);
		while (at && ((at > then && at[-1] != '\n') || (at[len] && at[len] != '\n')))
			at = strstr(at + 1, line);
		if (!at && n++ < 12)
			printf("# %s %.150s\n", sign, line);
	}
	if (n > 12)
		printf("# %s %d more\n", sign, n - 12);
	xr_strbuf_release(&copy);
	return n;
}

static char *read_record(void)
{
	FILE *file = fopen(record, "r");
	char *text = NULL;
	size_t room = 0;
	ssize_t n = file ? getdelim(&text, &room, '\0', file) : -1;
	if (file)
		fclose(file);
	return n < 0 ? NULL : text;
}

static int compare(const char *all, const char *path)
{
	struct xr_strbuf now = listen_to(path), head = {0}, then = {0};
	xr_strbuf_printf(&head, "\n[%s]\n", path);
	const char *from = strstr(all, xr_strbuf_text(&head));
	const char *end = from ? strstr(from + 1, "\n[") : NULL;
	xr_strbuf_printf(&then, "%.*s", from ? (int)(end ? (size_t)(end - from) : strlen(from)) : 0, from ? from : "");
	int differences = show_new("-", xr_strbuf_text(&then), xr_strbuf_text(&now)) +
	                  show_new("+", xr_strbuf_text(&now), xr_strbuf_text(&then));
	printf("%s %s: engines ask and answer as recorded%s\n", differences ? "not ok" : "ok", path,
	       differences ? "; if that was meant, make answers" : "");
	fflush(stdout);
	xr_strbuf_release(&now);
	xr_strbuf_release(&head);
	xr_strbuf_release(&then);
	return differences > 0;
}

int main(int argc, char **argv)
{
	bool write = argc > 1 && !strcmp(argv[1], "--write");
	int bad = 0;
#ifndef __x86_64__
	if (!write) {
		printf("ok engines ask and answer as recorded # skip the record is of x86-64\n");
		return 0;
	}
#endif
	char *all = write ? NULL : read_record(), line[64];
	snprintf(line, sizeof line, "\nmathematics %016llx\n", mathematics());
	if (write) {
		printf("# What every engine asks and answers on these machines, seed 1: tests/model/test_answers.c; made by "
		       "`make answers`.%s",
		       line);
	} else if (!all) {
		printf("not ok no %s\n", record);
		return 1;
	} else if (!strstr(all, line)) {
		printf("ok engines ask and answer as recorded # skip the record is of another mathematical library\n");
		free(all);
		return 0;
	}
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
		const char *path = machines[i];
		if (write) {
			struct xr_strbuf now = listen_to(path);
			fputs(xr_strbuf_text(&now), stdout);
			xr_strbuf_release(&now);
		} else if (argc < 2 || !strcmp(argv[1], path)) { /* one alone, for scripts/mutants */
			bad += compare(all, path);
		}
	}
	free(all);
	return bad > 0;
}
