/* SPDX-License-Identifier: MIT */
#include "stat_properties.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			return #condition;                                                                             \
	} while (0)

struct input {
	const double *x;
	size_t n;
	double parameter, low, high;
	bool tame; /* values can be relied upon, not only indices */
};

static bool inside(const struct input *in, double value)
{
	double rounding = 1e-9 * fmax(fabs(in->low), fabs(in->high));
	return !in->tame || (value >= in->low - rounding && value <= in->high + rounding);
}

static bool is_index(const struct input *in, long step)
{
	return step >= -1 && step + 1 < (long)(in->n ? in->n : 1);
}

static bool is_member(const struct input *in, double value)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->x[i] == value)
			return true;
	return !in->tame || in->n == 0;
}

static const char *check_order(const struct input *in)
{
	const double *x = in->x;
	size_t n = in->n;
	double before = -HUGE_VAL, fast, slow;

	for (size_t k = 0; k < n && k < 40; k++) {
		double value = xr_kth_lowest(x, n, k);
		REQUIRE(is_member(in, value));
		REQUIRE(!in->tame || value >= before);
		before = value;
	}
	REQUIRE(n == 0 || inside(in, xr_quantile(x, n, 0.3)));
	xr_quantile(x, n, in->parameter);
	REQUIRE(is_member(in, xr_lower(x, n)));
	REQUIRE(n == 0 || (inside(in, xr_median(x, n)) && inside(in, xr_mean(x, n))));
	REQUIRE(!in->tame || n == 0 || (xr_mad(x, n) >= 0 && xr_spread(x, n) >= 0));
	REQUIRE(n == 0 || inside(in, xr_densest(x, n, NULL)));
	xr_mad(x, n);
	xr_spread(x, n);
	bool two = xr_bimodal(x, n, in->parameter, &fast, &slow);
	REQUIRE(!in->tame || n == 0 || (inside(in, fast) && inside(in, slow)));
	REQUIRE(!in->tame || n == 0 || (two ? fast < slow || in->parameter < 0 : fast == slow));
	return NULL;
}

static const char *check_steps(const struct input *in)
{
	const double *x = in->x;
	size_t n = in->n;
	struct xr_fit2 fit = xr_two_segments(x, n);

	REQUIRE(is_index(in, fit.split));
	if (!in->tame || n == 0)
		return NULL;
	REQUIRE(inside(in, fit.left) && inside(in, fit.right));
	REQUIRE(fit.gain >= 0 && fit.gain <= 1 && fit.noise >= 0);
	REQUIRE(fit.split >= 0 || fit.gain == 0);
	return NULL;
}

static const char *check_decisions(const struct input *in)
{
	const double *x = in->x;
	size_t n = in->n;
	double share;

	double mode = xr_mode(x, n, &share);
	REQUIRE(is_member(in, mode));
	REQUIRE(n == 0 ? share == 0 : share > 0 && share <= 1);
	mode = xr_mode_binned(x, n, in->parameter, &share);
	REQUIRE(n == 0 || inside(in, mode));
	REQUIRE(share >= 0 && share <= 1);
	return NULL;
}

static const char *check_snaps(const struct input *in)
{
	for (size_t i = 0; i < in->n; i++) {
		double x = in->x[i], integer = xr_snap_integer(x, 0.06);
		REQUIRE(isnan(x) || integer == x || fabs(integer - x) <= 0.06);
	}
	return NULL;
}

const char *xr_stat_violation(const double *x, size_t n, double parameter)
{
	static const char *(*const check[])(const struct input *) = {
		check_order,
		check_steps,
		check_decisions,
		check_snaps,
	};
	struct input in = {
		.x = x, .n = n, .parameter = parameter, .low = xr_min(x, n), .high = xr_max(x, n), .tame = true};

	for (size_t i = 0; i < n; i++) /* squares, and what is left of small differences of them, must be numbers */
		if (!isfinite(x[i]) || fabs(x[i]) > 1e60 || (x[i] != 0 && fabs(x[i]) < 1e-60))
			in.tame = false;
	for (size_t k = 0; k < sizeof check / sizeof *check; k++) {
		const char *violated = check[k](&in);
		if (violated)
			return violated;
	}
	return NULL;
}
