/* SPDX-License-Identifier: MIT */
/* The levels of a machine, see hierarchy.h. */
#include "method/hierarchy.h"

#include "infer/between.h"
#include "method/laps.h"
#include "method/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	STAIRS_MAX = 5,  /* of pages, beside a neighbour */
	SEEN_WELL = 10,  /* steps, and on a quiet machine */
	LONG_EACH = 4,   /* so many in each staircase: then it is a level */
	BEYOND = 2,      /* times the first level is looked at closely */
	VOTES = 2,       /* for or against it, that others do not outweigh */
	RETURNS = 3,     /* samples */
	SPARSE_MOST = 8, /* lines of a page */
};
static const double waited_little = 0.05; /* of the time for waiting */
static const double varies = 0.15;        /* of the latency of a level: too much for one */

/* Of the first latency: what nothing in between may make of it on a quiet machine. */
static const double restless = 0.05;

/* Times as many pages as the nearer one: else it may be none; and where the clock is too coarse to ask its lines. */
static const double narrow = 2, narrow_unchecked = 4;
static const double hardly_more = 1.4; /* pages: no cache is built behind one that is as large */
static const double clear_of_noise = 2;
static const double clearly = 1.5; /* times */

/* The staircases, and what others each of them visits, nearest first, the page looked at being the last of them. */
struct stairs {
	struct xr_staircase of[STAIRS_MAX + 2];
	uint32_t *order[STAIRS_MAX + 2];
	size_t n;
};
enum { NEAR, FAR, CLIMBS /* of pages, from here on */ };

static uint32_t *order_of(struct xr_hierarchy *h, bool random)
{
	uint32_t *order = xr_arena_array(xr_run_arena(h->evict.run), uint32_t, h->n_items);

	for (uint32_t i = 0; i < h->n_items; i++)
		order[i] = i;
	if (random)
		xr_shuffle(order, h->n_items, xr_run_rng(h->evict.run));
	return order;
}

/* Is the clock so coarse that only means of many repetitions tell? */
static bool is_coarse(const struct xr_hierarchy *h)
{
	return h->evict.effort.samples > 0;
}

bool xr_hierarchy_is_restless(const struct xr_hierarchy *h)
{
	const struct xr_peace *peace = h->evict.peace;

	return h->noise > restless * h->hit ||
	       (peace && peace->waited_ns > waited_little * (peace->waited_ns + peace->left_ns));
}

static void take_out(struct xr_hierarchy *h, const struct stairs *stairs, size_t l)
{
	memmove(&h->level[l], &h->level[l + 1], (h->n - l - 1) * sizeof *h->level);
	h->n--;
	h->unsettled.dropped++; /* votes may be wrong, too, beside a neighbour */
	xr_levels_sizes(stairs->of, stairs->n, h->level, h->n);
}

/* What staircases say that are asked about each line of the page, one after the other, until it is clear. */
static int votes_for(struct xr_hierarchy *h, const struct stairs *stairs, size_t l, int *sum)
{
	const struct xr_level *level = &h->level[l];
	const bool calm = !xr_hierarchy_is_restless(h);

	*sum = 0;
	for (size_t s = 0; s < stairs->n && abs(*sum) < VOTES; s++) {
		int vote = 0;

		if (s != FAR && xr_staircase_check(&h->evict, s == NEAR ? 0 : stairs->order[s][h->n_items - 1],
		                                   stairs->order[s], &stairs->of[s], level[-1].latency, level->latency,
		                                   level[1].latency, calm, &vote) != 0)
			return -1;
		*sum += vote;
	}
	return 0;
}

/* Takes out what only looks like a level, see xr_staircase_check(). */
static int check_levels(struct xr_hierarchy *h, const struct stairs *stairs)
{
	for (size_t l = 1; l + 1 < h->n;) {
		const struct xr_level *level = &h->level[l];
		bool long_each = level->seen >= LONG_EACH * level->witnesses, mixed = level->spread > varies;
		bool plain = level->seen >= SEEN_WELL && (long_each || xr_hierarchy_is_restless(h)) && !level->weak;
		int sum = 0;

		if (!is_coarse(h) && (!plain || mixed) && votes_for(h, stairs, l, &sum) != 0)
			return -1;
		/* Beside a neighbour lines of a page leave one after the other, too, before the page is gone. */
		if ((!plain && sum < (level->weak ? VOTES : 0)) ||
		    (xr_hierarchy_is_restless(h) && level->items > 0 && level->items < hardly_more * level[-1].items)) {
			take_out(h, stairs, l);
			continue;
		}
		h->mixed = h->mixed || (mixed && sum < VOTES);
		l++;
	}
	return 0;
}

static int climb(struct xr_hierarchy *h, struct stairs *stairs)
{
	size_t s = stairs->n++;
	const struct xr_staircase *first = &stairs->of[CLIMBS];

	stairs->order[s] = order_of(h, true);
	if (xr_staircase_climb(&h->evict, stairs->order[s][h->n_items - 1], stairs->order[s], h->n_items - 1, h->hit,
	                       s > CLIMBS ? first->cycles[first->n - 1] : 0, &stairs->of[s]) != 0)
		return -1;
	h->noise = fmax(h->noise, stairs->of[s].range);
	xr_run_progress(h->evict.run, 0.1 * (double)(s - FAR), "levels");
	return 0;
}

/* Is there something in the staircases that another one might clear up? */
static bool is_unclear(const struct xr_hierarchy *h, size_t climbs)
{
	const bool anxious = xr_hierarchy_is_restless(h);
	bool unclear = h->unsettled.dropped > 0 || (anxious && h->unsettled.between > 0);

	for (size_t l = 1; l + 1 < h->n && anxious; l++)
		unclear = unclear || h->level[l].witnesses < 2;
	return unclear && climbs < STAIRS_MAX;
}

/* Others who use the third level leave little of it by the time a staircase comes back to a page, at times
 * nothing. Lines that are asked for again at once show it: after two or three times what pushes a page out of the
 * second level they come from neither that nor memory. */
static int find_hidden(struct xr_hierarchy *h)
{
	const struct xr_level inner = h->level[1], memory = h->level[2];
	double bytes = inner.items * (double)h->evict.item, cycles[2];

	if (h->n != 3 || bytes == 0 || 3 * bytes > (double)h->most || !xr_hierarchy_is_restless(h))
		return 0;
	for (int i = 0; i < 2; i++) {
		if (xr_walk_return(&h->all, (uint64_t)((2 + i) * bytes), RETURNS, &cycles[i]) != 0)
			return -1;
		if (cycles[i] < clearly * inner.latency || clearly * cycles[i] > memory.latency)
			return 0;
	}
	if (fmax(cycles[0], cycles[1]) > clearly * fmin(cycles[0], cycles[1]))
		return 0;
	h->level[2] = (struct xr_level){.latency = fmin(cycles[0], cycles[1]),
	                                .items = 3 * inner.items,
	                                .seen = 2,
	                                .witnesses = 1,
	                                .spread = fabs(cycles[1] / cycles[0] - 1)};
	h->level[3] = memory;
	h->n = 4;
	h->unsettled.between++;
	return 0;
}

/* Bytes of the largest walk that still takes less than this. */
static double walked_within(const struct xr_hierarchy *h, double cycles)
{
	double pages = 0;

	for (size_t i = 0; i < h->walk.n; i++)
		pages = h->walk.cycles[i] < cycles ? fmax(pages, h->walk.pages[i]) : pages;
	return pages * (double)h->evict.page;
}

/* Do lines that fit into the nearer level take as long as that, where they are in as many pages? Then it is translation
 * that costs. It may be where there are more pages than lines that fit. */
static int is_translation(struct xr_hierarchy *h, double near, const struct xr_between *b, bool *so)
{
	const double halfway = (near + b->latency) / 2, fit = fmax((double)h->inner, walked_within(h, halfway)) / 2;
	const double lines = fmin(floor(fit / (double)h->all.line / b->large), SPARSE_MOST);
	double few;

	*so = h->evict.page && lines < 1;
	if (!h->evict.page || *so)
		return 0;
	if (xr_walk_sparse(&h->all, (uint64_t)(b->large * (double)h->evict.page), (uint32_t)lines, &few) != 0)
		return -1;
	*so = few < 0 || few > halfway;
	return 0;
}

/* Asks the two laps again, in turns, with one between them: those of the first walk are of different moments. */
static int is_still_between(struct xr_hierarchy *h, double near, double far, double least, struct xr_between *b,
                            bool *so)
{
	enum { LAPS = 3 };
	double size[LAPS] = {b->small, floor(sqrt(b->small * b->large)), b->large},
	       time[LAPS] = {INFINITY, INFINITY, INFINITY};

	for (int i = 0; i < LAPS * RETURNS; i++) {
		double cycles;

		if (xr_walk_time(&h->all, (uint64_t)(size[i % LAPS] * (double)h->evict.page), &cycles, NULL) != 0)
			return -1;
		time[i % LAPS] = cycles < 0 ? time[i % LAPS] : fmin(time[i % LAPS], cycles);
	}
	*so = xr_between_find(size, time, LAPS, near, far, least, b);
	return 0;
}

/* Pages that come back one by one may never be seen in a level whose policy gives new lines up first, or whose sets others
 * fill; laps over all lines are. */
static int find_between(struct xr_hierarchy *h)
{
	for (size_t l = 0; h->evict.page && l + 1 < h->n && h->n < XR_LEVELS_MAX; l++) {
		const struct xr_level near = h->level[l], far = h->level[l + 1];
		const double least = fmax((XR_TOO_CLOSE - 1) * near.latency, clear_of_noise * h->noise);
		struct xr_between b, now;
		bool still, translation;

		if (!xr_between_find(h->walk.pages, h->walk.cycles, h->walk.n, near.latency, far.latency, least, &b))
			continue;
		now = b;
		if (is_still_between(h, near.latency, far.latency, least, &now, &still) != 0)
			return -1;
		if (!still)
			continue;
		if (is_translation(h, near.latency, &now, &translation) != 0)
			return -1;
		if (translation) {
			h->unsettled.between++;
			continue;
		}
		memmove(&h->level[l + 2], &h->level[l + 1], (h->n - l - 1) * sizeof *h->level);
		h->level[l + 1] = (struct xr_level){.latency = now.latency,
		                                    .items = b.holds * (double)h->evict.page / (double)h->evict.item,
		                                    .seen = SEEN_WELL,
		                                    .witnesses = 1};
		h->n++;
		l++;
	}
	return 0;
}

/* Bytes that the last level but memory holds, about, as walks over all lines have it; 0: not seen. (How many pages push
 * out one says that only where all lines of a page go together.) */
static double holds_before_last(const struct xr_hierarchy *h)
{
	const struct xr_level *cache = &h->level[h->n - 2];

	return walked_within(h, sqrt(cache->latency * cache[1].latency));
}

/* What is behind the last cache takes longer and longer where page tables leave the caches. Lines that fit into a cache
 * stay there, however many pages they are in; those of many pages cost their translation, however few they are. So: as
 * many pages as made the last step, all lines of them, and half as many lines as the level before it holds: where that
 * saves nothing of the step, there is no such level. */
static int check_last(struct xr_hierarchy *h)
{
	enum { BEYOND_IT = 2, PARTS = 8, LINES_MOST = 1 << 16, SAMPLES = 2 };
	struct xr_walk walk = h->all;

	walk.effort = is_coarse(h) ? walk.effort : (struct xr_effort){.samples = SAMPLES, .samples_max = SAMPLES};

	while (h->evict.page && h->n > 2) {
		const struct xr_level *cache = &h->level[h->n - 2], *memory = cache + 1;
		const double holds = holds_before_last(h),
			     before = fmax((double)h->inner, cache[-1].items * (double)h->evict.item),
			     bytes = fmin(BEYOND_IT * holds, (double)h->most),
			     pages = floor(bytes / (double)h->evict.page),
			     lines = fmax(1, ceil(BEYOND_IT * before / (double)h->all.line / fmax(1, pages)));
		double all, few;

		if (!(holds > 0) || bytes < clearly * holds || lines > PARTS || pages * lines > LINES_MOST ||
		    pages * lines * (double)h->all.line > holds / PARTS)
			return 0;
		if (xr_walk_sparse(&walk, (uint64_t)bytes, (uint32_t)lines, &few) != 0 ||
		    xr_walk_time(&walk, (uint64_t)bytes, &all, NULL) != 0)
			return -1;
		/* all of them must be beyond it */
		if (few < 0 || all < (memory->latency + cache->latency) / 2 ||
		    few < all - (memory->latency - cache->latency) / 2)
			return 0;
		h->n--;
		h->unsettled.dropped += xr_hierarchy_is_restless(h); /* who shares the cache may have taken it away */
	}
	return 0;
}

int xr_hierarchy_find(struct xr_hierarchy *h)
{
	struct stairs stairs = {.n = CLIMBS};
	struct xr_staircase *near = &stairs.of[NEAR], *far = &stairs.of[FAR], *first = &stairs.of[CLIMBS];

	if (h->exact) {
		if (xr_sweep_levels(&h->all, h->inner, h->most, h->hit, &h->walk, h->level, &h->n) != 0)
			return -1;
		h->first = h->walk;
		return 0;
	}
	stairs.order[NEAR] = order_of(h, false);
	if (climb(h, &stairs) != 0 || xr_staircase_near(&h->evict, BEYOND * h->inner, h->hit, near) != 0 ||
	    xr_staircase_far(&h->all, h->room / 256, h->room, h->most, first->cycles[first->n - 1], far) != 0)
		return -1;
	do {
		if (climb(h, &stairs) != 0)
			return -1;
		h->n = xr_levels_from(stairs.of, stairs.n, h->hit, h->level, &h->unsettled);
	} while (is_unclear(h, stairs.n - CLIMBS));
	h->first = *first;
	h->walk = *far;
	return check_levels(h, &stairs) != 0 || find_between(h) != 0 || check_last(h) != 0 || find_hidden(h) != 0 ? -1
	                                                                                                          : 0;
}

bool xr_hierarchy_is_narrow(const struct xr_hierarchy *h, size_t l)
{
	const struct xr_level *level = &h->level[l];
	const double least = is_coarse(h) ? narrow_unchecked : narrow;

	return !h->exact && l > 0 && l + 1 < h->n &&
	       ((level->items > 0 && level->items < least * level[-1].items) ||
	        fmin(level->latency - level[-1].latency, level[1].latency - level->latency) <
	                clear_of_noise * h->noise);
}

/* Memory, seen by so many pages that a further level of translation, of which nothing is known, misses: as much
 * slower as that costs, it looks like a level of its own behind a cache that is none. */
static bool may_be_translation(const struct xr_hierarchy *h)
{
	return h->evict.page && h->n > 2 && h->level[h->n - 1].latency < XR_TOO_CLOSE * h->level[h->n - 2].latency;
}

/* The odds double with every second step on a level, but only as far as the machine is quiet: a neighbour makes
 * them all alike wrong. Two other pages that say the same are better evidence. */
double xr_hierarchy_sure(const struct xr_hierarchy *h)
{
	const double doubtful = 0.8;
	double quiet = fmax(0, 1 - h->noise / h->hit), least = SEEN_WELL;
	bool doubt = h->mixed || h->unsettled.dropped || h->unsettled.between;

	for (size_t l = 1; l + 1 < h->n; l++) {
		least = fmin(least, fmax(2.0 * h->level[l].witnesses, quiet * h->level[l].seen / 2));
		doubt = doubt || xr_hierarchy_is_narrow(h, l);
	}
	return fmin(may_be_translation(h) ? 0.6 : doubt ? doubtful : 0.97, 1 - exp2(-least));
}
