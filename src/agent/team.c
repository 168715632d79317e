/* SPDX-License-Identifier: MIT */
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "roles.h"

static const char *const kind_names[N_KINDS] = {"together", "wall",   "pingpong", "pipe",
                                                "false",    "slices", "switch",   "ticks"};

static void play_role(void *arg)
{
	struct member *m = arg;
	m->team->role(m->team, m);
}

/* Lets members from..to-1 play their role, and waits until all have. */
int xr_team_play(struct xr_agent_team *team, role_fn *role, int from, int to)
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

void xr_team_give_up(struct xr_agent_team *team, const char *why)
{
	if (!atomic_exchange(&team->stop, 1))
		snprintf(team->error, sizeof team->error, "%s", why);
}

/* Called when a spin has taken a while: the other one is not running. True: do not wait any longer. */
bool xr_team_tired(struct xr_agent_team *team)
{
	if (atomic_load_explicit(&team->stop, memory_order_relaxed))
		return true;
	if (xr_pool_now(team->pool) > team->deadline_ns) {
		xr_team_give_up(team, "a thread of the team got no time to run");
		return true;
	}
	sched_yield();
	return false;
}

void xr_team_meet(struct xr_agent_team *team)
{
	atomic_fetch_add(&team->arrived, 1);
	for (unsigned spins = 1; atomic_load_explicit(&team->arrived, memory_order_acquire) < team->meeting; spins++)
		if (spins % SPINS == 0 && xr_team_tired(team))
			return;
}

bool xr_team_await(struct xr_agent_team *team, atomic_uint *flag, unsigned value)
{
	for (unsigned spins = 1; atomic_load_explicit(flag, memory_order_acquire) != value; spins++)
		if (spins % SPINS == 0 && xr_team_tired(team))
			return false;
	return true;
}

bool xr_team_stopped(const struct xr_agent_team *team)
{
	return atomic_load_explicit(&team->stop, memory_order_relaxed);
}

/* ---- making and running --------------------------------------------------------------------------------------- */

static const struct {
	role_fn *role; /* NULL: xr_round_wall */
	int members_min;
	bool needs_work;
} kinds[N_KINDS] = {
	[TOGETHER] = {xr_role_together, 1, true},
	[WALL] = {NULL, 1, true},
	[PINGPONG] = {xr_role_pingpong, 2, false},
	[PIPE] = {xr_role_pipe, 2, false},
	[FALSE_SHARING] = {xr_role_false_sharing, 2, false},
	[SLICES] = {xr_role_slices, 1, false},
	[SWITCH] = {xr_role_switch, 2, false},
	[TICKS] = {xr_role_ticks, 1, false},
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
		if (team->kind != SLICES && team->kind != TICKS)
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
		team->area_bytes = team->kind == PINGPONG ? (PING_LINES + 1) * 2 * 4096 : (size_t)team->bytes + 4096;
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
	int rc = role ? xr_team_play(team, role, 0, team->n_members) : xr_round_wall(team);
	if (rc != 0 || team->error[0] || room < 1)
		return -1;
	if (team->kind == SLICES || team->kind == TICKS)
		return xr_slices_collect(team, out, room);
	for (int i = 0; i < 2 && i < team->n_members && (team->kind == PINGPONG || team->kind == PIPE); i++)
		team->sample.hit |= team->job[i].switches > 0;
	*out = team->sample;
	return 1;
}

#endif
