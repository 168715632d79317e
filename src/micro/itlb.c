/* SPDX-License-Identifier: MIT */
/* Parameter: tlb.i1.entries, .ways, .penalty.
 *
 * Idea: a TLB is a cache whose lines are pages (paper 000 §4.7), so the questions of micro/icache.c are put with
 * one block of code in each page. The twin has as many blocks in the same lines of the instruction cache, but
 * packed: only the pages differ.
 *
 * Algorithm: the same conversation (method/hunt.h), with pages for lines: rows of more and more pages, each block
 * a line further on in its page so that they spread over the instruction cache; then strides of pages for sets
 * and ways. Hypotheses of one TLB and of two, one behind the other, compete. The second level shows in rows
 * several times as long as the first: how many pages it holds is asked at the strides that fit best, since an
 * index may leave bits of the page number out.
 *
 * When it fails: no executable memory, no pages (unsupported); more entries than can be tried (unsupported, with
 * the number); nothing that a TLB does makes these curves (unreliable). A core's other hardware thread, when
 * busy, takes half of the entries on some machines: the quickest samples count. Pages that the processor joins in
 * one entry make the entries look more.
 */
#include "method/hunt.h"
#include "method/walks.h"

#include "infer/policy.h"
#include "infer/ways.h"
#include "stat/stat.h"

#include <math.h>

enum {
	REGION = 3,
	LINE = 64, /* where it is not known */
	FIRST = 2,
	ENOUGH = 40,
	MOST = 1024,
	CROWD = 384, /* full blocks: each takes three lines of decoded code or more, and nobody has a thousand */
};
static const uint64_t spare = 8;     /* times MOST pages in the region: strides */
static const double known_to = 0.03; /* the height of a curve; penalties are whole numbers of cycles */
/* Entries evicted at random: the program's own pages stay among them for long, so a few more than were seen are as
 * likely. */
static const double odd_sure = 0.75; /* of a TLB for both, one entry of many is taken by the program's data */
static const double with_own = 0.5;
static const double most_sure = 0.98; /* the posterior knows nothing of what nobody has thought of */

/* What is known of the instruction cache. */
struct lines {
	uint64_t line, way;
};

/* One block in each page, or many, in different sets of the instruction cache, as far as there are any: pages that lie
 * less than a way apart are in different ones anyway. The twin's blocks fill as many sets as much, but lie close
 * together. */
static void place_pages(const struct xr_hunt *h, uint64_t stride, unsigned count, unsigned rows, uint64_t block,
                        uint64_t *address, uint64_t *twin)
{
	const struct lines *lines = h->self;
	const uint64_t line = lines->line > block && rows == 1 ? lines->line : block, turns = h->j.unit / line;
	const uint64_t apart = lines->way > stride ? lines->way / stride : 1;
	for (unsigned i = 0; i < count * rows; i++) {
		address[i] = i / rows * stride + (i / rows / apart * rows + i % rows) % turns * line;
		twin[i] = i / (apart * turns) * lines->way + i % (apart * turns) * line;
	}
}

/* What a miss costs, by rows of four to six times as many pages as there are entries: nearly all miss, whatever
 * the policy. Not where they contradict each other by more than penalties are known to: then the next level has
 * overflown. */
static int ask_penalty(struct xr_hunt *h, double *penalty)
{
	enum { ROWS = 3, FROM = 4, LOOKS = 3, SAMPLES = 6 };
	const struct xr_stack_hypothesis *best = &h->s.h[h->best];
	const unsigned entries = (unsigned)(best->model.first.sets * best->model.first.ways);
	size_t which[ROWS], n = 0;
	double miss[ROWS];
	for (unsigned i = 0; i < ROWS && (FROM + i) * entries * h->stride + h->spare <= h->j.bytes; i++) {
		const unsigned count = (FROM + i) * entries, rows = h->crowded ? CROWD / count + 1 : 1,
			       all = count * rows;
		uint64_t *address = xr_arena_array(xr_run_arena(h->j.run), uint64_t, 2 * all);
		place_pages(h, h->stride, count, rows, h->j.block[h->crowded], address, address + all);
		which[n++] = xr_jumps_add(&h->j, 0, h->crowded ? XR_BLOCK_MANY : 0, count, address, address + all, all);
	}
	*penalty = xr_hunt_penalty(h);
	for (int i = 0; n == ROWS && which[n - 1] < h->j.n && i < LOOKS; i++)
		if (xr_jumps_look(&h->j, which, n, SAMPLES, i ? 0.3 : 0) != 0)
			return -1;
	for (size_t i = 0; i < n && n == ROWS; i++) {
		const struct xr_conflict_point *p = &h->j.point[which[i]];
		miss[i] = (xr_conflict_ratio(p) - 1) * xr_conflict_base(p) /
		          xr_conflict_share(&h->s.c, &best->model, p, 0);
	}
	if (n == ROWS && xr_max(miss, n) - xr_min(miss, n) < known_to * xr_median(miss, n))
		*penalty = xr_median(miss, n);
	return 0;
}

static const char *const finds[] = {"tlb.i1.entries", "tlb.i1.ways", "tlb.i1.penalty", NULL};
static const char *const needs[] = {"icache", NULL}; /* to keep its misses out of the picture */
static const char method[] = "unforeseen jumps, one page each", in_order[] = "jumps at equal distances, one page each";

static void put_none(struct xr_description *d, enum xr_status status, const char *reason)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(d, *id, status, "%s", reason);
}

static int put_found(struct xr_description *d, struct xr_hunt *h)
{
	const struct xr_conflict_array *a = xr_stack_array(&h->s.h[h->best]);
	/* of many that are evicted at random, one too many hardly misses: where a row overflows is not seen exactly */
	const double sure = a->ways > 16 && a->policy == XR_RANDOM ? odd_sure : most_sure;
	const double p = xr_ways_weigh(fmin(sure, h->p), a->ways),
		     p_entries = xr_ways_weigh(fmin(sure, h->p_capacity), a->ways);
	double penalty;
	if (ask_penalty(h, &penalty) != 0)
		return -1;
	struct xr_fact *fact =
		xr_fact_count(d, "tlb.i1.entries", (long long)(a->sets * a->ways), "", p_entries, method);
	struct xr_fact *ways = xr_fact_count(d, "tlb.i1.ways", a->ways, "", p, method);
	xr_hunt_series(h, h->crowded, "tlb.i1", "pages");
	xr_fact_add_series(fact, "tlb.i1");
	xr_fact_add_series(ways, "tlb.i1");
	xr_fact_number(d, "tlb.i1.penalty", xr_snap_integer(penalty, fmin(0.5, known_to * penalty)), "cycles",
	               fmin(h->p, 0.85), method);
	return 0;
}

/* Where times repeat exactly: a plain index needs no hypotheses. *found: it is one. */
static int find_regular(struct xr_hunt *h, bool *found)
{
	enum { SETS_MOST = 64 };
	struct xr_description *d = xr_run_description(h->j.run);
	struct xr_regular r = {.fits = xr_hunt_fits,
	                       .self = h,
	                       .unit = h->stride,
	                       .largest = SETS_MOST * h->stride,
	                       .room = h->j.bytes - h->spare,
	                       .most = MOST / 2};
	double penalty = 0, sure;
	bool by_chance = false;
	*found = false;
	if (xr_regular_find(&r) != 0 || (r.ways && xr_hunt_cost(h, r.way, r.ways, &penalty, &by_chance) != 0))
		return -1;
	*found = r.ways > 0 && penalty > 0 && !h->j.trouble;
	if (!*found)
		return 0;
	sure = by_chance ? with_own : r.ways > 16 && r.ways % 2 ? odd_sure : most_sure;
	xr_fact_count(d, "tlb.i1.entries", (long long)(r.ways * (r.way / h->stride)), "", sure, in_order);
	xr_fact_count(d, "tlb.i1.ways", r.ways, "", sure, in_order);
	xr_fact_number(d, "tlb.i1.penalty", penalty, "cycles", most_sure, in_order);
	return 0;
}

static int run(struct xr_run *run)
{
	bool found = false;
	struct xr_description *d = xr_run_description(run);
	const uint64_t page = xr_run_info(run)->page_bytes;
	const double ways = xr_run_number(run, "cache.l1i.ways", 1);
	const struct lines lines = {
		.line = (uint64_t)fmax(1, xr_run_number(run, "cache.l1i.line", LINE)),
		.way = (uint64_t)fmax((double)page, xr_run_number(run, "cache.l1i.capacity", 0) / fmax(1, ways)),
	};
	struct xr_hunt *h = xr_arena_alloc(xr_run_arena(run), sizeof *h);
	*h = (struct xr_hunt){
		.stride = page,
		.first = FIRST,
		.enough = ENOUGH,
		.most = MOST,
		.rows = 1,
		.may_decode = true,
		.crowd = CROWD,
		.spare = page,
		.place = place_pages,
		.self = &lines,
	};
	if (xr_jumps_init(&h->j, run, REGION, xr_walks_region(run, spare * MOST * page), page, page) != 0 ||
	    (xr_run_info(run)->exact && find_regular(h, &found) != 0))
		return -1;
	if (found)
		return 0;
	if (xr_hunt_run(h) != 0)
		return -1;
	if (h->j.trouble)
		put_none(d, h->j.unsupported ? XR_UNSUPPORTED : XR_FAILED, h->j.trouble);
	else if (h->no_step)
		put_none(d, XR_UNSUPPORTED,
		         xr_arena_printf(xr_run_arena(run), "no instruction TLB to be seen in %u pages", h->tried));
	else if (h->best >= h->s.n)
		put_none(d, XR_UNRELIABLE, "no TLB explains these curves");
	else {
		if (xr_run_info(run)
		            ->exact) /* a plain index would have been found: by chance it is, or something else */
			h->p = h->p_capacity = fmin(with_own, fmin(h->p, h->p_capacity));
		return put_found(d, h);
	}
	return 0;
}

static const char *supported(const struct xr_run *run)
{
	return xr_run_info(run)->page_bytes ? xr_walks_supported(run) : "this target has no pages";
}

const struct xr_micro xr_micro_itlb = {
	.id = "itlb",
	.title = "first instruction TLB: entries, ways, cost of a miss",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.5,
	.kinds = 1u << XR_WALK,
	.supported = supported,
	.run = run,
};
