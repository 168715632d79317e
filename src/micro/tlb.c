/* SPDX-License-Identifier: MIT */
/* Parameter: the TLBs of data: entries, ways, cost of a miss, level by level; the page size that they see.
 *
 * Idea (papers 000 §4.7, 001 §3.1): a TLB is a cache whose line is a page. So the first level is found as the first
 * cache is (cache_l1d.c), with one line per page, each in another part of its page. The caches are kept out of it by a
 * twin: as many lines, packed.
 *
 * Algorithm: stride s in pages; n(s) = the smallest number of pages, s apart, that is not compact.
 *   First level: the first step of the cost of translation over pages says what a miss is. Double s until n(s) stays:
 *   then T = s, A = n - 1, and there are A T entries. The penalty: what 2 A pages T apart cost.
 *   Page: two sets of A pages T apart are compact together from a distance of one page on, and not below.
 *   Second level: pages as far apart as they can be, with others between that push them out of the first level and go
 *   to other sets of the second. Where some number of them costs more than first-level misses do there is a second
 *   level; then n(s) again, halving s for as long as it stays. Few pages and so few lines are enough for all of that.
 *   Penalty as before.
 *
 *   No rule: many TLBs choose the set by the exclusive or of two fields of the page number ("Translation Leak-aside
 *   Buffer", Gras et al. 2018, §5). Pages i 2^b + (i xor c) are in one set if the fields have b bits; the b for which
 *   many of them cost more says how many sets, the least number that does how many ways.
 *
 *   Either way a witness: of neighbouring pages, three quarters of what was found must fit and a third more must not.
 *
 *   Neighbours: some TLBs keep pages that are neighbours in memory, too, in one entry. All of the above is asked with
 *   pages in shuffled order, which are none. Pages in a row that cost nothing although they are more than there are
 *   entries share them, and how many more says how many do.
 *
 * When it fails: sets that are hashed otherwise. Then the middle of the second step of the cost over pages is its size,
 * said with less confidence; a step is believed only where the packed lines cost the same before and after, else it is
 * the caches'.
 */
#include "method/datatlb.h"
#include "method/tlb.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>

enum { WANDER = 64 /* votes are taken this many pages further on at most, times the first cache's colours */ };

/* How likely a value is right to 2 % or a tenth of a cycle, with an error of this sigma. */
static double within_tolerance(double value, double sigma)
{
	return sigma > 0 ? erf(fmax(0.02 * value, 0.1) / sigma / M_SQRT2) : 1;
}

/* Where not even the latency of a hit is what it should be, the cycle is off, and so is everything in cycles. */
static double sure_of_cycles(const struct xr_description *d)
{
	const struct xr_fact *hit = xr_description_fact(d, "cache.l1d.latency");

	return hit && hit->confidence < 0.9 ? hit->confidence : 1;
}

/* name: "tlb.d1" …; snap: how far from an integer the penalty may be and still be one. */
static void put_level(struct xr_tlb *t, const char *name, const struct xr_tlb_level *level, double snap)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_description *d = xr_run_description(t->run);
	const struct xr_tlb_sets *sets = &level->sets;
	double sure = fmin(0.99, sets->sure), near = level->near > 0 && sure < 0.9 ? fmin(0.85, level->near) : sure;
	struct xr_fact *fact[3];

	fact[0] = xr_fact_count(d, xr_arena_printf(arena, "%s.entries", name), (long long)level->entries, "", near,
	                        "compact sets of pages");
	fact[1] = xr_fact_count(d, xr_arena_printf(arena, "%s.ways", name), (long long)sets->ways, "", sure,
	                        "compact sets of pages");
	fact[2] = xr_fact_number(d, xr_arena_printf(arena, "%s.penalty", name), xr_snap_integer(level->penalty, snap),
	                         "cycles", near * within_tolerance(level->penalty, level->error) * sure_of_cycles(d),
	                         "pages against packed lines");
	if (near > sure)
		xr_fact_note(fact[0],
		             "%zu sets; how many pages go into one is less clear, somebody else's are there too",
		             sets->stride);
	for (size_t k = 0; k < 3; k++) {
		xr_fact_add_series(fact[k], "tlb.data");
		if ((k == 1 ? sure : near) < 0.6)
			xr_fact_doubt(fact[k], "%zu ways, %zu pages apart, but the votes contradict each other",
			              sets->ways, sets->stride);
	}
}

/* A level that is known by the middle of its step alone. */
static struct xr_fact *put_step(struct xr_tlb *t, const char *entries, const char *penalty,
                                const struct xr_curve_step *step, const char *note)
{
	struct xr_description *d = xr_run_description(t->run);
	double snapped = step->middle, best = 0.06;
	struct xr_fact *fact;

	for (double a = 1; a <= 1.5; a += 0.25) {
		double near = xr_snap_pow2(step->middle, a, 0.06);

		if (near != step->middle && fabs(log(near / step->middle)) < best) {
			best = fabs(log(near / step->middle));
			snapped = near;
		}
	}
	fact = xr_fact_number(d, penalty, xr_snap_integer(step->height, 0.15), "cycles", 0.7,
	                      "pages against packed lines");
	xr_fact_add_series(fact, "tlb.data");
	fact = xr_fact_count(d, entries, (long long)lround(snapped), "", 0.7, "middle of the step");
	xr_fact_note(fact, "measured %.0f: %s", step->middle, note);
	xr_fact_add_series(fact, "tlb.data");
	return fact;
}

static void put_second(struct xr_tlb *t)
{
	const struct xr_curve_step step = {t->second.middle, t->second.penalty};
	struct xr_fact *fact;

	if (t->second.middle == 0) {
		put_level(t, "tlb.d2", &t->second, 0.15);
		return;
	}
	fact = put_step(t, "tlb.d2.entries", "tlb.d2.penalty", &step,
	                "pages at regular distances follow no rule, so the sets are hashed");
	if (t->second.other && fabs(log((double)t->second.other / t->second.middle)) > 0.1)
		xr_fact_doubt(fact, "neighbouring pages say %.0f, pages of one set %zu", t->second.middle,
		              t->second.other);
	xr_fact_none(xr_run_description(t->run), "tlb.d2.ways", XR_UNRELIABLE,
	             "pages at regular distances follow no rule");
}

/* Pages in a row need not be in a row in memory, and are not in many a virtual machine: none together is never sure. */
static void put_reach(struct xr_tlb *t, uint64_t page, size_t together, double share)
{
	struct xr_description *d = xr_run_description(t->run);
	double clear = fmin(1, fabs(share - xr_kept_apart) / xr_kept_apart) * fmin(0.99, t->first.sets.sure);
	struct xr_fact *fact =
		xr_fact_count(d, "tlb.d1.page", (long long)(together * page), "bytes",
	                      together > 1 ? clear : fmin(0.85, clear), "pages in a row against shuffled ones");

	if (together > 1)
		xr_fact_note(fact, "an entry covers up to %zu pages that are neighbours in memory, too", together);
	else
		xr_fact_note(fact, "no pages in a row share an entry, as far as they are neighbours in memory, too");
}

static void put_none(struct xr_tlb *t, size_t from, const char *why)
{
	static const char *const id[] = {"tlb.d2.entries", "tlb.d2.ways",    "tlb.d2.penalty", "tlb.d1.entries",
	                                 "tlb.d1.ways",    "tlb.d1.penalty", "tlb.d1.page",    "memory.page_size"};

	for (size_t i = 0; i < from; i++)
		xr_fact_none(xr_run_description(t->run), id[i], XR_UNSUPPORTED, why, t->pages.pages);
}

static void put_page(struct xr_tlb *t, uint64_t page, double sure)
{
	struct xr_description *d = xr_run_description(t->run);
	struct xr_fact *fact;

	fact = xr_fact_count(d, "memory.page_size", (long long)page, "bytes", fmin(0.99, sure),
	                     "two compact sets of pages side by side");
	if (sure < 0.8)
		xr_fact_doubt(fact, "votes for neighbouring distances contradict each other");
}

/* Pages whose lines go to different sets of the first cache. */
static size_t colours_of_first_cache(const struct xr_run *run, uint64_t page)
{
	double capacity = xr_run_number(run, "cache.l1d.capacity", 0), ways = xr_run_number(run, "cache.l1d.ways", 1);

	return (size_t)fmax(1, capacity / ways / (double)page);
}

static int find_levels(struct xr_tlb *t)
{
	struct xr_tlb_step step;
	uint64_t page;
	size_t together;
	double sure, share;

	if (xr_tlb_find_step(t, &step) != 0)
		return -1;
	xr_run_progress(t->run, 0.2, "first level");
	if (step.height > 0 && xr_tlb_find_first(t, &step) != 0)
		return -1;
	if (t->first.entries == 0) {
		put_none(t, 8,
		         "no TLB seen: a line in each of %zu pages costs no more than as many lines side by side");
		return 0;
	}
	xr_run_progress(t->run, 0.4, "page size");
	if (xr_tlb_find_page(t, &page, &sure) != 0)
		return -1;
	put_page(t, page, sure);
	put_level(t, "tlb.d1", &t->first, 0.1);
	if (xr_tlb_find_together(t, &together, &share) != 0)
		return -1;
	put_reach(t, page, together, share);
	xr_run_progress(t->run, 0.7, "second level");
	if (xr_tlb_find_second(t) != 0)
		return -1;
	if (t->second.entries == 0)
		put_none(t, 3, "no second step up to %zu pages");
	else
		put_second(t);
	if (xr_tlb_find_third(t) != 0)
		return -1;
	if (t->third.middle > 0)
		put_step(t, "tlb.d3.entries", "tlb.d3.penalty", &t->third,
		         "of the third level only where pages begin to miss it is known");
	return 0;
}

/* Where times repeat exactly, pages at equal distances say it all of a plain index, to the cycle. */
static int find_exactly(struct xr_tlb *t)
{
	static const char how[] = "pages at equal distances";
	const double sure = 0.98;
	struct xr_description *d = xr_run_description(t->run);
	struct xr_data_tlb first = {
		.run = t->run, .buffer = XR_TLB_BUFFER + 4, .page = t->pages.page, .line = t->pages.line};

	if (xr_data_tlb_find(&first) != 0)
		return -1;
	for (int i = 0; i < 3 && first.ways > 0 && first.entries == 0; i++) {
		static const char *const id[] = {"tlb.d1.entries", "tlb.d1.ways", "tlb.d1.penalty"};
		struct xr_fact *fact = xr_description_edit(d, id[i]);

		if (fact && fact->status == XR_OK)
			xr_fact_doubt(fact,
			              "entries are thrown out by chance, and the program's own pages are among them");
	}
	if (first.entries == 0)
		return 0;
	xr_fact_count(d, "tlb.d1.entries", (long long)first.entries, "", sure, how);
	xr_fact_count(d, "tlb.d1.ways", (long long)first.ways, "", sure, how);
	xr_fact_number(d, "tlb.d1.penalty", first.penalty, "cycles", sure, how);
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_tlb t = {.run = run, .hit = xr_run_number(run, "cache.l1d.latency", 0)};
	uint64_t page = info->page_bytes, line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	size_t most = page ? (size_t)(info->memory_bytes / 5 / page) : 0;

	t.pages = (struct xr_pagesets){
		.run = run, .page = page, .line = line, .pages = most < XR_TLB_PAGES_MAX ? most : XR_TLB_PAGES_MAX};
	if (t.pages.pages < 16) {
		put_none(&t, 8, "no pages, or too few of them in memory");
		return 0;
	}
	t.pages.colours = colours_of_first_cache(run, page);
	t.pages.compact = (struct xr_compact){
		.run = run,
		.buffer = {XR_TLB_BUFFER, (t.pages.pages + WANDER * t.pages.colours) * page, XR_SHUFFLED},
		.page = page,
		.hit = t.hit,
		.wander = WANDER * t.pages.colours * page,
		.wander_step = t.pages.colours * page};
	if (find_levels(&t) != 0 || (info->exact && find_exactly(&t) != 0))
		return -1;
	xr_series_put(xr_run_description(run), "tlb.data", "pages", "", t.curve.x, "cost of translation per access",
	              "cycles", t.curve.y, t.curve.n);
	return 0;
}

static const char *const finds[] = {"tlb.d1.entries", "tlb.d1.ways",      "tlb.d1.penalty",
                                    "tlb.d2.entries", "tlb.d2.ways",      "tlb.d2.penalty",
                                    "tlb.d1.page",    "memory.page_size", NULL};
static const char *const needs[] = {"cache_l1d", NULL};

const struct xr_micro xr_micro_tlb = {
	.id = "tlb",
	.title = "data TLBs: entries, ways, penalty; page size",
	.finds = finds,
	.needs = needs,
	.cost_s = 1,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
