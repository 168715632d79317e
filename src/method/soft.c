/* Sets that overflow softly, see soft.h. */
#include "method/soft.h"

#include "util/arena.h"
#include "util/rng.h"

#include <math.h>
#include <string.h>

enum {
	PRELUDE = 8, /* visits of each place, at random */
	LAPS_BEFORE = 12,
	LAPS = 24,
	POINTS = 14,
	WAYS_MOST = 192, /* trials of more take too long */
};
static const double beside_others = 0.85;          /* certainty of how many of a set's entries are ours */
static const double few = 0.08, nearly_all = 0.92; /* of what misses cost: sets that are not soft are beyond both */
static const double from = 0.65, to = 1.35, high = 1.75; /* of the ways found: what is looked at */
static const double low = 0.5; /* share: up to here all kinds of soft sets are alike; above, chance decides */
static const double some = 1.2, clearly_none = 0.8, clearly_some = 1.6; /* misses in a lap: with one too many, two */
static const double overflown = 0.25; /* share that misses: with half as many again as fit, about half do */
static const double well = 0.035, believed = 0.06; /* misfit of a curve */

/* ---- one set ---- */

struct set {
	enum xr_goes goes;
	size_t ways, used, next; /* next: the one that came first */
	size_t *place;           /* by way */
	size_t *way;             /* by place, + 1; 0: not there */
	bool *used_lately;       /* by way */
	struct xr_rng rng;
};

static size_t victim(struct set *s)
{
	size_t unused = 0;
	if (s->goes == XR_GOES_FIRST)
		return s->next++ % s->ways;
	if (s->goes == XR_GOES_ANY)
		return (size_t)xr_rng_below(&s->rng, s->ways);
	while (unused + 1 < s->ways && s->used_lately[unused])
		unused++;
	return unused;
}

/* When all have been used lately, none but this one has. */
static void use(struct set *s, size_t way)
{
	s->used_lately[way] = true;
	for (size_t w = 0; w < s->ways; w++)
		if (!s->used_lately[w])
			return;
	memset(s->used_lately, 0, s->ways * sizeof *s->used_lately);
	s->used_lately[way] = true;
}

/* Visits a place; true: it was not there. */
static bool visit(struct set *s, size_t place)
{
	bool missed = !s->way[place];
	if (missed) {
		size_t way = s->used < s->ways ? s->used++ : victim(s);
		if (s->place[way] != SIZE_MAX)
			s->way[s->place[way]] = 0;
		s->place[way] = place;
		s->way[place] = way + 1;
	}
	if (s->goes == XR_GOES_UNUSED)
		use(s, s->way[place] - 1);
	return missed;
}

double xr_soft_share(enum xr_goes goes, size_t ways, size_t n)
{
	struct xr_arena arena = {0};
	struct set s = {.goes = goes, .ways = ways, .rng = {n * 1000 + ways}};
	size_t missed = 0;
	if (n <= ways)
		return 0;
	if (goes == XR_GOES_OLDEST)
		return 1;
	s.place = xr_arena_array(&arena, size_t, ways);
	s.way = xr_arena_array(&arena, size_t, n);
	s.used_lately = xr_arena_array(&arena, bool, ways);
	for (size_t w = 0; w < ways; w++)
		s.place[w] = SIZE_MAX;
	for (size_t i = 0; i < PRELUDE * n; i++)
		visit(&s, (size_t)xr_rng_below(&s.rng, n));
	for (size_t i = 0; i < (LAPS_BEFORE + LAPS) * n; i++)
		missed += visit(&s, i % n) && i >= LAPS_BEFORE * n;
	xr_arena_release(&arena);
	return (double)missed / (double)(LAPS * n);
}

/* ---- the fit ---- */

struct candidate {
	double squares, miss;
};

/* The last point says what misses cost, the last but one how soon all miss, the others where it begins. */
static struct candidate compare(enum xr_goes goes, size_t ways, const size_t *n, const double *cost, size_t points)
{
	struct candidate c = {INFINITY, 0};
	double all = xr_soft_share(goes, ways, n[points - 1]), squares = 0;
	if (!(all > 0) || !(cost[points - 1] > 0))
		return c;
	c.miss = cost[points - 1] / all;
	for (size_t i = 0; i + 1 < points; i++) {
		double share = xr_soft_share(goes, ways, n[i]), found = cost[i] / c.miss;
		double off = i + 2 < points ? fmin(share, low) - fmin(found, low) : share - found;
		squares += off * off;
	}
	c.squares = squares;
	return c;
}

struct xr_soft_fit xr_soft_fit(const size_t *n, const double *cost, size_t points, size_t lo, size_t hi)
{
	struct xr_soft_fit fit = {.misfit = INFINITY};
	double best = INFINITY;
	for (size_t ways = lo; ways <= hi; ways++)
		for (int goes = 0; goes < XR_N_GOES; goes++) {
			struct candidate c = compare((enum xr_goes)goes, ways, n, cost, points);
			if (!(c.squares < best))
				continue;
			best = c.squares;
			fit = (struct xr_soft_fit){.goes = (enum xr_goes)goes, .ways = ways, .miss = c.miss};
		}
	fit.misfit = sqrt(best / (double)points);
	return fit;
}

/* ---- TLBs ---- */

/* What a visit of n[i] pages costs more than it would if they were there. */
static int cost_of(const struct xr_page_family *f, double of_others, const size_t *n, size_t k, double *cost)
{
	struct xr_page_family same[POINTS] = {*f};
	for (size_t i = 1; i < k; i++)
		same[i] = *f;
	if (xr_pages_excess(same, n, k, cost) != 0)
		return -1;
	for (size_t i = 0; i < k; i++) /* pages of the set miss the nearer level, too, where there are others between */
		cost[i] = (cost[i] - of_others * (double)(n[i] + f->between)) / (double)n[i];
	return 0;
}

/* Up to the ways nothing misses; one page more, and at least one visit of every lap does: the ways are what is before the
 * first number of pages that does. Among n (k of them, growing), then between the two that it is between. */
static int find_onset(const struct xr_page_family *f, double of_others, double miss, size_t *n, double *cost, size_t k,
                      size_t *ways, double *sure)
{
	for (;;) {
		size_t first = 0, lo, hi;
		while (first < k && cost[first] * (double)n[first] < some * miss)
			first++;
		*ways = 0;
		if (first == 0 || first == k)
			return 0;
		lo = n[first - 1];
		hi = n[first];
		if (hi == lo + 1) {
			double before = cost[first - 1] * (double)lo / miss, after = cost[first] * (double)hi / miss;
			*ways = lo;
			*sure = before < clearly_none && after > clearly_some ? 0.97 : 0.75;
			return 0;
		}
		size_t step = (hi - lo + POINTS - 2) / (POINTS - 1);
		for (k = 0; k + 1 < POINTS && lo + k * step < hi; k++)
			n[k] = lo + k * step;
		n[k++] = hi;
		if (cost_of(f, of_others, n, k, cost) != 0)
			return -1;
	}
}

/* One page too many hardly shows, so the stride may have been found too large. Half as far apart, half as many again as fit
 * into one set are in two, and fit; if they do not, it is still one set. */
static int correct_stride(const struct xr_page_family *f, double of_others, double miss, struct xr_tlb_sets *sets)
{
	struct xr_page_family closer = *f;
	const size_t n = sets->ways * 3 / 2;
	double cost;

	for (; n > sets->ways && sets->stride % 2 == 0; sets->stride /= 2) {
		closer.stride = sets->stride / 2;
		if (closer.between > 0 && closer.stride <= closer.step)
			break;
		if (cost_of(&closer, of_others, &n, 1, &cost) != 0)
			return -1;
		if (cost < overflown * miss)
			break;
	}
	return 0;
}

int xr_pages_soften(const struct xr_page_family *f, double of_others, struct xr_tlb_sets *sets, double *penalty,
                    double *error)
{
	size_t w = sets->ways, n[POINTS] = {w, w + 1, 2 * w}, k = 0, ways;
	double cost[POINTS] = {0}, miss, sure;
	if (w < 2 || w > WAYS_MOST || 2 * w * f->stride > f->in->pages)
		return 0;
	if (cost_of(f, of_others, n, 3, cost) != 0)
		return -1;
	if (cost[0] < few * cost[2] && cost[1] > nearly_all * cost[2])
		return 0;
	for (size_t i = 0; i < POINTS; i++) {
		double x = i + 2 < POINTS ? from + (to - from) * (double)i / (POINTS - 3) : i + 1 < POINTS ? high : 2;
		size_t at = (size_t)lround((double)w * x);
		if (at > 1 && (k == 0 || at > n[k - 1]))
			n[k++] = at;
	}
	if (cost_of(f, of_others, n, k, cost) != 0)
		return -1;
	struct xr_soft_fit fit = xr_soft_fit(n, cost, k, w * 2 / 3 > 1 ? w * 2 / 3 : 1, w + 1);
	bool fits = fit.misfit < believed;
	miss = fits ? fit.miss : cost[k - 1];
	if (!(miss > 0))
		return 0;
	if (find_onset(f, of_others, miss, n, cost, k, &ways, &sure) != 0)
		return -1;
	if (ways == 0)
		return 0;
	if (fits && fabs((double)fit.ways - (double)ways) > 1 + (double)ways / 16)
		sure = fmin(sure, 0.6);
	/* Caches that lose lines look soft, too, but follow no such curve, and their pages are any distance apart. */
	if (fit.misfit > well || (f->stride & (f->stride - 1)))
		sure = fmin(sure, 0.6);
	sets->sure = ways == w ? fmax(sets->sure, sure) : sure;
	if (f->stride == 1) /* the one set is everybody's: 62 or 63 pages were seen to fit into 64 entries */
		sets->sure = fmin(sets->sure, beside_others);
	sets->ways = ways;
	sets->soft = true;
	*penalty = of_others + miss;
	*error = fmin(fit.misfit, 1) * miss;
	return correct_stride(f, of_others, miss, sets);
}
