/* SPDX-License-Identifier: MIT */
/* At every place of every engine that asks the target something, the target is lost: the engine asks nothing more, and
 * what it tells afterwards is what it would have told anyway, or in doubt. Then the same with a reading that failed:
 * nothing wrong is told and sure.
 *
 *   test_refusals [MACHINE...]   prints TAP; a file, or `random SEED`
 *
 * A place is the chain of calls that leads to a question. There the process forks: the child meets the fault and is
 * watched to the end of its micro-benchmark, the parent goes on as if nothing had happened. So a machine is
 * measured once, whatever the number of places.
 *
 * After a reading that failed an engine asks other things, and noise is thrown anew: how often that ends sure and
 * wrong is the business of the suites of random machines. What fails here comes of the failure: two of three throws
 * must be wrong.
 */
#include "../lib/judge.h"
#include "../lib/listener.h"
#include "../lib/random.h"

#include "engine/engine.h"
#include "micro/table.h"
#include "target/model/model.h"

#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DEPTH = 32, PLACES_MAX = 4096, ABOVE = 4 /* calls of our own */, OUTMOST = 4 /* main() and what calls it */ };
enum fault { NONE, LOST, FAILED };

struct trial {
	struct listener listener;
	struct xr_machine machine;
	struct xr_description *d;
	const char *micro;
	size_t n_places;      /* that no machine before came by */
	enum fault fault;     /* in a child: what it met */
	unsigned long met_at; /* … and at which question */
	size_t told;          /* facts that were there then */
	int bad;
};

/* Those met, on any machine, as hashes: each is tried once. */
static uint64_t place[PLACES_MAX];
static size_t n_places;

static uint64_t this_place(const char *micro)
{
	void *frame[DEPTH];
	int n = backtrace(frame, DEPTH);
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uintptr_t)micro;
	for (int i = 0; i < n - OUTMOST; i++)
		h = (h ^ (uintptr_t)frame[i]) * UINT64_C(0x100000001b3);
	return h;
}

static bool is_new(uint64_t here)
{
	for (size_t i = 0; i < n_places; i++)
		if (place[i] == here)
			return false;
	if (n_places == PLACES_MAX)
		return false;
	place[n_places++] = here;
	return true;
}

static void show_place(const struct trial *t)
{
	void *frame[DEPTH];
	int n = backtrace(frame, DEPTH);
	fflush(stdout);
	fprintf(stderr, "%s, question %lu, asked from:\n", t->micro, t->listener.questions);
	if (n > ABOVE)
		backtrace_symbols_fd(frame + ABOVE, n - ABOVE, 2);
}

/* In a child, at the end of its micro-benchmark. */
static int verdict(const struct trial *t)
{
	for (size_t i = t->told; i < xr_description_count(t->d); i++) {
		const struct xr_fact *fact = xr_description_at(t->d, i);
		bool sure;
		if (judge(&t->machine, fact, &sure) != WRONG || !sure)
			continue;
		char *value = json_dumps(fact->value, JSON_ENCODE_ANY | JSON_COMPACT);
		fprintf(stderr, "%s, question %lu %s: %s = %s, sure and wrong\n", t->micro, t->met_at,
		        t->fault == LOST ? "lost" : "failed", fact->id, value);
		free(value);
		return 1;
	}
	return 0;
}

/* In a child: from here on with this fault. 0: in the parent; *status: how the child ended, 0: well. */
static int branch(struct trial *t, enum fault fault, int *status)
{
	*status = -1;
	fflush(NULL);
	pid_t child = fork();
	if (!child) {
		t->fault = fault;
		t->met_at = t->listener.questions;
		t->told = xr_description_count(t->d);
		return 1;
	}
	if (child > 0)
		waitpid(child, status, 0);
	if (*status != 0 && WIFSIGNALED(*status))
		fprintf(stderr, "%s, question %lu %s: killed by signal %d\n", t->micro, t->listener.questions,
		        fault == LOST ? "lost" : "failed", WTERMSIG(*status));
	return 0;
}

static void count_bad(struct trial *t)
{
	t->bad++;
	show_place(t);
}

/* In a child: these fail, in one of three throws of the noise. 0: in the parent. */
static int fail_here(struct trial *t, const struct xr_spec *specs, size_t n, struct xr_reading *out)
{
	int wrong = 0, status;
	for (int again = 0; again < 3 && wrong < 2 && wrong + 3 - again >= 2; again++) {
		if (branch(t, FAILED, &status)) {
			struct xr_error err;
			for (int i = 0; i < again; i++)
				xr_target_time(t->listener.behind, NULL, specs, n, out, &err);
			for (size_t i = 0; i < n; i++)
				out[i] = (struct xr_reading){.status = XR_READ_FAILED, .reason = "it fails here"};
			return 1;
		}
		wrong += status && !WIFSIGNALED(status);
		if (status && WIFSIGNALED(status))
			wrong = 2; /* crashes are no matter of luck */
	}
	if (wrong >= 2)
		count_bad(t);
	return 0;
}

static int heard(void *self, const struct xr_spec *specs, size_t n, struct xr_reading *out, struct xr_error *err)
{
	struct trial *t = self;
	int status;
	if (t->fault == LOST) {
		fprintf(stderr, "%s, question %lu lost: it asks on\n", t->micro, t->met_at);
		_exit(1);
	}
	if (t->fault == FAILED || !is_new(this_place(t->micro)))
		return 0;
	t->n_places++;
	if (branch(t, LOST, &status)) {
		memset(out, 0xff, n * sizeof *out); /* nobody may look at it */
		return xr_fail(err, XR_EXIT_TARGET, "it is gone");
	}
	if (status)
		count_bad(t);
	return fail_here(t, specs, n, out);
}

static void progress(void *self, const struct xr_progress *p)
{
	struct trial *t = self;
	t->micro = p->micro;
	if (p->finished && t->fault != NONE)
		_exit(verdict(t));
}

__attribute__((noinline)) static int try_machine(const char *path)
{
	static struct trial t;
	struct xr_error err = {0};
	struct xr_outcome outcome;
	memset(&t, 0, sizeof t);
	if (machine_named(path, &t.machine, &err)) {
		printf("not ok %s: %s\n", path, err.text);
		return 1;
	}
	struct xr_target *model = xr_model_open_machine(&t.machine, 1);
	listener_init(&t.listener, model);
	t.listener.heard = heard;
	t.listener.self = &t;
	t.d = xr_description_new();
	const struct xr_plan plan = {.progress = progress, .self = &t};
	if (xr_engine_run(&t.listener.target, xr_micro_table, &plan, 1, NULL, t.d, &outcome, &err)) {
		printf("# %s\n", err.text);
		t.bad++;
	}
	if (t.fault != NONE) /* met after the last micro-benchmark, while doubts were looked into again */
		_exit(verdict(&t));
	printf("# %s: %zu new places ask, %lu questions\n", path, t.n_places, t.listener.questions);
	printf("%s %s: no engine goes on without its target, or is sure without a reading\n",
	       t.bad || !t.n_places ? "not ok" : "ok", path);
	fflush(stdout);
	xr_description_free(t.d);
	listener_release(&t.listener);
	xr_target_free(model);
	return t.bad > 0;
}

int main(int argc, char **argv)
{
	static const char *const machines[] = {"machines/p6.ini", "tests/data/crowd.ini"};
	int bad = 0;
	for (int i = 1; i < argc; i++)
		bad += try_machine(argv[i]);
	for (size_t i = 0; argc < 2 && i < sizeof machines / sizeof *machines; i++)
		bad += try_machine(machines[i]);
	return bad > 0;
}
