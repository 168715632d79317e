#include "micro/lib/sets.h"

#include "micro/lib/overflow.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	PER_OCTAVE = 4,      /* rows from one power of two to the next */
	AHEAD = 3,           /* rows: 2^(3/4) = 1.7 times as long */
	ROWS_MAX = 80,
	SAMPLES = 16,        /* of one look; grows with every attempt */
	STRIDES_MAX = 24,
	COUNTS_MAX = 40,
};

/* Shares of what a row misses that is 1.7 times as long as what fits. A row just too long misses on a fifth of that or
 * more, a set that holds 1.5 times its ways on more than half, one that is not full on nothing. */
static const double overflown = 0.2;
static const double least_step = 0.05;  /* of a visit: below this nothing is called a miss */
static const double good_misfit = 0.06; /* a share of the penalty; a set that overflows in peace stays below half of it */

/* ---- question 1: how much fits -------------------------------------------------------------------------------- */

struct rows {
	struct xr_walks walks;   /* row, twin, row, twin … */
	unsigned units[ROWS_MAX];
	double excess[ROWS_MAX];
	size_t n;
};

static unsigned row_units(const struct xr_sets *probe, size_t i)
{
	return (unsigned)lround(probe->first * pow(2.0, (double)i / PER_OCTAVE));
}

static void add_pair(const struct xr_sets *probe, struct xr_walks *walks, uint64_t stride, unsigned n, unsigned sets)
{
	size_t total = (size_t)n * sets;
	uint64_t *address = xr_arena_array(xr_run_arena(probe->run), uint64_t, 2 * total);
	probe->place(probe, stride, n, sets, address, address + total);
	xr_walks_add(walks, XR_JUMPS, address, total);
	xr_walks_add(walks, XR_JUMPS, address + total, total);
}

static double excess_of(const struct xr_walks *walks, size_t pair)
{
	return xr_walks_low(walks, 2 * pair) - xr_walks_low(walks, 2 * pair + 1);
}

/* The first row that misses noticeably, measured by what a row 1.7 times as long misses. -1: none. */
static long first_overflow(const struct rows *rows)
{
	double noise = 0;
	for (size_t i = 0; i + AHEAD < rows->n; i++) {
		double full = rows->excess[i + AHEAD];
		double base = xr_walks_low(&rows->walks, 2 * i + 1);
		if (full > least_step * base && full > 6 * noise && rows->excess[i] > overflown * full)
			return (long)i;
		noise = (noise * (double)i + fabs(rows->excess[i])) / (double)(i + 1);
	}
	return -1;
}

/* Longer and longer rows, an octave at a time so that samples need not be longer than their rows. */
static int scan_rows(const struct xr_sets *probe, struct rows *rows, int samples, long *at)
{
	struct xr_arena *arena = xr_run_arena(probe->run);
	*at = -1;
	rows->n = 0;
	for (size_t octave = 0;; octave++) {
		struct xr_walks part;
		size_t from = octave * PER_OCTAVE, n = 0;
		xr_walks_init(&part, probe->run, probe->region, probe->bytes);
		for (size_t i = from; i < from + PER_OCTAVE && i < ROWS_MAX; i++)
			if (row_units(probe, i) * probe->unit <= probe->most && row_units(probe, i) * probe->unit <= probe->bytes)
				add_pair(probe, &part, probe->unit, row_units(probe, i), 1), n++;
		if (n == 0)
			return 0;
		if (xr_walks_look(&part, samples) != 0)
			return -1;
		if (part.trouble) {
			rows->walks.trouble = part.trouble;
			rows->walks.unsupported = part.unsupported;
			return 0;
		}
		/* The walks of all octaves in one list. */
		struct xr_walk_point *all = xr_arena_array(arena, struct xr_walk_point, 2 * (rows->n + n));
		if (rows->n)
			memcpy(all, rows->walks.point, 2 * rows->n * sizeof *all);
		memcpy(all + 2 * rows->n, part.point, 2 * n * sizeof *all);
		rows->walks.point = all;
		for (size_t i = 0; i < n; i++, rows->n++) {
			rows->units[rows->n] = row_units(probe, from + i);
			rows->excess[rows->n] = excess_of(&part, i);
		}
		rows->walks.n = rows->walks.room = 2 * rows->n;
		if ((*at = first_overflow(rows)) >= 0)
			return 0;
	}
}

/* ---- question 2: how large is a way --------------------------------------------------------------------------- */

static unsigned sets_at_once(const struct xr_sets *probe, uint64_t stride, unsigned n)
{
	uint64_t sets = probe->blocks / n;
	if (sets > stride / probe->unit / 8)
		sets = stride / probe->unit / 8;
	return sets < 1 ? 1 : sets > 16 ? 16 : (unsigned)sets;
}

/* The smallest power of two S such that three quarters of what fits at stride S also fit at stride 2 S. 0: there is none. */
static int find_way(const struct xr_sets *probe, double rough, double penalty, int samples, uint64_t *way)
{
	struct xr_walks walks;
	uint64_t stride[STRIDES_MAX];
	size_t n = 0;

	*way = 0;
	xr_walks_init(&walks, probe->run, probe->region, probe->bytes);
	for (uint64_t s = probe->unit; n < STRIDES_MAX && (double)s <= 1.3 * rough; s *= 2) {
		unsigned count = (unsigned)lround(0.75 * rough / (double)s);
		if (count < 2)
			count = 2; /* direct mapped: one fits, two do not */
		if (count * 2 * s > probe->bytes)
			break;
		add_pair(probe, &walks, 2 * s, count, sets_at_once(probe, 2 * s, count));
		stride[n++] = s;
	}
	if (n == 0)
		return 0;
	if (xr_walks_look(&walks, samples) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (excess_of(&walks, i) < overflown * penalty) {
			*way = stride[i];
			return 0;
		}
	/* Two never fit at any stride: one way, as large as everything. */
	*way = stride[n - 1];
	return 0;
}

/* ---- question 3: how many ways -------------------------------------------------------------------------------- */

struct curve {
	unsigned count[COUNTS_MAX];
	double excess[COUNTS_MAX];
	size_t n;
};

/* Every number around the expected one, fewer further away. */
static void choose_counts(struct curve *curve, unsigned lo, unsigned hi)
{
	unsigned fine_from = lo > 1 ? lo - 1 : 1, fine_to = hi + 3, step = (fine_to - fine_from) / 24 + 1;
	unsigned at = lo / 2 > 1 ? lo / 2 : 1, end = 2 * hi + 3, coarse = (end - fine_to) / 8 + 1;
	curve->n = 0;
	while (at <= end && curve->n < COUNTS_MAX) {
		curve->count[curve->n++] = at;
		unsigned next = at + (at >= fine_to ? coarse : at >= fine_from ? step : (fine_from - at + 3) / 4);
		at = next;
	}
}

static int read_curve(const struct xr_sets *probe, uint64_t stride, int samples, struct curve *curve)
{
	struct xr_walks walks;
	xr_walks_init(&walks, probe->run, probe->region, probe->bytes);
	unsigned sets = sets_at_once(probe, stride, curve->count[curve->n - 1]);
	for (size_t i = 0; i < curve->n; i++)
		add_pair(probe, &walks, stride, curve->count[i], sets);
	if (xr_walks_look(&walks, samples) != 0)
		return -1;
	for (size_t i = 0; i < curve->n; i++)
		curve->excess[i] = excess_of(&walks, i);
	return 0;
}

static void keep_curve(const struct xr_sets *probe, const struct curve *curve, const char *what)
{
	struct xr_arena *arena = xr_run_arena(probe->run);
	double *x = xr_arena_array(arena, double, curve->n);
	for (size_t i = 0; i < curve->n; i++)
		x[i] = curve->count[i];
	xr_series_put(xr_run_description(probe->run), xr_arena_printf(arena, "%s.%s", probe->series, what), "count", "", x,
	              "excess", "cycles", curve->excess, curve->n);
}

/* Ways from the curves at strides of one way and two. */
static int find_ways(const struct xr_sets *probe, double rough, uint64_t way, int samples, struct xr_overflow_fit fit[2])
{
	static const char *const names[] = {"way", "two_ways"};
	double expected = rough / (double)way;
	unsigned lo = (unsigned)fmax(1, floor(0.72 * expected)), hi = (unsigned)ceil(1.2 * expected);

	for (unsigned k = 0; k < 2; k++) {
		struct curve curve;
		choose_counts(&curve, lo, hi);
		while (curve.n > 3 && curve.count[curve.n - 1] * (way << k) > probe->bytes)
			curve.n--;
		if (read_curve(probe, way << k, samples, &curve) != 0)
			return -1;
		fit[k] = xr_overflow_fit(xr_run_arena(probe->run), curve.count, curve.excess, curve.n, lo, hi);
		keep_curve(probe, &curve, names[k]);
	}
	return 0;
}

/* ---- all three ------------------------------------------------------------------------------------------------- */

static void keep_rows(const struct xr_sets *probe, const struct rows *rows)
{
	struct xr_arena *arena = xr_run_arena(probe->run);
	double *x = xr_arena_array(arena, double, rows->n);
	for (size_t i = 0; i < rows->n; i++)
		x[i] = (double)rows->units[i] * (double)probe->unit;
	xr_series_put(xr_run_description(probe->run), probe->series, "bytes", "bytes", x, "excess", "cycles", rows->excess,
	              rows->n);
}

static double confidence_of(const struct xr_overflow_fit fit[2])
{
	double worst = fmax(fit[0].misfit, fit[1].misfit);
	if (fit[0].ways != fit[1].ways)
		return 0.5;
	return worst < good_misfit ? 0.99 : worst < 2 * good_misfit ? 0.9 : 0.6;
}

/* One attempt: found->outcome and confidence say how it went. */
static int attempt(const struct xr_sets *probe, int samples, struct xr_sets_found *found)
{
	struct rows rows;
	long at;

	memset(&rows, 0, sizeof rows);
	memset(found, 0, sizeof *found);
	xr_walks_init(&rows.walks, probe->run, probe->region, probe->bytes);
	if (scan_rows(probe, &rows, samples, &at) != 0)
		return -1;
	if (rows.walks.trouble) {
		found->outcome = XR_SETS_UNSUPPORTED;
		found->reason = rows.walks.trouble;
		return 0;
	}
	keep_rows(probe, &rows);
	found->tried = rows.n ? (double)rows.units[rows.n - 1] * (double)probe->unit : 0;
	if (at < 0) {
		found->outcome = XR_SETS_NO_STEP;
		return 0;
	}
	double before = at > 0 ? rows.units[at - 1] : rows.units[0] / 1.2;
	found->rough = sqrt(before * rows.units[at]) * (double)probe->unit;
	found->base = xr_walks_low(&rows.walks, 2 * (size_t)at + 1);
	if (find_way(probe, found->rough, rows.excess[at + AHEAD], samples, &found->way) != 0)
		return -1;
	struct xr_overflow_fit fit[2];
	if (!found->way) {
		found->outcome = XR_SETS_ROUGH;
		return 0;
	}
	if (find_ways(probe, found->rough, found->way, samples, fit) != 0)
		return -1;
	found->ways = fit[0].ways;
	found->penalty = fit[0].penalty;
	found->confidence = confidence_of(fit);
	found->outcome = found->confidence >= 0.9 ? XR_SETS_FOUND : XR_SETS_ROUGH;
	return 0;
}

int xr_sets_find(const struct xr_sets *probe, struct xr_sets_found *found)
{
	struct xr_sets_found now;
	memset(found, 0, sizeof *found);
	found->outcome = XR_SETS_NO_STEP;
	for (int i = 0; i < probe->attempts && found->confidence < 0.95; i++) {
		if (attempt(probe, SAMPLES * (1 + i / 2), &now) != 0)
			return -1;
		if (i == 0 || now.confidence > found->confidence)
			*found = now;
		if (now.outcome == XR_SETS_UNSUPPORTED || (now.outcome == XR_SETS_NO_STEP && i > 0))
			break;
	}
	return 0;
}
