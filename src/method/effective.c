/* Effective capacity, see effective.h. */
#include "method/effective.h"

#include "stat/stat.h"

#include <math.h>

enum { CURVES = 5, FINE = 6, COARSE = 4 /* walks to an octave, around the size that matters */ };
static const double enough = 0.2; /* of the walk: one that the level keeps so much more of has fewer lines */

/* Of a walk over so many bytes, those that the level answered. */
static double kept_of(const struct xr_effective *e, double bytes, double cycles)
{
	return bytes * fmin(1, fmax(0, (e->far - cycles) / (e->far - e->near)));
}

double xr_effective_of(const struct xr_effective *e, const struct xr_staircase *curve)
{
	double most = 0, half = 0;

	for (size_t i = 0; i < curve->n; i++) {
		double bytes = curve->pages[i] * e->page, kept = kept_of(e, bytes, curve->cycles[i]);

		most = fmax(most, kept);
		if (kept >= bytes / 2)
			half = fmax(half, bytes * fmin(1.2, 2 * kept / bytes));
	}
	return sqrt(most * fmax(half, most));
}

/* The size of which the level kept most, in pages. */
static double center_of(const struct xr_effective *e, const struct xr_staircase *curve)
{
	double center = 0, most = 0;

	for (size_t i = 0; i < curve->n; i++) {
		double kept = kept_of(e, curve->pages[i] * e->page, curve->cycles[i]);

		center = kept > most ? curve->pages[i] : center;
		most = fmax(most, kept);
	}
	return center;
}

/* Walks around this size, `per` to an octave, from an octave's half below to its half above. */
static int add_walks(const struct xr_effective *e, double center, int per, struct xr_staircase *curve)
{
	for (int i = -per / 2; i <= per / 2 && curve->n < XR_STAIRS_MAX && center > 0; i++) {
		double pages = floor(center * exp2(i / (double)per)), cycles;

		if (pages < 1 || pages * e->page > (double)e->most)
			continue;
		if (xr_walk_time(&e->walk, (uint64_t)(pages * e->page), &cycles, NULL) != 0)
			return -1;
		if (!(cycles > 0))
			continue;
		curve->pages[curve->n] = pages;
		curve->cycles[curve->n++] = cycles;
	}
	return 0;
}

int xr_effective_find(struct xr_effective *e, struct xr_staircase *curve)
{
	double value[CURVES];

	if (add_walks(e, center_of(e, curve), FINE, curve) != 0)
		return -1;
	value[0] = xr_effective_of(e, curve);
	/* On a quiet machine one more walk tells whether it is. */
	for (e->curves = 1; e->curves < (e->restless ? CURVES : 2); e->curves++) {
		struct xr_staircase again = {.n = 0};

		if (add_walks(e, center_of(e, curve), e->restless ? COARSE : 1, &again) != 0)
			return -1;
		value[e->curves] = xr_effective_of(e, &again);
	}
	e->bytes = e->restless ? xr_median(value, e->curves) : value[0];
	e->spread = e->bytes > 0
	                    ? (e->restless ? xr_mad(value, e->curves) : fmax(0, value[0] - value[1]) / 2) / e->bytes
	                    : 1;
	return 0;
}

int xr_effective_line(const struct xr_effective *e, double *line)
{
	struct xr_walk walk = e->walk;
	uint64_t walked = (uint64_t)(1.5 * e->bytes) / 4096 * 4096;
	double kept[3];

	*line = 0;
	if (walked > e->most || walked == 0)
		return 0;
	walk.effort = (struct xr_effort){.samples = 7, .samples_max = 7};
	for (int i = 0; i < 3; i++, walk.line *= 2) {
		double cycles;

		if (xr_walk_time(&walk, walked, &cycles, NULL) != 0)
			return -1;
		kept[i] = kept_of(e, 1, cycles);
	}
	if (kept[1] > kept[0] + enough)
		*line = (double)e->walk.line;
	else if (kept[2] > kept[1] + enough)
		*line = 2.0 * (double)e->walk.line;
	return 0;
}
