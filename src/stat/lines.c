/* SPDX-License-Identifier: MIT */
/* Two lines: where does a curve change its slope? */
#include "stat/stat.h"

#include <math.h>

struct line {
	double a, b, cost; /* y = a + b x, sum of |residuals| */
};

static double absolute_cost(const double *x, const double *y, size_t n, const struct line *line)
{
	double cost = 0;
	for (size_t i = 0; i < n; i++)
		cost += fabs(y[i] - line->a - line->b * x[i]);
	return cost;
}

/* Least squares, each point weighted with 1 / |residual| of the line before (all 1 when there is none), which turns
 * squares into absolute values; `least` keeps points already on the line from getting all the weight. */
static struct line weighted_fit(const double *x, const double *y, size_t n, const struct line *before, double least)
{
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
	struct line line;

	for (size_t i = 0; i < n; i++) {
		double dx = x[i] - x[0], dy = y[i] - y[0]; /* small numbers, small rounding errors */
		double w = before ? 1 / fmax(fabs(y[i] - before->a - before->b * x[i]), least) : 1;
		sw += w;
		sx += w * dx;
		sy += w * dy;
		sxx += w * dx * dx;
		sxy += w * dx * dy;
	}
	double spread = sw * sxx - sx * sx;
	line.b = spread > 1e-14 * sw * sxx ? (sw * sxy - sx * sy) / spread : 0;
	line.a = y[0] + (sy - line.b * sx) / sw - line.b * x[0];
	line.cost = absolute_cost(x, y, n, &line);
	return line;
}

static struct line fit_line(const double *x, const double *y, size_t n)
{
	enum { ROUNDS = 12 };
	struct line line = weighted_fit(x, y, n, NULL, 0), best = line;
	double least = 1e-6 * line.cost / (double)n;

	for (int round = 0; round < ROUNDS && n > 2 && least > 0; round++) {
		line = weighted_fit(x, y, n, &line, least);
		if (!(line.cost < best.cost))
			break;
		bool settled = line.cost > best.cost * (1 - 1e-5);
		best = line;
		if (settled)
			break;
	}
	return best;
}

struct xr_fit2_lines xr_two_lines(const double *x, const double *y, size_t n)
{
	struct xr_fit2_lines fit = {.split = -1, .left_a = NAN, .right_a = NAN};
	double size = 0;

	if (!n)
		return fit;
	struct line one = fit_line(x, y, n);
	fit = (struct xr_fit2_lines){-1, one.a, one.b, one.a, one.b, 0};
	for (size_t i = 0; i < n; i++)
		size += fabs(y[i]);
	if (!(one.cost > 1e-12 * size)) /* nothing left to explain but rounding */
		return fit;

	double best = one.cost;
	for (size_t left = 2; left + 2 <= n; left++) {
		struct line l = fit_line(x, y, left), r = fit_line(x + left, y + left, n - left);
		if (l.cost + r.cost < best) {
			best = l.cost + r.cost;
			fit = (struct xr_fit2_lines){(long)left - 1, l.a, l.b, r.a, r.b, 1 - best / one.cost};
		}
	}
	return fit;
}
