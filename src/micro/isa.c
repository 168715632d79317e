/* SPDX-License-Identifier: MIT */
/* Parameter: which kinds of instructions there are: floating point, fused multiply-add, vectors and their native
 * width.
 *
 * Idea (papers 000 §3.2, 002 §3.4): the papers take floating point for hardware when an addition takes less than
 * ten cycles, and a multiply-add for fused when it takes no longer than a multiplication, which has said yes on
 * machines that have none. Here each answer has two witnesses.
 *
 * Algorithm:
 *   fpu: an addition takes less than ten cycles, and the compiled loop calls no function.
 *   fma: (1 + e) (1 - e) - 1 is -e^2 when rounded once, 0 when the product is rounded first. A statement that lingers when
 *        it is not 0 gets slow exactly on machines that fuse; and a multiply-add must cost less than both of its halves.
 *   simd: an addition of two vectors is one instruction, and it runs. The width is the widest at which it costs no more
 *        than at half of it, for any type of element; so a core that splits wide vectors in two is found out.
 * Everything is asked of the compiler told to use all the machine has, and of the compiler as it comes
 * (isa.plain.*): the machine may have what programs do not get. A compiler that refuses a type, or an instruction
 * that kills the program, is an answer.
 *
 * When it fails: extended precision in registers (x87) rounds late without fusing; then only the cost says no,
 * and the fact is unreliable when the two witnesses contradict each other.
 */
#include "micro/micro.h"

#include "method/steady.h"

#include <math.h>
#include <string.h>

enum { STREAMS = 8, UNROLL = 32, UNROLL_FUSED = 16, N_FLAVOURS = 2, SPECS_MAX = 128 };
static const double fpu_cycles = 10;   /* papers 000 §3.2, 002 §3.4 */
static const double trap_cycles = 100; /* no trap into a kernel is quicker than that */
static const double cheaper = 0.9;
static const double same_cost = 1.15; /* of an operation on twice the width; splitting costs 2 */
static const double one_insn = 1.3;   /* instructions per statement */
static const double lingers = 20;     /* cycles; it takes about a hundred */
static const double clearly =
	1.3; /* times as long; the twenty steps of lingering take as long as a few operations, anywhere */

/* What is asked in one batch, with the place of each answer. */
struct ask {
	struct xr_spec spec[SPECS_MAX];
	struct xr_reading reading[SPECS_MAX];
	int n;
};

struct fp_asks {
	int add, mul, fma, fused[2]; /* places; fused by enum xr_values */
};

struct isa {
	struct xr_run *run;
	struct ask ask;
	double noisy; /* share of the readings that were not seen twice */
	struct fp_asks fp[N_FLAVOURS][XR_N_SCALARS];
	int streams[N_FLAVOURS][XR_N_TYPES], fresh[N_FLAVOURS][XR_N_TYPES]; /* throughput of addition; -1: not asked */
};

static int put_spec(struct ask *ask, enum xr_op op, enum xr_type type, int n, enum xr_flavour flavour, int unroll)
{
	struct xr_spec *spec = &ask->spec[ask->n];
	*spec = xr_spec_stream(op, type, n);
	spec->ops.flavour = flavour;
	spec->ops.unroll = unroll;
	return ask->n++;
}

static void ask_fp(struct isa *isa, enum xr_type type, enum xr_flavour flavour)
{
	struct fp_asks *fp = &isa->fp[flavour][type];
	fp->add = put_spec(&isa->ask, XR_ADD, type, 1, flavour, UNROLL);
	fp->mul = put_spec(&isa->ask, XR_MUL, type, 1, flavour, UNROLL);
	fp->fma = put_spec(&isa->ask, XR_FMA, type, 1, flavour, UNROLL);
	for (int v = XR_SHORT; v <= XR_LONG; v++) {
		fp->fused[v] = put_spec(&isa->ask, XR_FUSED, type, 1, flavour, UNROLL_FUSED);
		isa->ask.spec[fp->fused[v]].ops.stream[0].values = (enum xr_values)v;
	}
}

static void ask_width(struct isa *isa, enum xr_type type, enum xr_flavour flavour)
{
	isa->streams[flavour][type] = put_spec(&isa->ask, XR_ADD, type, STREAMS, flavour, UNROLL);
	isa->fresh[flavour][type] = put_spec(&isa->ask, XR_ADD, type, 2, flavour, UNROLL);
	isa->ask.spec[isa->fresh[flavour][type]].ops.stream[0].link = XR_FRESH;
}

/* Types grouped: the compiler gets neighbours of one type in one file. */
static void ask_all(struct isa *isa)
{
	const struct xr_target_info *info = xr_run_info(isa->run);
	for (int f = XR_PLAIN; f <= XR_NATIVE; f++)
		for (int t = 0; t < XR_N_TYPES; t++) {
			isa->streams[f][t] = isa->fresh[f][t] = -1;
			bool wide = xr_types[t].vector || t == XR_I32 || xr_types[t].fp;
			if (!info->has_flavour[f] || !wide)
				continue;
			if (f == XR_PLAIN && info->has_flavour[XR_NATIVE] && xr_types[t].element == XR_I32)
				continue; /* what comes plainly is asked of fp types alone: it costs compiling */
			if (!xr_types[t].vector && xr_types[t].fp)
				ask_fp(isa, (enum xr_type)t, (enum xr_flavour)f);
			ask_width(isa, (enum xr_type)t, (enum xr_flavour)f);
		}
}

static const struct xr_reading *at(const struct isa *isa, int place)
{
	return &isa->ask.reading[place];
}

static bool ok(const struct xr_reading *r)
{
	return r->status == XR_READ_OK;
}

/* An operation that fails is an answer only where others run: an addition of integers beside it is the witness. Puts the fact
 * that cannot be had, and says so, where that failed as well. */
static bool nothing_runs(struct isa *isa, enum xr_flavour flavour, const struct xr_reading *r, const char *id)
{
	int place =
		isa->streams[flavour][XR_I32] >= 0 ? isa->streams[flavour][XR_I32] : isa->streams[XR_NATIVE][XR_I32];
	if (r->status != XR_READ_FAILED || r->refused || (place >= 0 && ok(at(isa, place))))
		return false;
	xr_fact_none(xr_run_description(isa->run), id, XR_FAILED, "%s", r->reason);
	return true;
}

/* ---- floating point ---- */

static void put_fpu(struct isa *isa, enum xr_type type, enum xr_flavour flavour, const char *id)
{
	const struct xr_reading *add = at(isa, isa->fp[flavour][type].add);
	struct xr_description *d = xr_run_description(isa->run);
	if (nothing_runs(isa, flavour, add, id))
		return;
	if (!ok(add)) {
		xr_fact_note(xr_fact_bool(d, id, false, 0.95, "chain"), "%s", add->reason);
		return;
	}
	const char *untimed = xr_run_info(isa->run)->untimed;
	if (untimed && add->look.looked) {
		xr_fact_note(xr_fact_bool(d, id, add->look.calls < 0.5, 0.95, "compiled loop, and it runs"),
		             "from the compiled loop alone: %s", untimed);
		return;
	}
	if (untimed) {
		xr_fact_none(d, id, XR_UNSUPPORTED, "%s, and the compiled loop cannot be inspected", untimed);
		return;
	}
	bool quick = add->cycles < fpu_cycles, looked = add->look.looked, called = looked && add->look.calls >= 0.5;
	bool slow_insn = looked && !called && !quick && add->cycles < trap_cycles;
	struct xr_fact *fact = xr_fact_bool(d, id, (quick && !called) || slow_insn, !looked || slow_insn ? 0.8 : 0.99,
	                                    "chain, compiled loop");
	if (quick && called)
		xr_fact_doubt(fact, "an addition takes %.1f cycles, yet a library function does it", add->cycles);
	else if (slow_insn)
		xr_fact_note(fact, "an instruction, but a slow one: %.1f cycles", add->cycles);
	else if (looked && !called && !quick)
		xr_fact_doubt(fact, "an instruction that takes %.0f cycles: perhaps it traps", add->cycles);
}

/* Does a multiply-add cost less than a multiplication and an addition? */
static bool fma_is_cheaper(const struct isa *isa, const struct fp_asks *fp)
{
	return ok(at(isa, fp->fma)) && ok(at(isa, fp->mul)) && ok(at(isa, fp->add)) &&
	       at(isa, fp->fma)->cycles < cheaper * (at(isa, fp->mul)->cycles + at(isa, fp->add)->cycles);
}

static void put_fma(struct isa *isa, enum xr_type type, enum xr_flavour flavour, const char *id)
{
	const struct fp_asks *fp = &isa->fp[flavour][type];
	const struct xr_reading *exact = at(isa, fp->fused[XR_SHORT]), *rounded = at(isa, fp->fused[XR_LONG]);
	struct xr_description *d = xr_run_description(isa->run);
	if (nothing_runs(isa, flavour, exact, id) || nothing_runs(isa, flavour, rounded, id))
		return;
	if (!ok(exact) || !ok(rounded)) {
		const char *why = ok(exact) ? rounded->reason : exact->reason;
		xr_fact_note(xr_fact_bool(d, id, false, 0.95, "rounding"), "%s", why);
		return;
	}
	const char *untimed = xr_run_info(isa->run)->untimed;
	bool once = rounded->cycles - exact->cycles > lingers, less = fma_is_cheaper(isa, fp);
	if (untimed) { /* whether it lingers is no matter of the clock's truth, only of clearly longer or not */
		double longer = rounded->ns / exact->ns;
		struct xr_fact *seen = xr_fact_bool(d, id, longer > clearly, 0.9, "rounded once");
		xr_fact_note(seen, "what it costs is not known: %s", untimed);
		if (longer > sqrt(clearly) && longer < clearly * sqrt(clearly))
			xr_fact_doubt(seen, "%.2f times as long where it is rounded once: too near to tell", longer);
		return;
	}
	struct xr_fact *fact = xr_fact_bool(d, id, once, 0.99, "rounded once, and cheaper than its halves");
	if (once && !less)
		xr_fact_doubt(
			fact,
			"rounded once, but at %.1f cycles no cheaper than its halves: extended precision, perhaps",
			at(isa, fp->fma)->cycles);
	else if (!once && less && at(isa, fp->fma)->look.calls < 0.5)
		xr_fact_note(fact, "p * q + r takes less than its halves, yet the product is rounded first");
}

/* ---- vectors ---- */

/* Cycles of an independent addition; INFINITY: it does not run. */
static double cost(const struct isa *isa, enum xr_flavour flavour, enum xr_type type)
{
	double least = INFINITY;
	const int place[] = {isa->streams[flavour][type], isa->fresh[flavour][type]};
	for (int i = 0; i < 2; i++)
		if (place[i] >= 0 && ok(at(isa, place[i])))
			least = fmin(least, at(isa, place[i])->cycles);
	return least;
}

/* Is an addition of this type one instruction? Where nobody can look: less than two of half the width? */
static bool is_native(const struct isa *isa, enum xr_flavour flavour, enum xr_type type, enum xr_type half)
{
	if (isa->streams[flavour][type] < 0)
		return false;
	const struct xr_reading *r = at(isa, isa->streams[flavour][type]);
	if (!ok(r) || r->look.calls >= 0.5)
		return false;
	if (r->look.looked)
		return r->look.insns - r->look.stack_refs <= one_insn;
	return cost(isa, flavour, type) < 1.7 * cost(isa, flavour, half);
}

/* The type of the same elements and half the width; the element itself below the narrowest. */
static enum xr_type half_of(enum xr_type type)
{
	for (int t = 0; t < XR_N_TYPES; t++)
		if (xr_types[t].element == xr_types[type].element && xr_types[t].vector &&
		    xr_types[t].bytes * 2 == xr_types[type].bytes)
			return (enum xr_type)t;
	return xr_types[type].element;
}

/* Widest vector for which some type costs no more than at half the width. */
static int native_width(const struct isa *isa, enum xr_flavour flavour)
{
	int width = 0;
	for (int t = XR_V16F32; t < XR_N_TYPES; t++) {
		enum xr_type half = half_of((enum xr_type)t);
		double now = cost(isa, flavour, (enum xr_type)t), before = cost(isa, flavour, half);
		if (!is_native(isa, flavour, (enum xr_type)t, half) ||
		    (!xr_run_info(isa->run)->untimed && now > same_cost * before))
			continue;
		if (xr_types[t].bytes > width)
			width = xr_types[t].bytes;
	}
	return width;
}

static void put_simd(struct isa *isa, enum xr_flavour flavour, const char *prefix)
{
	struct xr_description *d = xr_run_description(isa->run);
	int width = native_width(isa, flavour);
	const char *id = xr_arena_printf(xr_run_arena(isa->run), "%s.simd.width", prefix);
	if (!width && nothing_runs(isa, flavour, at(isa, isa->streams[flavour][XR_V16F32]), id))
		return;
	if (width)
		xr_fact_count(d, id, width, "bytes", isa->noisy <= 0.25 ? 0.99 : 0.8,
		              "cost of an addition against half the width");
	else
		xr_fact_none(d, id, XR_UNSUPPORTED, "no operation on vectors costs less than on their elements");
}

static void put_types(struct isa *isa, enum xr_flavour flavour)
{
	struct xr_description *d = xr_run_description(isa->run);
	for (int t = XR_V16F32; t < XR_N_TYPES; t++) {
		const char *id = xr_arena_printf(xr_run_arena(isa->run), "isa.simd.%s", xr_types[t].name);
		const struct xr_reading *r = at(isa, isa->streams[flavour][t]);
		bool native = is_native(isa, flavour, (enum xr_type)t, half_of((enum xr_type)t));
		if (nothing_runs(isa, flavour, r, id))
			continue;
		struct xr_fact *fact = xr_fact_bool(d, id, native, r->look.looked || !ok(r) ? 0.99 : 0.8,
		                                    "one instruction, and it runs");
		if (r->status == XR_READ_FAILED)
			xr_fact_note(fact, "%s", r->reason);
		else if (ok(r) && !native)
			xr_fact_note(fact, "takes %.1f instructions", r->look.insns);
	}
}

static int run(struct xr_run *run)
{
	struct isa *isa = xr_arena_alloc(xr_run_arena(run), sizeof *isa);
	const struct xr_effort few = {.samples = 15, .samples_max = 15};
	enum xr_flavour all = xr_run_info(run)->has_flavour[XR_NATIVE] ? XR_NATIVE : XR_PLAIN;

	isa->run = run;
	ask_all(isa);
	if (xr_run_info(run)->untimed
	            ? xr_run_time_with(run, &few, isa->ask.spec, (size_t)isa->ask.n, isa->ask.reading)
	            : xr_time_steadily(run, isa->ask.spec, (size_t)isa->ask.n, true, isa->ask.reading, &isa->noisy))
		return -1;
	for (int t = XR_F32; t <= XR_F64; t++) {
		const char *name = xr_types[t].name;
		struct xr_arena *arena = xr_run_arena(run);
		put_fpu(isa, (enum xr_type)t, all, xr_arena_printf(arena, "isa.fpu.%s", name));
		put_fma(isa, (enum xr_type)t, all, xr_arena_printf(arena, "isa.fma.%s", name));
		put_fma(isa, (enum xr_type)t, XR_PLAIN, xr_arena_printf(arena, "isa.plain.fma.%s", name));
	}
	put_types(isa, all);
	put_simd(isa, all, "isa");
	put_simd(isa, XR_PLAIN, "isa.plain");
	return 0;
}

static const char *const finds[] = {"isa.fpu.f32",       "isa.fpu.f64",          "isa.fma.f32",
                                    "isa.fma.f64",       "isa.simd.width",       "isa.simd.v16f32",
                                    "isa.simd.v16f64",   "isa.simd.v32f32",      "isa.simd.v32f64",
                                    "isa.simd.v64f32",   "isa.simd.v64f64",      "isa.simd.v16i32",
                                    "isa.simd.v32i32",   "isa.simd.v64i32",      "isa.plain.fma.f32",
                                    "isa.plain.fma.f64", "isa.plain.simd.width", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_isa = {
	.id = "isa",
	.title = "floating point, fused multiply-add and vectors in hardware",
	.finds = finds,
	.needs = needs,
	.cost_s = 2,
	.kinds = 1u << XR_OPS | XR_WITH_COMPILER | XR_WITHOUT_TIME,
	.run = run,
};
