/* SPDX-License-Identifier: MIT */
/* The second TLB, seen only by pages that miss the first, see tlb.h. */
#include "method/behind.h"
#include "method/sharedset.h"
#include "method/soft.h"
#include "method/tlb.h"

#include <math.h>

enum { FEW = 5 };

/* Of what missing the second level costs more than missing the first: a set of pages in which less is seen fits. One page
 * too many need not push out all others, and somebody else may have an entry of the set. */
static const double of_rise = 0.375;
static const double contradicted = 0.85; /* certainty of what a witness is against, or cannot be heard about */
static const double varies = 0.1;        /* of what a miss costs more: too much for one cost */
static const double through_soft = 0.85; /* certainty of what is seen through a level that does not replace by age */

static int behind_first(struct xr_tlb *t, struct xr_behind *b)
{
	return xr_behind_first(b, &t->pages, &t->first.sets, t->first.penalty, t->hit);
}

static int find_strided(struct xr_tlb *t)
{
	struct xr_tlb_sets *level = &t->second.sets;
	struct xr_behind b;
	struct xr_page_family f;
	struct xr_rise rise;
	size_t n;
	bool rule;

	if (behind_first(t, &b) != 0 || xr_pages_behind(&b, &f, &rise) != 0)
		return -1;
	if (rise.at == 0)
		return 0;
	/* What a miss of the first level costs is part of every access here: sets differ by more than that. */
	t->pages.compact.limit = b.penalty + 0.02 * t->hit;
	t->pages.compact.more = of_rise * rise.by;
	if (rise.at > XR_BEHIND_MANY) /* they are in many sets, of which one overflows first */
		t->pages.compact.more *= FEW / (double)rise.at;
	if (xr_pages_length(&f, 2 * rise.at, NULL, &n) != 0)
		return -1;
	if (n == SIZE_MAX)
		return 0;
	if (xr_pages_follow_down(&f, 1, n, &rule) != 0)
		return -1;
	*level = (struct xr_tlb_sets){.ways = n - 1, .stride = f.stride};
	if (!rule)
		return 0;
	if (xr_pages_try_odd(&f, level) != 0 || xr_pages_confirm(&f, 1, level) != 0)
		return -1;
	f.stride = level->stride;
	if (xr_pages_soften(&f, b.penalty, level) != 0)
		return -1;
	f.stride = level->stride;
	t->second.entries = level->ways * level->stride;
	return xr_pages_miss(&f, level, &t->first.sets, t->first.penalty, &t->second.penalty, &t->second.error);
}

/* Sets that are chosen by the exclusive or of two fields of the page number: no stride finds them. */
static int find_folded(struct xr_tlb *t)
{
	struct xr_tlb_sets *level = &t->second.sets;
	struct xr_behind b;
	struct xr_page_family f;
	struct xr_rise rise;
	unsigned bits;

	t->pages.compact.wander = 0; /* elsewhere they would be in other sets */
	if (behind_first(t, &b) != 0 || xr_pages_fold(&b, &bits, &rise) != 0)
		return -1;
	if (bits == 0)
		return 0;
	f = xr_pages_of_fold(&b, bits);
	*level = (struct xr_tlb_sets){.stride = (size_t)1 << bits};
	if (xr_shared_ways(&f, rise.at, level, &t->second.near) != 0)
		return -1;
	t->second.entries = level->ways * level->stride;
	return xr_pages_penalty(&f, rise.at, t->first.penalty, t->first.sets.soft, &t->second.penalty,
	                        &t->second.error);
}

/* The middle of a step is no better than that: pages are spread unevenly over sets, and somebody else has some of each. */
static bool about_as_many(double middle, double entries)
{
	return fabs(log(middle / entries)) < 0.15;
}

/* Where caches have a say, too, as one whose sets are a matter of luck, their misses look like a level: as many pages as meet
 * by chance, at a cost that differs from set to set. */
static bool may_be_cache(const struct xr_tlb *t)
{
	const struct xr_tlb_level *second = &t->second;
	return second->error > varies * (second->penalty - t->first.penalty) ||
	       fmax(second->sets.sure, second->near) < 0.8;
}

int xr_tlb_find_second(struct xr_tlb *t)
{
	static int (*const find[])(struct xr_tlb *) = {find_strided, find_folded};
	struct xr_tlb_level *second = &t->second, doubted = {.entries = 0};
	bool agree, heard;

	for (size_t i = 0; i < sizeof find / sizeof *find && second->entries == 0; i++) {
		if (find[i](t) != 0)
			return -1;
		if (second->entries <= t->first.entries) /* what holds no more than the first does not show behind it */
			second->entries = 0;
		if (second->entries > 0 && xr_tlb_ask_neighbours(t, &agree, &heard) != 0)
			return -1;
		if (second->entries > 0 && !heard && may_be_cache(t))
			second->entries = 0;
		if (second->entries > 0 && find[i] == find_folded && !heard)
			second->sets.sure = fmin(second->sets.sure, contradicted);
		if (second->entries == 0 || (agree && fmax(second->sets.sure, second->near) >= 0.5))
			continue;
		if (doubted.entries == 0)
			doubted = *second;
		second->entries = 0;
	}
	if (second->entries == 0 && xr_tlb_find_middle(t) != 0)
		return -1;
	if (doubted.entries > 0 && second->middle > 0 && about_as_many(second->middle, (double)doubted.entries)) {
		doubted.sets.sure = fmin(doubted.sets.sure, contradicted); /* the middle of the step is the witness */
		*second = doubted;
	} else if (second->entries == 0 && doubted.entries > 0) {
		doubted.sets.sure = fmin(doubted.sets.sure, 0.5);
		doubted.near = fmin(doubted.near, 0.5);
		*second = doubted;
	} else if (second->middle > 0) {
		second->other = doubted.entries;
	}
	if (t->first.sets.soft) { /* then pages between do not always push the others out of it */
		second->sets.sure = fmin(second->sets.sure, through_soft);
		second->near = fmin(second->near, through_soft);
	}
	return 0;
}
