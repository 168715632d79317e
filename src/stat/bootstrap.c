/* SPDX-License-Identifier: MIT */
/* Bootstrap: decide again on samples drawn with replacement from those at hand, and see how often the answer stays. */
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>

#include "stat/scratch.h"
#include "util/rng.h"

static void resample(const double *x, size_t n, struct xr_rng *rng, double *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = x[xr_rng_below(rng, n)];
}

double xr_bootstrap_share(const double *const *sample, size_t n, size_t m, int times, uint64_t seed,
                          xr_decide_fn *decide, void *self, double *value)
{
	struct xr_rng rng = {seed};
	size_t rounds = times > 0 ? (size_t)times : 0;
	struct xr_scratch drawn, curve, answers;
	double share;

	xr_scratch_init(&drawn, m);
	xr_scratch_init(&curve, n);
	xr_scratch_init(&answers, rounds);
	for (size_t round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			resample(sample[i], m, &rng, drawn.x);
			curve.x[i] = xr_lower(drawn.x, m);
		}
		answers.x[round] = decide(curve.x, n, self);
	}
	double answer = xr_mode(answers.x, rounds, &share);
	if (value)
		*value = answer;
	xr_scratch_release(&answers);
	xr_scratch_release(&curve);
	xr_scratch_release(&drawn);
	return share;
}

void xr_bootstrap_interval(const double *x, size_t n, int times, uint64_t seed,
                           double (*statistic)(const double *, size_t), double level, double *lo, double *hi)
{
	struct xr_rng rng = {seed};
	size_t rounds = n && times > 0 ? (size_t)times : 0;
	struct xr_scratch drawn, answers;

	xr_scratch_init(&drawn, n);
	xr_scratch_init(&answers, rounds);
	for (size_t round = 0; round < rounds; round++) {
		resample(x, n, &rng, drawn.x);
		answers.x[round] = statistic(drawn.x, n);
	}
	*lo = xr_quantile(answers.x, rounds, (1 - level) / 2);
	*hi = xr_quantile(answers.x, rounds, (1 + level) / 2);
	xr_scratch_release(&answers);
	xr_scratch_release(&drawn);
}
