/* SPDX-License-Identifier: MIT */
/* Parameter: the TLBs of data: entries, ways, cost of a miss, what an entry covers, level by level; the page
 * size.
 *
 * Idea (papers 000 §4.7, 001 §3.1): a TLB is a cache whose line is a page. All questions are walks over one cell
 * of each of many pages beside a twin (probe/pages.h); all answers are weighed as beliefs (infer/reach.h,
 * infer/ways.h).
 *
 * Algorithm, level after level:
 *   Reach    Pages in a row, more and more of them: about how many fit, and what a miss costs. No end: no such level.
 *   Index    Of pages that agree in one parity of their number more, half as many fit if it is one of the index; else, as
 *            many. The lowest bits first, then others, folds, odd numbers of sets (index.c).
 *   Ways     How many pages of one set fit, exactly; several sets at once, so that nearer levels miss as well.
 *            Entries = ways x sets, and that must be what the reach said.
 *   Penalty  So many pages that all miss.
 *   Page     Cells a set's pages apart, one and a half times the ways; then closer: from half a page on they fit.
 *   Entry    Pages in a row that are neighbours in memory, too, more than there are entries: what fits shares entries.
 *
 * When it fails: an index that is none of these: pages anywhere overflow it sooner than pages in a row. Then the
 * ways are in doubt, and the entries as good as the reach. Caches smaller than the TLB reaches, with lines that
 * meet by chance: in doubt, where that costs as much as a miss does.
 */
#include "micro/tlb/tlb.h"

#include "method/datatlb.h"
#include "stat/stat.h"

#include <math.h>

enum { BUFFER = 30 /* id; packed cells in the next, pages in a row in the one after that */ };

double xr_tlb_within(double value, double sigma)
{
	return sigma > 0 ? erf(fmax(0.02 * value, 0.1) / sigma / M_SQRT2) : 1;
}

/* Where not even the latency of a hit is what it should be, the cycle is off, and so is everything in cycles. */
static double sure_of_cycles(const struct xr_description *d)
{
	const struct xr_fact *hit = xr_description_fact(d, "cache.l1d.latency");

	return hit && hit->confidence < 0.9 ? hit->confidence : 1;
}

/* Of what was told with 0.99 on 120 machines that nobody had looked at (the second generator), so many were
 * right: entries and ways 23 of 25, penalties of the first level as many, of the second, which differ from walk
 * to walk, five of six. */
static const double told_at_most = 0.95, penalty_at_most[] = {0.93, 0.84};

/* Entries of a level whose index is not known are as good as a step of a curve is, which pages in a row bear out. */
static const double as_a_step = 0.7;

/* Many ways, but no even number of them: nobody builds that. Where entries are evicted at random, the last
 * place is seldom the one that is missed. Of eight to sixteen hardly anybody does, and of five or seven few; but somebody
 * else, a hypervisor or the core's other thread, may hold one entry of each set all the time. Nor are there comparators
 * for hundreds of entries in each of several sets: what looks like that has more sets, whose entries others share. */
static double sure_of_built(const struct xr_run *run, const struct xr_tlb_level *l)
{
	enum { FEW = 5, SOME = 8, MANY = 16, MOST = 64 };
	const double stopped = 0.01; /* of the time: somebody else was on this core */
	const bool others = xr_run_number(run, "noise.lost", 0) > stopped;

	if (l->ways > MOST && l->entries > l->ways)
		return 0.5;
	if (l->ways % 2 == 0 || l->ways < FEW || xr_run_info(run)->exact)
		return 1;
	return l->ways > MANY || others ? 0.75 : l->ways < SOME ? 1 : 0.85;
}

static void put_level(struct xr_tlb *t, size_t at)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_description *d = xr_run_description(t->run);
	const struct xr_tlb_level *l = &t->level[at];
	const double holes = 0.85; /* walks that were not read may be just those that would have told otherwise */
	const double told = fmin(t->unread ? holes : told_at_most, sure_of_built(t->run, l)),
		     ways = fmin(told, l->doubt || l->unknown ? fmin(0.5, l->p) : l->p),
		     entries = !l->doubt && l->unknown ? fmin(as_a_step, l->p) : ways,
		     sure[3] = {entries, ways,
	                        fmin(penalty_at_most[at > 0],
	                             entries * xr_tlb_within(l->penalty, l->error) * sure_of_cycles(d))};
	struct xr_fact *fact[3];

	fact[0] = xr_fact_count(d, xr_arena_printf(arena, "tlb.d%zu.entries", at + 1), (long long)l->entries, "",
	                        sure[0], "pages of one set beside a twin");
	fact[1] = xr_fact_count(d, xr_arena_printf(arena, "tlb.d%zu.ways", at + 1), (long long)l->ways, "", sure[1],
	                        "pages of one set beside a twin");
	fact[2] = xr_fact_number(d, xr_arena_printf(arena, "tlb.d%zu.penalty", at + 1),
	                         xr_snap_integer(l->penalty, at ? 0.15 : 0.1), "cycles", sure[2],
	                         "pages of one set beside a twin, all of them missing");
	for (size_t k = 0; k < 3; k++) {
		xr_fact_add_series(fact[k], "tlb.data");
		if (sure[k < 2 ? k : 0] < 0.6)
			xr_fact_doubt(fact[k], "%s",
			              l->doubt     ? l->doubt
			              : l->unknown ? l->unknown
			              : l->p > 0.6 ? "nobody builds a TLB of so many ways: others may share its entries"
			                           : "the answers fit several numbers of ways");
	}
}

/* Pages in a row need not be in a row in memory, and are not in many a virtual machine: none together is never sure. */
static void put_entry(struct xr_tlb *t, size_t at, uint64_t page)
{
	struct xr_description *d = xr_run_description(t->run);
	const struct xr_tlb_level *l = &t->level[at];
	const double sure = fmin(0.99, l->p * l->p_together);
	struct xr_fact *fact = xr_fact_count(
		d, xr_arena_printf(xr_run_arena(t->run), "tlb.d%zu.page", at + 1), (long long)(l->together * page),
		"bytes", l->together > 1 ? sure : fmin(0.85, sure), "pages in a row against shuffled ones");

	if (l->together > 1)
		xr_fact_note(fact, "an entry covers up to %zu pages that are neighbours in memory, too", l->together);
	else
		xr_fact_note(fact, "no pages in a row share an entry, as far as they are neighbours in memory, too");
}

static void put_none(struct xr_tlb *t, size_t from, const char *why)
{
	static const char *const id[] = {"tlb.d2.entries", "tlb.d2.ways",    "tlb.d2.penalty",
	                                 "tlb.d2.page",    "tlb.d1.entries", "tlb.d1.ways",
	                                 "tlb.d1.penalty", "tlb.d1.page",    "memory.page_size"};

	for (size_t i = 0; i < from; i++)
		xr_fact_none(xr_run_description(t->run), id[i], XR_UNSUPPORTED, why, t->pages.pool);
}

/* Points that drown in what caches do are left out. */
static void put_curve(struct xr_tlb *t)
{
	double x[XR_TLB_CURVE], y[XR_TLB_CURVE];
	size_t k = 0;

	for (size_t i = 0; i < t->n_curve; i++) {
		if (t->n_levels && t->curve[i].error * t->curve[i].twin > t->level[0].miss / 2)
			continue;
		x[k] = t->curve[i].n;
		y[k] = t->curve[i].seen - t->curve[i].twin + xr_tlb_of_nearer(t, x[k] / XR_TLB_MERGE);
		k++;
	}
	xr_series_put(xr_run_description(t->run), "tlb.data", "pages", "", x, "cost of translation per access",
	              "cycles", y, k);
}

/* ---- the conversation -------------------------------------------------------------------------------------------- */

static int find_levels(struct xr_tlb *t)
{
	int found = 1;
	uint64_t page = t->pages.page;
	double sure;

	while (found && t->n_levels < XR_TLB_LEVELS && t->n_steps < XR_TLB_STEPS && (found > 0 || t->n_levels < 2)) {
		xr_run_progress(t->run, 0.25 * (double)t->n_levels, t->n_levels ? "next level" : "first level");
		if (xr_tlb_find_level(t, &found) != 0)
			return -1;
	}
	if (t->n_levels == 0) {
		put_none(t, 9,
		         "no TLB seen: a line in each of %zu pages costs no more than as many lines side by side");
		return 0;
	}
	if (xr_tlb_find_page(t, &page, &sure) != 0)
		return -1;
	struct xr_fact *fact = xr_fact_count(xr_run_description(t->run), "memory.page_size", (long long)page, "bytes",
	                                     fmin(0.99, sure), "cells closer and closer");
	if (sure < 0.8)
		xr_fact_doubt(fact, "neighbouring distances contradict each other");
	for (size_t i = 0; i < t->n_levels; i++) {
		if (xr_tlb_find_penalty(t, i) != 0 || xr_tlb_find_together(t, i) != 0)
			return -1;
		put_level(t, i);
		put_entry(t, i, page);
	}
	if (t->n_levels == 1)
		put_none(t, 4, "no second step up to %zu pages");
	return 0;
}

/* Where times repeat exactly, pages at equal distances say it all of a plain index, to the cycle. */
static int find_exactly(struct xr_tlb *t)
{
	static const char how[] = "pages at equal distances";
	const double sure = 0.98;
	struct xr_description *d = xr_run_description(t->run);
	const double ways = fmax(1, xr_run_number(t->run, "cache.l1d.ways", 1));
	struct xr_data_tlb first = {.run = t->run,
	                            .buffer = BUFFER + 4,
	                            .page = t->pages.page,
	                            .line = t->pages.cell / 2,
	                            .way = (uint64_t)(xr_run_number(t->run, "cache.l1d.capacity", 0) / ways)};

	if (xr_data_tlb_find(&first) != 0)
		return -1;
	for (int i = 0; i < 3 && first.ways > 0 && first.entries == 0; i++) {
		static const char *const id[] = {"tlb.d1.entries", "tlb.d1.ways", "tlb.d1.penalty"};
		struct xr_fact *fact = xr_description_edit(d, id[i]);

		if (fact && fact->status == XR_OK)
			xr_fact_doubt(fact,
			              "entries are evicted at random, and the program's own pages are among them");
	}
	if (first.entries == 0)
		return 0;
	/* many ways, but no even number: nobody builds that; where TLBs are for both, code has taken an entry */
	const double odd = first.ways > 16 && first.ways % 2 ? 0.75 : sure;
	xr_fact_count(d, "tlb.d1.entries", (long long)first.entries, "", odd, how);
	xr_fact_count(d, "tlb.d1.ways", (long long)first.ways, "", odd, how);
	xr_fact_number(d, "tlb.d1.penalty", first.penalty, "cycles", sure, how);
	if (first.covers > first.page)
		xr_fact_note(xr_fact_count(d, "tlb.d1.page", (long long)first.covers, "bytes", sure, how),
		             "of the TLB; the system hands memory out in pages of %llu bytes",
		             (unsigned long long)first.page);
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct xr_tlb *t = xr_arena_alloc(xr_run_arena(run), sizeof *t);
	const uint64_t page = info->page_bytes, cell = 2 * (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	size_t most = page ? (size_t)(info->memory_bytes / 5 / page) : 0, pool = 1;

	*t = (struct xr_tlb){
		.run = run, .hit = xr_run_number(run, "cache.l1d.latency", 0), .noise = xr_noise_unknown()};
	while (2 * pool <= most && 2 * pool <= XR_TLB_POOL)
		pool *= 2;
	t->pages = (struct xr_pages){.run = run,
	                             .buffer = {BUFFER, pool * page, XR_SHUFFLED},
	                             .page = page,
	                             .cell = cell,
	                             .pool = pool,
	                             .effort = {.samples = 5, .samples_max = 5}};
	if (pool < 16) {
		put_none(t, 9, "no pages, or too few of them in memory");
		return 0;
	}
	t->patience_ns = 5e8; /* half of what the whole may take */
	t->pages.patience_ns = &t->patience_ns;
	t->pages.moments = &t->moments;
	t->pages.unread = &t->unread;
	t->cells_l1 = (size_t)(xr_run_number(run, "cache.l1d.capacity", 0) / (double)cell);
	t->pages.way = t->cells_l1 / (size_t)fmax(1, xr_run_number(run, "cache.l1d.ways", 1));
	if (find_levels(t) != 0 || (info->exact && find_exactly(t) != 0))
		return -1;
	put_curve(t);
	return 0;
}

static const char *const finds[] = {"tlb.d1.entries",   "tlb.d1.ways", "tlb.d1.penalty", "tlb.d1.page",
                                    "tlb.d2.entries",   "tlb.d2.ways", "tlb.d2.penalty", "tlb.d2.page",
                                    "memory.page_size", NULL};
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
