/* SPDX-License-Identifier: MIT */
/* Parameter: what a mispredicted branch costs.
 *
 * Idea: the same code, branching on random bits and on bits that never change. Half of the random ones
 * go the wrong way, so the difference per branch is half the penalty.
 *
 * Algorithm: eight variables, each a generator of its own; each statement advances one and branches on a high bit of
 * the one that was advanced half a turn ago, so that the bit is long known when the branch is fetched and the penalty
 * is that of refilling the front end, not that of waiting for the bit. A mask of no bits makes the same code
 * predictable. Nothing repeats within the life of a predictor: the bits come from generators of period 2^32.
 *
 * When it fails: without branch prediction both take the same time; then the penalty is 0 and the fact says so.
 */
#include "micro/micro.h"

#include "method/steady.h"

#include <math.h>

enum { VARIABLES = 8, UNROLL = 64 };
static const double nothing = 0.5; /* cycles */

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	struct xr_stream stream = {.op = XR_COIN, .type = XR_I32, .n = VARIABLES, .link = XR_HALF};
	struct xr_spec spec[2];
	struct xr_reading r[2];
	double noisy;

	for (int v = XR_SHORT; v <= XR_LONG; v++) {
		stream.values = (enum xr_values)v;
		spec[v] = xr_spec_mix(&stream, 1);
		spec[v].ops.unroll = UNROLL;
	}
	if (xr_time_steadily(run, spec, 2, false, r, &noisy))
		return -1;
	for (int v = XR_SHORT; v <= XR_LONG; v++)
		if (r[v].status != XR_READ_OK) {
			xr_fact_none(d, "branch.mispredict", XR_FAILED, "%s", r[v].reason);
			return 0;
		}
	double penalty = 2 * (r[XR_LONG].cycles - r[XR_SHORT].cycles);
	double spread = fmax(r[XR_SHORT].spread, r[XR_LONG].spread);
	struct xr_fact *fact =
		xr_fact_number(d, "branch.mispredict", penalty > nothing ? round(penalty * 10) / 10 : 0, "cycles",
	                       noisy > 0       ? 0.7
	                       : spread > 0.01 ? 0.85
	                                       : 0.95,
	                       "random bits against constant bits");
	if (penalty <= nothing)
		xr_fact_note(fact, "random branches cost no more than others: nothing is predicted here");
	else if (noisy > 0 && spread > 0.1)
		xr_fact_doubt(fact, "samples differ by %.0f %%", 100 * spread);
	return 0;
}

static const char *const finds[] = {"branch.mispredict", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_branch = {
	.id = "branch",
	.title = "cost of a mispredicted branch",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.2,
	.kinds = 1u << XR_OPS,
	.run = run,
};
