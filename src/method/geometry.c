/* SPDX-License-Identifier: MIT */
/* The geometry of a level, see geometry.h. */
#include "method/geometry.h"

#include "method/flush.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	LINE_MOST = 256, /* bytes */
	WANTED = 2,      /* classes that agree, more than those that do not */
	IN_VAIN = 3,     /* attempts at the first of them */
};
static const double patience = 1.5;                           /* times as much beside a neighbour */
static const double visits_most = 8e5, visits_of_one = 3.5e5; /* of all classes, of one */
static const double quiet = 0.01;                             /* of what a visit takes */
static const double one_miss = 1.3;                           /* and no more, of a lap */

static uint32_t *random_order(struct xr_run *run, size_t n)
{
	uint32_t *order = xr_arena_array(xr_run_arena(run), uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	xr_shuffle(order, n, xr_run_rng(run));
	return order;
}

/* What a visit takes that hits the level, and how much readings of it differ: at the quietest of a few moments,
 * for most of what is asked is asked again when it looks like a miss. */
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

/* From the distances at which members meet: below the line they do, from the line on they do not, until the way. */
static void read_distances(const bool *meets, uint64_t page, uint64_t *line, uint64_t *way)
{
	size_t i = 0, n = 0;

	while (n < XR_DELTAS && (UINT64_C(8) << n) < page)
		n++;
	*line = *way = 0;
	while (i < n && meets[i])
		i++;
	if (i == 0 || i == n) /* not even 8 bytes apart: they were not seen to meet at all */
		return;
	*line = UINT64_C(8) << i;
	while (i < n && !meets[i])
		i++;
	*way = UINT64_C(8) << i;
	for (; i < n; i++)
		if (!meets[i])
			*line = *way = 0; /* no way has such gaps */
}

static int ask_distances(const struct xr_laps *laps, const struct xr_class *c, struct xr_testimony *said)
{
	size_t deltas = 0;

	while (deltas < XR_DELTAS && (UINT64_C(8) << deltas) < laps->page)
		deltas++;
	said->has_meets = true;
	return xr_class_meets(laps, c, deltas, said->meets);
}

/* The greatest number of items that all members are a multiple of apart from each other. */
static uint32_t common_distance(const struct xr_class *c)
{
	uint32_t common = 0;

	for (size_t i = 1; i < c->n; i++) {
		uint32_t a = c->item[i] > c->item[0] ? c->item[i] - c->item[0] : c->item[0] - c->item[i];

		while (a) {
			uint32_t rest = common % a;

			common = a;
			a = rest;
		}
	}
	return common;
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
	g->weak = true;
	for (size_t i = 0; i < g->n_said; i++)
		g->weak = g->weak && (g->said[i].weak || g->said[i].ways != g->ways);
}

/* A class, and where it was found. */
struct found {
	struct xr_laps laps;
	struct xr_class class;
	const uint32_t *order; /* items */
	size_t n, all;         /* of them that it was looked for in, and that there are */
	size_t used;           /* the first ones, by flush lines */
};

/* At the beginning of a line of this level, however large: else what is still in it may begin the next one. */
static uint64_t random_place(const struct xr_laps *laps)
{
	uint64_t grain = laps->page / 4 < LINE_MOST || laps->line > LINE_MOST ? laps->line : LINE_MOST;

	return xr_rng_below(xr_run_rng(laps->run), laps->page / grain) * grain;
}

/* From a random order of pages; *left: visits that may be made for it. */
static int find_class(const struct xr_laps *level, const struct xr_first *first, double *left, struct found *f)
{
	struct xr_laps *laps = &f->laps;
	size_t padded, few;

	*laps = *level;
	laps->left = left;
	laps->at = random_place(laps);
	xr_laps_pad(laps, &padded);
	f->all = (size_t)((laps->buffer.bytes - padded * laps->page) / laps->item);
	f->order = random_order(laps->run, f->all);
	f->n = laps->limit && laps->limit < f->all ? laps->limit : f->all;
	few = 2 * first->ways + 2 < f->n ? 2 * first->ways + 2 : f->n;
	if ((laps->page < 2 * first->way && calibrate(laps, f->order, few) != 0) ||
	    xr_flush_choose(laps, first, f->order, f->n, &f->used) != 0)
		return -1;
	/* Flush lines that are in the way of nobody: with them, one page tells as much as many, which may be too
	 * many. */
	if (laps->page >= 2 * first->way && calibrate(laps, f->order + f->used, f->n > f->used) != 0)
		return -1;
	return xr_class_find(laps, first, f->order + f->used, f->n - f->used, &f->class);
}

/* What a class says; one that is new has also shown how many pages it takes until one overflows. */
static int testify(const struct found *f, bool is_new, const struct xr_first *first, struct xr_geometry *g)
{
	struct xr_laps laps = f->laps;
	const struct xr_class *c = &f->class;
	struct xr_testimony *said = &g->said[g->n_said];
	const uint32_t *rest = f->order + f->used + c->from;
	uint64_t line, way;
	bool joins;

	g->trouble = c->trouble;
	if (c->trouble || c->n < 2)
		return 0;
	said->ways = c->n - 1;
	said->weak = c->misses < one_miss;
	g->n_said++;
	if (xr_flush_joins(&laps, c, &joins) != 0)
		return -1;
	said->ways += joins ? laps.flush.n : 0;
	laps.tight = joins;
	if ((!joins && xr_flush_renew(&laps, first, c, f->order + f->used, f->n - f->used) != 0) ||
	    ask_distances(&laps, c, said) != 0)
		return -1;
	for (size_t i = 0; i < XR_DELTAS && joins; i++)
		said->meets[i] = said->meets[i] || UINT64_C(8) << i >= first->way;
	read_distances(said->meets, laps.page, &line, &way);
	said->apart = common_distance(c);
	for (size_t i = 0; i + 1 < g->n_said; i++)
		if (g->said[i].ways == said->ways)
			said->colours = g->said[i].colours;
	xr_colours_go_on(&said->colours);
	if (is_new)
		xr_colours_begin(&said->colours, c->n - 1, laps.inside ? 0 : laps.flush.n, c->fits, c->from);
	if (way == 0 || way >= laps.page)
		return xr_colours_ask(&laps, c, rest, f->all - f->used - c->from, &said->colours);
	return 0;
}

int xr_geometry_find(const struct xr_laps *level, const struct xr_first *first, struct xr_geometry *g)
{
	const double left_before = g->left;
	struct found f;
	bool fresh = false; /* it has testified once */
	int vain = 0;

	memset(g, 0, sizeof *g);
	g->left = left_before > 0 ? left_before : level->disturbed ? patience * visits_most : visits_most;
	for (size_t t = 0;
	     t < XR_CLASSES_TRIED && g->agree < WANTED + (g->n_said - g->agree) && g->left > 0 && vain < IN_VAIN; t++) {
		double before = fmin(g->left, visits_of_one), left = before;

		/* Where nobody disturbs, the same pages elsewhere are as good a second witness as others, and at
		 * hand. But where a lap misses only once, it may be a foreign line that tree-PLRU keeps in the
		 * set, and no page too many. */
		if (fresh && !level->disturbed && f.class.misses > one_miss) {
			f.laps.left = &left;
			if (xr_class_elsewhere(&f.laps, random_place(&f.laps), &f.class) != 0)
				return -1;
			fresh = false;
		} else {
			if (find_class(level, first, &left, &f) != 0)
				return -1;
			fresh = !f.class.trouble;
		}
		if (testify(&f, fresh, first, g) != 0)
			return -1;
		g->left -= before - left;
		vain += g->n_said > 0 ? 0 : left > 0 || level->disturbed ? 1 : IN_VAIN; /* beside a neighbour: again */
		count_votes(g);
		xr_run_progress(level->run, 0.4 + 0.1 * (double)t, "classes of pages");
	}
	return 0;
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

double xr_geometry_classes(const struct xr_geometry *g, double *sure, bool *even)
{
	struct xr_colours last = {.asked = 0};
	double classes;

	for (size_t i = 0; i < g->n_said; i++)
		if (g->said[i].ways == g->ways)
			last = g->said[i].colours;
	classes = xr_colours_best(&last, sure);
	*even = classes > 1;
	for (size_t i = 0; i < g->n_said; i++)
		*even = *even && (g->said[i].ways != g->ways || g->said[i].apart % (uint32_t)classes == 0);
	return classes;
}
