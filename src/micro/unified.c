/* SPDX-License-Identifier: MIT */
/* Parameter: cache.l1d.unified, cache.l1i.unified: does the first level hold code as well as data?
 *
 * Idea (paper 004 §3.6, from the code side): code that fills two thirds of a cache and data that fill most of it
 * each fit alone. Together they do not, if the cache is for both.
 *
 * Algorithm: as in method/against.h.
 *
 * When it fails: an instruction cache that is not known (unreliable). A share of misses between clearly none and
 * clearly some: unreliable. A second level that is inclusive and hardly larger than the first evicts code,
 * too, when data need its room; that looks like a first level for both, but for few lines.
 */
#include "method/against.h"

#include <math.h>

enum {
	REGION = 7,
	CLOSEST = 32, /* blocks: those with landing pads are that long */
	PAGE = 4096,  /* only for laying out */
};
static const double code_share = 0.65, data_share = 0.85;
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

static void put_fact(struct xr_run *run, const char *id, bool unified, double share, double confidence)
{
	struct xr_fact *fact = xr_fact_bool(xr_run_description(run), id, unified, confidence, method);
	if (xr_against_unclear(share))
		xr_fact_doubt(fact, "with data, %.0f %% of the code misses: neither none nor much", 100 * share);
}

/* What code sees first may be behind what data see first: where code has no first level of its own, and data have. */
static void put(struct xr_run *run, const struct known *known, double share, double confidence)
{
	const bool unified = xr_against_shared(share);
	const double data = xr_run_number(run, "cache.l1d.capacity", 0);
	put_fact(run, "cache.l1i.unified", unified, share, confidence);
	if (!unified || data > 0)
		put_fact(run, "cache.l1d.unified", unified && fabs(data / known->bytes - 1) < same_size, share,
		         confidence);
	else
		xr_fact_none(xr_run_description(run), "cache.l1d.unified", XR_UNRELIABLE,
		             "data evict code from a cache of %.0f KiB: is that the first data cache?",
		             known->bytes / 1024);
}

static void put_none(struct xr_run *run, enum xr_status status, const char *reason)
{
	for (const char *const *id = finds; *id; id++)
		xr_fact_none(xr_run_description(run), *id, status, "%s", reason);
}

static int ask(struct xr_walk_bench *bench, const struct known *known)
{
	struct xr_against against = {.code_bytes = code_share * known->bytes,
	                             .data_bytes = data_share * known->bytes,
	                             .miss = known->miss,
	                             .spacing = known->spacing};
	if (xr_against_ask(bench, &against) != 0)
		return -1;
	if (against.trouble)
		put_none(bench->run, against.unsupported ? XR_UNSUPPORTED : XR_FAILED, against.trouble);
	else
		put(bench->run, known, against.share, against.confidence);
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
