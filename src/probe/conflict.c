/* SPDX-License-Identifier: MIT */
/* Conflict sets by growing and reducing; see conflict.h. */
#include "probe/conflict.h"

#include "probe/compare.h"

#include <math.h>
#include <string.h>

enum {
	BLOCKS = 16, /* into which pages are divided at first */
	MOST_BLOCKS = 128,
	SETBACKS = 4,
	OPEN = 3, /* questions that nothing decides */
	/* A grows by one part in so many. The chance that a set overflows grows with the power of its ways: of larger
	 * blocks, sets overflow at both offsets, and the laps do not differ. */
	SHARE = 8,
	OFFSET_GRAIN = 256, /* no line is longer: one that begins elsewhere may be in the one before */
	APART = 4,          /* lines from one pair to the next but one, where they lie anywhere */
	PAIR = XR_COMPARE_PAIR,
	NULLS = XR_COMPARE_NULLS,
	PARTS = 4, /* of the lines that keep the first level busy, of which one is left out: three are enough for that */
	FILL = 3,  /* times the ways of the first level: lines that keep it busy */
};

struct search {
	struct xr_compare compare;
	struct xr_conflict *c;
	struct xr_arena *arena;
	struct xr_page_list a; /* see conflict.h */
	uint32_t x;
	struct xr_page_list innocent; /* known not to be members */
	size_t from, to;              /* pages: so many do not overflow, so many do */
	size_t fill;                  /* pages that keep the first level busy */
};

static struct xr_page_list joined(struct xr_arena *arena, struct xr_page_list a, struct xr_page_list b)
{
	struct xr_page_list all = {xr_arena_array(arena, uint32_t, a.n + b.n + 1), a.n + b.n};

	memcpy(all.at, a.at, a.n * sizeof *all.at);
	memcpy(all.at + a.n, b.at, b.n * sizeof *all.at);
	return all;
}

static struct xr_page_list part(struct xr_page_list l, size_t from, size_t to)
{
	return (struct xr_page_list){l.at + from, to - from};
}

/* The same pages, each at its other offset. */
static struct xr_page_list moved(struct xr_arena *arena, struct xr_page_list l)
{
	struct xr_page_list other = {xr_arena_copy(arena, l.at, (l.n + 1) * sizeof *l.at), l.n};

	for (size_t i = 0; i < l.n; i++)
		other.at[i] ^= XR_MOVED;
	return other;
}

static void shuffle(struct xr_page_list l, struct xr_rng *rng)
{
	for (size_t k = l.n; k > 1; k--) {
		size_t j = (size_t)xr_rng_below(rng, k);
		uint32_t swap = l.at[k - 1];

		l.at[k - 1] = l.at[j];
		l.at[j] = swap;
	}
}

/* ---- x beside A -------------------------------------------------------------------------------------------------- */

static size_t count_at(struct xr_page_list l, uint32_t moved)
{
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++)
		n += (l.at[i] & XR_MOVED) == moved;
	return n;
}

/* Innocent pages, so that there are enough at either offset, else the first level answers; and as many at the one
 * as at the other. */
static void fill_up(struct search *s, struct xr_page_list *l)
{
	size_t have[2] = {count_at(*l, 0), count_at(*l, XR_MOVED)}, want = s->fill;

	want = have[0] > want ? have[0] : want;
	want = have[1] > want ? have[1] : want;
	for (size_t i = 0; i < s->innocent.n; i++) {
		size_t *side = &have[(s->innocent.at[i] & XR_MOVED) != 0];

		if (*side < want) {
			l->at[l->n++] = s->innocent.at[i];
			++*side;
		}
	}
}

/* x beside A but for [from, to). */
static struct xr_comparison without(struct search *s, size_t from, size_t to)
{
	struct xr_page_list left = {xr_arena_array(s->arena, uint32_t, 2 * s->a.n + 2 * s->fill + 1), 0};

	for (size_t i = 0; i < s->a.n; i++)
		if (i < from || i >= to)
			left.at[left.n++] = s->a.at[i];
	fill_up(s, &left);
	return (struct xr_comparison){.a = left, .x = {&s->x, 1}};
}

/* Does x still make its difference beside what is left? */
static int holds(struct search *s, bool *still, double *misses)
{
	struct xr_comparison q = without(s, 0, 0);

	if (xr_compare_decide(&s->compare, &q) != 0)
		return -1;
	*still = xr_compare_yes(&q);
	*misses = q.misses;
	if (*still)
		s->compare.seen = s->compare.seen > 0 ? fmin(s->compare.seen, q.misses) : q.misses;
	return 0;
}

/* ---- growing ------------------------------------------------------------------------------------------------------- */

/* The lines of A and X overflow, those of A do not: which page of X makes it overflow? One half of X against the
 * other: the one that makes more misses beside A has such a page; if none does, it takes both, and the second
 * half makes them beside A and the first. *found: it was not lost on the way. */
static int bisect(struct search *s, struct xr_page_list x, bool *found)
{
	*found = false;
	while (x.n > 1) {
		struct xr_page_list low = part(x, 0, x.n / 2), high = part(x, x.n / 2, x.n);
		struct xr_comparison q = {.a = s->a, .x = low, .y = high, .either = true};

		if (xr_compare_decide(&s->compare, &q) != 0)
			return -1;
		if (!xr_compare_decided(&q))
			return 0;
		if (xr_compare_yes(&q)) {
			x = low;
		} else {
			if (!xr_compare_contrary(&q))
				s->a = joined(s->arena, s->a, low);
			x = high;
		}
	}
	s->x = x.at[0];
	*found = true;
	return 0;
}

/* Half of the pages at the one offset, half at the other. */
static struct xr_page_list balanced(struct xr_arena *arena, struct xr_page_list l)
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
	while (*s->c->left > 0 && s->compare.pool.n > NULLS + 1 && share < s->a.n) {
		size_t k = s->a.n / share;
		struct xr_page_list before = s->a;
		struct xr_comparison q = {.a = s->a, .either = true};
		double misses = 0;

		k = k < s->compare.pool.n - NULLS ? k : s->compare.pool.n - NULLS;
		q.x = part(s->compare.pool, 0, k);
		s->compare.pool = part(s->compare.pool, k, s->compare.pool.n);
		if (xr_compare_decide(&s->compare, &q) != 0)
			return -1;
		if (!xr_compare_yes(&q) && !xr_compare_contrary(&q)) {
			open += !xr_compare_decided(&q);
			if (open == OPEN) /* somebody else is there, or A overflows by itself: others may do better */
				return 0;
			if (xr_compare_decided(&q))
				s->a = joined(s->arena, before, balanced(s->arena, q.x));
			continue;
		}
		/* all of them are at the one offset, or at the other */
		s->from = before.n;
		s->to = before.n + 2 * k;
		if (xr_compare_contrary(&q)) /* it is at the other offset that they overflow */
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
	n = n < MOST_BLOCKS ? n : MOST_BLOCKS;
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
	const double *left = s->c->left;
	size_t from = 0, kept = 0;

	*gone = 0;
	for (size_t i = 0; *left > 0 && i < b->n; i++) {
		struct xr_comparison q = without(s, from, from + b->size[i]);

		if (!b->needed[i] && xr_compare_decide(&s->compare, &q) != 0)
			return -1;
		if (!b->needed[i] && xr_compare_yes(&q)) {
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

/* Of more members than there are ways, one that could go may be among the pages that keep the first level busy. Then
 * those of A are too few, and x makes no difference without that page: pages like any other, all of them. Left out
 * are as many at the other offset, so that there are as many at the one as at the other. */
static int filler_is_innocent(struct search *s, bool *innocent)
{
	struct xr_page_list with = without(s, 0, 0).a;
	const size_t n = count_at(with, s->x & XR_MOVED) - count_at(s->a, s->x & XR_MOVED);

	*innocent = true;
	for (size_t k = 0; k < PARTS && *innocent; k++) {
		const size_t from = k * n / PARTS, to = (k + 1) * n / PARTS;
		struct xr_page_list left = {xr_arena_array(s->arena, uint32_t, with.n + 1), 0};
		struct xr_comparison q = {.x = {&s->x, 1}};
		size_t seen[2] = {0};

		for (size_t i = 0; i < with.n; i++) {
			size_t *side = &seen[(with.at[i] & XR_MOVED) != 0];

			if (i < s->a.n || *side < from || *side >= to)
				left.at[left.n++] = with.at[i];
			*side += i >= s->a.n;
		}
		q.a = left;
		if (from == to)
			continue;
		if (xr_compare_decide(&s->compare, &q) != 0)
			return -1;
		*innocent = xr_compare_yes(&q);
	}
	if (!*innocent) {
		s->innocent = part(s->innocent, 0, 0);
		s->a = with;
	}
	return 0;
}

static int reduce(struct search *s, struct xr_conflict_set *set)
{
	struct blocks b;
	int setbacks = 0, needed = 0;

	divide(s, &b, BLOCKS);
	while (*s->c->left > 0) {
		struct xr_page_list a = s->a, innocent = s->innocent;
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
		if (needed == 2 && filler_is_innocent(s, &still) != 0)
			return -1;
		if (needed == 2 && still && s->a.n > 0) { /* each page is needed, twice over */
			set->outcome = XR_CONFLICT_FOUND;
			set->n = s->a.n;
			set->x = xr_compare_address(&s->compare, s->x);
			set->member = xr_arena_array(s->arena, uint64_t, s->a.n);
			for (size_t i = 0; i < s->a.n; i++)
				set->member[i] = xr_compare_address(&s->compare, s->a.at[i]);
			return 0;
		}
		setbacks += needed == 2;
		divide(s, &b, needed == 2 ? BLOCKS : s->a.n);
		needed = needed == 2 ? 0 : needed;
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

	s->compare.lines = c->anywhere || span >= 2 * PAIR * c->line ? PAIR : 1;
	grain = s->compare.lines * c->line;
	if (grain < OFFSET_GRAIN && span >= 4 * OFFSET_GRAIN)
		grain = OFFSET_GRAIN;
	s->fill = FILL * c->first_ways;
	if (c->anywhere) {
		c->item = APART * c->line;
		s->compare.elsewhere = APART / 2 * c->line;
		s->fill *= (size_t)(c->first_way > c->item ? c->first_way / c->item : 1);
	} else {
		s->compare.at = xr_rng_below(xr_run_rng(c->run), c->item / grain) * grain;
		s->compare.elsewhere = offset_beside(c, s->compare.at, grain);
	}
}

/* Does the level hold the lines that keep the first one busy? One that does not overflows before anything is asked. */
static bool has_room(const struct search *s)
{
	return s->c->anywhere || !(s->c->holds > 0) || (double)s->fill < s->c->holds;
}

static bool begin(struct search *s, struct xr_conflict *c)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	size_t n;

	*s = (struct search){.compare.c = c, .c = c, .arena = arena};
	choose_offsets(s);
	n = (size_t)(c->buffer.bytes / c->item);
	if (n < 4 * s->fill + 2 * NULLS || s->compare.at == s->compare.elsewhere)
		return false;
	s->compare.pool = (struct xr_page_list){xr_arena_array(arena, uint32_t, n + 1), n};
	for (uint32_t i = 0; i < n; i++)
		s->compare.pool.at[i] = i;
	shuffle(s->compare.pool, xr_run_rng(c->run));
	s->a = joined(arena, part(s->compare.pool, 0, s->fill),
	              moved(arena, part(s->compare.pool, s->fill, 2 * s->fill)));
	s->compare.pool = part(s->compare.pool, 2 * s->fill, n);
	s->innocent = part(s->compare.pool, 0, 0);
	return true;
}

int xr_conflict_find(struct xr_conflict *c, struct xr_conflict_set *set)
{
	struct search s;
	bool found = false;

	*set = (struct xr_conflict_set){.outcome = XR_CONFLICT_NEVER};
	if (!(c->miss > 0) || !begin(&s, c))
		return 0;
	if (!has_room(&s)) {
		set->outcome = XR_CONFLICT_CROWDED;
		return 0;
	}
	if (grow(&s, &found) != 0)
		return -1;
	set->from = s.from;
	set->to = s.to;
	if (found)
		return reduce(&s, set) != 0 || (set->outcome == XR_CONFLICT_FOUND && check(&s, set) != 0) ? -1 : 0;
	set->outcome =
		*c->left > 0 ? s.compare.pool.n > NULLS + 1 ? XR_CONFLICT_LOST : XR_CONFLICT_NEVER : XR_CONFLICT_SPENT;
	return 0;
}
