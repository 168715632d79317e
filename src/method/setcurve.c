#include "method/setcurve.h"

#include <math.h>

enum { CURVE_SAMPLES = 6, CURVE_LOOKS = 3 };

const double xr_good_misfit = 0.06;
static const double fine_misfit =
	0.02; /* … or a third, if samples are enough; more are no use if others fit far worse */
static const double same_penalty = 0.02;
static const double not_full = 0.6; /* of what the mildest policy misses with one line too many */

/* How many units are still of use: with far more, the next level overflows, too. */
static unsigned last_count(unsigned hi)
{
	return hi * 8 / 5 + 4;
}

/* Every number around the expected one, fewer further away. */
static void add_counts(const struct xr_sets *probe, struct xr_set_curve *curve, double fits)
{
	unsigned fine_from = curve->lo > 1 ? curve->lo - 1 : 1, fine_to = curve->hi + 3;
	unsigned last = last_count(curve->hi), fine = (fine_to - fine_from) / 24 + 1, coarse = (last - fine_to) / 8 + 1;
	unsigned sets = xr_sets_at_once(probe, curve->stride, last, fits);
	unsigned at = curve->lo / 2 > 1 ? curve->lo / 2 : 1;
	while (at <= last && curve->pairs->n < XR_TWINS_MAX && at * curve->stride <= probe->bench->bytes) {
		xr_twins_add(probe, curve->pairs, curve->stride, at, sets);
		at += at >= fine_to ? coarse : at >= fine_from ? fine : (fine_from - at + 3) / 4;
	}
}

/* Does what was looked at already show this curve: every number around the expected ones, and enough beyond? It was laid out
 * for caches of any size; in a small one so many twins are in each other's way. */
static bool knows(const struct xr_sets *probe, const struct xr_set_curves *curves, const struct xr_set_curve *curve,
                  double fits)
{
	const unsigned crowded = 2; /* times as many as would be asked for */
	const struct xr_twins *known = curves->known;
	unsigned next = curve->lo > 1 ? curve->lo - 1 : 1;
	if (!known || curves->known_stride != curve->stride)
		return false;
	for (size_t i = 0; i < known->n && known->count[i] <= last_count(curve->hi); i++) {
		const unsigned n = known->count[i];
		if (known->walks.point[2 * i].blocks >
		    (size_t)crowded * n * xr_sets_at_once(probe, curve->stride, n, fits))
			return false;
		next += n == next;
	}
	return next > curve->hi && known->count[known->n - 1] >= curve->hi * 3 / 2;
}

/* The curve of this stride and expectation: the one of an earlier attempt, whose samples then count too. */
static struct xr_set_curve *find_curve(const struct xr_sets *probe, struct xr_set_curves *curves, uint64_t stride,
                                       unsigned lo, unsigned hi, double fits)
{
	for (size_t i = 0; i < curves->n; i++)
		if (curves->curve[i].stride == stride && curves->curve[i].lo == lo && curves->curve[i].hi == hi)
			return &curves->curve[i];
	size_t at = curves->n < XR_SET_CURVES ? curves->n++ : XR_SET_CURVES - 1;
	struct xr_set_curve *curve = &curves->curve[at];
	*curve = (struct xr_set_curve){.stride = stride, .lo = lo, .hi = hi};
	if (knows(probe, curves, curve, fits)) {
		curve->pairs = curves->known;
		return curve;
	}
	curve->pairs = xr_arena_alloc(xr_run_arena(probe->bench->run), sizeof *curve->pairs);
	xr_twins_init(probe, curve->pairs);
	curve->pairs->samples = CURVE_SAMPLES;
	add_counts(probe, curve, fits);
	return curve;
}

static void keep_curve(const struct xr_sets *probe, const struct xr_set_curve *curve, const char *what)
{
	struct xr_arena *arena = xr_run_arena(probe->bench->run);
	double *x = xr_arena_array(arena, double, curve->pairs->n);
	for (size_t i = 0; i < curve->pairs->n; i++)
		x[i] = curve->pairs->count[i];
	xr_series_put(xr_run_description(probe->bench->run), xr_arena_printf(arena, "%s.%s", probe->series, what),
	              "count", "", x, "excess", "cycles", curve->pairs->excess, curve->pairs->n);
}

/* Points up to where the next level overflows, too. The share of misses rises most at first, and less and less; where it
 * seems to rise more steeply again, it is not the share but the cost of a miss that rises. */
static size_t undisturbed(const struct xr_set_curve *curve)
{
	const struct xr_twins *p = curve->pairs;
	double steepest = 0, last = 0, noise = 0;
	for (size_t i = 0; i < p->n && p->count[i] <= curve->lo; i++)
		noise = fmax(noise, fabs(p->excess[i]));
	for (size_t i = 1; i < p->n; i++) {
		if (p->count[i] > last_count(curve->hi))
			return i;
		double slope = (p->excess[i] - p->excess[i - 1]) / (p->count[i] - p->count[i - 1]);
		bool misses = p->excess[i - 1] > xr_sure_step * xr_walks_low(&p->walks, 2 * i - 1) &&
		              p->excess[i] - p->excess[i - 1] > 4 * noise;
		if (misses && (slope > 2 * steepest || (slope > 4 * fmax(last, 0) && slope > 0.35 * steepest)))
			return i;
		steepest = fmax(steepest, slope);
		last = slope;
	}
	return p->n;
}

/* Does a curve begin to rise after so many? Where the next level's sets overflow at the same number, the curve is none that
 * could be fitted. */
static bool rises_after(const struct xr_set_curve *curve, unsigned ways, double penalty)
{
	const struct xr_twins *p = curve->pairs;
	double noise = 0, below = INFINITY, above = 0;
	for (size_t i = 0; i < p->n; i++) {
		if (p->count[i] <= curve->lo)
			noise = fmax(noise, fabs(p->excess[i]));
		if (p->count[i] == ways)
			below = p->excess[i];
		if (p->count[i] == ways + 1)
			above = p->excess[i];
	}
	return below < 0.05 * penalty && above > 0.1 * penalty && above - below > 4 * noise;
}

/* Where the next level's sets overflow soon after, at a far higher price, the whole curve is theirs. But up to the ways
 * nothing may take noticeably longer: the last number before something does, or what the fit says. */
static unsigned last_before_rise(const struct xr_set_curve *curve, unsigned ways)
{
	const struct xr_twins *p = curve->pairs;
	for (size_t i = 1; i < p->n && p->count[i] <= ways; i++) {
		double base = xr_walks_low(&p->walks, 2 * i + 1);
		if (p->excess[i] > xr_sure_step * base && p->excess[i - 1] < xr_least_step * base)
			return p->count[i - 1];
	}
	return ways;
}

/* On real cores small effects of other kinds come before the set is full, and its policy may be none of those fitted. But a
 * set with one line too many misses on a good part of the visits whatever the policy: where that much is clearly not
 * there, it is not full yet. */
static struct xr_overflow_fit fit_curve(struct xr_overflow_memo *memo, const struct xr_set_curve *curve)
{
	const struct xr_twins *p = curve->pairs;
	const size_t n = undisturbed(curve);
	struct xr_overflow_fit fit = xr_overflow_fit(memo, p->count, p->excess, n, curve->lo, curve->hi);
	double noise = 0;
	for (size_t i = 0; i < n && p->count[i] < curve->lo; i++)
		noise = fmax(noise, fabs(p->excess[i]));
	for (size_t i = 0; i < n; i++) {
		const double least =
			fit.penalty * fmin(xr_overflow_share(memo, XR_OVERFLOW_FIFO, fit.ways, p->count[i]),
		                           xr_overflow_share(memo, XR_OVERFLOW_RANDOM, fit.ways, p->count[i]));
		if (p->count[i] != fit.ways + 1 || fit.ways >= curve->hi || p->excess[i] + 3 * noise > not_full * least)
			continue;
		const unsigned ways = fit.ways + 1;
		fit = xr_overflow_fit(memo, p->count, p->excess, n, ways, ways);
		fit.ways = ways;
	}
	return fit;
}

static bool agree(const struct xr_overflow_fit fit[2])
{
	return fit[0].ways == fit[1].ways && fabs(fit[1].penalty / fit[0].penalty - 1) < same_penalty;
}

/* Ways from the curves at strides of one way and two. */
int xr_set_ways(const struct xr_sets *probe, struct xr_set_curves *curves, double rough, uint64_t way, bool again,
                struct xr_overflow_fit fit[2], bool *calm)
{
	static const char *const names[] = {"way", "two_ways"};
	double expected = rough / (double)way;
	unsigned lo = (unsigned)fmax(1, floor(0.72 * expected)), hi = (unsigned)ceil(1.2 * expected);

	for (unsigned k = 0; k < 2; k++) {
		struct xr_set_curve *curve = find_curve(probe, curves, way << k, lo, hi, rough);
		int looks = 0;
		do {
			if (xr_twins_look(curve->pairs, again || looks ? XR_AGAIN : XR_PATIENTLY) != 0)
				return -1;
			fit[k] = fit_curve(curves->memo, curve);
		} while (++looks < CURVE_LOOKS && xr_walks_may_wait(probe->bench) && fit[k].misfit > fine_misfit &&
		         fit[k].misfit < xr_good_misfit && fit[k].margin < fit[k].misfit &&
		         (k == 0 || !agree(fit))); /* the second only has to say the same */
		*calm &= xr_walks_calm(&curve->pairs->walks);
		fit[k].ways = last_before_rise(curve, fit[k].ways);
		if (k == 1 && fit[0].misfit < xr_good_misfit && rises_after(curve, fit[0].ways, fit[0].penalty))
			fit[1].ways = fit[0].ways;
		keep_curve(probe, curve, names[k]);
	}
	return 0;
}

/* Strides that double see only the power of two in the number of sets. If there is an odd factor, so many times fewer fit
 * at a stride so many times as long. */
int xr_set_odd_factor(const struct xr_sets *probe, struct xr_sets_found *found)
{
	static const unsigned primes[] = {3, 5, 7, 11, 13};
	for (size_t i = 0; i < sizeof primes / sizeof *primes; i++) {
		const unsigned m = primes[i];
		while (found->ways % m == 0 && found->ways * m * found->way <= probe->bench->bytes) {
			struct xr_twins pairs;
			double fits = (double)found->way * found->ways;
			xr_twins_init(probe, &pairs);
			xr_twins_add(probe, &pairs, m * found->way, found->ways,
			             xr_sets_at_once(probe, m * found->way, found->ways, fits));
			if (xr_twins_look(&pairs, XR_AGAIN) != 0)
				return -1;
			if (pairs.excess[0] < 0.3 * found->penalty)
				break;
			found->ways /= m;
			found->way *= m;
		}
	}
	return 0;
}
