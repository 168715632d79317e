/* Parameter: the TLBs of data: entries, ways, cost of a miss, level by level; the page size that they see.
 *
 * Idea (papers 000 §4.7, 001 §3.1; ALGORITHMS §21): a TLB is a cache whose line is a page. So the first level is found
 * as the first cache is (cache_l1d.c), with one line per page, each in another part of its page. The caches are kept
 * out of it by a twin: as many lines, packed.
 *
 * Algorithm: pages in small units, stride s in pages.
 *   n(s) = the smallest number of pages, s apart, that is not compact. Double s until n stays: then T = s, A = n - 1, and
 *   there are A T entries. n(1) = n(2): one set, all entries.
 *   Second level: the cost of translation over n steps up once more; where it does is about its size. Then again n(s),
 *   with pages between that push the others out of the first level and go to other sets of the second.
 *   Penalties: the cost of translation between the steps, and beyond the last.
 *   Page: two sets of A pages T apart are compact together from a distance of one page on, and not below.
 *
 * When it fails: a second level with hashed sets gives no rule for n(s); then its size is the middle of the step, said
 * with less confidence. Pages that are neighbours in memory too may share an entry: pages come in shuffled order.
 */
#include "method/compact.h"
#include "method/translate.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 30, /* id; packed lines in the next */
	PAGES_MAX = 16384,
	CURVE_MAX = 48,
	CURVE_PAGES = 8192,
	FIRST_ENTRIES_MAX = 4096,
	FEW = 24, /* pages: ways of a second level are about so many */
	DELTA_MIN = 512,
	DELTAS = 8,
};

struct tlb {
	struct xr_run *run;
	struct xr_compact compact;
	uint64_t page;
	uint64_t line;     /* two of them: who fetches pairs of lines does so for twins too */
	size_t pages;      /* of the buffer */
	size_t lines_kept; /* that the first cache has room for, of pages at any power-of-two distance */
	size_t ways[2], stride[2], entries[2]; /* stride: pages from one entry of a set to the next */
	bool sure[2];
	double penalty[2];
	double x[CURVE_MAX], y[CURVE_MAX]; /* cost of translation over pages */
	size_t n;
};

/* Pages `stride` apart, after them those that push them out of the first level. */
struct family {
	const struct tlb *tlb;
	size_t stride;
	size_t between, step; /* so many pages more, at odd multiples of step */
};

static void make_pages(void *self, size_t n, struct xr_places *set, struct xr_places *twin)
{
	const struct family *f = self;
	struct xr_arena *arena = xr_run_arena(f->tlb->run);
	uint64_t page = f->tlb->page, line = f->tlb->line, lines = page / line;
	size_t all = n + f->between;

	*set = xr_places_new(arena, all);
	for (size_t i = 0; i < all; i++) {
		uint64_t which = i < n ? i * f->stride : (2 * (i - n) + 1) * f->step;

		xr_places_add(set, which * page + (i + i / lines) % lines * line);
	}
	*twin = xr_places_stride(arena, 0, line, all);
}

static bool about_equal(size_t a, size_t b)
{
	size_t small = a < b ? a : b, large = a < b ? b : a;

	return large * 4 <= small * 5;
}

static int length_for(struct tlb *t, struct family *f, size_t limit, size_t *n)
{
	size_t fits = t->pages / f->stride;

	/* As many lines as the first cache holds of pages so far apart: more, and it is the cache that overflows. */
	if (f->between)
		fits = fits < t->lines_kept ? fits : t->lines_kept > f->between ? t->lines_kept - f->between : 0;
	if (limit > fits)
		limit = fits;
	*n = limit + 1;
	return limit < 2 ? 0 : xr_first_not_compact(&t->compact, make_pages, f, 2, limit, NULL, n);
}

/* Follows n(s) from this stride to where it stays; *n gets 0 when it does not within the buffer. */
static int follow(struct tlb *t, struct family *f, size_t limit, size_t *n)
{
	size_t next;

	if (length_for(t, f, limit, n) != 0)
		return -1;
	if (*n > limit || *n > t->pages / f->stride) { /* there is none */
		*n = 0;
		return 0;
	}
	for (;; *n = next) {
		struct family wider = *f;

		wider.stride *= 2;
		if (length_for(t, &wider, *n * 2, &next) != 0)
			return -1;
		if (next > t->pages / wider.stride) {
			*n = 0;
			return 0;
		}
		if (about_equal(*n, next))
			break;
		f->stride = wider.stride;
	}
	*n = *n < next ? *n : next;
	return 0;
}

/* All in one set, at two strides, until the votes are clear: ways, or 0. */
static int confirm(struct tlb *t, struct family f, size_t *ways, bool *sure)
{
	*sure = false;
	t->compact.sure = 4.6;
	for (int attempt = 0; attempt < 8 && !*sure; attempt++) {
		struct xr_places set[4], twin[4];
		struct xr_compact_answer answer[4];
		bool fits, overflows;

		for (size_t i = 0; i < 4; i++) {
			struct family g = f;

			g.stride = i < 2 && (*ways + 1) * f.stride * 2 <= t->pages ? f.stride * 2 : f.stride;
			make_pages(&g, *ways + i % 2, &set[i], &twin[i]);
		}
		if (xr_are_compact(&t->compact, set, twin, 4, answer) != 0)
			return -1;
		fits = answer[0].verdict == XR_YES && answer[2].verdict == XR_YES;
		overflows = answer[1].verdict == XR_NO && answer[3].verdict == XR_NO;
		*sure = fits && overflows;
		if (!fits && overflows && *ways > 1)
			--*ways;
		else if (fits && !overflows && (*ways + 2) * f.stride <= t->pages)
			++*ways;
	}
	t->compact.sure = 0;
	return 0;
}

static int find_first(struct tlb *t)
{
	struct family f = {t, 1, 0, 0};
	size_t n;

	if (follow(t, &f, FIRST_ENTRIES_MAX, &n) != 0)
		return -1;
	if (n == 0)
		return 0;
	t->ways[0] = n - 1;
	t->stride[0] = f.stride;
	if (confirm(t, f, &t->ways[0], &t->sure[0]) != 0)
		return -1;
	t->entries[0] = t->ways[0] * t->stride[0];
	return 0;
}

/* ---- the curve ------------------------------------------------------------------------------------------------- */

static int find_curve(struct tlb *t)
{
	struct xr_translate translate = {.run = t->run,
	                                 .buffer = t->compact.buffer,
	                                 .page = t->page,
	                                 .line = t->line,
	                                 .orders = 3,
	                                 .effort = {.samples = 5, .samples_max = 5}};
	size_t pages[CURVE_MAX];

	t->n = 0;
	for (double n = 3; n <= (double)t->pages && n <= CURVE_PAGES && t->n < CURVE_MAX; n = fmax(n + 1, n * 1.19)) {
		pages[t->n] = (size_t)n;
		t->x[t->n++] = floor(n);
	}
	if (xr_translate_cost(&translate, pages, t->n, t->y, NULL) != 0)
		return -1;
	xr_series_put(xr_run_description(t->run), "tlb.data", "pages", "", t->x, "cost of translation per access",
	              "cycles", t->y, t->n);
	return 0;
}

/* Median of the curve between two numbers of pages; `otherwise` when no point is there. */
static double level_between(const struct tlb *t, double from, double to, double otherwise)
{
	double y[CURVE_MAX];
	size_t k = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->x[i] >= from && t->x[i] <= to)
			y[k++] = t->y[i];
	return k ? xr_median(y, k) : otherwise;
}

/* Where the curve passes this height for good; 0: nowhere. */
static double passes_at(const struct tlb *t, double from, double height)
{
	for (size_t i = 1; i + 1 < t->n; i++)
		if (t->x[i] > from && t->y[i] > height && t->y[i + 1] > height) {
			double share = t->y[i] > t->y[i - 1] ? (height - t->y[i - 1]) / (t->y[i] - t->y[i - 1]) : 1;

			return t->x[i - 1] * pow(t->x[i] / t->x[i - 1], fmin(1, fmax(0, share)));
		}
	return 0;
}

/* The next step of the curve behind point i: rises by more than noise and does not come back. *height: the middle of
 * what follows, up to 2.5 times as many pages; returns the first point above, 0: there is no such step. */
static size_t next_step(const struct tlb *t, const double *y, size_t i, double *height)
{
	double least = fmax(0.12 * t->compact.hit, 0.3 * fabs(y[i]));
	size_t up = i + 1, end;

	while (up < t->n && y[up] <= y[i] + least)
		up++;
	for (end = up; end < t->n && t->x[end] <= 2.5 * t->x[up]; end++)
		;
	if (end < up + 3)
		return 0;
	*height = xr_median(y + up + 1, end - up - 1);
	return up;
}

/* Height of the first step; 0: there is none. */
static double first_step(struct tlb *t)
{
	double y[CURVE_MAX], height;

	xr_monotone_l1(t->y, t->n, y);
	return next_step(t, y, 0, &height) ? height : 0;
}

/* The middle of the second step, 0: there is none; sets the penalties of both. The first is behind us well before half
 * as many pages again as it has entries. */
static double second_step(struct tlb *t, double *first)
{
	double y[CURVE_MAX], second, middle = 0;
	size_t one = 0;

	xr_monotone_l1(t->y, t->n, y);
	t->penalty[0] = *first;
	t->penalty[1] = 0;
	while (one + 1 < t->n && t->x[one] < 1.5 * (double)t->entries[0])
		one++;
	if (!next_step(t, y, one, &second))
		return 0;
	for (int i = 0; i < 3; i++) {
		middle = passes_at(t, t->x[one], (*first + second) / 2);
		if (middle == 0)
			return 0;
		*first = level_between(t, t->x[one], middle * 0.65, *first);
		second = level_between(t, middle * 1.35, middle * 2.5, second);
		if (second < *first * 1.2 + 0.12 * t->compact.hit)
			return 0;
	}
	t->penalty[0] = *first;
	t->penalty[1] = second;
	return middle;
}

/* ---- second level ---------------------------------------------------------------------------------------------- */

/* From the widest stride on, where a set takes few pages; then closer together for as long as n stays. */
static int follow_down(struct tlb *t, struct family *f, size_t *n)
{
	size_t next = 0;

	*n = 0;
	for (f->stride = t->stride[0] * 2; f->stride <= t->pages / FEW / 2; f->stride *= 2)
		;
	for (; f->stride >= 2 * t->stride[0]; f->stride /= 2) {
		if (length_for(t, f, t->pages / f->stride, n) != 0)
			return -1;
		if (*n <= t->pages / f->stride && *n + f->between <= t->lines_kept)
			break;
		*n = 0;
	}
	for (; *n > 0 && f->stride >= 4 * t->stride[0]; f->stride /= 2) {
		struct family closer = *f;

		closer.stride /= 2;
		if (length_for(t, &closer, *n * 3, &next) != 0)
			return -1;
		if (!about_equal(*n, next))
			break;
	}
	/* Half the stride, twice as many: anything else is not sets of a TLB overflowing. */
	if (*n > 0 && f->stride >= 4 * t->stride[0] && !about_equal(2 * *n - 1, next))
		*n = 0;
	return 0;
}

/* about: what the curve says, 0: nothing. */
static int find_second(struct tlb *t, double about)
{
	struct family f = {t, 0, t->ways[0] + 2, t->stride[0]};
	double rise = t->penalty[1] > t->penalty[0] ? t->penalty[1] - t->penalty[0] : 0.25 * t->penalty[0] + 2;
	size_t n;

	t->entries[1] = (size_t)lround(about);
	t->ways[1] = 0;
	/* What a miss of the first level costs is part of every access here: sets differ by more than that. */
	t->compact.limit = t->penalty[0] + 0.05 * t->compact.hit;
	t->compact.more = (about > 0 ? 0.3 : 0.5) * rise;
	t->compact.idle = f.between;
	if (follow_down(t, &f, &n) != 0)
		return -1;
	if (n < 2)
		return 0;
	t->ways[1] = n - 1;
	t->stride[1] = f.stride;
	if (confirm(t, f, &t->ways[1], &t->sure[1]) != 0)
		return -1;
	if (!t->sure[1] || (about > 0 && fabs(log((double)(t->ways[1] * t->stride[1]) / about)) > 1))
		t->ways[1] = 0;
	else
		t->entries[1] = t->ways[1] * t->stride[1];
	return 0;
}

/* ---- penalties -------------------------------------------------------------------------------------------------- */

/* Cycles per lap that n pages of this family take more than packed lines, when twice as many as fit are visited:
 * nothing but misses, and few enough lines that no cache has a say. */
static int excess_of(struct tlb *t, struct family *f, size_t n, double *cycles)
{
	enum { ORDERS = 5 };
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_buffer beside = t->compact.buffer;
	struct xr_places set, twin;
	struct xr_spec spec[2 * ORDERS];
	struct xr_reading reading[2 * ORDERS];
	double difference[ORDERS];

	beside.id++;
	make_pages(f, n, &set, &twin);
	for (size_t o = 0; o < ORDERS; o++) {
		uint64_t seed = xr_rng_next(xr_run_rng(t->run)) >> 16 | 1;

		spec[2 * o] = xr_places_cycle(arena, &set, t->compact.buffer, seed);
		spec[2 * o + 1] = xr_places_cycle(arena, &twin, beside, seed);
	}
	if (xr_run_time(t->run, spec, 2 * ORDERS, reading) != 0)
		return -1;
	for (size_t o = 0; o < ORDERS; o++)
		difference[o] = (reading[2 * o].cycles - reading[2 * o + 1].cycles) * (double)set.n;
	*cycles = xr_median(difference, ORDERS);
	return 0;
}

static int find_penalties(struct tlb *t)
{
	struct family first = {t, t->stride[0], 0, 0};
	struct family second = {t, t->stride[1], t->ways[0] + 2, t->stride[0]};
	size_t n = 2 * t->ways[0];
	double cycles;

	if (n * first.stride <= t->pages) {
		if (excess_of(t, &first, n, &cycles) != 0)
			return -1;
		t->penalty[0] = cycles / (double)n;
	}
	n = 2 * t->ways[1];
	if (n > 0 && n * second.stride <= t->pages) {
		if (excess_of(t, &second, n, &cycles) != 0)
			return -1;
		t->penalty[1] = (cycles - (double)second.between * t->penalty[0]) / (double)n;
	}
	return 0;
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

/* A pages T apart, and as many again at a distance that is small against a page or not. */
static int find_page(struct tlb *t, uint64_t *page)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_places set[DELTAS], twin[DELTAS];
	struct xr_compact_answer answer[DELTAS];
	size_t half = t->ways[0] - t->ways[0] / 4, n = 0, first = 0;
	uint64_t stride = t->stride[0] * t->page, delta = DELTA_MIN;

	*page = 0;
	for (; n < DELTAS && delta < stride && 2 * half * stride + stride <= t->pages * t->page; n++, delta *= 2) {
		uint64_t cell = delta < t->page ? delta : t->page, lines = cell / t->line ? cell / t->line : 1;

		set[n] = xr_places_new(arena, 2 * half);
		for (size_t i = 0; i < 2 * half; i++)
			xr_places_add(&set[n], i * stride + (i < half ? 0 : delta) + i % lines * t->line);
		twin[n] = xr_places_stride(arena, 0, t->line, 2 * half);
	}
	if (n == 0) {
		*page = stride; /* one set: the stride of its entries is the page */
		return 0;
	}
	if (xr_are_compact(&t->compact, set, twin, n, answer) != 0)
		return -1;
	while (first < n && answer[first].verdict == XR_NO)
		first++;
	for (size_t i = first; i < n; i++)
		if (answer[i].verdict != XR_YES)
			return 0;
	*page = (uint64_t)DELTA_MIN << first;
	return 0;
}

/* ---- facts ------------------------------------------------------------------------------------------------------ */

static void put_first(struct tlb *t)
{
	struct xr_description *d = xr_run_description(t->run);
	struct xr_fact *fact[3];

	fact[0] = xr_fact_count(d, "tlb.d1.entries", (long long)t->entries[0], "", 0.98, "compact sets of pages");
	fact[1] = xr_fact_count(d, "tlb.d1.ways", (long long)t->ways[0], "", 0.98, "compact sets of pages");
	fact[2] = xr_fact_number(d, "tlb.d1.penalty", xr_snap_integer(t->penalty[0], 0.1), "cycles", 0.95,
	                         "pages against packed lines");
	for (size_t i = 0; i < 3; i++) {
		xr_fact_add_series(fact[i], "tlb.data");
		if (!t->sure[0])
			xr_fact_doubt(fact[i], "votes contradict each other");
	}
}

static void put_second(struct tlb *t, bool there)
{
	struct xr_description *d = xr_run_description(t->run);
	static const char *const id[] = {"tlb.d2.entries", "tlb.d2.ways", "tlb.d2.penalty"};
	struct xr_fact *fact;

	if (!there) {
		for (size_t i = 0; i < 3; i++)
			xr_fact_none(d, id[i], XR_UNSUPPORTED, "no second step up to %zu pages", t->pages);
		return;
	}
	if (t->ways[1] && t->sure[1]) {
		fact = xr_fact_count(d, id[0], (long long)t->entries[1], "", 0.88, "compact sets of pages");
		xr_fact_add_series(fact, "tlb.data");
		fact = xr_fact_count(d, id[1], (long long)t->ways[1], "", 0.9, "compact sets of pages");
	} else {
		double raw = (double)t->entries[1], snapped = raw, best = 0.06;

		for (double a = 1; a <= 1.5; a += 0.25) {
			double near = xr_snap_pow2(raw, a, 0.06);

			if (near != raw && fabs(log(near / raw)) < best) {
				best = fabs(log(near / raw));
				snapped = near;
			}
		}
		fact = xr_fact_count(d, id[0], (long long)lround(snapped), "", 0.7, "middle of the step");
		xr_fact_note(fact, "measured %.0f: pages at regular distances follow no rule, so the sets are hashed",
		             raw);
		xr_fact_none(d, id[1], XR_UNRELIABLE, "pages at regular distances follow no rule");
	}
	xr_fact_add_series(fact, "tlb.data");
	fact = xr_fact_number(d, id[2], xr_snap_integer(t->penalty[1], 0.15), "cycles", t->ways[1] ? 0.88 : 0.7,
	                      "pages against packed lines");
	xr_fact_add_series(fact, "tlb.data");
}

static void put_none(struct tlb *t, const char *why)
{
	static const char *const id[] = {"tlb.d1.entries", "tlb.d1.ways",    "tlb.d1.penalty",  "tlb.d2.entries",
	                                 "tlb.d2.ways",    "tlb.d2.penalty", "memory.page_size"};

	for (size_t i = 0; i < sizeof id / sizeof *id; i++)
		xr_fact_none(xr_run_description(t->run), id[i], XR_UNSUPPORTED, why, t->pages);
}

static void put_page(struct tlb *t, uint64_t page)
{
	struct xr_description *d = xr_run_description(t->run);
	struct xr_fact *fact;

	if (!page) {
		xr_fact_none(d, "memory.page_size", XR_UNRELIABLE,
		             "votes for neighbouring distances contradict each other");
		return;
	}
	fact = xr_fact_count(d, "memory.page_size", (long long)page, "bytes", 0.97,
	                     "two compact sets of pages side by side");
	if (!t->sure[0])
		xr_fact_doubt(fact, "the TLB is in doubt");
}

static size_t lines_kept(const struct xr_run *run, uint64_t page, uint64_t line)
{
	double capacity = xr_run_number(run, "cache.l1d.capacity", 0), ways = xr_run_number(run, "cache.l1d.ways", 1);

	return capacity > 0 ? (size_t)(fmin(capacity / ways, (double)page) * ways / (double)line) : SIZE_MAX;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct tlb t = {
		.run = run, .page = info->page_bytes, .line = 2 * (uint64_t)xr_run_number(run, "cache.l1d.line", 64)};
	double first = 0, second;
	uint64_t page;

	if (t.page)
		t.pages = (size_t)(info->memory_bytes / 4 / t.page < PAGES_MAX ? info->memory_bytes / 4 / t.page
		                                                               : PAGES_MAX);
	if (t.pages < 16) {
		put_none(&t, "no pages, or too few of them in memory");
		return 0;
	}
	t.lines_kept = lines_kept(run, t.page, t.line);
	t.compact = (struct xr_compact){.run = run,
	                                .buffer = {BUFFER, t.pages * t.page, XR_SHUFFLED},
	                                .page = t.page,
	                                .hit = xr_run_number(run, "cache.l1d.latency", 0)};
	if (find_curve(&t) != 0)
		return -1;
	first = first_step(&t);
	if (first > 0) {
		t.compact.limit = 0.35 * first;
		if (find_first(&t) != 0)
			return -1;
	}
	if (t.entries[0] == 0) {
		put_none(&t, "no TLB seen: a line in each of %zu pages costs no more than as many lines side by side");
		return 0;
	}
	xr_run_progress(run, 0.4, "page size");
	if (find_page(&t, &page) != 0)
		return -1;
	put_page(&t, page);
	xr_run_progress(run, 0.7, "second level");
	second = second_step(&t, &first);
	if (find_second(&t, second) != 0 || find_penalties(&t) != 0)
		return -1;
	put_first(&t);
	put_second(&t, second > 0 || t.ways[1] > 0);
	return 0;
}

static const char *const finds[] = {"tlb.d1.entries", "tlb.d1.ways",    "tlb.d1.penalty",   "tlb.d2.entries",
                                    "tlb.d2.ways",    "tlb.d2.penalty", "memory.page_size", NULL};
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
