/* SPDX-License-Identifier: MIT */
/* What the members of a team do, see team.h. Member 0 measures, the others are its opponents or partners. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef XR_NO_THREADS
#include "roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- member 0 measures while the others run ------------------------------------------------------------------- */

static double lower(double a, double b)
{
	return a < b ? a : b;
}

/* Time of `reps` of what member m does, in ns; *ops: how many that were. */
typedef double measure_fn(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops);

static double measure_work(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	double t = xr_pool_now(team->pool);
	*ops = m->work->run(m->work->self, reps);
	return xr_pool_now(team->pool) - t;
}

/* The repetitions that take about `ns`. Preemption only makes a try longer, so a shorter time of two is the better. Where
 * one took twice as long as the other, the other may have been the first, with everything cold: some more decide. */
static unsigned long calibrate(struct xr_agent_team *team, struct member *m, measure_fn *measure, double ns)
{
	unsigned long reps = 1;
	double took = 0, ops;
	while (reps < 1ul << 30 && !xr_team_stopped(team)) {
		double a = measure(team, m, reps, &ops), b = measure(team, m, reps, &ops);
		took = lower(a, b);
		for (int more = 0; more < 3 && took >= ns / 4 && (a > 2 * b || b > 2 * a); more++)
			took = lower(took, measure(team, m, reps, &ops));
		if (took >= ns / 4)
			break;
		reps *= 2;
	}
	double wanted = took > 0 ? (double)reps * ns / took : (double)reps;
	return wanted < 1 ? 1 : (unsigned long)wanted;
}

static void opponents_seen(struct xr_agent_team *team)
{
	for (int i = 1; i < team->n_members; i++)
		team->member[i].seen = atomic_load_explicit(&team->member[i].progress, memory_order_relaxed);
}

/* Has every opponent done at least `rounds` rounds of its work since opponents_seen()? */
static bool opponents_ran(const struct xr_agent_team *team, unsigned long rounds)
{
	for (int i = 1; i < team->n_members; i++) {
		const struct member *m = &team->member[i];
		if (atomic_load_explicit(&m->progress, memory_order_relaxed) - m->seen < rounds)
			return false;
	}
	return true;
}

/* Is one of the two lengths disturbed? The cost of looking at the clock is far below this. */
static bool misfit(const struct xr_team_sample *s)
{
	if (s->short_ops <= 0 || s->long_ops <= 0)
		return false;
	double per_long = s->long_ns / s->long_ops, per_short = s->short_ns / s->short_ops;
	return per_short > 1.1 * per_long || per_short < 0.9 * per_long;
}

/* Two lengths of what member 0 does (one, when a single repetition is long by itself), and the reference beside them. A
 * sample during which an opponent slept says nothing about contention, and one whose lengths do not fit each other was
 * disturbed in one of them: both are taken again, and marked when that does not help. An undisturbed sample that is far too
 * short had its repetitions counted while somebody else had the CPU: so few that what surrounds them would count. */
static void measure_sample(struct xr_agent_team *team, struct member *m, measure_fn *measure, bool opposed)
{
	struct xr_team_sample *s = &team->sample;
	int calibrations = 0;
	if (!m->reps)
		m->reps = calibrate(team, m, measure, team->sample_ns / 2);
	double began = xr_pool_now(team->pool);
	for (int attempt = 0; attempt < ATTEMPTS && !xr_team_stopped(team); attempt++) {
		long switches = xr_involuntary_switches();
		double ref = xr_pool_reference(team->pool);
		opponents_seen(team);
		if (m->reps > 1)
			s->short_ns = measure(team, m, m->reps, &s->short_ops);
		s->long_ns = measure(team, m, m->reps > 1 ? 2 * m->reps : 1, &s->long_ops);
		s->hit = misfit(s) || (opposed && !opponents_ran(team, 2));
		s->ref_ns = lower(ref, xr_pool_reference(team->pool));
		s->hit |= xr_involuntary_switches() != switches;
		if (!s->hit && s->long_ns < team->sample_ns / 4 && ++calibrations < CALIBRATIONS) {
			m->reps = calibrate(team, m, measure, team->sample_ns / 2);
			continue;
		}
		if (!s->hit || xr_pool_now(team->pool) - began > 4e7) /* long samples are disturbed by nature */
			break;
	}
	atomic_store(&team->stop, 1);
}

/* Opponents get under way before the first look. */
static void measure_opposed(struct xr_agent_team *team, struct member *m, measure_fn *measure)
{
	opponents_seen(team);
	for (unsigned spins = 1; !opponents_ran(team, 1); spins++)
		if (spins % SPINS == 0 && xr_team_tired(team))
			break;
	measure_sample(team, m, measure, true);
}

/* An opponent: small rounds of work until told to stop, each counted. */
static void oppose(struct xr_agent_team *team, struct member *m, measure_fn *measure)
{
	unsigned long reps = m->reps ? m->reps : 1;
	double ops;
	while (!xr_team_stopped(team)) {
		if (measure(team, m, reps, &ops) < team->sample_ns / 32 && reps < 1ul << 30)
			reps *= 2;
		atomic_fetch_add_explicit(&m->progress, 1, memory_order_relaxed);
	}
	m->reps = reps;
}

void xr_role_together(struct xr_agent_team *team, struct member *m)
{
	xr_team_meet(team);
	if (m->index == 0)
		measure_opposed(team, m, measure_work);
	else
		oppose(team, m, measure_work);
}

static double measure_writes(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	/* indivisible, for plain stores gather in the store buffer and hardly notice that the line is gone */
	atomic_uint *word = (atomic_uint *)(void *)(team->area + (m->index ? team->bytes : 0));
	double t = xr_pool_now(team->pool);
	for (unsigned long i = 0; i < reps; i++)
		atomic_fetch_add_explicit(word, 1, memory_order_relaxed);
	*ops = (double)reps;
	return xr_pool_now(team->pool) - t;
}

void xr_role_false_sharing(struct xr_agent_team *team, struct member *m)
{
	xr_team_meet(team);
	if (m->index == 0)
		measure_opposed(team, m, measure_writes);
	else
		oppose(team, m, measure_writes);
}

/* ---- fixed work, wall clock ---------------------------------------------------------------------------------- */

static void play_calibration(struct xr_agent_team *team, struct member *m)
{
	/* the rate from a stretch short enough to be run undisturbed */
	double ns = team->window_ns < 4e5 ? team->window_ns : 4e5;
	m->reps = calibrate(team, m, measure_work, ns);
	m->reps = (unsigned long)((double)m->reps * team->window_ns / ns);
}

static void play_wall(struct xr_agent_team *team, struct member *m)
{
	if (m->index == 0) {
		team->sample.ref_ns = xr_pool_reference(team->pool);
		for (int i = 0; i < 2; i++)
			team->sample.ref_ns = lower(team->sample.ref_ns, xr_pool_reference(team->pool));
	}
	xr_team_meet(team);
	m->start_ns = xr_pool_now(team->pool);
	double ops = m->work->run(m->work->self, m->reps);
	m->end_ns = xr_pool_now(team->pool);
	if (m->index == 0)
		team->sample.long_ops = ops;
}

int xr_round_wall(struct xr_agent_team *team)
{
	for (int i = 0; i < team->n_members; i++) {
		struct member *m = &team->member[i];
		for (int j = 0; j < i && !m->reps; j++)
			if (team->member[j].work == m->work)
				m->reps = team->member[j].reps;
		if (!m->reps && xr_team_play(team, play_calibration, i, i + 1) != 0)
			return -1;
	}
	if (xr_team_play(team, play_wall, 0, team->n_members) != 0)
		return -1;
	double start = team->member[0].start_ns, end = team->member[0].end_ns;
	for (int i = 1; i < team->n_members; i++) {
		if (team->member[i].start_ns < start)
			start = team->member[i].start_ns;
		if (team->member[i].end_ns > end)
			end = team->member[i].end_ns;
	}
	team->sample.long_ns = end - start;
	return 0;
}

/* ---- handing over -------------------------------------------------------------------------------------------- */

static atomic_uint *ping_line(struct xr_agent_team *team, unsigned i)
{
	/* a line of its own page each, at a different place in the page */
	return (atomic_uint *)(void *)(team->area + i * (4096 + 5 * PAD));
}

/* What lies on a line: a count, and in the low bits whether it waits for an answer, and whether the next question will
 * be on the next line. An answer is the count alone. So both are always on the same line. */
enum { ASKED = 1, LAST = 2, COUNT_ONE = 4 };

static double measure_pings(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	(void)m;
	double t = xr_pool_now(team->pool);
	for (unsigned line = 0; line < PING_LINES; line++) {
		atomic_uint *flag = ping_line(team, line);
		unsigned value = atomic_load_explicit(flag, memory_order_relaxed);
		for (unsigned long i = 0; i < reps; i++) {
			unsigned last = i + 1 == reps ? LAST : 0;
			value += COUNT_ONE;
			atomic_store_explicit(flag, value | ASKED | last, memory_order_release);
			if (!xr_team_await(team, flag, value))
				break;
		}
	}
	*ops = 2.0 * (double)reps * PING_LINES;
	return xr_pool_now(team->pool) - t;
}

static void answer_pings(struct xr_agent_team *team)
{
	unsigned line = 0;
	for (unsigned spins = 1; spins % SPINS || !xr_team_tired(team); spins++) {
		unsigned value = atomic_load_explicit(ping_line(team, line), memory_order_acquire);
		if (!(value & ASKED))
			continue;
		atomic_store_explicit(ping_line(team, line), value / COUNT_ONE * COUNT_ONE, memory_order_release);
		if (value & LAST)
			line = (line + 1) % PING_LINES;
		spins = 0;
	}
}

void xr_role_pingpong(struct xr_agent_team *team, struct member *m)
{
	for (unsigned line = 0; m->index == 0 && line < PING_LINES; line++)
		atomic_store(ping_line(team, line), 0); /* a round that was given up may have left a question */
	xr_team_meet(team);
	if (m->index == 0)
		measure_sample(team, m, measure_pings, false);
	else if (m->index == 1)
		answer_pings(team);
}

static void write_block(char *block, size_t bytes, uint64_t value)
{
	uint64_t *word = (uint64_t *)(void *)block;
	for (size_t i = 0; i < bytes / sizeof *word; i++)
		word[i] = value + i;
	atomic_signal_fence(memory_order_seq_cst);
}

static uint64_t read_block(const char *block, size_t bytes)
{
	const uint64_t *word = (const uint64_t *)(const void *)block;
	uint64_t sum = 0;
	for (size_t i = 0; i < bytes / sizeof *word; i++)
		sum += word[i];
	return sum;
}

static double measure_pipe(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	(void)m;
	unsigned turn = atomic_load(&team->turn); /* even: member 0 writes */
	double t = xr_pool_now(team->pool);
	for (unsigned long i = 0; i < reps; i++, turn += 2) {
		write_block(team->area, (size_t)team->bytes, turn);
		atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
		if (!xr_team_await(team, &team->turn, turn + 2))
			break;
	}
	*ops = (double)reps * (double)team->bytes / 64;
	return xr_pool_now(team->pool) - t;
}

static void consume_pipe(struct xr_agent_team *team)
{
	uint64_t sum = 0;
	for (unsigned turn = atomic_load(&team->turn) | 1; xr_team_await(team, &team->turn, turn); turn += 2) {
		sum += read_block(team->area, (size_t)team->bytes);
		atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
	}
	atomic_store(&team->sum, sum); /* so that the reads are wanted */
}

void xr_role_pipe(struct xr_agent_team *team, struct member *m)
{
	if (m->index == 0 && !m->reps)
		write_block(team->area, (size_t)team->bytes, 0); /* the first touch decides where the pages live */
	xr_team_meet(team);
	if (m->index == 0)
		measure_sample(team, m, measure_pipe, false);
	else if (m->index == 1)
		consume_pipe(team);
}

/* ---- the operating system ------------------------------------------------------------------------------------- */

void xr_role_slices(struct xr_agent_team *team, struct member *m)
{
	double gap_ns = team->bytes ? (double)team->bytes : 2e5;
	m->n_runs = 0;
	xr_team_meet(team);
	double last = xr_pool_now(team->pool), started = -1, end = last + team->window_ns;
	while (last < end && m->n_runs < SLICES_MAX) {
		double t = xr_pool_now(team->pool);
		if (t - last > gap_ns) {
			if (started >= 0) {
				m->run_ns[m->n_runs] = last - started;
				m->run_end[m->n_runs++] = last;
			}
			started = t;
		}
		last = t;
	}
}

/* The clock that only the OS's tick advances; a negative number where there is none. */
static double coarse_ns(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
	struct timespec t;
	if (!clock_gettime(CLOCK_MONOTONIC_COARSE, &t))
		return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
#endif
	return -1;
}

/* Who was off meanwhile may have missed a step: then the count starts anew. */
void xr_role_ticks(struct xr_agent_team *team, struct member *m)
{
	const double gap_ns = 2e5;
	m->n_runs = 0;
	xr_team_meet(team);
	double last = xr_pool_now(team->pool), started = -1, end = last + team->window_ns, shown = coarse_ns();
	if (shown < 0)
		xr_team_give_up(team, "no clock here that goes by the tick");
	while (last < end && m->n_runs < SLICES_MAX && !xr_team_stopped(team)) {
		double coarse = coarse_ns(), t = xr_pool_now(team->pool);
		bool off = t - last > gap_ns, step = coarse > shown;
		if (step && !off && started >= 0) {
			m->run_ns[m->n_runs] = t - started;
			m->run_end[m->n_runs++] = t;
		}
		if (step || off)
			started = off ? -1 : t;
		shown = coarse;
		last = t;
	}
}

/* Run lengths of all members in order of time. */
int xr_slices_collect(struct xr_agent_team *team, struct xr_team_sample *out, int room)
{
	int *next = calloc((size_t)team->n_members, sizeof *next), n = 0;
	double ref = xr_pool_reference(team->pool);
	while (next && n < room) {
		struct member *first = NULL;
		for (int i = 0; i < team->n_members; i++) {
			struct member *m = &team->member[i];
			if (next[i] < m->n_runs && (!first || m->run_end[next[i]] < first->run_end[next[first->index]]))
				first = m;
		}
		if (!first)
			break;
		out[n++] = (struct xr_team_sample){
			.long_ns = first->run_ns[next[first->index]++], .long_ops = 1, .ref_ns = ref};
	}
	free(next);
	return n;
}

/* One byte there and one back: two switches. The same calls by one thread alone are taken off. */
static double measure_switches(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	const int *fd = team->fd;
	char byte = 'x';
	(void)m;
	double t0 = xr_pool_now(team->pool);
	for (unsigned long i = 0; i < reps; i++)
		if (write(fd[1], &byte, 1) != 1 || read(fd[2], &byte, 1) != 1)
			xr_team_give_up(team, "cannot hand over through a pipe");
	double t1 = xr_pool_now(team->pool);
	for (unsigned long i = 0; i < 2 * reps; i++)
		if (write(fd[5], &byte, 1) != 1 || read(fd[4], &byte, 1) != 1)
			xr_team_give_up(team, "cannot hand over through a pipe");
	double t2 = xr_pool_now(team->pool);
	*ops = 2.0 * (double)reps;
	return (t1 - t0) - (t2 - t1);
}

void xr_role_switch(struct xr_agent_team *team, struct member *m)
{
	char byte;
	xr_team_meet(team);
	if (m->index == 0) {
		measure_sample(team, m, measure_switches, false);
		byte = 'q';
		if (write(team->fd[1], &byte, 1) != 1)
			xr_team_give_up(team, "cannot hand over through a pipe");
	} else if (m->index == 1) {
		while (read(team->fd[0], &byte, 1) == 1 && byte != 'q')
			if (write(team->fd[3], &byte, 1) != 1)
				break;
	}
}

#endif
