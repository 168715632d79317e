/* SPDX-License-Identifier: MIT */
/* A team from inside: what its files share. */
#ifndef XR_AGENT_ROLES_H
#define XR_AGENT_ROLES_H

#include "pool.h"
#include "team.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	PAD = 256, /* apart far enough that neighbours never share anything */
	MEMBERS_MAX = 4096,
	SLICES_MAX = 4096, /* run lengths kept per member */
	ATTEMPTS = 24,     /* samples tried until one had all opponents running */
	CALIBRATIONS = 4,  /* of one sample; each is as likely to be disturbed as the last */
	PING_LINES = 16,   /* lines a ping-pong goes over, so that no single home of a line decides */
};

enum kind { TOGETHER, WALL, PINGPONG, PIPE, FALSE_SHARING, SLICES, SWITCH, TICKS, N_KINDS };
enum { SPINS = 20000 }; /* looks at memory before asking whether to go on: some 10 us */

struct member {
	_Alignas(PAD) atomic_ulong progress; /* rounds of work done; read by member 0 while others run */
	_Alignas(PAD) struct xr_agent_team *team;
	int index, cpu;
	const struct xr_work *work;
	unsigned long reps;      /* calibrated once; 0: not yet */
	double start_ns, end_ns; /* of the fixed work */
	unsigned long seen;      /* progress at the start of a sample */
	double *run_ns;          /* SLICES: run lengths; TICKS: from step to step */
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
	char *area; /* PINGPONG, PIPE, FALSE: memory they share, fresh for this team */
	size_t area_bytes;
	int fd[6]; /* SWITCH: three pipes */
	_Atomic uint64_t sum;
	struct xr_team_sample sample;
	char error[160];
};

/* Lets members from..to-1 play their role, and waits until all have. 0; -1: the error says why. */
int xr_team_play(struct xr_agent_team *team, role_fn *role, int from, int to);

/* At the start of most roles: nobody goes on before everybody is there. */
void xr_team_meet(struct xr_agent_team *team);
/* Spins until the flag has that value. False: the team stopped, or the other one never came. */
bool xr_team_await(struct xr_agent_team *team, atomic_uint *flag, unsigned value);
/* Called when a spin has taken a while: the other one is not running. True: do not wait any longer. */
bool xr_team_tired(struct xr_agent_team *team);
bool xr_team_stopped(const struct xr_agent_team *team);
void xr_team_give_up(struct xr_agent_team *team, const char *why);

/* What members do, by kind of team; XR_WALL is a round of several plays. */
role_fn xr_role_together, xr_role_false_sharing, xr_role_pingpong, xr_role_pipe, xr_role_slices, xr_role_switch,
	xr_role_ticks;
int xr_round_wall(struct xr_agent_team *team);
int xr_slices_collect(struct xr_agent_team *team, struct xr_team_sample *out, int room); /* in order of time */

#endif
