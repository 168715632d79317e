/* SPDX-License-Identifier: MIT */
/* Idea: papers 002 §3.2-3.3 and 001 §3.2. A lone dependent chain shows the latency. N independent chains fill the
 * units: the least time per operation over N is the throughput. How many are in flight follows: latency /
 * throughput.
 *
 * The papers stop at the first N that brings nothing more; fp units of latency 4 that start 2 a cycle read 0.63
 * cycles with 7 streams and 0.50 with 10, so N is far beyond what fills most units. Where the compiled loop shows
 * that so many do not fit into registers, or nobody can look at it, fewer are asked too, and the least decides.
 * Streams that need no registers (XR_FRESH: nothing is carried from statement to statement) help where registers
 * are fewer than operations in flight; where the machine writes over one of its operands they cost a move more,
 * and the least over all still decides.
 */
#include "method/opcost.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { LONE_UNROLL = 64, SLOW_UNROLL = 32, UNROLL = 60, MANY = 12, MANY_UNROLL = 84, FRESH_VARIABLES = 2 };
static const int fewer[] = {4, 8}; /* streams, where many do not fit into registers */

/* The loop's own instructions (count, compare, jump) over a body of at least 32. */
static const double loop_insns = 0.5;
static const double weight_unrest = 0.4; /* of the confidence, when nothing else is steady */
static const double same = 0.03;         /* of a time */
static const double whole = 0.01;        /* of a latency, from a whole number of cycles */
static const double in_registers = 0.05; /* references to the stack per statement */
static const double good_spread = 0.01, usable_spread = 0.05, folded = 0.9;
static const double bent =
	0.06; /* short samples show a few percent of the way into the loop; what is folded, half or more */
static const double no_time = 0.04;  /* cycles: no core starts 25 operations at once */
static const double no_chain = 0.45; /* cycles: no core's adders are more than double-pumped */

static bool is_narrow(enum xr_type type)
{
	return !xr_types[type].fp && !xr_types[type].vector && xr_types[type].bytes < 4;
}

const char *xr_opcost_objection(struct xr_arena *arena, const struct xr_opcost *cost, const struct xr_reading *reading)
{
	/* C widens small integers before it computes: extending them is part of the operation */
	double most = xr_ops[cost->op].most_insns + (is_narrow(cost->type) ? 2 : 0) + loop_insns;
	if (cost->words > 1) /* a product of several words takes each with each */
		most *= cost->op == XR_MUL ? 4.0 * cost->words * cost->words : 4.0 * cost->words;
	const struct xr_look *look = &reading->look;
	if (reading->cycles < no_time || cost->reading[0].cycles < no_chain)
		return "takes no time: the compiler seems to have removed the statement";
	if (reading->nonlinear > bent)
		return xr_arena_printf(arena, "time does not grow with length: %.0f %% off", 100 * reading->nonlinear);
	if (!look->looked || look->calls > 0)
		return NULL;
	if (look->insns < folded)
		return xr_arena_printf(arena, "the compiler left %.2f instructions of each statement", look->insns);
	if (look->insns - look->stack_refs > most)
		return xr_arena_printf(arena, "the compiler makes %.1f instructions of one statement", look->insns);
	return NULL;
}

static bool usable(const struct xr_reading *r)
{
	return r->status == XR_READ_OK && r->cycles > 0;
}

/* The least time per operation, from code without objection where there is any. */
static const struct xr_reading *least(const struct xr_opcost *cost)
{
	struct xr_arena scratch = {0};
	const struct xr_reading *clean = NULL, *any = NULL;
	for (int i = 0; i < cost->n; i++) {
		const struct xr_reading *r = &cost->reading[i];
		if (!usable(r))
			continue;
		if (!any || r->cycles < any->cycles)
			any = r;
		if ((!clean || r->cycles < clean->cycles) && !xr_opcost_objection(&scratch, cost, r))
			clean = r;
	}
	xr_arena_release(&scratch);
	return clean ? clean : any;
}

/* What the registers' places cost, not the operation, where each instruction takes its turn. */
static double moves(const struct xr_opcost *cost, const struct xr_reading *r)
{
	bool in_turn = cost->one_by_one && r->look.looked && r->look.calls <= 0 && r->cycles > r->look.insns - 0.01;
	return in_turn ? r->look.moves : 0;
}

void xr_opcost_decide(struct xr_opcost *cost, double extra_latency)
{
	const struct xr_reading *alone = &cost->reading[0];
	cost->ok = usable(alone);
	if (!cost->ok) {
		cost->status = alone->status == XR_READ_UNSUPPORTED ? XR_UNSUPPORTED : XR_FAILED;
		cost->reason = alone->reason ? alone->reason : "no time was read";
		return;
	}
	cost->alone = alone;
	cost->best = least(cost);
	cost->latency = alone->cycles - extra_latency - moves(cost, alone);
	cost->throughput = cost->best->cycles - moves(cost, cost->best);
}

/* ---- reading ---- */

static struct xr_spec stream(const struct xr_opcost *c, int n, enum xr_link link)
{
	struct xr_spec spec = xr_spec_stream(c->op, c->type, n);
	spec.ops.flavour = c->flavour;
	spec.ops.stream[0].values = c->values;
	spec.ops.stream[0].link = link;
	spec.ops.unroll = xr_ops[c->op].ranged ? SLOW_UNROLL : n == 1 ? LONE_UNROLL : n == MANY ? MANY_UNROLL : UNROLL;
	return spec;
}

/* Many streams are enough where all of them were in registers, and where the same instructions without registers do not
 * take another time: schedulers that bind operations to units early do better with some numbers of streams than with
 * others. */
static bool needs_fewer(const struct xr_opcost *c)
{
	struct xr_arena scratch = {0};
	const struct xr_reading *many = &c->reading[1], *fresh = &c->reading[2];
	bool fit = usable(many) && many->look.looked && many->look.stack_refs < in_registers &&
	           !xr_opcost_objection(&scratch, c, many);
	bool alike = !usable(fresh) || fresh->look.insns > many->look.insns + loop_insns ||
	             fabs(fresh->cycles - many->cycles) <= same * many->cycles;
	xr_arena_release(&scratch);
	return usable(&c->reading[0]) && !(fit && alike);
}

/* Asks what `put` says of each operation and appends the answers. */
static int ask(struct xr_run *run, struct xr_opcost *cost, size_t n,
               int (*put)(const struct xr_opcost *, struct xr_spec *))
{
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, n * XR_OPCOST_READINGS + 1);
	int *count = xr_arena_array(arena, int, n + 1);
	size_t total = 0;
	for (size_t i = 0; i < n; i++) {
		count[i] = cost[i].skip ? 0 : put(&cost[i], spec + total);
		total += (size_t)count[i];
	}
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, total + 1);
	if (total && xr_run_time(run, spec, total, reading))
		return -1;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < count[i]; k++)
			cost[i].reading[cost[i].n++] = *reading++;
	return 0;
}

static int put_first(const struct xr_opcost *c, struct xr_spec *spec)
{
	spec[0] = stream(c, 1, XR_SELF);
	spec[1] = stream(c, MANY, XR_SELF);
	spec[2] = stream(c, FRESH_VARIABLES, XR_FRESH);
	return 3;
}

static int put_fewer(const struct xr_opcost *c, struct xr_spec *spec)
{
	int n = 0;
	for (size_t i = 0; i < sizeof fewer / sizeof *fewer && needs_fewer(c); i++)
		spec[n++] = stream(c, fewer[i], XR_SELF);
	return n;
}

/* Whoever disturbs so many may have moved the others steadily. */
static double unrest_of(const struct xr_opcost *cost, size_t n)
{
	size_t read = 0, unsteady = 0;
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < cost[i].n; k++)
			if (usable(&cost[i].reading[k])) {
				read++;
				unsteady += cost[i].reading[k].spread > usable_spread;
			}
	return read ? (double)unsteady / (double)read : 0;
}

int xr_opcosts_time(struct xr_run *run, struct xr_opcost *cost, size_t n)
{
	const int word = xr_run_info(run)->word_bytes;
	for (size_t i = 0; i < n; i++) {
		cost[i].words = word > 0 ? (xr_types[cost[i].type].bytes + word - 1) / word : 1;
		cost[i].one_by_one = word > 0 && word < 4;
	}
	if (ask(run, cost, n, put_first) || ask(run, cost, n, put_fewer))
		return -1;
	double unrest = unrest_of(cost, n);
	for (size_t i = 0; i < n; i++)
		cost[i].unrest = unrest;
	return 0;
}

/* ---- telling ---- */

/* Samples that somebody else had a part in may agree with each other and be wrong. A chain has room for others,
 * and what takes a whole number of cycles was hardly slowed. */
static double steadiness(const struct xr_reading *r, bool chain)
{
	if (r->disturbed)
		return !chain ? 0.6 : fabs(r->cycles - round(r->cycles)) <= whole * r->cycles ? 0.85 : 0.5;
	return r->spread <= good_spread ? 0.99 : r->spread <= usable_spread ? 0.95 : 0.6;
}

static double confidence(const struct xr_opcost *cost, const struct xr_reading *r)
{
	double steady = steadiness(r, r == cost->alone);
	/* no more code than this that was slowed down might have been the quickest */
	for (int i = 1; i < cost->n && r != cost->alone; i++)
		if (usable(&cost->reading[i]) && cost->reading[i].look.insns < r->look.insns + loop_insns)
			steady = fmin(steady, steadiness(&cost->reading[i], false));
	return steady * (1 - weight_unrest * cost->unrest);
}

static void judge(struct xr_run *run, const struct xr_opcost *cost, const struct xr_reading *r, struct xr_fact *fact)
{
	const char *objection = xr_opcost_objection(xr_run_arena(run), cost, r);
	if (objection)
		xr_fact_doubt(fact, "%s", objection);
	else if (r->look.calls > 0)
		xr_fact_note(fact, "done by a library function, not by an instruction");
	else if (r->bimodal)
		xr_fact_note(fact, "two speeds were seen, the faster is shown: something shares the core");
	else if (r->disturbed)
		xr_fact_note(fact, "something shared the core all the while");
}

static const char *id_of(struct xr_run *run, const struct xr_opcost *cost, const char *what, const char *suffix)
{
	return xr_arena_printf(xr_run_arena(run), "op.%s.%s.%s%s", xr_ops[cost->op].name, xr_types[cost->type].name,
	                       what, suffix);
}

void xr_opcost_put(struct xr_run *run, const struct xr_opcost *cost, const char *suffix)
{
	struct xr_description *d = xr_run_description(run);
	const char *chain = cost->flavour == XR_NATIVE ? "chain, native flavour" : "chain";
	const char *streams = cost->flavour == XR_NATIVE ? "streams, native flavour" : "streams";
	const char *id;
	if (!cost->ok) {
		xr_opcost_put_none(run, cost, suffix, cost->status, cost->reason);
		return;
	}
	double c1 = confidence(cost, cost->alone), c2 = confidence(cost, cost->best);
	id = id_of(run, cost, "latency", suffix);
	double latency = xr_snap_integer(cost->latency, 0.05);
	judge(run, cost, cost->alone, xr_fact_number(d, id, round(latency * 1000) / 1000, "cycles", c1, chain));
	id = id_of(run, cost, "throughput", suffix);
	struct xr_fact *fact = xr_fact_number(d, id, round(cost->throughput * 1000) / 1000, "cycles", c2, streams);
	judge(run, cost, cost->best, fact);
	if (!strcmp(suffix, "_max")) /* a range: two more ids, no third count in flight */
		return;
	id = id_of(run, cost, "in_flight", suffix);
	double ratio = cost->latency / cost->throughput;
	fact = xr_fact_count(d, id, ratio < 1 ? 1 : llround(ratio), "count",
	                     fmin(c1, c2) * (fabs(ratio - round(ratio)) < 0.35 ? 1 : 0.8), "latency over throughput");
	judge(run, cost, xr_opcost_objection(xr_run_arena(run), cost, cost->alone) ? cost->alone : cost->best, fact);
}

void xr_opcost_put_none(struct xr_run *run, const struct xr_opcost *cost, const char *suffix, enum xr_status status,
                        const char *reason)
{
	static const char *const what[] = {"latency", "throughput", "in_flight"};
	for (size_t i = 0; i < (strcmp(suffix, "_max") ? 3u : 2u); i++) {
		const char *id = id_of(run, cost, what[i], suffix);
		xr_fact_none(xr_run_description(run), id, status, "%s", reason);
	}
}
