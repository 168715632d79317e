/* SPDX-License-Identifier: MIT */
/* Classes of pages in the first cache, see coloured.h. */
#include "method/coloured.h"

#include <math.h>

enum { CLASSES = 5, PAGES_MAX = 512, OTHERS = 48, LEAST = 2 };

/* One line of each of some pages, the same one. */
static struct xr_places lines_of(struct xr_compact *c, const uint32_t *page, size_t n, uint64_t at)
{
	struct xr_places set = xr_places_new(xr_run_arena(c->run), n + 1);

	for (size_t i = 0; i < n; i++)
		xr_places_add(&set, page[i] * c->page + at);
	return set;
}

struct sequence {
	struct xr_compact *compact;
	const uint32_t *page;
	uint64_t at;
};

static void beginning(void *self, size_t n, struct xr_places *set, struct xr_places *twin)
{
	const struct sequence *s = self;

	(void)twin;
	*set = lines_of(s->compact, s->page, n, s->at);
}

static void shuffle(struct xr_compact *c, uint32_t *page, size_t n)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(xr_run_rng(c->run), i);
		uint32_t swap = page[i - 1];

		page[i - 1] = page[j];
		page[j] = swap;
	}
}

/* Leaves out every page without which the rest is still not compact. */
static int thin(struct xr_compact *c, uint32_t *page, size_t *n, uint64_t at)
{
	for (size_t i = 0; i < *n;) {
		uint32_t without[PAGES_MAX] = {0};
		struct xr_compact_answer answer;
		struct xr_places set;
		size_t k = 0;

		for (size_t j = 0; j < *n; j++)
			if (j != i)
				without[k++] = page[j];
		set = lines_of(c, without, k, at);
		if (xr_are_compact(c, &set, NULL, 1, &answer) != 0)
			return -1;
		if (answer.verdict == XR_NO) {
			for (size_t j = 0; j < k; j++)
				page[j] = without[j];
			*n = k;
		} else {
			i++;
		}
	}
	return 0;
}

/* Of other pages, those that overflow together with the class. */
static int count_alike(struct xr_compact *c, const uint32_t *class, size_t ways, const uint32_t *other, size_t n,
                       uint64_t at, size_t *alike)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_places *set = xr_arena_array(arena, struct xr_places, n);
	struct xr_compact_answer *answer = xr_arena_array(arena, struct xr_compact_answer, n);

	for (size_t i = 0; i < n; i++) {
		set[i] = lines_of(c, class, ways, at);
		xr_places_add(&set[i], other[i] * c->page + at);
	}
	if (xr_are_compact(c, set, NULL, n, answer) != 0)
		return -1;
	*alike = 0;
	for (size_t i = 0; i < n; i++)
		*alike += answer[i].verdict == XR_NO;
	return 0;
}

/* One class: how many ways it says there are, and how many of the others are of it. */
static int try_class(struct xr_compact *c, size_t pages, struct xr_coloured *found, size_t *ways, size_t *alike,
                     size_t *of)
{
	uint32_t page[PAGES_MAX] = {0}, class[PAGES_MAX] = {0};
	size_t n;
	struct sequence s = {c, page, xr_rng_below(xr_run_rng(c->run), c->page / 256) * 256};

	*ways = *alike = *of = 0;
	for (size_t i = 0; i < pages; i++)
		page[i] = (uint32_t)i;
	shuffle(c, page, pages);
	if (xr_first_not_compact(c, beginning, &s, LEAST, pages, NULL, &n) != 0)
		return -1;
	if (n > pages || pages - n < OTHERS)
		return 0;
	for (size_t i = 0; i < n; i++)
		class[i] = page[i];
	*of = OTHERS;
	if (thin(c, class, &n, s.at) != 0 ||
	    count_alike(c, class, n - 1, page + pages - OTHERS, OTHERS, s.at, alike) != 0)
		return -1;
	*ways = n - 1;
	found->class = lines_of(c, class, n, 0);
	return 0;
}

int xr_coloured_find(struct xr_compact *c, size_t pages, struct xr_coloured *found)
{
	size_t ways[CLASSES], alike[CLASSES], of[CLASSES], agree = 0, same = 0, others = 0;

	*found = (struct xr_coloured){0};
	if (pages > PAGES_MAX)
		pages = PAGES_MAX;
	for (size_t i = 0; i < CLASSES; i++) {
		size_t equal = 0;

		if (try_class(c, pages, found, &ways[i], &alike[i], &of[i]) != 0)
			return -1;
		for (size_t j = 0; j <= i && ways[i] > 0; j++)
			equal += ways[j] == ways[i];
		if (equal > agree) {
			agree = equal;
			found->ways = ways[i];
		}
	}
	for (size_t i = 0; i < CLASSES; i++)
		if (found->ways > 0 && ways[i] == found->ways) {
			same += alike[i];
			others += of[i];
		}
	if (agree < 2 || same == 0) {
		found->ways = 0;
		return 0;
	}
	double log_colours = log2((double)others / (double)same), off = fabs(log_colours - round(log_colours));
	found->colours = (size_t)1 << (unsigned)lround(fmax(0, log_colours));
	/* A share that is as near to the next power of two decides nothing. */
	found->sure = (double)agree / CLASSES * fmin(1, fmax(0, 0.5 - off) * 4);
	return 0;
}
