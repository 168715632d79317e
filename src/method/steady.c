/* SPDX-License-Identifier: MIT */
#include "method/steady.h"

#include <math.h>

enum { TURNS = 6, TURNS_QUICK = 3 };
static const double seen_twice = 1.02, few = 0.05;

/* Takes one more reading of a specification into account: out keeps the second least, *least the least. */
static void take(struct xr_reading *out, double *least, const struct xr_reading *now, bool first)
{
	if (out->status != XR_READ_OK || now->status != XR_READ_OK || out->cycles <= 0)
		return;
	double ns_per_cycle = out->ns / out->cycles, higher = fmax(*least, now->cycles);
	out->cycles = first ? higher : fmin(out->cycles, higher);
	out->ns = out->cycles * ns_per_cycle;
	out->spread = fmin(out->spread, now->spread);
	*least = fmin(*least, now->cycles);
	out->disturbed &= now->disturbed;
}

int xr_time_steadily(struct xr_run *run, const struct xr_spec *spec, size_t n, bool hasty, struct xr_reading *out,
                     double *noisy)
{
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_spec *good =
		xr_arena_array(arena, struct xr_spec, n); /* what failed would fail again, and cost compiling */
	struct xr_reading *now = xr_arena_array(arena, struct xr_reading, n);
	size_t *place = xr_arena_array(arena, size_t, n), k = 0;
	double *least = xr_arena_array(arena, double, n);
	struct xr_effort effort = {.samples = 9, .samples_max = 9, .hasty = hasty};
	int turns = xr_run_quick(run) ? TURNS_QUICK : TURNS;

	*noisy = 1;
	if (xr_run_time_with(run, &effort, spec, n, out))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (out[i].status == XR_READ_OK) {
			good[k] = spec[i];
			least[k] = out[i].cycles;
			place[k++] = i;
		}
	for (int turn = 1; turn<turns && * noisy> few; turn++) {
		size_t once = 0;
		if (k && xr_run_time_with(run, &effort, good, k, now))
			return -1;
		for (size_t i = 0; i < k; i++) {
			struct xr_reading *r = &out[place[i]];
			take(r, &least[i], &now[i], turn == 1);
			once += r->cycles > seen_twice * least[i] || (r->disturbed && !hasty);
		}
		*noisy = k ? (double)once / (double)k : 0;
	}
	return 0;
}
