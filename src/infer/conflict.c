/* SPDX-License-Identifier: MIT */
#include "infer/conflict.h"

#include "infer/policy.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a real policy's share may be from the book's, relative to the excess: hardly, somewhat, much. All alike
 * likely. */
static const double slacks[XR_CONFLICT_SLACKS] = {0.06, 0.15, 0.4};
enum { SLACKS = XR_CONFLICT_SLACKS };

static bool plausible(double x)
{
	return isfinite(x) && x > 0;
}

/* A question on which hypotheses may differ: shares of visits that miss. */
struct xr_conflict_row {
	double share[2];
	const struct xr_conflict_seen *seen;
};

/* ---- what was seen --------------------------------------------------------------------------------------------- */

/* Others add: the lower looks are the less disturbed ones. But where the reference was disturbed a look is too short, and
 * where jumps were foreseen by chance: the lowest of all may be one of those. The lower quartile stands a quarter of such
 * looks, and three quarters of the others. */
static double low(const double *x, unsigned n)
{
	double seen[XR_CONFLICT_LOOKS];
	unsigned k = 0;
	for (unsigned i = 0; i < n; i++)
		if (plausible(x[i]))
			seen[k++] = x[i];
	return k ? xr_lower(seen, k) : NAN;
}

/* Of n looks, each lengthened with the chance p, `least` or more are. */
static double many_of(unsigned n, unsigned least, double p)
{
	double sum = 0;
	for (unsigned k = least; k <= n; k++)
		sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p));
	return fmin(1, sum);
}

double xr_conflict_misled(const struct xr_conflict *c, unsigned looks)
{
	return looks ? many_of(looks, looks - (looks + 1) / 4, c->noise.tail) : 1;
}

double xr_conflict_base(const struct xr_conflict_point *p)
{
	return low(p->base, p->looks);
}

double xr_conflict_ratio(const struct xr_conflict_point *p)
{
	return low(p->cycles, p->looks) / low(p->base, p->looks);
}

/* One jump in n is foreseen by chance, and saves most of its time; how often that is need not be the same in the
 * twin: a third of it more or less. */
static double sigma_of(const struct xr_conflict *c, const struct xr_conflict_point *p)
{
	return xr_noise_both(xr_noise_both(fmax(xr_noise_of_mean(&c->noise, p->looks), 1e-4), 0.3 / p->n), p->differ);
}

static struct xr_conflict_seen see(const struct xr_conflict *c, const struct xr_conflict_point *p)
{
	struct xr_conflict_seen s = {.ratio = xr_conflict_ratio(p), .base = xr_conflict_base(p), .noise = c->noise};
	s.excess = (s.ratio - 1) * s.base;
	s.noise.sigma = sigma_of(c, p);
	s.noise.tail = xr_conflict_misled(c, p->looks);
	s.flat = xr_noise_log(&s.noise, 1, s.ratio, 0);
	for (size_t k = 0; k < SLACKS; k++) {
		const double sigma = hypot(s.noise.sigma * s.base, slacks[k] * s.excess);
		s.weight[k] = 1 / (sigma * sigma);
	}
	return s;
}

void xr_conflict_init(struct xr_conflict *c, struct xr_arena *arena, const struct xr_conflict_point *point, size_t n)
{
	double *ratio = xr_arena_array(arena, double, 2 * n * XR_CONFLICT_LOOKS + 1);
	size_t *group = xr_arena_array(arena, size_t, 2 * n * XR_CONFLICT_LOOKS + 1), k = 0;
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < point[i].looks; j++) {
			ratio[k] = point[i].cycles[j];
			group[k++] = 2 * i;
			ratio[k] = point[i].base[j];
			group[k++] = 2 * i + 1;
		}
	if (!c->misses)
		c->misses = xr_misses_new(arena);
	c->arena = arena;
	c->noise = xr_noise_fit(ratio, group, k);
	c->point = point;
	c->n = n;
	c->row = xr_arena_array(arena, struct xr_conflict_row, n + 1);
	c->seen = xr_arena_array(arena, struct xr_conflict_seen, n + 1);
	for (size_t i = 0; i < n; i++)
		c->seen[i] = see(c, &point[i]);
}

/* ---- what is predicted ------------------------------------------------------------------------------------------ */

static uint64_t set_of(const struct xr_conflict_array *a, uint64_t unit)
{
	return (a->fold ? unit ^ unit / a->sets : unit) % a->sets;
}

static int by_set(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* How full sets get: so many visits a lap go to sets with so many different lines, `all` in all these sets. */
struct fullness {
	unsigned n;
	struct {
		unsigned lines, visits, all;
	} part[];
};

struct xr_conflict_known {
	const uint64_t *unit;
	uint64_t sets; /* 0: free */
	bool fold;
	struct fullness *fullness;
};

/* Sorted by set and unit, a set's lines lie together, each as often as it is visited. */
static struct fullness *count_fullness(const struct xr_conflict *c, const struct xr_conflict_array *a,
                                       const uint64_t *unit, unsigned n)
{
	uint64_t(*sorted)[2] = xr_arena_alloc(c->arena, n * sizeof *sorted);
	struct fullness *f = xr_arena_alloc(c->arena, sizeof *f + n * sizeof f->part[0]);
	f->n = 0;
	for (unsigned i = 0; i < n; i++) {
		sorted[i][0] = set_of(a, unit[i]);
		sorted[i][1] = unit[i];
	}
	qsort(sorted, n, sizeof *sorted, by_set);
	for (unsigned i = 0, end, k; i < n; i = end) {
		unsigned lines = 0;
		for (end = i; end < n && sorted[end][0] == sorted[i][0]; end++)
			lines += end == i || sorted[end][1] != sorted[end - 1][1];
		for (k = 0; k < f->n && f->part[k].lines != lines; k++)
			;
		if (k == f->n) {
			f->part[f->n].lines = lines;
			f->part[f->n].all = f->part[f->n].visits = 0;
			f->n++;
		}
		f->part[k].visits += end - i;
		f->part[k].all += lines;
	}
	return f;
}

static const struct fullness *fullness_of(struct xr_conflict *c, const struct xr_conflict_array *a,
                                          const uint64_t *unit, unsigned n)
{
	size_t at =
		(size_t)(((uintptr_t)unit / 8 * 31 + (size_t)a->sets * 7 + a->fold) * UINT64_C(0x9e3779b97f4a7c15) >>
	                 40);
	if (!c->known)
		c->known = xr_arena_array(c->arena, struct xr_conflict_known, XR_CONFLICT_KNOWN);
	for (;; at++) {
		struct xr_conflict_known *k = &c->known[at % XR_CONFLICT_KNOWN];
		if (k->unit == unit && k->sets == a->sets && k->fold == a->fold)
			return k->fullness;
		if (k->sets)
			continue;
		if (c->n_known >= XR_CONFLICT_KNOWN / 2)
			return count_fullness(c, a, unit, n);
		c->n_known++;
		*k = (struct xr_conflict_known){unit, a->sets, a->fold, count_fullness(c, a, unit, n)};
		return k->fullness;
	}
}

/* The k-th part. Where lines come m times a lap, in any order, all that a policy knows of them is worth an m-th: who comes
 * next is nearly a draw, of which a share (lines - ways) / lines misses whatever the policy. Trials agree to 0.01. */
static double part_share(struct xr_conflict *c, const struct fullness *f, unsigned k, int policy, unsigned ways)
{
	const unsigned lines = f->part[k].lines;
	const double draw = (double)(lines - ways) / lines;
	return draw + (xr_misses_share(c->misses, policy, ways, lines) - draw) * f->part[k].all / f->part[k].visits;
}

static double share_of(struct xr_conflict *c, const struct xr_conflict_array *a, unsigned ways, const uint64_t *unit,
                       unsigned n)
{
	double sum = 0;
	if (!ways || !n)
		return 0;
	const struct fullness *f = fullness_of(c, a, unit, n);
	for (unsigned k = 0; k < f->n; k++)
		if (f->part[k].lines > ways)
			sum += f->part[k].visits * part_share(c, f, k, a->policy, ways);
	return sum / n;
}

static double shares(struct xr_conflict *c, const struct xr_conflict_model *m, const struct xr_conflict_point *p, int k,
                     const uint64_t *unit)
{
	struct xr_conflict_array first = m->first;
	if (!p->full && m->lean_ways) {
		first.ways = m->lean_ways;
		first.policy = m->lean_policy;
	}
	const double one = share_of(c, &first, first.ways, unit, p->n);
	if (k == 0 || one == 0)
		return k ? 0 : one;
	return fmin(one, share_of(c, &m->second, m->second.ways, unit, p->n));
}

double xr_conflict_share(struct xr_conflict *c, const struct xr_conflict_model *m, const struct xr_conflict_point *p,
                         int k)
{
	if (k && !m->second.ways)
		return 0;
	return shares(c, m, p, k, p->place) - (p->twin ? shares(c, m, p, k, p->twin) : 0);
}

/* Of a plain index, the set of the first unit is as full as any: strides repeat. A folded one puts other units there. */
unsigned xr_conflict_overflows(const struct xr_conflict_array *a, uint64_t stride, unsigned most)
{
	enum { FOLDED_MOST = 1 << 12 };
	unsigned short there[FOLDED_MOST] = {0};
	const uint64_t home = set_of(a, 0);
	const bool all = a->fold && a->sets <= FOLDED_MOST;
	for (unsigned n = 1; n <= most; n++) {
		const uint64_t set = set_of(a, (n - 1) * stride);
		if ((all || set == home) && ++there[all ? set : 0] > a->ways)
			return n;
	}
	return most + 1;
}

/* ---- how likely that is ------------------------------------------------------------------------------------------ */

static bool of_kind(const struct xr_conflict_point *p, enum xr_conflict_kind kind)
{
	return kind == XR_CONFLICT_ALL || p->full == (kind == XR_CONFLICT_FULL);
}

/* Penalties of least squares, weighted as far as readings are known; none is negative. */
static void fit(const struct xr_conflict_row *row, size_t n, bool two, size_t slack, double penalty[2])
{
	double a = 0, b = 0, d = 0, x = 0, y = 0;
	for (size_t i = 0; i < n; i++) {
		const double w = row[i].seen->weight[slack], excess = row[i].seen->excess;
		a += w * row[i].share[0] * row[i].share[0];
		b += w * row[i].share[0] * row[i].share[1];
		d += w * row[i].share[1] * row[i].share[1];
		x += w * row[i].share[0] * excess;
		y += w * row[i].share[1] * excess;
	}
	const double det = a * d - b * b;
	penalty[0] = a > 0 ? fmax(0, x / a) : 0;
	penalty[1] = 0;
	if (!two || !(det > 1e-9 * a * d)) /* the two are as good as one */
		return;
	penalty[0] = (x * d - y * b) / det;
	penalty[1] = (a * y - b * x) / det;
	if (penalty[0] < 0) {
		penalty[0] = 0;
		penalty[1] = d > 0 ? fmax(0, y / d) : 0;
	} else if (penalty[1] < 0) {
		penalty[0] = a > 0 ? fmax(0, x / a) : 0;
		penalty[1] = 0;
	}
}

static double log_sum(const double *log, size_t n)
{
	double most = log[0], sum = 0;
	for (size_t i = 1; i < n; i++)
		most = fmax(most, log[i]);
	for (size_t i = 0; i < n; i++)
		sum += exp(log[i] - most);
	return most + log1p(sum - 1);
}

/* Of one row, where visits take so much longer than the twin's. */
static double row_log(const struct xr_conflict_row *row, double excess, double slack)
{
	const struct xr_conflict_seen *seen = row->seen;
	const double predicted = fmax(0.1, 1 + excess / seen->base);
	return xr_noise_log(&seen->noise, predicted, seen->ratio, slack * fabs(excess) / seen->base / predicted);
}

double xr_conflict_log(struct xr_conflict *c, const struct xr_conflict_model *m, enum xr_conflict_kind kind,
                       double penalty[2])
{
	struct xr_conflict_row *row = c->row;
	double each[SLACKS], fitted[SLACKS][2] = {{0}}, flat = 0;
	size_t n = 0, best = 0;
	if (xr_watch_over(c->watch)) {
		if (penalty)
			memcpy(penalty, fitted[0], sizeof fitted[0]);
		return -INFINITY;
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct xr_conflict_point *p = &c->point[i];
		if (!of_kind(p, kind) || !plausible(c->seen[i].ratio))
			continue;
		const double one = xr_conflict_share(c, m, p, 0), two = xr_conflict_share(c, m, p, 1);
		if (one == 0 && two == 0) /* whatever the penalties */
			flat += c->seen[i].flat;
		else
			row[n++] = (struct xr_conflict_row){{one, two}, &c->seen[i]};
	}
	for (size_t s = 0; s < SLACKS; s++) {
		each[s] = flat - log(SLACKS);
		fit(row, n, m->second.ways > 0, s, fitted[s]);
		for (size_t i = 0; i < n; i++)
			each[s] += row_log(&row[i], fitted[s][0] * row[i].share[0] + fitted[s][1] * row[i].share[1],
			                   slacks[s]);
		best = each[s] > each[best] ? s : best;
	}
	if (penalty)
		memcpy(penalty, fitted[best], sizeof fitted[best]);
	/* a fitted penalty costs what it could have been instead: any factor of e^3, known to the slack */
	const double occam = log(0.1) * ((fitted[best][0] > 0) + (fitted[best][1] > 0));
	return log_sum(each, SLACKS) + occam;
}

/* Points of one curve: flat up to somewhere, then anything: a visit may well take twice as long, or as long as the
 * longest. */
static double none_of(const struct xr_conflict *c, enum xr_conflict_kind kind, unsigned curve)
{
	double *flat = xr_arena_array(c->arena, double, c->n + 1), *free = xr_arena_array(c->arena, double, c->n + 1);
	double *cut = xr_arena_array(c->arena, double, c->n + 2), highest = 2, sum_free = 0;
	unsigned *count = xr_arena_array(c->arena, unsigned, c->n + 1);
	size_t n = 0, cuts = 0;
	for (size_t i = 0; i < c->n; i++) {
		const double ratio = c->seen[i].ratio;
		if (c->point[i].curve == curve && of_kind(&c->point[i], kind) && plausible(ratio))
			highest = fmax(highest, ratio);
	}
	for (size_t i = 0; i < c->n; i++) {
		const struct xr_conflict_point *p = &c->point[i];
		const double ratio = c->seen[i].ratio;
		if (p->curve != curve || !of_kind(p, kind) || !plausible(ratio))
			continue;
		const struct xr_noise *noise = &c->seen[i].noise;
		flat[n] = c->seen[i].flat;
		free[n] = xr_noise_log_none(noise, exp(-3 * noise->sigma), highest * exp(3 * noise->sigma), ratio);
		count[n] = p->count;
		sum_free += free[n++];
	}
	if (!n)
		return 0;
	/* every point as the last flat one, and none */
	cut[cuts++] = sum_free;
	for (size_t last = 0; last < n; last++) {
		double log = sum_free;
		for (size_t i = 0; i < n; i++)
			log += count[i] <= count[last] ? flat[i] - free[i] : 0;
		cut[cuts++] = log;
	}
	return log_sum(cut, cuts) - log((double)cuts);
}

double xr_conflict_none(const struct xr_conflict *c, enum xr_conflict_kind kind)
{
	unsigned most = 0;
	double sum = 0;
	for (size_t i = 0; i < c->n; i++)
		most = c->point[i].curve > most ? c->point[i].curve : most;
	for (unsigned k = 0; c->n && k <= most; k++)
		sum += none_of(c, kind, k);
	return sum;
}
