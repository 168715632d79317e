/* SPDX-License-Identifier: MIT */
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
		const size_t guess[] = {lo + 1, hi, 0}, near = 2 * hi;

		/* Not far beyond, at first: where lines of so many miss caches, the packed ones may cost more. */
		if (xr_pages_length(f, near, guess, &hi) != 0 ||
		    (hi == SIZE_MAX && xr_pages_length(f, SIZE_MAX, (const size_t[]){near, 0}, &hi) != 0))
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

int xr_pages_excess_by_order(const struct xr_page_family *f, const size_t *n, size_t k, size_t orders, double *cycles)
{
	const struct xr_effort effort = {.samples = 7, .samples_max = 7};
	struct xr_arena *arena = xr_run_arena(f->in->run);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, k * 2 * orders);

	if (read_orders(f, n, k, orders, &effort, reading) != 0)
		return -1;
	for (size_t i = 0; i < k * orders; i++)
		cycles[i] = (reading[2 * i].cycles - reading[2 * i + 1].cycles) *
		            (double)(n[i / orders] + f[i / orders].between);
	return 0;
}

int xr_pages_excess(const struct xr_page_family *f, const size_t *n, size_t k, double *cycles)
{
	double *each = xr_arena_array(xr_run_arena(f->in->run), double, k *ORDERS);

	if (xr_pages_excess_by_order(f, n, k, ORDERS, each) != 0)
		return -1;
	for (size_t i = 0; i < k; i++) {
		double *of = each + i * ORDERS;
		size_t read = 0;

		for (size_t o = 0; o < ORDERS; o++) /* a failed reading is no reading */
			if (!isnan(of[o]))
				of[read++] = of[o];
		cycles[i] = xr_median(of, read);
	}
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
 * measure, and where chance decides, the quickest are the luckiest. *doubt: how much the others differ. */
static double peaceful_cycles(const struct xr_pagesets *in, const struct xr_reading *reading, size_t n, bool chance,
                              double *doubt)
{
	struct xr_arena *arena = xr_run_arena(in->run);
	size_t k, packed;
	double *set = samples_of(reading, n, arena, &k), *twin = samples_of(reading + 1, n, arena, &packed);
	double low, base, hit = in->compact.hit;

	if (k == 0 || packed == 0)
		return NAN;
	low = xr_quantile(set, k, chance ? 0.5 : quickest);
	base = xr_quantile(twin, packed, chance ? 0.5 : quickest);
	*doubt = xr_median(set, k) - xr_quantile(set, k, quickest);
	if (hit <= 0 || fabs(base - hit) > 0.1 * hit) {
		*doubt = fmax(*doubt, xr_median(twin, packed) - base);
		return xr_median(set, k) - xr_median(twin, packed);
	}
	*doubt = fmax(*doubt, fabs(base - hit));
	return low * hit / fmin(base, (1 + hardly_slow) * hit) - hit;
}

int xr_pages_penalty(const struct xr_page_family *f, size_t n, double of_others, bool chance, double *cycles,
                     double *error)
{
	struct xr_reading r[2 * MORE_ORDERS] = {{.status = XR_READ_OK}};
	double all = (double)(n + f->between), each, first, second, doubt = 0, other = 0;
	const size_t half = MORE_ORDERS / 2;

	if (read_orders(f, &n, 1, MORE_ORDERS, NULL, r) != 0)
		return -1;
	each = peaceful_cycles(f->in, r, MORE_ORDERS, chance, &doubt);
	first = peaceful_cycles(f->in, r, half, chance, &other);
	second = peaceful_cycles(f->in, r + 2 * half, MORE_ORDERS - half, chance, &other);
	*cycles = (each * all - (double)f->between * of_others) / (double)n;
	*error = fmax(fabs(first - second) / 2, doubt / 3) * all / (double)n;
	return 0;
}
