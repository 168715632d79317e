/* SPDX-License-Identifier: MIT */
/* Parameter: latency, throughput and operations in flight of every operation on every scalar type C has it for.
 *
 * Idea: paper 002 §3.2-3.3 (chains and independent streams), paper 001 §3.2 (the least over all numbers of
 * streams); see method/opcost.c.
 *
 * Algorithm: one batch for nearly everything (in a hurry two, the first with the main operations), so that it
 * compiles at once and is read interleaved. Where the compiler may use all the machine has (the native flavour)
 * and a multiply-add or a lone chain gets quicker by 5 %, that is told too: a fused multiply-add is an
 * instruction of its own, and only the native flavour may use it on x86-64. Division, remainder and square root
 * depend on their operands: `latency` and `throughput` are for operands that are quick to divide, `latency_max`
 * and `throughput_max` for slow ones (long quotient, full mantissa). Chains of division run through the divisor
 * and come back by an addition, whose latency is subtracted (square root: by a multiplication). `cvt` is the way
 * to the other kind of number and back; only that sum can be seen in C.
 *
 * When it fails: the compiler takes a statement apart or folds it (seen in its assembler text: the fact is
 * unreliable), a neighbour on the same core makes throughput bimodal (the quicker mode is told, and the doubt).
 */
#include "micro/micro.h"

#include "method/opcost.h"

#include <math.h>
#include <string.h>

enum { COSTS_MAX = XR_N_NAMED_OPS * XR_N_SCALARS * 3 };

struct batch {
	struct xr_opcost cost[COSTS_MAX];
	size_t n_costs;
};

static bool wanted(struct xr_run *run, enum xr_op op, enum xr_type type)
{
	static const char *const what[] = {"latency", "throughput", "in_flight", "latency_max", "throughput_max"};
	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		const char *id = xr_arena_printf(xr_run_arena(run), "op.%s.%s.%s", xr_ops[op].name, xr_types[type].name,
		                                 what[i]);
		if (xr_run_wants(run, id))
			return true;
	}
	return false;
}

static void add(struct batch *b, enum xr_op op, enum xr_type type, enum xr_flavour flavour, enum xr_values values)
{
	struct xr_opcost *c = &b->cost[b->n_costs++];
	*c = (struct xr_opcost){.op = op, .type = type, .flavour = flavour, .values = values};
}

static const struct xr_opcost *find(const struct batch *b, enum xr_op op, enum xr_type type, enum xr_flavour flavour,
                                    enum xr_values values)
{
	for (size_t i = 0; i < b->n_costs; i++) {
		const struct xr_opcost *c = &b->cost[i];
		if (c->op == op && c->type == type && c->flavour == flavour && c->values == values)
			return c;
	}
	return NULL;
}

/* In a hurry there may be time for one batch only: what most programs are made of comes in the first. */
enum part { ALL, MAIN, REST };

static bool is_of_part(enum part part, enum xr_op op, enum xr_type t)
{
	bool main_type = t == XR_I32 || t == XR_I64 || t == XR_F64;
	bool is_main = main_type && (op == XR_ADD || op == XR_MUL || op == XR_DIV || op == XR_FMA);
	return part == ALL || (part == MAIN) == is_main;
}

/* What is asked for, and what it takes to subtract the extra operation of its chain. */
static void collect(struct xr_run *run, struct batch *b, enum part part)
{
	bool take[XR_N_NAMED_OPS][XR_N_SCALARS] = {{false}};
	for (enum xr_type t = XR_I8; t < (enum xr_type)XR_N_SCALARS; t++)
		for (enum xr_op op = XR_ADD; op < (enum xr_op)XR_N_NAMED_OPS; op++)
			if (xr_op_has_type(op, t) && is_of_part(part, op, t) && wanted(run, op, t)) {
				take[op][t] = true;
				if (xr_op_extra(op, t) >= 0)
					take[xr_op_extra(op, t)][t] = true;
			}
	for (enum xr_type t = XR_I8; t < (enum xr_type)XR_N_SCALARS; t++)
		for (enum xr_op op = XR_ADD; op < (enum xr_op)XR_N_NAMED_OPS; op++) {
			if (!take[op][t])
				continue;
			add(b, op, t, XR_PLAIN, XR_SHORT);
			if (xr_ops[op].ranged)
				add(b, op, t, XR_PLAIN, XR_LONG);
			if (op == XR_FMA && xr_run_info(run)->has_flavour[XR_NATIVE])
				add(b, op, t, XR_NATIVE, XR_SHORT);
		}
}

static double extra_latency(const struct batch *b, const struct xr_opcost *c)
{
	int extra = xr_op_extra(c->op, c->type);
	const struct xr_opcost *other = extra < 0 ? NULL : find(b, (enum xr_op)extra, c->type, XR_PLAIN, XR_SHORT);
	return other && other->reading[0].status == XR_READ_OK ? other->reading[0].cycles : 0;
}

/* p * q + r as two instructions is no multiply-add; the flavour that has it in one is. */
static void put_fma(struct xr_run *run, const struct xr_opcost *plain, const struct xr_opcost *native)
{
	struct xr_arena *arena = xr_run_arena(run);
	const struct xr_opcost *c = plain;
	if (native && native->ok && (!plain->ok || xr_opcost_objection(arena, plain, plain->alone)) &&
	    !xr_opcost_objection(arena, native, native->alone))
		c = native;
	if (c->ok && c->alone->look.looked && c->alone->look.insns > 1.5 && c->alone->look.calls == 0)
		xr_opcost_put_none(run, c, "", XR_UNSUPPORTED,
		                   "the compiler makes a multiplication and an addition of it");
	else
		xr_opcost_put(run, c, "");
}

static void put_all(struct xr_run *run, const struct batch *b)
{
	for (size_t i = 0; i < b->n_costs; i++) {
		const struct xr_opcost *c = &b->cost[i];
		if (!wanted(run, c->op, c->type) || c->flavour == XR_NATIVE)
			continue;
		if (c->op == XR_FMA)
			put_fma(run, c, find(b, XR_FMA, c->type, XR_NATIVE, XR_SHORT));
		else
			xr_opcost_put(run, c, c->values == XR_LONG ? "_max" : "");
	}
}

/* Slow operands that turn out no slower within the error are the same. */
static void order_range(struct batch *b)
{
	for (size_t i = 0; i < b->n_costs; i++) {
		struct xr_opcost *slow = &b->cost[i];
		if (slow->values != XR_LONG || !slow->ok)
			continue;
		const struct xr_opcost *quick = find(b, slow->op, slow->type, slow->flavour, XR_SHORT);
		if (quick->ok) {
			slow->latency = fmax(slow->latency, quick->latency);
			slow->throughput = fmax(slow->throughput, quick->throughput);
		}
	}
}

static int measure(struct xr_run *run, enum part part)
{
	struct batch *b = xr_arena_alloc(xr_run_arena(run), sizeof *b);
	collect(run, b, part);
	if (!b->n_costs)
		return 0;
	if (xr_opcosts_time(run, b->cost, b->n_costs))
		return -1;
	for (size_t i = 0; i < b->n_costs; i++)
		xr_opcost_decide(&b->cost[i], extra_latency(b, &b->cost[i]));
	order_range(b);
	put_all(run, b);
	return 0;
}

static int run(struct xr_run *run)
{
	if (!xr_run_quick(run))
		return measure(run, ALL);
	return measure(run, MAIN) ? -1 : measure(run, REST);
}

#define SCALARS(OP, WHAT)                                                                                              \
	"op." OP ".i8." WHAT, "op." OP ".i16." WHAT, "op." OP ".i32." WHAT, "op." OP ".i64." WHAT,                     \
		"op." OP ".f32." WHAT, "op." OP ".f64." WHAT

static const char *const finds[] = {SCALARS("*", "latency"),        SCALARS("*", "throughput"),
                                    SCALARS("*", "in_flight"),      SCALARS("*", "latency_max"),
                                    SCALARS("*", "throughput_max"), NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_op = {
	.id = "op",
	.title = "latency, throughput and operations in flight, scalar types",
	.finds = finds,
	.needs = needs,
	.cost_s = 6,
	.kinds = 1u << XR_OPS | XR_WITH_COMPILER,
	.run = run,
	.word = xr_op_word,
};
