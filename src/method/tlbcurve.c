/* SPDX-License-Identifier: MIT */
/* The cost of translation over neighbouring pages, see tlb.h. */
#include "method/soft.h"
#include "method/tlb.h"

#include "stat/stat.h"

#include <math.h>

enum {
	CURVE_SHORT = 64,   /* pages: many first levels are smaller */
	CURVE_FIRST = 1024, /* all but few are */
	CURVE_PAGES = 8192,
	MANY_ORDERS_UP_TO = 512, /* pages */
	LINE_MOST = 128,
};

/* Where there are so many pages that no line stays in the first cache, a line of the next one may be larger: packed lines
 * have to be as far apart as no line is large, or the next cache holds more of them than of single ones. */
static uint64_t cell_for(const struct xr_tlb *t, size_t pages)
{
	const uint64_t least = 2 * t->pages.line;

	return pages > MANY_ORDERS_UP_TO && least < LINE_MOST ? LINE_MOST : least;
}

static int time_cells(struct xr_tlb *t, uint64_t cell, const size_t *pages, size_t n, int orders,
                      struct xr_curve *curve)
{
	struct xr_translate translate = {.run = t->run,
	                                 .buffer = t->pages.compact.buffer,
	                                 .page = t->pages.page,
	                                 .line = cell,
	                                 .orders = orders,
	                                 .effort = {.samples = 5, .samples_max = 5}};

	return xr_curve_add(&translate, pages, n, curve);
}

static int time_curve(struct xr_tlb *t, const size_t *pages, size_t n, int orders, struct xr_curve *curve)
{
	return n > 0 ? time_cells(t, cell_for(t, pages[0]), pages, n, orders, curve) : 0;
}

/* Goes on with the curve up to so many pages, points this ratio apart; few orders where pages are many. */
static int extend_curve(struct xr_tlb *t, size_t most, double ratio)
{
	size_t pages[XR_CURVE_MAX], n, few = 0;
	double from = t->curve.n ? floor(t->curve.x[t->curve.n - 1] * ratio) : 3;

	n = xr_curve_points(from, (double)(most < t->pages.pages ? most : t->pages.pages), ratio, pages);
	while (few < n && pages[few] <= MANY_ORDERS_UP_TO)
		few++;
	if ((few > 0 && time_curve(t, pages, few, 3, &t->curve) != 0) ||
	    (n > few && time_curve(t, pages + few, n - few, 1, &t->curve) != 0))
		return -1;
	return 0;
}

/* One question that spares many others where there is no further level, as in most machines. */
static int look_far(struct xr_tlb *t)
{
	const size_t most = t->pages.pages < CURVE_PAGES ? t->pages.pages : CURVE_PAGES;
	struct xr_curve far = {0};

	if (t->far > 0 || t->far < 0)
		return 0;
	if (time_curve(t, &most, 1, 1, &far) != 0)
		return -1;
	t->far = far.y[0];
	return 0;
}

/* What makes a step: more than noise, and a good part of what is there already. */
static double least_step(const struct xr_tlb *t, double from)
{
	return fmax(0.12 * t->hit, 0.3 * fabs(from));
}

/* The next step of the curve behind point i: rises by more than noise and does not come back. *height: the middle of
 * what follows, up to 2.5 times as many pages; returns the first point above, 0: there is no such step. */
static size_t next_step(const struct xr_tlb *t, const double *y, size_t i, double *height)
{
	const struct xr_curve *c = &t->curve;
	const double least = least_step(t, y[i]);
	size_t up = i + 1, end;

	while (up < c->n && y[up] <= y[i] + least)
		up++;
	for (end = up; end < c->n && c->x[end] <= 2.5 * c->x[up]; end++)
		;
	if (end < up + 2)
		return 0;
	*height = xr_median(y + up + 1, end - up - 1);
	return up;
}

static struct xr_tlb_step first_step(const struct xr_tlb *t)
{
	double y[XR_CURVE_MAX], height;
	size_t up;

	xr_monotone_l1(t->curve.y, t->curve.n, y);
	up = next_step(t, y, 0, &height);
	if (up == 0)
		return (struct xr_tlb_step){0};
	return (struct xr_tlb_step){height, (size_t)t->curve.x[up - 1], (size_t)t->curve.x[up]};
}

/* The curve as far as it takes to see its first step, and what follows. */
int xr_tlb_find_step(struct xr_tlb *t, struct xr_tlb_step *step)
{
	*step = (struct xr_tlb_step){0};
	for (size_t most = CURVE_SHORT; most <= CURVE_PAGES; most *= most < CURVE_FIRST ? 2 : 8) {
		if (most > CURVE_FIRST && look_far(t) != 0)
			return -1;
		if (most > CURVE_FIRST && fabs(t->far) < least_step(t, 0))
			break;
		if (extend_curve(t, most, M_SQRT2) != 0)
			return -1;
		*step = first_step(t);
		if (step->height > 0 && step->above * 5 <= most * 2)
			break;
	}
	return 0;
}

/* ---- the second level ------------------------------------------------------------------------------------------ */

/* Roughly where the second step of the curve is and how high it goes; 0: there is none. */
static double second_step(const struct xr_tlb *t, double *height)
{
	const struct xr_curve *c = &t->curve;
	double y[XR_CURVE_MAX];
	size_t one = 0;

	xr_monotone_l1(c->y, c->n, y);
	while (one + 1 < c->n && c->x[one] < 1.5 * (double)t->first.entries)
		one++;
	return next_step(t, y, one, height) ? xr_curve_passes(c, c->x[one], (t->first.penalty + *height) / 2) : 0;
}

/* Pairs of long lines that are fetched together make packed lines look cheaper than they are. Twice as far apart they are
 * not, and what a TLB costs stays. */
static int is_no_pair(struct xr_tlb *t, double middle, double height, bool *stays)
{
	const size_t n = (size_t)(middle * 1.6) < t->pages.pages ? (size_t)(middle * 1.6) : t->pages.pages;
	struct xr_curve apart = {0};

	if (time_cells(t, 2 * cell_for(t, n), &n, 1, 3, &apart) != 0)
		return -1;
	*stays = apart.y[0] > (t->first.penalty + height) / 2;
	return 0;
}

int xr_tlb_find_middle(struct xr_tlb *t)
{
	size_t pages[XR_CURVE_MAX], n;
	double second = 0, middle, before, after;
	struct xr_curve fine = {0};
	bool stays;

	if (t->curve.x[t->curve.n - 1] < CURVE_PAGES / 2 && extend_curve(t, CURVE_PAGES, 2) != 0)
		return -1;
	middle = second_step(t, &second);
	if (middle == 0)
		return 0;
	n = xr_curve_points(middle / 2.5, fmin(middle * 3, (double)t->pages.pages), 1.06, pages);
	if (time_curve(t, pages, n, 3, &fine) != 0)
		return -1;
	for (int i = 0; i < 3 && middle > 0; i++) {
		second = xr_curve_level(&fine, fine.y, middle * 1.35, middle * 2.5, second);
		middle = xr_curve_passes(&fine, 0, (t->first.penalty + second) / 2);
	}
	before = xr_curve_level(&fine, fine.packed, 0, middle * 0.65, 0);
	after = xr_curve_level(&fine, fine.packed, middle * 1.35, middle * 2.5, 0);
	if (middle == 0 || second < t->first.penalty * 1.2 + 0.12 * t->hit ||
	    fabs(after - before) > 0.3 * (second - t->first.penalty))
		return 0;
	if (is_no_pair(t, middle, second, &stays) != 0)
		return -1;
	if (!stays)
		return 0;
	t->second.middle = middle;
	t->second.entries = (size_t)lround(middle);
	t->second.penalty = second;
	return 0;
}

int xr_tlb_ask_neighbours(struct xr_tlb *t, bool *agree, bool *heard)
{
	const size_t e = t->second.entries, n[3] = {e * 3 / 4, e * 4 / 3, e * 2};
	const double first = t->first.penalty, share = xr_pages_share(&t->second.sets, t->second.sets.ways * 4 / 3);
	double miss = fmax(t->second.penalty - first, 0.1 * t->hit);

	*agree = true;
	*heard = false;
	if (n[0] < 2 || n[2] > t->pages.pages)
		return 0;
	/* With what a miss costs by sets of pages; where that does not fit, by neighbours, and not in passing: somebody may
	 * have been there. */
	for (size_t i = 0, k = 2; i < 2 && (i == 0 || !*agree); i++, k = 3) {
		struct xr_curve c = {0};

		if (time_curve(t, n, k, i ? 2 : 1, &c) != 0)
			return -1;
		if (k == 3)
			miss = c.y[2] - first;
		*heard = xr_max(c.packed, k) - xr_min(c.packed, k) < 0.2 * miss;
		*agree = !*heard || (c.y[0] - first < 0.35 * miss && c.y[1] - first > 0.4 * share * miss);
	}
	return 0;
}

/* ---- the third --------------------------------------------------------------------------------------------------- */

/* A third level: pages beyond the second begin to cost more, once, and the packed lines do not. These may be in more pages
 * than the first level holds, and pay for that. */
int xr_tlb_find_third(struct xr_tlb *t)
{
	size_t pages[XR_CURVE_MAX], n;
	struct xr_curve_step step;
	struct xr_curve c = {0}, fine = {0};

	if (t->second.entries == 0)
		return 0;
	n = xr_curve_points(1.5 * (double)t->second.entries, fmin((double)t->pages.pages, CURVE_PAGES), M_SQRT2, pages);
	if (n <= 3)
		return 0;
	if (look_far(t) != 0)
		return -1;
	if (t->far < xr_curve_further * t->second.penalty)
		return 0;
	if (time_curve(t, pages, n, 5, &c) !=
	    0) /* so many lines meet in caches by chance, more in one order than in another */
		return -1;
	if (!xr_curve_leaves(&c, t->second.penalty, &step))
		return 0;
	n = xr_curve_points(step.middle / 1.5, step.middle * 1.5, 1.06, pages);
	if (time_curve(t, pages, n, 3, &fine) != 0)
		return -1;
	/* Neighbouring pages fill all sets alike: pages begin to miss when all are full, and all do with one more in each. */
	step.middle = xr_curve_passes(&fine, 0, (3 * t->second.penalty + step.height) / 4);
	if (step.middle * 2 * (double)t->pages.line > (double)(t->first.entries * t->pages.page))
		step.height += t->first.penalty;
	t->third = step;
	return 0;
}
