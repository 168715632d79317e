/* SPDX-License-Identifier: MIT */
/* Samples of specifications, see sample.h. Nothing is printed while they are taken. */
#include "sample.h"
#include "count.h"

#include "clock.h"
#include "quiet.h"
#include "where.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct sample {
	int spec;
	struct xr_team_sample t; /* the fields of one sample; teams fill the same struct */
};

static struct xr_agent_spec *specs; /* of which samples are taken */
static struct sample *samples;
static size_t n_samples, room_samples;
static double sample_ns = 30000;
static double patience_ns; /* left for waiting until the core is ours */
static double quiet_ns;    /* the same for walks, of this batch */
static unsigned long long rng = 88172645463325252ull;

void xr_sampling_begin(double wanted_ns, double wait_ns)
{
	quiet_ns = wait_ns;
	if (wanted_ns > 0)
		sample_ns = wanted_ns;
}

void xr_sampling_patience(double ns)
{
	patience_ns = ns;
}

void xr_sampling_release(void)
{
	free(samples);
}

/* ---- the work of a specification ---- */

double xr_spec_run_ops(void *self, unsigned long reps)
{
	int k = *(int *)self;
	xr_nano_table[k](reps);
	return (double)reps * xr_nano_body[k];
}
static double run_once(struct xr_agent_spec *s, unsigned long reps, double *timed_ns)
{
	switch (s->kind) {
	case XR_SPEC_OPS:
		return xr_spec_run_ops(&s->nano, reps);
	case XR_SPEC_CHAIN:
		return xr_chain_run(s->chain, reps, timed_ns);
	case XR_SPEC_FLOW:
		return xr_flow_run(s->flow, reps);
	default:
		return xr_walk_run(s->walk, reps);
	}
}

static int is_script(const struct xr_agent_spec *s)
{
	return s->kind == XR_SPEC_CHAIN && xr_chain_is_script(s->chain);
}

/* Where every cycle counts, a look before brings what looking itself needs: it would be missed in one run, and
 * not in the next. */
static double timed_run(struct xr_agent_spec *s, unsigned long reps, double *ops)
{
	double start = xr_clock_repeats() ? (xr_now_ns(), xr_now_ns()) : xr_now_ns(), inside = 0;
	*ops = run_once(s, reps, &inside);
	return xr_now_ns() - start;
}

/* Untimed, before a sample: what others left in the caches goes. */
static void settle(struct xr_agent_spec *s)
{
	if (s->kind == XR_SPEC_CHAIN)
		xr_chain_ready(s->chain);
	if (s->kind == XR_SPEC_WALK)
		xr_walk_ready(s->walk);
	if (s->kind == XR_SPEC_FLOW) {
		xr_chain_cooled();
		xr_flow_ready(s->flow);
	}
}

/* The units of wide vectors sleep until they are used: then they work at a quarter and at two thirds of their speed for
 * some hundred microseconds each, while the clock slows down, and fall asleep again as quickly. */
void xr_spec_wake_up(struct xr_agent_spec *s)
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
static int is_long_script(struct xr_agent_spec *s)
{
	const double interruption_ns = 1e6; /* what takes less may have been one */
	double ops, t = is_script(s) ? timed_run(s, 1, &ops) : 0;
	if (t >= 4 * sample_ns && t < interruption_ns)
		t = timed_run(s, 1, &ops);
	return t >= 4 * sample_ns;
}

static unsigned long lap_of(const struct xr_agent_spec *s)
{
	return s->kind == XR_SPEC_CHAIN ? xr_chain_lap(s->chain) : s->kind == XR_SPEC_WALK ? xr_walk_lap(s->walk) : 1;
}

/* Times that repeat exactly need no length against noise: some hundred operations, in whole laps, so that each
 * place of a walk counts alike, and so many that the clock's step does not matter. */
static void calibrate_exactly(struct xr_agent_spec *s)
{
	/* jumps come in a fresh order every lap: the mean over orders is what counts */
	const unsigned long visits = s->kind == XR_SPEC_WALK && !xr_walk_in_order(s->walk) ? 2048 : 256, most = 4096;
	const double steps = 2000;
	unsigned long lap = lap_of(s), reps = lap < visits ? (visits + lap - 1) / lap * lap : lap;
	unsigned long brief = s->kind == XR_SPEC_WALK ? 2 * lap : reps; /* after two, all is as it was before */
	double ops;
	if (is_script(s)) {
		s->reps_long = s->reps_short = 1;
		return;
	}
	if (s->kind == XR_SPEC_OPS)
		reps = 2;
	if (reps > most)
		reps = most;
	run_once(s, 1, &ops);
	while (reps < (1ul << 30) && timed_run(s, reps, &ops) < steps * xr_clock_granule_ns())
		reps *= 2;
	s->reps_short = brief < reps ? brief : reps;
	s->reps_long = s->reps_short + reps;
}

/* Repetitions by doubling until half the wanted length, then scaled once. */
void xr_spec_calibrate(struct xr_agent_spec *s)
{
	unsigned long reps = 1;
	double ops, t;
	if (s->kind == XR_SPEC_CLOCK || s->kind == XR_SPEC_TEAM)
		return;
	settle(s);
	if (xr_clock_repeats()) {
		calibrate_exactly(s);
		return;
	}
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
		samples = xr_agent_grown(samples, room_samples * sizeof *samples);
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

/* Waits until nobody else uses the core: a neighbour on its other thread that is not busy all the time leaves it
 * alone for milliseconds, ten or twenty times a second. Not for ever. */
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

/* Where times repeat exactly: a lap brings back what getting ready threw out, and what is on the way to the loop. Orders
 * that change from lap to lap begin as the short run, which the long one follows, too: both then begin in the same state. */
static unsigned long reps_before(const struct xr_agent_spec *s)
{
	const unsigned long lap = lap_of(s);
	const int many_orders = s->kind == XR_SPEC_WALK && !xr_walk_in_order(s->walk);
	return lap < s->reps_short && !many_orders && s->kind != XR_SPEC_OPS ? lap : s->reps_short;
}

static void time_work(struct xr_agent_spec *s, struct xr_team_sample *t)
{
	*t = (struct xr_team_sample){0};
	if (is_script(s)) {
		t->long_ops = xr_chain_run(s->chain, s->reps_long, &t->long_ns);
	} else {
		if (xr_clock_repeats())
			timed_run(s, reps_before(s), &t->short_ops);
		t->short_ns = timed_run(s, s->reps_short, &t->short_ops);
		t->long_ns = timed_run(s, s->reps_long, &t->long_ops);
	}
}

/* As many turns of a loop as of one with twice the statements: what the loop itself takes cancels. And of each so
 * many turns more: what the look at the clock threw out of a small cache, and is missed on the way in, does, too. */
static void time_twins(struct xr_agent_spec *s, struct xr_team_sample *t)
{
	const int twin[2] = {s->nano, s->twin};
	for (int i = 0; i < 2; i++) {
		double ns[2], ops = (double)s->reps_short * xr_nano_body[twin[i]];
		/* called in one place, and nothing is computed on the way: all turns run the same instructions */
		void (*volatile run)(unsigned long reps) = xr_nano_table[twin[i]];
		/* The first turn counts for nothing: caches, TLBs and what predicts jumps are in the same state before the
		 * other two. */
		for (int turn = 0; turn < 3; turn++) {
			const volatile int more = turn == 2;
			const unsigned long reps = s->reps_short << more;
			double start;
			run(s->reps_short);
			start = (xr_now_ns(), xr_now_ns());
			run(reps);
			ns[more] = xr_now_ns() - start;
		}
		*(i ? &t->long_ns : &t->short_ns) = ns[1] - ns[0];
		*(i ? &t->long_ops : &t->short_ops) = ops;
	}
}

/* Where times repeat exactly there is nobody else: no looking around, no waiting. */
static void sample_exactly(int i)
{
	struct xr_agent_spec *s = &specs[i];
	struct xr_team_sample t = {0};
	settle(s);
	if (s->kind == XR_SPEC_OPS && s->twin >= 0) {
		time_twins(s, &t);
	} else {
		if (s->kind == XR_SPEC_OPS)
			run_once(s, 1, NULL);
		time_work(s, &t);
	}
	if (s->kind == XR_SPEC_CHAIN && !is_script(s)) {
		t.short_ns -= t.short_ops * xr_chain_overhead_ns(s->chain);
		t.long_ns -= t.long_ops * xr_chain_overhead_ns(s->chain);
	}
	t.ref_ns = xr_reference_ns();
	add_sample(i, &t);
}

/* Streams of operations are timed while nobody else uses the core: what is timed lies between two looks that
 * found it so. Gives up after a while, and says that the sample was disturbed. */
static void sample_ops(int i)
{
	const int tries = patience_ns > 0 ? 12 : 4;
	struct xr_agent_spec *s = &specs[i];
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

/* Walks through memory, between two looks at the core. If somebody was there, again, as long as this batch may wait. */
static void sample_work(int i)
{
	const double most_ns = 2e7, away_ns = 1e5; /* so long, and what is needed is evicted meanwhile */
	struct xr_agent_spec *s = &specs[i];
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
	struct xr_agent_spec *s = &specs[i];
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

void xr_say_done(void)
{
	static unsigned long turns;
	printf("done %.0f %.0f %d %lu\n", patience_ns, quiet_ns > 0 ? quiet_ns : 0, xr_where(), ++turns);
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
	const struct xr_agent_spec *x = &specs[*(const int *)a], *y = &specs[*(const int *)b];
	return (x->power > y->power) - (x->power < y->power);
}

/* Whole numbers cost a simulator a tenth of what others do. */
static void say_number(double x)
{
	long whole = x > -1e9 && x < 1e9 ? (long)x : 0;
	if ((double)whole == x)
		printf(" %ld", whole);
	else
		printf(" %.17g", x);
}

struct counted {
	struct xr_agent_spec *spec;
	double ops;
};

static void run_counted(void *self)
{
	struct counted *c = self;
	c->ops = run_once(c->spec, c->spec->reps_long, NULL);
}

void xr_count_specs(struct xr_agent_spec *all, const int *idx, int k)
{
	for (int j = 0; j < k; j++) {
		struct counted c = {&all[idx[j]], 0};
		double events[XR_COUNTERS];
		if (c.spec->bad || is_script(c.spec) || c.spec->kind == XR_SPEC_TEAM || c.spec->kind == XR_SPEC_CLOCK)
			continue;
		settle(c.spec);
		xr_count(run_counted, &c, events);
		printf("e %d", idx[j]);
		for (int i = 0; i < XR_COUNTERS; i++)
			say_number(events[i] < 0 || c.ops <= 0 ? -1 : events[i] / c.ops);
		printf("\n");
	}
	xr_say_done();
}

void xr_take_rounds(struct xr_agent_spec *all, int rounds, int *idx, int k)
{
	specs = all;
	int power = 0; /* what the units are awake for */
	n_samples = 0;
	for (int r = 0; r < rounds; r++) {
		shuffle(idx, k);
		for (int j = 0; j < k && xr_clock_repeats(); j++) /* those that remain are teams and clocks */
			if (!specs[idx[j]].bad && specs[idx[j]].kind != XR_SPEC_CLOCK &&
			    specs[idx[j]].kind != XR_SPEC_TEAM)
				sample_exactly(idx[j]);
		qsort(idx, (size_t)k, sizeof *idx, by_power);
		for (int j = 0; j < k;) {
			if (xr_clock_repeats() && specs[idx[j]].kind != XR_SPEC_CLOCK &&
			    specs[idx[j]].kind != XR_SPEC_TEAM) {
				j++;
				continue;
			}
			if (specs[idx[j]].kind == XR_SPEC_WALK && xr_quiet_reference_ns() > 0) {
				if (!specs[idx[j]].bad)
					sample_walk(idx[j]);
				j++;
				continue;
			}
			size_t from = n_samples;
			double before = xr_reference_ns(), start = xr_now_ns();
			do {
				struct xr_agent_spec *s = &specs[idx[j]];
				if (!s->bad && s->power > power)
					xr_spec_wake_up(s);
				power = s->power;
				if (!s->bad && s->kind == XR_SPEC_CLOCK)
					sample_clock(idx[j]);
				else if (!s->bad && s->kind == XR_SPEC_TEAM)
					sample_team(idx[j]);
				else if (!s->bad && s->kind == XR_SPEC_OPS)
					sample_ops(idx[j]);
				else if (!s->bad && s->kind == XR_SPEC_WALK)
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
		printf("s %d", samples[i].spec);
		say_number(t->long_ns);
		say_number(t->long_ops);
		say_number(t->short_ns);
		say_number(t->short_ops);
		say_number(t->ref_ns);
		printf(" %d\n", t->hit);
	}
	xr_say_done();
}
