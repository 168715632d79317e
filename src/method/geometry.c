/* The geometry of a level, see geometry.h. */
#include "method/geometry.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	WANTED = 2, /* classes that agree, more than those that do not */
	FEW = 40,   /* pages */
	DRAWS_MOST = 4,
	STEEP = 4, /* ways: from so many on, misses come suddenly */
};
static const double visits_most = 5e5,
		    visits_of_one = 1.6e5; /* a class that takes longer is better looked for elsewhere */
static const double quiet = 0.01;          /* of what a visit takes */
static const double some = 0.05;           /* misses, of all visits */

static uint32_t *random_order(struct xr_run *run, size_t n)
{
	uint32_t *order = xr_arena_array(xr_run_arena(run), uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	xr_shuffle(order, n, xr_run_rng(run));
	return order;
}

/* What a visit takes that hits the level, and how much readings of it differ: at the quietest of a few moments, for most of
 * what is asked is asked again when it looks like a miss. */
static int calibrate(struct xr_laps *laps, const uint32_t *order, size_t n)
{
	enum { DRAWS = 9, MOMENTS = 4 };
	struct xr_lap lap[DRAWS] = {{0}};
	double excess[DRAWS];

	laps->noise = INFINITY;
	for (int moment = 0; moment < MOMENTS && laps->noise > quiet * laps->base; moment++) {
		for (size_t i = 0; i < DRAWS; i++)
			lap[i] = (struct xr_lap){.item = order, .n = n, .unsettled = true};
		if (xr_laps_ask(laps, lap, DRAWS) != 0)
			return -1;
		for (size_t i = 0; i < DRAWS; i++)
			excess[i] = lap[i].excess;
		laps->noise = fmin(laps->noise, xr_mad(excess, DRAWS));
		if (!lap[0].padded)
			laps->base = fmin(laps->base, xr_median(excess, DRAWS));
	}
	return 0;
}

static int ask_distances(const struct xr_laps *laps, const struct xr_class *c, struct xr_testimony *said)
{
	size_t deltas = 0;

	while (deltas < XR_DELTAS && (UINT64_C(8) << deltas) < laps->page)
		deltas++;
	said->has_meets = true;
	return xr_class_meets(laps, c, deltas, said->meets);
}

/* Laps over more and more pages, whatever their class: enough to push each other out of the first level, unless flush lines
 * do that and are out of the way. */
static int ask_colours(const struct xr_laps *laps, const struct xr_first *first, size_t padded, struct xr_geometry *g)
{
	uint64_t step = laps->inside ? 0 : laps->page;
	size_t pages = (size_t)(laps->buffer.bytes / laps->page) - padded;
	uint32_t *order = random_order(laps->run, pages);
	double size = step ? 3 * (double)(first->ways * laps->item / laps->page) : 4, before = 0;
	size_t begin = g->n_points, ways = g->said[g->n_said - 1].ways;
	bool flat = false;
	int level_steps = 0;

	for (; size < (double)pages && g->n_points < XR_POINTS; size *= 1.5) {
		struct xr_lap lap = {.item = order, .n = (size_t)size, .step = step};
		/* Padded laps are dear, and pads compete too. */
		double enough = size * 1.5 < (double)laps->most ? 0.7 : ways < STEEP ? 0.2 : 0.45, share;

		if (xr_laps_ask(laps, &lap, 1) != 0)
			return -1;
		share = fmin(1, fmax(0, lap.misses / (double)lap.n));
		/* An order may suit a policy badly, none makes fit what does not. */
		if (share > some) {
			if (xr_laps_ask(laps, &lap, 1) != 0)
				return -1;
			share = fmin(share, fmax(0, lap.misses / (double)lap.n));
		}
		/* Chance alone may keep one step from rising, hardly two. */
		level_steps = share > 0.1 && share < 1.45 * before ? level_steps + 1 : 0;
		flat = level_steps >= 2;
		before = share;
		g->pages[g->n_points] = (double)lap.n;
		g->share[g->n_points++] = share;
		if (share > enough || (ways >= STEEP && flat))
			break;
	}
	/* Where the next level answers sooner than was thought, misses cost less than was thought: all of them are misses. */
	for (size_t i = begin; ways >= STEEP && flat && before < 0.7 && i < g->n_points; i++)
		g->share[i] = fmin(1, g->share[i] * 0.9 / before);
	return 0;
}

static void count_votes(struct xr_geometry *g)
{
	double value[XR_CLASSES_TRIED], share;

	for (size_t i = 0; i < g->n_said; i++)
		value[i] = (double)g->said[i].ways;
	if (g->n_said == 0)
		return;
	g->ways = (size_t)xr_mode(value, g->n_said, &share);
	g->agree = (size_t)lround(share * (double)g->n_said);
}

/* One class, from a random order of pages; *left: visits that may be made for it. */
static int ask_class(const struct xr_laps *level, const struct xr_first *first, double *left, struct xr_geometry *g)
{
	struct xr_laps laps = *level;
	size_t padded, n, used, few;
	uint32_t *order;
	struct xr_testimony *said = &g->said[g->n_said];
	struct xr_class c;

	laps.left = left;
	laps.at = xr_rng_below(xr_run_rng(laps.run), laps.page / laps.line) * laps.line;
	xr_laps_pad(&laps, &padded);
	n = (size_t)((laps.buffer.bytes - padded * laps.page) / laps.item);
	order = random_order(laps.run, n);
	n = laps.limit && laps.limit < n ? laps.limit : n;
	few = 2 * first->ways + 2 < n ? 2 * first->ways + 2 : n;
	if ((laps.page < 2 * first->way && calibrate(&laps, order, few) != 0) ||
	    xr_flush_choose(&laps, first, order, n, &used) != 0)
		return -1;
	/* Flush lines that are in the way of nobody: with them, one page tells as much as many, which may be too many. */
	if (laps.page >= 2 * first->way && calibrate(&laps, order + used, n > used) != 0)
		return -1;
	if (xr_class_find(&laps, first, order + used, n - used, &c) != 0)
		return -1;
	g->trouble = c.trouble;
	if (c.trouble || c.n < 2)
		return 0;
	said->ways = c.n - 1;
	g->n_said++;
	if (xr_flush_renew(&laps, first, &c, order + used, n - used) != 0 || ask_distances(&laps, &c, said) != 0)
		return -1;
	/* Of few pages, chance decides a lot: then often. */
	for (int again = 0; again < DRAWS_MOST && g->n_points < XR_POINTS / 2; again++) {
		if (ask_colours(&laps, first, padded, g) != 0)
			return -1;
		if (g->n_points == 0 || g->pages[g->n_points - 1] > FEW)
			break;
	}
	return 0;
}

int xr_geometry_find(const struct xr_laps *level, const struct xr_first *first, struct xr_geometry *g)
{
	memset(g, 0, sizeof *g);
	g->left = visits_most;
	for (size_t t = 0; t < XR_CLASSES_TRIED && g->agree < WANTED + (g->n_said - g->agree) && g->left > 0; t++) {
		double before = fmin(g->left, visits_of_one), left = before;

		if (ask_class(level, first, &left, g) != 0)
			return -1;
		g->left -= before - left;
		count_votes(g);
		xr_run_progress(level->run, 0.4 + 0.1 * (double)t, "classes of pages");
	}
	return 0;
}

/* From the distances at which members meet: below the line they do, from the line on they do not, until the way. */
static void read_distances(const bool *meets, uint64_t page, uint64_t *line, uint64_t *way)
{
	size_t i = 0, n = 0;

	while (n < XR_DELTAS && (UINT64_C(8) << n) < page)
		n++;
	*line = *way = 0;
	while (i < n && meets[i])
		i++;
	if (i == n)
		return;
	*line = UINT64_C(8) << i;
	while (i < n && !meets[i])
		i++;
	*way = UINT64_C(8) << i;
	for (; i < n; i++)
		if (!meets[i])
			*line = *way = 0; /* no way has such gaps */
}

/* Of those that agree about the ways: most frequent line and way, and how many of them agree about the line. */
void xr_geometry_sum(const struct xr_geometry *g, uint64_t page, double *line, double *way, double *share)
{
	double lines[XR_CLASSES_TRIED], ways[XR_CLASSES_TRIED], other;
	size_t n = 0;

	*line = *way = *share = 0;
	for (size_t i = 0; i < g->n_said; i++) {
		const struct xr_testimony *said = &g->said[i];
		uint64_t l, w;

		if (said->ways != g->ways || !said->has_meets)
			continue;
		read_distances(said->meets, page, &l, &w);
		if (l == 0)
			continue;
		lines[n] = (double)l;
		ways[n++] = (double)w;
	}
	if (n == 0)
		return;
	*line = xr_mode(lines, n, share);
	*way = xr_mode(ways, n, &other);
	*share = fmin(*share, other);
}
