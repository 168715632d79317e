/* SPDX-License-Identifier: MIT */
/* Ways of a set by belief; see ways.h. */
#include "infer/ways.h"

#include "infer/missrate.h"
#include "stat/stat.h"

#include <math.h>
#include <stdint.h>

/* The company a set may have. What matters is that there is none in most runs, some in few, and that he who is there
 * now may be there all the time; wrong by three, an answer moves only where the data leave it open. */
static const struct company {
	double steady; /* share of the sets in which somebody else always has a place: kernel, own code, stack */
	double bursts; /* share of the moments at which somebody has places, any number up to half of them, in all sets */
	double prior;
} company[] = {{0, 0.02, 0.6}, {0, 0.3, 0.08}, {0, 0.9, 0.04}, {0.04, 0.02, 0.15}, {0.12, 0.1, 0.1}, {0.3, 0.1, 0.03}};
enum {
	COMPANIES = sizeof company / sizeof *company,
	WAYS_AT_ONCE = 64,
	SETS_FEW = 4 /* of so few none is always somebody else's: it would be all or nothing */
};
/* That the first places too many do as they like; or, from seven eighths on, the last that fit as well: trees over
 * ways that are no power of two do not come to rest in every order. */
static const double blurred_prior[] = {0.6, 0.25, 0.15};
enum { BLURS = sizeof blurred_prior / sizeof *blurred_prior };

/* A miss need not cost the same in every walk: page tables come from nearer or farther. One sigma, relative to its
 * cost. */
static const double uneven = 0.2;
static const double many = 0.5; /* of visits that miss: so many say what a miss costs */

/* Arrays are built of powers of two where they can be. Of some forty published TLBs the ways of two thirds are, three
 * times one those of a quarter, five times one of a twentieth, more of the rest. */
static double built(size_t n)
{
	while (n && n % 2 == 0)
		n /= 2;
	return 1 / (double)n;
}

struct hypothesis {
	size_t ways;
	int sharp, company, blurred;
	double miss; /* what it costs */
};

/* The numbers of places that were walked over, each once, and the share that misses. */
struct shares {
	size_t lo, every, k;       /* ways lo, lo + every, … and one less than each */
	double *n, *share, *times; /* times: walks over so many */
};

static double *share_at(const struct shares *s, size_t ways, int sharp, size_t i)
{
	const size_t above = ways + s->every - s->lo, slot = 2 * (above / s->every) + (above % s->every ? 1 : 0);

	return &s->share[(slot * XR_MISSRATE_SHARPS + (size_t)sharp) * s->k + i];
}

static struct shares shares_of(struct xr_arena *arena, size_t lo, size_t hi, size_t every, const double *n, size_t k)
{
	struct shares s = {
		lo, every, 0, xr_arena_array(arena, double, k + 1), NULL, xr_arena_array(arena, double, k + 1)};

	for (size_t i = 0; i < k; i++) {
		size_t same = 0;

		while (same < s.k && s.n[same] != n[i])
			same++;
		if (same == s.k) {
			s.times[s.k] = 0;
			s.n[s.k++] = n[i];
		}
		s.times[same]++;
	}
	s.share = xr_arena_array(arena, double, 2 * ((hi - lo) / every + 3) * XR_MISSRATE_SHARPS * s.k + 1);
	for (size_t w = lo; w <= hi; w += every)
		for (int sharp = 0; sharp < XR_MISSRATE_SHARPS; sharp++)
			for (size_t i = 0; i < s.k; i++) {
				*share_at(&s, w, sharp, i) = xr_missrate(xr_missrate_sharps[sharp], (double)w, s.n[i]);
				*share_at(&s, w - 1, sharp, i) =
					xr_missrate(xr_missrate_sharps[sharp], (double)w - 1, s.n[i]);
			}
	return s;
}

static size_t index_of(const struct shares *s, double n)
{
	size_t i = 0;

	while (i + 1 < s->k && s->n[i] != n)
		i++;
	return i;
}

/* What a miss costs if this hypothesis holds; 0: nothing says so. */
static double cost_of_miss(const struct hypothesis *h, const struct shares *s, const struct xr_walk_seen *w, size_t n,
                           double *scratch)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		double share = *share_at(s, h->ways, h->sharp, index_of(s, w[i].n));

		if (share >= many)
			scratch[k++] = (w[i].seen - w[i].twin) / share;
	}
	return k ? xr_median(scratch, k) : 0;
}

static double predicted(const struct hypothesis *h, const struct shares *s, size_t i, const struct xr_walk_seen *w,
                        double *slack)
{
	const double others = w->sets < SETS_FEW ? 0 : company[h->company].steady;
	double share =
		(1 - others) * *share_at(s, h->ways, h->sharp, i) + others * *share_at(s, h->ways - 1, h->sharp, i);

	*slack = xr_noise_both(xr_noise_both(uneven * h->miss * share / (w->twin + h->miss * share), XR_TWINS_DIFFER),
	                       w->error);
	return w->twin + h->miss * share;
}

/* One more than fits, and in a large set a few. */
static bool in_blur(const struct hypothesis *h, double n)
{
	const size_t rest = h->blurred > 1 && h->ways & (h->ways - 1) ? h->ways / 8 : 0;

	return h->blurred && n > (double)(h->ways - rest) && n <= (double)(h->ways + 1 + h->ways / 32);
}

static double log_of_walk(const struct hypothesis *h, const struct shares *s, const struct xr_walk_seen *w,
                          const struct xr_noise *noise)
{
	const bool fits = w->n <= (double)h->ways, blurred = in_blur(h, w->n);
	double slack, as_it_likes = 0, exact;

	if (blurred)
		as_it_likes = xr_noise_log_none(noise, w->twin * (1 + (fits ? -3 : 3) * XR_TWINS_DIFFER),
		                                w->twin + 1.2 * h->miss, w->seen);
	if (blurred && !fits)
		return as_it_likes;
	exact = predicted(h, s, index_of(s, w->n), w, &slack);
	exact = xr_noise_log(noise, exact, w->seen, xr_noise_both(slack, noise->sigma)); /* the twin's own, too */
	/* Either, with one half; what so many places do they do every time, so that counts once. */
	return blurred ? fmax(exact, as_it_likes) - log(2) / s->times[index_of(s, w->n)] : exact;
}

/* log[m]: of the walks of the m-th moment, if the set has just these ways. */
static void log_by_moment(const struct hypothesis *h, const struct shares *s, const struct xr_walk_seen *w, size_t n,
                          const struct xr_noise *noise, double *log)
{
	for (size_t i = 0, m = 0; i < n; i++) {
		m += i > 0 && w[i].moment != w[i - 1].moment;
		log[m] = (i == 0 || w[i].moment != w[i - 1].moment ? 0 : log[m]) + log_of_walk(h, s, &w[i], noise);
	}
}

/* Logarithms of each moment become ratios to its likeliest, top[m]: who is below e^-700 is out anyhow. */
static void to_ratios(double *by_moment, size_t n_ways, size_t moments, double *top)
{
	for (size_t m = 0; m < moments; m++) {
		top[m] = by_moment[m];
		for (size_t i = 1; i < n_ways; i++)
			top[m] = fmax(top[m], by_moment[i * moments + m]);
		for (size_t i = 0; i < n_ways; i++)
			by_moment[i * moments + m] = exp(by_moment[i * moments + m] - top[m]);
	}
}

/* Of all moments, where somebody may have had places at some. ratio, top: see to_ratios(). */
static double log_in_company(const double *ratio, const double *top, size_t moments, size_t at, size_t fewest,
                             double bursts)
{
	double sum = 0;

	for (size_t m = 0; m < moments; m++) {
		double taken = 0;

		for (size_t k = fewest; k < at; k++)
			taken += ratio[k * moments + m];
		taken *= at > fewest ? bursts / (double)(at - fewest) : 0;
		sum += top[m] + log((1 - bursts) * ratio[at * moments + m] + taken + 1e-300);
	}
	return sum;
}

/* Of the walks over most places, the median. */
static double excess_of(const struct xr_walk_seen *w, size_t n, double *scratch)
{
	double most = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, w[i].n);
	for (size_t i = 0; i < n; i++)
		if (w[i].n == most)
			scratch[k++] = w[i].seen - w[i].twin;
	return k ? xr_median(scratch, k) : 0;
}

static double most_seen(const struct xr_walk_seen *w, size_t n)
{
	double most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmax(most, w[i].seen);
	return most;
}

/* The number of places that would tell most. */
static void next_question(struct xr_arena *arena, struct xr_ways *r, const struct xr_belief *b,
                          const struct hypothesis *h, const struct shares *known, const struct xr_walk_seen *like,
                          double sigma)
{
	const size_t every = 1 + (r->hi - r->lo) / WAYS_AT_ONCE, k = (r->hi - r->lo + r->hi / 8) / every + 2;
	double *n = xr_arena_array(arena, double, k), *log_seen = xr_arena_array(arena, double, b->n + 1), slack, tells;
	struct shares s;

	for (size_t i = 0; i < k; i++)
		n[i] = (double)(r->lo + i * every);
	s = shares_of(arena, known->lo, h[b->n - 1].ways, known->every, n, k);
	for (size_t i = 0; i < k; i++) {
		for (size_t j = 0; j < b->n; j++)
			log_seen[j] = h[j].miss > 0 ? log(predicted(&h[j], &s, i, like, &slack)) : NAN;
		tells = xr_belief_tells(b, log_seen, sigma);
		if (tells > r->tells) {
			r->tells = tells;
			r->ask = r->lo + i * every;
		}
	}
}

static void sum_up(struct xr_ways *r, const struct xr_belief *b, const struct hypothesis *h, size_t lo, size_t hi,
                   size_t every)
{
	double top, all, most = 0;
	size_t best = xr_belief_best(b, &top);

	if (best == b->n)
		return;
	all = b->log[best] - log(top);
	r->sharp = xr_missrate_sharps[h[best].sharp];
	r->miss = h[best].miss;
	r->lo = SIZE_MAX;
	for (size_t w = lo; w <= hi; w += every) {
		double p = 0, near = 0;

		for (size_t i = 0; i < b->n; i++) {
			double own = h[i].ways + every >= w && h[i].ways <= w + every ? exp(b->log[i] - all) : 0;

			p += h[i].ways == w ? own : 0;
			near += own;
		}
		if (p > 0.003) { /* what is less likely would not be told as sure in any case */
			r->lo = w < r->lo ? (w > every ? w - every + 1 : 1) : r->lo;
			r->hi = w + every - 1;
		}
		if (p > most) {
			most = p;
			r->p = every > 1 ? p / (double)every : p;
			r->p_near = near;
			r->ways = w;
		}
	}
}

/* by_moment[i * moments + m] for lo, lo + every, … ways. */
static void log_of_ways(const struct hypothesis *like, size_t n_ways, const struct shares *s,
                        const struct xr_walk_seen *walk, size_t n, const struct xr_noise *noise, size_t moments,
                        double *scratch, double *by_moment)
{
	for (size_t i = 0; i < n_ways; i++) {
		struct hypothesis h = *like;

		h.ways = s->lo + i * s->every;
		h.miss = cost_of_miss(&h, s, walk, n, scratch);
		if (h.miss > 0)
			log_by_moment(&h, s, walk, n, noise, by_moment + i * moments);
		for (size_t m = 0; m < moments && !(h.miss > 0); m++)
			by_moment[i * moments + m] = -1e6;
	}
}

/* The fewest ways that company leaves of so many, as a place in the list. */
static size_t half_of(const struct shares *s, size_t ways)
{
	return ways / 2 > s->lo ? (ways / 2 - s->lo) / s->every : 0;
}

struct xr_ways xr_ways_of(struct xr_arena *arena, size_t lo, size_t hi, const struct xr_walk_seen *walk, size_t n,
                          const struct xr_noise *noise)
{
	const size_t every = 1 + (hi - lo) / WAYS_AT_ONCE, n_ways = (hi - lo) / every + 1,
		     fewer = (lo - 1 < hi / 2 ? lo - 1 : hi / 2) / every,
		     all = n_ways * XR_MISSRATE_SHARPS * COMPANIES * BLURS;
	struct hypothesis *h = xr_arena_array(arena, struct hypothesis, all);
	double *prior = xr_arena_array(arena, double, all), *log = xr_arena_array(arena, double, all),
	       *scratch = xr_arena_array(arena, double, n + 1), most = most_seen(walk, n), none = 0;
	struct xr_walk_seen like = {0};
	struct xr_ways r = {.lo = lo, .hi = hi};
	struct xr_belief b;
	struct shares s;
	size_t k = 0, moments = n > 0;

	for (size_t i = 0; i < n; i++) {
		scratch[i] = walk[i].n;
		none += xr_noise_log_none(noise, 0.9 * walk[i].twin, 1.1 * most, walk[i].seen);
		like.twin += walk[i].twin / (double)n;
		like.sets += walk[i].sets / (double)n;
		moments += i > 0 && walk[i].moment != walk[i - 1].moment;
	}
	s = shares_of(arena, lo - fewer * every, hi, every, scratch, n);
	r.excess = excess_of(walk, n, scratch);
	double *by_moment = xr_arena_array(arena, double, (n_ways + fewer) * moments + 1),
	       *top = xr_arena_array(arena, double, moments + 1);
	for (int kind = 0; kind < XR_MISSRATE_SHARPS * BLURS; kind++)
		for (int c = 0; c < COMPANIES; c++) {
			struct hypothesis like_these = {lo, kind / BLURS, c, kind % BLURS, 0};

			if (c == 0 || company[c].steady != company[c - 1].steady) {
				log_of_ways(&like_these, n_ways + fewer, &s, walk, n, noise, moments, scratch,
				            by_moment);
				to_ratios(by_moment, n_ways + fewer, moments, top);
			}
			for (size_t i = 0; i < n_ways; i++, k++) {
				h[k] = like_these;
				h[k].ways = lo + i * every;
				h[k].miss = cost_of_miss(&h[k], &s, walk, n, scratch);
				log[k] = h[k].miss > 0 ? log_in_company(by_moment, top, moments, i + fewer,
				                                        half_of(&s, h[k].ways), company[c].bursts)
				                       : -1e6;
				prior[k] = company[c].prior * blurred_prior[kind % BLURS] * built(h[k].ways);
			}
		}
	b = xr_belief_new(arena, k, prior);
	xr_belief_add(&b, log, none, 1);
	sum_up(&r, &b, h, lo, hi, every);
	if (r.p > 0)
		next_question(arena, &r, &b, h, &s, &like, xr_noise_both(M_SQRT2 * noise->sigma, XR_TWINS_DIFFER));
	return r;
}

/* Walks of one moment that do not fit say little more than one of them: somebody may have been there. */
double xr_ways_overflow(const struct xr_walk_seen *walk, size_t n, double miss, bool alone,
                        const struct xr_noise *noise)
{
	double all = 0;

	for (int c = 0; c < COMPANIES; c++) {
		const double bursts = alone ? 0 : company[c].bursts;
		double log_odds = 0, fits = 0, over = 0;

		for (size_t i = 0; i < n; i++) {
			const double slack = xr_noise_both(xr_noise_both(noise->sigma, XR_TWINS_DIFFER), walk[i].error);

			fits += xr_noise_log(noise, walk[i].twin + company[c].steady * miss / 2, walk[i].seen, slack);
			/* from random replacement, a quarter more than fit, to LRU and dearer misses */
			over += xr_noise_log_none(noise, walk[i].twin + 0.3 * miss, walk[i].twin + 4 * miss,
			                          walk[i].seen);
			if (i + 1 < n && walk[i + 1].moment == walk[i].moment)
				continue;
			log_odds += log((1 - bursts) * exp(fmin(300, fits - over)) + bursts + 1e-12);
			fits = over = 0;
		}
		all += company[c].prior * exp(fmin(500, log_odds));
	}
	return 1 / (1 + all);
}

double xr_ways_prior(size_t ways)
{
	while (ways && ways % 2 == 0)
		ways /= 2;
	return ways == 1 ? 1 : ways <= 5 ? 0.5 : 0.15;
}

double xr_ways_weigh(double p, size_t ways)
{
	const double usual = xr_ways_prior(ways);

	return p > 0 ? p * usual / (p * usual + (1 - p)) : p;
}
