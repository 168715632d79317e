/* Effective capacity, see effective.h. */
#include "method/effective.h"

#include "stat/stat.h"

#include <math.h>

enum {
	CURVES = 5,     /* at most; all of them where others use the level, too */
	PER_OCTAVE = 4, /* walks, around the size that matters; half as many then */
	CURSORS = 12,   /* about as many lines as a core can wait for at once */
	FEWEST = 4,     /* pages */
};
static const double agree = 0.1;  /* two curves of a quiet machine */
static const double shared = 1.5; /* times as much is kept by who comes back sooner: others take it away */
static const double flat = 1.25;  /* walks that are all misses: twice as large ones take less than that */
static const double apart = 1.4;  /* walks that are all misses and such that are none, at least */
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

static int add_walk(const struct xr_effective *e, double pages, struct xr_staircase *curve)
{
	double cycles;

	if (pages < 1 || pages * e->page > (double)e->most || curve->n == XR_STAIRS_MAX)
		return 0;
	if (xr_walk_time(&e->walk, (uint64_t)(pages * e->page), &cycles, NULL) != 0)
		return -1;
	if (cycles > 0) {
		curve->pages[curve->n] = pages;
		curve->cycles[curve->n++] = cycles;
	}
	return 0;
}

/* Of the i-th walk, at least this share? Not of one that there is not. */
static bool keeps(const struct xr_effective *e, const struct xr_staircase *curve, size_t i, double share)
{
	double bytes = i < curve->n ? curve->pages[i] * e->page : 0;

	return bytes > 0 && kept_of(e, bytes, curve->cycles[i]) >= share * bytes;
}

/* Around this size: from where the level keeps half or more to where it keeps little. */
static int add_walks(const struct xr_effective *e, double center, struct xr_staircase *curve)
{
	const double step = exp2((e->others ? 2.0 : 1.0) / PER_OCTAVE), little = 1.0 / 3, far = 3;
	double up = center / M_SQRT2, down = up / step;
	size_t lowest = 0;

	for (; up < center * M_SQRT2 || (up < center * far && keeps(e, curve, curve->n - 1, little)); up *= step)
		if (add_walk(e, floor(up), curve) != 0)
			return -1;
	for (; down > center / far && !keeps(e, curve, lowest, 0.5); down /= step) {
		lowest = curve->n;
		if (add_walk(e, floor(down), curve) != 0)
			return -1;
	}
	return 0;
}

/* ---- a level of one's own -------------------------------------------------------------------------------------- */

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

static double differ(const double *value, size_t n)
{
	return n > 1 ? xr_max(value, n) / fmax(1, xr_min(value, n)) - 1 : INFINITY;
}

/* Curves of walks around this many pages until two of them agree. What others leave of a level changes from one tenth of
 * a second to the next, and two curves in a row may well agree on what is true for a moment only. */
static int take_curves(struct xr_effective *e, double center)
{
	double value[CURVES];

	for (e->curves = 0; e->curves < CURVES && (e->others || !(differ(value, e->curves) < agree)); e->curves++) {
		struct xr_staircase around = {.n = 0};

		if (add_walks(e, center, &around) != 0)
			return -1;
		value[e->curves] = xr_effective_of(e, &around);
	}
	e->bytes = xr_median(value, e->curves);
	e->spread = e->bytes > 0 ? xr_mad(value, e->curves) / e->bytes : 1;
	e->low = xr_min(value, e->curves);
	e->high = xr_max(value, e->curves);
	return 0;
}

/* ---- the last one, beside neighbours --------------------------------------------------------------------------- */

/* Walks of more and more bytes until they do not get slower any more: how long a step takes that this level answers, and
 * one that it does not. Both may be limited by how many can be under way at once, but are not quicker than a single one. */
static int see_both_ends(struct xr_effective *e, struct xr_staircase *curve)
{
	double bytes = fmax(1.5 * e->inner, FEWEST * e->page), near = INFINITY, far = 0, last;

	for (; bytes <= (double)e->most; bytes *= 2) {
		if (add_walk(e, floor(bytes / e->page), curve) != 0)
			return -1;
		if (!curve->n)
			break;
		last = far;
		far = curve->cycles[curve->n - 1];
		near = fmin(near, far);
		if (far < flat * last && last > apart * fmax(e->near, near) && bytes > 2 * e->alone)
			break;
	}
	/* Once more: what somebody else makes of it for a moment is not what a miss costs. */
	if (curve->n && add_walk(e, curve->pages[curve->n - 1], curve) != 0)
		return -1;
	far = curve->n ? fmin(far, curve->cycles[curve->n - 1]) : far;
	e->near = fmax(e->near, near);
	e->far = fmax(e->far, far);
	return 0;
}

int xr_effective_find(struct xr_effective *e, const struct xr_staircase *curve)
{
	struct xr_staircase ends = {.n = 0};

	e->alone = xr_effective_of(e, curve);
	if (!e->last) /* nobody else but this core's own threads */
		return take_curves(e, center_of(e, curve));
	e->walk.cursors = CURSORS;
	if (see_both_ends(e, &ends) != 0)
		return -1;
	e->bytes = xr_effective_of(e, &ends);
	e->others = e->alone * shared < e->bytes;
	return take_curves(e, e->bytes / e->page);
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
