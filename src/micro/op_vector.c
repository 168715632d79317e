/* SPDX-License-Identifier: MIT */
/* Parameter: latency, throughput and operations in flight of operations on short vectors.
 *
 * Idea: as for scalars (op.c, method/opcost.c), on GNU vector types, so the same on every instruction set.
 *
 * Algorithm: first one addition per type in each flavour, to see which types the compiler takes as it comes, and
 * which only when told to use all the machine has. Then everything else on the flavour that takes the type: the plain
 * one where both do, except where the native one does an operation in fewer instructions (a multiply-add).
 *
 * When it fails: a type no flavour takes is unsupported, with the compiler's words. A vector wider than the machine's
 * is taken apart by some compilers (seen in the assembler text: unreliable, with the number of instructions).
 */
#include "micro/micro.h"

#include "method/opcost.h"

enum { N_VECTORS = XR_N_TYPES - XR_N_SCALARS, COSTS_MAX = XR_N_NAMED_OPS * N_VECTORS * 2, PROBE_UNROLL = 16 };

static bool wanted(struct xr_run *run, enum xr_op op, enum xr_type type)
{
	static const char *const what[] = {"latency", "throughput", "in_flight"};
	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		const char *id = xr_arena_printf(xr_run_arena(run), "op.%s.%s.%s", xr_ops[op].name, xr_types[type].name,
		                                 what[i]);
		if (xr_run_wants(run, id))
			return true;
	}
	return false;
}

static bool any_wanted(struct xr_run *run, enum xr_type type)
{
	for (enum xr_op op = XR_ADD; op < (enum xr_op)XR_N_NAMED_OPS; op++)
		if (xr_op_has_type(op, type) && wanted(run, op, type))
			return true;
	return false;
}

/* takes[t][f]: the addition's reading for each type and flavour. */
static int probe(struct xr_run *run, struct xr_reading takes[N_VECTORS][2])
{
	struct xr_spec spec[N_VECTORS * 2];
	struct xr_effort effort = {.samples = 3, .samples_max = 3, .hasty = true}; /* it is how, not how quickly */
	for (int t = 0; t < N_VECTORS; t++)
		for (int f = XR_PLAIN; f <= XR_NATIVE; f++) {
			spec[2 * t + f] = xr_spec_stream(XR_ADD, (enum xr_type)(XR_N_SCALARS + t), 1);
			spec[2 * t + f].ops.unroll = PROBE_UNROLL;
			spec[2 * t + f].ops.flavour = xr_run_info(run)->has_flavour[f] ? (enum xr_flavour)f : XR_PLAIN;
		}
	return xr_run_time_with(run, &effort, spec, 2 * N_VECTORS, &takes[0][0]);
}

/* One addition that costs one instruction is a type the flavour has; more are a type taken apart. */
static bool has(const struct xr_reading *add)
{
	return add->status == XR_READ_OK && (!add->look.looked || add->look.insns < 1.5);
}

static int run(struct xr_run *run)
{
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_reading takes[N_VECTORS][2];
	struct xr_opcost *cost = xr_arena_array(arena, struct xr_opcost, COSTS_MAX);
	size_t n_costs = 0;

	if (probe(run, takes))
		return -1;
	for (int t = 0; t < N_VECTORS; t++) {
		enum xr_type type = (enum xr_type)(XR_N_SCALARS + t);
		bool plain = has(&takes[t][XR_PLAIN]), native = has(&takes[t][XR_NATIVE]);
		for (enum xr_op op = XR_ADD; op < (enum xr_op)XR_N_NAMED_OPS; op++) {
			if (!xr_op_has_type(op, type) || !any_wanted(run, type) || !wanted(run, op, type))
				continue;
			struct xr_opcost *c = &cost[n_costs++];
			/* a multiplication of integers and a multiply-add are younger than the vectors themselves */
			bool young = op == XR_FMA || (op == XR_MUL && !xr_types[type].fp);
			*c = (struct xr_opcost){.op = op, .type = type};
			c->flavour = native && (!plain || young) ? XR_NATIVE : XR_PLAIN;
			c->skip = !plain && !native;
		}
	}
	if (xr_opcosts_time(run, cost, n_costs))
		return -1;
	for (size_t i = 0; i < n_costs; i++) {
		struct xr_opcost *c = &cost[i];
		const struct xr_reading *add = &takes[c->type - XR_N_SCALARS][XR_NATIVE];
		if (c->skip) {
			xr_opcost_put_none(run, c, "", XR_UNSUPPORTED,
			                   add->status == XR_READ_OK ? "the compiler takes vectors of this size apart"
			                                             : add->reason);
			continue;
		}
		xr_opcost_decide(c, 0);
		xr_opcost_put(run, c, "");
	}
	return 0;
}

#define VECTORS(WHAT)                                                                                                  \
	"op.*.v16f32." WHAT, "op.*.v16f64." WHAT, "op.*.v32f32." WHAT, "op.*.v32f64." WHAT, "op.*.v64f32." WHAT,       \
		"op.*.v64f64." WHAT, "op.*.v16i32." WHAT, "op.*.v32i32." WHAT, "op.*.v64i32." WHAT

static const char *const finds[] = {VECTORS("latency"), VECTORS("throughput"), VECTORS("in_flight"), NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_op_vector = {
	.id = "op_vector",
	.title = "latency, throughput and operations in flight, vector types",
	.finds = finds,
	.needs = needs,
	.cost_s = 6,
	.kinds = 1u << XR_OPS | XR_WITH_COMPILER,
	.run = run,
	.word = xr_op_word,
};
