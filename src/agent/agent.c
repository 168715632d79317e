/* The agent: carries generated nano-benchmarks to the target and times them there.
 *
 * It reads lines and answers with lines, so that any pipe will do (a process, a runner in front of it, ssh). Compiled
 * with XR_BAKED the lines come from a table inside the program, for targets that cannot be talked to.
 *
 *   hello                             hello 1 COST_NS GRANULE_NS REFERENCE_ADDS ALONE CPU
 *   work W ops K | work W chain …     what members of a team do
 *   spec I clock | ops K | chain … | walk … | team …     (the words of xr_spec_text(), but ops K POWER:
 *                                     index of the generated function; its vectors' class, 0: none in it)
 *   patience NS                       to be spent on waiting until nobody else uses the core; replaces what is left of it
 *   ready SAMPLE_NS                   for each spec:  try I   then   ok I CODE_BYTES   or   bad I u|f REASON
 *                                     and in the end  done PATIENCE_NS QUIET_NS CPU
 *   rounds N I I …                    for each sample:  s I LONG_NS LONG_OPS SHORT_NS SHORT_OPS REF_NS HIT
 *                                     a specification that fails now:  bad I f REASON; in the end  done …
 *   settle                            to a core that is left alone, if there is one:  at CPU
 *   clear                             forgets all specifications of this batch; buffers stay
 *   quit
 *
 * `try I` is said before specification I runs for the first time: when the agent dies or falls silent, that one did it.
 * Nothing is printed while samples are taken.
 */
#if !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "chain.h"
#include "clock.h"
#include "quiet.h"
#include "team.h"
#include "walk.h"
#include "where.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void (*const xr_nano_table[])(unsigned long reps);
extern const int xr_nano_body[];
extern const int xr_nano_count;

enum kind { NOTHING, CLOCK, OPS, CHAIN, WALK, TEAM };

struct spec {
	enum kind kind;
	int bad;
	int nano;
	int power; /* class of vectors in it, wider and fp higher: units have to be woken up for each */
	struct xr_agent_chain *chain;
	struct xr_agent_walk *walk;
	struct xr_agent_team *team;
	unsigned long reps_long, reps_short;
};

struct sample {
	int spec;
	struct xr_team_sample t; /* the fields of one sample; teams fill the same struct */
};

static struct spec *specs;
static int n_specs;
static struct xr_work *works;
static int n_works;
static struct sample *samples;
static size_t n_samples, room_samples;
static double sample_ns = 30000;
static double core_alone;  /* see xr_core_find() */
static double patience_ns; /* left for waiting until the core is ours */
static double quiet_ns;    /* the same for walks, of this batch */
static struct xr_team_pool *pool;
static unsigned long long rng = 88172645463325252ull;

static void die(const char *why)
{
	fprintf(stderr, "xray agent: %s\n", why);
	exit(70);
}

static void *grown(void *p, size_t bytes)
{
	p = realloc(p, bytes ? bytes : 1);
	if (!p)
		die("out of memory");
	return p;
}

/* ---- the work of a specification ---- */

static double run_ops(void *self, unsigned long reps)
{
	int k = *(int *)self;
	xr_nano_table[k](reps);
	return (double)reps * xr_nano_body[k];
}

static double run_work_ops(void *self, unsigned long reps) /* reps: operations */
{
	int k = *(int *)self;
	unsigned long body = (unsigned long)xr_nano_body[k];
	return run_ops(self, (reps + body - 1) / body);
}

static double run_work_chain(void *self, unsigned long reps)
{
	double timed;
	return xr_chain_run(self, reps, &timed);
}

static void ready_chain(void *self)
{
	xr_chain_ready(self);
}

static double run_once(struct spec *s, unsigned long reps, double *timed_ns)
{
	switch (s->kind) {
	case OPS:
		return run_ops(&s->nano, reps);
	case CHAIN:
		return xr_chain_run(s->chain, reps, timed_ns);
	default:
		return xr_walk_run(s->walk, reps);
	}
}

static int is_script(const struct spec *s)
{
	return s->kind == CHAIN && xr_chain_is_script(s->chain);
}

static double timed_run(struct spec *s, unsigned long reps, double *ops)
{
	double start = xr_now_ns(), inside = 0;
	*ops = run_once(s, reps, &inside);
	return xr_now_ns() - start;
}

/* Untimed, before a sample: what others left in the caches goes. */
static void settle(struct spec *s)
{
	if (s->kind == CHAIN)
		xr_chain_ready(s->chain);
	if (s->kind == WALK)
		xr_walk_ready(s->walk);
}

/* The units of wide vectors sleep until they are used: then they work at a quarter and at two thirds of their speed for
 * some hundred microseconds each, while the clock slows down, and fall asleep again as quickly. */
static void wake_up(struct spec *s)
{
	enum { SAME = 4 };
	const double window_ns = 2e5, most_ns = 5e6;
	double first = xr_now_ns(), start = first, last = 0;
	unsigned long runs = 0;
	for (int same = 0; same < SAME && start - first < most_ns;) {
		run_once(s, s->reps_long, NULL);
		runs++;
		double now = xr_now_ns(), each = (now - start) / (double)runs;
		if (now - start < window_ns)
			continue;
		same = each > 0.98 * last && each < 1.02 * last ? same + 1 : 0;
		last = each;
		start = now;
		runs = 0;
	}
}

/* One repetition of a script that takes so long is a sample; it need not be said again and again. */
static int is_long_script(struct spec *s)
{
	const double interruption_ns = 1e6; /* what takes less may have been one */
	double ops, t = is_script(s) ? timed_run(s, 1, &ops) : 0;
	if (t >= 4 * sample_ns && t < interruption_ns)
		t = timed_run(s, 1, &ops);
	return t >= 4 * sample_ns;
}

/* Repetitions by doubling until half the wanted length, then scaled once. */
static void calibrate(struct spec *s)
{
	unsigned long reps = 1;
	double ops, t;
	if (s->kind == CLOCK || s->kind == TEAM)
		return;
	settle(s);
	if (is_long_script(s)) {
		s->reps_long = s->reps_short = 1;
		return;
	}
	run_once(s, 1, &ops); /* the first run pays for faults and cold code */
	for (;;) {
		t = timed_run(s, reps, &ops);
		for (int again = 0; again < 2 && t >= sample_ns / 2; again++) { /* or was it an interruption? */
			double t2 = timed_run(s, reps, &ops);
			t = t2 < t ? t2 : t;
		}
		if (t >= sample_ns / 2 || reps >= (1ul << 30))
			break;
		reps *= 2;
	}
	double scale = t > 0 ? sample_ns / t : 1;
	s->reps_long = (unsigned long)((double)reps * (scale < 4 ? scale : 4));
	if (s->reps_long < 2)
		s->reps_long = 2;
	if (is_script(s) && t >= sample_ns)
		s->reps_long = 1;
	s->reps_short = s->reps_long / 4 ? s->reps_long / 4 : 1;
}

/* ---- samples ---- */

static void add_sample(int i, const struct xr_team_sample *t)
{
	if (n_samples == room_samples) {
		room_samples = room_samples ? room_samples * 2 : 1024;
		samples = grown(samples, room_samples * sizeof *samples);
	}
	samples[n_samples].spec = i;
	samples[n_samples++].t = *t;
}

static void sample_clock(int i)
{
	enum { LOOKS = 64 };
	struct xr_team_sample t = {0};
	double start = xr_now_ns(), now = start, span = 20 * xr_clock_granule_ns();
	long looks = 0;
	while (looks < LOOKS || now - start < span) {
		now = xr_now_ns();
		looks++;
	}
	t.long_ns = (now - start) / (double)looks;
	t.long_ops = 1;
	add_sample(i, &t);
}

static void sample_team(int i)
{
	enum { ROOM = 4096 };
	static struct xr_team_sample out[ROOM];
	int n = xr_team_round(specs[i].team, sample_ns, out, ROOM);
	if (n < 0) {
		specs[i].bad = 1;
		printf("bad %d f %s\n", i, xr_team_error(specs[i].team));
	}
	for (int k = 0; k < n; k++)
		add_sample(i, &out[k]);
}

/* Waits until nobody else uses the core: a neighbour on its other thread that is not busy all the time leaves it alone for
 * milliseconds, ten or twenty times a second. Not for ever. */
static int wait_for_core(void)
{
	const double most_ns = 2e7;
	double start = xr_now_ns(), now = start;
	int ours = xr_core_is_ours();
	while (!ours && now - start < patience_ns && now - start < most_ns) {
		xr_where_restless();
		ours = xr_core_is_ours() && xr_core_is_ours() && xr_core_is_ours();
		now = xr_now_ns();
	}
	patience_ns -= now - start < patience_ns ? now - start : patience_ns;
	return ours;
}

/* Streams of operations are timed while nobody else uses the core: what is timed lies between two looks that found it so.
 * Gives up after a while, and says that the sample was disturbed. */
static void sample_ops(int i)
{
	const int tries = patience_ns > 0 ? 12 : 4;
	struct spec *s = &specs[i];
	struct xr_team_sample t = {0};
	t.hit = 1;
	for (int k = 0; k < tries && t.hit; k++) {
		run_once(s, s->reps_short / 4 + 1, NULL); /* the way into the loop is cold after others */
		int ours = wait_for_core();
		long before = xr_preemptions();
		run_once(s, 1, NULL);
		t.short_ns = timed_run(s, s->reps_short, &t.short_ops);
		t.long_ns = timed_run(s, s->reps_long, &t.long_ops);
		t.hit = !ours || xr_preemptions() != before || !xr_core_is_ours();
	}
	if (!t.hit)
		xr_where_at_peace();
	add_sample(i, &t);
}

/* By how many thousandths others slow the core down; 0: nobody is there. */
static int others_on_core(void)
{
	const double alone = 1.06;
	double slowdown = xr_core_slowdown();
	return slowdown < alone ? 0 : slowdown > 1000 ? 1000000 : (int)(1000 * (slowdown - 1));
}

/* Until a time; what the last look said. Once may be luck. */
static int wait_for_nobody(double until)
{
	int others = others_on_core();
	while (others && xr_now_ns() < until) {
		xr_where_restless();
		others = others_on_core();
		if (!others)
			others = others_on_core();
	}
	return others;
}

static void time_work(struct spec *s, struct xr_team_sample *t)
{
	*t = (struct xr_team_sample){0};
	if (is_script(s)) {
		t->long_ops = xr_chain_run(s->chain, s->reps_long, &t->long_ns);
	} else {
		t->short_ns = timed_run(s, s->reps_short, &t->short_ops);
		t->long_ns = timed_run(s, s->reps_long, &t->long_ops);
	}
}

/* Walks through memory, between two looks at the core. If somebody was there, again, as long as this batch may wait. */
static void sample_work(int i)
{
	const double most_ns = 2e7, away_ns = 1e5; /* so long, and what is needed is thrown out meanwhile */
	struct spec *s = &specs[i];
	struct xr_team_sample t;
	settle(s);
	double start = xr_now_ns(), until = start + (quiet_ns < most_ns ? quiet_ns : most_ns), last = start;
	do {
		int others = wait_for_nobody(until);
		if (!is_script(s) && xr_now_ns() - last > away_ns)
			run_once(s, s->reps_long, NULL);
		last = xr_now_ns();
		long before = xr_preemptions();
		time_work(s, &t);
		t.hit = others_on_core();
		t.hit = xr_preemptions() != before ? INT_MAX : others > t.hit ? others : t.hit;
	} while (t.hit && xr_now_ns() < until);
	quiet_ns -= quiet_ns > 0 ? last - start : 0;
	if (!t.hit)
		xr_where_at_peace();
	add_sample(i, &t);
}

/* Of two references the shorter one, if they disagree: the other was disturbed, or the clock moved. */
static double join_references(double before, double after, int *disagree)
{
	double diff = after > before ? after - before : before - after;
	*disagree = diff > 0.01 * before;
	return *disagree ? (before < after ? before : after) : (before + after) / 2;
}

/* Code walks, too, between two looks that found the core left alone, and again when it was not. Looks bring a reference
 * with them: pauses of a neighbour are too short to spend on a longer one. */
static void sample_walk(int i)
{
	struct spec *s = &specs[i];
	struct xr_team_sample t = {0};
	t.hit = 1;
	do {
		int others = xr_quiet_wait(&quiet_ns), moved;
		double start = xr_now_ns(), reference = xr_quiet_reference_ns();
		long before = xr_preemptions();
		settle(s);
		t.short_ns = timed_run(s, s->reps_short, &t.short_ops);
		t.long_ns = timed_run(s, s->reps_long, &t.long_ops);
		t.hit = xr_quiet_look();
		if (others > t.hit || xr_preemptions() != before)
			t.hit = others > t.hit ? others : INT_MAX;
		t.ref_ns = join_references(reference, xr_quiet_reference_ns(), &moved);
		t.hit = moved && !t.hit ? 1 : t.hit;
		quiet_ns -= t.hit ? xr_now_ns() - start : 0;
	} while (t.hit && quiet_ns > 0);
	if (!t.hit)
		xr_where_at_peace();
	add_sample(i, &t);
}

static void say_done(void)
{
	printf("done %.0f %.0f %d\n", patience_ns, quiet_ns > 0 ? quiet_ns : 0, xr_where());
	fflush(stdout);
}

/* Gives the samples since `from` their reference: the mean of before and after; if the two disagree, the clock
 * moved. */
static void end_group(size_t from, double before, int clock_moved_matters)
{
	double after = xr_reference_ns();
	double diff = after > before ? after - before : before - after;
	for (size_t k = from; k < n_samples; k++) {
		if (samples[k].t.ref_ns > 0)
			continue;
		samples[k].t.ref_ns = (before + after) / 2;
		if (clock_moved_matters && diff > 0.01 * before)
			samples[k].t.hit = 1;
	}
}

static void shuffle(int *idx, int k)
{
	for (int i = k - 1; i > 0; i--) {
		rng ^= rng << 13;
		rng ^= rng >> 7;
		rng ^= rng << 17;
		int j = (int)(rng % (unsigned)(i + 1)), swap = idx[i];
		idx[i] = idx[j];
		idx[j] = swap;
	}
}

static int by_power(const void *a, const void *b)
{
	const struct spec *x = &specs[*(const int *)a], *y = &specs[*(const int *)b];
	return (x->power > y->power) - (x->power < y->power);
}

static void take_rounds(int rounds, int *idx, int k)
{
	int power = 0; /* what the units are awake for */
	n_samples = 0;
	for (int r = 0; r < rounds; r++) {
		shuffle(idx, k);
		qsort(idx, (size_t)k, sizeof *idx, by_power);
		for (int j = 0; j < k;) {
			if (specs[idx[j]].kind == WALK && xr_quiet_reference_ns() > 0) {
				if (!specs[idx[j]].bad)
					sample_walk(idx[j]);
				j++;
				continue;
			}
			size_t from = n_samples;
			double before = xr_reference_ns(), start = xr_now_ns();
			do {
				struct spec *s = &specs[idx[j]];
				if (!s->bad && s->power > power)
					wake_up(s);
				power = s->power;
				if (!s->bad && s->kind == CLOCK)
					sample_clock(idx[j]);
				else if (!s->bad && s->kind == TEAM)
					sample_team(idx[j]);
				else if (!s->bad && s->kind == OPS)
					sample_ops(idx[j]);
				else if (!s->bad && s->kind == WALK)
					sample_walk(idx[j]);
				else if (!s->bad)
					sample_work(idx[j]);
				j++;
			} while (j < k && xr_now_ns() - start < 10 * sample_ns);
			end_group(from, before, 1);
		}
	}
	for (size_t i = 0; i < n_samples; i++) {
		const struct xr_team_sample *t = &samples[i].t;
		printf("s %d %.17g %.17g %.17g %.17g %.17g %d\n", samples[i].spec, t->long_ns, t->long_ops, t->short_ns,
		       t->short_ops, t->ref_ns, t->hit);
	}
	say_done();
}

/* ---- lines ---- */

static void forget(void)
{
	for (int i = 0; i < n_specs; i++) {
		xr_team_free(specs[i].team);
		xr_chain_free(specs[i].chain);
		xr_walk_free(specs[i].walk);
	}
	for (int i = 0; i < n_works; i++) {
		if (works[i].run == run_work_chain)
			xr_chain_free(works[i].self);
		else
			free(works[i].self);
	}
	n_specs = n_works = 0;
}

static int nano_index(const char *word)
{
	int k = atoi(word);
	if (k < 0 || k >= xr_nano_count)
		die("no such function");
	return k;
}

static void add_work(char **words, int n)
{
	char error[256];
	int i = atoi(words[1]);
	if (i != n_works)
		die("work out of order");
	works = grown(works, (size_t)(n_works + 1) * sizeof *works);
	if (!strcmp(words[2], "ops")) {
		int *k = grown(NULL, sizeof *k);
		*k = nano_index(words[3]);
		works[i].run = run_work_ops;
		works[i].self = k;
		works[i].ready = NULL;
	} else {
		works[i].run = run_work_chain;
		works[i].self = xr_chain_make(words + 3, n - 3, error, sizeof error);
		works[i].ready = ready_chain;
	}
	n_works++;
}

/* 0, or the kind of failure with error filled in: 'u' this target has no such thing, 'f' it failed. */
static char make_spec(struct spec *s, char **words, int n, char *error, size_t error_size)
{
	error[0] = '\0';
	if (!strcmp(words[0], "clock")) {
		s->kind = CLOCK;
		return 0;
	}
	if (!strcmp(words[0], "ops") && n > 1) {
		s->kind = OPS;
		s->nano = nano_index(words[1]);
		s->power = n > 2 ? atoi(words[2]) : 0;
		return 0;
	}
	if (!strcmp(words[0], "chain")) {
		s->kind = CHAIN;
		s->chain = xr_chain_make(words + 1, n - 1, error, error_size);
		return s->chain ? 0 : 'f';
	}
	if (!strcmp(words[0], "walk")) {
		s->kind = WALK;
		s->walk = xr_walk_make(words + 1, n - 1, error, error_size);
		return s->walk ? 0 : strncmp(error, "unsupported: ", 13) ? 'f' : 'u';
	}
	if (!strcmp(words[0], "team")) {
		s->kind = TEAM;
		if (!pool) {
			snprintf(error, error_size, "this target has no threads");
			return 'u';
		}
		for (int i = 0; i < n_works; i++)
			if (!works[i].self) {
				snprintf(error, error_size, "a member's work could not be laid out");
				return 'f';
			}
		s->team = xr_team_make(pool, words + 1, n - 1, works, n_works, error, error_size);
		return s->team ? 0 : 'f';
	}
	die("unknown kind of specification");
	return 'f';
}

/* Specifications are laid out when they are read, so that their words need not be kept; failures are said at
 * `ready`. */
static struct failure {
	char kind;
	char text[256];
} * failures;

static void add_spec(char **words, int n)
{
	int i = atoi(words[1]);
	if (i != n_specs)
		die("specification out of order");
	specs = grown(specs, (size_t)(n_specs + 1) * sizeof *specs);
	failures = grown(failures, (size_t)(n_specs + 1) * sizeof *failures);
	memset(&specs[i], 0, sizeof specs[i]);
	n_specs++;
	printf("try %d\n", i);
	fflush(stdout);
	failures[i].kind = make_spec(&specs[i], words + 2, n - 2, failures[i].text, sizeof failures[i].text);
	specs[i].bad = failures[i].kind != 0;
}

static void make_ready(double wanted_ns, double wait_ns)
{
	int power = 0;
	quiet_ns = wait_ns;
	if (wanted_ns > 0)
		sample_ns = wanted_ns;
	for (int i = 0; i < n_specs; i++) {
		if (specs[i].bad) {
			const char *text = failures[i].text;
			if (!strncmp(text, "unsupported: ", 13))
				text += 13;
			printf("bad %d %c %s\n", i, failures[i].kind, text);
			continue;
		}
		printf("try %d\n", i);
		fflush(stdout);
		calibrate(&specs[i]);
		if (specs[i].power > power) { /* too slow still */
			wake_up(&specs[i]);
			calibrate(&specs[i]);
		}
		power = specs[i].power;
		printf("ok %d %g\n", i, specs[i].kind == WALK ? xr_walk_code_bytes(specs[i].walk) : 0.0);
	}
	say_done();
}

static void obey(char *line)
{
	static char **words;
	static int room;
	int n = 0;
	for (char *w = strtok(line, " \n"); w; w = strtok(NULL, " \n")) {
		if (n + 1 >= room) {
			room = room ? room * 2 : 64;
			words = grown(words, (size_t)room * sizeof *words);
		}
		words[n++] = w;
	}
	if (!n)
		return;
	if (!strcmp(words[0], "hello")) {
		printf("hello 1 %.17g %.17g %d %.17g %d\n", xr_clock_cost_ns(), xr_clock_granule_ns(),
		       xr_reference_adds(), core_alone, xr_where());
		fflush(stdout);
	} else if (!strcmp(words[0], "spec") && n >= 3) {
		add_spec(words, n);
	} else if (!strcmp(words[0], "work") && n >= 4) {
		add_work(words, n);
	} else if (!strcmp(words[0], "patience") && n == 2) {
		patience_ns = atof(words[1]);
	} else if (!strcmp(words[0], "ready")) {
		make_ready(n > 1 ? atof(words[1]) : 0, n > 2 ? atof(words[2]) : 0);
	} else if (!strcmp(words[0], "rounds") && n >= 2) {
		int k = n - 2;
		int *idx = grown(NULL, (size_t)k * sizeof *idx);
		for (int i = 0; i < k; i++) {
			idx[i] = atoi(words[i + 2]);
			if (idx[i] < 0 || idx[i] >= n_specs)
				die("no such specification");
		}
		take_rounds(atoi(words[1]), idx, k);
		free(idx);
	} else if (!strcmp(words[0], "settle")) {
		xr_where_settle();
		printf("at %d\n", xr_where());
		fflush(stdout);
	} else if (!strcmp(words[0], "clear")) {
		forget();
	} else {
		die("unknown line");
	}
}

#if defined(XR_BAKED)
extern const char *const xr_baked[];

static char *next_line(void)
{
	static int i;
	static char *line;
	if (!xr_baked[i])
		return NULL;
	line = grown(line, strlen(xr_baked[i]) + 1);
	return strcpy(line, xr_baked[i++]);
}
#else
static char *next_line(void)
{
	static char *line;
	static size_t room;
	size_t len = 0;
	for (;;) {
		if (len + 2 > room) {
			room = room ? room * 2 : 4096;
			line = grown(line, room);
		}
		int c = getchar();
		if (c == EOF)
			return NULL;
		if (c == '\n')
			break;
		line[len++] = (char)c;
	}
	line[len] = '\0';
	return line;
}
#endif

/* Arguments: CPUS MEMORY_BYTES REFERENCE_ADDS ALONE (these two as an earlier agent said hello; 0: find out). CPUS: see
 * xr_where_init(). */
int main(int argc, char **argv)
{
	double memory = argc > 2 ? atof(argv[2]) : 0;
	char *line;

	xr_clock_init();
	pool = xr_pool_new(xr_now_ns, xr_reference_ns); /* before pinning: it remembers which CPUs were allowed */
	xr_where_init(argc > 1 ? argv[1] : "-1");
	xr_chain_setup(xr_now_ns, xr_clock_cost_ns(), (unsigned long long)memory);
	xr_warm_up();
	xr_reference_find(argc > 3 ? atoi(argv[3]) : 0);
	core_alone = xr_where_find(argc > 4 ? atof(argv[4]) : 0);
	while ((line = next_line()) && strcmp(line, "quit"))
		obey(line);
	forget();
	xr_chain_release();
	xr_pool_free(pool);
	free(specs);
	free(works);
	free(samples);
	free(failures);
	return 0;
}
