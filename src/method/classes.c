/* SPDX-License-Identifier: MIT */
/* Classes, see classes.h. */
#include "method/classes.h"

#include "method/flush.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	GRID = 24,
	BLOCKS = 16, /* of the first round of thinning */
	ROUNDS = 24,
	BACK = 1,        /* times that a page may have been left out on a wrong answer */
	CLASS_MAX = 256, /* more, and it is no class */
	VOTES = 5,
	STARTS = 4,
	NEARLY = 24, /* the beginning that overflows is the shortest to one part in so many */
};

static const double growth = 1.5;
static const double many = 7;        /* misses of a lap */
static const double most_of_one = 4; /* misses: where many classes overflow, one of them is enough */
/* Of the misses of what is known to overflow: more than one class or page less. Tree-PLRU misses twice with one page
 * too many and seventeen times with two; where others make misses, too, that cannot be told. */
static const double overflow_share = 0.1, overflow_share_disturbed = 0.4;

static const double few_share = 0.2, few = 1.5; /* misses, of those of a whole class, and in all */

static bool may_go_on(const struct xr_laps *laps)
{
	return !laps->left || *laps->left > 0;
}

/* ---- too many ------------------------------------------------------------------------------------------------------ */

/* A short beginning of `order` that overflows: *result pages; 0: none does. (The shorter, the fewer classes
 * overflow besides one; of many that do, pages of all could go, but not together.) Learns by the way whether
 * there are laps that overflow only as long as they have not settled. */
static int too_many(struct xr_laps *laps, const uint32_t *order, size_t n, size_t *fits, size_t *result)
{
	struct xr_lap lap[GRID];
	bool yes[GRID], restless[GRID], settles = false;
	size_t good = 0, bad = 0, k = 0;

	for (double size = 1; size <= (double)n && k < GRID; size = fmax(size + 1, size * growth))
		lap[k++] = xr_lap_of(order, (size_t)size);
	*result = 0;
	laps->least = 0;
	laps->restless = false;
	/* From below, a few at a time: large laps are dear. */
	for (size_t from = 0; from < k && bad == 0; from += 4) {
		size_t some = k - from < 4 ? k - from : 4;

		memset(yes, true, sizeof yes);
		if (xr_laps_all(laps, lap + from, some, 1, yes) != 0)
			return -1;
		memcpy(restless, yes, sizeof yes);
		if (xr_laps_settled(laps, lap + from, some, 1, yes) != 0)
			return -1;
		for (size_t i = 0; i < some; i++)
			settles |= restless[i] && !yes[i];
		for (size_t i = 0; i < some && bad == 0; i++)
			if (yes[i])
				bad = lap[from + i].n;
			else
				good = lap[from + i].n;
	}
	if (bad == 0)
		return 0;
	while (bad - good > 4 + bad / NEARLY) {
		for (size_t i = 0; i < 3; i++)
			lap[i] = xr_lap_of(order, good + (bad - good) * (i + 1) / 4);
		memset(yes, true, sizeof yes);
		if (xr_laps_all(laps, lap, 3, XR_ORDERS, yes) != 0)
			return -1;
		for (size_t i = 3; i-- > 0;)
			if (yes[i])
				bad = lap[i].n;
		for (size_t i = 0; i < 3 && lap[i].n < bad; i++)
			good = lap[i].n;
	}
	*result = bad;
	*fits = good;
	laps->restless = !settles;
	return 0;
}

/* ---- thinning ------------------------------------------------------------------------------------------------------ */

struct core {
	uint32_t *item;
	size_t n;
	double misses; /* of a lap over all of them, at least */
};

/* Does it still overflow? If so, laps that miss far less than this one do not: other users of the machine make
 * misses too, but what goes on missing after pages were left out has lost one of several classes at most, or one
 * page too many of several. */
static int weigh(struct xr_laps *laps, struct core *c, bool *yes)
{
	struct xr_lap lap = xr_lap_of(c->item, c->n);

	*yes = true;
	if (xr_laps_all(laps, &lap, 1, XR_ORDERS, yes) != 0)
		return -1;
	/* Few misses may be those of a nearly full set in orders that suit the policy badly. */
	if (*yes && (lap.misses < many || !laps->restless) &&
	    xr_laps_all(laps, &lap, 1, XR_ORDERS_LAST - XR_ORDERS, yes) != 0)
		return -1;
	if (*yes) {
		c->misses = lap.misses;
		laps->least =
			fmin((laps->disturbed ? overflow_share_disturbed : overflow_share) * lap.misses, most_of_one);
	}
	return 0;
}

/* A round of thinning. */
struct round {
	struct core *core;    /* as it was */
	struct core rest;     /* what is left of it */
	size_t size;          /* of a block */
	bool *gone;           /* blocks */
	size_t *idle, n_idle; /* blocks that could go, each alone */
};

static size_t keep_blocks(const struct round *r, uint32_t *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->core->n; i++)
		if (!r->gone[i / r->size])
			left[kept++] = r->core->item[i];
	return kept;
}

/* Leaves out as many of these idle blocks as can go: all together; else, one half after the other. With as many
 * members as it takes and no more, what is true of each is true of all; when it is not, there are members to
 * spare. */
static int leave_out(struct xr_laps *laps, struct round *r, size_t from, size_t to)
{
	struct core rest = {xr_arena_array(xr_run_arena(laps->run), uint32_t, r->core->n), 0, 0};
	bool still;

	if (from == to || !may_go_on(laps))
		return 0;
	for (size_t i = from; i < to; i++)
		r->gone[r->idle[i]] = true;
	rest.n = keep_blocks(r, rest.item);
	if (weigh(laps, &rest, &still) != 0)
		return -1;
	if (still) {
		r->rest = rest;
		return 0;
	}
	for (size_t i = from; i < to; i++)
		r->gone[r->idle[i]] = false;
	if (to - from == 1)
		return 0;
	return leave_out(laps, r, from, (from + to) / 2) != 0 || leave_out(laps, r, (from + to) / 2, to) != 0 ? -1 : 0;
}

/* One round with blocks of `size`: leaves out those whose absence changes nothing. *shrunk: by how much. */
static int thin(struct xr_laps *laps, struct core *c, size_t size, size_t *shrunk)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	size_t blocks = (c->n + size - 1) / size;
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, blocks);
	bool *go = xr_arena_array(arena, bool, blocks);
	struct round round = {.core = c,
	                      .size = size,
	                      .gone = xr_arena_array(arena, bool, blocks),
	                      .idle = xr_arena_array(arena, size_t, blocks)};

	*shrunk = 0;
	for (size_t b = 0; b < blocks; b++) {
		size_t from = b * size, to = from + size < c->n ? from + size : c->n;
		uint32_t *rest = xr_arena_array(arena, uint32_t, c->n);

		memcpy(rest, c->item, from * sizeof *rest);
		memcpy(rest + from, c->item + to, (c->n - to) * sizeof *rest);
		lap[b] = xr_lap_of(rest, c->n - (to - from));
		go[b] = true;
	}
	if (xr_laps_all(laps, lap, blocks, laps->restless ? 1 : XR_ORDERS, go) != 0)
		return -1;
	for (size_t b = 0; b < blocks; b++)
		if (go[b])
			round.idle[round.n_idle++] = b;
	if (leave_out(laps, &round, 0, round.n_idle) != 0)
		return -1;
	if (round.rest.n > 0) {
		*shrunk = c->n - round.rest.n;
		memcpy(c->item, round.rest.item, round.rest.n * sizeof *c->item);
		c->n = round.rest.n;
		c->misses = round.rest.misses;
	}
	return 0;
}

/* Is it still too much when nothing is left out any more? Else one page too few: laps do settle on this machine. */
static int weigh_last(struct xr_laps *laps, struct core *c, bool *yes)
{
	struct xr_lap lap = xr_lap_of(c->item, c->n);

	if (weigh(laps, c, yes) != 0 || xr_laps_settled(laps, &lap, 1, XR_SETTLES, yes) != 0)
		return -1;
	laps->restless = laps->restless && *yes;
	return 0;
}

/* Thins what overflows until nothing can go. When the rest fits then, a page was left out on a wrong answer: back
 * to what was before. *found: something is left that overflows. */
static int thin_to_the_end(struct xr_laps *laps, struct core *c, bool *found)
{
	uint32_t *before = xr_arena_array(xr_run_arena(laps->run), uint32_t, c->n);
	size_t size = c->n / BLOCKS + 1, n_before = 0;
	int back = 0;

	*found = false;
	for (int round = 0; round < ROUNDS && may_go_on(laps); round++) {
		uint32_t *now = xr_arena_copy(xr_run_arena(laps->run), c->item, c->n * sizeof *now);
		size_t shrunk;

		xr_shuffle(c->item, c->n, xr_run_rng(laps->run));
		if (thin(laps, c, size, &shrunk) != 0)
			return -1;
		if (shrunk > 0) {
			before = now;
			n_before = c->n + shrunk;
		} else if (size == 1) {
			if (weigh_last(laps, c, found) != 0)
				return -1;
			if (*found || n_before == 0 || back++ == BACK)
				return 0;
			laps->least = 0;
			memcpy(c->item, before, n_before * sizeof *before);
			c->n = n_before;
			n_before = 0;
			size = c->n / BLOCKS + 1;
			continue;
		}
		if (shrunk * 3 < c->n + shrunk)
			size = (size + 1) / 2;
		if (size > c->n / BLOCKS + 1)
			size = c->n / BLOCKS + 1;
	}
	return 0;
}

/* ---- the class ----------------------------------------------------------------------------------------------------- */

/* Is every page needed, and do all of them overflow? */
static int confirm(const struct xr_laps *laps, struct xr_class *c)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, c->n + 1);
	bool *yes = xr_arena_array(arena, bool, c->n + 1), still;

	for (size_t i = 0; i <= c->n; i++) {
		uint32_t *rest = xr_arena_array(arena, uint32_t, c->n);

		memcpy(rest, c->item, c->n * sizeof *rest);
		if (i < c->n)
			xr_without_item(c->item, c->n, i, rest);
		lap[i] = xr_lap_of(rest, c->n - (i < c->n));
		yes[i] = true;
	}
	if (xr_laps_overflow(laps, lap, c->n + 1, XR_ORDERS, yes) != 0 ||
	    xr_laps_settled(laps, lap, c->n, XR_SETTLES, yes) != 0 ||
	    xr_laps_one(laps, c->item, c->n, XR_ORDERS_LAST, &still) != 0)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (yes[i])
			c->trouble = "pages that evict each other form no class";
	c->misses = lap[c->n].misses;
	if (!yes[c->n] || !still || lap[c->n].padded != lap[0].padded)
		c->trouble = "pages evict each other only at times";
	return 0;
}

int xr_class_find(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                  struct xr_class *class)
{
	struct core c = {NULL, 0, 0};
	bool found = false, too_full;
	size_t start;
	int attempts = 0;

	*class = (struct xr_class){.trouble = NULL};
	if (too_many(laps, order, n, &class->fits, &start) != 0)
		return -1;
	if (start == 0) {
		class->trouble = "too large for the pages there are";
		return 0;
	}
	c.item = xr_arena_array(xr_run_arena(laps->run), uint32_t, n + laps->flush.n);
	/* Noise, and nearly full sets under some policies, may look like too full ones: then more pages are needed. */
	for (; attempts < STARTS && !found && start <= n && may_go_on(laps); start += start / 3 + 1) {
		c.n = class->from = start;
		memcpy(c.item, order, c.n * sizeof *c.item);
		laps->least = 0;
		if (weigh(laps, &c, &too_full) != 0)
			return -1;
		if (!too_full) {
			class->fits = start;
			continue;
		}
		attempts++;
		if (thin_to_the_end(laps, &c, &found) != 0)
			return -1;
	}
	if (!found || c.n > CLASS_MAX) {
		class->trouble = "pages that evict each other form no class";
		return 0;
	}
	class->item = c.item;
	class->n = c.n;
	return xr_flush_take(laps, first, class) != 0 || confirm(laps, class) != 0 ? -1 : 0;
}

int xr_class_elsewhere(struct xr_laps *laps, uint64_t at, struct xr_class *class)
{
	struct core c = {class->item, class->n, 0};
	uint64_t by = (laps->page + at - laps->at) % laps->page;
	size_t pages;
	bool found;

	xr_laps_move(laps, by);
	xr_laps_pad(laps, &pages);
	laps->least = 0;
	if (weigh(laps, &c, &found) != 0)
		return -1;
	if (!found)
		class->trouble = "pages evict each other in some of their lines only";
	return found ? confirm(laps, class) : 0;
}

int xr_class_meets(const struct xr_laps *laps, const struct xr_class *class, size_t n, bool *meets)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, n);
	double *least = xr_arena_array(arena, double, 2 * n);
	struct xr_laps wide = *laps;

	for (size_t i = 0; i < n; i++) {
		lap[i] = xr_lap_of(class->item, class->n);
		lap[i].moved = class->n / 2;
		lap[i].apart = UINT64_C(8) << i;
		lap[i].unsettled = laps->restless;
	}
	/* Neighbours only add misses, so the least counts; the second least, for there are freaks. With more
	 * flush lines in between, the same class may miss less. */
	wide.least /= 2;
	for (size_t i = 0; i < 2 * n; i++)
		least[i] = INFINITY;
	for (int vote = 0; vote < VOTES; vote++) {
		if (xr_laps_ask(laps, lap, n) != 0)
			return -1;
		for (size_t i = 0; i < n; i++) {
			least[2 * i + 1] = fmin(least[2 * i + 1], fmax(least[2 * i], lap[i].misses));
			least[2 * i] = fmin(least[2 * i], lap[i].misses);
		}
	}
	/* Those side by side meet for sure; far fewer misses than theirs may be hits of the first level that failed to
	 * appear. */
	wide.least = fmax(wide.least, fmin(few_share * least[1], few));
	for (size_t i = 0; i < n; i++) {
		lap[i].misses = least[2 * i + 1];
		meets[i] = xr_lap_overflows(&wide, &lap[i]);
	}
	return 0;
}
