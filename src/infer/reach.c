/* SPDX-License-Identifier: MIT */
/* Where a curve leaves its floor; see reach.h. */
#include "infer/reach.h"

#include "infer/missrate.h"
#include "stat/stat.h"

#include <math.h>
#include <stdbool.h>

enum { POINTS = 64 };
static const double own = 2.5; /* times the size: up to there no other level is expected */
static const double uneven =
	0.25; /* of the cost of a miss, one sigma: sets are not equally full, tables not equally near */
static const double quarter = 1.189207115; /* an octave in four */

static double cost_of_miss(const struct xr_walk_seen *w, size_t n, double size, double sharp)
{
	double cost[POINTS];
	size_t k = 0;

	for (size_t i = 0; i < n && k < POINTS; i++) {
		double share = w[i].n <= own * size ? xr_missrate(sharp, size, w[i].n) : 0;

		if (share > 0.3)
			cost[k++] = (w[i].seen - w[i].twin) / share;
	}
	return k >= 2 ? xr_median(cost, k) : 0; /* one walk is nobody's witness */
}

/* Of one walk that takes `more` than its twin; elsewhere: some other level has a part in it, and nothing is foretold. */
static double log_one(const struct xr_walk_seen *w, double more, bool elsewhere, double most,
                      const struct xr_noise *noise)
{
	if (elsewhere)
		return xr_noise_log_none(noise, 0.5 * w->twin, most, w->seen);
	double spread = xr_noise_both(xr_noise_both(noise->sigma, XR_TWINS_DIFFER), w->error);
	return xr_noise_log(noise, w->twin + more, w->seen, xr_noise_both(spread, uneven * more / (w->twin + more)));
}

static double log_of(const struct xr_walk_seen *w, size_t n, double size, double sharp, double miss, double most,
                     const struct xr_noise *noise)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double more = size > 0 ? miss * xr_missrate(sharp, size, w[i].n) : 0;

		sum += log_one(&w[i], more, size > 0 && w[i].n > own * size, most, noise);
	}
	return sum;
}

struct xr_reach xr_reach_of(const struct xr_walk_seen *walk, size_t n, double least, const struct xr_noise *noise)
{
	struct xr_reach best = {0};
	double most = 0, nowhere, top, some = 0, tops = -INFINITY;
	int k = 0;

	if (n < 2)
		return best;
	for (size_t i = 0; i < n; i++)
		most = fmax(most, 1.2 * fmax(walk[i].seen, walk[i].twin + least));
	nowhere = log_of(walk, n, 0, 1, 0, most, noise);
	for (int pass = 0; pass < 2; pass++) /* the best; then the sum of all beside it */
		for (double size = walk[0].n; size < walk[n - 1].n; size *= quarter)
			for (int s = 0; s < XR_MISSRATE_SHARPS; s++) {
				double miss = cost_of_miss(walk, n, size, xr_missrate_sharps[s]), log;

				if (!(miss >= least))
					continue;
				log = log_of(walk, n, size, xr_missrate_sharps[s], miss, most, noise);
				k += pass == 0;
				some += pass ? exp(log - tops) : 0;
				if (pass == 0 && log > tops) {
					tops = log;
					best = (struct xr_reach){size, 0, miss, xr_missrate_sharps[s]};
				}
			}
	if (k == 0)
		return (struct xr_reach){.p = 1};
	top = fmax(nowhere, tops);
	some *= exp(tops - top) / k;
	nowhere = exp(nowhere - top);
	if (some > nowhere)
		best.p = some / (some + nowhere);
	else
		best = (struct xr_reach){.p = nowhere / (some + nowhere)};
	return best;
}

double xr_reach_log(const struct xr_walk_seen *w, const double *share, size_t n, const struct xr_noise *noise)
{
	double most = 0, cost[POINTS], miss, sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		most = fmax(most, 1.2 * fmax(w[i].seen, w[i].twin));
		if (share[i] > 0.3 && k < POINTS)
			cost[k++] = (w[i].seen - w[i].twin) / share[i];
	}
	miss = k >= 2 ? fmax(0, xr_median(cost, k)) : 0;
	for (size_t i = 0; i < n; i++)
		sum += log_one(&w[i], miss * share[i], share[i] < 0, most, noise);
	return sum;
}
