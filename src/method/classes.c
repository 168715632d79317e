/* Classes, see classes.h. */
#include "method/classes.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	GRID = 24,
	BLOCKS = 16,     /* of the first round of thinning */
	ORDERS = 2,      /* in which what overflows must do so */
	ORDERS_LAST = 3, /* before a page counts as needed or not */
	ROUNDS = 24,
	CLASS_MAX = 256, /* more, and it is no class */
	VOTES = 5,
	STARTS = 6,
	ATTEMPTS = 12,
};

static const double growth = 1.5;
static const double most_of_one = 4; /* misses: where many classes overflow, one of them is enough */
static const double overflow_share =
	0.4; /* of the misses of what is known to overflow: more than one class or page less */

static struct xr_lap lap_of(const uint32_t *item, size_t n)
{
	return (struct xr_lap){.item = item, .n = n};
}

static bool overflows(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return lap->misses >= xr_laps_border(laps, xr_lap_visits(laps, lap));
}

/* Asks about laps with yes[] set, one order after the other; leaves it set where all of them overflow. */
static int ask_all(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int orders, bool *yes)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *open = xr_arena_array(arena, struct xr_lap, n);
	size_t *of = xr_arena_array(arena, size_t, n);

	for (int order = 0; order < orders; order++) {
		size_t k = 0;

		for (size_t i = 0; i < n; i++)
			if (yes[i]) {
				of[k] = i;
				open[k++] = lap[i];
			}
		if (k == 0)
			return 0;
		for (size_t i = 0; i < k; i++)
			open[i].unsettled = order == 0 || laps->restless;
		if (xr_laps_ask(laps, open, k) != 0)
			return -1;
		for (size_t i = 0; i < k; i++) {
			yes[of[i]] = overflows(laps, &open[i]);
			lap[of[i]].misses = order ? fmin(lap[of[i]].misses, open[i].misses) : open[i].misses;
		}
	}
	return 0;
}

/* Those that still overflow once they have settled. */
static int ask_settled(const struct xr_laps *laps, struct xr_lap *lap, size_t n, bool *yes)
{
	struct xr_lap *open = xr_arena_array(xr_run_arena(laps->run), struct xr_lap, n);
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (yes[i]) {
			open[k] = lap[i];
			open[k++].unsettled = false;
		}
	if (k > 0 && xr_laps_ask(laps, open, k) != 0)
		return -1;
	for (size_t i = n; i-- > 0;)
		if (yes[i])
			yes[i] = overflows(laps, &open[--k]);
	return 0;
}

static int ask_one(const struct xr_laps *laps, const uint32_t *item, size_t n, int orders, bool *yes)
{
	struct xr_lap lap = lap_of(item, n);

	*yes = true;
	return ask_all(laps, &lap, 1, orders, yes);
}

/* ---- flush lines ------------------------------------------------------------------------------------------------- */

/* In pages larger than a way of the first level: lines elsewhere in the page, a number of ways away. */
static size_t per_page(const struct xr_laps *laps, const struct xr_first *first, bool odd)
{
	return (size_t)(odd ? laps->page / first->way / 2 : laps->page / first->way - 1);
}

/* An odd number: then they do not compete with any page for a larger way of this level. */
static void flush_inside(struct xr_laps *laps, const struct xr_first *first, size_t lines, const uint32_t *page,
                         size_t n, bool odd)
{
	size_t most = per_page(laps, first, odd);

	laps->inside = true;
	laps->flush = xr_places_new(xr_run_arena(laps->run), lines);
	for (size_t i = 0; i < n && laps->flush.n < lines; i++)
		for (size_t j = 0; j < most; j++)
			xr_places_add(&laps->flush,
			              page[i] * laps->item +
			                      (laps->at + (odd ? 2 * j + 1 : j + 1) * first->way) % laps->page);
}

/* They may still compete with each other: then others are tried, and fewer. */
static int choose_inside(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                         size_t *used)
{
	size_t each = per_page(laps, first, true), lines = 2 * first->ways + 2;

	*used = 0;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		size_t pages = (lines + each - 1) / each;
		bool yes;

		if (*used + pages + 1 > n)
			break;
		flush_inside(laps, first, lines, order + *used, pages, true);
		*used += pages + 1;
		if (ask_one(laps, order + *used - 1, 1, ORDERS, &yes) != 0)
			return -1;
		if (!yes)
			break;
		if (attempt >= ATTEMPTS / 4)
			lines = first->ways + 2;
	}
	return 0;
}

static void without_item(const uint32_t *item, size_t n, size_t i, uint32_t *rest)
{
	memcpy(rest, item, i * sizeof *rest);
	memcpy(rest + i, item + i + 1, (n - i - 1) * sizeof *rest);
}

/* Leaves out the page whose absence helps most, until the rest fits. */
static int repair(const struct xr_laps *laps, uint32_t *item, size_t *n, size_t least)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, *n);

	for (size_t i = 0; i < *n; i++)
		lap[i].item = xr_arena_array(arena, uint32_t, *n);
	for (;;) {
		size_t best = 0;
		bool yes;

		if (ask_one(laps, item, *n, ORDERS_LAST, &yes) != 0)
			return -1;
		if (!yes || *n <= least)
			return 0;
		for (size_t i = 0; i < *n; i++) {
			without_item(item, *n, i, (uint32_t *)(uintptr_t)lap[i].item);
			lap[i].n = *n - 1;
			lap[i].unsettled = true;
		}
		if (xr_laps_ask(laps, lap, *n) != 0)
			return -1;
		for (size_t i = 1; i < *n; i++)
			if (lap[i].misses < lap[best].misses)
				best = i;
		memcpy(item, lap[best].item, (*n - 1) * sizeof *item);
		(*n)--;
	}
}

int xr_flush_choose(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n, size_t *used)
{
	size_t lines = 2 * first->ways + 2, least = first->ways + 2;
	struct xr_laps bare = *laps;
	uint32_t *item;

	laps->flush.n = 0;
	*used = 0;
	if (laps->page >= 2 * first->way)
		return choose_inside(laps, first, order, n, used);
	if (n < 2 * lines)
		return 0;
	bare.flush.n = 0;
	item = xr_arena_copy(xr_run_arena(laps->run), order, lines * sizeof *item);
	*used = lines;
	if (repair(&bare, item, &lines, least) != 0)
		return -1;
	laps->flush = xr_places_new(xr_run_arena(laps->run), lines);
	for (size_t i = 0; i < lines; i++)
		xr_places_add(&laps->flush, item[i] * laps->item + laps->at);
	return 0;
}

/* ---- too many ------------------------------------------------------------------------------------------------------ */

/* A short beginning of `order` that overflows: *result pages; 0: none does. Learns by the way whether there are laps that
 * overflow only as long as they have not settled. */
static int too_many(struct xr_laps *laps, const uint32_t *order, size_t n, size_t *result)
{
	struct xr_lap lap[GRID];
	bool yes[GRID], restless[GRID], settles = false;
	size_t good = 0, bad = 0, k = 0;

	for (double size = 1; size <= (double)n && k < GRID; size = fmax(size + 1, size * growth))
		lap[k++] = lap_of(order, (size_t)size);
	*result = 0;
	laps->least = 0;
	laps->restless = false;
	/* From below, a few at a time: large laps are dear. */
	for (size_t from = 0; from < k && bad == 0; from += 4) {
		size_t some = k - from < 4 ? k - from : 4;

		memset(yes, true, sizeof yes);
		if (ask_all(laps, lap + from, some, 1, yes) != 0)
			return -1;
		memcpy(restless, yes, sizeof yes);
		if (ask_settled(laps, lap + from, some, yes) != 0)
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
	k = 0;
	for (size_t i = 1; i <= 3 && bad - good > 4; i++)
		lap[k++] = lap_of(order, good + (bad - good) * i / 4);
	memset(yes, true, sizeof yes);
	if (ask_all(laps, lap, k, ORDERS, yes) != 0)
		return -1;
	for (size_t i = k; i-- > 0;)
		if (yes[i])
			bad = lap[i].n;
	*result = bad;
	laps->restless = !settles;
	return 0;
}

/* ---- thinning ------------------------------------------------------------------------------------------------------ */

struct core {
	uint32_t *item;
	size_t n;
	double misses; /* of a lap over all of them, at least */
};

/* Does it still overflow? If so, laps that miss far less than this one do not: other users of the machine make misses too,
 * but what goes on missing after pages were left out has lost one of several classes at most, or one page too many of
 * several. */
static int weigh(struct xr_laps *laps, struct core *c, bool *yes)
{
	struct xr_lap lap = lap_of(c->item, c->n);

	*yes = true;
	if (ask_all(laps, &lap, 1, ORDERS_LAST, yes) != 0)
		return -1;
	if (*yes) {
		c->misses = lap.misses;
		laps->least = fmin(overflow_share * lap.misses, most_of_one);
	}
	return 0;
}

static size_t keep_blocks(const struct core *c, size_t size, const bool *go, uint32_t *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->n; i++)
		if (!go[i / size])
			left[kept++] = c->item[i];
	return kept;
}

/* One round with blocks of `size`: leaves out those whose absence changes nothing, all together: with as many members as
 * it takes and no more, what is true of each is true of all. When it is not, there are members to spare, and only half of
 * the blocks may go, and so on. *shrunk: by how much. */
static int thin(struct xr_laps *laps, struct core *c, size_t size, size_t *shrunk)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	size_t blocks = (c->n + size - 1) / size, idle = 0;
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, blocks);
	bool *go = xr_arena_array(arena, bool, blocks);
	uint32_t *left = xr_arena_array(arena, uint32_t, c->n);

	*shrunk = 0;
	for (size_t b = 0; b < blocks; b++) {
		size_t from = b * size, to = from + size < c->n ? from + size : c->n;
		uint32_t *rest = xr_arena_array(arena, uint32_t, c->n);

		memcpy(rest, c->item, from * sizeof *rest);
		memcpy(rest + from, c->item + to, (c->n - to) * sizeof *rest);
		lap[b] = lap_of(rest, c->n - (to - from));
		go[b] = true;
	}
	if (ask_all(laps, lap, blocks, ORDERS, go) != 0)
		return -1;
	for (size_t b = 0; b < blocks; b++)
		idle += go[b];
	while (idle > 0) {
		struct core rest = {left, keep_blocks(c, size, go, left), 0};
		size_t seen = 0;
		bool still;

		if (weigh(laps, &rest, &still) != 0)
			return -1;
		if (still) {
			*shrunk = c->n - rest.n;
			memcpy(c->item, left, rest.n * sizeof *left);
			c->n = rest.n;
			c->misses = rest.misses;
			return 0;
		}
		for (size_t b = 0; b < blocks; b++)
			if (go[b] && seen++ % 2 == 0) {
				go[b] = false;
				idle--;
			}
	}
	return 0;
}

/* Thins until nothing can go. When the rest fits then, a page was left out on a wrong answer: back to what was before.
 * *found: something is left that overflows. */
static int thin_to_the_end(struct xr_laps *laps, struct core *c, bool *found)
{
	uint32_t *before = xr_arena_array(xr_run_arena(laps->run), uint32_t, c->n);
	size_t size = c->n / BLOCKS + 1, n_before = 0;

	laps->least = 0;
	if (weigh(laps, c, found) != 0)
		return -1;
	if (!*found)
		return 0;
	*found = false;
	for (int round = 0; round < ROUNDS && (!laps->left || *laps->left > 0); round++) {
		uint32_t *now = xr_arena_copy(xr_run_arena(laps->run), c->item, c->n * sizeof *now);
		size_t shrunk;

		xr_shuffle(c->item, c->n, xr_run_rng(laps->run));
		if (thin(laps, c, size, &shrunk) != 0)
			return -1;
		if (shrunk > 0) {
			before = now;
			n_before = c->n + shrunk;
		} else if (size == 1) {
			if (weigh(laps, c, found) != 0)
				return -1;
			if (*found || n_before == 0)
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

/* Flush pages without which the rest fits belong to the class. */
static int take_from_flush(struct xr_laps *laps, const struct xr_first *first, struct core *c)
{
	struct xr_places all = laps->flush, kept = xr_places_new(xr_run_arena(laps->run), all.n);
	struct xr_lap lap = lap_of(c->item, c->n);
	size_t members = c->n;

	if (laps->page >= 2 * first->way || all.n == 0)
		return 0;
	for (size_t i = 0; i < all.n; i++) {
		struct xr_laps less = *laps;
		bool yes = true;

		less.flush = xr_places_new(xr_run_arena(laps->run), all.n);
		for (size_t k = 0; k < all.n; k++)
			if (k != i)
				xr_places_add(&less.flush, all.at[k]);
		if (ask_all(&less, &lap, 1, ORDERS, &yes) != 0)
			return -1;
		if (yes)
			xr_places_add(&kept, all.at[i]);
		else
			c->item[members++] = (uint32_t)(all.at[i] / laps->item);
	}
	c->n = members;
	laps->flush = kept;
	return 0;
}

/* Is every page needed, and do all of them overflow? */
static int confirm(const struct xr_laps *laps, const struct core *c, const char **trouble)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, c->n + 1);
	bool *yes = xr_arena_array(arena, bool, c->n + 1);

	for (size_t i = 0; i <= c->n; i++) {
		uint32_t *rest = xr_arena_array(arena, uint32_t, c->n);

		memcpy(rest, c->item, c->n * sizeof *rest);
		if (i < c->n)
			without_item(c->item, c->n, i, rest);
		lap[i] = lap_of(rest, c->n - (i < c->n));
		yes[i] = true;
	}
	if (ask_all(laps, lap, c->n + 1, ORDERS, yes) != 0 || ask_settled(laps, lap, c->n + 1, yes) != 0)
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (yes[i])
			*trouble = "the pages that push each other out form no class";
	if (!yes[c->n])
		*trouble = "pages push each other out at times only";
	return 0;
}

int xr_class_find(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n,
                  struct xr_class *class)
{
	struct core c = {NULL, 0, 0};
	bool found = false;
	size_t start;

	*class = (struct xr_class){.trouble = NULL};
	if (too_many(laps, order, n, &start) != 0)
		return -1;
	if (start == 0) {
		class->trouble = "too large for the pages there are";
		return 0;
	}
	c.item = xr_arena_array(xr_run_arena(laps->run), uint32_t, n + laps->flush.n);
	/* Noise, and nearly full sets under some policies, may look like too full ones: then more pages are needed. */
	for (int attempt = 0; attempt < STARTS && !found && start <= n; attempt++, start += start / 3 + 1) {
		c.n = start;
		memcpy(c.item, order, c.n * sizeof *c.item);
		if (thin_to_the_end(laps, &c, &found) != 0)
			return -1;
	}
	if (!found || c.n > CLASS_MAX) {
		class->trouble = "the pages that push each other out form no class";
		return 0;
	}
	if (take_from_flush(laps, first, &c) != 0 || confirm(laps, &c, &class->trouble) != 0)
		return -1;
	class->item = c.item;
	class->n = c.n;
	return 0;
}

int xr_flush_renew(struct xr_laps *laps, const struct xr_first *first, const struct xr_class *class,
                   const uint32_t *order, size_t n)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	size_t lines = first->ways + 2,
	       need = laps->page >= 2 * first->way ? lines / per_page(laps, first, false) + 1 : 0;
	size_t tests = need * 4 < n ? need * 4 : n, found = 0;
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, tests);
	bool *yes = xr_arena_array(arena, bool, tests);
	uint32_t *stranger = xr_arena_array(arena, uint32_t, tests);

	if (need == 0)
		return 0;
	for (size_t i = 0; i < tests; i++) {
		uint32_t *with = xr_arena_copy(arena, class->item, class->n * sizeof *with);

		with[0] = order[n - 1 - i];
		lap[i] = lap_of(with, class->n);
		yes[i] = true;
	}
	if (ask_all(laps, lap, tests, 1, yes) != 0)
		return -1;
	for (size_t i = 0; i < tests && found < need; i++)
		if (!yes[i])
			stranger[found++] = order[n - 1 - i];
	laps->tight = found < need;
	if (!laps->tight)
		flush_inside(laps, first, lines, stranger, found, false);
	return 0;
}

int xr_class_meets(const struct xr_laps *laps, const struct xr_class *class, size_t n, bool *meets)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *lap = xr_arena_array(arena, struct xr_lap, n);
	double *least = xr_arena_array(arena, double, 2 * n);
	struct xr_laps wide = *laps;

	for (size_t i = 0; i < n; i++) {
		lap[i] = lap_of(class->item, class->n);
		lap[i].moved = class->n / 2;
		lap[i].apart = UINT64_C(8) << i;
		lap[i].unsettled = laps->restless;
	}
	/* Neighbours only add misses, so the least counts; the second least, for there are freaks. With more flush lines
	 * in between, the same class may miss less. */
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
	for (size_t i = 0; i < n; i++) {
		lap[i].misses = least[2 * i + 1];
		meets[i] = overflows(&wide, &lap[i]);
	}
	return 0;
}
