/* SPDX-License-Identifier: MIT */
#include "infer/stack.h"

#include "infer/policy.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT = 160,       /* hypotheses that go on: the others are e^-20 and less */
	ALTERNATIVES = 3, /* capacities of decoded code that are tried with each cache */
	LEAST_NATS = 60,
	SPREADS = 4,
	ALIKE = 4,
	IN_PLAY = 30, /* nats behind the likeliest capacity */
	SHARED = 10,  /* points of a curve that share what makes them differ from the book: one says as much as all */
};
/* Most cores have nothing before the instruction cache that jumps would notice, and next levels far behind; wrong
 * by ten, this moves what a curve of thirty points says by two nats of dozens. */
static const double prior_one = 0.6, prior_behind = 0.15, prior_decoded = 0.15;
static const double prior_flat = 0.1;                    /* everything that was tried fits */
static const double prior_odd = 0.02, prior_fold = 0.05; /* sets that are no power of two, folded index: few machines */

/* What others do lies between, within the slack: FIFO is random to a per cent, NRU and SRRIP are close to PLRU. */
static const int policies[] = {XR_LRU, XR_PLRU, XR_RANDOM};
enum { POLICIES = sizeof policies / sizeof *policies };

const struct xr_conflict_array *xr_stack_array(const struct xr_stack_hypothesis *h)
{
	return h->decoded ? &h->model.second : &h->model.first;
}

unsigned xr_stack_capacity(const struct xr_stack *s, size_t i)
{
	return xr_conflict_overflows(xr_stack_array(&s->h[i]), s->stride, UINT_MAX - 1) - 1;
}

/* ---- a list that keeps the likeliest ---------------------------------------------------------------------------- */

struct scored {
	struct xr_stack_hypothesis h;
	double log; /* likelihood and prior */
};

struct list {
	struct xr_arena *arena;
	struct scored *at;
	size_t n, room;
};

static void put(struct list *list, const struct xr_stack_hypothesis *h, double log)
{
	if (list->n == list->room) {
		struct scored *grown = xr_arena_array(list->arena, struct scored, list->room ? 2 * list->room : 256);
		if (list->n)
			memcpy(grown, list->at, list->n * sizeof *grown);
		list->at = grown;
		list->room = list->room ? 2 * list->room : 256;
	}
	list->at[list->n++] = (struct scored){*h, log};
}

/* An array whose misses nobody would notice explains nothing. Nor does one that costs less than a look into any other: what
 * takes a cycle longer now and then has other reasons. */
static const double least_miss = 2; /* cycles */
static bool visible(const struct xr_stack *s, const struct xr_stack_hypothesis *h)
{
	const double base = s->c.n ? xr_conflict_base(&s->c.point[0]) : 1;
	return h->penalty[h->decoded] >
	       fmax(least_miss, 3 * s->c.noise.sigma * base); /* one in a thousand readings is off by that */
}

/* Log-likelihood of all points, penalties fitted. */
static double log_of(struct xr_stack *s, struct xr_stack_hypothesis *h)
{
	return xr_conflict_log(&s->c, &h->model, h->hidden ? XR_CONFLICT_FULL : XR_CONFLICT_ALL, h->penalty) +
	       (h->hidden ? s->lean_none : 0);
}

static int by_log(const void *a, const void *b)
{
	const struct scored *x = a, *y = b;
	return (y->log > x->log) - (y->log < x->log);
}

static bool same_array(const struct xr_stack_hypothesis *a, const struct xr_stack_hypothesis *b)
{
	const struct xr_conflict_array *x = xr_stack_array(a), *y = xr_stack_array(b);
	return a->decoded == b->decoded && a->hidden == b->hidden && x->sets == y->sets && x->ways == y->ways &&
	       x->fold == y->fold;
}

/* Of each array the likeliest few: they differ in what nobody asks, and would leave no room for others. */
static void thin_out(struct list *list)
{
	size_t kept = 0;
	for (size_t i = 0; i < list->n && kept < KEPT; i++) {
		unsigned alike = 0;
		for (size_t k = 0; k < kept; k++)
			alike += same_array(&list->at[k].h, &list->at[i].h);
		if (alike < ALIKE)
			list->at[kept++] = list->at[i];
	}
	list->n = kept;
}

/* The belief over what is on the list, and none of these. */
static void believe(struct xr_stack *s, struct list *list)
{
	if (list->n)
		qsort(list->at, list->n, sizeof *list->at, by_log);
	thin_out(list);
	while (list->n > 1 && list->at[list->n - 1].log < list->at[0].log - LEAST_NATS)
		list->n--;
	s->n = list->n;
	s->h = xr_arena_array(list->arena, struct xr_stack_hypothesis, s->n + 1);
	s->belief = xr_belief_new(list->arena, s->n, NULL);
	for (size_t i = 0; i < s->n; i++) {
		s->h[i] = list->at[i].h;
		s->belief.log[i] = log(1 - XR_BELIEF_NONE) + list->at[i].log;
	}
	s->belief.log[s->n] = log(XR_BELIEF_NONE) + xr_conflict_none(&s->c, XR_CONFLICT_ALL);
}

/* ---- the first curve -------------------------------------------------------------------------------------------- */

static struct xr_conflict_array array_of(const struct xr_stack *s, unsigned ways, int policy)
{
	return (struct xr_conflict_array){.sets = s->stride, .ways = ways, .policy = policy};
}

static int by_number(const void *a, const void *b)
{
	const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
	return (x > y) - (x < y);
}

/* Capacities worth a hypothesis: what was asked for, and some numbers between. */
static void list_capacities(struct xr_stack *s)
{
	enum { BETWEEN = 2 };
	unsigned *count = xr_arena_array(s->c.arena, unsigned, s->c.n + 1);
	size_t n = 0;
	s->capacity = xr_arena_array(s->c.arena, unsigned, (BETWEEN + 1) * (s->c.n + 1));
	s->n_capacities = 0;
	for (size_t i = 0; i < s->c.n; i++)
		count[n++] = s->c.point[i].count;
	qsort(count, n, sizeof *count, by_number);
	for (size_t i = 0; i < n; i++) {
		const unsigned next = i + 1 < n ? count[i + 1] : count[i], apart = next - count[i];
		if (i + 1 < n && apart == 0)
			continue;
		for (unsigned k = 0; k <= BETWEEN && (k == 0 || k < apart); k++)
			s->capacity[s->n_capacities++] =
				count[i] + (apart <= BETWEEN + 1 ? k : k * (apart - 1) / BETWEEN);
	}
}

/* The k-th way to hold as much: in more sets, which overflow one after the other. False: no further way. */
static bool spread(struct xr_conflict_array *a, int k)
{
	if (a->ways % (1u << k))
		return false;
	a->ways >>= k;
	a->sets <<= k;
	return true;
}

static void begin_one(struct xr_stack *s, struct list *list, bool hidden)
{
	const double prior = (hidden ? prior_decoded : prior_one) / (POLICIES * SPREADS * (double)s->n_capacities);
	for (size_t i = 0; i < s->n_capacities; i++)
		for (int p = 0; p < POLICIES * SPREADS; p++) {
			struct xr_stack_hypothesis h = {
				.model.first = array_of(s, s->capacity[i], policies[p % POLICIES]), .hidden = hidden};
			const bool flat = i + 1 == s->n_capacities;
			if (!spread(&h.model.first, p / POLICIES) || (flat && hidden))
				continue;
			const double log_h = log_of(s, &h);
			if (!hidden || visible(s, &h))
				put(list, &h, log_h + log(flat ? prior_flat / (POLICIES * SPREADS) : prior));
		}
}

/* Can the nearest array have this capacity? Just up to it rows are flat, and somewhere just beyond one is not. */
static bool ends_flat(const struct xr_stack *s, unsigned capacity, bool full)
{
	const double near = 0.7, beyond = 1.6, flat = 12, risen = 4; /* nats: one in 160000, one in 50 */
	bool rises = false;
	for (size_t i = 0; i < s->c.n; i++) {
		const struct xr_conflict_point *p = &s->c.point[i];
		if (full && !p->full)
			continue;
		const double ratio = xr_conflict_ratio(p);
		const double off =
			ratio > 1 ? xr_noise_log(&s->c.noise, 1, 1, 0) - xr_noise_log(&s->c.noise, 1, ratio, 0) : 0;
		if (p->count <= capacity && p->count > near * capacity && off > flat)
			return false;
		rises |= p->count > capacity && p->count <= beyond * capacity + 1 && off > risen;
	}
	return rises;
}

/* What lies behind, or is decoded code, need not be known as closely: capacities a fourteenth apart. */
static size_t step_of(const struct xr_stack *s, size_t k)
{
	size_t by = 1;
	while (k + by < s->n_capacities && 14 * s->capacity[k + by] < 15 * s->capacity[k])
		by++;
	return by;
}

/* A level behind is larger by some factor, all factors up to two alike likely: hardly larger ones are rare. */
static double nearness(unsigned first, unsigned second)
{
	return fmin(1, log2((double)second / first));
}

static void begin_behind(struct xr_stack *s, struct list *list, bool hidden)
{
	const double pairs = 0.5 * (double)(s->n_capacities * s->n_capacities),
		     prior = (hidden ? prior_decoded : 1) * prior_behind / (POLICIES * SPREADS * pairs);
	for (size_t i = 0; i < s->n_capacities; i++)
		for (size_t k = i + 1; k < s->n_capacities && ends_flat(s, s->capacity[i], hidden); k += step_of(s, k))
			for (int p = 0; p < POLICIES * SPREADS; p++) {
				struct xr_stack_hypothesis h = {
					.model = {.first = array_of(s, s->capacity[i], policies[p % POLICIES]),
				                  .second = array_of(s, s->capacity[k], XR_LRU)},
					.hidden = hidden};
				if (!spread(&h.model.first, p / POLICIES))
					continue;
				const double log_h = log_of(s, &h);
				if (visible(s, &h) && h.penalty[1] > 0)
					put(list, &h, log_h + log(prior * nearness(s->capacity[i], s->capacity[k])));
			}
}

struct ranked {
	unsigned ways;
	int policy;
	double log, penalty[2];
};

/* The likeliest capacities of decoded code, in blocks of one kind, before this cache. */
static size_t rank_front(struct xr_stack *s, const struct xr_conflict_array *cache, enum xr_conflict_kind kind,
                         unsigned most, struct ranked best[ALTERNATIVES])
{
	static const int fronts[] = {XR_LRU, XR_RANDOM};
	size_t n = 0;
	for (size_t i = 0, k = 0; k < s->n_capacities && s->capacity[k] <= most; i++, k += i % 2 ? 0 : step_of(s, k)) {
		struct ranked r = {.ways = s->capacity[k], .policy = fronts[i % 2]};
		const struct xr_conflict_model m = {.first = array_of(s, r.ways, r.policy),
		                                    .second = *cache,
		                                    .lean_ways = r.ways,
		                                    .lean_policy = r.policy};
		r.log = xr_conflict_log(&s->c, &m, kind, r.penalty);
		size_t at = n < ALTERNATIVES ? n++ : ALTERNATIVES - 1;
		if (at == ALTERNATIVES - 1 && n == ALTERNATIVES && best[at].ways && best[at].log > r.log)
			continue;
		for (; at > 0 && best[at - 1].log < r.log; at--)
			best[at] = best[at - 1];
		best[at] = r;
	}
	return n;
}

/* Blocks full of statements show both steps; lean ones that of decoded code, and the cache's if there is room for
 * fewer. */
static void begin_decoded(struct xr_stack *s, struct list *list)
{
	const double triples = 0.5 * pow((double)s->n_capacities, 3);
	for (size_t c = 1; c < s->n_capacities; c++)
		for (int p = 0; p < POLICIES; p++) {
			struct ranked full[ALTERNATIVES] = {{0}}, lean[ALTERNATIVES] = {{0}};
			const struct xr_conflict_array cache = array_of(s, s->capacity[c], policies[p]);
			const size_t n = rank_front(s, &cache, XR_CONFLICT_FULL, cache.ways - 1, full);
			const size_t m = rank_front(s, &cache, XR_CONFLICT_LEAN, UINT_MAX, lean);
			for (size_t i = 0; i < n * m; i++) {
				const struct ranked *f = &full[i / m], *l = &lean[i % m];
				struct xr_stack_hypothesis h = {.model = {.first = array_of(s, f->ways, f->policy),
				                                          .second = cache,
				                                          .lean_ways = l->ways,
				                                          .lean_policy = l->policy},
				                                .decoded = true};
				memcpy(h.penalty, f->penalty, sizeof h.penalty);
				if (l->ways > f->ways && f->penalty[0] > 0 && visible(s, &h))
					put(list, &h,
					    f->log + l->log + log(prior_decoded / (4.0 * POLICIES * triples)));
			}
		}
}

void xr_stack_begin(struct xr_stack *s, struct xr_arena *arena, const struct xr_conflict_point *point, size_t n)
{
	struct list list = {.arena = arena};
	s->c.known = NULL;
	s->c.n_known = 0;
	xr_conflict_init(&s->c, arena, point, n);
	list_capacities(s);
	s->lean_none = xr_conflict_none(&s->c, XR_CONFLICT_LEAN);
	for (int hidden = 0; hidden <= s->may_hide; hidden++) {
		begin_one(s, &list, hidden);
		begin_behind(s, &list, hidden);
	}
	if (s->may_decode)
		begin_decoded(s, &list);
	believe(s, &list);
}

/* ---- sets and ways ---------------------------------------------------------------------------------------------- */

/* The next array with this capacity along the first curve: sets m · 2^j, m odd, plain or folded. False: no more. */
struct walk {
	unsigned odd, fold;
	uint64_t sets;
};

static bool next_sets(struct walk *w, uint64_t most)
{
	w->sets = w->sets ? 2 * w->sets : w->odd;
	if (w->sets <= most)
		return true;
	w->odd += 2;
	if (w->odd > 5) {
		w->odd = 1;
		w->fold++;
	}
	w->sets = w->odd;
	return w->fold < 2;
}

static bool next_array(const struct xr_stack *s, unsigned capacity, uint64_t most_sets, struct walk *w,
                       struct xr_conflict_array *a)
{
	while (next_sets(w, most_sets)) {
		*a = (struct xr_conflict_array){.sets = w->sets, .fold = w->fold};
		if (w->fold && (w->odd > 1 || w->sets < 2))
			continue;
		for (a->ways = 1; a->ways <= capacity; a->ways++) {
			const unsigned over = xr_conflict_overflows(a, s->stride, capacity + 1);
			if (over == capacity + 1)
				return true;
			if (over > capacity + 1)
				break;
		}
	}
	return false;
}

/* A second array is one more capacity that could have been any, decoded code two. */
static double prior_of(const struct xr_stack *s, const struct xr_stack_hypothesis *h)
{
	const struct xr_conflict_array *a = xr_stack_array(h);
	const bool even = (a->sets & (a->sets - 1)) == 0;
	const double kind = (h->hidden ? log(prior_decoded) : 0) +
	                    (h->decoded             ? log(prior_decoded) - 2 * log((double)s->n_capacities)
	                     : h->model.second.ways ? log(prior_behind) - log((double)s->n_capacities)
	                                            : log(prior_one));
	return kind + log(a->fold ? prior_fold : 1) + log(even ? 1 : prior_odd);
}

static void geometry_of(struct xr_stack *s, const struct xr_stack_hypothesis *from, unsigned capacity,
                        uint64_t most_sets, struct list *list)
{
	struct walk w = {.odd = 1};
	struct xr_conflict_array a;
	while (next_array(s, capacity, most_sets, &w, &a))
		for (int p = 0; p < POLICIES; p++) {
			struct xr_stack_hypothesis h = *from;
			a.policy = policies[p];
			if (!from->decoded) {
				h.model.first = a;
				put(list, &h, prior_of(s, &h));
				continue;
			}
			h.model.second = a;
			/* decoded code is kept by sets that are a power of two, not longer than this way */
			for (uint64_t sets = s->stride; sets >= 1; sets /= 2) {
				h.model.first.sets = sets;
				put(list, &h, prior_of(s, &h));
				if (sets == 1 || sets <= s->stride / 8)
					break;
			}
		}
}

void xr_stack_geometry(struct xr_stack *s, uint64_t most_sets)
{
	struct list list = {.arena = s->c.arena};
	bool done[2][2][1024] = {{{false}}};
	for (size_t i = 0; i < s->n; i++) {
		const struct xr_stack_hypothesis *h = &s->h[i];
		const unsigned ways = xr_stack_capacity(s, i), behind = !h->decoded && h->model.second.ways;
		/* once for each capacity and kind: policies are tried anew. Whether code is decoded before it,
		 * the first curves say: others are asked with one kind of block */
		if (ways >= 1024 || h->decoded != s->h[0].decoded || h->hidden != s->h[0].hidden ||
		    done[h->decoded][behind][ways] || s->belief.log[i] < s->belief.log[0] - IN_PLAY)
			continue;
		done[h->decoded][behind][ways] = true;
		geometry_of(s, h, ways, most_sets, &list);
	}
	for (size_t i = 0; i < list.n; i++) {
		struct scored *x = &list.at[i];
		x->log += log_of(s, &x->h);
		x->log = visible(s, &x->h) ? x->log : -INFINITY;
	}
	believe(s, &list);
}

void xr_stack_again(struct xr_stack *s, const struct xr_conflict_point *point, size_t n)
{
	struct list list = {.arena = s->c.arena};
	xr_conflict_init(&s->c, s->c.arena, point, n);
	s->lean_none = xr_conflict_none(&s->c, XR_CONFLICT_LEAN);
	for (size_t i = 0; i < s->n; i++) {
		struct xr_stack_hypothesis h = s->h[i];
		const double log_h = log_of(s, &h);
		put(&list, &h, visible(s, &h) ? log_h + prior_of(s, &h) : -INFINITY);
	}
	if (list.n)
		believe(s, &list);
}

double xr_stack_tells(struct xr_stack *s, const struct xr_conflict_point *question)
{
	/* What policies do is not known to the letter, so the shapes of curves are worth less than they seem:
	 * what seems decided by them is asked all the same. */
	struct xr_belief doubted = xr_belief_new(s->c.arena, s->n, NULL);
	double *predicted = xr_arena_array(s->c.arena, double, s->n + 1), base = NAN;
	if (xr_watch_over(s->c.watch))
		return 0;
	for (size_t i = 0; i <= s->n; i++)
		doubted.log[i] = s->belief.log[i] / SHARED;
	for (size_t i = 0; i < s->c.n && !(base > 0); i++)
		if (s->c.point[i].full == question->full)
			base = xr_conflict_base(&s->c.point[i]);
	for (size_t i = 0; i < s->n; i++)
		predicted[i] =
			log(fmax(0.1, 1 + (s->h[i].penalty[0] * xr_conflict_share(&s->c, &s->h[i].model, question, 0) +
		                           s->h[i].penalty[1] * xr_conflict_share(&s->c, &s->h[i].model, question, 1)) /
		                                      base));
	return xr_belief_tells(&doubted, predicted, xr_noise_both(s->c.noise.sigma, 0.01));
}

size_t xr_stack_best(const struct xr_stack *s, double *p, double *p_capacity)
{
	double *geometry = xr_arena_array(s->c.arena, double, s->n + 1),
	       *capacity = xr_arena_array(s->c.arena, double, s->n + 1);
	double best, most;
	for (size_t i = 0; i < s->n; i++) {
		const struct xr_conflict_array *a = xr_stack_array(&s->h[i]);
		geometry[i] = (double)a->sets * 65536 + a->ways + 0.5 * a->fold;
		capacity[i] = (double)a->sets * a->ways;
	}
	*p = xr_belief_of(&s->belief, geometry, &best);
	*p_capacity = xr_belief_of(&s->belief, capacity, &most);
	for (size_t i = 0; i < s->n; i++)
		if (geometry[i] == best) /* the list is sorted: the likeliest policy comes first */
			return i;
	return s->n;
}
