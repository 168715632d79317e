/* SPDX-License-Identifier: MIT */
/* Sets of a TLB that others use, too, see sharedset.h. */
#include "method/sharedset.h"

#include "stat/stat.h"

#include <math.h>

enum {
	NUMBERS = 11,
	AROUND = 4,
	ORDERS = 15,
	TRIES = 6,
	MORE = 4,   /* times as many orders, of one page more than were seen to fit */
	ENOUGH = 2, /* sets that lose nothing: one may be an accident */
	RESAMPLES = 200,
};

/* One page too many pushes out all pages of its set where the oldest goes, about half of them where any not used lately
 * goes; where all fit, somebody else's pages push out a few. So the line is drawn between a few and half. (Second TLBs of
 * 16 ways lost a fifth with one page too many, two fifths with two, and as much with one or two less beside a neighbour.) */
static const double pushed_out = 1.0 / 3;
static const double line_from = 0.2, line_to = 0.6; /* and might be drawn anywhere in here */
static const double none_lost = 0.5;                /* pages in a lap: less is none */
static const double rarer = 0.7;
static const double clear = 0.9;

/* How large a share of its pages a set loses over the number of pages, in some orders each of which is of another set. */
struct ramp {
	size_t n[NUMBERS + 2], k; /* the first fits for sure, the last is too many for sure */
	double share[ORDERS][NUMBERS];
	size_t orders;
};

static int read_ramp(const struct xr_page_family *f, struct ramp *r)
{
	struct xr_page_family same[NUMBERS + 2];
	double cycles[(NUMBERS + 2) * ORDERS] = {0}, none, full;
	const size_t last = r->k - 1;

	for (size_t i = 0; i < r->k; i++)
		same[i] = *f;
	if (xr_pages_excess_by_order(same, r->n, r->k, r->orders, cycles) != 0)
		return -1;
	none = xr_median(cycles, r->orders) / (double)(r->n[0] + f->between);
	full = (xr_median(cycles + last * r->orders, r->orders) - (double)(r->n[last] + f->between) * none) /
	       (double)r->n[last];
	for (size_t o = 0; o < r->orders; o++)
		for (size_t i = 1; i < last; i++)
			r->share[o][i - 1] = (cycles[i * r->orders + o] - (double)(r->n[i] + f->between) * none) /
			                     (double)r->n[i] / full;
	return 0;
}

/* The last number of pages before this share is lost, by the medians of these orders. */
static size_t pages_before(const struct ramp *r, const size_t *order, size_t orders, double line)
{
	double of_order[ORDERS], middle[NUMBERS] = {0};
	size_t inner = r->k - 2, i = 0;

	for (size_t k = 0; k < inner; k++) {
		for (size_t o = 0; o < orders; o++)
			of_order[o] = r->share[order ? order[o] : o][k];
		middle[k] = xr_median(of_order, orders);
	}
	xr_monotone_l1(middle, inner, middle);
	while (i < inner && middle[i] <= line)
		i++;
	return r->n[i];
}

/* From one length that fits to one that does not, every `step`-th. */
static void make_ramp(struct ramp *r, size_t from, size_t to, size_t step, size_t all, size_t orders)
{
	r->k = 0;
	r->orders = orders;
	r->n[r->k++] = 1;
	for (size_t n = from; n <= to && n < all && r->k <= NUMBERS; n += step)
		r->n[r->k++] = n;
	r->n[r->k++] = all;
}

/* Of how many orders no page is lost. */
static int clean_orders(const struct ramp *r, size_t n)
{
	int clean = 0;

	for (size_t i = 1; i + 1 < r->k; i++)
		for (size_t o = 0; o < r->orders && r->n[i] == n; o++)
			clean += r->share[o][i - 1] * (double)n < none_lost;
	return clean;
}

/* The largest number of pages of which some sets lose none. */
static size_t seen_to_fit(const struct ramp *r)
{
	size_t most = 1;

	for (size_t i = 1; i + 1 < r->k; i++)
		if (clean_orders(r, r->n[i]) >= ENOUGH)
			most = r->n[i];
	return most;
}

/* One page more: are there sets that lose none? Goes on while there are. */
static int see_more(const struct xr_page_family *f, size_t upto, size_t all, size_t *fit)
{
	for (int i = 0; i < MORE && *fit < upto;) {
		struct ramp r;
		size_t now;

		make_ramp(&r, *fit + 1, *fit + 1, 1, all, ORDERS);
		if (r.k < 3)
			break;
		if (read_ramp(f, &r) != 0)
			return -1;
		now = seen_to_fit(&r);
		i = now > *fit ? 0 : i + 1;
		*fit = now > *fit ? now : *fit;
	}
	return 0;
}

/* Where sets of so many pages lose none more rarely than sets of one less, there are sets with more of somebody else's pages
 * and with fewer. Then with one page more, did it fit, some would lose none, too, more rarely by as much again. How likely
 * that was never seen, all the same. 1: nothing can be said. */
static double chance_of_more(const struct ramp *r, size_t fit)
{
	const double here = clean_orders(r, fit), before = clean_orders(r, fit - 1);

	if (here < ENOUGH || here > rarer * before)
		return 1;
	return pow(1 - here / (double)r->orders * here / before, (double)(r->orders * (1 + MORE)));
}

/* What other sets, and another line between few and half, would have said. */
static void weigh(const struct ramp *r, struct xr_rng *rng, size_t fit, struct xr_tlb_sets *sets, double *near)
{
	size_t equal = 0, close = 0;

	for (int i = 0; i < RESAMPLES; i++) {
		size_t order[ORDERS], ways;

		for (size_t o = 0; o < r->orders; o++)
			order[o] = (size_t)xr_rng_below(rng, r->orders);
		ways = pages_before(r, order, r->orders, line_from + (line_to - line_from) * xr_rng_unit(rng));
		ways = ways > fit ? ways : fit;
		equal += ways == sets->ways;
		close += ways + 1 >= sets->ways && ways <= sets->ways + 1;
	}
	sets->sure = (double)equal / RESAMPLES;
	*near = (double)close / RESAMPLES;
	if (sets->ways == fit)
		sets->sure = fmax(sets->sure, 1 / (1 + chance_of_more(r, fit)));
	*near = fmax(*near, sets->sure);
}

/* How round a number is: the largest power of two in it. */
static size_t roundness(size_t x)
{
	return x & (~x + 1);
}

/* Large numbers that are as good as each other: of those within an eighth, the roundest. (Sets of 16 ways seemed to hold 15 to
 * 18 pages, beside neighbours, and because the first level may keep one of them to itself.) */
static size_t roundest_near(size_t ways)
{
	size_t best = ways;

	for (size_t w = ways - ways / 8; w <= ways + ways / 8; w++)
		if (roundness(w) > roundness(best))
			best = w;
	return best;
}

int xr_shared_ways(const struct xr_page_family *f, size_t all, struct xr_tlb_sets *sets, double *near)
{
	struct ramp r;
	size_t fit;

	sets->ways = 0;
	sets->sure = *near = 0;
	make_ramp(&r, 2, all - 1, (all + NUMBERS - 1) / NUMBERS, all, ORDERS / 3);
	if (read_ramp(f, &r) != 0)
		return -1;
	for (int i = 0; i < TRIES; i++) {
		size_t about = pages_before(&r, NULL, r.orders, pushed_out);

		/* Around it; where it is not inside of that, once more. */
		make_ramp(&r, about > AROUND + 1 ? about - AROUND : 2, about + AROUND, 1, all, ORDERS);
		if (read_ramp(f, &r) != 0)
			return -1;
		sets->ways = pages_before(&r, NULL, r.orders, pushed_out);
		if ((sets->ways >= r.n[1] || r.n[1] == 2) && sets->ways < r.n[r.k - 2]) {
			fit = seen_to_fit(&r);
			if (see_more(f, sets->ways + 1, all, &fit) != 0)
				return -1;
			sets->ways = fit > sets->ways ? fit : sets->ways;
			weigh(&r, xr_run_rng(f->in->run), fit, sets, near);
			if (sets->sure < clear)
				sets->ways = roundest_near(sets->ways);
			break;
		}
	}
	return 0;
}
