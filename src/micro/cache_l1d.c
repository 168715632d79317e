/* Parameter: the first-level data cache: ways, capacity, line, hit latency.
 *
 * Idea (papers 000 §4.5, 002 §4.3; ALGORITHMS §10): of addresses one stride apart, only so many can be in the cache
 * together. The larger the stride the fewer, until the stride is the size of a way: from there on all fall into one
 * set, and their number is that of the ways.
 *
 * Algorithm: n(S) = the smallest n for which <0, S, n> is not compact.
 *   S = 1024; if n(2S) = n(S), halve S as long as n stays; else double S until it stays. Then T = S, the way.
 *   A = n(T) - 1, C = A T, asked again with many orders of visits; the set of C bytes must be compact, a larger one not.
 *   B = the smallest d for which <0, T, A> and <C + d, T, A> together are compact; none below T: one set, B = T.
 *   Latency: <0, 1 element>.
 * What differs from the papers: large sets are never needed; the order of visits is shuffled and drawn again for every
 * vote; times are compared with a twin that costs the TLB the same, so the TLB may reach less far than the cache.
 *
 * When it fails: a way larger than a page in a cache indexed by physical addresses (n(S) follows no rule; said so);
 * first and second level of about equal latency; random replacement with very many ways (misses set in slowly).
 */
#include "method/compact.h"
#include "micro/micro.h"

#include <math.h>
#include <string.h>

enum {
	BUFFER = 10, /* id */
	STRIDE_FIRST = 1024,
	STRIDE_MIN = 8,
	ORDERS_OF_CURVE = 3,
	CURVE_MAX = 64,
};
static const uint64_t room_wanted = UINT64_C(16) << 20;

struct l1 {
	struct xr_run *run;
	struct xr_compact compact;
	uint64_t room; /* bytes of the buffer */
	size_t n_way;  /* n(T) */
	uint64_t way;  /* T */
	size_t ways;
	double hit; /* cycles */
	bool confirmed;
	const char *doubt; /* NULL: none */
};

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
	struct xr_arena *arena;
	uint64_t stride;
};

static void make_strided(void *self, size_t n, struct xr_places *set, struct xr_places *twin)
{
	const struct strided *s = self;

	(void)twin;
	*set = xr_places_stride(s->arena, 0, s->stride, n);
}

/* n(stride), in [2, limit]; limit + 1 when the buffer does not hold enough. */
static int length_for(struct l1 *l1, uint64_t stride, size_t limit, size_t *n)
{
	size_t fits = (size_t)(l1->room / stride);

	if (limit > fits)
		limit = fits;
	if (limit < 2) {
		*n = limit + 1;
		return 0;
	}
	return xr_first_not_compact(&l1->compact, make_strided, &(struct strided){xr_run_arena(l1->run), stride}, 2,
	                            limit, n);
}

/* Follows n(S) to the way T. Found: n_way and way are set; else way stays 0. */
static int find_way(struct l1 *l1)
{
	uint64_t stride = STRIDE_FIRST;
	size_t n, next;

	while (stride > STRIDE_MIN * 2 && l1->room / stride < 16)
		stride /= 2;
	if (length_for(l1, stride, SIZE_MAX, &n) != 0)
		return -1;
	if (n > l1->room / stride)
		return 0;
	if (length_for(l1, stride * 2, n * 2, &next) != 0)
		return -1;
	if (about_equal(n, next)) {
		for (; stride > STRIDE_MIN; stride /= 2) {
			if (length_for(l1, stride / 2, n * 3, &next) != 0)
				return -1;
			if (!about_equal(n, next))
				break;
		}
	} else {
		for (stride *= 2, n = next;; stride *= 2, n = next) {
			if (length_for(l1, stride * 2, n * 2, &next) != 0)
				return -1;
			if (next > l1->room / stride / 2)
				return 0;
			if (about_equal(n, next))
				break;
		}
		n = next; /* all in one set: the sharper of the two */
	}
	l1->n_way = n;
	l1->way = stride;
	return 0;
}

/* The number of ways again, now with all addresses in one set, at two strides. Sets confirmed and ways. */
static int confirm_ways(struct l1 *l1)
{
	struct xr_arena *arena = xr_run_arena(l1->run);

	l1->ways = l1->n_way - 1;
	l1->compact.sure = 4.6;
	for (int attempt = 0; attempt < 8 && !l1->confirmed; attempt++) {
		struct xr_places set[4];
		struct xr_compact_answer answer[4];
		uint64_t twice = l1->way * 2 * (l1->ways + 1) <= l1->room ? l1->way * 2 : l1->way;
		bool fits, overflows;

		for (size_t i = 0; i < 4; i++)
			set[i] = xr_places_stride(arena, 0, i < 2 ? twice : l1->way, l1->ways + i % 2);
		if (xr_are_compact(&l1->compact, set, NULL, 4, answer) != 0)
			return -1;
		fits = answer[0].verdict == XR_YES && answer[2].verdict == XR_YES;
		overflows = answer[1].verdict == XR_NO && answer[3].verdict == XR_NO;
		l1->confirmed = fits && overflows;
		if (!fits && overflows && l1->ways > 1)
			l1->ways--;
		else if (fits && !overflows && l1->way * (l1->ways + 2) <= l1->room)
			l1->ways++;
	}
	return 0;
}

/* A set that spreads over three quarters of the capacity must be compact, one of half as much again must not: if the
 * way found is an accident of physical pages, one of the two goes wrong. */
static int confirm_capacity(struct l1 *l1)
{
	uint64_t capacity = l1->way * l1->ways, stride = l1->way / 8 > STRIDE_MIN ? l1->way / 8 : STRIDE_MIN;
	struct xr_places set[2];
	struct xr_compact_answer answer[2];

	if (capacity * 3 / 2 > l1->room || capacity / stride < 4)
		return 0;
	for (size_t i = 0; i < 2; i++)
		set[i] = xr_places_stride(xr_run_arena(l1->run), 0, stride,
		                          (size_t)(capacity / stride * (i ? 6 : 3) / 4));
	if (xr_are_compact(&l1->compact, set, NULL, 2, answer) != 0)
		return -1;
	if (answer[0].verdict == XR_NO || answer[1].verdict == XR_YES)
		l1->doubt =
			"sets of the same size conflict or not depending on where they are: perhaps a way larger than a page, "
			"indexed by physical addresses";
	return 0;
}

/* B: the smallest distance at which two sets of A lines each no longer meet. 0: the votes contradict each other. */
static int find_line(struct l1 *l1, uint64_t *line)
{
	struct xr_arena *arena = xr_run_arena(l1->run);
	struct xr_places set[40];
	struct xr_compact_answer answer[40];
	uint64_t capacity = l1->way * l1->ways, delta = STRIDE_MIN;
	size_t n = 0, first = 0, half = l1->ways - l1->ways / 4; /* leaves room for what others bring */

	for (; delta < l1->way && n < 40 && 2 * capacity + delta <= l1->room; delta *= 2, n++) {
		set[n] = xr_places_new(arena, 2 * half);
		xr_places_add_stride(&set[n], 0, l1->way, half);
		xr_places_add_stride(&set[n], capacity + delta, l1->way, half);
	}
	*line = 0;
	if (n == 0 || xr_are_compact(&l1->compact, set, NULL, n, answer) != 0)
		return n == 0 ? 0 : -1;
	while (first < n && answer[first].verdict == XR_NO)
		first++;
	for (size_t i = first; i < n; i++)
		if (answer[i].verdict != XR_YES)
			return 0;
	*line = UINT64_C(8) << first;
	return 0;
}

/* Cycles for 1, 2, … addresses of one set: for people to look at. */
static int put_curve(struct l1 *l1, const char *id)
{
	struct xr_arena *arena = xr_run_arena(l1->run);
	struct xr_spec spec[CURVE_MAX * ORDERS_OF_CURVE];
	struct xr_reading reading[CURVE_MAX * ORDERS_OF_CURVE];
	double x[CURVE_MAX], y[CURVE_MAX];
	size_t n = 2 * l1->ways < CURVE_MAX ? 2 * l1->ways : CURVE_MAX;
	size_t step = (2 * l1->ways + n - 1) / n;
	struct xr_effort effort = {.samples = 5, .samples_max = 5};

	while (n > 1 && n * step * l1->way > l1->room)
		n--;
	for (size_t i = 0; i < n; i++)
		for (size_t o = 0; o < ORDERS_OF_CURVE; o++) {
			struct xr_places set = xr_places_stride(arena, 0, l1->way, (i + 1) * step);

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
		y[i] = xr_median(cycles, ORDERS_OF_CURVE);
	}
	xr_series_put(xr_run_description(l1->run), id, "addresses one way apart", "", x, "time per access", "cycles", y,
	              n);
	return 0;
}

static int find_hit_latency(struct l1 *l1)
{
	struct xr_places one = xr_places_stride(xr_run_arena(l1->run), 0, STRIDE_MIN, 1);
	struct xr_spec spec = xr_places_cycle(xr_run_arena(l1->run), &one, l1->compact.buffer, 0);
	struct xr_reading reading;
	struct xr_fact *fact;

	if (xr_run_time(l1->run, &spec, 1, &reading) != 0)
		return -1;
	if (reading.status != XR_READ_OK) {
		xr_fact_none(xr_run_description(l1->run), "cache.l1d.latency", XR_FAILED, "%s", reading.reason);
		return 0;
	}
	l1->hit = xr_snap_integer(reading.cycles, 0.1);
	fact = xr_fact_number(xr_run_description(l1->run), "cache.l1d.latency", l1->hit, "cycles",
	                      reading.spread <= 0.02 ? 0.99 : 0.9, "one address, read over and over");
	if (reading.spread > 0.1)
		xr_fact_doubt(fact, "samples differ by %.0f %%", 100 * reading.spread);
	return 0;
}

static void put_none(struct l1 *l1, enum xr_status status, const char *reason)
{
	static const char *const id[] = {"cache.l1d.capacity", "cache.l1d.ways", "cache.l1d.line"};

	for (size_t i = 0; i < sizeof id / sizeof *id; i++)
		xr_fact_none(xr_run_description(l1->run), id[i], status, reason, (double)l1->room / 1024);
}

static void put_geometry(struct l1 *l1, uint64_t line)
{
	struct xr_description *d = xr_run_description(l1->run);
	const char *series = "cache.l1d.one_set";
	struct xr_fact *fact[3];
	double sure = 0.99;

	if (line == 0 && l1->way == STRIDE_MIN)
		line = l1->way;
	fact[0] =
		xr_fact_count(d, "cache.l1d.capacity", (long long)(l1->way * l1->ways), "bytes", sure, "compact sets");
	fact[1] = xr_fact_count(d, "cache.l1d.ways", (long long)l1->ways, "", sure, "compact sets");
	if (line)
		fact[2] = xr_fact_count(d, "cache.l1d.line", (long long)line, "bytes", sure,
		                        "two compact sets side by side");
	else
		fact[2] = xr_fact_none(d, "cache.l1d.line", XR_UNRELIABLE,
		                       "votes for neighbouring distances contradict each other");
	for (size_t i = 0; i < 3; i++) {
		xr_fact_add_series(fact[i], series);
		if (l1->doubt)
			xr_fact_doubt(fact[i], "%s", l1->doubt);
		else if (!l1->confirmed && i < 2)
			xr_fact_doubt(fact[i], "%zu ways, but the votes contradict each other", l1->ways);
	}
}

static int run(struct xr_run *run)
{
	const struct xr_target_info *info = xr_run_info(run);
	struct l1 l1 = {.run = run};
	uint64_t line;

	l1.room = power_of_two_below(info->memory_bytes / 4 < room_wanted ? info->memory_bytes / 4 : room_wanted);
	l1.compact = (struct xr_compact){.run = run, .buffer = {BUFFER, l1.room, XR_SMALL}, .page = info->page_bytes};
	if (find_hit_latency(&l1) != 0)
		return -1;
	l1.compact.hit = l1.hit;
	if (find_way(&l1) != 0)
		return -1;
	if (l1.way == 0) {
		put_none(&l1, XR_UNSUPPORTED,
		         "no data cache: every set of addresses within %.0f KiB takes the same time");
		xr_fact_none(
			xr_run_description(run), "cache.l1d.latency", XR_UNSUPPORTED,
			"no data cache: what was timed is memory, or a cache larger than what could be walked over");
		return 0;
	}
	xr_run_progress(run, 0.6, "ways");
	if (confirm_ways(&l1) != 0 || confirm_capacity(&l1) != 0)
		return -1;
	xr_run_progress(run, 0.8, "line");
	if (find_line(&l1, &line) != 0 || put_curve(&l1, "cache.l1d.one_set") != 0)
		return -1;
	put_geometry(&l1, line);
	return 0;
}

static const char *const finds[] = {"cache.l1d.capacity", "cache.l1d.ways", "cache.l1d.line", "cache.l1d.latency",
                                    NULL};
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
