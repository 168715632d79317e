/* SPDX-License-Identifier: MIT */
/* is_compact, see compact.h. */
#include "method/compact.h"

#include <math.h>

enum {
	FIRST_ORDERS = 2, /* asked of every set */
	MORE_ORDERS = 2,  /* asked again while the vote is open */
	MOST_ORDERS = 15,
	WANDER_STEP = 256, /* bytes: no line is larger */
	FAN = 6,           /* sets asked about at once while searching */
	SMALL = 64,        /* places: of larger sets, only two lengths */
};
/* What a vote says: log of how much more often compact sets than others are fast, or slow. A compact set is fast in few
 * orders only on a machine with much going on, or where replacement does not find the way that is free. */
static const double says_fast = 2.5, says_slow = -0.6;
static const double default_sure = 2.2;
static const double of_hit = 0.1, of_twin = 0.03;

struct ballot {
	int yes, no, orders;
	double llr;
	double cycles[MOST_ORDERS], twin[MOST_ORDERS];
};

struct xr_places xr_compact_elsewhere(struct xr_compact *c, const struct xr_places *set)
{
	uint64_t end = xr_places_end(set), free = c->buffer.bytes > end ? c->buffer.bytes - end : 0;
	uint64_t step = c->wander_step ? c->wander_step : WANDER_STEP,
		 steps = (free < c->wander ? free : c->wander) / step;

	if (steps == 0)
		return *set;
	return xr_places_moved(xr_run_arena(c->run), set, step * xr_rng_below(xr_run_rng(c->run), steps + 1));
}

/* One vote: a set and its twin, side by side, in the same order. */
static void draw(struct xr_compact *c, const struct xr_places *set, const struct xr_places *other, struct xr_spec *pair)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_buffer beside = c->buffer;
	bool usual = !other || !other->at;
	struct xr_places here = xr_compact_elsewhere(c, set);
	struct xr_places twin = usual ? xr_places_twin(arena, &here, c->page) : *other;
	uint64_t seed = xr_places_seed(arena, &here, xr_run_rng(c->run));

	beside.id++;
	pair[0] = xr_places_cycle(arena, &here, c->buffer, seed);
	pair[1] = xr_places_cycle(arena, &twin, beside, seed);
}

static void count(const struct xr_compact *c, size_t places, struct ballot *ballot, const struct xr_reading *pair)
{
	double limit;
	bool fast;

	ballot->orders++;
	if (pair[0].status != XR_READ_OK || pair[1].status != XR_READ_OK)
		return;
	limit = fmax(of_hit * (c->hit > 0 ? c->hit : pair[1].cycles), of_twin * pair[1].cycles);
	if (c->limit > 0)
		limit = c->limit + c->more * (double)(places - c->idle) / (double)places;
	fast = pair[0].cycles - pair[1].cycles <= limit;
	ballot->cycles[ballot->yes + ballot->no] = pair[0].cycles;
	ballot->twin[ballot->yes + ballot->no] = pair[1].cycles;
	*(fast ? &ballot->yes : &ballot->no) += 1;
	ballot->llr += fast ? says_fast : says_slow;
}

static bool is_open(const struct xr_compact *c, const struct ballot *ballot)
{
	return ballot->orders < MOST_ORDERS &&
	       (ballot->orders < c->least || fabs(ballot->llr) < (c->sure > 0 ? c->sure : default_sure));
}

static struct xr_compact_answer answer_of(const struct xr_compact *c, const struct ballot *ballot)
{
	struct xr_compact_answer a = {XR_UNDECIDED, ballot->yes, ballot->no, ballot->llr, 0, 0};

	if (ballot->yes + ballot->no == 0)
		return a;
	a.cycles = xr_median(ballot->cycles, (size_t)(ballot->yes + ballot->no));
	a.twin = xr_median(ballot->twin, (size_t)(ballot->yes + ballot->no));
	if (fabs(ballot->llr) >= (c->sure > 0 ? c->sure : default_sure))
		a.verdict = ballot->llr > 0 ? XR_YES : XR_NO;
	return a;
}

int xr_are_compact(struct xr_compact *c, const struct xr_places *set, const struct xr_places *twin, size_t n,
                   struct xr_compact_answer *answer)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_effort effort = c->effort.samples ? c->effort : (struct xr_effort){.samples = 5, .samples_max = 5};
	struct ballot *ballot = xr_arena_array(arena, struct ballot, n);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, n * 2 * MORE_ORDERS);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, n * 2 * MORE_ORDERS);
	size_t *of = xr_arena_array(arena, size_t, n * MORE_ORDERS);

	for (int asked = 0; asked < MOST_ORDERS;) {
		int orders = asked ? MORE_ORDERS : FIRST_ORDERS;
		size_t k = 0;

		for (size_t i = 0; i < n; i++)
			for (int o = 0; o < orders && is_open(c, &ballot[i]) && ballot[i].orders + o < MOST_ORDERS;
			     o++) {
				draw(c, &set[i], twin ? &twin[i] : NULL, &spec[2 * k]);
				of[k++] = i;
			}
		if (k == 0)
			break;
		if (xr_run_time_with(c->run, &effort, spec, 2 * k, reading) != 0)
			return -1;
		for (size_t j = 0; j < k; j++)
			count(c, set[of[j]].n, &ballot[of[j]], &reading[2 * j]);
		asked += orders;
	}
	for (size_t i = 0; i < n; i++)
		answer[i] = answer_of(c, &ballot[i]);
	return 0;
}

double xr_llr_probability(double llr)
{
	return 1 / (1 + exp(-llr));
}

size_t xr_compact_split(const struct xr_compact_answer *answer, size_t n, double *sure)
{
	double now = 0, best, second = -INFINITY;
	size_t at = 0;

	for (size_t i = 0; i < n; i++)
		now += answer[i].llr;
	best = now;
	for (size_t i = 0; i < n; i++) {
		now -= 2 * answer[i].llr;
		if (now > best) {
			second = best;
			best = now;
			at = i + 1;
		} else if (now > second) {
			second = now;
		}
	}
	*sure = xr_llr_probability((best - second) / 2);
	return at;
}

/* Index of the first set that is not compact and whose successor, where there is one, is not either; n: none. */
static size_t first_no(const struct xr_compact_answer *answer, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (answer[i].verdict != XR_YES && (i + 1 == n || answer[i + 1].verdict != XR_YES))
			return i;
	return n;
}

/* What is known of a family: all up to good are compact, bad and what follows are not. */
struct bracket {
	size_t good, bad;
};

static int ask_lengths(struct xr_compact *c, xr_family_fn *family, void *self, const size_t *length, size_t k,
                       struct bracket *b)
{
	struct xr_places set[FAN] = {0}, twin[FAN] = {0};
	struct xr_compact_answer answer[FAN];
	size_t first;

	for (size_t i = 0; i < k; i++)
		family(self, length[i], &set[i], &twin[i]);
	if (xr_are_compact(c, set, twin, k, answer) != 0)
		return -1;
	first = first_no(answer, k);
	if (first > 0 && length[first - 1] > b->good)
		b->good = length[first - 1];
	if (first < k && length[first] < b->bad)
		b->bad = length[first];
	return 0;
}

/* The guesses and the lengths just below them, in order. */
static size_t lengths_of_guesses(const size_t *guess, size_t lo, size_t hi, size_t *length)
{
	size_t k = 0;

	for (; guess && *guess && k + 2 <= FAN; guess++)
		for (size_t n = *guess - 1; n <= *guess; n++)
			if (n >= lo && n <= hi && (k == 0 || n > length[k - 1]))
				length[k++] = n;
	return k;
}

/* Doubling, so that no set is much larger than it has to be; few at once where each costs as much as all before it. */
static int search_up(struct xr_compact *c, xr_family_fn *family, void *self, size_t lo, size_t hi, struct bracket *b)
{
	for (size_t next = b->good < lo ? lo : b->good * 2 < hi ? b->good * 2 : hi; next <= hi && b->bad > hi;) {
		size_t length[FAN], k = 0;

		for (; k < (next > SMALL ? 2 : FAN) && next <= hi; k++) {
			length[k] = next;
			next = next == hi ? hi + 1 : (next * 2 > hi ? hi : next * 2);
		}
		if (ask_lengths(c, family, self, length, k, b) != 0)
			return -1;
	}
	return 0;
}

int xr_first_not_compact(struct xr_compact *c, xr_family_fn *family, void *self, size_t lo, size_t hi,
                         const size_t *guess, size_t *result)
{
	struct bracket b = {lo ? lo - 1 : 0, hi + 1};
	size_t length[FAN], k = lengths_of_guesses(guess, lo, hi, length);

	if (k > 0 && ask_lengths(c, family, self, length, k, &b) != 0)
		return -1;
	if (search_up(c, family, self, lo, hi, &b) != 0)
		return -1;
	/* Between the last that was and the first that was not. */
	while (b.bad <= hi && b.bad - b.good > 1) {
		size_t good = b.good, gap = b.bad - good;

		k = 0;
		for (size_t i = 1; i <= FAN; i++) {
			size_t at = good + gap * i / (FAN + 1);

			if (at > good && at < b.bad && (k == 0 || at > length[k - 1]))
				length[k++] = at;
		}
		if (k == 0)
			length[k++] = good + 1;
		if (ask_lengths(c, family, self, length, k, &b) != 0)
			return -1;
	}
	*result = b.bad;
	return 0;
}
