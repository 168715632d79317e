/* SPDX-License-Identifier: MIT */
/* The second level, by witnesses that know nothing of each other.
 *
 *   Conflict sets (probe/conflict.h) need no index: their members are the ways.
 *   The law of random lines (infer/scatter.h), with those ways, and how many pages it took until a set overflowed: the
 *   capacity.
 *   Where that leaves several capacities, classes of pages (method/geometry.h) decide between them: right wherever all
 *   lines of a page go together.
 *
 * Without conflict sets classes alone, which the law must bear out; else an effective capacity by walks. */
#include "micro/cache_outer/outer.h"
#include "micro/cache_outer/second.h"

#include <math.h>

/* Half of the way, in logarithms, to the nearest other capacity that is built, 4/3 of it; what is less likely than that
 * was said by somebody who was wrong. */
static const double built = 0.14, contradiction = 0.01;
static const double sure = 0.9;          /* no other witness is asked */
static const double contradicted = 0.75; /* of two witnesses who disagree, the better one */

static struct xr_second_level second_for(struct xr_outer *o)
{
	return (struct xr_second_level){.run = o->run,
	                                .buffer = XR_CONFLICT_POOL,
	                                .page = o->evict.page ? o->evict.page : o->evict.item,
	                                .line = o->line,
	                                .first_ways = o->first.ways,
	                                .first_way = o->first.way,
	                                .holds = o->h.level[1].items,
	                                .near = o->h.level[1].latency,
	                                .far = o->h.level[2].latency,
	                                .room = o->room,
	                                .tlb_pages = xr_run_number(o->run, "tlb.d1.entries", 0),
	                                .shared_core = xr_hierarchy_is_restless(&o->h),
	                                .effort = o->evict.effort};
}

static void put_second(struct xr_outer *o, const struct xr_second_level *l)
{
	const double without_ways = 0.7; /* the law has the steepness of a curve from the ways, or from the policy */
	/* a miss does not cost half of what the latencies say: one of both is wrong */
	const bool overlooked = l->miss_open && l->law.far - l->law.near < (l->far - l->near) / 2;
	struct xr_description *d = xr_run_description(o->run);
	double x[XR_SECOND_POINTS], y[XR_SECOND_POINTS];
	struct xr_fact *fact;

	for (size_t i = 0; i < l->n_curve; i++) {
		x[i] = l->curve[i].lines;
		y[i] = l->curve[i].cycles;
	}
	if (l->n_curve)
		xr_series_put(d, "cache.l2.scatter", "lines drawn at random", "", x, "time per access", "cycles", y,
		              l->n_curve);
	if (l->ways > 0) {
		fact = xr_fact_count(d, xr_outer_id(o, 1, "ways"), (long long)l->ways, "", l->p_ways, "conflict sets");
		xr_fact_note(fact, "%zu of %zu conflict sets have so many members", l->sets_found, l->sets_tried);
	} else {
		xr_fact_none(d, xr_outer_id(o, 1, "ways"), XR_UNRELIABLE, "%s",
		             l->trouble ? l->trouble : "conflict sets disagree");
	}
	if (isfinite(l->law.capacity)) {
		fact = xr_fact_count(d, xr_outer_id(o, 1, "capacity"), (long long)l->law.capacity, "bytes",
		                     l->law.p_capacity * (l->ways ? l->p_ways : without_ways) *
		                             (overlooked ? contradicted : 1),
		                     "random lines against the law of full sets");
		xr_fact_add_series(fact, "cache.l2.scatter");
	} else {
		fact = xr_fact_none(d, xr_outer_id(o, 1, "capacity"), XR_UNRELIABLE,
		                    "no known cache fills with random lines like this");
		xr_fact_add_series(fact, "cache.l2.scatter");
	}
	xr_outer_put_line(o, 1, (double)l->outer_line, l->p_line);
}

/* Its latency by lines all over it, where that can be had: lines of one set may take longer. */
static int spread_latency(struct xr_outer *o, const struct xr_second_level *l)
{
	double cycles, spread;

	if (xr_second_latency(l, &cycles, &spread) != 0)
		return -1;
	/* Both can only be too long: lines of one set, or pages that the TLB does not hold after all. */
	o->spread_out = cycles > o->hit && cycles < o->h.level[1].latency * 1.02;
	if (o->spread_out) {
		o->h.level[1].latency = cycles;
		o->h.level[1].spread = hypot(spread, xr_outer_off_stairs(o, cycles));
		o->second.spread = INFINITY;
	}
	return 0;
}

/* Lines that few ways would keep, of as much as walks find (0: nothing): enough to have its latency from. */
static int latency_of_few_ways(struct xr_outer *o, double bytes)
{
	const double alone_spread = 0.02; /* so that what is told within 2 % is told with one sigma */
	struct xr_second_level l = second_for(o);

	l.ways = 4;
	l.law.capacity = bytes;
	o->spread_out = false;
	if (bytes > 0 && spread_latency(o, &l) != 0)
		return -1;
	if (!o->spread_out) /* lines of one set alone say so, and may take longer: right two times in three */
		o->h.level[1].spread = fmax(o->h.level[1].spread, alone_spread);
	return 0;
}

/* Ways and capacity whatever the index is: l->ways > 0. */
static int find_anyhow(struct xr_outer *o, struct xr_second_level *l)
{
	if (xr_second_ways(l) != 0)
		return -1;
	if (l->ways == 0)
		return 0;
	if (xr_second_capacity(l) != 0 || xr_second_line(l) != 0)
		return -1;
	put_second(o, l);
	return isfinite(l->law.capacity) ? spread_latency(o, l) : latency_of_few_ways(o, xr_outer_walks_find(o, 1));
}

/* Does the law of random lines, which knows no pages, bear out what classes of pages say? They are right where
 * lines of a page go together. Where few walks contradict, many are asked. */
static int bear_out(struct xr_outer *o, const struct xr_geometry *g, bool *borne_out)
{
	struct xr_second_level l = second_for(o);
	const struct xr_fact *capacity = xr_description_fact(xr_run_description(o->run), xr_outer_id(o, 1, "capacity"));

	*borne_out = true;
	l.ways = g->ways;
	l.regular = true;
	l.expected = json_number_value(capacity ? capacity->value : NULL);
	if (!(l.expected > 0) || l.ways > XR_SECOND_WAYS)
		return 0;
	for (int closely = 0; closely < 2; closely++) {
		if ((closely ? xr_second_capacity(&l) : xr_second_estimate(&l)) != 0)
			return -1;
		if (closely && isfinite(l.law.capacity) && xr_second_line(&l) != 0)
			return -1;
		/* pairs fill half of a line that is as long as four */
		const double p = closely && l.outer_line == 4 * l.line ? l.law.p_half : l.law.p_expected;
		*borne_out = !(l.law.mean > 0) || l.law.none > 0.5 ||
		             (closely ? p > contradiction : fabs(log(l.law.mean / l.expected)) < built);
		if (*borne_out)
			return 0;
	}
	return 0;
}

/* Classes of pages; once more where somebody may have been in the way, and is not there all the time. */
static int find_classes(struct xr_outer *o, struct xr_geometry *g)
{
	const struct xr_laps laps = xr_outer_laps(o, 1);
	const bool again = xr_hierarchy_is_restless(&o->h) && o->peace.left_ns > 0.2 * XR_OUTER_PATIENCE_NS;

	for (int i = 0; i < (again ? 2 : 1) && g->n_said == 0; i++)
		if (xr_geometry_find(&laps, &o->first, g) != 0)
			return -1;
	return 0;
}

/* No conflict sets: classes of pages alone, or walks. */
static int find_without_sets(struct xr_outer *o, struct xr_geometry *g)
{
	static const char *const said[] = {"ways", "capacity"};
	struct xr_effective e;
	bool borne_out;

	if (g->n_said > 0) {
		xr_outer_put_classes(o, 1, g);
		if (bear_out(o, g, &borne_out) != 0)
			return -1;
		for (int i = 0; i < 2 && !borne_out; i++)
			xr_fact_doubt(xr_description_edit(xr_run_description(o->run), xr_outer_id(o, 1, said[i])),
			              "random lines and classes of pages disagree about its size");
		return 0;
	}
	e = xr_outer_effective(o, 1);
	if (xr_effective_find(&e, &o->h.walk) != 0 ||
	    xr_outer_put_effective(o, 1, &e, g->trouble ? g->trouble : "pages disagree about the number of ways") != 0)
		return -1;
	return e.bytes < e.page ? 0 : latency_of_few_ways(o, e.bytes);
}

int xr_outer_find_second(struct xr_outer *o)
{
	struct xr_geometry g = {.trouble = "the first cache, which filters what this one sees, is not known"};
	struct xr_second_level l = second_for(o);
	const bool hidden = !(o->first.way > 0 && l.far > l.near);
	bool found = false;

	if (o->h.exact && xr_outer_find_regular(o, 1, &found) != 0)
		return -1;
	if (found)
		return 0;
	if (!hidden && find_anyhow(o, &l) != 0)
		return -1;
	if (l.ways > 0 && l.p_ways * l.law.p_capacity > sure)
		return 0;
	if (!hidden && find_classes(o, &g) != 0)
		return -1;
	if (l.ways == 0)
		return find_without_sets(o, &g);
	/* Where the law is open, classes that have as many ways decide, unless it contradicts them. */
	if (g.n_said > 0 && g.ways == l.ways) {
		xr_outer_put_classes(o, 1, &g);
		struct xr_fact *fact = xr_description_edit(xr_run_description(o->run), xr_outer_id(o, 1, "capacity"));

		l.expected = json_number_value(fact->value);
		xr_second_weigh(&l);
		if (!(l.law.p_expected > contradiction) && fabs(log(l.law.mean / l.expected)) > 2 * built)
			put_second(o, &l);
		else if (l.law.capacity != l.expected) /* classes are counted in powers of two, whatever there is */
			fact->confidence = fmin(fact->confidence, contradicted);
	}
	return 0;
}
