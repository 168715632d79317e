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
#include "method/behind.h"
#include "method/soft.h"
#include "method/translate.h"
#include "micro/micro.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 30, /* id; packed lines in the next */
	PAGES_MAX = 16384,
	CURVE_SHORT = 64,   /* pages: many first levels are smaller */
	CURVE_FIRST = 1024, /* all but few are */
	CURVE_PAGES = 8192,
	MANY_ORDERS_UP_TO = 512, /* pages */
	FIRST_ENTRIES_MAX = 4096,
	FEW = 5,
	WANDER = 64, /* votes are taken this many pages further on at most, times the first cache's colours */
	DELTA_MIN = 512,
	DELTAS = 8,
	TRIES = 3,
	TOGETHER_MAX = 16, /* pages of an entry */
	LINE_MOST = 128,
};

/* Of what missing the second level costs more than missing the first: a set of pages in which less is seen fits. One page
 * too many need not push out all others, and somebody else may have an entry of the set. */
static const double of_rise = 0.375;
static const double through_soft = 0.6; /* certainty of what is seen through a level that replaces by chance */
static const double kept_apart = 0.5;   /* of a miss: pages that cost less share entries */

struct tlb {
	struct xr_run *run;
	struct xr_pagesets sets;
	double hit; /* cycles of the first cache */
	struct xr_curve curve;
	struct xr_tlb_sets level[2];
	double penalty[2], error[2]; /* cycles; error: one sigma */
	size_t entries[2];           /* 0: no such level */
	double near;                /* >0: the share of orders that find the second level's ways, or one more or less */
	double middle;              /* of the second step, where no rule was found; 0: there is none */
	size_t other;               /* entries that a rule said that was not believed; 0: none did */
	struct xr_curve_step third; /* middle 0: there is none */
};

/* ---- the curve ------------------------------------------------------------------------------------------------- */

/* Where there are so many pages that no line stays in the first cache, a line of the next one may be larger: packed lines
 * have to be as far apart as no line is large, or the next cache holds more of them than of single ones. */
static int time_curve(struct tlb *t, const size_t *pages, size_t n, int orders, struct xr_curve *curve)
{
	const uint64_t cell = n > 0 && pages[0] > MANY_ORDERS_UP_TO ? LINE_MOST : 0;
	struct xr_translate translate = {.run = t->run,
	                                 .buffer = t->sets.compact.buffer,
	                                 .page = t->sets.page,
	                                 .line = cell > 2 * t->sets.line ? cell : 2 * t->sets.line,
	                                 .orders = orders,
	                                 .effort = {.samples = 5, .samples_max = 5}};

	return xr_curve_add(&translate, pages, n, curve);
}

/* Goes on with the curve up to so many pages; few orders where pages are many. */
static int extend_curve(struct tlb *t, size_t most)
{
	size_t pages[XR_CURVE_MAX], n, few = 0;
	double from = t->curve.n ? floor(t->curve.x[t->curve.n - 1] * M_SQRT2) : 3;

	n = xr_curve_points(from, (double)(most < t->sets.pages ? most : t->sets.pages), M_SQRT2, pages);
	while (few < n && pages[few] <= MANY_ORDERS_UP_TO)
		few++;
	if ((few > 0 && time_curve(t, pages, few, 3, &t->curve) != 0) ||
	    (n > few && time_curve(t, pages + few, n - few, 1, &t->curve) != 0))
		return -1;
	return 0;
}

/* The next step of the curve behind point i: rises by more than noise and does not come back. *height: the middle of
 * what follows, up to 2.5 times as many pages; returns the first point above, 0: there is no such step. */
static size_t next_step(const struct tlb *t, const double *y, size_t i, double *height)
{
	const struct xr_curve *c = &t->curve;
	double least = fmax(0.12 * t->hit, 0.3 * fabs(y[i]));
	size_t up = i + 1, end;

	while (up < c->n && y[up] <= y[i] + least)
		up++;
	for (end = up; end < c->n && c->x[end] <= 2.5 * c->x[up]; end++)
		;
	if (end < up + 2)
		return 0;
	*height = xr_median(y + up + 1, end - up - 1);
	return up;
}

/* The first step: its height, and the numbers of pages just below and above it; 0: there is none. */
static double first_step(const struct tlb *t, size_t *below, size_t *above)
{
	double y[XR_CURVE_MAX], height;
	size_t up;

	xr_monotone_l1(t->curve.y, t->curve.n, y);
	up = next_step(t, y, 0, &height);
	if (up == 0)
		return 0;
	*below = (size_t)t->curve.x[up - 1];
	*above = (size_t)t->curve.x[up];
	return height;
}

/* The curve as far as it takes to see its first step, and what follows. */
static int look_for_step(struct tlb *t, double *height, size_t *below, size_t *above)
{
	*height = 0;
	*below = *above = 0;
	for (size_t most = CURVE_SHORT; most <= CURVE_PAGES; most *= most < CURVE_FIRST ? 4 : 8) {
		if (extend_curve(t, most) != 0)
			return -1;
		*height = first_step(t, below, above);
		if (*height > 0 && *above * 5 <= most * 2)
			break;
	}
	return 0;
}

/* ---- first level ----------------------------------------------------------------------------------------------- */

/* Around the step. */
static int try_first(struct tlb *t, size_t below, size_t above)
{
	struct xr_page_family f = {.in = &t->sets, .stride = 1};
	struct xr_tlb_sets *level = &t->level[0];
	const size_t guess[] = {below + 1, above, 0};
	size_t n;

	if (xr_pages_length(&f, FIRST_ENTRIES_MAX, guess, &n) != 0)
		return -1;
	if (n == SIZE_MAX)
		return 0;
	if (xr_pages_follow_up(&f, n, &n) != 0)
		return -1;
	if (n < 2)
		return 0;
	*level = (struct xr_tlb_sets){.ways = n - 1, .stride = f.stride};
	if (xr_pages_try_odd(&f, level) != 0 || xr_pages_confirm(&f, 1, level) != 0)
		return -1;
	f.stride = level->stride;
	n = 2 * level->ways;
	if ((n * f.stride <= t->sets.pages && xr_pages_penalty(&f, n, 0, &t->penalty[0], &t->error[0]) != 0) ||
	    xr_pages_soften(&f, 0, level, &t->penalty[0], &t->error[0]) != 0)
		return -1;
	t->entries[0] = level->ways * level->stride;
	return 0;
}

/* Once more when the votes contradict each other: somebody may have been there. */
static int find_first(struct tlb *t, size_t below, size_t above)
{
	for (int i = 0; i < TRIES && (i == 0 || (t->entries[0] > 0 && t->level[0].sure < 0.8)); i++)
		if (try_first(t, below, above) != 0)
			return -1;
	return 0;
}

/* ---- second level ---------------------------------------------------------------------------------------------- */

static struct xr_behind behind_first(struct tlb *t)
{
	return (struct xr_behind){&t->sets, &t->level[0], t->penalty[0], t->hit};
}

static int find_strided(struct tlb *t)
{
	const struct xr_behind b = behind_first(t);
	struct xr_tlb_sets *level = &t->level[1];
	struct xr_page_family f;
	struct xr_rise rise;
	size_t n;
	bool rule;

	if (xr_pages_behind(&b, &f, &rise) != 0)
		return -1;
	if (rise.at == 0)
		return 0;
	/* What a miss of the first level costs is part of every access here: sets differ by more than that. */
	t->sets.compact.limit = t->penalty[0] + 0.02 * t->hit;
	t->sets.compact.more = of_rise * rise.by;
	if (rise.at > XR_BEHIND_MANY) /* they are in many sets, of which one overflows first */
		t->sets.compact.more *= FEW / (double)rise.at;
	if (xr_pages_length(&f, 2 * rise.at, NULL, &n) != 0)
		return -1;
	if (n == SIZE_MAX)
		return 0;
	if (xr_pages_follow_down(&f, 1, n, &rule) != 0)
		return -1;
	*level = (struct xr_tlb_sets){.ways = n - 1, .stride = f.stride};
	if (!rule)
		return 0;
	if (xr_pages_try_odd(&f, level) != 0 || xr_pages_confirm(&f, 1, level) != 0)
		return -1;
	f.stride = level->stride;
	n = 2 * level->ways;
	if ((n * f.stride <= t->sets.pages &&
	     xr_pages_penalty(&f, n, t->penalty[0], &t->penalty[1], &t->error[1]) != 0) ||
	    xr_pages_soften(&f, t->penalty[0], level, &t->penalty[1], &t->error[1]) != 0)
		return -1;
	t->entries[1] = level->ways * level->stride;
	return 0;
}

/* Sets that are chosen by the exclusive or of two fields of the page number: no stride finds them. */
static int find_folded(struct tlb *t)
{
	const struct xr_behind b = behind_first(t);
	struct xr_tlb_sets *level = &t->level[1];
	struct xr_page_family f;
	struct xr_rise rise;
	unsigned bits;

	t->sets.compact.wander = 0; /* elsewhere they would be in other sets */
	if (xr_pages_fold(&b, &bits, &rise) != 0)
		return -1;
	if (bits == 0)
		return 0;
	f = xr_pages_of_fold(&b, bits);
	*level = (struct xr_tlb_sets){.stride = (size_t)1 << bits};
	if (xr_pages_ramp(&f, rise.at, level, &t->near) != 0)
		return -1;
	t->entries[1] = level->ways * level->stride;
	return xr_pages_penalty(&f, rise.at, t->penalty[0], &t->penalty[1], &t->error[1]);
}

/* Roughly where the second step of the curve is and how high it goes; 0: there is none. */
static double second_step(const struct tlb *t, double *height)
{
	const struct xr_curve *c = &t->curve;
	double y[XR_CURVE_MAX];
	size_t one = 0;

	xr_monotone_l1(c->y, c->n, y);
	while (one + 1 < c->n && c->x[one] < 1.5 * (double)t->entries[0])
		one++;
	return next_step(t, y, one, height) ? xr_curve_passes(c, c->x[one], (t->penalty[0] + *height) / 2) : 0;
}

/* No rule: the middle of the second step, from a closer look at the curve around it. */
static int find_middle(struct tlb *t)
{
	size_t pages[XR_CURVE_MAX], n;
	double second, middle, before, after;
	struct xr_curve fine = {0};

	if (t->curve.x[t->curve.n - 1] < CURVE_PAGES / 2 && extend_curve(t, CURVE_PAGES) != 0)
		return -1;
	middle = second_step(t, &second);
	if (middle == 0)
		return 0;
	n = xr_curve_points(middle / 2.5, fmin(middle * 3, (double)t->sets.pages), 1.06, pages);
	if (time_curve(t, pages, n, 3, &fine) != 0)
		return -1;
	for (int i = 0; i < 3 && middle > 0; i++) {
		second = xr_curve_level(&fine, fine.y, middle * 1.35, middle * 2.5, second);
		middle = xr_curve_passes(&fine, 0, (t->penalty[0] + second) / 2);
	}
	before = xr_curve_level(&fine, fine.packed, 0, middle * 0.65, 0);
	after = xr_curve_level(&fine, fine.packed, middle * 1.35, middle * 2.5, 0);
	if (middle == 0 || second < t->penalty[0] * 1.2 + 0.12 * t->hit ||
	    fabs(after - before) > 0.3 * (second - t->penalty[0]))
		return 0;
	t->middle = middle;
	t->entries[1] = (size_t)lround(middle);
	t->penalty[1] = second;
	return 0;
}

/* A witness that needs no sets: neighbouring pages. Of what twice as many cost as the level is said to hold, three
 * quarters must cost little, and a third more than it holds must cost much. It is not heard where the caches have a say,
 * too. */
static int ask_neighbours(struct tlb *t, bool *agree)
{
	const size_t e = t->entries[1], n[3] = {e * 3 / 4, e * 4 / 3, e * 2};
	struct xr_curve c = {0};
	double miss;

	*agree = true;
	if (n[0] < 2 || n[2] > t->sets.pages)
		return 0;
	for (int i = 0; i < 2 && (i == 0 || !*agree); i++) { /* somebody may have been there */
		c.n = 0;
		if (time_curve(t, n, 3, 2, &c) != 0)
			return -1;
		miss = c.y[2] - t->penalty[0];
		*agree = fabs(c.packed[1] - c.packed[0]) + fabs(c.packed[2] - c.packed[1]) >= 0.2 * miss ||
		         (c.y[0] - t->penalty[0] < 0.35 * miss && c.y[1] - t->penalty[0] > 0.4 * miss);
	}
	return 0;
}

/* By strides, by folded sets, or the middle of the step: the first that neither contradicts itself nor is contradicted by
 * neighbouring pages; else the first, in doubt. */
static int find_second(struct tlb *t)
{
	static int (*const find[])(struct tlb *) = {find_strided, find_folded};
	struct tlb doubted = {.entries = {0}};
	bool agree;

	for (size_t i = 0; i < sizeof find / sizeof *find && t->entries[1] == 0; i++) {
		if (find[i](t) != 0)
			return -1;
		if (t->entries[1] <= t->entries[0]) /* what holds no more than the first does not show behind it */
			t->entries[1] = 0;
		if (t->entries[1] > 0 && ask_neighbours(t, &agree) != 0)
			return -1;
		if (t->entries[1] == 0 || (agree && fmax(t->level[1].sure, t->near) >= 0.5))
			continue;
		t->level[1].sure = fmin(t->level[1].sure, 0.5);
		t->near = fmin(t->near, 0.5);
		if (doubted.entries[1] == 0)
			doubted = *t;
		t->entries[1] = 0;
	}
	if (t->entries[1] == 0 && find_middle(t) != 0)
		return -1;
	if (t->entries[1] == 0 && doubted.entries[1] > 0)
		*t = doubted;
	else if (t->middle > 0)
		t->other = doubted.entries[1];
	if (t->level[0].soft) { /* then pages between do not always push the others out of it */
		t->level[1].sure = fmin(t->level[1].sure, through_soft);
		t->near = fmin(t->near, through_soft);
	}
	return 0;
}

/* A third level: pages beyond the second begin to cost more, once, and the packed lines do not. These may be in more pages
 * than the first level holds, and pay for that. */
static int find_third(struct tlb *t)
{
	size_t pages[XR_CURVE_MAX], n;
	struct xr_curve_step step;
	struct xr_curve c = {0}, fine = {0};

	if (t->entries[1] == 0)
		return 0;
	n = xr_curve_points(1.5 * (double)t->entries[1], fmin((double)t->sets.pages, CURVE_PAGES), M_SQRT2, pages);
	if (n > 3 && time_curve(t, pages, n, 1, &c) != 0)
		return -1;
	if (!xr_curve_leaves(&c, t->penalty[1], &step))
		return 0;
	n = xr_curve_points(step.middle / 1.5, step.middle * 1.5, 1.06, pages);
	if (time_curve(t, pages, n, 3, &fine) != 0)
		return -1;
	/* Neighbouring pages fill all sets alike: pages begin to miss when all are full, and all do with one more in each. */
	step.middle = xr_curve_passes(&fine, 0, (3 * t->penalty[1] + step.height) / 4);
	if (step.middle * 2 * (double)t->sets.line > (double)(t->entries[0] * t->sets.page))
		step.height += t->penalty[0];
	t->third = step;
	return 0;
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

/* A pages T apart, and as many again at a distance that is small against a page or not. */
static int find_page(struct tlb *t, uint64_t *page, double *sure)
{
	struct xr_arena *arena = xr_run_arena(t->run);
	struct xr_places set[DELTAS], twin[DELTAS];
	struct xr_compact_answer answer[DELTAS];
	size_t half = t->level[0].ways - t->level[0].ways / 4, n = 0;
	uint64_t own = t->sets.page, line = t->sets.line, stride = t->level[0].stride * own, delta = DELTA_MIN;

	*page = 0;
	*sure = 0;
	for (; n < DELTAS && delta < stride && 2 * half * stride + stride <= t->sets.pages * own; n++, delta *= 2) {
		uint64_t cell = delta < own ? delta : own, lines = cell / line ? cell / line : 1;

		set[n] = xr_places_new(arena, 2 * half);
		for (size_t i = 0; i < 2 * half; i++)
			xr_places_add(&set[n], i * stride + (i < half ? 0 : delta) + i % lines * line);
		twin[n] = xr_places_stride(arena, 0, line, 2 * half);
	}
	if (n == 0) {
		*page = stride; /* one set: the stride of its entries is the page */
		*sure = t->level[0].sure;
		return 0;
	}
	t->sets.compact.sure = 4.6;
	if (xr_are_compact(&t->sets.compact, set, twin, n, answer) != 0)
		return -1;
	t->sets.compact.sure = 0;
	*page = (uint64_t)DELTA_MIN << xr_compact_split(answer, n, sure);
	*sure = fmin(*sure, t->level[0].sure);
	return 0;
}

/* ---- neighbours ------------------------------------------------------------------------------------------------- */

/* How many pages one entry covers that are neighbours in memory as well: with pages in a row, seven eighths of what so
 * many entries would hold then cost nothing. *share: of a miss, what decided costs. */
static int find_together(struct tlb *t, size_t *together, double *share)
{
	size_t room = TOGETHER_MAX * t->entries[0] < t->sets.pages ? TOGETHER_MAX * t->entries[0] : t->sets.pages;
	struct xr_pagesets in_a_row = t->sets;
	const struct xr_page_family f = {.in = &in_a_row, .stride = 1};

	in_a_row.compact.buffer = (struct xr_buffer){BUFFER + 2, room * t->sets.page, XR_SMALL};
	in_a_row.compact.wander = 0;
	*share = 1;
	for (*together = 1; *together < TOGETHER_MAX; *together *= 2) {
		size_t n = t->entries[0] * 2 * *together * 7 / 8;
		double cycles;

		if (n > room || n < 2)
			break;
		if (xr_pages_excess(&f, &n, 1, &cycles) != 0)
			return -1;
		*share = cycles / (double)n / t->penalty[0];
		if (*share > kept_apart)
			break;
	}
	return 0;
}

/* ---- facts ------------------------------------------------------------------------------------------------------ */

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

static void put_level(struct tlb *t, int i)
{
	static const char *const ids[2][3] = {{"tlb.d1.entries", "tlb.d1.ways", "tlb.d1.penalty"},
	                                      {"tlb.d2.entries", "tlb.d2.ways", "tlb.d2.penalty"}};
	struct xr_description *d = xr_run_description(t->run);
	const struct xr_tlb_sets *level = &t->level[i];
	double sure = fmin(0.99, level->sure), near = i && t->near > 0 && sure < 0.9 ? fmin(0.85, t->near) : sure;
	struct xr_fact *fact[3];

	fact[0] = xr_fact_count(d, ids[i][0], (long long)t->entries[i], "", near, "compact sets of pages");
	fact[1] = xr_fact_count(d, ids[i][1], (long long)level->ways, "", sure, "compact sets of pages");
	fact[2] = xr_fact_number(d, ids[i][2], xr_snap_integer(t->penalty[i], i ? 0.15 : 0.1), "cycles",
	                         near * within_tolerance(t->penalty[i], t->error[i]) * sure_of_cycles(d),
	                         "pages against packed lines");
	if (near > sure)
		xr_fact_note(fact[0],
		             "%zu sets; how many pages go into one is less clear, somebody else's are there too",
		             level->stride);
	for (size_t k = 0; k < 3; k++) {
		xr_fact_add_series(fact[k], "tlb.data");
		if ((k == 1 ? sure : near) < 0.6)
			xr_fact_doubt(fact[k], "%zu ways, %zu pages apart, but the votes contradict each other",
			              level->ways, level->stride);
	}
}

/* A level that is known by the middle of its step alone. */
static struct xr_fact *put_step(struct tlb *t, const char *entries, const char *penalty,
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

static void put_second(struct tlb *t)
{
	const struct xr_curve_step step = {t->middle, t->penalty[1]};
	struct xr_fact *fact;

	if (t->middle == 0) {
		put_level(t, 1);
		return;
	}
	fact = put_step(t, "tlb.d2.entries", "tlb.d2.penalty", &step,
	                "pages at regular distances follow no rule, so the sets are hashed");
	if (t->other && fabs(log((double)t->other / t->middle)) > 0.1)
		xr_fact_doubt(fact, "neighbouring pages say %.0f, pages of one set %zu", t->middle, t->other);
	xr_fact_none(xr_run_description(t->run), "tlb.d2.ways", XR_UNRELIABLE,
	             "pages at regular distances follow no rule");
}

/* Pages in a row need not be in a row in memory, and are not in many a virtual machine: none together is never sure. */
static void put_reach(struct tlb *t, uint64_t page, size_t together, double share)
{
	struct xr_description *d = xr_run_description(t->run);
	double clear = fmin(1, fabs(share - kept_apart) / kept_apart) * fmin(0.99, t->level[0].sure);
	struct xr_fact *fact =
		xr_fact_count(d, "tlb.d1.page", (long long)(together * page), "bytes",
	                      together > 1 ? clear : fmin(0.85, clear), "pages in a row against shuffled ones");

	if (together > 1)
		xr_fact_note(fact, "an entry covers up to %zu pages that are neighbours in memory, too", together);
	else
		xr_fact_note(fact, "no pages in a row share an entry, as far as they are neighbours in memory, too");
}

static void put_none(struct tlb *t, size_t from, const char *why)
{
	static const char *const id[] = {"tlb.d2.entries", "tlb.d2.ways",    "tlb.d2.penalty", "tlb.d1.entries",
	                                 "tlb.d1.ways",    "tlb.d1.penalty", "tlb.d1.page",    "memory.page_size"};

	for (size_t i = 0; i < from; i++)
		xr_fact_none(xr_run_description(t->run), id[i], XR_UNSUPPORTED, why, t->sets.pages);
}

static void put_page(struct tlb *t, uint64_t page, double sure)
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

static int find_levels(struct tlb *t)
{
	uint64_t page;
	size_t below, above, together;
	double sure, first, share;

	if (look_for_step(t, &first, &below, &above) != 0)
		return -1;
	xr_run_progress(t->run, 0.2, "first level");
	if (first > 0) {
		t->sets.compact.limit = 0.35 * first;
		t->penalty[0] = first;
		if (find_first(t, below, above) != 0)
			return -1;
	}
	if (t->entries[0] == 0) {
		put_none(t, 8,
		         "no TLB seen: a line in each of %zu pages costs no more than as many lines side by side");
		return 0;
	}
	xr_run_progress(t->run, 0.4, "page size");
	if (find_page(t, &page, &sure) != 0)
		return -1;
	put_page(t, page, sure);
	put_level(t, 0);
	if (find_together(t, &together, &share) != 0)
		return -1;
	put_reach(t, page, together, share);
	xr_run_progress(t->run, 0.7, "second level");
	if (find_second(t) != 0)
		return -1;
	if (t->entries[1] == 0)
		put_none(t, 3, "no second step up to %zu pages");
	else
		put_second(t);
	if (find_third(t) != 0)
		return -1;
	if (t->third.middle > 0)
		put_step(t, "tlb.d3.entries", "tlb.d3.penalty", &t->third,
		         "of the third level only where pages begin to miss it is known");
	return 0;
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct tlb t = {.run = run, .hit = xr_run_number(run, "cache.l1d.latency", 0)};
	uint64_t page = info->page_bytes, line = (uint64_t)xr_run_number(run, "cache.l1d.line", 64);
	size_t most = page ? (size_t)(info->memory_bytes / 5 / page) : 0;

	t.sets = (struct xr_pagesets){
		.run = run, .page = page, .line = line, .pages = most < PAGES_MAX ? most : PAGES_MAX};
	if (t.sets.pages < 16) {
		put_none(&t, 8, "no pages, or too few of them in memory");
		return 0;
	}
	t.sets.colours = colours_of_first_cache(run, page);
	t.sets.compact =
		(struct xr_compact){.run = run,
	                            .buffer = {BUFFER, (t.sets.pages + WANDER * t.sets.colours) * page, XR_SHUFFLED},
	                            .page = page,
	                            .hit = t.hit,
	                            .wander = WANDER * t.sets.colours * page,
	                            .wander_step = t.sets.colours * page};
	if (find_levels(&t) != 0)
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
