/* Parameter: cache.l1d.unified, cache.l1i.unified: does the first level hold code as well as data?
 *
 * Idea (paper 004 §3.6, from the code side): code that fills two thirds of a cache and data that fill most of it each fit
 * alone. Together they do not, if the cache is for both.
 *
 * Algorithm: unforeseen jumps over that much code, with the data read between laps, against the same jumps without data;
 * and both again with the jumps in an eighth of the lines of the same pages. Reading the data takes the same time in both
 * cases, and TLBs are as full; what is left over in the first case is what code and data do to each other in the cache.
 * A line of code that was thrown out costs a miss (micro/icache.c), so what is left over is a share of misses.
 *
 * When it fails: an instruction cache that is not known (unreliable). A share of misses between
 * clearly none and clearly some: unreliable. A second level that is inclusive and hardly larger than the first throws out
 * code, too, when data need its room; that looks like a first level for both, but for few lines.
 */
#include "method/walks.h"

#include <math.h>

enum {
	REGION = 7,
	CLOSEST = 32, /* blocks: those with landing pads are that long */
	THIN = 8,
	LOOKS = 6,
	SAMPLES = 8,
	PAGE = 4096, /* only for laying out */
};
static const double code_share = 0.65, data_share = 0.85;
static const double nothing = 0.12, something = 0.3; /* share of code that misses */
static const double same_size = 0.1;
static const double patience = 0.4; /* of what others have: few walks, and a clear difference */

static const char *const finds[] = {"cache.l1d.unified", "cache.l1i.unified", NULL};
static const char *const needs[] = {"icache", "cache_l1d", NULL};
static const char method[] = "code and data against each other";

/* What is known of the first level as code sees it; were it for both, data would see the same. */
struct known {
	double bytes;
	double miss;      /* cycles, of a jump */
	uint64_t spacing; /* of blocks: a line */
};

/* A row of blocks, and as many visits in an eighth of the lines of the same pages, another eighth in each. */
static void place(uint64_t *row, uint64_t *thin, size_t n, uint64_t spacing)
{
	const size_t per_page = PAGE / spacing, kept = per_page / THIN ? per_page / THIN : 1;
	for (size_t i = 0; i < n; i++) {
		size_t page = i / per_page, turn = (page + page / THIN) % (per_page / kept);
		row[i] = i * spacing;
		thin[i] = page * PAGE + (turn * kept + i % kept) * spacing;
	}
}

/* The four walks: with data and without, over all lines and over few. */
struct quartet {
	struct xr_walks walks;
	size_t both, code, data, none;
};

static void add_quartet(struct quartet *q, struct xr_walk_bench *bench, double code_bytes, double data_bytes,
                        uint64_t spacing)
{
	const size_t n = (size_t)(code_bytes / (double)spacing);
	uint64_t *row = xr_arena_array(xr_run_arena(bench->run), uint64_t, 2 * n), *thin = row + n;
	place(row, thin, n, spacing);
	xr_walks_init(&q->walks, bench);
	q->both = xr_walks_add_with_data(&q->walks, row, n, (uint64_t)data_bytes);
	q->code = xr_walks_add(&q->walks, XR_JUMPS, row, n);
	q->data = xr_walks_add_with_data(&q->walks, thin, n, (uint64_t)data_bytes);
	q->none = xr_walks_add(&q->walks, XR_JUMPS, thin, n);
}

/* Cycles by which data make a visit longer, less what they do where code hardly needs room. */
static double left_over(const struct quartet *q)
{
	return xr_walks_low(&q->walks, q->both) - xr_walks_low(&q->walks, q->code) -
	       (xr_walks_low(&q->walks, q->data) - xr_walks_low(&q->walks, q->none));
}

static bool unclear(double share)
{
	return share >= nothing && share <= something;
}

/* How far the share is from what would be unclear, and for how many looks it was on that side. */
static double confidence_of(const double *share, int looks)
{
	const double middle = (nothing + something) / 2;
	int votes = 0;
	for (int i = 0; i < looks; i++)
		votes += !unclear(share[i]) && (share[i] > middle) == (share[looks - 1] > middle);
	return unclear(share[looks - 1]) ? 0.4 : votes == looks ? 0.95 : 0.5 + 0.4 * votes / looks;
}

static void put_fact(struct xr_run *run, const char *id, bool unified, double share, double confidence)
{
	struct xr_fact *fact = xr_fact_bool(xr_run_description(run), id, unified, confidence, method);
	if (unclear(share))
		xr_fact_doubt(fact, "with data, %.0f %% of the code misses: neither none nor much", 100 * share);
}

/* What code sees first may be behind what data see first: where code has no first level of its own, and data have. */
static void put(struct xr_run *run, const struct known *known, double share, double confidence)
{
	const bool unified = share > (nothing + something) / 2;
	const double data = xr_run_number(run, "cache.l1d.capacity", 0);
	put_fact(run, "cache.l1i.unified", unified, share, confidence);
	if (!unified || data > 0)
		put_fact(run, "cache.l1d.unified", unified && fabs(data / known->bytes - 1) < same_size, share,
		         confidence);
	else
		xr_fact_none(xr_run_description(run), "cache.l1d.unified", XR_UNRELIABLE,
		             "data throw code out of a cache of %.0f KiB, but is that the first one of data?",
		             known->bytes / 1024);
}

static void put_none(struct xr_run *run, enum xr_status status, const char *reason)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(xr_run_description(run), *id, status, "%s", reason);
}

static int ask(struct xr_walk_bench *bench, const struct known *known)
{
	struct quartet q;
	double share[LOOKS];
	int n = 0;
	add_quartet(&q, bench, code_share * known->bytes, data_share * known->bytes, known->spacing);
	do {
		if (xr_walks_look(&q.walks, SAMPLES, 1) != 0)
			return -1;
		if (q.walks.trouble) {
			put_none(bench->run, q.walks.unsupported ? XR_UNSUPPORTED : XR_FAILED, q.walks.trouble);
			return 0;
		}
		share[n++] = left_over(&q) / known->miss;
	} while (n < 2 || (n < LOOKS && confidence_of(share, n) < 0.9));
	put(bench->run, known, share[n - 1], confidence_of(share, n));
	return 0;
}

static int run(struct xr_run *run)
{
	struct xr_walk_bench bench;
	const struct known known = {
		.bytes = xr_run_number(run, "cache.l1i.capacity", 0),
		.miss = xr_run_number(run, "cache.l1i.miss_penalty", 0),
		.spacing = (uint64_t)fmax(CLOSEST, xr_run_number(run, "cache.l1i.line", 0)),
	};
	if (known.bytes <= 0 || known.miss <= 0 || known.spacing > PAGE) {
		put_none(run, XR_UNRELIABLE, "the instruction cache is not known well enough");
		return 0;
	}
	uint64_t wanted = PAGE;
	while ((double)wanted < code_share * known.bytes)
		wanted *= 2;
	if (xr_walk_bench_init(&bench, run, REGION, xr_walks_region(run, wanted)) != 0)
		return -1;
	bench.patience_ns *= patience;
	if (bench.bytes >= wanted)
		return ask(&bench, &known);
	put_none(run, XR_UNSUPPORTED, "too little memory to fill the instruction cache");
	return 0;
}

const struct xr_micro xr_micro_unified = {
	.id = "unified",
	.title = "does the first level hold code as well as data",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.2,
	.kinds = 1u << XR_WALK,
	.supported = xr_walks_supported,
	.run = run,
};
