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

static const char *check_monotone(const struct input *in)
{
	void (*const make[])(const double *, size_t, double *) = {xr_monotone, xr_monotone_l1, xr_running_min};
	const char *wrong = NULL;
	double *out = malloc((in->n + 1) * sizeof *out), *again = malloc((in->n + 1) * sizeof *again);

	for (size_t f = 0; f < sizeof make / sizeof *make && !wrong; f++) {
		make[f](in->x, in->n, out);
		if (in->n)
			memcpy(again, in->x, in->n * sizeof *again);
		make[f](again, in->n, again);
		if (in->n && memcmp(out, again, in->n * sizeof *out) != 0)
			wrong = "monotone: in place as elsewhere";
		for (size_t i = 0; i < in->n && in->tame && !wrong; i++) {
			if (!inside(in, out[i]))
				wrong = "monotone: inside the range";
			if (i && !(out[i] >= out[i - 1]))
				wrong = "monotone: never down";
		}
	}
	free(again);
	free(out);
	return wrong;
}

static const char *check_steps(const struct input *in)
{
	const double *x = in->x;
	size_t n = in->n;
	struct xr_fit2 fit = xr_two_segments(x, n);

	REQUIRE(is_index(in, xr_first_step(x, n, in->parameter)));
	REQUIRE(is_index(in, xr_biggest_step(x, n, in->parameter)));
	REQUIRE(is_index(in, xr_biggest_scaled_step(x, n, in->parameter)));
	REQUIRE(is_index(in, xr_single_step(x, n, in->parameter, NULL)));
	REQUIRE(is_index(in, fit.split));
	if (!in->tame || n == 0)
		return NULL;
	REQUIRE(inside(in, fit.left) && inside(in, fit.right));
	REQUIRE(fit.gain >= 0 && fit.gain <= 1 && fit.noise >= 0);
	REQUIRE(fit.split >= 0 || fit.gain == 0);
	return NULL;
}

static const char *check_lines(const struct input *in)
{
	double *at = malloc((in->n + 1) * sizeof *at);
	const char *wrong = NULL;

	for (int way = 0; way < 2 && !wrong; way++) { /* against the index, and against numbers in any order */
		for (size_t i = 0; i < in->n; i++)
			at[i] = way ? in->x[in->n - 1 - i] : (double)i;
		struct xr_fit2_lines fit = xr_two_lines(at, in->x, in->n);
		if (!is_index(in, fit.split))
			wrong = "two lines: split in range";
		else if (in->tame && in->n && !(fit.gain >= 0 && fit.gain <= 1))
			wrong = "two lines: gain in 0..1";
		else if (in->tame && in->n && !(isfinite(fit.left_a) && isfinite(fit.right_b)))
			wrong = "two lines: finite";
	}
	free(at);
	return wrong;
}

static const char *check_segments(const struct input *in)
{
	enum { MAX = 7 };
	size_t (*const make[])(const double *, size_t, double, double, size_t, size_t *, double *) = {xr_segments,
	                                                                                              xr_segments_log};
	const double penalty[] = {0, in->parameter};
	size_t ends[MAX];
	double levels[MAX];

	for (size_t way = 0; way < 4; way++) {
		for (size_t max = 0; max <= MAX; max += max == 3 ? 4 : 3) {
			size_t count = make[way % 2](in->x, in->n, penalty[way / 2], 0.12, max, ends, levels);
			REQUIRE(count <= max && count <= in->n);
			REQUIRE((count == 0) == (max == 0 || in->n == 0));
			REQUIRE(count == 0 || ends[count - 1] == in->n - 1);
			for (size_t k = 0; k < count; k++) {
				REQUIRE(k == 0 || ends[k] > ends[k - 1]);
				REQUIRE(inside(in, levels[k]));
			}
		}
	}
	return NULL;
}

static const char *check_cluster(const struct input *in)
{
	const double diameter[] = {0, 0.25, in->parameter};
	int *label = malloc((in->n + 1) * sizeof *label);
	const char *wrong = NULL;

	for (size_t d = 0; d < 3 && !wrong; d++) {
		size_t clusters = xr_cluster(in->x, in->n, diameter[d], label);
		if (clusters > in->n || (clusters == 0) != (in->n == 0))
			wrong = "cluster: as many as points at most";
		for (size_t i = 0; i < in->n && !wrong; i++) {
			if (label[i] < 0 || label[i] >= (int)clusters)
				wrong = "cluster: labels in range";
			for (size_t j = 0; j < i && in->tame; j++)
				if (in->x[i] < in->x[j] ? label[i] > label[j]
				                        : in->x[i] > in->x[j] && label[i] < label[j])
					wrong = "cluster: labels rise with the values";
		}
	}
	free(label);
	return wrong;
}

static double last_and_first(const double *y, size_t n, void *self)
{
	return n ? y[n - 1] - y[0] + *(double *)self : 0;
}

static const char *check_decisions(const struct input *in)
{
	const double *x = in->x;
	size_t n = in->n, half = n / 2;
	double share, p, value = 0, lo, hi;

	double mode = xr_mode(x, n, &share);
	REQUIRE(is_member(in, mode));
	REQUIRE(n == 0 ? share == 0 : share > 0 && share <= 1);
	mode = xr_mode_binned(x, n, in->parameter, &share);
	REQUIRE(n == 0 || inside(in, mode));
	REQUIRE(share >= 0 && share <= 1);

	double d = xr_ks(x, half, x + half, n - half, &p);
	REQUIRE(d >= 0 && d <= 1 && p >= 0 && p <= 1);
	REQUIRE(fabs(xr_ks(x + half, n - half, x, half, NULL) - d) < 1e-12);
	REQUIRE(xr_ks(x, n, x, n, NULL) == 0);

	const double *row[3] = {x, x + half / 2, x + half};
	share = xr_bootstrap_share(row, half ? 3 : 0, half, 20, 1, last_and_first, &value, &p);
	REQUIRE(share > 0 && share <= 1);
	xr_bootstrap_interval(x, n, 20, 1, xr_median, in->parameter, &lo, &hi);
	xr_bootstrap_interval(x, n, 20, 1, xr_median, 0.9, &lo, &hi);
	REQUIRE(!in->tame || n == 0 || (lo <= hi && inside(in, lo) && inside(in, hi)));
	return NULL;
}

static const char *check_snaps(const struct input *in)
{
	for (size_t i = 0; i < in->n; i++) {
		double x = in->x[i], a = in->x[in->n - 1 - i];
		double pow2 = xr_snap_pow2(x, a, 0.06), integer = xr_snap_integer(x, 0.06);
		xr_snap_pow2(x, a, in->parameter);
		REQUIRE(isnan(x) || pow2 == x || fabs(pow2 - x) <= 0.06 * x);
		REQUIRE(isnan(x) || integer == x || fabs(integer - x) <= 0.06);
	}
	return NULL;
}

const char *xr_stat_violation(const double *x, size_t n, double parameter)
{
	static const char *(*const check[])(const struct input *) = {
		check_order,    check_monotone, check_steps,     check_lines,
		check_segments, check_cluster,  check_decisions, check_snaps,
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
