/* SPDX-License-Identifier: MIT */
/* The law of random lines; see scatter.h. */
#include "infer/scatter.h"

#include "infer/array.h"
#include "infer/ways.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	WAYS_MOST = 32,
	ODD_MOST = 15, /* sets: an odd number up to this one times a power of two */
	LAPS = 12,     /* of a simulated set, after as many that do not count, */
	SIMULATED = 3, /* up to so many times as many lines as ways */
	LOADS = 160,   /* steps of the table of misses, */
	LOAD_MOST = 5, /* up to so many times as many lines as ways: more than that is all misses */
	ROUNDS = 4,    /* of the fit of near and far */
	FEWEST_SETS = 4,
	OCTAVES = 8,
	FEATURES = 12, /* of a curve: no more than so many points tell something of their own */
};

/* Policies that differ in this law. Those that keep some lines of a set that overflows and thrash the others
 * (SRRIP, QLRU, adaptive ones) do so more or less, by what was there before: they are between LRU and random, in
 * any proportion. */
static const struct {
	int policy;
	double share, prior; /* of LRU in it */
} policies[] = {{XR_LRU, 0, 0.35},       {XR_PLRU, 0, 0.2},      {XR_NRU, 0, 0.1},       {XR_RANDOM, 0, 0.15},
                {XR_RANDOM, 0.25, 0.07}, {XR_RANDOM, 0.5, 0.07}, {XR_RANDOM, 0.75, 0.06}};
enum { POLICIES = sizeof policies / sizeof *policies, UNKNOWN = 4 /* of them, where the ways are not known either */ };

/* How far the law may be off, relative to far - near: not at all, a little, or rather. */
static const double misfit[] = {0.003, 0.02, 0.06};
static const double misfit_prior[] = {0.4, 0.4, 0.2};
enum { MISFITS = sizeof misfit / sizeof *misfit };

/* What others take of the level, as a share of the most they may. */
static const double lost[] = {0, 0.25, 0.5, 0.75, 1};
static const double lost_prior[] = {0.7, 0.12, 0.08, 0.06, 0.04};
enum { LOSTS = sizeof lost / sizeof *lost };

/* Others who stream through the level behind leave a line there for so long and no longer: the longer a lap takes, the more
 * of its misses go one level further. How much of the time of the longest lap is spent on that where all of it misses. */
static const double drained[] = {0.2, 0.4, 0.6, 0.8};
static const double drained_prior = 0.08;
enum { DRAINS = sizeof drained / sizeof *drained };

static const double even_prior = 0.1;   /* most pages lie anywhere */
static const double unheard_of = 0.15;  /* of cores whose designers did not care for what is usual: prior_of_sets() */
static const double stray_growth = 0.1; /* of growths: somebody else made the difference, anywhere in some octaves */

/* ---- one set ------------------------------------------------------------------------------------------------------- */

/* One visit: is the line missed? */
static bool visit(struct xr_array *set, uint64_t line)
{
	uint64_t *at = xr_array_find(set, 0, line);
	struct xr_victim victim;

	if (at)
		xr_array_use(set, 0, at);
	else
		xr_array_put(set, 0, line, &victim);
	return !at;
}

/* Share of misses of n lines in one set, round and round in one order. */
static double one_set(size_t ways, int policy, size_t n)
{
	struct xr_rng rng = {ways * 977 + n};
	struct xr_array set;
	struct xr_array_past past = {0};
	size_t misses = 0;

	if (n <= ways)
		return 0;
	if (policy == XR_LRU)
		return 1;
	xr_array_init(&set, 1, ways, policy, &rng);
	for (size_t lap = 0; lap < 2 * LAPS; lap++) {
		size_t missed = 0;

		for (size_t i = 0; i < n; i++)
			missed += visit(&set, i + 1);
		if (xr_array_repeats(&set, &past)) { /* the other laps go like this one */
			misses += missed * (lap < LAPS ? LAPS : 2 * LAPS - lap);
			break;
		}
		misses += lap < LAPS ? 0 : missed;
	}
	xr_array_past_release(&past);
	xr_array_release(&set);
	return (double)misses / (double)(LAPS * n);
}

/* Pairs of neighbours: two lines that have nothing to do with each other; two of which each visit brings the other
 * along, or each miss; or parts of one. */
enum pair { APART, ALONG, ALONG_MISSES, ONE, PAIRS };
static const double pair_prior[PAIRS] = {0.55, 0.15, 0.15, 0.15};

/* The same of n pairs, in two sets or, as parts of one line, in one. Alone: of each pair one line is visited. */
static double two_sets(struct xr_arena *arena, size_t ways, int policy, enum pair pair, bool alone, size_t n)
{
	const size_t lap = alone ? n : 2 * n;
	struct xr_rng rng = {ways * 977 + n};
	struct xr_array set[2];
	struct xr_victim victim;
	size_t misses = 0, *order = xr_arena_array(arena, size_t, lap + 1);

	if (n <= ways)
		return 0;
	for (int i = 0; i < 2; i++)
		xr_array_init(&set[i], 1, ways, policy, &rng);
	for (size_t i = 0; i < lap; i++) {
		size_t j = (size_t)xr_rng_below(&rng, i + 1);

		order[i] = order[j];
		order[j] = alone ? 2 * i + xr_rng_below(&rng, 2) : i;
	}
	for (size_t i = 0; i < 2 * LAPS * lap; i++) {
		const uint64_t line = order[i % lap] / 2 + 1, which = pair == ONE ? 0 : order[i % lap] % 2;
		struct xr_array *other = &set[1 - which];
		const bool missed = visit(&set[which], line);

		misses += missed && i >= LAPS * lap;
		if ((pair == ALONG || (pair == ALONG_MISSES && missed)) && !xr_array_find(other, 0, line))
			xr_array_put(other, 0, line, &victim);
	}
	for (int i = 0; i < 2; i++)
		xr_array_release(&set[i]);
	return (double)misses / (double)(LAPS * lap);
}

/* Share of misses by load / ways, LOADS steps up to LOAD_MOST. The load is of lines that are visited, whatever comes
 * along. */
struct law {
	double random[LOADS + 1], even[LOADS + 1], alone[LOADS + 1];
};

/* Of k things in a set, as many as fit into `share`. */
static void make_shares(struct xr_arena *arena, size_t ways, int policy, enum pair pair, bool alone, double *share,
                        size_t most)
{
	for (size_t k = 0; k <= most; k++)
		share[k] = k > SIMULATED * ways + 1                  ? 1 - (1 - share[k - 1]) / 2 /* hardly any hits */
		           : pair == APART || (pair == ONE && alone) ? one_set(ways, policy, k)
		                                                     : two_sets(arena, ways, policy, pair, alone, k);
}

/* With so many others in its set, on average; chance is Poisson's. */
static double at_random(const double *share, size_t most, double load)
{
	double p = exp(-load), sum = 0, all = 0;

	for (size_t k = 0; k < most; p *= load / (double)++k) {
		sum += p * share[k + 1];
		all += p;
	}
	return sum + (1 - all); /* so many lines: all miss */
}

static void make_law(struct xr_arena *arena, struct law *law, size_t ways, int policy, enum pair pair)
{
	const size_t most = 2 * LOAD_MOST * ways + 20;
	double *share = xr_arena_array(arena, double, most + 1), *alone = xr_arena_array(arena, double, most + 1);

	make_shares(arena, ways, policy, pair, false, share, most);
	make_shares(arena, ways, policy, pair, true, alone, most);
	for (size_t i = 0; i <= LOADS; i++) {
		const double load = (double)(LOAD_MOST * ways * i) / LOADS, part = load - floor(load);
		const size_t low = (size_t)load;

		law->random[i] = at_random(share, most, load);
		/* one of a pair takes the room of both */
		law->alone[i] = pair == APART ? law->random[i]
		                              : at_random(alone, most, fmin(2 * load, (double)(LOAD_MOST * ways)));
		/* some sets have one line more than others */
		law->even[i] =
			load > 0 ? ((1 - part) * (double)low * share[low] + part * (double)(low + 1) * share[low + 1]) /
					   load
				 : 0;
	}
}

static double look_up(const double *at, size_t ways, double load)
{
	double x = load / (double)(LOAD_MOST * ways) * LOADS;
	size_t i = (size_t)fmin(fmax(0, x), LOADS - 1);

	return fmin(1, fmax(0, x >= LOADS ? at[LOADS] : at[i] + (x - (double)i) * (at[i + 1] - at[i])));
}

static struct law *law_of(struct xr_arena *arena, size_t ways, int policy, enum pair pair)
{
	struct law *law = xr_arena_array(arena, struct law, 1);

	make_law(arena, law, ways, policy, pair);
	return law;
}

/* The laws of the first n policies. */
static const struct law **laws_of(struct xr_arena *arena, size_t ways, size_t n, enum pair pair)
{
	const struct law **law = xr_arena_array(arena, const struct law *, POLICIES);

	for (size_t p = 0; p < n; p++) {
		struct law *mix = policies[p].share > 0 ? xr_arena_array(arena, struct law, 1) : NULL;

		law[p] = mix ? mix : law_of(arena, ways, policies[p].policy, pair);
		for (size_t i = 0; i <= LOADS && mix; i++) { /* the first is LRU, the one before the mixtures random */
			mix->random[i] =
				policies[p].share * law[0]->random[i] + (1 - policies[p].share) * law[3]->random[i];
			mix->even[i] = policies[p].share * law[0]->even[i] + (1 - policies[p].share) * law[3]->even[i];
			mix->alone[i] =
				policies[p].share * law[0]->alone[i] + (1 - policies[p].share) * law[3]->alone[i];
		}
	}
	return law;
}

double xr_scatter_misses(struct xr_arena *arena, size_t ways, int policy, double load, bool even)
{
	const struct law *law = law_of(arena, ways, policy, APART);

	return look_up(even ? law->even : law->random, ways, load);
}

/* ---- hypotheses ---------------------------------------------------------------------------------------------------- */

struct hypothesis {
	const struct law *law;
	size_t ways;
	double sets, lost, drained;
	double misfit;
	bool even;
	unsigned parts; /* lines of ours in one of this level */
	double usual;   /* in prior: of the number of sets */
};

/* Caches that are built: powers of two of sets, the more so where single bits of the address choose the set: then any
 * other number takes a division. */
static double prior_of_sets(unsigned odd, bool regular)
{
	const double of_sets = odd == 1   ? 1
	                       : odd == 3 ? 0.1
	                       : odd == 5 ? 0.06
	                                  : 0.03,
		     divides = regular && odd > 1 ? 0.5 : 1;

	return of_sets * divides;
}

/* Do readings differ by more than twice what a miss costs? */
static bool may_be_drained(const struct xr_scatter_question *q)
{
	double low = INFINITY, high = 0;

	for (size_t i = 0; i < q->n; i++) {
		low = fmin(low, q->point[i].cycles);
		high = fmax(high, q->point[i].cycles);
	}
	return q->miss > 0 && high - low > 2 * q->miss;
}

/* Numbers of sets, what others take, misfits, spread: with one law. h NULL: only counts. */
static size_t list_law(const struct xr_scatter_question *q, double least, double most, const struct hypothesis *what,
                       double prior_law, struct hypothesis *h, double *prior)
{
	const double of_sets = (double)(what->ways * what->parts);
	const size_t losts = q->most_lost > 0 ? LOSTS : 1, drains = may_be_drained(q) ? DRAINS : 0;
	size_t n = 0;

	for (unsigned odd = 1; odd <= ODD_MOST; odd += 2)
		for (double sets = odd; sets * of_sets <= most; sets *= 2) {
			if (sets * of_sets < least || sets < FEWEST_SETS)
				continue;
			for (size_t l = 0; l < losts + drains; l++)
				for (int m = 0; m < 2 * MISFITS; m++, n++) {
					if (!h)
						continue;
					h[n] = *what;
					h[n].sets = sets;
					h[n].lost = l < losts ? lost[l] * q->most_lost : 0;
					h[n].drained = l < losts ? 0 : drained[l - losts];
					h[n].misfit = misfit[m / 2];
					h[n].even = m % 2 != 0;
					h[n].usual = prior_of_sets(odd, q->regular);
					prior[n] = h[n].usual * xr_ways_prior(what->ways) * prior_law *
					           (l < losts ? lost_prior[l] : drained_prior) * misfit_prior[m / 2] *
					           (m % 2 ? even_prior : 1 - even_prior);
				}
		}
	return n;
}

static size_t list(struct xr_arena *arena, const struct xr_scatter_question *q, double least, double most,
                   struct hypothesis *h, double *prior)
{
	size_t n = 0;

	for (size_t ways = q->ways ? q->ways : 1; ways <= (q->ways ? q->ways : WAYS_MOST); ways += ways < 8 ? 1 : 2) {
		const size_t laws = q->ways > 1 ? POLICIES : ways > 1 && !q->ways ? UNKNOWN : 1;

		for (int pair = 0; pair < (q->pairs && q->ways ? PAIRS : 1); pair++) {
			const struct law **law = h ? laws_of(arena, ways, laws, (enum pair)pair) : NULL;
			const double kind = q->pairs ? pair_prior[pair] : 1;

			for (size_t p = 0; p < laws; p++) {
				const struct hypothesis what = {
					.law = h ? law[p] : NULL, .ways = ways, .parts = pair == ONE ? 2 : 1};

				n += list_law(q, least, most, &what, kind * policies[p].prior, h ? h + n : NULL,
				              h ? prior + n : NULL);
			}
		}
	}
	return n;
}

/* ---- fit ----------------------------------------------------------------------------------------------------------- */

/* near and far so that near + (far - near) · x is close to y, relative errors counting; readings far above count
 * less: others only add. */
static void fit_line(const double *x, const double *y, size_t n, double *near, double *far)
{
	double a = 0, b = 0;

	for (int round = 0; round < ROUNDS; round++) {
		double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, det;

		for (size_t i = 0; i < n; i++) {
			double rest = round ? (y[i] - a - b * x[i]) / y[i] : 0,
			       w = 1 / (y[i] * y[i]) /
			           (1 + fmax(0, rest) * fmax(0, rest) * 400); /* half at 5 % above */

			s += w;
			sx += w * x[i];
			sy += w * y[i];
			sxx += w * x[i] * x[i];
			sxy += w * x[i] * y[i];
		}
		det = s * sxx - sx * sx;
		b = det > 1e-12 * s * s ? (s * sxy - sx * sy) / det : 0;
		a = (sy - b * sx) / s;
	}
	*near = a;
	*far = a + b;
}

static double share_of_misses(const struct xr_scatter_question *q, const struct hypothesis *h, size_t i)
{
	const double *law = q->point[i].alone ? h->law->alone : h->even ? h->law->even : h->law->random;

	return look_up(law, h->ways, q->point[i].lines / (h->sets * h->parts * (1 - h->lost)));
}

/* What share of a reading is not spent on lines that left the level behind. A lap of n lines takes n t, so
 *   t = near + misses (far - near + c n t),   or   t (1 - c n misses) = near + misses (far - near). */
static double rest_of(const struct xr_scatter_question *q, const struct hypothesis *h, double most, double x, size_t i)
{
	return 1 - h->drained * x * q->point[i].lines / most;
}

/* Log-likelihood of all points. x, rest: room for so many numbers. */
static double fits(const struct xr_scatter_question *q, const struct xr_noise *noise, const struct hypothesis *h,
                   double *x, double *rest, const double *y, double *near, double *far)
{
	double sum = 0, most = 0;

	for (size_t i = 0; i < q->n; i++)
		most = fmax(most, q->point[i].lines);
	for (size_t i = 0; i < q->n; i++) {
		x[i] = share_of_misses(q, h, i);
		rest[i] = y[i] * rest_of(q, h, most, x[i], i);
	}
	fit_line(x, rest, q->n, near, far);
	if (!(*near > 0) || !(*far > *near))
		return -INFINITY;
	if (q->miss > 0) {
		double off = log((*far - *near) / q->miss) / q->miss_off;

		sum -= off * off / 2;
	}
	for (size_t i = 0; i < q->n; i++) {
		const double longer = 1 / rest_of(q, h, most, x[i], i);
		const double at = longer * (*near + (*far - *near) * x[i]);
		/* How many lines share a full set is chance, too. */
		double chance = sqrt(x[i] * (1 - x[i]) * (double)h->ways / fmax(1, q->point[i].lines));

		sum += xr_noise_log(noise, at, y[i], longer * (*far - *near) / at * hypot(h->misfit, chance));
	}
	return sum;
}

/* Expected number of sets that overflow when lines of n items are spread over so many. */
static double overflows(double sets, size_t ways, double n)
{
	const double load = n / sets;
	double p = exp(-load), fits = 0;

	for (size_t k = 0; k <= ways; p *= load / (double)++k)
		fits += p;
	return sets * fmax(0, 1 - fits);
}

/* Log-likelihood of the growths. The lines of one offset reach all sets, or a power of two fewer: those whose index has
 * the bits of the offset in it: of the offset in the page, where physical addresses choose the set plainly, or in the
 * item, where virtual ones do. Then the two offsets have no set in common; else they may. */
static double log_growth(const struct xr_scatter_question *q, const struct hypothesis *h)
{
	const double plain = 0.6, virtual = 0.1, in_common = 0.5; /* of the caches that are built, about */
	const double in_page = log2(q->page / q->line / h->parts), in_item = log2(q->item / q->line / h->parts);
	double sum = 0;

	for (double j = 0; j <= in_item; j++)
		for (int shared = 0; shared < 2; shared++) {
			const double sets = fmax(1, h->sets / exp2(j)), other = (1 - plain - virtual) / (1 + in_item) *
			                                                        (shared ? in_common : 1 - in_common);
			double p = other + (shared ? 0 : (j == in_page ? plain : 0) + (j == in_item ? virtual : 0));

			for (size_t i = 0; i < q->n_growth; i++) {
				const struct xr_scatter_growth *g = &q->growth[i];
				const double apart = shared ? 1 : 2;
				const double before = apart * overflows(sets, h->ways, g->from / apart),
					     after = apart * overflows(sets, h->ways, g->to / apart);

				p *= (1 - stray_growth) * (exp(-before) - exp(-after)) + stray_growth / OCTAVES;
			}
			sum += p;
		}
	return log(sum);
}

/* How sure of this capacity somebody is who does not know which numbers of sets are usual. */
static double p_unusual(size_t n, const double *p, const double *usual, const double *capacity, double this)
{
	double sum = 0, all = p[n];

	for (size_t i = 0; i < n; i++) {
		const double even = p[i] / usual[i];

		all += even;
		sum += fabs(capacity[i] / this - 1) < 1e-3 ? even : 0;
	}
	return all > 0 ? sum / all : 0;
}

/* Which reading repeats which, for the noise. */
static struct xr_noise noise_of(struct xr_arena *arena, const struct xr_scatter_question *q, const double *y)
{
	size_t *group = xr_arena_array(arena, size_t, q->n);

	for (size_t i = 0; i < q->n; i++)
		for (group[i] = 0;
		     q->point[group[i]].lines != q->point[i].lines || q->point[group[i]].alone != q->point[i].alone;)
			group[i]++;
	return xr_noise_fit(y, group, q->n);
}

static void mean_of(const struct xr_belief *b, size_t best, const double *capacity, struct xr_scatter_answer *a)
{
	double sum = 0, logs = 0, squares = 0;

	for (size_t i = 0; i < b->n; i++) {
		double p = exp(b->log[i] - b->log[best]);

		sum += p;
		logs += p * log(capacity[i]);
		squares += p * log(capacity[i]) * log(capacity[i]);
	}
	if (!(sum > 0))
		return;
	logs /= sum;
	a->mean = exp(logs);
	a->spread = sqrt(fmax(0, squares / sum - logs * logs));
}

struct xr_scatter_answer xr_scatter_infer(struct xr_arena *arena, const struct xr_scatter_question *q)
{
	struct xr_scatter_answer a = {.capacity = NAN, .ways = NAN, .none = 1};
	double least = INFINITY, most = 0, low = INFINITY, high = 0, none = 0;
	double *x = xr_arena_array(arena, double, q->n), *y = xr_arena_array(arena, double, q->n),
	       *rest = xr_arena_array(arena, double, q->n);
	struct xr_noise noise;
	struct hypothesis *h;
	double *prior, *log, *capacity, *ways, *usual;
	const double log_octaves = M_LN2 * 3; /* none of these: anywhere in OCTAVES */
	struct xr_belief b;
	size_t n, best;

	for (size_t i = 0; i < q->n; i++) {
		y[i] = q->point[i].cycles;
		least = fmin(least, q->point[i].lines);
		most = fmax(most, q->point[i].lines);
		low = fmin(low, y[i]);
		high = fmax(high, y[i]);
	}
	if (q->n < 4 || !(high > low)) /* two numbers are fitted to each hypothesis */
		return a;
	n = list(arena, q, least, most, NULL, NULL);
	if (n == 0)
		return a;
	h = xr_arena_array(arena, struct hypothesis, n);
	prior = xr_arena_array(arena, double, n);
	log = xr_arena_array(arena, double, n);
	capacity = xr_arena_array(arena, double, n);
	ways = xr_arena_array(arena, double, n);
	usual = xr_arena_array(arena, double, n);
	list(arena, q, least, most, h, prior);
	noise = noise_of(arena, q, y);
	b = xr_belief_new(arena, n, prior);
	for (size_t i = 0; i < n; i++) {
		log[i] = fits(q, &noise, &h[i], x, rest, y, &a.near, &a.far);
		capacity[i] = h[i].sets * (double)(h[i].ways * h[i].parts) * q->line;
		ways[i] = (double)h[i].ways;
		usual[i] = h[i].usual;
	}
	for (size_t i = 0; i < q->n; i++)
		none += xr_noise_log_none(&noise, low / 2, 2 * high, y[i]);
	/* Where the law is off, it is so at many points alike: they are no independent witnesses. */
	xr_belief_add(&b, log, none, fmin(1, FEATURES / (double)q->n));
	for (size_t i = 0; i < n && q->n_growth > 0; i++)
		log[i] = log_growth(q, &h[i]);
	if (q->n_growth > 0)
		xr_belief_add(&b, log, -(double)q->n_growth * log_octaves, 1);
	best = xr_belief_best(&b, NULL);
	if (best < n)
		(void)fits(q, &noise, &h[best], x, rest, y, &a.near, &a.far);
	const double *p = xr_belief_all(arena, &b);
	a.none = p[n];
	a.p_capacity = xr_belief_of(&b, capacity, &a.capacity);
	a.p_capacity += unheard_of * (p_unusual(n, p, usual, capacity, a.capacity) - a.p_capacity);
	a.p_ways = xr_belief_of(&b, ways, &a.ways);
	for (size_t i = 0; i < n && q->expected > 0; i++) {
		a.p_expected += fabs(capacity[i] / q->expected - 1) < 1e-3 ? p[i] : 0;
		a.p_half += fabs(2 * capacity[i] / q->expected - 1) < 1e-3 ? p[i] : 0;
	}
	for (size_t i = 0; i < n; i++)
		a.p_one += h[i].parts > 1 ? p[i] : 0;
	mean_of(&b, best, capacity, &a);
	return a;
}
