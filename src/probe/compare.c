/* SPDX-License-Identifier: MIT */
/* Laps against their twins; see compare.h. */
#include "probe/compare.h"

#include "probe/places.h"
#include "stat/stat.h"

#include <math.h>

enum {
	ROUNDS = 16, /* of one comparison, at most */
	PAIR = XR_COMPARE_PAIR,
	NULLS = XR_COMPARE_NULLS,
	SAMPLES = 9,
};
/* A wrong answer spoils the set, and a set takes some hundred answers. */
static const double odds = 6.9;                                    /* ln 1000 */
static const double laps = 3, visit_ns = 8, least_sample_ns = 3e3; /* of a sample */
/* Of a miss: eight pages do not tell less. */
static const double least_noise = 0.1, least_uneven = 0.1;

/* ---- asking -------------------------------------------------------------------------------------------------------- */

uint64_t xr_compare_address(const struct xr_compare *s, uint32_t page)
{
	return (page & ~XR_MOVED) * s->c->item + (page & XR_MOVED ? s->elsewhere : s->at);
}

static void add(const struct xr_compare *s, struct xr_places *places, struct xr_page_list l, bool move, uint64_t by)
{
	for (size_t i = 0; i < l.n; i++)
		xr_places_add(places, xr_compare_address(s, l.at[i] ^ (move ? XR_MOVED : 0)) + by);
}

/* Both laps; returns their length. Of each page both lines of a pair are visited, since a prefetcher may bring
 * the other one anyway; in turns the first of one page and the second of another, so that neither two lines of
 * one set of the first level follow each other, which may cost more, nor the two of a pair, which would look like
 * a stream. */
static size_t lay(const struct xr_compare *s, struct xr_arena *arena, const struct xr_comparison *q,
                  struct xr_spec *spec)
{
	const size_t n = q->a.n + q->x.n + q->y.n;
	const uint64_t seed = xr_rng_next(xr_run_rng(s->c->run));

	for (int twin = 0; twin < 2; twin++) {
		struct xr_rng same = {seed};
		struct xr_places lap = xr_places_new(arena, PAIR * n), half[PAIR];

		for (size_t i = 0; i < s->lines; i++) {
			half[i] = xr_places_new(arena, n);
			add(s, &half[i], q->a, false, i * s->c->line);
			add(s, &half[i], q->x, twin, i * s->c->line);
			add(s, &half[i], q->y, !twin, i * s->c->line);
			xr_places_shuffle(&half[i], &same);
		}
		for (size_t i = 0; i < s->lines * n; i++)
			xr_places_add(&lap, half[i % s->lines].at[i / s->lines]);
		spec[twin] = xr_places_cycle(arena, &lap, s->c->buffer, 0);
		spec[twin].chain.unsettled = !s->c->settled;
	}
	return s->lines * n;
}

/* One round: what each first lap takes more than its twin, in cycles; NAN: not read. */
static int ask(struct xr_compare *s, const struct xr_comparison *const *q, size_t n, double *more)
{
	struct xr_arena arena = {0};
	struct xr_spec spec[2 * NULLS] = {{0}};
	struct xr_reading reading[2 * NULLS];
	struct xr_effort effort = s->c->effort;
	size_t length[NULLS], most = 0;
	int status;

	for (size_t i = 0; i < n; i++) {
		length[i] = lay(s, &arena, q[i], spec + 2 * i);
		most = length[i] > most ? length[i] : most;
		*s->c->left -= 2 * (double)length[i];
	}
	if (effort.samples == 0)
		effort = (struct xr_effort){.samples = SAMPLES,
		                            .samples_max = SAMPLES,
		                            .sample_ns = fmax(least_sample_ns, laps * visit_ns * (double)most)};
	effort.quiet_ns = s->c->quiet_ns;
	status = xr_run_time_with(s->c->run, &effort, spec, 2 * n, reading);
	for (size_t i = 0; i < n && status == 0; i++) {
		const struct xr_reading *lap = reading + 2 * i, *twin = lap + 1;
		bool ok = lap->status == XR_READ_OK && twin->status == XR_READ_OK;

		more[i] = ok ? (lap->cycles - twin->cycles) * (double)length[i] : NAN;
	}
	xr_arena_release(&arena);
	return status;
}

/* ---- weighing ------------------------------------------------------------------------------------------------------ */

/* Density of a difference d from what is expected, `reach`: how far those go that somebody else makes, in either
 * lap. Sigma was learnt from few laps: Student's t with as many degrees of freedom as the median of eight deviations has. */
static double bell(double d, double sigma, double reach)
{
	const double stray = 0.1; /* share of them */
	const double t = d / sigma, freedom = 3, at_0 = 2 / (M_PI * sqrt(3));

	return (1 - stray) * at_0 * pow(1 + t * t / freedom, -(freedom + 1) / 2) / sigma + stray / (2 * reach);
}

/* Evidence that a difference is that of an overflow: one miss of a lap or more, since a set cannot hold all its
 * lines. How many depends on ways and policy: any number alike, but not far fewer than were `seen` before. */
static double weigh(double more, double miss, double sigma, double stuck, double seen)
{
	static const double misses[] = {0.8, 1, 1.5, 2.3, 3.5, 5.2, 8, 12, 18, 27, 40, 60};
	enum { N = sizeof misses / sizeof *misses };
	const double step = 0.2,
		     reach = 2 * misses[N - 1] * miss; /* from one number to the next: a fifth to either side */
	const double fewer = 0.3;                      /* in laps of other pages and other orders */
	double sum = 0, n = 0;

	more = fmin(more, misses[N - 1] * miss);
	for (size_t i = 0; i < N; i++)
		if (misses[i] >= fewer * seen || i == N - 1) {
			sum += bell(more - misses[i] * miss, hypot(sigma, step * misses[i] * miss), reach);
			n++;
		}
	sum /= n;
	return log(sum / ((1 - stuck) * bell(more, sigma, reach) + stuck * sum));
}

/* Where no set overflows, in some orders tree-PLRU still keeps a line for ever that nobody asks for, and
 * throws others out. How often that is shows where the rounds of one question contradict each other: an overflow
 * misses in every round. */
static void learn_stuck(struct xr_compare *s, const struct xr_comparison *q)
{
	if (q->llr <= -odds && q->less <= -odds)
		s->stuck += q->misses_seen;
	s->rounds += q->rounds;
}

static double stuck_of(const struct xr_compare *s)
{
	const double before = 0.05, weight = 40; /* rounds: few machines do it at all, so some must be seen */

	return (before * weight + s->stuck) / (weight + s->rounds);
}

bool xr_compare_decided(const struct xr_comparison *q)
{
	if (!q->either)
		return fabs(q->llr) >= odds;
	return q->llr >= odds || q->less >= odds || (q->llr <= -odds && q->less <= -odds);
}

static struct xr_compare_scatter *scatter_of(struct xr_compare *s, struct xr_page_list a)
{
	return &s->scatter[(size_t)(2 * log2(fmax(1, (double)a.n)))];
}

/* How much two laps differ that are alike, of pages beside `a` one each, few of which can make a difference. What
 * differs again when asked again is noise; what does not is what these pages cost more at one offset than at the
 * other (way predictors, banks). It depends on how many lines there are, and not in proportion: few of them may
 * find the first level in one order, and not in the other. So it is learnt anew for every half of an octave. */
static int scatter_beside(struct xr_compare *s, struct xr_page_list a, struct xr_compare_scatter *found)
{
	struct xr_comparison q[NULLS];
	const struct xr_comparison *ask_about[NULLS];
	double more[2][NULLS], change[NULLS], stays[NULLS];
	size_t got = 0;
	struct xr_compare_scatter *known = scatter_of(s, a);

	for (size_t i = 0; i < NULLS && !known->known; i++) {
		q[i] = (struct xr_comparison){.a = a, .x = {s->pool.at + s->pool.n - 1 - i, 1}};
		ask_about[i] = &q[i];
	}
	for (int again = 0; again < 2 && !known->known; again++)
		if (ask(s, ask_about, NULLS, more[again]) != 0)
			return -1;
	for (size_t i = 0; i < NULLS && !known->known; i++)
		if (isfinite(more[0][i]) && isfinite(more[1][i])) {
			change[got] = (more[1][i] - more[0][i]) / M_SQRT2;
			stays[got++] = (more[0][i] + more[1][i]) / 2;
		}
	if (got > 2) {
		const double noise = xr_mad(change, got), both = xr_mad(stays, got);

		*known = (struct xr_compare_scatter){
			true, fmax(least_noise * s->c->miss, noise),
			fmax(least_uneven * s->c->miss, sqrt(fmax(0, both * both - noise * noise / 2)))};
	}
	*found = known->known ? *known : (struct xr_compare_scatter){false, s->c->miss, least_uneven * s->c->miss};
	return 0;
}

/* Asks until it is decided, or has been asked often enough; undecided: no. */
int xr_compare_decide(struct xr_compare *s, struct xr_comparison *q)
{
	const double *left = s->c->left;
	struct xr_compare_scatter scatter;

	q->llr = q->less = q->sum = q->rounds = q->misses_seen = 0;
	if (scatter_beside(s, q->a, &scatter) != 0)
		return -1;
	while (*left > 0 && q->rounds < ROUNDS && !xr_compare_decided(q)) {
		const struct xr_comparison *one = q;
		const double moved = (double)(q->x.n + q->y.n),
			     sigma = hypot(scatter.noise, scatter.uneven * sqrt(moved));
		double more;

		if (ask(s, &one, 1, &more) != 0)
			return -1;
		q->rounds++;
		if (!isfinite(more))
			continue;
		q->llr += weigh(more, s->c->miss, sigma, stuck_of(s), s->seen);
		q->less += weigh(-more, s->c->miss, sigma, stuck_of(s), s->seen);
		q->misses_seen += fabs(more) > fmax(s->c->miss / 2, 3 * sigma);
		q->sum += more;
	}
	if (!xr_compare_decided(q)) /* learnt while somebody else was there, or too early */
		scatter_of(s, q->a)->known = false;
	learn_stuck(s, q);
	q->misses = q->rounds ? q->sum / q->rounds / s->c->miss : 0;
	return 0;
}

bool xr_compare_yes(const struct xr_comparison *q)
{
	return q->llr >= odds;
}

bool xr_compare_contrary(const struct xr_comparison *q)
{
	return q->less >= odds;
}
