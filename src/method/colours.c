/* SPDX-License-Identifier: MIT */
/* Classes of pages, counted; see colours.h. */
#include "method/colours.h"

#include <math.h>
#include <string.h>

enum {
	BATCH = 16, /* questions asked at once, as soon as they are about the right number of pages; */
	FEW = 4,    /* before */
	MOST = 160, /* pages */
	BATCHES = 16,
};
static const double mistaken = 0.03; /* share of answers that are wrong: neighbours, orders that suit a policy badly */
static const double roughly = 0.4, enough = 0.995;
/* The same of beginnings that overflow, and by how much they may be off. */
static const double unsuited = 0.05, about = 1.15;
static const double first_scale = 1.0 / 32; /* 32^n / n! is a number for hundreds of pages */

/* ---- odds ------------------------------------------------------------------------------------------------------------ */

/* Ways to put n pages into m classes, none of which gets more than it has ways, are n! times the n-th coefficient
 * of (1 + x + x^2 / 2! + … + x^ways / ways!)^m. The n-th is kept divided by the n-th power of a scale that grows
 * as m does. */
struct series {
	double *at, scale;
	size_t n; /* coefficients */
};

static void times(struct series *a, const double *b, size_t n_b, double *scratch)
{
	for (size_t n = 0; n < a->n; n++) {
		scratch[n] = 0;
		for (size_t j = 0; j <= n && j < n_b; j++)
			scratch[n] += a->at[n - j] * b[j];
	}
	memcpy(a->at, scratch, a->n * sizeof *a->at);
}

/* By the power of a scale times so much. */
static void rescale(struct series *a, double by)
{
	double power = 1;

	for (size_t n = 0; n < a->n; n++, power /= by)
		a->at[n] *= power;
	a->scale *= by;
}

/* log of the number of ways to put n pages there. */
static double log_ways(const struct series *a, size_t n)
{
	return log(a->at[n]) + (double)n * log(a->scale) + lgamma((double)n + 1);
}

struct xr_odds xr_odds_new(struct xr_arena *arena, size_t ways, size_t flush, size_t most, size_t pool)
{
	struct xr_odds odds = {.most = most, .pool = (double)pool};
	size_t n = flush + most + 1;
	struct series others = {xr_arena_array(arena, double, n), first_scale, n}; /* all classes but the full one */
	double *one = xr_arena_array(arena, double, n), *scratch = xr_arena_array(arena, double, n);

	others.at[0] = 1;
	for (int i = 0; i < XR_COLOURS_POWERS; i++) {
		odds.fits[i] = xr_arena_array(arena, double, most + 1);
		if (i > 0) { /* twice as many and one */
			double power = 1;

			times(&others, others.at, n, scratch);
			for (size_t j = 0; j < n; j++, power /= others.scale * (double)j)
				one[j] = j <= ways ? power : 0;
			times(&others, one, n, scratch);
			rescale(&others, 2);
		}
		for (size_t k = 0; k <= most; k++)
			odds.fits[i][k] = !(others.at[flush] > 0) ? -1
			                  : !(others.at[flush + k] > 0)
			                          ? 0
			                          : fmin(1, exp(log_ways(&others, flush + k) -
			                                        log_ways(&others, flush) - (double)k * i * log(2)));
	}
	return odds;
}

/* ---- answers --------------------------------------------------------------------------------------------------------- */

/* Normal deviates that cut off 1/18, 3/18, … of all. */
static const double deviates[XR_COLOURS_DRAWS] = {-1.593, -0.967, -0.589, -0.282, 0, 0.282, 0.589, 0.967, 1.593};

/* Of an overflow, where the pool has that many members more than on average. */
static double chance(const struct xr_odds *odds, int power, int draw, size_t k)
{
	double classes = ldexp(1, power), mean = odds->pool / classes, members, fits;

	if (power == 0)
		return 1 - mistaken;
	members = fmin(odds->pool / 2, fmax(0, mean + deviates[draw] * sqrt(mean)));
	fits = fmax(0, odds->fits[power][k]) * pow((1 - members / odds->pool) / (1 - 1 / classes), (double)k);
	return mistaken + (1 - 2 * mistaken) * (1 - fmin(1, fits));
}

void xr_colours_learn(struct xr_colours *c, const struct xr_odds *odds, size_t k, bool met)
{
	for (int i = 0; i < XR_COLOURS_POWERS; i++)
		for (int d = 0; d < XR_COLOURS_DRAWS; d++) {
			double yes = chance(odds, i, d, k);

			c->log[i][d] += odds->fits[i][k] < 0 ? log(mistaken) : log(met ? yes : 1 - yes);
		}
	c->asked++;
}

/* Of 2^i classes. */
static double log_likelihood(const struct xr_colours *c, int i)
{
	double most = c->log[i][0], sum = 0;

	for (int d = 1; d < XR_COLOURS_DRAWS; d++)
		most = fmax(most, c->log[i][d]);
	for (int d = 0; d < XR_COLOURS_DRAWS; d++)
		sum += exp(c->log[i][d] - most);
	return c->before[i] + most + log(sum / XR_COLOURS_DRAWS);
}

/* The chance that no class of 2^power gets more members than ways of n random pages. */
static double none_overflows(int power, size_t ways, double n)
{
	double classes = ldexp(1, power), mean = n / classes, term = exp(-mean), sum = term;

	for (size_t i = 1; i <= ways; i++)
		sum += term *= mean / (double)i;
	return exp(classes * log(fmin(1, fmax(sum, 1e-300))));
}

void xr_colours_begin(struct xr_colours *c, size_t ways, size_t flush, size_t fits, size_t overflows)
{
	double others = (double)flush;

	for (int i = 0; i < XR_COLOURS_POWERS; i++) {
		double few = none_overflows(i, ways, others + (double)fits / about),
		       many = none_overflows(i, ways, others + (double)overflows * about);

		c->before[i] += log(unsuited + (1 - 2 * unsuited) * (few - many));
	}
}

void xr_colours_go_on(struct xr_colours *c)
{
	for (int i = 0; i < XR_COLOURS_POWERS; i++) {
		c->before[i] = log_likelihood(c, i);
		for (int d = 0; d < XR_COLOURS_DRAWS; d++)
			c->log[i][d] = 0;
	}
	c->asked = 0;
}

double xr_colours_best(const struct xr_colours *c, double *sure)
{
	double sum = 0, log[XR_COLOURS_POWERS];
	int best = 0;

	for (int i = 0; i < XR_COLOURS_POWERS; i++) {
		log[i] = log_likelihood(c, i);
		if (log[i] > log[best])
			best = i;
	}
	for (int i = 0; i < XR_COLOURS_POWERS; i++)
		sum += exp(log[i] - log[best]);
	*sure = 1 / sum;
	return ldexp(1, best);
}

size_t xr_colours_next(const struct xr_colours *c, const struct xr_odds *odds)
{
	double sure, closest = INFINITY, weight[XR_COLOURS_POWERS];
	double likeliest = log_likelihood(c, (int)log2(xr_colours_best(c, &sure)));
	size_t best = 1;

	for (int i = 0; i < XR_COLOURS_POWERS; i++)
		weight[i] = exp(log_likelihood(c, i) - likeliest);
	for (size_t k = 1; k <= odds->most; k++) {
		double yes = 0, all = 0;

		for (int i = 0; i < XR_COLOURS_POWERS; i++)
			if (odds->fits[i][k] >= 0) {
				yes += weight[i] * chance(odds, i, XR_COLOURS_DRAWS / 2, k);
				all += weight[i];
			}
		if (all > 0 && fabs(yes / all - 0.5) < closest) {
			closest = fabs(yes / all - 0.5);
			best = k;
		}
	}
	return best;
}

/* ---- questions ------------------------------------------------------------------------------------------------------- */

/* The class but one, and k pages of the pool, drawn at random. */
static struct xr_lap draw(const struct xr_laps *laps, const struct xr_class *class, uint32_t *pool, size_t n, size_t k)
{
	uint32_t *item = xr_arena_array(xr_run_arena(laps->run), uint32_t, class->n + k);

	memcpy(item, class->item, (class->n - 1) * sizeof *item);
	for (size_t i = 0; i < k; i++) {
		size_t j = i + (size_t)xr_rng_below(xr_run_rng(laps->run), n - i);
		uint32_t drawn = pool[j];

		pool[j] = pool[i];
		pool[i] = drawn;
		item[class->n - 1 + i] = drawn;
	}
	return xr_lap_of(item, class->n - 1 + k);
}

int xr_colours_ask(const struct xr_laps *laps, const struct xr_class *class, const uint32_t *order, size_t n,
                   struct xr_colours *c)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	uint32_t *pool = xr_arena_copy(arena, order, n * sizeof *pool);
	size_t taken = class->n + laps->flush.n;
	size_t most = laps->most > 2 * taken ? laps->most - taken : taken; /* without pads, which are dear */
	struct xr_odds odds;
	double sure;

	(void)xr_colours_best(c, &sure);
	most = most > n / 2 ? n / 2 : most;
	most = most > MOST ? MOST : most;
	odds = xr_odds_new(arena, class->n - 1, laps->inside ? 0 : laps->flush.n, most, n);
	for (int batch = 0; batch < BATCHES && (batch == 0 || sure < enough) && most > 0; batch++) {
		size_t k = xr_colours_next(c, &odds), n_asked = sure < roughly ? FEW : BATCH;
		struct xr_lap lap[BATCH];
		bool yes[BATCH];

		for (size_t i = 0; i < n_asked; i++)
			lap[i] = draw(laps, class, pool, n, k);
		if (xr_laps_overflow(laps, lap, n_asked, 1, yes) != 0)
			return -1;
		for (size_t i = 0; i < n_asked; i++)
			xr_colours_learn(c, &odds, k, yes[i]);
		(void)xr_colours_best(c, &sure);
	}
	return 0;
}
