/* SPDX-License-Identifier: MIT */
/* Conflict sets by growing and reducing; see conflict.h. */
#include "probe/conflict.h"

#include "infer/noise.h"
#include "probe/places.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	ROUNDS = 16, /* of one comparison, at most */
	BLOCKS = 16, /* into which pages are divided at first */
	MOST_BLOCKS = 128,
	SETBACKS = 4,
	OPEN = 3, /* questions that nothing decides */
	SHARE = 8, /* by which A grows. The chance that a set overflows grows with the power of its ways: of larger blocks, sets
	            * overflow at both offsets, and the laps differ by nothing */
	PAIR = 2, /* lines */
	OCTAVES = 32,
	OFFSET_GRAIN = 256, /* no line is longer: one that begins elsewhere may be in the one before */
	APART = 4,          /* lines from one pair to the next but one, where they lie anywhere */
	NULLS = 8,
	SAMPLES = 9,
	FILL = 3, /* times the ways of the first level: lines that keep it busy */
};
#define MOVED (UINT32_C(1) << 31)
/* A wrong answer spoils the set, and a set takes some hundred answers. */
static const double odds = 6.9;                                    /* ln 1000 */
static const double laps = 3, visit_ns = 8, least_sample_ns = 3e3; /* of a sample */
/* Of a miss: eight pages do not tell less. */
static const double least_noise = 0.1, least_uneven = 0.1;
/* Pages, and at which of the two offsets each is read: MOVED is a bit of its number. Memory is the arena's. */
struct list {
	uint32_t *at;
	size_t n;
};

/* Does it make a difference whether the pages `x` are read where they say or at the other offset, beside pages
 * `a`? `y` changes places with x: read at the other offset in the first lap, where they say in its twin. What
 * depends on how many lines are at which offset must not: `a` has as many at the one as at the other, so the
 * numbers of the one lap are those of its twin turned round. */
struct comparison {
	struct list a, x, y;
	bool either;   /* is the contrary asked for, too? */
	double llr;    /* so far: ln of the odds that there it overflows, and at the other it does not */
	double less;   /* the contrary */
	double misses; /* that it makes, on average */
	double sum;
	int rounds, misses_seen; /* in how many of them */
};

/* One sigma of a difference that is none, in cycles: noise; and per page, what it takes more at one offset than at the
 * other, whatever it meets there. */
struct scatter {
	bool known;
	double noise, uneven;
};

struct search {
	struct xr_conflict *c;
	struct xr_arena *arena;
	struct list pool; /* pages not in use yet, in random order */
	struct list a;    /* see conflict.h */
	uint32_t x;
	struct list innocent; /* known not to be members */
	double seen;          /* misses that x made, at least; 0: not known yet */
	size_t from, to;      /* pages: so many do not overflow, so many do */
	uint64_t at, elsewhere;
	double stuck, rounds;                /* rounds that were seen to miss without an overflow; all of them */
	struct scatter scatter[2 * OCTAVES]; /* by the number of pages */
	size_t fill;                         /* pages that keep the first level busy */
	size_t lines;                        /* of each page: PAIR, or 1 where there is no room for two pairs */
};

static struct list joined(struct xr_arena *arena, struct list a, struct list b)
{
	struct list all = {xr_arena_array(arena, uint32_t, a.n + b.n + 1), a.n + b.n};

	memcpy(all.at, a.at, a.n * sizeof *all.at);
	memcpy(all.at + a.n, b.at, b.n * sizeof *all.at);
	return all;
}

static struct list part(struct list l, size_t from, size_t to)
{
	return (struct list){l.at + from, to - from};
}

/* The same pages, each at its other offset. */
static struct list moved(struct xr_arena *arena, struct list l)
{
	struct list other = {xr_arena_copy(arena, l.at, (l.n + 1) * sizeof *l.at), l.n};

	for (size_t i = 0; i < l.n; i++)
		other.at[i] ^= MOVED;
	return other;
}

static void shuffle(struct list l, struct xr_rng *rng)
{
	for (size_t k = l.n; k > 1; k--) {
		size_t j = (size_t)xr_rng_below(rng, k);
		uint32_t swap = l.at[k - 1];

		l.at[k - 1] = l.at[j];
		l.at[j] = swap;
	}
}

/* ---- asking -------------------------------------------------------------------------------------------------------- */

static uint64_t address_of(const struct search *s, uint32_t page)
{
	return (page & ~MOVED) * s->c->item + (page & MOVED ? s->elsewhere : s->at);
}

static void add(const struct search *s, struct xr_places *places, struct list l, bool move, uint64_t by)
{
	for (size_t i = 0; i < l.n; i++)
		xr_places_add(places, address_of(s, l.at[i] ^ (move ? MOVED : 0)) + by);
}

/* Both laps; returns their length. Of each page both lines of a pair are visited, since a prefetcher may bring
 * the other one anyway; in turns the first of one page and the second of another, so that neither two lines of
 * one set of the first level follow each other, which may cost more, nor the two of a pair, which would look like
 * a stream. */
static size_t lay(const struct search *s, struct xr_arena *arena, const struct comparison *q, struct xr_spec *spec)
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
static int ask(struct search *s, const struct comparison *const *q, size_t n, double *more)
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
static void learn_stuck(struct search *s, const struct comparison *q)
{
	if (q->llr <= -odds && q->less <= -odds)
		s->stuck += q->misses_seen;
	s->rounds += q->rounds;
}

static double stuck_of(const struct search *s)
{
	const double before = 0.05, weight = 40; /* rounds: few machines do it at all, so some must be seen */

	return (before * weight + s->stuck) / (weight + s->rounds);
}

static bool decided(const struct comparison *q)
{
	if (!q->either)
		return fabs(q->llr) >= odds;
	return q->llr >= odds || q->less >= odds || (q->llr <= -odds && q->less <= -odds);
}

static struct scatter *scatter_of(struct search *s, struct list a)
{
	return &s->scatter[(size_t)(2 * log2(fmax(1, (double)a.n)))];
}

/* How much two laps differ that are alike, of pages beside `a` one each, few of which can make a difference. What
 * differs again when asked again is noise; what does not is what these pages cost more at one offset than at the
 * other (way predictors, banks). It depends on how many lines there are, and not in proportion: few of them may
 * find the first level in one order, and not in the other. So it is learnt anew for every half of an octave. */
static int scatter_beside(struct search *s, struct list a, struct scatter *found)
{
	struct comparison q[NULLS];
	const struct comparison *ask_about[NULLS];
	double more[2][NULLS], change[NULLS], stays[NULLS];
	size_t got = 0;
	struct scatter *known = scatter_of(s, a);

	for (size_t i = 0; i < NULLS && !known->known; i++) {
		q[i] = (struct comparison){.a = a, .x = part(s->pool, s->pool.n - 1 - i, s->pool.n - i)};
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

		*known = (struct scatter){
			true, fmax(least_noise * s->c->miss, noise),
			fmax(least_uneven * s->c->miss, sqrt(fmax(0, both * both - noise * noise / 2)))};
	}
	*found = known->known ? *known : (struct scatter){false, s->c->miss, least_uneven * s->c->miss};
	return 0;
}

/* Asks until it is decided, or has been asked often enough; undecided: no. */
static int decide(struct search *s, struct comparison *q)
{
	struct scatter scatter;

	q->llr = q->less = q->sum = q->rounds = q->misses_seen = 0;
	if (scatter_beside(s, q->a, &scatter) != 0)
		return -1;
	while (q->rounds<ROUNDS && * s->c->left> 0 && !decided(q)) {
		const struct comparison *one = q;
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
	if (!decided(q)) /* learnt while somebody else was there, or too early */
		scatter_of(s, q->a)->known = false;
	learn_stuck(s, q);
	q->misses = q->rounds ? q->sum / q->rounds / s->c->miss : 0;
	return 0;
}

static bool yes(const struct comparison *q)
{
	return q->llr >= odds;
}

/* ---- x beside A -------------------------------------------------------------------------------------------------- */

static size_t count_at(struct list l, uint32_t moved)
{
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++)
		n += (l.at[i] & MOVED) == moved;
	return n;
}

/* Innocent pages, so that there are enough at either offset, else the first level answers; and as many at the one
 * as at the other. */
static void fill_up(struct search *s, struct list *l)
{
	size_t have[2] = {count_at(*l, 0), count_at(*l, MOVED)}, want = s->fill;

	want = have[0] > want ? have[0] : want;
	want = have[1] > want ? have[1] : want;
	for (size_t i = 0; i < s->innocent.n; i++) {
		size_t *side = &have[(s->innocent.at[i] & MOVED) != 0];

		if (*side < want) {
			l->at[l->n++] = s->innocent.at[i];
			++*side;
		}
	}
}

/* x beside A but for [from, to). */
static struct comparison without(struct search *s, size_t from, size_t to)
{
	struct list left = {xr_arena_array(s->arena, uint32_t, 2 * s->a.n + 2 * s->fill + 1), 0};

	for (size_t i = 0; i < s->a.n; i++)
		if (i < from || i >= to)
			left.at[left.n++] = s->a.at[i];
	fill_up(s, &left);
	return (struct comparison){.a = left, .x = {&s->x, 1}};
}

/* Does x still make its difference beside what is left? */
static int holds(struct search *s, bool *still, double *misses)
{
	struct comparison q = without(s, 0, 0);

	if (decide(s, &q) != 0)
		return -1;
	*still = yes(&q);
	*misses = q.misses;
	if (*still)
		s->seen = s->seen > 0 ? fmin(s->seen, q.misses) : q.misses;
	return 0;
}

/* ---- growing ------------------------------------------------------------------------------------------------------- */

/* The lines of A and X overflow, those of A do not: which page of X makes it overflow? One half of X against the
 * other: the one that makes more misses beside A has such a page; if none does, it takes both, and the second
 * half makes them beside A and the first. *found: it was not lost on the way. */
static int bisect(struct search *s, struct list x, bool *found)
{
	*found = false;
	while (x.n > 1) {
		struct list low = part(x, 0, x.n / 2), high = part(x, x.n / 2, x.n);
		struct comparison q = {.a = s->a, .x = low, .y = high, .either = true};

		if (decide(s, &q) != 0)
			return -1;
		if (!decided(&q))
			return 0;
		if (q.llr >= odds) {
			x = low;
		} else {
			if (q.less < odds)
				s->a = joined(s->arena, s->a, low);
			x = high;
		}
	}
	s->x = x.at[0];
	*found = true;
	return 0;
}

/* Half of the pages at the one offset, half at the other. */
static struct list balanced(struct xr_arena *arena, struct list l)
{
	return joined(arena, part(l, 0, l.n / 2), moved(arena, part(l, l.n / 2, l.n)));
}

/* Blocks that make no difference join A; A alone never overflows. A block that makes one gives x, or it is thrown
 * away, if several of its lines overflow several sets, or somebody else made the difference: then smaller ones
 * are tried. */
static int grow(struct search *s, bool *found)
{
	size_t share = SHARE;
	int open = 0;

	*found = false;
	while (*s->c->left > 0 && s->pool.n > NULLS + 1 && share < s->a.n) {
		size_t k = s->a.n / share;
		struct list before = s->a;
		struct comparison q = {.a = s->a, .either = true};
		double misses = 0;

		k = k < s->pool.n - NULLS ? k : s->pool.n - NULLS;
		q.x = part(s->pool, 0, k);
		s->pool = part(s->pool, k, s->pool.n);
		if (decide(s, &q) != 0)
			return -1;
		if (q.llr < odds && q.less < odds) {
			open += !decided(&q);
			if (open == OPEN) /* somebody else is there, or A overflows by itself: others may do better */
				return 0;
			if (decided(&q))
				s->a = joined(s->arena, before, balanced(s->arena, q.x));
			continue;
		}
		/* all of them are at the one offset, or at the other */
		s->from = before.n;
		s->to = before.n + 2 * k;
		if (q.less >= odds) /* it is at the other offset that they overflow */
			q.x = moved(s->arena, q.x);
		/* Many questions later it must still be there. */
		if (bisect(s, q.x, found) != 0 || (*found && holds(s, found, &misses) != 0))
			return -1;
		if (*found)
			return 0;
		s->a = before;
		share *= 2;
	}
	return 0;
}

/* ---- reducing ------------------------------------------------------------------------------------------------------ */

/* A in blocks, one after the other. A block without which x makes no difference has a member, and still has it when
 * others are gone. */
struct blocks {
	size_t size[MOST_BLOCKS];
	bool needed[MOST_BLOCKS];
	size_t n;
};

/* Blocks of about the same size, of all pages in a new order. */
static void divide(struct search *s, struct blocks *b, size_t n)
{
	b->n = n < s->a.n ? n : s->a.n;
	shuffle(s->a, xr_run_rng(s->c->run));
	for (size_t i = 0; i < b->n; i++) {
		b->size[i] = (i + 1) * s->a.n / b->n - i * s->a.n / b->n;
		b->needed[i] = false;
	}
}

/* Each block in two, if there is room for so many; else, since so many are needed, they are not all of one set, and
 * another order may tell more. */
static void halve(struct search *s, struct blocks *b)
{
	struct blocks half = {.n = 0};

	if (2 * b->n > MOST_BLOCKS) {
		divide(s, b, MOST_BLOCKS);
		return;
	}
	for (size_t i = 0; i < b->n; i++) {
		if (b->size[i] > 1)
			half.size[half.n++] = b->size[i] / 2;
		half.size[half.n++] = b->size[i] - b->size[i] / 2;
	}
	*b = half;
}

static void leave_out(struct search *s, size_t from, size_t n)
{
	s->innocent = joined(s->arena, s->innocent, part(s->a, from, from + n));
	s->a = joined(s->arena, part(s->a, 0, from), part(s->a, from + n, s->a.n));
}

/* Leaves out one block after the other where x still makes its difference without it. One by one: A may have more
 * members than there are ways, and then any of them can go, but not all. */
static int reduce_once(struct search *s, struct blocks *b, size_t *gone)
{
	size_t from = 0, kept = 0;

	*gone = 0;
	for (size_t i = 0; i<b->n && * s->c->left> 0; i++) {
		struct comparison q = without(s, from, from + b->size[i]);

		if (!b->needed[i] && decide(s, &q) != 0)
			return -1;
		if (!b->needed[i] && yes(&q)) {
			leave_out(s, from, b->size[i]);
			++*gone;
			continue;
		}
		from += b->size[i];
		b->size[kept] = b->size[i];
		b->needed[kept++] = true;
	}
	b->n = kept;
	return 0;
}

/* Of more members than there are ways, one that could go may be among the pages that keep the first level busy: then x
 * makes no difference beside others, and those are pages like any other. */
static int beside_others(struct search *s, bool *still)
{
	struct list with = without(s, 0, 0).a, rest = {xr_arena_array(s->arena, uint32_t, s->innocent.n + 1), 0};
	double misses;

	for (size_t i = 0, used = s->a.n; i < s->innocent.n; i++)
		if (used < with.n && s->innocent.at[i] == with.at[used])
			used++;
		else
			rest.at[rest.n++] = s->innocent.at[i];
	if (count_at(rest, 0) < s->fill || count_at(rest, MOVED) < s->fill) /* there are no others */
		return 0;
	s->innocent = rest;
	if (holds(s, still, &misses) != 0)
		return -1;
	if (!*still)
		s->a = with;
	return 0;
}

static int reduce(struct search *s, struct xr_conflict_set *set)
{
	struct blocks b;
	int setbacks = 0, needed = 0;

	divide(s, &b, BLOCKS);
	while (*s->c->left > 0) {
		struct list a = s->a, innocent = s->innocent;
		size_t gone;
		bool still;

		if (reduce_once(s, &b, &gone) != 0 || holds(s, &still, &set->misses) != 0)
			return -1;
		if (!still) { /* a member was left out, or what was seen was no overflow */
			s->a = a;
			s->innocent = innocent;
			divide(s, &b, BLOCKS);
			if (++setbacks > SETBACKS)
				break;
			continue;
		}
		if (b.n < s->a.n) {
			halve(s, &b);
			continue;
		}
		needed = gone ? 0 : needed + 1;
		if (needed == 2 && beside_others(s, &still) != 0)
			return -1;
		if (needed == 2 && still) { /* each page is needed, twice over */
			set->outcome = XR_CONFLICT_FOUND;
			set->n = s->a.n;
			set->x = address_of(s, s->x);
			set->member = xr_arena_array(s->arena, uint64_t, s->a.n);
			for (size_t i = 0; i < s->a.n; i++)
				set->member[i] = address_of(s, s->a.at[i]);
			return 0;
		}
		setbacks += needed == 2;
		needed = needed == 2 ? 0 : needed;
		divide(s, &b, s->a.n);
	}
	set->outcome = *s->c->left > 0 ? XR_CONFLICT_LOST : XR_CONFLICT_SPENT;
	return 0;
}

/* Lines of earlier laps that a policy keeps make sets overflow that have room: once more without them. */
static int check(struct search *s, struct xr_conflict_set *set)
{
	bool settled = s->c->settled, still;
	int status;

	s->c->settled = true;
	status = holds(s, &still, &set->misses);
	s->c->settled = settled;
	if (status == 0 && !still)
		set->outcome = XR_CONFLICT_LOST;
	return status;
}

/* Another offset in the same page, which neither lines nor pairs of them share with the first, nor sets of the
 * first level. */
static uint64_t offset_beside(const struct xr_conflict *c, uint64_t at, uint64_t grain)
{
	uint64_t span = c->first_way < c->page ? c->first_way : c->page, n = span / grain;

	if (n < 2) {
		grain = c->line;
		n = span / grain;
	}
	return n < 2 ? at
	             : at / span * span + (at % span + (1 + xr_rng_below(xr_run_rng(c->run), n - 1)) * grain) % span;
}

/* One line of each page at the same offset, all in one set of the first level; or lines all over the pages, but never a
 * neighbour of one: then there must be enough to fill the first level. */
static void choose_offsets(struct search *s)
{
	struct xr_conflict *c = s->c;
	const uint64_t span = c->first_way < c->page ? c->first_way : c->page;
	uint64_t grain;

	s->lines = c->anywhere || span >= 2 * PAIR * c->line ? PAIR : 1;
	grain = s->lines * c->line;
	if (grain < OFFSET_GRAIN && span >= 4 * OFFSET_GRAIN)
		grain = OFFSET_GRAIN;
	s->fill = FILL * c->first_ways;
	if (c->anywhere) {
		c->item = APART * c->line;
		s->elsewhere = APART / 2 * c->line;
		s->fill *= (size_t)(c->first_way > c->item ? c->first_way / c->item : 1);
	} else {
		s->at = xr_rng_below(xr_run_rng(c->run), c->item / grain) * grain;
		s->elsewhere = offset_beside(c, s->at, grain);
	}
}

static bool begin(struct search *s, struct xr_conflict *c)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	size_t n;

	*s = (struct search){.c = c, .arena = arena};
	choose_offsets(s);
	n = (size_t)(c->buffer.bytes / c->item);
	if (n < 4 * s->fill + 2 * NULLS || s->at == s->elsewhere)
		return false;
	s->pool = (struct list){xr_arena_array(arena, uint32_t, n + 1), n};
	for (uint32_t i = 0; i < n; i++)
		s->pool.at[i] = i;
	shuffle(s->pool, xr_run_rng(c->run));
	s->a = joined(arena, part(s->pool, 0, s->fill), moved(arena, part(s->pool, s->fill, 2 * s->fill)));
	s->pool = part(s->pool, 2 * s->fill, n);
	s->innocent = part(s->pool, 0, 0);
	return true;
}

int xr_conflict_find(struct xr_conflict *c, struct xr_conflict_set *set)
{
	struct search s;
	bool found = false;

	*set = (struct xr_conflict_set){.outcome = XR_CONFLICT_NEVER};
	if (!(c->miss > 0) || !begin(&s, c))
		return 0;
	if (grow(&s, &found) != 0)
		return -1;
	set->from = s.from;
	set->to = s.to;
	if (found)
		return reduce(&s, set) != 0 || (set->outcome == XR_CONFLICT_FOUND && check(&s, set) != 0) ? -1 : 0;
	set->outcome = *c->left > 0 ? s.pool.n > NULLS + 1 ? XR_CONFLICT_LOST : XR_CONFLICT_NEVER : XR_CONFLICT_SPENT;
	return 0;
}
