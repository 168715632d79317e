/* SPDX-License-Identifier: MIT */
/* Parameter: counters.*: what hardware counters say of the first caches and the first TLB: counters.l1d.line,
 * capacity, ways; counters.tlb.d1.entries, ways; counters.l1i.capacity; and counters.usable: which of them tell
 * the truth.
 *
 * Idea (paper 004, AMP): a miss that is counted needs no clock, no quiet and no border between quick and slow. It
 * is a second oracle behind the same call: the readings carry counts beside their times.
 *
 * Algorithm:
 *   Self-test    a counter that lies is worse than none. Loads whose misses are known: lines of one page over and over (no
 *                misses), and pairs of lines in far more pages than any first cache or TLB has (every access misses the
 *                cache, every second one the TLB). Off by more than a tenth, or votes that differ: not used.
 *   Line         (§3.1) the second place of each pair, 8, 16, 32 … bytes behind the first, misses from one line on.
 *   Capacity     (§3.2) twice as many lines each time, until a lap misses; then the middle, and so on.
 *   Ways         (§3.3) lines one capacity apart all want the same set: the most of which a lap misses none.
 *   TLB, code    the same with pages, and with blocks of code that are jumped to.
 *   Answers are votes of up to eight readings, or the least of eight orders (§2.2).
 *
 * Then what times have said of the same is compared: where both agree, that fact is surer; where not, it says so.
 * With --oracle counters what is counted takes its place.
 *
 * When it fails: no counters (unsupported, and the clock decides everything). A first level that fetches ahead
 * misses less.
 */
#include "method/walks.h"
#include "micro/micro.h"
#include "probe/places.h"
#include "stat/stat.h"

#include <math.h>

enum {
	BUFFER = 70,
	REGION = 12,
	VOTES = 8,
	ENOUGH = 3,     /* votes that agree */
	PAIRS = 4096,   /* more pages than a first TLB has, and, with two lines each, more lines than a first cache */
	ALIGNED = 1024, /* no line is longer */
	LINE_MOST = 512,
	LINES_MOST = 1 << 15,
	PAGES_MOST = 4096,
	WAYS_MOST = 256,
	BLOCK_BYTES = 64, /* code: a line, or a part of it */
	CODE_MOST = 1 << 20,
};
static const double off = 0.1;  /* what a counter may be wrong by (paper 004 §2.2) */
static const double some = 0.5; /* misses a lap: none, or at least one */
static const double confident = 0.97;
static const double most_apart = 128 << 20; /* bytes of pages, few of which are used */
static const char method[] = "counted misses";
static const char unusable[] = "its counter does not pass the test with known loads";

enum event { CACHE, TLB };

static double count_of(const struct xr_reading *reading, enum event event)
{
	const struct xr_events *e = &reading->events;
	const bool counted = reading->status == XR_READ_OK && e->counted && !(event == CACHE ? e->no_cache : e->no_tlb);
	return !counted ? NAN : event == CACHE ? e->cache_miss[0] : e->tlb_miss[0];
}

struct vote {
	double cache, tlb; /* misses an access; NAN: not counted */
	bool cache_agrees, tlb_agrees;
};

static bool alike(const double *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(x[i] >= 0))
			return false;
	const double middle = xr_median(x, n), room = off * fmax(middle, 0.01);
	return xr_max(x, n) - middle <= room && middle - xr_min(x, n) <= room;
}

/* Asks until enough votes agree, or there are all of them. 0, or -1 as xr_run_time(). */
static int vote(struct xr_run *run, const struct xr_spec *spec, struct vote *v)
{
	const struct xr_effort effort = {.samples = 3, .samples_max = 3, .hasty = true, .count = true};
	double cache[VOTES], tlb[VOTES];
	size_t n = 0;
	*v = (struct vote){.cache = NAN, .tlb = NAN};
	while (n < ENOUGH || (n < VOTES && !(v->cache_agrees && v->tlb_agrees))) {
		struct xr_reading reading;
		if (xr_run_time_with(run, &effort, spec, 1, &reading) != 0)
			return -1;
		cache[n] = count_of(&reading, CACHE);
		tlb[n] = count_of(&reading, TLB);
		n++;
		v->cache_agrees = alike(cache, n);
		v->tlb_agrees = alike(tlb, n);
	}
	v->cache = xr_median(cache, n);
	v->tlb = xr_median(tlb, n);
	return 0;
}

/* ---- known loads ------------------------------------------------------------------------------------------------ */

/* Pairs of places, `apart` bytes from each other, each in a page of its own, in random order. */
static struct xr_spec pairs(struct xr_run *run, uint64_t page, uint64_t apart)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(run), struct xr_span, PAIRS);
	struct xr_spec spec = {.kind = XR_CHAIN};
	for (uint32_t i = 0; i < PAIRS; i++)
		span[i] = (struct xr_span){
			i * page + ALIGNED * xr_rng_below(xr_run_rng(run), (page - LINE_MOST) / ALIGNED), apart, 2};
	for (size_t i = PAIRS; i > 1; i--) {
		const size_t j = (size_t)xr_rng_below(xr_run_rng(run), i);
		const struct xr_span swap = span[i - 1];
		span[i - 1] = span[j];
		span[j] = swap;
	}
	spec.chain.buffer = (struct xr_buffer){BUFFER, PAIRS * page, XR_SHUFFLED};
	spec.chain.n_phases = 1;
	spec.chain.phase[0] = (struct xr_phase){.span = span, .n_spans = PAIRS, .access = XR_READ, .timed = true};
	return spec;
}

struct usable {
	bool cache, tlb;
};

static int test(struct xr_run *run, uint64_t page, struct usable *usable)
{
	struct xr_span few = {0, LINE_MOST, 4};
	struct xr_spec still = xr_spec_cycle((struct xr_buffer){BUFFER, PAIRS * page, XR_SHUFFLED}, &few, 1, 0);
	struct xr_spec load = pairs(run, page, LINE_MOST);
	struct vote none, all;
	if (vote(run, &still, &none) != 0 || vote(run, &load, &all) != 0)
		return -1;
	usable->cache = none.cache_agrees && all.cache_agrees && none.cache <= off && fabs(all.cache - 1) <= off;
	usable->tlb = none.tlb_agrees && all.tlb_agrees && none.tlb <= off && fabs(all.tlb - 0.5) <= off / 2;
	return 0;
}

/* ---- searches --------------------------------------------------------------------------------------------------- */

/* How the n-th question is laid out, and whose misses count. */
struct search {
	struct xr_run *run;
	struct xr_spec (*spec)(const struct search *search, size_t n);
	enum event event;
	size_t most;
	struct xr_buffer buffer;
	uint64_t stride, line, page;
	struct xr_walk_bench *bench;
};

/* Does every order of these places miss? Whoever fetches ahead, or interrupts, only adds misses: the least of
 * eight counts. */
static int misses(const struct search *search, size_t n, bool *any)
{
	const struct xr_effort effort = {.samples = 3, .samples_max = 3, .hasty = true, .count = true};
	*any = true;
	for (int i = 0; i < VOTES && *any; i++) {
		struct xr_spec spec = search->spec(search, n);
		struct xr_reading reading;
		if (xr_run_time_with(search->run, &effort, &spec, 1, &reading) != 0)
			return -1;
		*any = !(count_of(&reading, search->event) * (double)n < some);
	}
	return 0;
}

/* The largest number of which a lap misses none: doubling, then the middle. 0: even one misses, or nothing ever
 * does. */
static int largest(const struct search *search, size_t *found)
{
	size_t fits = 0, over = 1;
	bool any = false;
	*found = 0;
	for (; !any && over <= search->most; over *= 2) {
		if (misses(search, over, &any) != 0)
			return -1;
		fits = any ? fits : over;
	}
	if (!any)
		return 0;
	for (over /= 2; over - fits > 1;) {
		const size_t middle = fits + (over - fits) / 2;
		if (misses(search, middle, &any) != 0)
			return -1;
		*(any ? &over : &fits) = middle;
	}
	*found = fits;
	return 0;
}

static struct xr_spec places_apart(const struct search *search, size_t n)
{
	struct xr_arena *arena = xr_run_arena(search->run);
	struct xr_places places = search->event == TLB
	                                  ? xr_places_rotated(arena, search->page, search->stride, search->line, n)
	                                  : xr_places_stride(arena, 0, search->stride, n);
	const uint64_t seed = n < 2 ? 1 : xr_places_seed(arena, &places, xr_run_rng(search->run));
	return xr_places_cycle(arena, &places, search->buffer, seed);
}

/* Of many lines some steps in a row are equally long in any order; but it need not be those of the worst. */
static struct xr_spec lines_of(const struct search *search, size_t n)
{
	struct xr_arena *arena = xr_run_arena(search->run);
	struct xr_places places = xr_places_stride(arena, 0, search->stride, n);
	struct xr_span *span = xr_arena_array(arena, struct xr_span, 1);
	*span = (struct xr_span){0, search->stride, (uint32_t)n};
	return xr_spec_cycle(search->buffer, span, 1, xr_places_seed(arena, &places, xr_run_rng(search->run)));
}

static struct xr_spec blocks_of(const struct search *search, size_t n)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(search->run), struct xr_span, 1);
	struct xr_spec spec = {.kind = XR_WALK};
	*span = (struct xr_span){0, search->stride, (uint32_t)n};
	spec.walk = (struct xr_walk_spec){.kind = XR_JUMPS,
	                                  .region = REGION,
	                                  .bytes = search->buffer.bytes,
	                                  .span = span,
	                                  .n_spans = 1,
	                                  .seed = xr_rng_next(xr_run_rng(search->run)) | 1};
	return spec;
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

/* What times say of the same is surer where counters agree, and says so where they do not. */
static void compare(struct xr_run *run, const char *id, double value, const char *unit)
{
	struct xr_fact *timed = xr_description_edit(xr_run_description(run), id);
	if (!timed || (timed->status != XR_OK && xr_run_oracle(run) != XR_ORACLE_COUNTERS))
		return;
	const double said = xr_fact_value(timed, 0);
	if (xr_run_oracle(run) == XR_ORACLE_COUNTERS) {
		xr_fact_count(xr_run_description(run), id, (long long)value, unit, confident, method);
		return;
	}
	if (fabs(said - value) <= 1e-3 * fabs(value))
		timed->confidence = 1 - (1 - timed->confidence) * (1 - confident);
	else
		xr_fact_doubt(timed, "counters say %g", value);
}

static void put(struct xr_run *run, const char *what, double value, const char *unit)
{
	struct xr_description *d = xr_run_description(run);
	const char *id = xr_arena_printf(xr_run_arena(run), "counters.%s", what);
	const bool cache = what[0] == 'l';
	if (!(value > 0)) {
		xr_fact_none(d, id, XR_UNRELIABLE, "no lap misses, or every one does");
		return;
	}
	xr_fact_count(d, id, (long long)value, unit, confident, method);
	compare(run, xr_arena_printf(xr_run_arena(run), cache ? "cache.%s" : "%s", what), value, unit);
}

static uint64_t power_from(double least)
{
	uint64_t p = 1;
	while ((double)p < least)
		p *= 2;
	return p;
}

/* ---- caches ----------------------------------------------------------------------------------------------------- */

static int find_line(struct xr_run *run, uint64_t page, uint64_t *line)
{
	*line = 0;
	for (uint64_t apart = 8; apart <= LINE_MOST && !*line; apart *= 2) {
		struct xr_spec spec = pairs(run, page, apart);
		struct vote v;
		if (vote(run, &spec, &v) != 0)
			return -1;
		if (v.cache > 0.75) /* the first of the two misses in any case */
			*line = apart;
	}
	return 0;
}

static int find_cache(struct xr_run *run, uint64_t page, uint64_t *line)
{
	size_t lines, ways = 0;
	if (find_line(run, page, line) != 0)
		return -1;
	put(run, "l1d.line", (double)*line, "bytes");
	if (!*line)
		return 0;
	struct search search = {.run = run,
	                        .spec = lines_of,
	                        .most = LINES_MOST,
	                        .buffer = {BUFFER + 1, 2 * LINES_MOST * *line, XR_HUGE},
	                        .stride = *line,
	                        .line = *line};
	if (largest(&search, &lines) != 0)
		return -1;
	const double capacity = (double)(lines * *line);
	search.spec = places_apart;
	search.stride = power_from(capacity);
	search.most = WAYS_MOST;
	search.buffer = (struct xr_buffer){BUFFER + 2, 2 * WAYS_MOST * search.stride, XR_HUGE};
	if (lines && search.buffer.bytes <= xr_run_room(run) && largest(&search, &ways) != 0)
		return -1;
	/* Sets are a power of two: others' lines, which take a place here and there, are not this cache's doing. */
	const double way = ways ? pow(2, round(log2(capacity / (double)ways))) : 0;
	const bool near = ways && fabs(way * (double)ways / capacity - 1) < 0.06;
	put(run, "l1d.capacity", near ? way * (double)ways : capacity, "bytes");
	put(run, "l1d.ways", (double)ways, "");
	return 0;
}

static int find_code(struct xr_run *run)
{
	const uint64_t bytes = xr_walks_region(run, CODE_MOST);
	struct search search = {.run = run,
	                        .spec = blocks_of,
	                        .most = (size_t)(bytes / BLOCK_BYTES / 2),
	                        .buffer = {0, bytes, XR_SMALL},
	                        .stride = BLOCK_BYTES};
	size_t blocks;
	if (!(xr_run_info(run)->kinds & 1u << XR_WALK)) {
		xr_fact_none(xr_run_description(run), "counters.l1i.capacity", XR_UNSUPPORTED,
		             "code cannot be laid out here");
		return 0;
	}
	if (largest(&search, &blocks) != 0)
		return -1;
	put(run, "l1i.capacity", (double)(blocks * BLOCK_BYTES), "bytes");
	return 0;
}

/* ---- the TLB ---------------------------------------------------------------------------------------------------- */

static int find_tlb(struct xr_run *run, uint64_t page, uint64_t line)
{
	struct search search = {.run = run,
	                        .spec = places_apart,
	                        .event = TLB,
	                        .most = PAGES_MOST,
	                        .buffer = {BUFFER + 3, 2 * PAGES_MOST * page, XR_SHUFFLED},
	                        .stride = page,
	                        .page = page,
	                        .line = line ? line : 64};
	size_t entries, ways = 0;
	if (largest(&search, &entries) != 0)
		return -1;
	put(run, "tlb.d1.entries", (double)entries, "");
	/* So far apart that all want one set; or as far as there is room: where as many fit as side by side,
	 * there is but one. */
	const uint64_t whole = power_from((double)entries);
	const double room = fmin(most_apart, (double)xr_run_room(run));
	uint64_t apart = whole;
	search.most = (size_t)(2 * whole);
	while (apart > 1 && (double)(search.most * apart * page) > room)
		apart /= 2;
	search.stride = apart * page;
	search.buffer = (struct xr_buffer){BUFFER + 4, search.most * search.stride, XR_SHUFFLED};
	if (entries && apart > 1 && largest(&search, &ways) != 0)
		return -1;
	if (apart == whole || ways == entries)
		put(run, "tlb.d1.ways", (double)ways, "");
	else
		xr_fact_none(xr_run_description(run), "counters.tlb.d1.ways", XR_UNRELIABLE,
		             "too little memory for pages so far apart");
	return 0;
}

static const char *const finds[] = {
	"counters.usable",       "counters.l1d.line",       "counters.l1d.capacity", "counters.l1d.ways",
	"counters.l1i.capacity", "counters.tlb.d1.entries", "counters.tlb.d1.ways",  NULL};
static const char *const needs[] = {"cache_l1d", "tlb", "icache", NULL};

static void refuse(struct xr_run *run, bool tlb, const char *why)
{
	for (const char *const *id = finds + 1; *id; id++)
		if (xr_id_matches(*id, "counters.tlb") == tlb)
			xr_fact_none(xr_run_description(run), *id, XR_UNSUPPORTED, "%s", why);
}

static int run(struct xr_run *run)
{
	const uint64_t page = xr_run_info(run)->page_bytes, item = page ? page : 4096;
	struct usable usable = {false, false};
	uint64_t line = 0;
	if (test(run, item, &usable) != 0)
		return -1;
	usable.tlb &= page != 0;
	json_t *list = json_array();
	if (usable.cache)
		json_array_append_new(list, json_string("cache misses"));
	if (usable.tlb)
		json_array_append_new(list, json_string("TLB misses"));
	xr_fact_put(xr_run_description(run), "counters.usable", list, "", confident, "known loads");
	if (!usable.cache)
		refuse(run, false, unusable);
	else if (find_cache(run, item, &line) != 0 || find_code(run) != 0)
		return -1;
	xr_run_progress(run, 0.7, "TLB");
	if (!usable.tlb)
		refuse(run, true, page ? unusable : "no pages");
	else if (find_tlb(run, page, line) != 0)
		return -1;
	return 0;
}

static const char *supported(const struct xr_run *run)
{
	return xr_run_oracle(run) == XR_ORACLE_TIME ? "only times are asked (--oracle time)"
	       : !xr_run_info(run)->counters        ? "no hardware counters here: everything is found by timing"
	                                            : NULL;
}

const struct xr_micro xr_micro_counters = {
	.id = "counters",
	.title = "what hardware counters say of the first caches and the first TLB, beside the times",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.5,
	.kinds = 1u << XR_CHAIN,
	.supported = supported,
	.run = run,
};
