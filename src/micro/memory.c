/* Parameter: the latency of memory, in cycles and in ns.
 *
 * Idea (papers 000 §4.6, 001 §3): a dependent random walk over far more bytes than any cache holds pays memory at every
 * step.
 *
 * Algorithm: walk over every second line, or one in every 128 bytes, of 4 times the largest cache, at least 32 MiB (a
 * cache may not have been seen), and of twice as many bytes, again and again, as long as that makes it slower, up to 16
 * times; what translation costs is known from the TLBs and
 * taken off. The share of steps that some cache still answers falls as the walk grows; so what the last doublings have
 * added, if it is more than noise, goes on being added, less each time, as far as the cache found can explain it.
 * Where it varies, the last walk is taken several times: the least counts, for neighbours only add, and how far the
 * others are from it is what the answer may be wrong by.
 *
 * When it fails: less memory than caches; a neighbour that keeps memory busy all the time.
 */
#include "method/walk.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 23, LINE_LEAST = 8, LINE_MOST = 128, TURNS = 3, FIRST = 4, LAST = 16 /* times the largest cache */ };
static const double same = 0.03, noise = 0.004;
static const double more = 1.2;    /* times as many bytes: worth another walk */
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

/* What translation costs was taken off: how wrong that may be, as a share of the latency. */
static double doubt_of_translation(struct xr_run *run, double cycles)
{
	static const char *const id[] = {"tlb.d1.penalty", "tlb.d2.penalty"};
	double doubt = 0;

	for (int i = 0; i < 2; i++) {
		const struct xr_fact *fact = xr_description_fact(xr_run_description(run), id[i]);

		if (fact && fact->status == XR_OK)
			doubt += (1 - fact->confidence) * xr_run_number(run, id[i], 0) / cycles;
	}
	return doubt;
}

/* Not surer than the walks agree: with themselves, and with what was added to them and taken off. */
static void put(struct xr_run *run, const struct latency *l)
{
	struct xr_description *d = xr_run_description(run);
	const double cycles = l->cycles;
	const bool quick = xr_walk_may_be_cached(run, cycles * l->cycle_ns);
	double most = l->close ? 0.6 : !is_translation_known(run) ? 0.5 : quick ? 0.8 : 0.97;
	double off = 2 * l->spread + 4 * l->grown / cycles + doubt_of_translation(run, cycles);
	double sure = fmax(0.3, most - off);
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

/* What further doublings would add. Where a cache keeps a share of the walk, what is missing goes down as one over the
 * bytes: the line through the last three walks, drawn to the end. Not more than the last doubling has added. quarter 0:
 * there are two only; a part of that, for there are caches that keep nothing of a walk that does not fit. */
static double still_to_grow(double quarter, double half, double full)
{
	const double mean = (quarter + half + full) / 3, at = 7.0 / 12; /* of 1, 1/2 and 1/4 */
	const double slope = (5 * quarter - half - 4 * full) / 3.5;

	if (quarter <= 0)
		return (full - half) / 3;
	return fmin(fmax(0, mean - slope * at - full), full - half);
}

/* There is room for more, but not for twice as much. A share of the walk as large as the cache hits, then what is missing
 * goes down as one over the bytes; or nothing hits any more, and nothing is missing. */
static int grow_on(const struct xr_walk *walk, double most, double *bytes, double *cycles, struct latency *l)
{
	double last;

	if (walk_over(walk, most, &last, l) != 0)
		return -1;
	if (last < 0)
		return 0;
	l->grown = fmax(0, last - *cycles) * *bytes / (most - *bytes);
	*cycles = fmax(last, *cycles);
	*bytes = most;
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
	double latency, largest = largest_cache(run, &latency), room = fmin(most_bytes, (double)xr_run_room(run));
	double most = fmin(fmax(LAST * largest, 4 * least_bytes), room), quarter, half = 0, full;
	double bytes = fmin(fmax(FIRST * largest, least_bytes), most / 2);
	struct latency l = {0};

	/* Every second one: who fetches pairs must not help. And farther caches may have larger lines than the first. */
	walk.line = largest == 0 ? LINE_LEAST : 2 * walk.line > LINE_MOST ? 2 * walk.line : LINE_MOST;
	if (walk_over(&walk, bytes, &full, &l) != 0)
		return -1;
	do {
		xr_run_progress(run, bytes / most, "memory");
		quarter = half;
		half = full;
		bytes *= 2;
		if (walk_over(&walk, bytes, &full, &l) != 0)
			return -1;
	} while (half > 0 && full > (1 + same) * half && bytes * 2 <= most);
	if (half < 0 || full < 0) {
		static const char *const id[] = {"memory.latency", "memory.latency_ns"};

		for (int i = 0; i < 2; i++)
			xr_fact_none(xr_run_description(run), id[i], XR_FAILED, "no buffer of %.0f KiB", bytes / 1024);
		return 0;
	}
	if (l.spread > steady && walk_again(&walk, bytes, &full, &l) != 0)
		return -1;
	l.grown = full > (1 + noise + 2 * l.spread) * half ? still_to_grow(quarter, half, full) : 0;
	if (l.grown > noise * full && most > more * bytes && grow_on(&walk, most, &bytes, &full, &l) != 0)
		return -1;
	l.cached = largest / bytes;
	l.grown = fmin(l.grown, l.cached * fmax(full - latency, 0));
	l.cycles = full + l.grown;
	l.close = info->page_bytes && l.cycles < XR_TOO_CLOSE * latency;
	l.spread = fmax(l.spread, half / full - 1); /* a smaller walk that is slower is somebody else's doing */
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
