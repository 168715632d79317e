/* SPDX-License-Identifier: MIT */
/* How many go on at once; see knee.h. */
#include "infer/knee.h"

#include "infer/belief.h"

#include <math.h>

/* The law itself is no better than this: near the edge some wait and some do not. */
static const double slack = 0.015;
/* Being busy adds no more than this share of the latency: what adds more is a queue. */
static const double loaded = 0.3;
/* Points behind the edge all say the same thing about it, and share what is wrong with it. */
static const double weight = 0.3;

double xr_knee_at(const struct xr_knee *knee, double k)
{
	double most = knee->most;

	return k <= most ? knee->latency + knee->load * k : (knee->latency + knee->load * most) * k / most;
}

/* The latency alone that fits best, the load at the edge being this share of it. */
static void fit_latency(struct xr_knee *knee, const double *k, const double *t, size_t n, double share)
{
	double xx = 0, x1 = 0;

	knee->latency = 1;
	knee->load = share / knee->most;
	for (size_t i = 0; i < n; i++) {
		double x = xr_knee_at(knee, k[i]) / t[i];

		xx += x * x;
		x1 += x;
	}
	knee->latency = x1 / xx;
	knee->load *= knee->latency;
}

/* Latency and load by least squares of relative errors. */
static void fit(struct xr_knee *knee, const double *k, const double *t, size_t n)
{
	double xx = 0, xy = 0, yy = 0, xt = 0, yt = 0;

	for (size_t i = 0; i < n; i++) {
		double over = k[i] > knee->most ? k[i] / knee->most : 1;
		double x = over / t[i], y = k[i] / t[i];

		xx += x * x;
		xy += x * y;
		yy += y * y;
		xt += x;
		yt += y;
	}
	double det = xx * yy - xy * xy;
	knee->load = det > 1e-12 * xx * yy ? (xx * yt - xy * xt) / det : 0;
	knee->latency = (xt - knee->load * xy) / xx;
	if (knee->load < 0)
		fit_latency(knee, k, t, n, 0);
	else if (knee->load * knee->most > loaded * knee->latency)
		fit_latency(knee, k, t, n, loaded);
}

struct xr_knee xr_knee_find(struct xr_arena *arena, const double *k, const double *t, size_t n,
                            const struct xr_noise *noise, double limit, double step)
{
	const size_t n_sizes = (size_t)((limit - 1) / step) + 1;
	struct xr_belief belief = xr_belief_new(arena, n_sizes, NULL);
	struct xr_knee *knee = xr_arena_array(arena, struct xr_knee, n_sizes), none = {0};
	double *log = xr_arena_array(arena, double, n_sizes), least = INFINITY, most = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		least = fmin(least, t[i]);
		most = fmax(most, t[i]);
		last = fmax(last, k[i]);
	}
	for (size_t h = 0; h < n_sizes; h++) {
		knee[h].most = 1 + step * (double)h;
		fit(&knee[h], k, t, n);
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t h = 0; h < n_sizes; h++)
			log[h] = xr_noise_log(noise, xr_knee_at(&knee[h], k[i]), t[i], slack);
		xr_belief_add(&belief, log, xr_noise_log_none(noise, least, most, t[i]), weight);
	}
	size_t best = xr_belief_best(&belief, &none.p);
	if (best == n_sizes || !n)
		return none;
	knee[best].p = 0;
	for (size_t h = 0; h < n_sizes; h++)
		if (fabs(knee[h].most - knee[best].most) < 0.5)
			knee[best].p += xr_belief_p(&belief, h);
	knee[best].beyond = knee[best].most >= last;
	return knee[best];
}
