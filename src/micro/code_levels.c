/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l2i.capacity, .miss_penalty, .unified: the second cache as code sees it; cache.l2.unified.
 *
 * Idea: unforeseen jumps (micro/icache.c) over more and more code. As long as the second cache has it, a jump
 * takes a miss of the first one longer than a hit; when it does not, longer still. What translation costs is the
 * same for as many jumps into one line of each of the same pages, which take little room (paper 000 §4.7 takes it
 * off in the same way for data).
 *
 * Algorithm: twice as much code each time, from twice the first cache on, until the excess over the twin no
 * longer rises; more walks where it rises; the capacity is the effective one of method/effective.h, from how many
 * lines each walk kept. A few lines of each page are enough: some of the sets, as full as with all, unless these
 * are chosen by a hash, which is checked. Then code and data against each other (method/against.h), in this
 * cache.
 *
 * When it fails: an instruction cache that is not known (unreliable); no step in as much code as can be laid out
 * (unsupported: the second cache is larger, hardly larger than the first, or there is none). The capacity is what
 * code gets of it: pages lie at random places, so some sets fill early, and it is no round number.
 */
#include "method/against.h"
#include "method/effective.h"

#include <math.h>
#include <string.h>

enum {
	REGION = 9,
	CLOSEST = 32,      /* blocks: those with landing pads are that long */
	PAGE_LEAST = 4096, /* for laying out */
	PER_PAGE = 4,      /* lines that are visited of a page, at least, so that pages come in no order */
	SETS = 4,          /* of the first cache, at least, or it would have more than its part */
	LONG = 2048,       /* visits that are enough for a lap */
	FIRST = 2,         /* times the first cache */
	SAMPLES = 6,
	SIZES_MAX = 24,
	DENSER = 4, /* times as many lines, to see a hash */
	MORE = 3,
	CLOSER = 2, /* more sizes, around the first that is too large */
};
static const uint64_t region_bytes = 8 << 20;
static const double step = 0.5, of_visit = 0.08; /* that takes noticeably longer: of a miss, of a visit */
static const double flat = 0.25;                 /* of the whole rise: it ends */
static const double very_flat = 0.07;            /* … so that once is enough, */
static const double far_away = 6;                /* if this is so many times what missing the first cache takes */
static const double apart = 1.8;                 /* a jump that misses both, over one that misses the first, at least */
static const double least = 2;                   /* times the first cache: a smaller one hardly has anything else */
static const double hashed = 0.3;                /* of the rise */
static const double code_share = 0.6, data_share = 0.9;
static const double patience = 0.1, once = 0.007; /* of what others have: walks are too long to find peace for them */

static const char *const finds[] = {
	"cache.l2i.capacity", "cache.l2i.miss_penalty", "cache.l2i.unified", "cache.l2.unified", NULL,
};
static const char *const needs[] = {"icache", "cache_l1d", NULL};
static const char method[] = "unforeseen jumps", contest[] = "code and data against each other";

struct hunt {
	struct xr_walk_bench bench;
	double first, miss;     /* bytes of the first cache; cycles that missing it takes */
	double visit;           /* cycles of a jump that hits, about */
	uint64_t spacing, page; /* bytes */
	uint64_t way;           /* of the first cache, bytes */
	uint64_t thin;          /* one line of so many is visited: a part of the sets, as full as with all lines */
	double bytes[SIZES_MAX], excess[SIZES_MAX];
	size_t n;
	size_t from, flat_from; /* the first size that is too large; where the excess ends to rise; 0: not seen */
	const char *trouble;
	bool unsupported, calm;
};

/* ---- the curve ------------------------------------------------------------------------------------------------- */

/* Every line, or every so-manieth; and as often one line of each of the same pages, such that these spread over
 * the sets of the first cache; and, moved on by one after each round, over those of farther ones, if pages lie
 * there in a row. */
static void place(const struct hunt *h, uint64_t *row, uint64_t *twin, size_t n)
{
	const uint64_t lines = h->page / h->spacing, pages = h->way > h->page ? h->way / h->page : 1;
	for (size_t i = 0; i < n; i++) {
		row[i] = i * h->thin * h->spacing;
		const uint64_t page = row[i] / h->page, turn = page / pages;
		twin[i] = page * h->page + (turn + turn / lines) % lines * h->spacing;
	}
}

/* Cycles by which a visit of this much code takes longer than one whose line is in the first cache. The twin's
 * lines are visited in no order, so that it misses on what does not fit. */
static int time_size(struct hunt *h, double bytes)
{
	const size_t n = (size_t)(bytes / (double)(h->thin * h->spacing)),
		     pages = (size_t)ceil(bytes / (double)h->page);
	uint64_t *row = xr_arena_array(xr_run_arena(h->bench.run), uint64_t, 2 * n);
	struct xr_walks walks;
	place(h, row, row + n, n);
	xr_walks_init(&walks, &h->bench);
	xr_walks_add(&walks, XR_JUMPS, row, n);
	xr_walks_add(&walks, XR_JUMPS, row + n, n);
	if (xr_walks_look(&walks, SAMPLES, once) != 0)
		return -1;
	h->trouble = walks.trouble;
	h->unsupported = walks.unsupported;
	h->calm &= xr_walks_calm(&walks);
	if (h->trouble || h->n == SIZES_MAX)
		return 0;
	double lines = (double)pages * (double)h->spacing;
	h->visit = h->n ? fmin(h->visit, xr_walks_low(&walks, 1)) : xr_walks_low(&walks, 1);
	h->bytes[h->n] = bytes;
	h->excess[h->n++] = xr_walks_excess(&walks, 0, 1) + h->miss * fmax(0, 1 - h->first / lines);
	return 0;
}

/* Does a visit of the i-th size take clearly longer than a miss of the first cache? */
static bool risen(const struct hunt *h, size_t i)
{
	const double near = i > 1 ? fmin(h->miss, 1.2 * h->excess[1]) : h->miss;
	return h->excess[i] > (1 + step) * near + of_visit * (h->excess[i] + h->visit);
}

/* Doubles until the excess has risen beyond a miss of the first cache and rises no more, twice in a row. */
static int climb(struct hunt *h)
{
	h->n = h->from = h->flat_from = 0;
	for (double bytes = FIRST * h->first; bytes <= (double)h->bench.bytes && h->n + CLOSER < SIZES_MAX;
	     bytes *= 2) {
		if (time_size(h, bytes) != 0)
			return -1;
		if (h->trouble)
			return 0;
		const size_t i = h->n - 1;
		if (!risen(h, i) || i == 0)
			h->from = h->flat_from = 0;
		else if (!h->from)
			h->from = i;
		else if (h->excess[i] - h->excess[i - 1] > flat * (h->excess[i] - h->miss))
			h->flat_from = 0;
		else if (h->flat_from)
			return 0;
		else {
			h->flat_from = i;
			if (h->excess[i] - h->excess[i - 1] < very_flat * (h->excess[i] - h->miss) &&
			    h->excess[i] > far_away * h->miss) /* a few pages that meet by chance are not so far */
				return 0;
		}
	}
	return 0;
}

/* Where sets are chosen by a hash, few lines spread over all of them. Then more of them miss where some do not. */
static int check_thin(struct hunt *h)
{
	const size_t at = h->from ? h->from : h->n - 1, far = h->flat_from ? h->flat_from : h->n - 1;
	const double some = h->excess[at] + hashed * (h->excess[far] - h->miss);
	const uint64_t thin = h->thin;
	h->thin = thin > DENSER ? thin / DENSER : 1;
	if (time_size(h, h->bytes[at]) != 0)
		return -1;
	if (h->trouble)
		return 0;
	if (h->from ? h->excess[h->n - 1] > some : risen(h, h->n - 1)) {
		h->thin = 1;
		return climb(h);
	}
	h->thin = thin;
	h->n--;
	return 0;
}

/* More walks between the first size that is too large and its neighbours. */
static int look_closer(struct hunt *h, double around)
{
	for (int i = 0; i < CLOSER && !h->trouble; i++)
		if (time_size(h, around * exp2(i - 0.5)) != 0)
			return -1;
	return 0;
}

struct level {
	double near, far; /* cycles, of the excess */
	double bytes;
};

static struct level level_of(struct xr_arena *arena, const struct hunt *h, size_t last)
{
	struct level level = {.near = h->miss, .far = h->excess[last]};
	struct xr_staircase *curve = xr_arena_alloc(arena, sizeof *curve);
	for (size_t i = 1; i < h->from; i++) /* from four times the first cache on it has hardly anything of a walk */
		level.near = fmin(level.near, h->excess[i]);
	memset(curve, 0, sizeof *curve);
	for (; curve->n < h->n && curve->n < XR_STAIRS_MAX; curve->n++) {
		curve->pages[curve->n] = h->bytes[curve->n];
		curve->cycles[curve->n] = h->excess[curve->n];
	}
	const struct xr_effective e = {.page = 1, .near = level.near, .far = level.far};
	level.bytes = xr_effective_of(&e, curve);
	return level;
}

/* One level's share of misses rises steeply, and then less and less. Where it gets steeper again, two levels
 * overflow, one after the other. */
static bool two_levels(const struct hunt *h, const struct level *level, size_t last)
{
	const double steep = 1.5, steeper = 3; /* few sets overflow at first, and which is a matter of luck */
	double before = INFINITY;
	for (size_t i = h->from; i < last; i++) {
		const double growth = (h->excess[i + 1] - h->excess[i]) / (h->excess[i] - level->near);
		if (growth > steep && growth > steeper * before)
			return true;
		before = growth;
	}
	return false;
}

/* ---- facts ----------------------------------------------------------------------------------------------------- */

static void put_none(struct xr_run *run, enum xr_status status, const char *const *ids, const char *reason)
{
	for (; *ids; ids++)
		xr_fact_none(xr_run_description(run), *ids, status, "%s", reason);
}

static void put_level(struct hunt *h, const struct level *level, bool flattened, bool two)
{
	struct xr_description *d = xr_run_description(h->bench.run);
	const double sure = !flattened ? 0.5 : h->calm ? 0.85 : 0.6;
	xr_series_put(d, "cache.l2i", "bytes", "bytes", h->bytes, "excess", "cycles", h->excess, h->n);
	struct xr_fact *fact =
		xr_fact_number(d, "cache.l2i.capacity", round(level->bytes / 1024) * 1024, "bytes", sure, method);
	xr_fact_add_series(fact, "cache.l2i");
	xr_fact_note(fact, "effective: the code that mispredicted jumps find there, in pages of %llu bytes",
	             (unsigned long long)h->page);
	if (flattened && !two) {
		xr_fact_number(d, "cache.l2i.miss_penalty", level->far - level->near, "cycles", sure, method);
	} else {
		const char *reason = two ? "two levels overflow one after the other, too close to tell them apart"
		                         : "the time of a jump still rises in the largest code that was tried";
		xr_fact_doubt(fact, "%s", reason);
		xr_fact_none(d, "cache.l2i.miss_penalty", XR_UNRELIABLE, "%s", reason);
	}
}

/* Data that fit are used again and again, so that no policy gives way to code. They have to get there, past their
 * own first cache. Where they do not evict code, more of them still may: a cache that code has for itself
 * does not notice. */
static int ask_for_data(struct hunt *h, struct xr_against *a, double bytes)
{
	const double data_first = xr_run_number(h->bench.run, "cache.l1d.capacity", 0);
	a->data_bytes = fmax(data_share * bytes, data_first + bytes / 2);
	if (xr_against_ask(&h->bench, a) != 0)
		return -1;
	if (!a->trouble && (xr_against_unclear(a->share) || !xr_against_shared(a->share))) {
		a->data_bytes *= MORE;
		if (xr_against_ask(&h->bench, a) != 0)
			return -1;
	}
	const bool noticed = xr_against_shared(a->share);
	if (data_first <= 0 || (!noticed && !h->calm)) /* noise hides it */
		a->confidence = fmin(a->confidence, 0.5);
	return 0;
}

static int put_unified(struct hunt *h, const struct level *level)
{
	static const char *const ids[] = {"cache.l2i.unified", "cache.l2.unified", NULL};
	/* the first cache keeps some of it, whatever data do */
	const double code = fmax(code_share * level->bytes, fmin(FIRST * h->first, data_share * level->bytes));
	struct xr_against a = {.code_bytes = code,
	                       .miss = (level->far - level->near) * fmax(0.25, 1 - h->first / code),
	                       .spacing = h->spacing};
	while (a.spacing < h->thin * h->spacing && code / (double)a.spacing > 2 * LONG)
		a.spacing *= 2;
	if (ask_for_data(h, &a, level->bytes) != 0)
		return -1;
	if (a.trouble) {
		put_none(h->bench.run, a.unsupported ? XR_UNSUPPORTED : XR_FAILED, ids, a.trouble);
		return 0;
	}
	for (const char *const *id = ids; *id; id++) {
		struct xr_fact *fact = xr_fact_bool(xr_run_description(h->bench.run), *id, xr_against_shared(a.share),
		                                    a.confidence, contest);
		if (a.confidence <= 0.5 && !xr_against_unclear(a.share))
			xr_fact_doubt(fact, "data were not seen to evict code, but the walks were disturbed");
		else if (xr_against_unclear(a.share))
			xr_fact_doubt(fact, "with data, %.0f %% of the code misses: neither none nor much",
			              100 * a.share);
	}
	return 0;
}

static int measure(struct hunt *h)
{
	struct xr_arena *arena = xr_run_arena(h->bench.run);
	struct level level = {0};
	if (climb(h) != 0 || (h->n && h->thin > 1 && !h->trouble && check_thin(h) != 0))
		return -1;
	const size_t last = h->n - 1;
	if (h->from && !h->trouble && look_closer(h, h->bytes[h->from]) != 0)
		return -1;
	if (h->trouble) {
		put_none(h->bench.run, h->unsupported ? XR_UNSUPPORTED : XR_FAILED, finds, h->trouble);
		return 0;
	}
	if (h->from)
		level = level_of(arena, h, last);
	if (!h->from || level.far < apart * level.near || level.bytes < least * h->first) {
		put_none(
			h->bench.run, XR_UNSUPPORTED, finds,
			xr_arena_printf(arena, "no second step in %.0f KiB of code", h->n ? h->bytes[last] / 1024 : 0));
		return 0;
	}
	const bool two = two_levels(h, &level, last);
	put_level(h, &level, h->flat_from > 0, two);
	if (h->flat_from && !two)
		return put_unified(h, &level);
	put_none(h->bench.run, XR_UNRELIABLE, finds + 2, "the second cache is not known well enough");
	return 0;
}

static int run(struct xr_run *run)
{
	struct hunt *h = xr_arena_alloc(xr_run_arena(run), sizeof *h);
	const uint64_t page = xr_run_info(run)->page_bytes;
	h->first = xr_run_number(run, "cache.l1i.capacity", 0);
	h->miss = xr_run_number(run, "cache.l1i.miss_penalty", 0);
	h->spacing = (uint64_t)fmax(CLOSEST, xr_run_number(run, "cache.l1i.line", 0));
	h->page = page > PAGE_LEAST ? page : PAGE_LEAST;
	h->way = (uint64_t)(h->first / xr_run_number(run, "cache.l1i.ways", 1));
	for (h->thin = 1; PER_PAGE * 2 * h->thin * h->spacing <= h->page && SETS * 2 * h->thin * h->spacing <= h->way;)
		h->thin *= 2;
	h->calm = true;
	if (h->first <= 0 || h->miss <= 0 || h->spacing > h->page) {
		put_none(run, XR_UNRELIABLE, finds, "the instruction cache is not known well enough");
		return 0;
	}
	if (xr_walk_bench_init(&h->bench, run, REGION, xr_walks_region(run, region_bytes)) != 0)
		return -1;
	h->bench.patience_ns *= patience;
	return measure(h);
}

const struct xr_micro xr_micro_code_levels = {
	.id = "code_levels",
	.title = "the second cache as code sees it, and whether it holds data as well",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.5,
	.kinds = 1u << XR_WALK,
	.supported = xr_walks_supported,
	.run = run,
};
