/* Sets of pages, see pagesets.h. */
#include "method/pagesets.h"

#include "stat/stat.h"

#include <math.h>

enum {
	CONFIRM_VOTES = 4,
	ATTEMPTS = 6,
	ODD_MAX = 16,
	ORDERS = 3,
	MORE_ORDERS = 8,
	RAMP_MAX = 11,
	RAMP_AROUND = 4,
	RAMP_ORDERS = 15,
	RAMP_TRIES = 6,
	RESAMPLES = 200
};
static const double sure_llr = 4.6;  /* 1 wrong in 100 */
static const double quickest = 0.05; /* of samples */
static const double hardly_slow = 0.015;

static uint64_t colours_of(const struct xr_pagesets *in)
{
	return in->colours ? in->colours : 1;
}

static size_t folded(size_t page, unsigned bits)
{
	return (page ^ page >> bits) & (((size_t)1 << bits) - 1);
}

/* The i-th page of n, or of those between; *other: where to look for the next of these. */
static size_t page_at(const struct xr_page_family *f, size_t i, size_t n, size_t *other)
{
	if (i < n)
		return f->fold ? i << f->fold | (i ^ f->set) : i * f->stride;
	if (!f->fold)
		return (2 * (i - n) + 1) * f->step;
	while (folded(*other, f->fold) == f->set)
		++*other;
	return (*other)++;
}

static void lay(const struct xr_page_family *f, size_t n, struct xr_places *set, struct xr_places *twin)
{
	struct xr_arena *arena = xr_run_arena(f->in->run);
	uint64_t page = f->in->page, line = f->in->line, lines = page / line ? page / line : 1;
	uint64_t colours = colours_of(f->in);
	size_t all = n + f->between, other = 0;

	*set = xr_places_new(arena, all);
	*twin = xr_places_new(arena, all);
	for (size_t i = 0; i < all; i++) {
		uint64_t which = page_at(f, i, n, &other);
		uint64_t within = (i + i / lines) % lines * line;

		xr_places_add(set, which * page + within);
		xr_places_add(twin, (i / lines * colours + which % colours) * page + within);
	}
}

static void make_pages(void *self, size_t n, struct xr_places *set, struct xr_places *twin)
{
	lay(self, n, set, twin);
}

static bool about_equal(size_t a, size_t b)
{
	size_t small = a < b ? a : b, large = a < b ? b : a;

	return large * 4 <= small * 5;
}

/* Most pages of this family that there is room for. */
static size_t room_for(const struct xr_page_family *f)
{
	size_t sets = (size_t)1 << f->fold, rows = f->in->pages / sets;

	if (f->fold)
		return rows < sets ? rows : sets;
	return f->in->pages / f->stride;
}

int xr_pages_length(struct xr_page_family *f, size_t limit, const size_t *guess, size_t *n)
{
	size_t room = room_for(f);

	if (limit > room)
		limit = room;
	*n = SIZE_MAX;
	if (limit < 2)
		return 0;
	f->in->compact.idle = f->between;
	if (xr_first_not_compact(&f->in->compact, make_pages, f, 2, limit, guess, n) != 0)
		return -1;
	if (*n > limit)
		*n = SIZE_MAX;
	return 0;
}

/* Do so many pages fit? More than there is room for do not. */
static int fit(struct xr_page_family *f, size_t n, bool *yes)
{
	struct xr_places set, twin;
	struct xr_compact_answer answer;

	*yes = false;
	if (n > room_for(f))
		return 0;
	lay(f, n, &set, &twin);
	f->in->compact.idle = f->between;
	if (xr_are_compact(&f->in->compact, &set, &twin, 1, &answer) != 0)
		return -1;
	*yes = answer.verdict == XR_YES;
	return 0;
}

/* The number need not be known exactly before the stride is: half as many as did not fit before is less than what fit. */
int xr_pages_follow_up(struct xr_page_family *f, size_t lo, size_t hi, size_t *n)
{
	bool lo_fits, hi_fits;

	*n = SIZE_MAX;
	if (fit(f, lo, &lo_fits) != 0 || fit(f, hi, &hi_fits) != 0)
		return -1;
	if (!lo_fits || hi_fits) {
		const size_t guess[] = {lo + 1, hi, 0};

		if (xr_pages_length(f, SIZE_MAX, guess, &hi) != 0)
			return -1;
		if (hi == SIZE_MAX)
			return 0;
		lo = hi - 1;
	}
	for (;; f->stride *= 2) {
		struct xr_page_family wider = *f;

		wider.stride *= 2;
		if (lo > room_for(&wider))
			return 0;
		if (fit(&wider, lo, &lo_fits) != 0)
			return -1;
		if (lo_fits)
			break;
		lo = lo > 3 ? lo / 2 : 1;
		hi = hi / 2 + 1;
	}
	return xr_pages_length(f, 2 * hi, (const size_t[]){lo + 1, hi, 0}, n);
}

int xr_pages_follow_down(struct xr_page_family *f, size_t least, size_t n, bool *rule)
{
	const size_t guess[] = {2 * n - 1, 0};
	size_t next = 2 * n - 1;

	for (; f->stride / 2 >= least && f->stride > 1; f->stride /= 2) {
		struct xr_page_family closer = *f;
		bool more;

		closer.stride /= 2;
		if (closer.stride <= closer.step) /* nothing of its own set would come between */
			closer.between = 0;
		if (fit(&closer, n + (n - 1) / 4, &more) != 0)
			return -1;
		if (more) {
			if (xr_pages_length(&closer, n * 3, guess, &next) != 0)
				return -1;
			break;
		}
		f->between = closer.between;
	}
	*rule = about_equal(2 * n - 1, next);
	return 0;
}

int xr_pages_try_odd(const struct xr_page_family *f, struct xr_tlb_sets *sets)
{
	struct xr_places set[ODD_MAX], twin[ODD_MAX];
	struct xr_compact_answer answer[ODD_MAX];
	size_t ways[ODD_MAX], k = 0;

	/* Few ways first: the first to overflow is it, all after it must. */
	for (size_t w = 1; w < sets->ways && k < ODD_MAX; w++) {
		struct xr_page_family g = *f;

		g.stride = sets->stride * (sets->ways / w);
		if (sets->ways % w != 0 || sets->ways / w % 2 == 0 || w + 1 > room_for(&g))
			continue;
		lay(&g, w + 1, &set[k], &twin[k]);
		ways[k++] = w;
	}
	if (k == 0)
		return 0;
	f->in->compact.idle = f->between;
	if (xr_are_compact(&f->in->compact, set, twin, k, answer) != 0)
		return -1;
	for (size_t i = 0; i < k; i++)
		if (answer[i].verdict == XR_NO) {
			sets->stride *= sets->ways / ways[i];
			sets->ways = ways[i];
			break;
		}
	return 0;
}

/* What says that the ways fit, that one more does not, and that at half the stride it would. */
struct weights {
	double fits, overflows, apart;
};

static int weigh(const struct xr_page_family *f, size_t least, const struct xr_tlb_sets *sets, struct weights *w)
{
	struct xr_places set[5], twin[5];
	struct xr_compact_answer answer[5];
	struct xr_page_family half = *f, twice = *f;
	size_t n = 4;

	half.stride = sets->stride / 2;
	twice.stride *= 2;
	if (f->fold)
		twice.set = (size_t)xr_rng_below(xr_run_rng(f->in->run), sets->stride);
	else if (sets->ways + 1 > room_for(&twice))
		twice = *f;
	for (size_t i = 0; i < 4; i++)
		lay(i < 2 ? &twice : f, sets->ways + i % 2, &set[i], &twin[i]);
	if (!f->fold && sets->stride % 2 == 0 && half.stride >= least && (f->between == 0 || half.stride > f->step))
		lay(&half, sets->ways + 1, &set[n++], &twin[4]);
	f->in->compact.idle = f->between;
	if (xr_are_compact(&f->in->compact, set, twin, n, answer) != 0)
		return -1;
	w->fits += fmin(answer[0].llr, answer[2].llr);
	w->overflows -= fmax(answer[1].llr, answer[3].llr);
	w->apart += n > 4 ? answer[4].llr : sure_llr;
	return 0;
}

int xr_pages_confirm(const struct xr_page_family *f, size_t least, struct xr_tlb_sets *sets)
{
	struct xr_compact before = f->in->compact;
	struct weights w = {0, 0, 0};
	struct xr_page_family own = *f;

	own.stride = sets->stride;
	sets->sure = 0;
	f->in->compact.sure = sure_llr;
	f->in->compact.least = CONFIRM_VOTES;
	for (int attempt = 0; attempt < ATTEMPTS && fmin(w.apart, fmin(w.fits, w.overflows)) < sure_llr; attempt++) {
		size_t ways = sets->ways;

		if (weigh(&own, least, sets, &w) != 0)
			return -1;
		sets->sure = xr_llr_probability(w.fits) * xr_llr_probability(w.overflows) * xr_llr_probability(w.apart);
		if (w.fits < 0 && w.overflows > 0 && ways > 1)
			sets->ways--;
		else if (w.fits > 0 && w.overflows < 0 && ways + 2 <= room_for(&own))
			sets->ways++;
		if (sets->ways != ways)
			w = (struct weights){0, 0, 0};
	}
	f->in->compact = before;
	return 0;
}

/* Walks over n[i] pages of the i-th of k families and over as many packed lines, in so many orders of each:
 * reading[2 (i orders + o)] and the next. */
static int read_orders(const struct xr_page_family *f, const size_t *n, size_t k, size_t orders,
                       const struct xr_effort *effort, struct xr_reading *reading)
{
	struct xr_run *run = f->in->run;
	struct xr_arena *arena = xr_run_arena(run);
	struct xr_buffer beside = f->in->compact.buffer;
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, k * 2 * orders);

	beside.id++;
	for (size_t i = 0; i < k * orders; i++) {
		struct xr_places set, twin;
		struct xr_page_family own = f[i / orders];
		uint64_t seed;

		if (own.fold)
			own.set = (size_t)xr_rng_below(xr_run_rng(run), (uint64_t)1 << own.fold);
		lay(&own, n[i / orders], &set, &twin);
		set = xr_compact_elsewhere(&f->in->compact, &set);
		seed = xr_places_seed(arena, &set, xr_run_rng(run));
		spec[2 * i] = xr_places_cycle(arena, &set, f->in->compact.buffer, seed);
		spec[2 * i + 1] = xr_places_cycle(arena, &twin, beside, seed);
	}
	return xr_run_time_with(run, effort, spec, k * 2 * orders, reading);
}

/* Cycles per round more than packed lines, in so many orders of each: cycles[i * orders + o]. */
static int excess_by_order(const struct xr_page_family *f, const size_t *n, size_t k, size_t orders,
                           const struct xr_effort *effort, double *cycles)
{
	struct xr_reading *reading = xr_arena_array(xr_run_arena(f->in->run), struct xr_reading, k * 2 * orders);

	if (read_orders(f, n, k, orders, effort, reading) != 0)
		return -1;
	for (size_t i = 0; i < k * orders; i++)
		cycles[i] = (reading[2 * i].cycles - reading[2 * i + 1].cycles) *
		            (double)(n[i / orders] + f[i / orders].between);
	return 0;
}

int xr_pages_excess(const struct xr_page_family *f, const size_t *n, size_t k, double *cycles)
{
	struct xr_effort effort = {.samples = 7, .samples_max = 7};
	double *each = xr_arena_array(xr_run_arena(f->in->run), double, k *ORDERS);

	if (excess_by_order(f, n, k, ORDERS, &effort, each) != 0)
		return -1;
	for (size_t i = 0; i < k; i++)
		cycles[i] = xr_median(each + i * ORDERS, ORDERS);
	return 0;
}

/* All samples of every other reading, from the first on. */
static double *samples_of(const struct xr_reading *reading, size_t n, struct xr_arena *arena, size_t *k)
{
	size_t all = 0;
	double *sample;

	for (size_t i = 0; i < n; i++)
		all += (size_t)reading[2 * i].samples;
	sample = xr_arena_array(arena, double, all + 1);
	*k = 0;
	for (size_t i = 0; i < n; i++)
		for (int s = 0; s < reading[2 * i].samples; s++)
			sample[(*k)++] = reading[2 * i].sample[s];
	return sample;
}

/* What one visit takes in these orders, in peace. While somebody uses the core's other thread samples take longer, by
 * more or less, so the quickest few count; and those of the packed lines as well, so that what makes samples quicker
 * than they are cancels; where even these were slow it does not. Lines that do not hit the first cache are no such
 * measure. *doubt: how much the others differ. */
static double peaceful_cycles(const struct xr_pagesets *in, const struct xr_reading *reading, size_t n, double *doubt)
{
	struct xr_arena *arena = xr_run_arena(in->run);
	size_t k, packed;
	double *set = samples_of(reading, n, arena, &k), *twin = samples_of(reading + 1, n, arena, &packed);
	double low, base, hit = in->compact.hit;

	if (k == 0 || packed == 0)
		return NAN;
	low = xr_quantile(set, k, quickest);
	base = xr_quantile(twin, packed, quickest);
	*doubt = fmax(xr_median(set, k) - low, fabs(base - hit));
	if (hit <= 0 || fabs(base - hit) > 0.1 * hit)
		return xr_median(set, k) - xr_median(twin, packed);
	return low * hit / fmin(base, (1 + hardly_slow) * hit) - hit;
}

int xr_pages_penalty(const struct xr_page_family *f, size_t n, double of_others, double *cycles, double *error)
{
	struct xr_reading r[2 * MORE_ORDERS] = {{.status = XR_READ_OK}};
	double all = (double)(n + f->between), each, first, second, doubt = 0, other = 0;
	const size_t half = MORE_ORDERS / 2;

	if (read_orders(f, &n, 1, MORE_ORDERS, NULL, r) != 0)
		return -1;
	each = peaceful_cycles(f->in, r, MORE_ORDERS, &doubt);
	first = peaceful_cycles(f->in, r, half, &other);
	second = peaceful_cycles(f->in, r + 2 * half, MORE_ORDERS - half, &other);
	*cycles = (each * all - (double)f->between * of_others) / (double)n;
	*error = fmax(fabs(first - second) / 2, doubt / 3) * all / (double)n;
	return 0;
}

/* One page too many pushes out all pages of its set where the oldest goes, about half of them where any not used lately
 * goes; where all fit, somebody else's pages push out a few. So the line is drawn between a few and half. (Second TLBs of
 * 16 ways lost a fifth with one page too many, two fifths with two, and as much with one or two less beside a neighbour.) */
static const double pushed_out = 1.0 / 3;
static const double line_from = 0.2, line_to = 0.6; /* and might be drawn anywhere in here */

/* How large a share of its pages a set loses over the number of pages, in some orders each of which is of another set. */
struct ramp {
	size_t n[RAMP_MAX + 2], k; /* the first fits for sure, the last is too many for sure */
	double share[RAMP_ORDERS][RAMP_MAX];
	size_t orders;
};

static int read_ramp(const struct xr_page_family *f, struct ramp *r)
{
	struct xr_page_family same[RAMP_MAX + 2];
	double cycles[(RAMP_MAX + 2) * RAMP_ORDERS] = {0};
	struct xr_effort effort = {.samples = 7, .samples_max = 7};
	size_t last = r->k - 1;

	same[0] = *f;
	for (size_t i = 1; i < r->k; i++)
		same[i] = *f;
	if (excess_by_order(same, r->n, r->k, r->orders, &effort, cycles) != 0)
		return -1;
	for (size_t o = 0; o < r->orders; o++) {
		double none = cycles[o] / (double)(r->n[0] + f->between), full;

		full = (cycles[last * r->orders + o] - (double)(r->n[last] + f->between) * none) / (double)r->n[last];
		for (size_t i = 1; i < last; i++)
			r->share[o][i - 1] = (cycles[i * r->orders + o] - (double)(r->n[i] + f->between) * none) /
			                     (double)r->n[i] / full;
	}
	return 0;
}

/* The last number of pages before this share is lost, by the medians of these orders. */
static size_t pages_before(const struct ramp *r, const size_t *order, size_t orders, double line)
{
	double of_order[RAMP_ORDERS], middle[RAMP_MAX] = {0};
	size_t inner = r->k - 2, i = 0;

	for (size_t k = 0; k < inner; k++) {
		for (size_t o = 0; o < orders; o++)
			of_order[o] = r->share[order ? order[o] : o][k];
		middle[k] = xr_median(of_order, orders);
	}
	xr_monotone_l1(middle, inner, middle);
	while (i < inner && middle[i] <= line)
		i++;
	return r->n[i];
}

/* From one length that fits to one that does not, every `step`-th. */
static void make_ramp(struct ramp *r, size_t from, size_t to, size_t step, size_t all, size_t orders)
{
	r->k = 0;
	r->orders = orders;
	r->n[r->k++] = 1;
	for (size_t n = from; n <= to && n < all && r->k <= RAMP_MAX; n += step)
		r->n[r->k++] = n;
	r->n[r->k++] = all;
}

/* What other sets, and another line between few and half, would have said. */
static void weigh_ramp(const struct ramp *r, struct xr_rng *rng, struct xr_tlb_sets *sets, double *near)
{
	size_t equal = 0, close = 0;

	for (int i = 0; i < RESAMPLES; i++) {
		size_t order[RAMP_ORDERS], ways;

		for (size_t o = 0; o < r->orders; o++)
			order[o] = (size_t)xr_rng_below(rng, r->orders);
		ways = pages_before(r, order, r->orders, line_from + (line_to - line_from) * xr_rng_unit(rng));
		equal += ways == sets->ways;
		close += ways + 1 >= sets->ways && ways <= sets->ways + 1;
	}
	sets->sure = (double)equal / RESAMPLES;
	*near = (double)close / RESAMPLES;
}

int xr_pages_ramp(const struct xr_page_family *f, size_t all, struct xr_tlb_sets *sets, double *near)
{
	struct ramp r;

	sets->ways = 0;
	sets->sure = *near = 0;
	make_ramp(&r, 2, all - 1, (all + RAMP_MAX - 1) / RAMP_MAX, all, RAMP_ORDERS / 3);
	if (read_ramp(f, &r) != 0)
		return -1;
	for (int i = 0; i < RAMP_TRIES; i++) {
		size_t about = pages_before(&r, NULL, r.orders, pushed_out);

		/* Around it; where it is not inside of that, once more. */
		make_ramp(&r, about > RAMP_AROUND + 1 ? about - RAMP_AROUND : 2, about + RAMP_AROUND, 1, all,
		          RAMP_ORDERS);
		if (read_ramp(f, &r) != 0)
			return -1;
		sets->ways = pages_before(&r, NULL, r.orders, pushed_out);
		if ((sets->ways >= r.n[1] || r.n[1] == 2) && sets->ways < r.n[r.k - 2]) {
			weigh_ramp(&r, xr_run_rng(f->in->run), sets, near);
			break;
		}
	}
	return 0;
}
