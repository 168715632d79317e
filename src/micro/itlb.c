/* Parameter: tlb.i1.entries, .ways, .penalty.
 *
 * Idea: a TLB is a cache whose lines are pages (paper 000 §4.7), so the questions of method/sets.h are put with one
 * block of code in each page. The twin has as many blocks in the same lines of the instruction cache, but packed: only
 * the pages differ.
 *
 * Algorithm: blocks in more and more pages, each a line further on in its page so that they spread over the instruction
 * cache, until jumps take longer than in the packed twin; then strides of pages for the sets, and the curve of one set
 * for the ways. Near the ways, how many visits miss depends on what is thrown out; of several times as many pages as there
 * are entries nearly all do, whatever is: they say what a miss costs.
 *
 * When it fails: no executable memory, no pages (unsupported); more entries than can be tried (unsupported, with the
 * number). A core's other hardware thread, when busy, takes half of the entries on some machines: the quickest samples
 * count. Pages that the processor joins in one entry make the entries look more.
 */
#include "method/overflow.h"
#include "method/twins.h"

#include "stat/stat.h"

#include <math.h>

enum { REGION = 3, LINE = 64 /* where it is not known */, FIRST_PAGES = 4, ROWS = 3, ROWS_FROM = 4, ROW_SAMPLES = 12 };
static const uint64_t most_pages = 2048, spare = 2;
static const double known_to = 0.03; /* the height of a curve; penalties are whole numbers of cycles */
static const double alike = 0.025, least = 0.6, most = 1.2; /* of each other; of what the curves said */
static const double as_well = 0.04;                         /* what the curves said is as good as what rows say */

/* What is known of the instruction cache. */
struct lines {
	uint64_t line, way;
};

/* One block in each page, in different lines; the twin's blocks lie in the same sets of the instruction cache, but
 * close together. */
static void place_pages(const struct xr_sets *probe, uint64_t stride, unsigned n, unsigned sets, uint64_t *address,
                        uint64_t *twin)
{
	const struct lines *lines = probe->self;
	const uint64_t block = (uint64_t)probe->bench->block, line = lines->line > block ? lines->line : block;
	const uint64_t turns = probe->page > line ? probe->page / line : 1;
	size_t at = 0;
	for (unsigned k = 0; k < sets; k++)
		for (unsigned i = 0; i < n; i++, at++) {
			address[at] = i * stride + k * probe->unit + at % turns * line;
			twin[at] = address[at] % lines->way + at / turns * lines->way;
		}
}

/* What a miss costs, by rows of four to six times as many pages as there are entries, unless they contradict each other or
 * what the curves said: then the next level has overflown. */
static int ask_rows(const struct xr_sets *probe, struct xr_sets_found *found)
{
	struct xr_overflow_memo *memo = xr_overflow_memo(xr_run_arena(probe->bench->run));
	const uint64_t entries = found->ways * found->way / probe->page;
	struct xr_twins rows;
	double miss[ROWS];

	if ((ROWS_FROM + ROWS - 1) * entries * probe->page > probe->most)
		return 0;
	xr_twins_init(probe, &rows);
	rows.samples = ROW_SAMPLES;
	for (unsigned i = 0; i < ROWS; i++)
		xr_twins_add(probe, &rows, probe->unit, (unsigned)((ROWS_FROM + i) * entries), 1);
	if (xr_twins_look(&rows, XR_PATIENTLY) != 0)
		return -1;
	if (rows.walks.trouble || !xr_walks_calm(&rows.walks))
		return 0;
	for (unsigned i = 0; i < ROWS; i++) {
		const unsigned n = (ROWS_FROM + i) * found->ways;

		miss[i] = rows.excess[i] * 2 /
		          (xr_overflow_share(memo, XR_OVERFLOW_LRU, found->ways, n) +
		           xr_overflow_share(memo, XR_OVERFLOW_RANDOM, found->ways, n));
	}
	const double penalty = xr_median(miss, ROWS);
	if (xr_max(miss, ROWS) - xr_min(miss, ROWS) < alike * penalty && penalty > least * found->penalty &&
	    penalty < most * found->penalty)
		found->penalty =
			fabs(penalty - found->penalty) < as_well * penalty ? (penalty + found->penalty) / 2 : penalty;
	return 0;
}

static const char *const finds[] = {"tlb.i1.entries", "tlb.i1.ways", "tlb.i1.penalty", NULL};
static const char *const needs[] = {"icache", NULL}; /* to keep its misses out of the picture */
static const char method[] = "unforeseen jumps, one page each";

static void put_none(struct xr_description *d, enum xr_status status, const char *reason)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(d, *id, status, "%s", reason);
}

static void put_found(struct xr_description *d, const struct xr_sets_found *found, uint64_t page)
{
	long long entries = (long long)(found->ways * (found->way / page));
	struct xr_fact *fact = xr_fact_count(d, "tlb.i1.entries", entries, "", found->confidence, method);
	xr_fact_add_series(fact, "tlb.i1");
	struct xr_fact *ways = xr_fact_count(d, "tlb.i1.ways", found->ways, "", found->confidence, method);
	xr_fact_add_series(ways, "tlb.i1.way");
	xr_fact_add_series(ways, "tlb.i1.two_ways");
	xr_fact_number(d, "tlb.i1.penalty", xr_snap_integer(found->penalty, fmin(0.5, known_to * found->penalty)),
	               "cycles", fmin(found->confidence, 0.85), method);
	if (found->confidence < 0.9) {
		static const char reason[] =
			"the curves are disturbed: the core's other thread, when busy, takes a part";
		xr_fact_doubt(fact, "%s, on some machines half", reason);
		xr_fact_doubt(ways, "%s", reason);
	}
}

static int run(struct xr_run *run)
{
	struct xr_description *d = xr_run_description(run);
	const struct xr_target_info *info = xr_run_info(run);
	const uint64_t page = info->page_bytes;
	struct xr_walk_bench bench;
	const struct lines lines = {
		.line = (uint64_t)xr_run_number(run, "cache.l1i.line", LINE),
		.way = (uint64_t)fmax((double)page, xr_run_number(run, "cache.l1i.capacity", 0) /
	                                                    xr_run_number(run, "cache.l1i.ways", 1)),
	};
	struct xr_sets probe = {
		.bench = &bench,
		.unit = page,
		.room = UINT64_MAX,
		.page = page,
		.first = FIRST_PAGES,
		.blocks = 128,
		.place = place_pages,
		.self = &lines,
		.series = "tlb.i1",
	};
	struct xr_sets_found found;
	uint64_t pages = most_pages;

	while (pages * spare * page > xr_run_room(run) && pages > 1)
		pages /= 2;
	probe.most = pages * page;
	if (xr_walk_bench_init(&bench, run, REGION, pages * spare * page) != 0 || xr_sets_find(&probe, &found) != 0)
		return -1;
	if (found.outcome == XR_SETS_FOUND && ask_rows(&probe, &found) != 0)
		return -1;
	if (xr_run_number(run, "cache.l1i.line", 0) <=
	    0) /* what disturbed the instruction cache may disturb this, too */
		found.confidence = fmin(found.confidence, 0.6);
	switch (found.outcome) {
	case XR_SETS_UNSUPPORTED:
	case XR_SETS_FAILED:
		put_none(d, found.outcome == XR_SETS_FAILED ? XR_FAILED : XR_UNSUPPORTED, found.reason);
		break;
	case XR_SETS_NO_STEP:
		put_none(d, XR_UNSUPPORTED,
		         xr_arena_printf(xr_run_arena(run), "no instruction TLB to be seen in %.0f pages",
		                         found.tried / (double)page));
		break;
	case XR_SETS_ROUGH:
		put_none(d, XR_UNRELIABLE, "the curves are none of a set that overflows");
		xr_fact_doubt(xr_fact_number(d, "tlb.i1.entries", round(found.rough / (double)page), "", 0.4, method),
		              "to about a fifth");
		break;
	case XR_SETS_FOUND:
		put_found(d, &found, page);
		break;
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
	.cost_s = 1,
	.kinds = 1u << XR_WALK,
	.supported = supported,
	.run = run,
};
