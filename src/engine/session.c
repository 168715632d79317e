/* SPDX-License-Identifier: MIT */
/* The installed interface, on top of target, engine and facts. */
#include "engine/conditions.h"
#include "engine/engine.h"
#include "engine/plan.h"
#include "engine/statement.h"
#include "micro/table.h"
#include "target/open.h"
#include "util/memory.h"
#include "xray.h"

#include <stdlib.h>

struct xr_session {
	struct xr_target *target;
	uint64_t seed;
	bool broken;          /* ran out of memory half way */
	struct xr_arena look; /* what xr_session_conditions() said last */
};

static int no_memory(struct xr_error *err)
{
	return xr_fail(err, XR_EXIT_TARGET, "out of memory");
}

static struct xr_session *open_session(const struct xr_options *options, struct xr_error *err)
{
	static const struct xr_options this_machine = {.cpu = -1};
	const struct xr_options *o = options ? options : &this_machine;
	const struct xr_host_options host = {
		.cc = o->cc,
		.cflags = o->cflags,
		.runner = o->runner,
		.form = o->form,
		.keep = o->keep,
		.cache = o->cache,
		.tmp = o->tmp,
		.cpu = o->cpu,
		.sample_ns = o->sample_ns,
		.baked = o->baked,
		.watch = {.end_s = o->budget_s > 0 ? xr_clock_s() + o->budget_s : 0, .interrupt = o->interrupt},
	};
	struct xr_target *target =
		o->target ? xr_target_open(o->target, &host, o->seed, err) : xr_host_open(&host, err);
	if (!target)
		return NULL;
	xr_target_until(target, 0, NULL);
	if (o->record && xr_target_record(target, o->record, err)) {
		xr_target_free(target);
		return NULL;
	}
	struct xr_session *session = xr_calloc(1, sizeof *session);
	session->target = target;
	session->seed = o->seed;
	return session;
}

struct xr_session *xr_session_open(const struct xr_options *options, struct xr_error *err)
{
	struct xr_memory_guard guard;
	struct xr_session *volatile session = NULL;
	if (setjmp(*xr_memory_guard(&guard)))
		no_memory(err);
	else
		session = open_session(options, err);
	xr_memory_unguard(&guard);
	return session;
}

void xr_session_free(struct xr_session *session)
{
	if (!session)
		return;
	xr_target_free(session->target);
	xr_arena_release(&session->look);
	free(session);
}

int xr_session_conditions(struct xr_session *session, double interval_s, struct xr_conditions *conditions)
{
	if (!session || !conditions)
		return -1;
	*conditions = (struct xr_conditions){.load = -1, .quiet = true, .words = ""};
	if (!xr_conditions_can(session->target))
		return -1;
	xr_arena_release(&session->look);
	xr_arena_init(&session->look);
	xr_conditions_look(&session->look, session->target, interval_s, conditions);
	return 0;
}

/* Who else uses the machine is counted from here to end(). */
static void begin(const struct xr_session *session, struct xr_arena *arena, struct xr_moment *from)
{
	const struct xr_target_info *info = xr_target_info(session->target);
	if (xr_conditions_can(session->target))
		xr_moment_take(from, arena, info->cpu_ids, info->n_cpus);
}

static void end(const struct xr_session *session, struct xr_arena *arena, const struct xr_moment *from,
                struct xr_description *d)
{
	if (d && xr_conditions_can(session->target))
		xr_conditions_note(d, session->target, from);
	xr_arena_release(arena);
}

const char *xr_session_warning(const struct xr_session *session)
{
	return session ? xr_target_info(session->target)->warning : NULL;
}

/* NULL: everything. */
static int sound_plan(const struct xr_plan *plan, struct xr_error *err)
{
	for (size_t i = 0; plan && i < plan->n_select; i++)
		if (!plan->select || !plan->select[i])
			return xr_fail(err, XR_EXIT_USE, "a selector of the plan is NULL");
	return 0;
}

static int usable(const struct xr_session *session, const struct xr_plan *plan, struct xr_error *err)
{
	if (!session)
		return xr_fail(err, XR_EXIT_USE, "there is no session");
	if (session->broken)
		return xr_fail(err, XR_EXIT_TARGET, "the session ran out of memory before");
	return sound_plan(plan, err);
}

/* -1: a selector fits nothing, and err says which one. */
static double plan_cost_s(const struct xr_plan *plan, struct xr_error *err)
{
	static const struct xr_plan everything = {0};
	struct xr_arena arena = {0};
	struct xr_order order;
	double sum_s = 0;
	if (sound_plan(plan, err))
		return -1;
	if (!plan)
		plan = &everything;
	if (xr_order_make(&order, &arena, xr_micro_table, plan->select, plan->n_select, false, err))
		sum_s = -1;
	for (size_t i = 0; sum_s >= 0 && i < order.n; i++)
		sum_s += order.step[i].micro->cost_s;
	xr_arena_release(&arena);
	return sum_s;
}

int xr_plan_check(const struct xr_plan *plan, struct xr_error *err)
{
	return plan_cost_s(plan, err) < 0 ? -1 : 0;
}

double xr_plan_cost_s(const struct xr_plan *plan)
{
	return plan_cost_s(plan, NULL);
}

/* Everything the plan asks for; or how long the statement takes, where there is one. */
static struct xr_description *measure(struct xr_session *session, const struct xr_statement *statement,
                                      const struct xr_plan *plan, struct xr_outcome *outcome, struct xr_error *err)
{
	struct xr_arena arena = {0};
	struct xr_moment from = {0};
	struct xr_description *d = xr_description_new();
	begin(session, &arena, &from);
	if (statement ? xr_statement_run(session->target, statement, plan, session->seed, d, outcome, err)
	              : xr_engine_run(session->target, xr_micro_table, plan, session->seed, NULL, d, outcome, err)) {
		xr_description_free(d);
		d = NULL;
	}
	end(session, &arena, &from, d);
	return d;
}

static struct xr_description *measure_guarded(struct xr_session *session, const struct xr_statement *statement,
                                              const struct xr_plan *plan, struct xr_outcome *outcome,
                                              struct xr_error *err)
{
	static const struct xr_plan everything = {0};
	struct xr_outcome unseen;
	struct xr_memory_guard guard;
	struct xr_description *volatile d = NULL;
	if (setjmp(*xr_memory_guard(&guard)))
		session->broken = no_memory(err);
	else
		d = measure(session, statement, plan ? plan : &everything, outcome ? outcome : &unseen, err);
	xr_memory_unguard(&guard);
	return d;
}

struct xr_description *xr_session_measure(struct xr_session *session, const struct xr_plan *plan,
                                          struct xr_outcome *outcome, struct xr_error *err)
{
	return usable(session, plan, err) ? NULL : measure_guarded(session, NULL, plan, outcome, err);
}

struct xr_description *xr_session_time(struct xr_session *session, const struct xr_statement *statement,
                                       const struct xr_plan *plan, struct xr_outcome *outcome, struct xr_error *err)
{
	if (usable(session, plan, err))
		return NULL;
	if (!statement || !statement->text) {
		xr_fail(err, XR_EXIT_USE, "there is no statement");
		return NULL;
	}
	return measure_guarded(session, statement, plan, outcome, err);
}

bool xr_listing_at(size_t i, struct xr_listing *listing)
{
	size_t n = 0;
	while (xr_micro_table[n])
		n++;
	if (i >= n || !listing)
		return false;
	const struct xr_micro *micro = xr_micro_table[i];
	*listing = (struct xr_listing){micro->id, micro->title, micro->finds, micro->needs, micro->cost_s};
	return true;
}

const char *xr_version(void)
{
	return XR_VERSION;
}
