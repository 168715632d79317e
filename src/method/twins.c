#include "method/twins.h"

#include <math.h>
#include <string.h>

enum { RESTLESS = 2 /* times as many samples when there is no peace, and no patience left to wait for it */ };

const double xr_least_step = 0.05, xr_sure_step = 0.12;
static const double little = 0.05; /* of the patience of one look */

void xr_twins_init(const struct xr_sets *probe, struct xr_twins *pairs)
{
	memset(pairs, 0, sizeof *pairs);
	xr_walks_init(&pairs->walks, probe->bench);
	pairs->samples = XR_TWINS_SAMPLES;
}

void xr_twins_add(const struct xr_sets *probe, struct xr_twins *pairs, uint64_t stride, unsigned n, unsigned sets)
{
	size_t total = (size_t)n * sets;
	uint64_t *address = xr_arena_array(xr_run_arena(probe->bench->run), uint64_t, 2 * total);
	probe->place(probe, stride, n, sets, address, address + total);
	xr_walks_add(&pairs->walks, XR_JUMPS, address, total);
	xr_walks_add(&pairs->walks, XR_JUMPS, address + total, total);
	pairs->count[pairs->n++] = n;
}

bool xr_walks_may_wait(const struct xr_walk_bench *bench)
{
	return bench->patience_ns > 0;
}

/* Nothing is asked that is known in peace already, but XR_AGAIN. */
int xr_twins_look(struct xr_twins *pairs, enum xr_manner manner)
{
	if (manner != XR_AGAIN && xr_walks_calm(&pairs->walks))
		return 0;
	const int samples = xr_walks_may_wait(pairs->walks.bench) ? pairs->samples : RESTLESS * pairs->samples;
	if (xr_walks_look(&pairs->walks, samples, manner == XR_IN_PASSING ? little : 1) != 0)
		return -1;
	for (size_t i = 0; i < pairs->n; i++)
		pairs->excess[i] = xr_walks_excess(&pairs->walks, 2 * i, 2 * i + 1);
	return 0;
}

/* How many sets are asked at once. The twins of all their lines have to share probe->room bytes, and there no more than
 * half the ways of any set may be taken (`fits`: bytes that fit; lines of up to two units). */
unsigned xr_sets_at_once(const struct xr_sets *probe, uint64_t stride, unsigned n, double fits)
{
	double room = (double)(stride < probe->room ? stride : probe->room), ways = floor(fits / (double)stride / 1.3);
	double sets = fmin(probe->blocks / (double)n, room / (double)probe->unit / 8);
	sets = fmin(sets, fmax(1, ways) * room / (4.0 * (double)probe->unit * n));
	return sets < 1 ? 1 : (unsigned)sets;
}
