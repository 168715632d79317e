/* SPDX-License-Identifier: MIT */
/* Ways and capacity without an index; see second.h. */
#include "micro/cache_outer/second.h"

#include "infer/belief.h"
#include "infer/noise.h"
#include "infer/policy.h"
#include "stat/stat.h"

#include <math.h>

enum {
	ATTEMPTS = XR_SECOND_GROWTHS,
	HOPELESS = 6, /* of them: the next would not be found either */
	POOL_PAGES = XR_CONFLICT_POOL_PAGES,
	WAYS_MOST = XR_SECOND_WAYS,
	POINTS = 11, /* of the law, */
	DRAWS = 2,   /* each with so many draws of lines */
	ALONE = 5,   /* points of lines without their neighbours */
	COARSE = 16,
	ESTIMATE_PAGES = 2048,
};
static const double visits_most = 5e6, visits_of_one = 1.6e6;
static const double far_more = 2; /* lines all over their pages make longer laps */
static const double enough = 0.98;
static const double least_miss = 2; /* times the latency of the level: no next one is built nearer */
/* A set that was found, checked and verified is wrong one time in ten: a stranger that made a difference all the
 * same. */
static const double reliable = 0.9;

/* ---- latency --------------------------------------------------------------------------------------------------------- */

/* Cycles by which lines that stay in the first level, and such that do not stay in this one, may falsify the mean. */
static double bias(struct xr_arena *arena, const struct xr_second_level *l, double lines)
{
	double first = lines * (double)l->line / (double)l->first_way,
	       second = lines * (double)l->line / l->law.capacity;
	/* Of all policies, random keeps the most where it is too much, and LRU loses the most where it is not. */
	double stay = 1 - xr_scatter_misses(arena, l->first_ways, XR_RANDOM, first, false);
	double leave = xr_scatter_misses(arena, l->ways, XR_LRU, second * (double)l->ways, false);

	return stay * l->near + leave * (l->far - l->near);
}

int xr_second_latency(const struct xr_second_level *l, double *cycles, double *spread)
{
	enum { LOOKS = 7 };
	const double exact = 0.01,
		     share = 0.75; /* of the latency; of the pages that the TLB holds: others want some, too */
	struct xr_arena *arena = xr_run_arena(l->run);
	double pages = l->tlb_pages > 0 ? floor(l->tlb_pages * share) : 64, lines = 0, least = INFINITY, y[LOOKS];
	struct xr_scatter s = {.run = l->run,
	                       .buffer = {l->buffer + 3, (uint64_t)pages * l->page, XR_SMALL},
	                       .page = l->page,
	                       .line = l->line,
	                       .effort = l->effort,
	                       .quiet_ns = l->quiet_ns};
	struct xr_scatter_point point[LOOKS];
	size_t got;

	*cycles = *spread = 0;
	if (!(l->ways > 0) || !isfinite(l->law.capacity) || s.buffer.bytes > l->room)
		return 0;
	for (double n = (double)(s.buffer.bytes / l->line); n > (double)l->first_ways * 2; n /= 1.25)
		if (bias(arena, l, n) < least) {
			lines = n;
			least = bias(arena, l, n);
		}
	if (least > exact * l->near)
		return 0;
	if (xr_scatter_ask(&s, &lines, 1, LOOKS, point, &got) != 0)
		return -1;
	if (got < 3)
		return 0;
	for (size_t i = 0; i < got; i++)
		y[i] = point[i].cycles;
	*cycles = xr_lower(y, got);
	*spread = xr_mad(y, got) / *cycles;
	return 0;
}

/* ---- ways ------------------------------------------------------------------------------------------------------------ */

static const char *const troubles[] = {
	[XR_CONFLICT_NEVER] = "no line ever evicts another",
	[XR_CONFLICT_CROWDED] = "it is too small beside the first cache for conflict sets",
	[XR_CONFLICT_LOST] = "the lines that evict each other are others each time",
	[XR_CONFLICT_SPENT] = "no conflict set in the time there was",
};

static void vote(struct xr_belief *belief, struct xr_arena *arena, size_t ways)
{
	double *likelihood = xr_arena_array(arena, double, WAYS_MOST);

	for (size_t w = 1; w <= WAYS_MOST; w++)
		likelihood[w - 1] = log(w == ways ? reliable : (1 - reliable) / WAYS_MOST);
	xr_belief_add(belief, likelihood, log(1.0 / WAYS_MOST), 1);
}

/* For who wants to ask more of such lines, and for people. */
static void keep_set(struct xr_description *d, const struct xr_conflict_set *set)
{
	double number[WAYS_MOST + 1], place[WAYS_MOST + 1];

	for (size_t i = 0; i <= set->n; i++) {
		number[i] = (double)i;
		place[i] = (double)(i ? set->member[i - 1] : set->x);
	}
	xr_series_put(d, XR_CONFLICT_SERIES, "line", "", number, "place", "bytes", place, set->n + 1);
}

/* Attempts at conflict sets, until enough of them agree; *left: visits, `one`: of one of them. */
static int attempt(struct xr_second_level *l, struct xr_conflict *c, struct xr_belief *belief, double left, double one)
{
	for (int i = 0, failed = 0; i < ATTEMPTS && failed < HOPELESS && left > 0 && l->p_ways < enough; i++) {
		struct xr_conflict_set set;
		double this = fmin(left, one), before = this;
		size_t best;

		c->left = &this;
		if (xr_conflict_find(c, &set) != 0)
			return -1;
		left -= before - this;
		l->sets_tried++;
		if (set.outcome != XR_CONFLICT_FOUND || set.n == 0 || set.n > WAYS_MOST) {
			l->trouble = troubles[set.outcome];
			c->settled = true;
			/* The next level may have been overlooked: then a miss costs less than was thought. */
			l->miss_open |= c->miss > least_miss * l->near;
			c->miss = fmin(c->miss, least_miss * l->near);
			l->never = set.outcome == XR_CONFLICT_NEVER;
			if (l->never || set.outcome == XR_CONFLICT_CROWDED)
				return 0;
			failed++;
			continue;
		}
		l->said[set.n]++;
		if (!c->anywhere)
			l->growth[l->n_growth++] = (struct xr_scatter_growth){(double)set.from, (double)set.to};
		vote(belief, xr_run_arena(l->run), set.n);
		best = xr_belief_best(belief, &l->p_ways);
		l->ways = best < WAYS_MOST ? best + 1 : 0;
		l->sets_found = l->said[l->ways];
		if (!c->anywhere && set.n == l->ways)
			keep_set(xr_run_description(l->run), &set);
		xr_run_progress(l->run, 0.4 + 0.05 * (double)i, "conflict sets");
	}
	return 0;
}

int xr_second_ways(struct xr_second_level *l)
{
	struct xr_belief belief = xr_belief_new(xr_run_arena(l->run), WAYS_MOST, NULL);
	uint64_t item = l->page > l->first_way ? l->page : l->first_way, pool = POOL_PAGES * item;
	struct xr_conflict c = {.run = l->run,
	                        .buffer = {l->buffer, (pool < l->room ? pool : l->room) / item * item, XR_SMALL},
	                        .item = item,
	                        .page = l->page,
	                        .line = l->line,
	                        .first_ways = l->first_ways,
	                        .first_way = l->first_way,
	                        .holds = l->holds,
	                        .miss = l->far - l->near,
	                        .quiet_ns = l->quiet_ns,
	                        .effort = l->effort};

	if (attempt(l, &c, &belief, visits_most, visits_of_one) != 0)
		return -1;
	l->regular = l->sets_found > 0;
	if (l->ways > 0 || !l->never)
		return 0;
	c.anywhere = true;
	c.settled = false;
	return attempt(l, &c, &belief, far_more * visits_most, far_more * visits_of_one);
}

/* ---- capacity -------------------------------------------------------------------------------------------------------- */

static struct xr_scatter_question question(const struct xr_second_level *l, const struct xr_scatter_point *point,
                                           size_t n)
{
	const double most_lost = 0.3; /* that somebody on the same core takes of it; half would be a partition */
	const double miss_off =
		0.2; /* pages of the pool cost translation, and lines come from anywhere in the next level */

	return (struct xr_scatter_question){.point = point,
	                                    .n = n,
	                                    .line = (double)l->line,
	                                    .ways = l->ways,
	                                    .regular = l->regular,
	                                    .pairs = true,
	                                    .growth = l->growth,
	                                    .n_growth = l->n_growth,
	                                    .page = (double)l->page,
	                                    .item = (double)(l->page > l->first_way ? l->page : l->first_way),
	                                    .expected = l->expected,
	                                    .miss = l->miss_open ? 0 : l->far - l->near,
	                                    .miss_off = miss_off,
	                                    .most_lost = l->shared_core ? most_lost : 0};
}

/* Twice as many lines each time, until nearly all of them miss. */
static int look_coarsely(const struct xr_second_level *l, const struct xr_scatter *s, struct xr_scatter_point *point,
                         size_t *n)
{
	double lines = 4 * (double)l->first_ways * (double)l->first_way / (double)l->line, first = 0;
	double pool = (double)s->buffer.bytes / (double)l->line;
	int beyond = 0;

	*n = 0;
	while (*n < COARSE && lines <= pool / 2 && beyond < 2) {
		size_t got;

		if (xr_scatter_ask(s, &lines, 1, 1, point + *n, &got) != 0)
			return -1;
		if (got) {
			double now = point[*n].cycles;

			first = *n == 0 ? now : first;
			beyond += now - first > 0.9 * (l->far - l->near);
			*n += 1;
		}
		lines *= M_SQRT2;
	}
	return 0;
}

/* All walks touch nearly all pages of the pool, so that translation costs each of them the same. */
static struct xr_scatter pool_of(const struct xr_second_level *l, unsigned buffer, double pages)
{
	const uint64_t bytes = (uint64_t)pages * l->page;

	return (struct xr_scatter){.run = l->run,
	                           .buffer = {buffer, bytes < l->room ? bytes : l->room, XR_SMALL},
	                           .page = l->page,
	                           .line = l->line,
	                           .effort = l->effort,
	                           .quiet_ns = l->quiet_ns};
}

int xr_second_estimate(struct xr_second_level *l)
{
	const struct xr_scatter s = pool_of(l, l->buffer + 1, ESTIMATE_PAGES);
	struct xr_scatter_question q;
	size_t n;

	l->curve = xr_arena_array(xr_run_arena(l->run), struct xr_scatter_point, XR_SECOND_POINTS);
	if (look_coarsely(l, &s, l->curve, &n) != 0)
		return -1;
	q = question(l, l->curve, n);
	l->law = xr_scatter_infer(xr_run_arena(l->run), &q);
	return 0;
}

int xr_second_capacity(struct xr_second_level *l)
{
	static const double where[POINTS] = {0.45, 0.6, 0.7, 0.8, 0.9, 1, 1.15, 1.3, 1.6, 2.1, 3}; /* of the capacity */
	const double pages_of_bytes = 600; /* the pool is several times the level */
	struct xr_scatter s;
	static const double alone[ALONE] = {0.35, 0.5, 0.7, 1, 1.5};
	double lines[POINTS];
	size_t got;

	if (xr_second_estimate(l) != 0)
		return -1;
	if (!(l->law.mean > 0))
		return 0;
	s = pool_of(l, l->buffer + 2, fmax(64, l->law.mean / pages_of_bytes));
	for (size_t i = 0; i < POINTS; i++)
		lines[i] = round(where[i] * l->law.mean / (double)l->line / 2) * 2;
	if (xr_scatter_ask(&s, lines, POINTS, DRAWS, l->curve, &got) != 0)
		return -1;
	l->n_curve = got;
	l->n_alone = 0;
	l->scatter = s;
	/* Where the ways are not known, neighbours are not asked for: one unknown more than walks can tell. */
	s.block = 1;
	for (size_t i = 0; i < ALONE; i++)
		lines[i] = round(alone[i] * l->law.mean / (double)l->line);
	if (l->ways && xr_scatter_ask(&s, lines, ALONE, DRAWS, l->curve + got, &l->n_alone) != 0)
		return -1;
	xr_second_weigh(l);
	return 0;
}

void xr_second_weigh(struct xr_second_level *l)
{
	const struct xr_scatter_question q = question(l, l->curve, l->n_curve + l->n_alone);

	l->law = xr_scatter_infer(xr_run_arena(l->run), &q);
}

/* ---- line ------------------------------------------------------------------------------------------------------------ */

/* Do 1, 2 or 4 lines of the first level come at a time? The law says what walks do over single lines, and over
 * two that are not neighbours: how much room they take beside pairs, by which the capacity was found. (Four in a
 * row would wake prefetchers that follow streams.) */
int xr_second_line(struct xr_second_level *l)
{
	enum { MULTIPLES = 3, WALKS = 2 };
	static const double room[WALKS][MULTIPLES] = {{1, 2, 2}, {1, 2, 1}};
	const double load = 0.7; /* half of them miss if they take twice the room, hardly any if they do not */
	struct xr_arena *arena = xr_run_arena(l->run);
	struct xr_belief belief = xr_belief_new(arena, MULTIPLES, NULL);
	struct xr_noise noise = xr_noise_unknown();
	double lines = round(load * l->law.capacity / (double)l->line);
	size_t ways = l->ways ? l->ways : 8, best;

	l->outer_line = 0;
	if (!isfinite(l->law.capacity))
		return 0;
	for (size_t w = 0; w < WALKS; w++) {
		struct xr_scatter s = l->scatter;
		struct xr_scatter_point point[DRAWS];
		size_t got;

		s.block = w == 0 ? 1 : 2;
		s.step = w == 0 ? 1 : 2;
		if (xr_scatter_ask(&s, &lines, 1, DRAWS, point, &got) != 0)
			return -1;
		for (size_t i = 0; i < got; i++) {
			double log[MULTIPLES];

			for (size_t m = 0; m < MULTIPLES; m++) {
				double misses =
					xr_scatter_misses(arena, ways, XR_LRU, load * room[w][m] * (double)ways, false);

				log[m] = xr_noise_log(&noise, l->law.near + misses * (l->law.far - l->law.near),
				                      point[i].cycles, 0.1);
			}
			xr_belief_add(&belief, log,
			              xr_noise_log_none(&noise, l->law.near / 2, 2 * l->law.far, point[i].cycles), 1);
		}
	}
	best = xr_belief_best(&belief, &l->p_line);
	if (best == MULTIPLES) { /* of any policy, the law tells one line from two */
		l->p_line = fmax(l->law.p_one, 1 - l->law.p_one) - l->law.none;
		best = l->law.p_one > 0.5;
	}
	l->outer_line = l->line << best;
	if (best == 2) /* pairs filled only half of it */
		l->law.capacity *= 2;
	return 0;
}
