/* SPDX-License-Identifier: MIT */
/* Parameter: the clock frequency the core really runs at.
 *
 * Idea: a dependent chain of integer additions takes one cycle each (papers 000 §3.1 and 002 §3.2). Two things break
 * that today: cores that add small constants while renaming (so: register + register only), and cores that add twice a
 * cycle (Pentium 4) or fold additions away. So the addition is not believed alone: six other chains must take
 * near-integer multiples of it (the idea of lmbench's mhz, a common divisor of several loops).
 *
 * Algorithm: t_x = time of one operation of chain x. u = t_add; if an addition behind an exclusive or (t_xor+add = t_b)
 * takes clearly more than twice the addition, the addition was folded and u = t_b / 2. m_x = t_x / u for multiply,
 * load, fp add, fp multiply, shift must be near integers. If any is odd the cycle is u; if all are even, the addition
 * runs at twice the clock and the cycle is 2 u, and the fact says that it is ambiguous.
 *
 * A busy thread on the same core slows additions by a tenth and multiplications not at all: then the multiplication
 * gives the cycle (see unslowed()).
 *
 * Samples are tens of microseconds: on a machine with other work, samples of the papers' quarter second all contain
 * preemptions (measured: 60 ms samples read 1.7 GHz on a core at 3.49 GHz, the best of twenty included).
 *
 * When it fails: a target whose chains have no common divisor (an interpreter, a simulator with invented times): the
 * fact is unreliable and says which chain disagrees.
 */
#include "micro/micro.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum chain { ADD, XOR_ADD, MUL, LOAD, FADD, FMUL, SHIFT, N_CHAINS };

static const char *const names[N_CHAINS] = {"add", "xor+add", "mul", "load", "fp add", "fp mul", "shift"};
static const double near_integer = 0.06; /* of a unit; a neighbour's noise is below half of that at these lengths */

/* The loop's own counter takes an adder from a chain of additions now and then, and from nobody else: that one is
 * long. */
static struct xr_spec chain_of(enum xr_op op, enum xr_type type)
{
	struct xr_spec spec = xr_spec_stream(op, type, 1);
	spec.ops.unroll = op == XR_ADD && !xr_types[type].fp ? 256 : op == XR_TEXT ? 128 : 64;
	return spec;
}

/* The widest integers that one instruction adds: wider ones take several. */
static enum xr_type word_of(const struct xr_target_info *info)
{
	switch (info->word_bytes) {
	case 1:
		return XR_I8;
	case 2:
		return XR_I16;
	case 4:
		return XR_I32;
	default:
		return XR_I64;
	}
}

static void make_chains(struct xr_spec *spec, enum xr_type word)
{
	spec[ADD] = chain_of(XR_ADD, word);
	spec[XOR_ADD] = chain_of(XR_TEXT, word);
	spec[XOR_ADD].ops.stream[0].text = "p0 = (p0 ^ p1) + p2";
	spec[MUL] = chain_of(XR_MUL, word);
	spec[LOAD] = chain_of(XR_LOAD, word);
	spec[FADD] = chain_of(XR_ADD, XR_F64);
	spec[FMUL] = chain_of(XR_MUL, XR_F64);
	spec[SHIFT] = chain_of(XR_SHL, word);
}

/* One addition, even where the core folds additions away. */
static double unit_of(const struct xr_reading *r, bool *folded)
{
	double add = r[ADD].ns;
	*folded = r[XOR_ADD].status == XR_READ_OK && add < 0.9 * r[XOR_ADD].ns / 2;
	return *folded ? r[XOR_ADD].ns / 2 : add;
}

/* Whoever uses the core's other thread slows a chain that wants to start an addition every cycle, and hardly one of
 * multiplications: a multiplication that seems to take 2.7 additions takes 3 cycles. Believed when another chain then
 * takes a whole number too. */
static double unslowed(const struct xr_reading *r, double unit, bool *slowed)
{
	double ratio = r[MUL].ns / unit, cycle = r[MUL].ns / ceil(ratio - near_integer);
	*slowed = false;
	if (r[MUL].status != XR_READ_OK || r[MUL].look.calls > 0 || r[MUL].spread > 0.01 || ratio > 12 ||
	    fabs(ratio - round(ratio)) <= near_integer || cycle < 0.75 * unit)
		return unit;
	for (enum chain x = LOAD; x <= FMUL; x++) {
		double m = r[x].ns / cycle;
		if (r[x].status == XR_READ_OK && m < 12 && fabs(m - round(m)) <= near_integer)
			*slowed = true;
	}
	return *slowed ? cycle : unit;
}

struct verdict {
	int odd, even, off;
	enum chain worst;
};

/* Only what the machine does in few cycles can be told odd from even; software floating point cannot. */
static struct verdict compare(const struct xr_reading *r, double unit)
{
	struct verdict v = {0};
	double worst = 0;
	for (enum chain x = MUL; x < N_CHAINS; x++) {
		double m = r[x].ns / unit, off = fabs(m - round(m));
		if (r[x].status != XR_READ_OK || m < 0.5 || m > 12 || r[x].look.calls > 0)
			continue;
		if (off > near_integer * fmax(1, m / 4) && x == SHIFT)
			continue; /* shifts by a variable are several operations on x86: 1.1 or 1.5 is their nature */
		if (off > near_integer * fmax(1, m / 4)) {
			v.off++;
			if (off > worst) {
				worst = off;
				v.worst = x;
			}
		} else if (fmod(round(m), 2) == 1) {
			v.odd++;
		} else {
			v.even++;
		}
	}
	return v;
}

static double confidence(const struct verdict *v, bool double_pumped, double spread)
{
	double c = v->odd + v->even >= 2 ? 0.99 : 0.9;
	if (v->off)
		c -= 0.05 * v->off;
	if (double_pumped)
		c = fmin(c, 0.6);
	return spread <= 0.01 ? c : spread <= 0.05 ? fmin(c, 0.9) : fmin(c, 0.7);
}

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_spec spec[N_CHAINS];
	struct xr_reading r[N_CHAINS];
	struct xr_effort effort = {.samples = 21, .samples_max = 45};
	bool folded;

	make_chains(spec, word_of(xr_run_info(run)));
	if (xr_run_time_with(run, &effort, spec, N_CHAINS, r))
		return -1;
	if (r[ADD].status != XR_READ_OK) {
		xr_fact_none(d, "cpu.frequency", XR_FAILED, "the chain of additions could not be timed: %s",
		             r[ADD].reason);
		return 0;
	}
	bool slowed;
	double unit = unslowed(r, unit_of(r, &folded), &slowed);
	struct verdict v = compare(r, unit);
	/* a shift that takes two additions is what tells such a core from one whose other operations all happen to be
	 * even */
	bool double_pumped = v.even >= 4 && !v.odd && r[SHIFT].status == XR_READ_OK && r[SHIFT].ns > 1.8 * unit;
	double cycle_ns = double_pumped ? 2 * unit : unit;
	double reference = r[ADD].cycles > 0 ? r[ADD].ns / r[ADD].cycles / cycle_ns : 1;
	/* the reference means to be one addition; where times are exact, it is what it is */
	xr_run_cycle(run, fabs(reference - 1) < 0.03 && !xr_run_info(run)->exact ? 1 : reference);

	double sure = confidence(&v, double_pumped, r[ADD].spread);
	struct xr_fact *fact =
		xr_fact_number(d, "cpu.frequency", 1e9 / cycle_ns, "Hz", slowed ? fmin(sure, 0.85) : sure,
	                       folded ? "xor and add chain" : "add chain");
	if (v.odd + v.even == 0 && v.off)
		xr_fact_doubt(fact, "no other chain takes a whole number of additions; %s takes %.2f", names[v.worst],
		              r[v.worst].ns / unit);
	else if (slowed)
		xr_fact_note(fact, "additions take %.2f cycles: something shares the core", r[ADD].ns / cycle_ns);
	else if (double_pumped)
		xr_fact_note(fact,
		             "all other chains take an even number of additions: they seem to run at twice the clock");
	else if (v.off)
		xr_fact_note(fact, "%s takes %.2f additions, not a whole number", names[v.worst], r[v.worst].ns / unit);

	double x[N_CHAINS], y[N_CHAINS];
	size_t n = 0;
	for (enum chain c = ADD; c < N_CHAINS; c++)
		if (r[c].status == XR_READ_OK) {
			x[n] = c;
			y[n++] = r[c].ns / unit;
		}
	xr_series_put(d, "cpu.frequency.chains", "chain", "", x, "time", "additions", y, n);
	xr_fact_add_series(fact, "cpu.frequency.chains");
	return 0;
}

static const char *const finds[] = {"cpu.frequency", NULL};
static const char *const needs[] = {"timer", NULL};

const struct xr_micro xr_micro_frequency = {
	.id = "frequency",
	.title = "clock frequency of the core, from chains of operations",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.4,
	.kinds = 1u << XR_OPS,
	.run = run,
};
