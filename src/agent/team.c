/* Teams of threads, see team.h.
 *
 * A round hands each member of the team to a thread of the pool that is pinned where the member wants to be. The
 * threads meet at a spinning barrier, play the role their kind of team has for them, and go back to sleep. Member 0
 * measures, the others are its opponents or partners. All waiting is bounded: a team whose partner never comes fails
 * after a few seconds instead of hanging.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "team.h"

#include "pool.h"

#include <stdio.h>

#ifdef XR_NO_THREADS

struct xr_agent_team *xr_team_make(struct xr_team_pool *pool, char **words, int n_words, const struct xr_work *work,
                                   int n_works, char *error, size_t error_size)
{
	(void)pool, (void)words, (void)n_words, (void)work, (void)n_works;
	snprintf(error, error_size, "there are no threads on this target");
	return NULL;
}

void xr_team_free(struct xr_agent_team *team)
{
	(void)team;
}

int xr_team_round(struct xr_agent_team *team, double sample_ns, struct xr_team_sample *out, int room)
{
	(void)team, (void)sample_ns, (void)out, (void)room;
	return -1;
}

const char *xr_team_error(const struct xr_agent_team *team)
{
	(void)team;
	return "there are no threads on this target";
}

#else

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAD = 256,           /* apart far enough that neighbours never share anything */
	MEMBERS_MAX = 4096,
	SLICES_MAX = 4096,   /* run lengths kept per member */
	ATTEMPTS = 24,       /* samples tried until one had all opponents running */
	PING_LINES = 8,      /* lines a ping-pong goes over, so that no single home of a line decides */
};

enum kind { TOGETHER, WALL, PINGPONG, PIPE, FALSE_SHARING, SLICES, SWITCH, N_KINDS };
static const char *const kind_names[N_KINDS] = {"together", "wall", "pingpong", "pipe", "false", "slices", "switch"};

struct member {
	_Alignas(PAD) atomic_ulong progress; /* rounds of work done; read by member 0 while others run */
	_Alignas(PAD) struct xr_agent_team *team;
	int index, cpu;
	const struct xr_work *work;
	unsigned long reps;      /* calibrated once; 0: not yet */
	double start_ns, end_ns; /* of the fixed work */
	unsigned long seen;      /* progress at the start of a sample */
	double *run_ns;          /* SLICES: run lengths */
	double *run_end;         /* and when each ended */
	int n_runs;
};

typedef void role_fn(struct xr_agent_team *team, struct member *m);

struct xr_agent_team {
	_Alignas(PAD) atomic_int arrived, stop;
	_Alignas(PAD) atomic_uint turn; /* PIPE: whose turn */
	_Alignas(PAD) struct xr_team_pool *pool;
	enum kind kind;
	uint64_t bytes;
	double window_ns, sample_ns, deadline_ns;
	int n_members, meeting; /* meeting: how many come to the barrier this time */
	struct member *member;
	struct xr_job *job;
	role_fn *role;
	char *area;             /* PINGPONG, PIPE, FALSE: memory they share, fresh for this team */
	size_t area_bytes;
	int fd[6];              /* SWITCH: three pipes */
	_Atomic uint64_t sum;
	struct xr_team_sample sample;
	char error[160];
};

static void play_role(void *arg)
{
	struct member *m = arg;
	m->team->role(m->team, m);
}

/* Lets members from..to-1 play their role, and waits until all have. */
static int play(struct xr_agent_team *team, role_fn *role, int from, int to)
{
	atomic_store(&team->arrived, 0);
	atomic_store(&team->stop, 0);
	team->role = role;
	team->meeting = to - from;
	team->deadline_ns = xr_pool_now(team->pool) + 4e9 + 30 * team->window_ns;
	for (int i = from; i < to; i++)
		team->job[i] = (struct xr_job){.cpu = team->member[i].cpu, .run = play_role, .arg = &team->member[i]};
	return xr_pool_run(team->pool, team->job + from, to - from, team->error, sizeof team->error);
}

/* ---- waiting for each other ---------------------------------------------------------------------------------- */

static void give_up(struct xr_agent_team *team, const char *why)
{
	if (!atomic_exchange(&team->stop, 1))
		snprintf(team->error, sizeof team->error, "%s", why);
}

/* Called when a spin has taken a while: the other one is not running. True: do not wait any longer. */
static bool tired(struct xr_agent_team *team)
{
	if (atomic_load_explicit(&team->stop, memory_order_relaxed))
		return true;
	if (xr_pool_now(team->pool) > team->deadline_ns) {
		give_up(team, "a thread of the team got no time to run");
		return true;
	}
	sched_yield();
	return false;
}

enum { SPINS = 20000 }; /* looks at memory before asking whether to go on: some 10 us */

static void meet(struct xr_agent_team *team)
{
	atomic_fetch_add(&team->arrived, 1);
	for (unsigned spins = 1; atomic_load_explicit(&team->arrived, memory_order_acquire) < team->meeting; spins++)
		if (spins % SPINS == 0 && tired(team))
			return;
}

static bool await(struct xr_agent_team *team, atomic_uint *flag, unsigned value)
{
	for (unsigned spins = 1; atomic_load_explicit(flag, memory_order_acquire) != value; spins++)
		if (spins % SPINS == 0 && tired(team))
			return false;
	return true;
}

static bool stopped(const struct xr_agent_team *team)
{
	return atomic_load_explicit(&team->stop, memory_order_relaxed);
}

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

/* The repetitions that take about `ns`. Preemption only makes a try longer, so a shorter time of two is the better. */
static unsigned long calibrate(struct xr_agent_team *team, struct member *m, measure_fn *measure, double ns)
{
	unsigned long reps = 1;
	double took = 0, ops;
	while (reps < 1ul << 30 && !stopped(team)) {
		double a = measure(team, m, reps, &ops), b = measure(team, m, reps, &ops);
		took = lower(a, b);
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
 * disturbed in one of them: both are taken again, and marked when that does not help. */
static void measure_sample(struct xr_agent_team *team, struct member *m, measure_fn *measure, bool opposed)
{
	struct xr_team_sample *s = &team->sample;
	if (!m->reps)
		m->reps = calibrate(team, m, measure, team->sample_ns / 2);
	double began = xr_pool_now(team->pool);
	for (int attempt = 0; attempt < ATTEMPTS && !stopped(team); attempt++) {
		long switches = xr_involuntary_switches();
		double ref = xr_pool_reference(team->pool);
		opponents_seen(team);
		if (m->reps > 1)
			s->short_ns = measure(team, m, m->reps, &s->short_ops);
		s->long_ns = measure(team, m, m->reps > 1 ? 2 * m->reps : 1, &s->long_ops);
		s->hit = misfit(s) || (opposed && !opponents_ran(team, 2));
		s->ref_ns = lower(ref, xr_pool_reference(team->pool));
		s->hit |= xr_involuntary_switches() != switches;
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
		if (spins % SPINS == 0 && tired(team))
			break;
	measure_sample(team, m, measure, true);
}

/* An opponent: small rounds of work until told to stop, each counted. */
static void oppose(struct xr_agent_team *team, struct member *m, measure_fn *measure)
{
	unsigned long reps = m->reps ? m->reps : 1;
	double ops;
	while (!stopped(team)) {
		if (measure(team, m, reps, &ops) < team->sample_ns / 32 && reps < 1ul << 30)
			reps *= 2;
		atomic_fetch_add_explicit(&m->progress, 1, memory_order_relaxed);
	}
	m->reps = reps;
}

static void play_together(struct xr_agent_team *team, struct member *m)
{
	meet(team);
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

static void play_false_sharing(struct xr_agent_team *team, struct member *m)
{
	meet(team);
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
	meet(team);
	m->start_ns = xr_pool_now(team->pool);
	double ops = m->work->run(m->work->self, m->reps);
	m->end_ns = xr_pool_now(team->pool);
	if (m->index == 0)
		team->sample.long_ops = ops;
}

static int round_wall(struct xr_agent_team *team)
{
	for (int i = 0; i < team->n_members; i++) {
		struct member *m = &team->member[i];
		for (int j = 0; j < i && !m->reps; j++)
			if (team->member[j].work == m->work)
				m->reps = team->member[j].reps;
		if (!m->reps && play(team, play_calibration, i, i + 1) != 0)
			return -1;
	}
	if (play(team, play_wall, 0, team->n_members) != 0)
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

/* Odd values are member 0's to answer, even ones member 1's. */
static double measure_pings(struct xr_agent_team *team, struct member *m, unsigned long reps, double *ops)
{
	(void)m;
	double t = xr_pool_now(team->pool);
	for (unsigned line = 0; line < PING_LINES; line++) {
		atomic_uint *flag = ping_line(team, line);
		unsigned value = atomic_load_explicit(flag, memory_order_relaxed);
		for (unsigned long i = 0; i < reps; i++) {
			value += 2;
			atomic_store_explicit(flag, value - 1, memory_order_release);
			if (!await(team, flag, value))
				break;
		}
	}
	*ops = 2.0 * (double)reps * PING_LINES;
	return xr_pool_now(team->pool) - t;
}

/* Member 1 answers on whatever line the ball is: it looks at the line it was on last, and when that stays quiet for a
 * while, at the next. */
static void answer_pings(struct xr_agent_team *team)
{
	for (unsigned line = 0;; line = (line + 1) % PING_LINES) {
		atomic_uint *flag = ping_line(team, line);
		for (unsigned quiet = 0; quiet < 64; quiet++) {
			unsigned value = atomic_load_explicit(flag, memory_order_acquire);
			if (value & 1) {
				atomic_store_explicit(flag, value + 1, memory_order_release);
				quiet = 0;
			}
		}
		if (stopped(team))
			return;
	}
}

static void play_pingpong(struct xr_agent_team *team, struct member *m)
{
	meet(team);
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
		write_block(team->area, team->bytes, turn);
		atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
		if (!await(team, &team->turn, turn + 2))
			break;
	}
	*ops = (double)reps * (double)team->bytes / 64;
	return xr_pool_now(team->pool) - t;
}

static void consume_pipe(struct xr_agent_team *team)
{
	uint64_t sum = 0;
	for (unsigned turn = atomic_load(&team->turn) | 1; await(team, &team->turn, turn); turn += 2) {
		sum += read_block(team->area, team->bytes);
		atomic_store_explicit(&team->turn, turn + 1, memory_order_release);
	}
	atomic_store(&team->sum, sum); /* so that the reads are wanted */
}

static void play_pipe(struct xr_agent_team *team, struct member *m)
{
	if (m->index == 0 && !m->reps)
		write_block(team->area, team->bytes, 0); /* the first touch decides where the pages live */
	meet(team);
	if (m->index == 0)
		measure_sample(team, m, measure_pipe, false);
	else if (m->index == 1)
		consume_pipe(team);
}

/* ---- the operating system ------------------------------------------------------------------------------------- */

static void play_slices(struct xr_agent_team *team, struct member *m)
{
	double gap_ns = team->bytes ? (double)team->bytes : 2e5;
	m->n_runs = 0;
	meet(team);
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

/* Run lengths of all members in order of time. */
static int collect_slices(struct xr_agent_team *team, struct xr_team_sample *out, int room)
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
			give_up(team, "cannot hand over through a pipe");
	double t1 = xr_pool_now(team->pool);
	for (unsigned long i = 0; i < 2 * reps; i++)
		if (write(fd[5], &byte, 1) != 1 || read(fd[4], &byte, 1) != 1)
			give_up(team, "cannot hand over through a pipe");
	double t2 = xr_pool_now(team->pool);
	*ops = 2.0 * (double)reps;
	return (t1 - t0) - (t2 - t1);
}

static void play_switch(struct xr_agent_team *team, struct member *m)
{
	char byte;
	meet(team);
	if (m->index == 0) {
		measure_sample(team, m, measure_switches, false);
		byte = 'q';
		if (write(team->fd[1], &byte, 1) != 1)
			give_up(team, "cannot hand over through a pipe");
	} else if (m->index == 1) {
		while (read(team->fd[0], &byte, 1) == 1 && byte != 'q')
			if (write(team->fd[3], &byte, 1) != 1)
				break;
	}
}

/* ---- making and running --------------------------------------------------------------------------------------- */

static const struct {
	role_fn *role;      /* NULL: round_wall */
	int members_min;
	bool needs_work;
} kinds[N_KINDS] = {
	[TOGETHER] = {play_together, 1, true},
	[WALL] = {NULL, 1, true},
	[PINGPONG] = {play_pingpong, 2, false},
	[PIPE] = {play_pipe, 2, false},
	[FALSE_SHARING] = {play_false_sharing, 2, false},
	[SLICES] = {play_slices, 1, false},
	[SWITCH] = {play_switch, 2, false},
};

static const char *read_line(struct xr_agent_team *team, char **words, int n_words, const struct xr_work *work,
                             int n_works)
{
	for (int i = 0; i < team->n_members; i++) {
		struct member *m = &team->member[i];
		m->team = team;
		m->index = i;
		m->cpu = atoi(words[4 + 2 * i]);
		int w = atoi(words[5 + 2 * i]);
		if (w >= n_works || (w < 0 && kinds[team->kind].needs_work))
			return "a member of the team has no work";
		m->work = w < 0 ? NULL : &work[w];
		if (team->kind != SLICES)
			continue;
		m->run_ns = calloc(SLICES_MAX, sizeof *m->run_ns);
		m->run_end = calloc(SLICES_MAX, sizeof *m->run_end);
		if (!m->run_ns || !m->run_end)
			return "no memory for a team";
	}
	(void)n_words;
	return NULL;
}

static const char *get_means(struct xr_agent_team *team)
{
	if (team->kind == PINGPONG || team->kind == PIPE || team->kind == FALSE_SHARING) {
		team->area_bytes = team->kind == PINGPONG ? (PING_LINES + 1) * 2 * 4096 : team->bytes + 4096;
		void *area = mmap(NULL, team->area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area == MAP_FAILED)
			return "no memory to share";
		team->area = area;
	}
	if (team->kind == SWITCH)
		for (int i = 0; i < 3; i++)
			if (pipe(team->fd + 2 * i) != 0)
				return "no pipe";
	return NULL;
}

struct xr_agent_team *xr_team_make(struct xr_team_pool *pool, char **words, int n_words, const struct xr_work *work,
                                   int n_works, char *error, size_t error_size)
{
	int kind = 0, n = n_words >= 4 ? atoi(words[3]) : 0;
	while (n_words > 0 && kind < N_KINDS && strcmp(words[0], kind_names[kind]) != 0)
		kind++;
	if (!pool || kind == N_KINDS || n < kinds[kind].members_min || n > MEMBERS_MAX || n_words != 4 + 2 * n) {
		snprintf(error, error_size, "%s", pool ? "not a team" : "there are no threads on this target");
		return NULL;
	}
	struct xr_agent_team *team = aligned_alloc(PAD, sizeof *team);
	struct member *member = aligned_alloc(PAD, sizeof *member * (size_t)n);
	struct xr_job *job = calloc((size_t)n, sizeof *job);
	if (!team || !member || !job) {
		snprintf(error, error_size, "no memory for a team");
		free(team), free(member), free(job);
		return NULL;
	}
	memset(team, 0, sizeof *team);
	memset(member, 0, sizeof *member * (size_t)n);
	team->pool = pool;
	team->kind = (enum kind)kind;
	team->bytes = strtoull(words[1], NULL, 10);
	team->window_ns = strtod(words[2], NULL);
	team->n_members = n;
	team->member = member;
	team->job = job;
	for (int i = 0; i < 6; i++)
		team->fd[i] = -1;
	const char *wrong = read_line(team, words, n_words, work, n_works);
	if (!wrong)
		wrong = get_means(team);
	if (wrong) {
		snprintf(error, error_size, "%s", wrong);
		xr_team_free(team);
		return NULL;
	}
	return team;
}

void xr_team_free(struct xr_agent_team *team)
{
	if (!team)
		return;
	for (int i = 0; i < team->n_members; i++) {
		free(team->member[i].run_ns);
		free(team->member[i].run_end);
	}
	for (int i = 0; i < 6; i++)
		if (team->fd[i] >= 0)
			close(team->fd[i]);
	if (team->area)
		munmap(team->area, team->area_bytes);
	free(team->job);
	free(team->member);
	free(team);
}

const char *xr_team_error(const struct xr_agent_team *team)
{
	return team->error;
}

int xr_team_round(struct xr_agent_team *team, double sample_ns, struct xr_team_sample *out, int room)
{
	role_fn *role = kinds[team->kind].role;
	team->sample_ns = sample_ns;
	team->error[0] = 0;
	memset(&team->sample, 0, sizeof team->sample);
	for (int i = 0; i < team->n_members; i++)
		if (team->member[i].work && team->member[i].work->ready)
			team->member[i].work->ready(team->member[i].work->self);
	int rc = role ? play(team, role, 0, team->n_members) : round_wall(team);
	if (rc != 0 || team->error[0] || room < 1)
		return -1;
	if (team->kind == SLICES)
		return collect_slices(team, out, room);
	for (int i = 0; i < 2 && i < team->n_members && (team->kind == PINGPONG || team->kind == PIPE); i++)
		team->sample.hit |= team->job[i].switches > 0;
	*out = team->sample;
	return 1;
}

#endif
