/* SPDX-License-Identifier: MIT */
/* Parameter: the first-level data cache: ways, capacity, line, hit latency.
 *
 * Idea (papers 000 §4.5, 002 §4.3): of addresses one stride apart, only so many can be in the cache together. The
 * larger the stride the fewer, until the stride is the size of a way: from there on all fall into one set, and
 * their number is that of the ways.
 *
 * Algorithm: n(S) = the smallest n for which <0, S, n> is not compact.
 *   S = 1024; if n(2S) = n(S), halve S as long as n stays; else double S until it stays. Then T = S, the way.
 *   A = n(T) - 1, C = A T, asked again with many orders of visits; the set of C bytes must be compact, a larger one not.
 *   B = the smallest d for which <0, T, A> and <C + d, T, A> together are compact; none below T: one set, B = T.
 *   Latency: <0, 1 element>.
 * What differs from the papers: large sets are never needed; the order of visits is shuffled and drawn again for
 * every vote, and the vote taken in other sets of the cache; times are compared with a twin that costs the TLB
 * the same, so the TLB may reach less far than the cache. Confidence is what the votes weigh together.
 *
 *   Where that contradicts itself: a way larger than a page in a cache indexed by physical addresses. Then classes of
 *   pages that compete (method/coloured.h); said with what confidence they agree.
 *
 * When it fails: first and second level of about equal latency; random replacement with very many ways (misses
 * set in slowly).
 */
#include "method/coloured.h"
#include "method/rows.h"
#include "method/sweep.h"
#include "micro/micro.h"

#include <math.h>
#include <stdlib.h>

enum {
	BUFFER = 10, /* id */
	STRIDE_FIRST = 1024,
	STRIDE_MIN = 8,
	ORDERS_OF_CURVE = 2,
	CURVE_MAX = 64,
	CONFIRM_VOTES = 6,
	WANDER = 1 << 16,
	FAR = 6, /* sets far apart */
	HIT_PLACES = 3,
	HIT_TIMES = 3,
};
static const double sure_llr = 4.6; /* 1 wrong in 100 */
static const double hardly_more = 0.25;
static const double read_twice = 1.01;
static const uint64_t room_wanted = UINT64_C(16) << 20;

struct l1 {
	struct xr_run *run;
	struct xr_compact compact;
	uint64_t room; /* bytes of the buffer */
	uint64_t fits; /* bytes, where there is too little memory for more than that */
	size_t n_way;  /* n(T) */
	uint64_t way;  /* T */
	size_t ways;
	struct xr_reading hits[HIT_TIMES * HIT_PLACES], hit;
	size_t n_hits;
	double sure;       /* of the ways: a probability, by the votes */
	const char *doubt; /* NULL: none */
};

static int by_cycles(const void *a, const void *b)
{
	const struct xr_reading *x = a, *y = b;

	if (x->status != y->status)
		return x->status == XR_READ_OK ? -1 : 1;
	return x->cycles < y->cycles ? -1 : x->cycles > y->cycles;
}

static uint64_t power_of_two_below(uint64_t x)
{
	uint64_t p = 1;

	while (p <= x / 2)
		p *= 2;
	return p;
}

static bool about_equal(size_t a, size_t b)
{
	size_t small = a < b ? a : b, large = a < b ? b : a;

	return large * 4 <= small * 5;
}

struct strided {
	struct l1 *l1;
	uint64_t stride;
};

/* <0, S, n>. Three places are visited in steps of the same length whatever the order, so the third is one further. */
static struct xr_places strided(struct l1 *l1, uint64_t stride, size_t n)
{
	struct xr_places set = xr_places_stride(xr_run_arena(l1->run), 0, stride, n);

	if (n == 3 && 4 * stride <= l1->room)
		set.at[2] += stride;
	return set;
}

static void make_strided(void *self, size_t n, struct xr_places *set, struct xr_places *twin)
{
	const struct strided *s = self;

	(void)twin;
	*set = strided(s->l1, s->stride, n);
}

/* n(stride), in [2, limit]; limit + 1 when the buffer does not hold enough. guess: see xr_first_not_compact(). */
static int length_for(struct l1 *l1, uint64_t stride, size_t limit, const size_t *guess, size_t *n)
{
	size_t fits = (size_t)(l1->room / stride);

	if (limit > fits)
		limit = fits;
	if (limit < 2) {
		*n = limit + 1;
		return 0;
	}
	return xr_first_not_compact(&l1->compact, make_strided, &(struct strided){l1, stride}, 2, limit, guess, n);
}

/* At twice the stride: half as many as before, or as many. */
static int length_for_twice(struct l1 *l1, uint64_t stride, size_t n, size_t *next)
{
	const size_t guess[] = {(n - 1) / 2 + 1, n, 0};

	return length_for(l1, stride, n * 2, n > 3 ? guess : guess + 1, next);
}

/* From a stride below which n stays down to the least. */
static int find_least_stride(struct l1 *l1, uint64_t *stride, size_t n)
{
	const size_t guess[] = {n, 0};
	size_t next;

	for (; *stride > STRIDE_MIN; *stride /= 2) {
		if (length_for(l1, *stride / 2, n * 3, guess, &next) != 0)
			return -1;
		if (!about_equal(n, next))
			break;
	}
	return 0;
}

/* Follows n(S) to the way T. Found: n_way and way are set; else way stays 0, and fits says what is known. */
static int find_way(struct l1 *l1)
{
	uint64_t stride = STRIDE_FIRST;
	size_t n, next;

	while (stride > STRIDE_MIN * 2 && l1->room / stride < 16)
		stride /= 2;
	if (length_for(l1, stride, SIZE_MAX, NULL, &n) != 0)
		return -1;
	if (n > l1->room / stride)
		return 0;
	if (length_for_twice(l1, stride * 2, n, &next) != 0)
		return -1;
	if (about_equal(n, next)) {
		if (find_least_stride(l1, &stride, n) != 0)
			return -1;
	} else {
		for (stride *= 2, n = next;; stride *= 2, n = next) {
			if (length_for_twice(l1, stride * 2, n, &next) != 0)
				return -1;
			if (next > l1->room / stride / 2) {
				l1->fits = (n - 1) * stride;
				return 0;
			}
			if (about_equal(n, next))
				break;
		}
		n = next; /* all in one set: the sharper of the two */
	}
	l1->n_way = n;
	l1->way = stride;
	return 0;
}

/* What says that so many ways fit, and that one more does not. Where somebody else has a way of a set now and then,
 * full sets are slow too, but not always, and much less than those with one too many: disturbed. hardly: some sets that
 * fit are slow, and one more is slower, but much less than two more are; then the ways may not end here. */
struct weights {
	double fits, overflows;
	bool disturbed, hardly;
};

static double excess(const struct xr_compact_answer *answer)
{
	return answer->cycles - answer->twin;
}

/* Weighs this many ways once more, at two strides and in many sets. */
static int weigh_ways(struct l1 *l1, struct weights *w)
{
	struct xr_places set[5];
	struct xr_compact_answer answer[5];
	uint64_t twice = l1->way * 2 * (l1->ways + 3) <= l1->room ? l1->way * 2 : l1->way;
	size_t n = l1->way * (l1->ways + 3) <= l1->room ? 5 : 4;
	double full, over;

	for (size_t i = 0; i < n; i++)
		set[i] = strided(l1, i < 2 ? twice : l1->way, l1->ways + (i < 4 ? i % 2 : 2));
	if (xr_are_compact(&l1->compact, set, NULL, n, answer) != 0)
		return -1;
	w->fits += fmin(answer[0].llr, answer[2].llr);
	w->overflows -= fmax(answer[1].llr, answer[3].llr);
	full = fmax(excess(&answer[0]), excess(&answer[2]));
	over = fmin(excess(&answer[1]), excess(&answer[3]));
	w->disturbed = answer[0].yes + answer[2].yes > 0 && full < hardly_more * over;
	w->hardly = n > 4 && answer[0].no + answer[2].no > 0 && over < hardly_more * excess(&answer[4]);
	return 0;
}

/* The number of ways again, now with all addresses in one set. Sets ways and sure. */
static int confirm_ways(struct l1 *l1)
{
	struct weights w = {0};

	l1->ways = l1->n_way - 1;
	l1->compact.sure = sure_llr;
	l1->compact.least = CONFIRM_VOTES;
	for (int attempt = 0; attempt < 8 && (fmin(w.fits, w.overflows) < sure_llr || w.hardly); attempt++) {
		size_t ways = l1->ways;

		if (weigh_ways(l1, &w) != 0)
			return -1;
		l1->sure = fmax(xr_llr_probability(w.fits), w.disturbed ? 0.85 : 0) * xr_llr_probability(w.overflows) *
		           (w.hardly ? 0.5 : 1);
		if (w.fits < 0 && w.overflows > 0 && !w.hardly && !w.disturbed && ways > 1)
			l1->ways--;
		else if (w.fits > 0 && (w.overflows < 0 || w.hardly) && l1->way * (ways + 2) <= l1->room)
			l1->ways++;
		if (l1->ways != ways)
			w.fits = w.overflows = 0;
	}
	return 0;
}

/* B: the smallest distance at which two sets of A lines each no longer meet; 0: there is no such distance. */
static int find_line(struct l1 *l1, uint64_t *line, double *sure)
{
	struct xr_arena *arena = xr_run_arena(l1->run);
	struct xr_places set[40];
	struct xr_compact_answer answer[40];
	uint64_t capacity = l1->way * l1->ways, delta = STRIDE_MIN;
	size_t n = 0, half = l1->ways - l1->ways / 4; /* leaves room for what others bring */

	for (; delta < l1->way && n < 40 && 2 * capacity + delta <= l1->room; delta *= 2, n++) {
		set[n] = xr_places_new(arena, 2 * half);
		xr_places_add_stride(&set[n], 0, l1->way, half);
		xr_places_add_stride(&set[n], capacity + delta, l1->way, half);
	}
	*line = 0;
	*sure = 0;
	if (n == 0 || xr_are_compact(&l1->compact, set, NULL, n, answer) != 0)
		return n == 0 ? 0 : -1;
	*line = (uint64_t)STRIDE_MIN << xr_compact_split(answer, n, sure);
	return 0;
}

/* n addresses of one set far apart: at random multiples of the way. */
static struct xr_places far_apart(struct l1 *l1, size_t n)
{
	struct xr_places set = xr_places_new(xr_run_arena(l1->run), n);

	for (uint64_t at = 0, left = l1->room / l1->way; n > 0;
	     at++, left--) /* so many of those left, each as likely */
		if (xr_rng_below(xr_run_rng(l1->run), left) < n) {
			xr_places_add(&set, at * l1->way);
			n--;
		}
	return set;
}

/* Do as many as there are ways fit, and one more not, wherever they are? In a cache indexed by physical addresses pages
 * have nothing to do with each other, and what was true of neighbours is an accident. */
static int ask_far_apart(struct l1 *l1, bool *agree)
{
	struct xr_compact before = l1->compact;
	struct xr_places set[2 * FAR];
	struct xr_compact_answer answer[2 * FAR];
	double over[FAR];
	size_t full = 0, fits = 0;
	int rc;

	*agree = true;
	if (l1->room / l1->way < 2 * (l1->ways + 1))
		return 0;
	for (size_t i = 0; i < 2 * FAR; i++)
		set[i] = far_apart(l1, l1->ways + i % 2);
	l1->compact.sure = 0;
	l1->compact.least = 0;
	rc = xr_are_compact(&l1->compact, set, NULL, 2 * FAR, answer);
	l1->compact = before;
	if (rc != 0)
		return -1;
	for (size_t i = 0; i < FAR; i++)
		over[i] = excess(&answer[2 * i + 1]);
	for (size_t i = 0; i < 2 * FAR;
	     i += 2) { /* a full set may be slow, too, but not as slow as one with one too many */
		full += answer[i].llr < 0 && excess(&answer[i]) > 0.5 * xr_median(over, FAR);
		fits += answer[i + 1].llr > 0;
	}
	*agree = full <= 1 && fits <= 1;
	return 0;
}

/* Ways larger than a page, by physical addresses: n(S) follows no rule from the page on. Then classes of pages
 * are looked for, and the line is the distance at which one page of a class no longer meets the others. */
static int find_coloured(struct l1 *l1, bool *found, uint64_t *line, double *line_sure)
{
	struct xr_arena *arena = xr_run_arena(l1->run);
	uint64_t page = l1->compact.page;
	struct xr_coloured coloured;
	struct xr_places set[40];
	struct xr_compact_answer answer[40];
	size_t n = 0;
	bool agree;

	*found = false;
	if (page == 0 || l1->way < page)
		return 0;
	if (ask_far_apart(l1, &agree) != 0)
		return -1;
	if (agree && l1->sure >= 0.5)
		return 0;
	l1->sure = fmin(l1->sure, 0.8);
	l1->compact.wander = 0; /* elsewhere pages are others */
	if (xr_coloured_find(&l1->compact, (size_t)(l1->room / page), &coloured) != 0)
		return -1;
	if (coloured.ways == 0)
		return 0;
	*found = true;
	l1->ways = coloured.ways;
	l1->way = coloured.colours * page;
	l1->sure = coloured.sure;
	for (uint64_t delta = STRIDE_MIN; delta < page && n < 40; delta *= 2, n++) {
		set[n] = xr_places_moved(arena, &coloured.class, 0);
		set[n].at[set[n].n - 1] += delta;
	}
	if (xr_are_compact(&l1->compact, set, NULL, n, answer) != 0)
		return -1;
	*line = (uint64_t)STRIDE_MIN << xr_compact_split(answer, n, line_sure);
	return 0;
}

/* A set that spreads over three quarters of the capacity must be compact, one of half as much again must not: if the
 * way found is an accident of physical pages, one of the two goes wrong. */
static int confirm_capacity(struct l1 *l1, uint64_t line)
{
	uint64_t capacity = l1->way * l1->ways, stride = l1->way / 8 > line ? l1->way / 8 : line;
	struct xr_places set[2];
	struct xr_compact_answer answer[2];

	if (line == 0 || capacity * 3 / 2 > l1->room || capacity / stride < 4)
		return 0;
	for (size_t i = 0; i < 2; i++)
		set[i] = strided(l1, stride, (size_t)(capacity / stride * (i ? 6 : 3) / 4));
	if (xr_are_compact(&l1->compact, set, NULL, 2, answer) != 0)
		return -1;
	if (answer[0].verdict == XR_NO || answer[1].verdict == XR_YES)
		l1->doubt =
			"sets of the same size conflict or not depending on where they are: perhaps a way larger than a page, "
			"indexed by physical addresses";
	return 0;
}

/* Cycles for 1, 2, … addresses of one set: for people to look at. */
static int put_curve(struct l1 *l1, const char *id)
{
	struct xr_arena *arena = xr_run_arena(l1->run);
	struct xr_spec spec[CURVE_MAX * ORDERS_OF_CURVE];
	struct xr_reading reading[CURVE_MAX * ORDERS_OF_CURVE];
	double x[CURVE_MAX], y[CURVE_MAX];
	size_t most = l1->ways + l1->ways / 2 + 2, n = most < CURVE_MAX ? most : CURVE_MAX;
	size_t step = (most + n - 1) / n;
	struct xr_effort effort = {.samples = 5, .samples_max = 5};

	while (n > 1 && n * step * l1->way > l1->room)
		n--;
	for (size_t i = 0; i < n; i++)
		for (size_t o = 0; o < ORDERS_OF_CURVE; o++) {
			struct xr_places set = strided(l1, l1->way, (i + 1) * step);

			spec[i * ORDERS_OF_CURVE + o] =
				xr_places_cycle(arena, &set, l1->compact.buffer, 1 + i + o * 1000);
		}
	if (xr_run_time_with(l1->run, &effort, spec, n * ORDERS_OF_CURVE, reading) != 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		double cycles[ORDERS_OF_CURVE];

		for (size_t o = 0; o < ORDERS_OF_CURVE; o++)
			cycles[o] = reading[i * ORDERS_OF_CURVE + o].cycles;
		x[i] = (double)((i + 1) * step);
		y[i] = xr_min(cycles, ORDERS_OF_CURVE);
	}
	xr_series_put(xr_run_description(l1->run), id, "addresses one way apart", "", x, "time per access", "cycles", y,
	              n);
	return 0;
}

/* Words next to each other, as many as no loop is unrolled by, in an order in which no two steps are alike: the same
 * word over and over, or words in a row, are loads whose values can be predicted. */
static struct xr_spec a_few_words(struct l1 *l1, uint64_t at)
{
	static const uint64_t order[] = {0, 3, 1, 2, 6, 4, 5};
	enum { WORDS = sizeof order / sizeof *order, WORD = 8 };
	struct xr_span *span = xr_arena_array(xr_run_arena(l1->run), struct xr_span, WORDS);

	size_t n = 0;

	for (size_t i = 0; i < WORDS; i++)
		if (at + (order[i] + 1) * WORD <= l1->room)
			span[n++] = (struct xr_span){at + order[i] * WORD, WORD, 1};
	return xr_spec_cycle(l1->compact.buffer, span, n, 0);
}

/* A few places by themselves; all say the same unless one is in somebody's way, or the clock changes meanwhile. The
 * least that was read twice counts: there is more that makes readings slow than that makes them quick. */
static int time_hits(struct l1 *l1)
{
	struct xr_spec spec[HIT_PLACES];
	struct xr_reading *reading = l1->hits + l1->n_hits;

	for (size_t i = 0; i < HIT_PLACES; i++)
		spec[i] = a_few_words(l1, l1->room / (HIT_PLACES + 1) / STRIDE_MIN * STRIDE_MIN * i);
	if (xr_run_time(l1->run, spec, HIT_PLACES, reading) != 0)
		return -1;
	l1->n_hits += HIT_PLACES;
	qsort(l1->hits, l1->n_hits, sizeof *l1->hits, by_cycles);
	l1->hit = l1->hits[1];
	for (size_t i = l1->n_hits - 1; i > 0; i--)
		if (l1->hits[i].status == XR_READ_OK && l1->hits[i].cycles <= read_twice * l1->hits[i - 1].cycles)
			l1->hit = l1->hits[i];
	return 0;
}

static void put_latency(struct l1 *l1)
{
	struct xr_description *d = xr_run_description(l1->run);
	double cycles, sure;
	struct xr_fact *fact;
	size_t same = 0;
	bool whole;

	if (l1->hit.status != XR_READ_OK) {
		xr_fact_none(d, "cache.l1d.latency", XR_FAILED, "%s", l1->hit.reason);
		return;
	}
	for (size_t i = 0; i < l1->n_hits; i++)
		same += l1->hits[i].status == XR_READ_OK &&
		        fabs(l1->hits[i].cycles - l1->hit.cycles) <= fmax(0.02 * l1->hit.cycles, 0.1);
	cycles = xr_snap_integer(l1->hit.cycles, 0.1);
	sure = same * 2 > l1->n_hits ? 0.98 : 0.5 + 0.8 * (double)same / (double)l1->n_hits;
	whole = fabs(cycles - round(cycles)) <
	        1e-6; /* caches answer in whole cycles: else it is the cycle that is off */
	fact = xr_fact_number(d, "cache.l1d.latency", cycles, "cycles", whole ? sure : fmin(sure, 0.6),
	                      "a few words of a line, read over and over");
	if (!whole)
		xr_fact_note(fact,
		             "no whole number of cycles: the clock may have changed since its frequency was found");
	if (same < 2)
		xr_fact_doubt(fact, "readings of %zu addresses differ by more than 2 %%", l1->n_hits);
}

static void put_none(struct l1 *l1)
{
	static const char *const id[] = {"cache.l1d.capacity", "cache.l1d.ways", "cache.l1d.line", "cache.l1d.index"};
	struct xr_description *d = xr_run_description(l1->run);

	for (size_t i = 0; i < sizeof id / sizeof *id && l1->fits; i++)
		xr_fact_none(d, id[i], XR_UNRELIABLE, "too little memory to walk far beyond the cache");
	if (l1->fits) {
		xr_fact_doubt(xr_fact_count(d, id[0], (long long)l1->fits, "bytes", 0.5, "compact sets"),
		              "too little memory to walk far beyond the cache");
		put_latency(l1);
		return;
	}
	for (size_t i = 0; i < sizeof id / sizeof *id; i++)
		xr_fact_none(d, id[i], XR_UNSUPPORTED,
		             "no data cache: every set of addresses within %.3g KiB takes the same time",
		             (double)l1->room / 1024);
	xr_fact_none(d, "cache.l1d.latency", XR_UNSUPPORTED,
	             "no data cache: what was timed is memory, or a cache larger than what could be walked over");
}

static void put_geometry(struct l1 *l1, uint64_t line, double line_sure)
{
	struct xr_description *d = xr_run_description(l1->run);
	struct xr_fact *fact[3];
	double sure = fmin(0.99, l1->sure);

	if (line == 0 && l1->way == STRIDE_MIN)
		line = l1->way;
	fact[0] =
		xr_fact_count(d, "cache.l1d.capacity", (long long)(l1->way * l1->ways), "bytes", sure, "compact sets");
	fact[1] = xr_fact_count(d, "cache.l1d.ways", (long long)l1->ways, "", sure, "compact sets");
	if (line)
		fact[2] = xr_fact_count(d, "cache.l1d.line", (long long)line, "bytes", fmin(sure, line_sure),
		                        "two compact sets side by side");
	else
		fact[2] = xr_fact_none(d, "cache.l1d.line", XR_UNRELIABLE,
		                       "too little memory to lay two sets side by side");
	for (size_t i = 0; i < 3; i++) {
		xr_fact_add_series(fact[i], "cache.l1d.one_set");
		if (l1->doubt)
			xr_fact_doubt(fact[i], "%s", l1->doubt);
		else if (sure < 0.8 && i < 2)
			xr_fact_doubt(fact[i], "%zu ways, but the votes contradict each other", l1->ways);
		else if (line_sure < 0.8 && i == 2 && line)
			xr_fact_doubt(fact[i], "votes for neighbouring distances contradict each other");
	}
}

/* Where times repeat exactly: a plain index, whatever the number of sets. Sweeps over somewhat less and more must
 * agree. */
static int find_regular(struct l1 *l1, uint64_t *line, bool *found)
{
	const double miss = 10; /* cycles, about, that the next level is farther: only whether there are any matters */
	struct xr_data_level l = {
		.walk = {.run = l1->run, .buffer = BUFFER, .page = l1->compact.page, .line = STRIDE_MIN},
		.hit = l1->hit.cycles,
		.near = l1->hit.cycles,
		.far = l1->hit.cycles + miss,
		.room = l1->room};
	double less = 0, more = 0;

	if (xr_data_level_find(&l) != 0)
		return -1;
	if (!l.ways || !l.line)
		return 0;
	l.walk.line = *line = l.line;
	if (xr_sweep_time(&l.walk, l.bytes / 4 * 3, &less) != 0 || xr_sweep_time(&l.walk, l.bytes / 2 * 3, &more) != 0)
		return -1;
	*found = less < l.near + 1 && more > less + 1;
	if (*found) {
		l1->ways = l.ways;
		l1->n_way = l.ways + 1;
		l1->way = l.bytes / l.ways;
		l1->sure = 1;
	}
	return 0;
}

/* Only where a way is larger than a page do the two differ. */
static void put_index(struct l1 *l1, bool coloured)
{
	struct xr_description *d = xr_run_description(l1->run);

	if (l1->way <= l1->compact.page || l1->compact.page == 0)
		xr_fact_none(d, "cache.l1d.index", XR_UNSUPPORTED, "a way is not larger than a page");
	else if (l1->sure < 0.8)
		xr_fact_none(d, "cache.l1d.index", XR_UNRELIABLE, "the ways are not clear");
	else
		xr_fact_text(d, "cache.l1d.index", coloured ? "physical" : "virtual", fmin(0.97, l1->sure),
		             coloured ? "classes of pages that compete" : "compact sets far apart");
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct l1 l1 = {.run = run};
	uint64_t line;
	double line_sure;
	bool coloured, found = false;

	l1.room = power_of_two_below(xr_run_room(run) < room_wanted ? xr_run_room(run) : room_wanted);
	l1.compact = (struct xr_compact){
		.run = run, .buffer = {BUFFER, l1.room, XR_SMALL}, .page = info->page_bytes, .wander = WANDER};
	if (time_hits(&l1) != 0)
		return -1;
	l1.compact.hit = l1.hit.cycles;
	if (info->exact && find_regular(&l1, &line, &found) != 0)
		return -1;
	if (found) {
		if (put_curve(&l1, "cache.l1d.one_set") != 0)
			return -1;
		put_geometry(&l1, line, 1);
		put_index(&l1, false);
		put_latency(&l1);
		return 0;
	}
	if (find_way(&l1) != 0)
		return -1;
	if (l1.way == 0) {
		put_none(&l1);
		return 0;
	}
	xr_run_progress(run, 0.6, "ways");
	if (confirm_ways(&l1) != 0 || time_hits(&l1) != 0)
		return -1;
	xr_run_progress(run, 0.8, "line");
	if (find_coloured(&l1, &coloured, &line, &line_sure) != 0)
		return -1;
	if (!coloured && (find_line(&l1, &line, &line_sure) != 0 || confirm_capacity(&l1, line) != 0))
		return -1;
	if (put_curve(&l1, "cache.l1d.one_set") != 0 || time_hits(&l1) != 0)
		return -1;
	put_geometry(&l1, line, line_sure);
	put_index(&l1, coloured);
	put_latency(&l1);
	return 0;
}

static const char *const finds[] = {"cache.l1d.capacity", "cache.l1d.ways",  "cache.l1d.line",
                                    "cache.l1d.latency",  "cache.l1d.index", NULL};
static const char *const needs[] = {"frequency", NULL};

const struct xr_micro xr_micro_cache_l1d = {
	.id = "cache_l1d",
	.title = "first-level data cache: capacity, ways, line, latency",
	.finds = finds,
	.needs = needs,
	.cost_s = 0.5,
	.kinds = 1u << XR_CHAIN,
	.run = run,
};
