/* SPDX-License-Identifier: MIT */
/* What a miss costs, how large a page is, what an entry covers; see tlb.h. */
#include "micro/tlb/tlb.h"

#include "infer/missrate.h"
#include "stat/stat.h"

#include <math.h>

static const double rarely = 0.1; /* entries cover several pages in few machines: it takes evidence */
enum { REPEATED = 2 * XR_TLB_ORDERS, ROUNDS = 4, TOGETHER_MAX = 16 /* pages of an entry */, WAYS_FEW = 32 };

static const double tolerated = 0.02; /* what a latency may be off by */

/* What many readings agree on, within what is tolerated, and of several such values the least: lines that meet in
 * caches by chance only add. A single one that is less is an accident, or a load that was foreseen. *error: how well
 * they agree, one sigma. */
static double agreed(const double *x, size_t n, double *error)
{
	size_t most = 0, count, best = 0;
	double found = INFINITY, in[REPEATED * ROUNDS];

	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n; i++) {
			count = 0;
			for (size_t j = 0; j < n; j++)
				count += x[j] >= x[i] && x[j] <= x[i] * (1 + tolerated);
			if (pass == 0)
				most = count > most ? count : most;
			else if (2 * count >= most && 8 * count >= n && x[i] < found)
				found = x[i];
		}
	for (size_t j = 0; j < n; j++)
		if (x[j] >= found && x[j] <= found * (1 + tolerated))
			in[best++] = x[j];
	if (best < 2) {
		*error = INFINITY;
		return best ? in[0] : NAN;
	}
	*error = hypot(xr_mad(in, best) / sqrt((double)best), (xr_median(x, n) - xr_median(in, best)) / 2);
	return xr_median(in, best);
}

static double usual_more(const struct xr_walk_seen *seen, size_t n, double *error)
{
	double walk[REPEATED * ROUNDS], twin[REPEATED * ROUNDS], off[2], more;
	size_t good = 0;

	for (size_t i = 0; i < n; i++)
		if (seen[i].seen > 0) {
			walk[good] = seen[i].seen;
			twin[good++] = seen[i].twin;
		}
	more = agreed(walk, good, &off[0]) - agreed(twin, good, &off[1]);
	*error = isfinite(more) ? hypot(off[0], off[1]) : INFINITY;
	return isfinite(more) ? more : 0;
}

/* Does the next level hold the first n pages of a set of this one? */
static bool next_holds(const struct xr_tlb *t, size_t at, size_t n)
{
	const struct xr_tlb_level *next = &t->level[at + 1];
	size_t most = 0;

	if (at + 1 == t->n_levels)
		return true;
	for (size_t i = 0; i < n; i++) {
		size_t same = 0, set = xr_family_set(&next->index, xr_family_member(&t->level[at].index, 0, i));

		for (size_t j = 0; j < n; j++)
			same += xr_family_set(&next->index, xr_family_member(&t->level[at].index, 0, j)) == set;
		most = same > most ? same : most;
	}
	return 4 * most <= 3 * next->ways;
}

/* So many pages that hardly any is still there: of one set; in a row, where the next level would not hold those. */
static struct xr_pages_asked pages_to_miss(const struct xr_tlb *t, size_t at, double *per_set)
{
	const struct xr_tlb_level *l = &t->level[at];
	const size_t sets = xr_family_sets(&l->index);
	const struct xr_pages_choice row = {.any = false};
	size_t n = l->ways > WAYS_FEW ? l->ways + l->ways / 4 + 1 : 2 * l->ways + l->ways / 2 + 1;

	/* Other policies than LRU are known only roughly: so many that even random replacement keeps none. */
	while (xr_missrate(l->sharp < 16 ? 1 : l->sharp, (double)l->ways, (double)n) < 0.98 && n < 8 * l->ways)
		n += (n + 3) / 4;

	n = n < t->pages.pool / sets ? n : t->pages.pool / sets;
	if (!next_holds(t, at, n)) {
		n = n * sets < t->level[at + 1].entries * 3 / 4 ? n * sets : t->level[at + 1].entries * 3 / 4;
		*per_set = (double)n / (double)sets;
		return xr_tlb_pages(t, l, &row, n, l->entries, 1);
	}
	*per_set = (double)n;
	return xr_tlb_pages(t, l, &(struct xr_pages_choice){.index = l->index}, n, l->ways, sets);
}

int xr_tlb_find_penalty(struct xr_tlb *t, size_t at)
{
	struct xr_tlb_level *l = &t->level[at];
	struct xr_walk_seen seen[REPEATED * ROUNDS];
	const double nearer = at ? t->level[at - 1].penalty : 0;
	double n, share, more = 0;
	struct xr_pages_asked asked = pages_to_miss(t, at, &n);

	share = xr_missrate_spread(l->sharp, (double)l->ways, n);
	l->penalty = nearer + l->miss;
	l->error = l->miss; /* as good as unknown, unless it can be asked */
	if (asked.n == 0 || !(share > 0))
		return 0;
	for (size_t k = 0; k < ROUNDS; k++) { /* where lines meet in caches by chance, until they twice do not */
		if (xr_tlb_ask(t, at, &asked, 1, REPEATED, seen + k * REPEATED) != 0)
			return -1;
		more = usual_more(seen, (k + 1) * REPEATED, &l->error);
		if (xr_tlb_within(nearer + more, l->error) > 0.99)
			break;
	}
	if (!isfinite(l->error)) {
		l->error = l->miss;
		return 0;
	}
	l->penalty = nearer + more / share;
	/* Shares are as good as policies are known: what is left of this one, and what is reckoned of nearer ones, by
	 * a third. */
	l->error = hypot(l->error, xr_tlb_nearer_more(t, at, &asked) / 3);
	l->error = hypot(hypot(l->error / share, t->noise.sigma * (more + t->hit)), (1 - share) / 3 * more);
	l->error = hypot(l->error, at ? t->level[at - 1].error : 0);
	return 0;
}

/* Half as many cells again as there are ways, a set's pages apart, then closer and closer: at half the page they are in
 * two sets, or two in a page. */
int xr_tlb_find_page(struct xr_tlb *t, uint64_t *page, double *sure)
{
	const struct xr_tlb_level *l = &t->level[0];
	const size_t n = l->ways + l->ways / 2 + 1;
	const struct xr_pages_choice of_set = {.index = l->index};
	const uint64_t own = t->pages.page;
	double p = l->p, over = 0; /* that pages of a set overflow it is how its ways were found */

	*page = own;
	*sure = 0;
	for (uint64_t step = own / 2; step >= 2 * t->pages.cell; step /= 2) {
		struct xr_pages_asked asked = xr_pages_of(&t->pages, &of_set, n, 1, XR_PAGES_MERGED),
				      fitting = xr_pages_of(&t->pages, &of_set, l->ways - l->ways / 4, 1,
		                                            XR_PAGES_MERGED);

		asked.merge = (size_t)(step / t->pages.cell);
		asked.merge = asked.merge < XR_TLB_MERGE ? asked.merge : XR_TLB_MERGE;
		asked.step = step;
		if (asked.n == 0)
			return 0;
		if (xr_tlb_overflows(t, 0, l->miss, &asked, &fitting, &over) != 0)
			return -1;
		if (!(over > 0.5))
			break;
		*page = step;
		p = over;
	}
	*sure = fmin(p, 1 - over) * (l->doubt ? 0.5 : 1);
	return 0;
}

/* With pages in a row that are neighbours in memory, too: seven eighths of what so many entries hold, if each covers
 * 2, 4, … The same walk over shuffled pages says what it costs if none does. */
int xr_tlb_find_together(struct xr_tlb *t, size_t at)
{
	struct xr_tlb_level *l = &t->level[at];
	const struct xr_pages_choice row = {.any = false};
	struct xr_pages in_row = t->pages;
	struct xr_walk_seen seen[XR_TLB_ORDERS], shuffled[XR_TLB_ORDERS];

	in_row.buffer.id += 2;
	in_row.buffer.backing = XR_SMALL;
	l->together = 1;
	l->p_together = 1;
	for (size_t k = 2; k <= TOGETHER_MAX; k *= 2) {
		struct xr_pages_asked asked = xr_pages_of(&in_row, &row, k * l->entries * 7 / 8, 1, XR_PAGES_MERGED);
		double p, miss, error;

		asked.merge = 2 * k;
		if (asked.n == 0)
			break;
		if (xr_pages_ask(&in_row, &asked, 1, XR_TLB_ORDERS, seen) != 0 ||
		    xr_tlb_ask(t, at, &asked, 1, XR_TLB_ORDERS, shuffled) != 0)
			return -1;
		/* Nearer levels may miss the walk and hold its twin, or the other way round: entries of theirs cover
		 * more, too. */
		for (size_t o = 0; o < XR_TLB_ORDERS && at > 0; o++)
			seen[o].twin += fmin(fmax(0, seen[o].seen - seen[o].twin), t->level[at - 1].penalty);
		miss = usual_more(shuffled, XR_TLB_ORDERS, &error);
		p = miss > l->miss / 2 ? xr_ways_overflow(seen, XR_TLB_ORDERS, miss, false, &t->noise) : 0.5;
		/* In a row in memory, lines meet less often in a cache as well. */
		l->p_together = fmin(asked.n > t->cells_l1 ? 0.7 : 1, fmax(p, 1 - p));
		if (p > rarely)
			break;
		l->together = k;
	}
	return 0;
}
