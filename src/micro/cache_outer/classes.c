/* SPDX-License-Identifier: MIT */
/* Classes of pages that push each other out (method/geometry.h): what they say of a level.
 *
 * Distances in the page at which two halves of a class still meet give the line and, when the way is smaller than a
 * page, the way. Else how often random pages belong to a class tells the number of classes, a power of two
 * (method/colours.h), and C = A · classes · page. */
#include "micro/cache_outer/outer.h"

#include <math.h>

enum { LIMIT = 4 };                                        /* times what pushes a page out of a level: overflows it */
static const double least_sample_ns = 4e3, granules = 200; /* of a lap */

/* What laps need to know about a level. */
struct xr_laps xr_outer_laps(struct xr_outer *o, size_t level)
{
	uint64_t page = o->evict.page ? o->evict.page : o->evict.item,
		 way = o->first.way < page ? o->first.way : page; /* items lie in the same part of a larger one */
	struct xr_laps laps = {.run = o->run,
	                       .buffer = {XR_OUTER_BUFFER + 4, o->pool, XR_SMALL},
	                       .twin = {XR_OUTER_BUFFER + 5, o->pool, XR_SMALL},
	                       .page = page,
	                       .item = o->evict.item > o->first.way ? o->evict.item : o->first.way,
	                       .line = o->line,
	                       .most = (size_t)(o->first.ways * way / o->line * 9 / 10),
	                       .sets = (size_t)(way / o->line),
	                       .base = o->h.level[level].latency - o->hit,
	                       .miss = o->h.level[level + 1].latency - o->h.level[level].latency,
	                       .disturbed = xr_hierarchy_is_restless(&o->h),
	                       .peace = &o->peace,
	                       .effort = o->evict.effort};

	if (o->h.level[level].items > 0)
		laps.limit = (size_t)(LIMIT * o->h.level[level].items) + 4 * o->strangers;
	laps.sample_ns = fmax(least_sample_ns, granules * xr_run_number(o->run, "timer.resolution", 1));
	return laps;
}

/* How likely it is no accident that so many classes of so many say the same: each has shown that every one of its
 * pages is needed, so one alone is rarely wrong, and wrong ones differ. */
static double sure_of_votes(size_t agree, size_t of)
{
	return of ? fmin(0.98, fmax(0.3, 1 - pow(1.15 - (double)agree / (double)of, (double)agree))) : 0;
}

/* way: what distances in a page say; a page or more: it is as many pages as there are classes of them. Items are
 * larger than pages where ways of the first level are: as long as physical addresses decide, that makes no
 * difference, unless all pages lie in a row: then how many pages push one out tells a way as large as an item
 * from one as large as a page. */
static struct xr_fact *put_capacity(struct xr_outer *o, size_t level, const struct xr_geometry *g, double way,
                                    double sure)
{
	struct xr_laps laps = xr_outer_laps(o, level);
	double classes = 1, clear = 1, pushed = o->h.level[level].items * (double)laps.page;
	bool even = false;
	struct xr_fact *fact;

	if (!(way > 0 && way < (double)laps.page)) {
		bool seen = way > 0;

		classes = xr_geometry_classes(g, &clear, &even);
		if (classes == 1 &&
		    !seen) /* it is no larger than a page, and distances, which could tell more, do not */
			clear = fmin(clear, 0.5);
		way = classes * (double)(even ? laps.item : laps.page);
		for (; classes == 1 && 2 * way <= (double)laps.item && pushed > M_SQRT2 * (double)g->ways * way;
		     way *= 2)
			clear = fmin(clear, XR_OUTER_MOST_SURE);
	}
	fact = xr_fact_count(xr_run_description(o->run), xr_outer_id(o, level, "capacity"),
	                     (long long)((double)g->ways * way), "bytes", fmin(sure, clear),
	                     "classes of pages that evict each other");
	if (clear < 0.9)
		xr_fact_note(fact, "%.0f classes of pages fit best, but not by far", classes);
	return fact;
}

/* What walks over all lines find of a level; 0: all of them were larger than it. Of one that hardly differs from
 * the next level, that difference is as much error as what was kept. */
double xr_outer_walks_find(struct xr_outer *o, size_t level)
{
	const double outmost = 0.2;
	const struct xr_effective e = xr_outer_effective(o, level);
	struct xr_staircase inner = {.n = 0};

	for (size_t i = 0; i < o->h.walk.n; i++)
		if (o->h.walk.cycles[i] < e.far - outmost * (e.far - e.near)) {
			inner.pages[inner.n] = o->h.walk.pages[i];
			inner.cycles[inner.n++] = o->h.walk.cycles[i];
		}
	return o->h.walk.n && 2 * o->h.walk.cycles[0] < e.near + e.far ? xr_effective_of(&e, &inner) : 0;
}

void xr_outer_put_classes(struct xr_outer *o, size_t level, const struct xr_geometry *g)
{
	const double contradicts = XR_OUTER_CONTRADICTS, differs = 1.6;
	struct xr_description *d = xr_run_description(o->run);
	double sure = sure_of_votes(g->agree, g->n_said), line, way, share, kept = xr_outer_walks_find(o, level), bytes;
	double page = (double)(o->evict.page ? o->evict.page : o->evict.item);
	struct xr_fact *fact[2];

	/* Where lines stay in the first level by chance, a class needs more members than it has ways. */
	if (!xr_hierarchy_is_restless(&o->h))
		sure = fmin(sure, xr_outer_sure_of_latency(o, level));
	if (g->weak)
		sure = fmin(sure, XR_OUTER_MOST_SURE);
	/* What a miss takes is known from the next level; if that may be none, this may be wrong, too. */
	if (xr_hierarchy_is_narrow(&o->h, level) || xr_hierarchy_is_narrow(&o->h, level + 1))
		sure = fmin(sure, xr_hierarchy_sure(&o->h));
	xr_geometry_sum(g, (uint64_t)page, &line, &way, &share);
	fact[0] = xr_fact_count(d, xr_outer_id(o, level, "ways"), (long long)g->ways, "", sure,
	                        "classes of pages that evict each other");
	xr_outer_put_line(o, level, line, sure * share);
	/* Walks are the other witness. Beside a busy neighbour members seemed to meet where they do not, … */
	if (way > 0 && way < page && kept > contradicts * (double)g->ways * way)
		way = 0;
	fact[1] = put_capacity(o, level, g, way, way > 0 && way < page ? sure * share : sure);
	for (size_t i = 0; i < 2; i++) {
		xr_fact_add_series(fact[i], "cache.staircase");
		if (g->agree * 2 <= g->n_said && g->n_said > 1)
			xr_fact_doubt(fact[i], "only %zu of %zu classes of pages say so", g->agree, g->n_said);
	}
	/* … and the number of classes, a power of two, to be the one before, or the one after (but others may
	 * leave less of it than there is: then pages are still not pushed out by fewer); … */
	bytes = xr_description_number(d, xr_outer_id(o, level, "capacity"), kept);
	if (kept > differs * bytes || (kept > 0 && differs * fmax(kept, o->h.level[level].items * page) < bytes))
		fact[1]->confidence = fmin(fact[1]->confidence, XR_OUTER_MOST_SURE);
	/* … and pages to be of far fewer classes than they are; or there were more members than there are ways, where
	 * replacement is by chance. */
	if (kept > contradicts * bytes)
		for (size_t i = 0; i < 2; i++)
			xr_fact_doubt(fact[i], "walks over all lines find %.0f KiB in it", kept / 1024);
}
