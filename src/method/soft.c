/* SPDX-License-Identifier: MIT */
/* Sets that overflow softly, see soft.h. */
#include "method/soft.h"

#include "stat/stat.h"
#include "util/arena.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

enum {
	PRELUDE = 8, /* visits of each place, at random */
	LAPS_BEFORE = 12,
	LAPS = 24,
	POINTS = 14,
	WAYS_MOST = 192, /* trials of more take too long */
	ORDERS = 3,
	MORE = 3, /* times as many orders, of a few pages more than were seen to fit */
	BEYOND = 4,
	TIMES = 2,
	SOFT_TIMES = 4, /* as many pages as fit: all of them miss, or nearly all */
};
static const double beside_others = 0.85;          /* certainty of how many of a set's entries are ours */
static const double few = 0.08, nearly_all = 0.92; /* of what misses cost: sets that are not soft are beyond both */
static const double most_of = 0.75;                /* in every order: what came first goes round in many ways */
static const double from = 0.65, to = 1.35, high = 1.75; /* of the ways found: what is looked at */
static const double low = 0.5; /* share: up to here all kinds of soft sets are alike; above, chance decides */
static const double some = 0.6, clearly_none = 0.4,
		    clearly_some = 0.9; /* misses in a lap: with one too many, one or more */
static const double overflown = 0.25;   /* share that misses: with half as many again as fit, about half do */
static const double well = 0.035, believed = 0.06; /* misfit of a curve */

/* ---- one set ---- */

struct set {
	enum xr_goes goes;
	size_t ways, used, next; /* next: the one that came first */
	size_t *place;           /* by way */
	size_t *way;             /* by place, + 1; 0: not there */
	bool *used_lately;       /* by way */
	bool *right;             /* by node of the tree, from 1 on: where it points */
	struct xr_rng rng;
};

/* Down the tree, over all of a power of two ways, to a way that is there; way: to that one, and pointing away from it. */
static size_t descend(struct set *s, const size_t *way)
{
	size_t node = 1, at = 0, half = 1;
	while (2 * half < s->ways)
		half *= 2;
	for (; half && s->ways > 1; half /= 2) {
		bool right = way ? *way >= at + half : s->right[node] && at + half < s->ways;
		if (way)
			s->right[node] = !right;
		at += right ? half : 0;
		node = 2 * node + right;
	}
	return at;
}

static size_t victim(struct set *s)
{
	size_t unused = 0;
	if (s->goes == XR_GOES_FIRST)
		return s->next++ % s->ways;
	if (s->goes == XR_GOES_ANY)
		return (size_t)xr_rng_below(&s->rng, s->ways);
	if (s->goes == XR_GOES_TREE)
		return descend(s, NULL);
	while (unused + 1 < s->ways && s->used_lately[unused])
		unused++;
	return unused;
}

/* When all have been used lately, none but this one has. */
static void use(struct set *s, size_t way)
{
	if (s->goes == XR_GOES_TREE)
		descend(s, &way);
	if (s->goes != XR_GOES_UNUSED)
		return;
	s->used_lately[way] = true;
	for (size_t w = 0; w < s->ways; w++)
		if (!s->used_lately[w])
			return;
	memset(s->used_lately, 0, s->ways * sizeof *s->used_lately);
	s->used_lately[way] = true;
}

/* Visits a place; true: it was not there. */
static bool visit(struct set *s, size_t place)
{
	bool missed = !s->way[place];
	if (missed) {
		size_t way = s->used < s->ways ? s->used++ : victim(s);
		if (s->place[way] != SIZE_MAX)
			s->way[s->place[way]] = 0;
		s->place[way] = place;
		s->way[place] = way + 1;
	}
	use(s, s->way[place] - 1);
	return missed;
}

double xr_soft_share(enum xr_goes goes, size_t ways, size_t n)
{
	struct xr_arena arena = {0};
	struct set s = {.goes = goes, .ways = ways, .rng = {n * 1000 + ways}};
	size_t missed = 0;
	if (n <= ways)
		return 0;
	if (ways == 0 || goes == XR_GOES_OLDEST)
		return 1;
	s.place = xr_arena_array(&arena, size_t, ways);
	s.way = xr_arena_array(&arena, size_t, n);
	s.used_lately = xr_arena_array(&arena, bool, ways);
	s.right = xr_arena_array(&arena, bool, 2 * ways);
	for (size_t w = 0; w < ways; w++)
		s.place[w] = SIZE_MAX;
	for (size_t i = 0; i < PRELUDE * n; i++)
		visit(&s, (size_t)xr_rng_below(&s.rng, n));
	for (size_t i = 0; i < (LAPS_BEFORE + LAPS) * n; i++)
		missed += visit(&s, i % n) && i >= LAPS_BEFORE * n;
	xr_arena_release(&arena);
	return (double)missed / (double)(LAPS * n);
}

/* ---- the fit ---- */

struct candidate {
	double squares, miss;
};

/* The last point says what misses cost, the last but one how soon all miss, the others where it begins. */
static struct candidate compare(enum xr_goes goes, size_t ways, const size_t *n, const double *cost, size_t points)
{
	struct candidate c = {INFINITY, 0};
	double all = xr_soft_share(goes, ways, n[points - 1]), squares = 0;
	if (!(all > 0) || !(cost[points - 1] > 0))
		return c;
	c.miss = cost[points - 1] / all;
	for (size_t i = 0; i + 1 < points; i++) {
		double share = xr_soft_share(goes, ways, n[i]), found = cost[i] / c.miss;
		double off = i + 2 < points ? fmin(share, low) - fmin(found, low) : share - found;
		squares += off * off;
	}
	c.squares = squares;
	return c;
}

struct xr_soft_fit xr_soft_fit(const size_t *n, const double *cost, size_t points, size_t lo, size_t hi)
{
	struct xr_soft_fit fit = {.misfit = INFINITY};
	double best = INFINITY;
	for (size_t ways = lo; ways <= hi; ways++)
		for (int goes = 0; goes < XR_N_GOES; goes++) {
			struct candidate c = compare((enum xr_goes)goes, ways, n, cost, points);
			if (!(c.squares < best))
				continue;
			best = c.squares;
			fit = (struct xr_soft_fit){.goes = (enum xr_goes)goes, .ways = ways, .miss = c.miss};
		}
	fit.misfit = sqrt(best / (double)points);
	return fit;
}

/* ---- TLBs ---- */

/* What a visit costs more than it would if all pages were there, over the number of pages. */
struct curve {
	size_t n[POINTS], k;
	double cost[POINTS];  /* medians over orders */
	double least[POINTS]; /* in the best order */
};

/* orders: at most MORE * ORDERS. */
static int read_curve(const struct xr_page_family *f, double of_others, size_t orders, struct curve *c)
{
	struct xr_page_family same[POINTS];
	double cycles[POINTS * ORDERS * MORE] = {0};

	for (size_t i = 0; i < c->k; i++)
		same[i] = *f;
	if (xr_pages_excess_by_order(same, c->n, c->k, orders, cycles) != 0)
		return -1;
	for (size_t i = 0; i < c->k; i++) { /* pages miss the nearer level, too, where there are others between */
		double n = (double)c->n[i], all = of_others * (n + (double)f->between);

		c->cost[i] = (xr_median(cycles + i * orders, orders) - all) / n;
		c->least[i] = (xr_min(cycles + i * orders, orders) - all) / n;
	}
	return 0;
}

/* Do twice as many as fit all miss? They do, but where any goes. */
static bool all_miss(const struct curve *c)
{
	const double last = c->cost[c->k - 1];

	return fabs(last - c->cost[c->k - 2]) < 0.05 * last;
}

static double cost_of_miss(const struct curve *c, const struct xr_soft_fit *fit)
{
	return fit->misfit < believed && !all_miss(c) ? fit->miss : c->cost[c->k - 1];
}

/* The misses of a lap, where a miss costs this, in the best order. */
static double misses(const struct curve *c, size_t i, double miss)
{
	return c->least[i] * (double)c->n[i] / miss;
}

/* In more orders, do a few pages more fit? */
static int look_beyond(const struct xr_page_family *f, double of_others, double miss, size_t *ways, double *sure)
{
	struct curve c = {.k = BEYOND};

	for (size_t i = 0; i < c.k; i++)
		c.n[i] = *ways + 1 + i;
	if (read_curve(f, of_others, ORDERS * MORE, &c) != 0)
		return -1;
	for (size_t i = 0; i < c.k; i++)
		if (misses(&c, i, miss) < some) {
			*ways = c.n[i];
			*sure = 0.75;
		}
	return 0;
}

/* Up to the ways nothing misses, at least in some orders: where somebody else's page stays and nothing points to it, in others
 * something does. One page more, and at least one visit of every lap does, in every order. So the ways are the largest number
 * that was seen to fit. Among the points, then between the two that it is between. 0: it is not between points. */
static int find_onset(const struct xr_page_family *f, double of_others, double miss, const struct curve *points,
                      size_t *ways, double *sure)
{
	struct curve c = *points;
	double before = INFINITY;

	*ways = 0;
	*sure = 0;
	for (;;) {
		size_t fits = c.k, lo, hi;
		while (fits > 0 && misses(&c, fits - 1, miss) >= some)
			fits--;
		if (*ways == 0 && (fits == 0 || fits == c.k))
			return 0;
		if (fits == c.k) { /* what did not fit before */
			*ways = c.n[c.k - 1];
			*sure = 0.75;
			return look_beyond(f, of_others, miss, ways, sure);
		}
		lo = fits > 0 ? c.n[fits - 1] : *ways;
		hi = c.n[fits];
		before = fits > 0 ? misses(&c, fits - 1, miss) : before;
		*ways = lo;
		if (hi == lo + 1) {
			*sure = before < clearly_none && misses(&c, fits, miss) > clearly_some ? 0.97 : 0.75;
			return look_beyond(f, of_others, miss, ways, sure);
		}
		size_t step = (hi - lo + POINTS - 2) / (POINTS - 1);
		for (c.k = 0; c.k + 1 < POINTS && lo + (c.k + 1) * step < hi; c.k++)
			c.n[c.k] = lo + (c.k + 1) * step;
		c.n[c.k++] = hi;
		if (read_curve(f, of_others, ORDERS, &c) != 0)
			return -1;
	}
}

/* One page too many hardly shows, so the stride may have been found too large. Half as far apart, half as many again as fit
 * into one set are in two, and fit; if they do not, it is still one set. */
static int correct_stride(const struct xr_page_family *f, double of_others, double miss, struct xr_tlb_sets *sets)
{
	struct xr_page_family closer = *f;
	struct curve c = {.n = {sets->ways * 3 / 2}, .k = 1};

	for (; c.n[0] > sets->ways && sets->stride % 2 == 0; sets->stride /= 2) {
		closer.stride = sets->stride / 2;
		if (closer.between > 0 && closer.stride <= closer.step)
			break;
		if (read_curve(&closer, of_others, ORDERS, &c) != 0)
			return -1;
		if (c.cost[0] < overflown * miss)
			break;
	}
	return 0;
}

/* Around so many ways, and far beyond. */
static void around(size_t ways, struct curve *c)
{
	c->k = 0;
	for (size_t i = 0; i < POINTS; i++) {
		double x = i + 2 < POINTS ? from + (to - from) * (double)i / (POINTS - 3) : i + 1 < POINTS ? high : 2;
		size_t at = (size_t)lround((double)ways * x);
		if (at > 1 && (c->k == 0 || at > c->n[c->k - 1]))
			c->n[c->k++] = at;
	}
}

/* By where it begins and by the curve. Where any page goes the onset may be lost in what takes long to settle, but the curve
 * is that of no other number of ways. */
static void weigh(const struct xr_page_family *f, const struct xr_soft_fit *fit, const struct curve *c, size_t onset,
                  double sure, struct xr_tlb_sets *sets)
{
	const bool good = fit->misfit < well, any = good && fit->goes == XR_GOES_ANY && !all_miss(c);
	const size_t ways = onset == 0 || (any && sure < 0.9) ? fit->ways : onset;
	const double apart = fabs((double)fit->ways - (double)onset);

	if (any && apart > 0)
		sure = apart <= 1 + (double)ways / 16 ? beside_others : 0.75;
	else if (onset == 0 || (fit->misfit < believed && apart > 1 + (double)ways / 16))
		sure = fmin(sure, 0.6);
	/* Caches that lose lines look soft, too, but follow no such curve, and their pages are any distance apart. What came
	 * first goes round in many ways, but from none to all. */
	if (!good || (f->stride & (f->stride - 1)))
		sure = fmin(sure, all_miss(c) && sure > 0.9 ? beside_others : 0.6);
	sets->sure = ways == sets->ways ? fmax(sets->sure, sure) : sure;
	if (f->stride == 1) /* the one set is everybody's: 62 or 63 pages were seen to fit into 64 entries */
		sets->sure = fmin(sets->sure, beside_others);
	sets->ways = ways;
	sets->soft = true;
	sets->goes = fit->goes == XR_GOES_ANY && all_miss(c) ? XR_GOES_FIRST : fit->goes;
}

/* Walks over about so many pages as fit. onset: 0 where even the fewest did not fit. */
static int look_around(const struct xr_page_family *f, double of_others, size_t about, struct curve *c,
                       struct xr_soft_fit *fit, size_t *onset, double *sure)
{
	around(about, c);
	if (read_curve(f, of_others, ORDERS, c) != 0)
		return -1;
	*fit = xr_soft_fit(c->n, c->cost, c->k, about * 2 / 3 > 1 ? about * 2 / 3 : 1, about + 1);
	*onset = 0;
	return cost_of_miss(c, fit) > 0 ? find_onset(f, of_others, cost_of_miss(c, fit), c, onset, sure) : 0;
}

int xr_pages_soften(const struct xr_page_family *f, double of_others, struct xr_tlb_sets *sets)
{
	const size_t w = sets->ways;
	struct curve c = {.n = {w, w + 1, w + 2 + w / 4, 2 * w + 2}, .k = 4};
	struct xr_soft_fit fit;
	size_t onset;
	double sure = 0;
	if (w < 2 || w > WAYS_MOST || (2 * w + 2) * f->stride > f->in->pages)
		return 0;
	if (read_curve(f, of_others, ORDERS, &c) != 0)
		return -1;
	if (c.cost[0] < few * c.cost[3] && fmin(c.cost[1], c.cost[2]) > nearly_all * c.cost[3] &&
	    fmin(c.least[1], c.least[2]) > most_of * c.cost[3])
		return 0;
	if (look_around(f, of_others, w, &c, &fit, &onset, &sure) != 0 ||
	    (onset == 0 && look_around(f, of_others, w * 3 / 4 + 1, &c, &fit, &onset, &sure) != 0))
		return -1;
	if (onset == 0 && fit.misfit > well) {
		sets->sure = fmin(sets->sure, 0.5);
		return 0;
	}
	weigh(f, &fit, &c, onset, sure, sets);
	return correct_stride(f, of_others, cost_of_miss(&c, &fit), sets);
}

double xr_pages_share(const struct xr_tlb_sets *sets, size_t n)
{
	return sets && sets->soft ? xr_soft_share(sets->goes, sets->ways, n) : 1;
}

int xr_pages_miss(const struct xr_page_family *f, const struct xr_tlb_sets *sets, const struct xr_tlb_sets *nearer,
                  double of_nearer, double *penalty, double *error)
{
	const bool chance = sets->soft || (nearer && nearer->soft);
	const size_t room = f->in->pages / sets->stride, all = (chance ? SOFT_TIMES : TIMES) * sets->ways;
	const size_t n = all < room ? all : room;
	double share, missed, cycles;

	if (n <= sets->ways)
		return 0;
	share = xr_pages_share(sets, n);
	missed = xr_pages_share(nearer, n + f->between);
	if (!(share > 0) || !(missed > 0))
		return 0;
	if (xr_pages_penalty(f, n, of_nearer * missed, chance, &cycles, error) != 0)
		return -1;
	*penalty = of_nearer + (cycles / missed - of_nearer) / share;
	*error /= missed * share;
	return 0;
}
