/* Idea: papers 002 §3.2-3.3 and 001 §3.2. A lone dependent chain shows the latency. N independent chains fill the
 * units: the least time per operation over N is the throughput. How many are in flight follows: latency / throughput.
 *
 * The papers stop at the first N that brings nothing more; fp units of latency 4 that start 2 a cycle read 0.63 cycles
 * with 7 streams and 0.50 with 10, so the least over a spread of N decides, far beyond what fills most units. Streams
 * that need no registers (XR_FRESH: nothing is carried from statement to statement) help where registers are fewer than
 * operations in flight; where the machine writes over one of its operands they cost a move more, and the least over all
 * still decides.
 */
#include "method/opcost.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

static const int all_streams[] = {2, 4, 8, 12};
enum { LONE_UNROLL = 128, LONE_UNROLL_SLOW = 32, FRESH_VARIABLES = 2 };

/* The loop's own instructions (count, compare, jump) over a body of at least 32. */
static const double loop_insns = 0.5;
static const double weight_unrest = 0.4; /* of the confidence, when nothing else is steady */
static const double good_spread = 0.01, usable_spread = 0.05, folded = 0.9;
static const double bent =
	0.06; /* short samples show a few percent of the way into the loop; what is folded, half or more */
static const double no_time = 0.04;  /* cycles: no core starts 25 operations at once */
static const double no_chain = 0.45; /* cycles: no core's adders are more than double-pumped */

static struct xr_spec stream(enum xr_op op, enum xr_type type, int n, enum xr_flavour flavour, enum xr_values values)
{
	struct xr_spec spec = xr_spec_stream(op, type, n);
	spec.ops.flavour = flavour;
	spec.ops.stream[0].values = values;
	if (xr_ops[op].ranged)
		spec.ops.unroll = LONE_UNROLL_SLOW;
	return spec;
}

int xr_opcost_make(struct xr_spec *spec, enum xr_op op, enum xr_type type, enum xr_flavour flavour,
                   enum xr_values values)
{
	int n = 0;
	spec[n] = stream(op, type, 1, flavour, values);
	if (!xr_ops[op].ranged)
		spec[n].ops.unroll = LONE_UNROLL;
	n++;
	for (size_t i = 0; i < sizeof all_streams / sizeof *all_streams; i++)
		spec[n++] = stream(op, type, all_streams[i], flavour, values);
	spec[n] = stream(op, type, FRESH_VARIABLES, flavour, values);
	spec[n++].ops.stream[0].link = XR_FRESH;
	return n;
}

static bool is_narrow(enum xr_type type)
{
	return !xr_types[type].fp && !xr_types[type].vector && xr_types[type].bytes < 4;
}

const char *xr_opcost_objection(struct xr_arena *arena, const struct xr_opcost *cost, const struct xr_reading *reading)
{
	/* C widens small integers before it computes: extending them is part of the operation */
	double most = xr_ops[cost->op].most_insns + (is_narrow(cost->type) ? 2 : 0) + loop_insns;
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
	cost->latency = alone->cycles - extra_latency;
	cost->throughput = cost->best->cycles;
}

double xr_opcost_unrest(const struct xr_reading *reading, size_t n)
{
	size_t read = 0, unsteady = 0;
	for (size_t i = 0; i < n; i++)
		if (usable(&reading[i])) {
			read++;
			unsteady += reading[i].spread > usable_spread;
		}
	return read ? (double)unsteady / (double)read : 0;
}

static double confidence(const struct xr_opcost *cost, const struct xr_reading *r)
{
	double steady = r->spread <= good_spread ? 0.99 : r->spread <= usable_spread ? 0.95 : 0.6;
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
