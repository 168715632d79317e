/* SPDX-License-Identifier: MIT */
/* Parameter: what memory costs inside the core: load to use, store to load forwarding, and whether that is renamed
 * away.
 *
 * Idea: a load that feeds the next load's address shows the load-to-use latency. A value stored and
 * loaded back at once never reaches the cache: the store buffer forwards it. Some cores do not even go there: they see
 * at renaming that the load reads what that store wrote, and take the register; but only for some forms of addresses,
 * and never for floating-point registers.
 *
 * Algorithm: a chain of one address. A chain of store and load in four forms: through a variable on the stack, through
 * a pointer, through a static variable, and all from a floating-point register. The slowest integer form is the cost of
 * forwarding; if the quickest takes clearly less than that, or no more than two cycles where a mere load takes
 * clearly more, memory is renamed.
 *
 * When it fails: a compiler that keeps the volatile variable in a register (none seen); the compiled loop is looked at.
 */
#include "micro/micro.h"

#include "method/steady.h"
#include "stat/stat.h"

#include <math.h>

enum form { LOCAL, POINTER, STATIC, FP, N_FORMS };
enum { BUFFER = 30, BUFFER_BYTES = 1024, UNROLL = 64 };

static const char *const form_names[N_FORMS] = {"local variable", "pointer", "static variable", "floating point"};
static const double clearly_quicker = 0.6, no_search = 2.2; /* cycles in which no store buffer is searched */

/* *cycles: 0 when it could not be timed. */
static int find_load(struct xr_run *run, double *cycles)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_span one = {0, 8, 1};
	const int word = xr_run_info(run)->word_bytes;
	bool narrow = word > 0 && word < 4, chains = !narrow && xr_run_info(run)->kinds >> XR_CHAIN & 1;
	struct xr_spec spec = chains ? xr_spec_cycle((struct xr_buffer){BUFFER, BUFFER_BYTES, XR_SMALL}, &one, 1, 0)
	                             : xr_spec_stream(XR_LOAD, XR_I64, 1);
	struct xr_reading r;
	double noisy;

	if (narrow) { /* an address is several words, and a chain of them not one load; nor does such a core start one early */
		spec = xr_spec_stream(XR_LOAD, word == 1 ? XR_I8 : XR_I16, 2);
		spec.ops.stream[0].link = XR_FRESH;
	}
	*cycles = 0;
	if (xr_time_steadily(run, &spec, 1, false, &r, &noisy))
		return -1;
	if (r.status != XR_READ_OK) {
		xr_fact_none(d, "core.load_to_use", XR_FAILED, "%s", r.reason);
		return 0;
	}
	double whole =
		xr_snap_integer(r.cycles, 0.1); /* a hit is so many cycles away, no part of one: else they are off */
	struct xr_fact *fact =
		xr_fact_number(d, "core.load_to_use", whole, "cycles", noisy > 0 || whole != round(whole) ? 0.85 : 0.99,
	                       narrow   ? "loads of a word, one after the other"
	                       : chains ? "chain of one address"
	                                : "chain of indexed loads");
	if (noisy > 0 && r.spread > 0.1)
		xr_fact_doubt(fact, "samples differ by %.0f %%", 100 * r.spread);
	*cycles = r.cycles;
	return 0;
}

/* The least and the most cycles of the integer forms that could be timed; false: none. */
static bool bounds(const struct xr_reading *r, enum form *least, enum form *most)
{
	bool any = false;
	for (enum form f = LOCAL; f <= STATIC; f++) {
		if (r[f].status != XR_READ_OK)
			continue;
		if (!any)
			*least = *most = f;
		if (r[f].cycles < r[*least].cycles)
			*least = f;
		if (r[f].cycles > r[*most].cycles)
			*most = f;
		any = true;
	}
	return any;
}

static void put_forwarding(struct xr_run *run, const struct xr_reading *r, double load, bool noisy)
{
	struct xr_description *d = xr_run_description(run);
	enum form least = LOCAL, most = LOCAL;
	if (!bounds(r, &least, &most)) {
		xr_fact_none(d, "core.store_forward", XR_FAILED, "%s", r[LOCAL].reason);
		xr_fact_none(d, "core.memory_renaming", XR_FAILED, "%s", r[LOCAL].reason);
		return;
	}
	double quick = r[least].cycles, slow = r[most].cycles;
	bool contrast = quick < clearly_quicker * slow;
	bool renamed = (quick <= no_search && quick < clearly_quicker * load) || contrast;
	bool whole = fabs(slow - round(slow)) <= 0.1;
	double sure = noisy ? 0.6 : whole ? 0.97 : 0.8;
	struct xr_fact *fact = xr_fact_number(d, "core.store_forward", xr_snap_integer(slow, 0.1), "cycles", sure,
	                                      "store and load back, slowest integer form");
	if (r[FP].status == XR_READ_OK && fabs(r[FP].cycles - slow) > 0.25)
		xr_fact_note(fact, "%.2f cycles from a floating-point register", r[FP].cycles);
	fact = xr_fact_bool(d, "core.memory_renaming", renamed, renamed && !contrast ? fmin(sure, 0.9) : sure,
	                    "store and load back in four forms");
	if (renamed)
		xr_fact_note(fact, "%.2f cycles through a %s, %.2f through a %s", quick, form_names[least], slow,
		             form_names[most]);
}

static int run(struct xr_run *run)
{
	static const struct {
		enum xr_op op;
		enum xr_type type;
	} ask[N_FORMS] = {
		{XR_FORWARD_LOCAL, XR_I32}, {XR_FORWARD_POINTER, XR_I32}, {XR_FORWARD, XR_I32}, {XR_FORWARD, XR_F64}};
	struct xr_spec spec[N_FORMS];
	struct xr_reading reading[N_FORMS];
	double load, noisy;

	if (find_load(run, &load))
		return -1;
	for (enum form f = LOCAL; f < N_FORMS; f++) {
		spec[f] = xr_spec_stream(ask[f].op, ask[f].type, 1);
		spec[f].ops.unroll = UNROLL;
	}
	if (xr_time_steadily(run, spec, N_FORMS, false, reading, &noisy))
		return -1;
	put_forwarding(run, reading, load, noisy > 0); /* one form slowed down is taken for the slowest */
	return 0;
}

static const char *const finds[] = {"core.load_to_use", "core.store_forward", "core.memory_renaming", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_core_memory = {
	.id = "core_memory",
	.title = "load to use, store to load forwarding, memory renaming",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.4,
	.kinds = 1u << XR_OPS,
	.run = run,
};
