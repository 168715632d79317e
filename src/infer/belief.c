/* SPDX-License-Identifier: MIT */
/* Belief over hypotheses; see belief.h. */
#include "infer/belief.h"

#include <math.h>
#include <stdlib.h>

struct xr_belief xr_belief_new(struct xr_arena *arena, size_t n, const double *prior)
{
	struct xr_belief b = {n, xr_arena_array(arena, double, n + 1)};
	double sum = 0;

	for (size_t h = 0; h < n; h++)
		sum += prior ? prior[h] : 1;
	for (size_t h = 0; h < n; h++)
		b.log[h] = log((1 - XR_BELIEF_NONE) * (prior ? prior[h] : 1) / sum);
	b.log[n] = log(XR_BELIEF_NONE);
	return b;
}

void xr_belief_add(struct xr_belief *b, const double *log, double log_none, double weight)
{
	for (size_t h = 0; h < b->n; h++)
		b->log[h] += weight * log[h];
	b->log[b->n] += weight * log_none;
}

/* log of the sum of all. */
static double total(const struct xr_belief *b)
{
	double most = b->log[b->n], sum = 0;

	for (size_t h = 0; h < b->n; h++)
		most = fmax(most, b->log[h]);
	for (size_t h = 0; h <= b->n; h++)
		sum += exp(b->log[h] - most);
	return most + log(sum);
}

double xr_belief_p(const struct xr_belief *b, size_t h)
{
	return exp(b->log[h] - total(b));
}

const double *xr_belief_all(struct xr_arena *arena, const struct xr_belief *b)
{
	double *p = xr_arena_array(arena, double, b->n + 1), all = total(b);

	for (size_t h = 0; h <= b->n; h++)
		p[h] = exp(b->log[h] - all);
	return p;
}

size_t xr_belief_best(const struct xr_belief *b, double *p)
{
	size_t best = b->n;

	for (size_t h = 0; h < b->n; h++)
		if (b->log[h] > b->log[best])
			best = h;
	if (p)
		*p = xr_belief_p(b, best);
	return best;
}

struct valued {
	double value, log;
};

static int by_value(const void *a, const void *b)
{
	const struct valued *x = a, *y = b;

	return (x->value > y->value) - (x->value < y->value);
}

double xr_belief_of(const struct xr_belief *b, const double *value, double *best)
{
	double all = total(b), most = exp(b->log[b->n] - all);
	struct valued *sorted = calloc(b->n + 1, sizeof *sorted);

	*best = NAN;
	for (size_t h = 0; h < b->n && sorted; h++)
		sorted[h] = (struct valued){value[h], b->log[h]};
	if (sorted)
		qsort(sorted, b->n, sizeof *sorted, by_value);
	for (size_t h = 0, end = 0; h < b->n && sorted; h = end) {
		double p = 0;

		for (end = h; end < b->n && sorted[end].value == sorted[h].value; end++)
			p += exp(sorted[end].log - all);
		end += end == h; /* a value that is no number is nobody's */
		if (p > most) {
			most = p;
			*best = sorted[h].value;
		}
	}
	free(sorted);
	return most;
}

/* A channel with Gaussian noise: half the logarithm of one plus signal over noise, where the signal is how far
 * apart the hypotheses that are still believed are. */
double xr_belief_tells(const struct xr_belief *b, const double *predicted, double sigma)
{
	double all = total(b), mean = 0, square = 0, weight = 0;

	for (size_t h = 0; h < b->n; h++) {
		double p = exp(b->log[h] - all);

		if (!isfinite(predicted[h]))
			continue;
		mean += p * predicted[h];
		square += p * predicted[h] * predicted[h];
		weight += p;
	}
	if (!(weight > 0) || !(sigma > 0))
		return 0;
	mean /= weight;
	return log1p(fmax(0, square / weight - mean * mean) / (sigma * sigma)) / 2;
}

double xr_belief_independent(const double *answer, size_t m, size_t size)
{
	size_t groups = size ? m / size : 0;
	double mean = 0, within = 0, between = 0, rho;

	if (groups < 2 || size < 2)
		return 1;
	for (size_t i = 0; i < groups * size; i++)
		mean += answer[i] / (double)(groups * size);
	for (size_t g = 0; g < groups; g++) {
		double own = 0;

		for (size_t i = 0; i < size; i++)
			own += answer[g * size + i] / (double)size;
		between += (own - mean) * (own - mean) * (double)size / (double)(groups - 1);
		for (size_t i = 0; i < size; i++)
			within += (answer[g * size + i] - own) * (answer[g * size + i] - own) /
			          (double)(groups * (size - 1));
	}
	if (!(between > within)) /* all alike, or as different within a group as between them */
		return 1;
	rho = (between - within) / (between + (double)(size - 1) * within);
	return 1 / (1 + (double)(size - 1) * rho);
}
