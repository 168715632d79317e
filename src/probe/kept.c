/* SPDX-License-Identifier: MIT */
/* Laps over members of one set, see kept.h. */
#include "probe/kept.h"

#include "probe/conflict.h"
#include "stat/stat.h"

#include <string.h>

enum {
	WORD = 8,
	ATTEMPTS = 6,
	HUGE_PAGE = 2 << 20,
	XS = 3,    /* strangers in the place of x: one of them may be of its set by chance */
	BATCH = 8, /* pages of which one may be a member */
	LOOKS = 3,
	SET_MOST = XR_KEPT_MOST / 2,
};

static const struct xr_effort effort = {.samples = 7, .samples_max = 14};
/* Of questions that are many, and whose wrong answers others find out: some ten laps a sample. */
static const struct xr_effort quick = {.samples = 9, .samples_max = 9, .sample_ns = 5e3, .hasty = true};

/* ---- laps -------------------------------------------------------------------------------------------------------- */

static struct xr_spec lap_of(const struct xr_kept *k, const uint64_t *place, size_t n)
{
	struct xr_span *span = xr_arena_array(xr_run_arena(k->run), struct xr_span, n);
	struct xr_spec spec = {.kind = XR_CHAIN};
	for (size_t i = 0; i < n; i++)
		span[i] = (struct xr_span){place[i], 0, 1};
	spec.chain.buffer = k->buffer;
	spec.chain.n_phases = 1;
	spec.chain.phase[0] = (struct xr_phase){.span = span, .n_spans = n, .access = XR_READ, .timed = true};
	return spec;
}

/* Both laps have as many visits. */
static int ask_pair(const struct xr_kept *k, const struct xr_spec *spec, size_t n_spec, size_t visits,
                    struct xr_kept_times *t)
{
	t->n = 0;
	for (int turn = 0; turn < XR_KEPT_TURNS; turn++) {
		struct xr_reading reading[1 + XS];
		double other[XS];
		if (xr_run_time_with(k->run, &effort, spec, n_spec, reading) != 0)
			return -1;
		for (size_t i = 0; i < n_spec; i++)
			if (reading[i].status != XR_READ_OK)
				return 0;
		for (size_t i = 1; i < n_spec; i++)
			other[i - 1] = reading[i].cycles * (double)visits;
		t->with[turn] = reading[0].cycles * (double)visits;
		t->without[turn] = xr_median(other, n_spec - 1);
		t->n = (size_t)turn + 1;
	}
	return 0;
}

int xr_kept_ask_members(const struct xr_kept *k, size_t n, bool pushed, struct xr_kept_times *t)
{
	uint64_t place[2][XR_KEPT_MOST + XR_KEPT_STRANGERS];
	const size_t push = pushed ? 2 * k->first_ways : 0, few = k->few < n ? k->few : n / 2, spare = n - few;
	size_t at = 0;
	t->n = 0;
	if (n > k->n || spare + push > k->n_strangers)
		return 0;
	for (size_t i = 0; i < n; i++, at++) {
		place[0][at] = k->member[i];
		place[1][at] = i < few ? k->member[i] : k->stranger[push + i - few];
	}
	for (size_t i = 0; i < push; i++, at++)
		place[0][at] = place[1][at] = k->stranger[i];
	const struct xr_spec spec[2] = {lap_of(k, place[0], at), lap_of(k, place[1], at)};
	return ask_pair(k, spec, 2, at, t);
}

/* The last word of its line is not visited: it is for stores. */
static size_t words_of(const struct xr_kept *k)
{
	return (size_t)(k->line / WORD) - 1;
}

size_t xr_kept_apart(const struct xr_kept *k, size_t n)
{
	const size_t words = words_of(k);
	return words ? (n + words - 1) / words : n;
}

int xr_kept_ask_x(const struct xr_kept *k, size_t n, bool storing, struct xr_kept_times *t)
{
	const size_t apart = xr_kept_apart(k, n);
	struct xr_spec spec[1 + XS];
	size_t at = 0;
	t->n = 0;
	if (n > k->n || k->n_strangers < XS || !apart)
		return 0;
	for (size_t s = 0; s <= XS; s++) {
		const uint64_t hot = s ? k->stranger[k->n_strangers - s] : k->x;
		uint64_t place[2 * XR_KEPT_MOST];
		size_t word = 0;
		at = 0;
		for (size_t i = 0; i < n; i++) {
			place[at++] = k->member[i];
			if ((i + 1) % apart == 0 || i + 1 == n)
				place[at++] = hot / k->line * k->line + word++ * WORD;
		}
		spec[s] = lap_of(k, place, at);
		spec[s].chain.storing = storing ? k->line : 0;
	}
	return ask_pair(k, spec, 1 + XS, at, t);
}

/* ---- where ------------------------------------------------------------------------------------------------------- */

void xr_kept_lay_out(struct xr_kept *k, uint64_t way, size_t few, size_t wanted)
{
	const uint64_t others = k->first_way ? way / k->first_way : 0; /* sets of the second in one of the first */
	k->n = k->ways = k->n_strangers = 0;
	k->item = 0;
	k->few = few;
	wanted = wanted < XR_KEPT_MOST ? wanted : XR_KEPT_MOST;
	if (others < 4 || way % k->first_way)
		return;
	const uint64_t bytes = (wanted + 1) * way + way;
	k->buffer = (struct xr_buffer){XR_KEPT_BUFFER, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE, XR_HUGE};
	if (k->buffer.bytes > xr_run_room(k->run))
		return;
	for (size_t i = 0; i < wanted; i++)
		k->member[k->n++] = i * way;
	k->x = wanted * way;
	for (size_t i = 0; i < XR_KEPT_STRANGERS; i++) /* of all other sets in turn */
		k->stranger[k->n_strangers++] =
			i / (others - 1) % (wanted + 1) * way + (1 + i % (others - 1)) * k->first_way;
}

static bool is_known(const struct xr_kept *k, uint64_t place)
{
	bool known = place / k->item == k->x / k->item;
	for (size_t i = 0; i < k->n; i++)
		known |= place / k->item == k->member[i] / k->item;
	for (size_t i = 0; i < k->n_strangers; i++)
		known |= place / k->item == k->stranger[i] / k->item;
	return known;
}

/* At the same place of another page. */
static uint64_t page_beside(const struct xr_kept *k, uint64_t place)
{
	const uint64_t items = k->buffer.bytes / k->item;
	uint64_t other;
	do
		other = xr_rng_below(xr_run_rng(k->run), items) * k->item + place % k->item;
	while (is_known(k, other));
	return other;
}

/* Do these pages, beside a conflict set, make it overflow? Beside one member fewer they do not, unless two of them are of
 * the set. */
static int overflows(const struct xr_kept *k, const struct xr_effort *with, const uint64_t *page, size_t n, bool *yes)
{
	uint64_t place[2][SET_MOST + BATCH + XR_KEPT_STRANGERS];
	const size_t visits = k->ways + n + k->n_busy;
	double more[LOOKS];
	for (int lap = 0; lap < 2; lap++) {
		memcpy(place[lap], k->tester, k->ways * sizeof *page);
		memcpy(place[lap] + k->ways, page, n * sizeof *page);
		memcpy(place[lap] + k->ways + n, k->busy, k->n_busy * sizeof *page);
	}
	place[1][0] = k->spare;
	const struct xr_spec spec[2] = {lap_of(k, place[0], visits), lap_of(k, place[1], visits)};
	*yes = false;
	for (int look = 0; look < LOOKS; look++) {
		struct xr_reading reading[2];
		if (xr_run_time_with(k->run, with, spec, 2, reading) != 0)
			return -1;
		if (reading[0].status != XR_READ_OK || reading[1].status != XR_READ_OK)
			return 0;
		more[look] = (reading[0].cycles - reading[1].cycles) * (double)visits;
	}
	*yes = xr_median(more, LOOKS) > k->miss; /* the page misses, and who it pushes out: two at least */
	return 0;
}

/* Which of these pages is a member? It stays alone. */
static int bisect(const struct xr_kept *k, uint64_t *page, bool *found)
{
	size_t n = BATCH;
	*found = true;
	while (n > 1 && *found) {
		const size_t half = n / 2;
		if (overflows(k, &quick, page, half, found) != 0)
			return -1;
		if (*found) {
			n = half;
			continue;
		}
		memmove(page, page + half, (n - half) * sizeof *page);
		n -= half;
		if (overflows(k, &quick, page, n, found) != 0)
			return -1;
	}
	return 0;
}

int xr_kept_search_more(struct xr_kept *k, size_t wanted, double visits_most)
{
	const double one = 2.0 * LOOKS * (double)(k->ways + BATCH + k->n_busy); /* visits of a question, one lap each */
	wanted = wanted < XR_KEPT_MOST ? wanted : XR_KEPT_MOST;
	while (k->item && k->ways && k->n < wanted && visits_most > 0) {
		uint64_t page[BATCH];
		bool yes;
		for (size_t i = 0; i < BATCH; i++)
			page[i] = page_beside(k, k->x);
		visits_most -= one;
		if (overflows(k, &quick, page, BATCH, &yes) != 0)
			return -1;
		if (!yes)
			continue;
		visits_most -= 5 * one;
		if (bisect(k, page, &yes) != 0 || (yes && overflows(k, &effort, page, 1, &yes) != 0))
			return -1;
		if (yes && !is_known(k, page[0]))
			k->member[k->n++] = page[0];
	}
	return 0;
}

/* A conflict set: those of its members that are in the set of x in the first cache. */
static void take(struct xr_kept *k, const uint64_t *member, size_t n, uint64_t x)
{
	const size_t busy = 2 * k->first_ways < XR_KEPT_STRANGERS / 2 ? 2 * k->first_ways : XR_KEPT_STRANGERS / 2;
	uint64_t other = x;
	k->ways = n;
	k->few = n / 2;
	k->x = x;
	k->n = k->n_strangers = k->n_busy = 0;
	memcpy(k->tester, member, n * sizeof *member);
	for (size_t i = 0; i < n; i++)
		if (member[i] % k->first_way == x % k->first_way)
			k->member[k->n++] = member[i];
		else
			other = member[i];
	while (k->n_strangers < XR_KEPT_STRANGERS)
		k->stranger[k->n_strangers++] = page_beside(k, x);
	for (; k->n_busy < busy * (other == x ? 1 : 2); k->n_busy++)
		k->busy[k->n_busy] = page_beside(k, k->n_busy % 2 ? other : x);
	k->spare = page_beside(k, member[0]);
}

/* The set that somebody else found, if its lines still push each other out. */
static int take_known(struct xr_kept *k, const struct xr_series *known)
{
	uint64_t member[SET_MOST];
	bool holds;
	if (!known || known->n < 3 || known->n > SET_MOST)
		return 0;
	for (size_t i = 0; i < known->n; i++) {
		if (!(known->y[i] >= 0 && known->y[i] + (double)k->line <= (double)k->buffer.bytes))
			return 0;
		member[i] = (uint64_t)known->y[i] / k->line * k->line;
	}
	take(k, member + 1, known->n - 1, member[0]);
	if (overflows(k, &effort, &k->x, 1, &holds) != 0)
		return -1;
	if (!holds)
		k->n = k->ways = 0;
	return 0;
}

/* Are as many members as there are ways, and x, one too many? Else nothing was found. */
static int check(struct xr_kept *k)
{
	struct xr_kept all = *k;
	struct xr_kept_times t;
	all.member[k->ways] = k->x;
	all.n = k->ways + 1;
	if (xr_kept_ask_members(&all, all.n, false, &t) != 0)
		return -1;
	if (!t.n || xr_median(t.with, t.n) - xr_median(t.without, t.n) < k->miss)
		k->n = 0;
	return 0;
}

int xr_kept_search(struct xr_kept *k, double visits_most)
{
	k->item = k->page > k->first_way ? k->page : k->first_way;
	uint64_t pool = XR_CONFLICT_POOL_PAGES * k->item;
	pool = pool < xr_run_room(k->run) ? pool : xr_run_room(k->run);
	k->buffer = (struct xr_buffer){XR_CONFLICT_POOL, pool / k->item * k->item, XR_SMALL};
	k->n = k->ways = k->n_strangers = 0;
	if (pool / k->item < 4 * XR_KEPT_STRANGERS + XR_KEPT_MOST)
		return 0;
	const struct xr_series *known = xr_description_series(xr_run_description(k->run), XR_CONFLICT_SERIES);
	if (!known && !xr_run_info(k->run)->exact) /* cache_outer looked for one, often, and found none */
		return 0;
	if (take_known(k, known) != 0)
		return -1;
	double left = visits_most;
	struct xr_conflict c = {.run = k->run,
	                        .buffer = k->buffer,
	                        .item = k->item,
	                        .page = k->page,
	                        .line = k->line,
	                        .first_ways = k->first_ways,
	                        .first_way = k->first_way,
	                        .miss = k->miss,
	                        .left = &left};
	for (int i = 0; i < ATTEMPTS && !k->ways && left > 0; i++) {
		struct xr_conflict_set found;
		if (xr_conflict_find(&c, &found) != 0)
			return -1;
		if (found.outcome == XR_CONFLICT_NEVER)
			return 0;
		if (found.outcome == XR_CONFLICT_FOUND && found.n >= 2 && found.n < SET_MOST)
			take(k, found.member, found.n, found.x);
		c.settled = true;
	}
	if (xr_kept_search_more(k, k->ways, visits_most / 20) != 0)
		return -1;
	k->n = k->n < k->ways ? 0 : k->n; /* fewer would leave room in the set */
	return k->n ? check(k) : 0;
}
