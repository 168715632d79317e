/* SPDX-License-Identifier: MIT */
#include "listener.h"

static int pass_on(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	struct listener *l = (struct listener *)target;
	int done = l->heard ? l->heard(l->self, specs, n, out, err) : 0;
	l->questions++;
	return done ? (done < 0 ? -1 : 0) : xr_target_time(l->behind, effort, specs, n, out, err);
}

static int move(struct xr_target *target, int cpu, struct xr_error *err)
{
	struct listener *l = (struct listener *)target;
	int status = xr_target_move(l->behind, cpu, err);
	l->target.info = l->behind->info;
	return status;
}

static void settle(struct xr_target *target)
{
	xr_target_settle(((struct listener *)target)->behind);
}

static void nothing(struct xr_target *target)
{
	(void)target;
}

static const struct xr_backend backend = {.time = pass_on, .move = move, .settle = settle, .free = nothing};

void listener_init(struct listener *listener, struct xr_target *behind)
{
	*listener = (struct listener){.behind = behind};
	xr_target_init(&listener->target, &backend);
	listener->target.info = behind->info;
	listener->target.effort = behind->effort;
}

void listener_release(struct listener *listener)
{
	xr_target_deinit(&listener->target);
}
