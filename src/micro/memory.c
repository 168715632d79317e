/* SPDX-License-Identifier: MIT */
/* Parameter: the latency of memory, in cycles and in ns.
 *
 * Idea (papers 000 §4.6, 001 §3): a dependent random walk over far more bytes than any cache holds pays memory at
 * every step.
 *
 * Algorithm: walk over every second line, or one in every 128 bytes, of 4 times the largest cache, at least 32
 * MiB (a cache may not have been seen), and of twice as many bytes, again and again, as long as that makes it
 * slower, up to 16 times; what translation costs is known from the TLBs and taken off. If it still gets slower,
 * some cache still answers. Either because more is fetched at a time than is walked over: then visits farther
 * apart take longer, and count. Or because it keeps what it has, or evicts at random: the walk of half, or a
 * quarter, as many bytes tells which, and so how much is missing, as far as the cache found can explain it. Where
 * it varies, the last walk is taken several times: the least counts, for neighbours only add, and how far the
 * others are from it is what the answer may be wrong by.
 *
 * When it fails: less memory than caches; a neighbour that keeps memory busy all the time.
 */
#include "method/sweep.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum {
	BUFFER = 23,
	LINE_LEAST = 8,
	LINE_MOST = 128,
	APART_MOST = 512, /* bytes */
	TURNS = 3,
	FIRST = 4,
	LAST = 16 /* times the largest cache */
};
static const double same = 0.03, noise = 0.004;
static const double counts = 0.02; /* a share of a walk that a cache may hold */
static const double steady = 0.02; /* samples of a walk that nobody disturbs */
static const double least_bytes = 32 << 20, most_bytes = 256 << 20;

static double largest_cache(struct xr_run *run, double *latency)
{
	static const char *const capacity[] = {"cache.l1d.capacity", "cache.l2.capacity", "cache.l3.capacity",
	                                       "cache.l4.capacity"};
	static const char *const hit[] = {"cache.l1d.latency", "cache.l2.latency", "cache.l3.latency",
	                                  "cache.l4.latency"};
	double largest = 0;

	*latency = xr_run_number(run, hit[0], 0);
	for (int i = 0; i < 4; i++) { /* what is in doubt may be true */
		const struct xr_fact *fact = xr_description_fact(xr_run_description(run), capacity[i]);
		const double bytes = fact ? xr_fact_value(fact, 0) : 0;
		if (bytes > largest) {
			largest = bytes;
			*latency = xr_run_number(run, hit[i], *latency);
		}
	}
	return largest;
}

struct latency {
	double cycles, cycle_ns;
	double grown;  /* of the cycles, what no walk has shown */
	double spread; /* how much the last walk varies, as a share of it */
	double cached; /* share of the last walk that caches might hold */
	bool swept;    /* times repeat exactly, and translation counts for next to nothing */
	bool close;    /* to a cache: one of the two may be translation (cache_outer.c) */
};

/* Is it known what translation costs, or that it costs nothing? */
static bool is_translation_known(struct xr_run *run)
{
	const struct xr_fact *first = xr_description_fact(xr_run_description(run), "tlb.d1.penalty");
	const struct xr_fact *second = xr_description_fact(xr_run_description(run), "tlb.d2.penalty");

	return !xr_run_info(run)->page_bytes ||
	       (first && (first->status == XR_OK || first->status == XR_UNSUPPORTED) &&
	        (!second || second->status == XR_OK || second->status == XR_UNSUPPORTED));
}

/* Nothing was seen behind the first TLB, but that itself is not known well: who evicts at random hides what
 * is behind. */
static bool may_hide_second(struct xr_run *run)
{
	const struct xr_fact *first = xr_description_fact(xr_run_description(run), "tlb.d1.entries");
	const struct xr_fact *second = xr_description_fact(xr_run_description(run), "tlb.d2.penalty");

	return first && first->status == XR_OK && first->confidence < 0.9 && (!second || second->status != XR_OK);
}

/* What translation costs was taken off: how wrong that may be, as a share of the latency. */
static double doubt_of_translation(struct xr_run *run, double cycles)
{
	static const char *const id[] = {"tlb.d1.penalty", "tlb.d2.penalty"};
	double doubt = 0;

	for (int i = 0; i < 2; i++) { /* one that was not found took nothing off */
		const struct xr_fact *fact = xr_description_fact(xr_run_description(run), id[i]);

		doubt += (1 - xr_fact_confidence(fact)) * xr_run_number(run, id[i], 0) / cycles;
	}
	return doubt;
}

/* Not surer than the walks agree: with themselves, and with what was added to them and taken off. */
static void put(struct xr_run *run, const struct latency *l)
{
	struct xr_description *d = xr_run_description(run);
	const double cycles = l->cycles;
	const bool quick = xr_walk_may_be_cached(run, cycles * l->cycle_ns);
	double most = l->close ? 0.6 : !is_translation_known(run) ? 0.5 : quick || may_hide_second(run) ? 0.8 : 0.97;
	double off = 2 * l->spread + 4 * l->grown / cycles + doubt_of_translation(run, cycles);
	double sure = l->swept ? 0.97 : fmax(0.3, most - off);
	struct xr_fact *fact[2];

	fact[0] = xr_fact_number(d, "memory.latency", xr_snap_integer(cycles, 0.1), "cycles", sure, "random walk");
	fact[1] = xr_fact_number(d, "memory.latency_ns", cycles * l->cycle_ns, "ns", sure, "random walk");
	for (int i = 0; i < 2; i++)
		if (l->cached >= 0.3)
			xr_fact_doubt(fact[i], "too little memory to walk past the caches");
		else if (quick)
			xr_fact_note(fact[i], "quick for memory: a cache larger than all that was walked over?");
}

/* Walks over so many bytes; *cycles < 0: could not. */
static int walk_over(const struct xr_walk *walk, double bytes, double *cycles, struct latency *l)
{
	struct xr_reading reading;

	if (xr_walk_read(walk, (uint64_t)bytes, &reading) != 0)
		return -1;
	*cycles = -1;
	if (reading.status != XR_READ_OK)
		return 0;
	*cycles = reading.cycles;
	l->cycle_ns = reading.ns / reading.cycles;
	l->spread = reading.spread;
	return 0;
}

/* The last walk, a few times: *least of them, and how far the median is from it. */
static int walk_again(const struct xr_walk *walk, double bytes, double *least, struct latency *l)
{
	double value[TURNS] = {*least};

	for (int i = 1; i < TURNS; i++) {
		if (walk_over(walk, bytes, &value[i], l) != 0)
			return -1;
		if (value[i] < 0)
			value[i] = *least;
	}
	*least = xr_min(value, TURNS);
	l->spread = fmax(l->spread / 2, xr_median(value, TURNS) / *least - 1);
	return 0;
}

/* ---- what some cache still answers ------------------------------------------------------------------------------ */

/* Walks of a quarter and half as many bytes, and of all; < 0: could not; 0: none. near: latency of the largest
 * cache. */
struct growth {
	double quarter, half, full, near;
};

/* A cache that evicts at random, walked round: a line is still there if none of the misses of a whole round hit it,
 * h = exp(-x (1 - h)), the walk being x times as large as the cache. */
static double times_for(double share)
{
	return share > 0 ? -log(share) / (1 - share) : INFINITY;
}

static double share_at(double times)
{
	double share = times > 1 ? 0 : 1;

	for (int i = 0; i < 50 && times > 1; i++)
		share = exp(-times * (1 - share));
	return share;
}

/* What is missing in the full walk, if eviction is random: the end for which it has twice the size of the half one. */
static double missing_by_chance(const struct growth *g)
{
	double low = 0, high = g->full - g->half;

	for (int i = 0; i < 40; i++) {
		const double missing = (low + high) / 2, all = g->full + missing - g->near;

		if (times_for(missing / all) > 2 * times_for((g->full + missing - g->half) / all))
			low = missing;
		else
			high = missing;
	}
	return low;
}

/* What further doublings would add. A cache that keeps a part as large as itself answers as much less often as
 * the walk is larger: what is missing is as much as the last doubling has added. One that evicts at random
 * has hardly anything left by now, but had much more of a quarter of it. */
static double still_to_grow(const struct growth *g)
{
	const double kept = g->full - g->half, thrown = missing_by_chance(g);
	const double end = g->full + thrown, half = (end - g->half) / (end - g->near);
	const double if_kept = g->full - 3 * kept, if_thrown = end - share_at(times_for(half) / 2) * (end - g->near);

	if (g->quarter <= 0 || g->half <= g->near || if_thrown >= if_kept)
		return (kept + thrown) / 2;
	return thrown + (kept - thrown) * fmin(1, fmax(0, (g->quarter - if_thrown) / (if_kept - if_thrown)));
}

static bool is_slower(double cycles, double than, double spread)
{
	return cycles > (1 + noise + spread) * than;
}

/* More may be fetched at a time than is walked over: two lines, longer ones, or both. Then what is visited once
 * brings what will be visited soon, and visits farther apart take longer. */
static int walk_apart(struct xr_walk *walk, double bytes, struct growth *g, struct latency *l)
{
	while (l->cached > counts && 2 * walk->line <= APART_MOST) {
		struct growth apart = {.near = g->near};
		struct latency full = *l, half = *l;

		walk->line *= 2;
		if (walk_over(walk, bytes, &apart.full, &full) != 0)
			return -1;
		if (is_slower(apart.full, g->full, full.spread) && walk_over(walk, bytes / 2, &apart.half, &half) != 0)
			return -1;
		if (!is_slower(fmin(apart.half, apart.full), g->full, fmax(half.spread, full.spread))) {
			walk->line /= 2;
			break;
		}
		*g = apart;
		*l = full;
		l->spread = fmax(full.spread, half.spread);
	}
	return 0;
}

/* ---- the walks -------------------------------------------------------------------------------------------------- */

/* Twice as many bytes each time, as long as that makes it slower; *bytes of the last walk. */
static int walk_on(const struct xr_walk *walk, double most, double *bytes, struct growth *g, struct latency *l)
{
	g->quarter = 0;
	if (walk_over(walk, *bytes / 2, &g->half, l) != 0 || walk_over(walk, *bytes, &g->full, l) != 0)
		return -1;
	while (g->half > 0 && g->full > (1 + same) * g->half && *bytes * 2 <= most) {
		xr_run_progress(walk->run, *bytes / most, "memory");
		*bytes *= 2;
		g->quarter = g->half;
		g->half = g->full;
		if (walk_over(walk, *bytes, &g->full, l) != 0)
			return -1;
	}
	return 0;
}

/* The end of the walks, as far as the cache found can explain that they have not reached it. */
static int find_end(struct xr_walk *walk, double bytes, struct growth *g, struct latency *l)
{
	if (l->spread > steady && walk_again(walk, bytes, &g->full, l) != 0)
		return -1;
	if (walk_apart(walk, bytes, g, l) != 0)
		return -1;
	if (is_slower(g->full, g->half, 2 * l->spread)) {
		struct latency other = {0};

		if (g->quarter <= 0 && walk_over(walk, bytes / 4, &g->quarter, &other) != 0)
			return -1;
		l->grown = fmin(still_to_grow(g), l->cached * fmax(g->full - g->near, 0));
	}
	l->cycles = g->full + l->grown;
	l->spread = fmax(l->spread, g->half / g->full - 1); /* a smaller walk that is slower is somebody else's doing */
	return 0;
}

/* Where times repeat exactly a sweep over several times the largest cache says it at once. */
static int sweep(const struct xr_walk *walk, double largest, double room, struct latency *l)
{
	enum { TIMES = 6, LEAST = 64 << 10 }; /* with random replacement one line in 400 is left */
	const double bytes = fmin(fmax(TIMES * largest, LEAST), room);
	struct xr_spec clock = {.kind = XR_CLOCK};
	struct xr_reading reading;

	if (xr_sweep_latency(walk, (uint64_t)bytes, &l->cycles) != 0 ||
	    xr_run_time(walk->run, &clock, 1, &reading) != 0)
		return -1;
	l->cycle_ns = reading.ns / reading.cycles;
	l->cached = largest / bytes;
	l->swept = true;
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_walk walk = {.run = run,
	                       .buffer = BUFFER,
	                       .page = info->page_bytes,
	                       .tlbs = xr_tlbs_known(run),
	                       .line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64),
	                       .effort = {.samples = 9, .samples_max = 27}};
	struct growth g = {0};
	double largest = largest_cache(run, &g.near), room = fmin(most_bytes, (double)xr_run_room(run));
	double most = fmin(fmax(LAST * largest, 4 * least_bytes), room), bytes = most;
	struct latency l = {0};

	if (info->exact) {
		if (sweep(&walk, largest, room, &l) != 0)
			return -1;
		if (l.cycles > 0) {
			put(run, &l);
			return 0;
		}
	}
	while (bytes / 4 >= fmax(FIRST * largest, least_bytes))
		bytes /= 2;
	/* Every second one: who fetches pairs must not help. And farther caches may have larger lines than the
	 * first. */
	walk.line = largest == 0 ? LINE_LEAST : 2 * walk.line > LINE_MOST ? 2 * walk.line : LINE_MOST;
	if (walk_on(&walk, most, &bytes, &g, &l) != 0)
		return -1;
	if (g.half < 0 || g.full < 0) {
		static const char *const id[] = {"memory.latency", "memory.latency_ns"};

		for (int i = 0; i < 2; i++)
			xr_fact_none(xr_run_description(run), id[i], XR_FAILED, "no buffer of %.0f KiB", bytes / 1024);
		return 0;
	}
	l.cached = largest / bytes;
	if (find_end(&walk, bytes, &g, &l) != 0)
		return -1;
	l.close = info->page_bytes && l.cycles < XR_TOO_CLOSE * g.near;
	put(run, &l);
	return 0;
}

static const char *const finds[] = {"memory.latency", "memory.latency_ns", NULL};
static const char *const needs[] = {"cache_outer", "tlb", NULL};

const struct xr_micro xr_micro_memory = {
	.id = "memory",
	.title = "latency of memory",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.4,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
