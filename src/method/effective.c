/* SPDX-License-Identifier: MIT */
/* Effective capacity, see effective.h. */
#include "method/effective.h"

#include "stat/stat.h"

#include <math.h>

enum {
	CURVES = XR_EFFECTIVE_PARTS, /* at most */
	PER_OCTAVE = 4,              /* walks, around the size that matters */
	FEWEST = 4,                  /* pages */
	LOOKS = 16,                  /* of a part, at most */
	LOOKS_LEAST = 3,
	SAMPLES = 3, /* of a look */
};
static const double agree = 0.1;   /* two curves of a quiet machine */
static const double farther = 1.4; /* times what one walk keeps: it keeps little of that, … */
static const double more = 0.3;    /* … and who comes back sooner so much more: others take it away, … */
static const double shared = 1.3;  /* … or if he keeps so many times as much */
static const double flat = 1.25;   /* walks that are all misses: twice as large ones take less than that */
static const double apart = 1.4;   /* walks that are all misses and such that are none, at least */
static const double most_of = 0.7; /* what the next level takes: not yet all misses if it is less */
static const double enough = 0.2;  /* of the walk: one that the level keeps so much more of has fewer lines */
static const double octaves = 0.6; /* from a look that was all misses to the next */
static const double beyond = 3;    /* times the size: all misses */
static const double lines_of_part = 2e6;

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

/* What a line takes of so many bytes. */
static int time_of(const struct xr_effective *e, double bytes, double *cycles)
{
	return e->others ? xr_walk_return(&e->walk, (uint64_t)bytes, SAMPLES, cycles)
	                 : xr_walk_time(&e->walk, (uint64_t)bytes, cycles, NULL);
}

static int add_walk(const struct xr_effective *e, double pages, struct xr_staircase *curve)
{
	double cycles;

	if (pages < 1 || pages * e->page > (double)e->most || curve->n == XR_STAIRS_MAX)
		return 0;
	if (time_of(e, pages * e->page, &cycles) != 0)
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
	const double step = exp2(1.0 / PER_OCTAVE), little = 1.0 / 3, far = 3;
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

/* What these curves, or parts, say together. */
static void sum_up(struct xr_effective *e)
{
	e->bytes = xr_median(e->part, e->curves);
	e->spread = e->bytes > 0 ? xr_mad(e->part, e->curves) / e->bytes : 1;
	e->low = xr_min(e->part, e->curves);
	e->high = xr_max(e->part, e->curves);
}

/* Curves of walks around this many pages until two of them agree. */
static int take_curves(struct xr_effective *e, double center)
{
	for (e->curves = 0; e->curves < CURVES && !(differ(e->part, e->curves) < agree); e->curves++) {
		struct xr_staircase around = {.n = 0};

		if (add_walks(e, center, &around) != 0)
			return -1;
		e->part[e->curves] = xr_effective_of(e, &around);
	}
	sum_up(e);
	return 0;
}

/* ---- the last one, beside neighbours --------------------------------------------------------------------------- */

/* A size of which one walk keeps little. */
static double too_large_for_one(const struct xr_effective *e)
{
	return fmax(farther * e->alone, fmax(1.5 * e->inner, FEWEST * e->page));
}

/* Returns after more and more bytes, that size among them, until they do not take longer any more: what misses
 * take then. */
static int see_far_end(struct xr_effective *e, struct xr_staircase *curve)
{
	double bytes = too_large_for_one(e), far = 0, last;

	while (bytes / 2 > fmax(1.2 * e->inner, FEWEST * e->page))
		bytes /= 2;
	for (; bytes <= (double)e->most; bytes *= 2) {
		if (add_walk(e, floor(bytes / e->page), curve) != 0)
			return -1;
		if (!curve->n)
			break;
		last = far;
		far = curve->cycles[curve->n - 1];
		if (far - e->near < flat * (last - e->near) && last > most_of * e->far && bytes > 2 * e->alone)
			break;
	}
	e->least_far = fmax(apart * e->near, most_of * e->far);
	e->far = fmax(e->least_far, far);
	return 0;
}

/* The share that is kept of so many bytes, by the walks of a curve around that size. */
static double share_at(const struct xr_effective *e, const struct xr_staircase *curve, double bytes)
{
	double pages = bytes / e->page, below = 0, share = 1;

	for (size_t i = 0; i < curve->n; i++) {
		double here = kept_of(e, 1, curve->cycles[i]);

		if (curve->pages[i] >= pages)
			return below > 0 ? share + (here - share) * log(pages / below) / log(curve->pages[i] / below)
			                 : here;
		below = curve->pages[i];
		share = here;
	}
	return share;
}

/* What misses take now. */
static int see_misses(struct xr_effective *e)
{
	double bytes = fmin(beyond * e->size, (double)e->most), cycles;

	if (bytes < 2 * e->size)
		return 0;
	if (xr_walk_return(&e->walk, (uint64_t)bytes, 1, &cycles) != 0)
		return -1;
	if (cycles > 0)
		e->far = fmax(e->least_far, sqrt(e->far * cycles)); /* a single sample may be anything */
	return 0;
}

/* Follows the size of which half is kept for a while: the mean of its logarithm. */
static int follow(struct xr_effective *e, double *mean)
{
	double many = lines_of_part / (e->size / (double)e->walk.line), sum = 0, cycles;
	int looks = (int)fmin(LOOKS, fmax(LOOKS_LEAST, many));

	for (int i = 0; i < looks; i++) {
		e->size = fmin((double)e->most, fmax(FEWEST * e->page, floor(e->size / e->page) * e->page));
		if (time_of(e, e->size, &cycles) != 0)
			return -1;
		if (cycles > 0)
			e->size *= exp2(octaves * (2 * kept_of(e, 1, cycles) - 1));
		sum += log(e->size);
	}
	*mean = sum / looks;
	return 0;
}

int xr_effective_go_on(struct xr_effective *e)
{
	double mean;

	if (!e->others || e->curves == XR_EFFECTIVE_PARTS)
		return 0;
	if ((e->curves > 0 && see_misses(e) != 0) || follow(e, &mean) != 0)
		return -1;
	e->part[e->curves++] = exp(mean);
	sum_up(e);
	return 0;
}

int xr_effective_find(struct xr_effective *e, const struct xr_staircase *curve)
{
	struct xr_effective soon = *e;
	struct xr_staircase ends = {.n = 0};
	double size;

	e->alone = xr_effective_of(e, curve);
	if (!e->last) /* nobody else but this core's own threads */
		return take_curves(e, center_of(e, curve));
	soon.others = true;
	soon.alone = e->alone;
	if (see_far_end(&soon, &ends) != 0)
		return -1;
	size = too_large_for_one(&soon);
	soon.size = xr_effective_of(&soon, &ends);
	if (share_at(&soon, &ends, size) < share_at(e, curve, size) + more) { /* or was somebody quiet for a moment? */
		if (take_curves(e, center_of(e, curve)) != 0)
			return -1;
		if (soon.size < shared * e->bytes && e->spread < agree)
			return 0;
		soon.alone = e->bytes;
	}
	*e = soon;
	return xr_effective_go_on(e);
}

int xr_effective_line(const struct xr_effective *e, double *line)
{
	struct xr_effective other = *e;
	uint64_t walked = (uint64_t)(1.5 * e->bytes) / 4096 * 4096;
	double kept[3];

	*line = 0;
	if (walked > e->most || walked == 0)
		return 0;
	other.walk.effort = (struct xr_effort){.samples = 7, .samples_max = 7};
	for (int i = 0; i < 3; i++, other.walk.line *= 2) {
		double cycles;

		if (time_of(&other, (double)walked, &cycles) != 0)
			return -1;
		kept[i] = kept_of(e, 1, cycles);
	}
	if (kept[1] > kept[0] + enough)
		*line = (double)e->walk.line;
	else if (kept[2] > kept[1] + enough)
		*line = 2.0 * (double)e->walk.line;
	return 0;
}
