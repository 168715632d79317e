/* SPDX-License-Identifier: MIT */
/* The next level of TLBs, see tlb.h. */
#include "micro/tlb/tlb.h"

#include "infer/missrate.h"
#include "stat/stat.h"

#include <math.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
	ROUNDS = 6, /* of questions about the ways: beyond, the answers contradict each other */
	LEVEL_TRIES = 3,
	/* Of all pages together, and of each that fits: beyond, questions contradict each other, and more of them do
	 * not help. */
	VISITS_LEAST = 100000,
	VISITS = 200,
};
static const double least = 1.5;         /* cycles: what costs less than two is no level's miss */
static const double sure_enough = 0.985; /* facts are told with 0.99 at most */

/* ---- reach ------------------------------------------------------------------------------------------------------- */

static int extend_curve(struct xr_tlb *t, double from, double to, double ratio)
{
	struct xr_pages_asked asked[XR_TLB_CURVE];
	struct xr_walk_seen seen[XR_TLB_CURVE * XR_TLB_ORDERS];
	const struct xr_pages_choice row = {.any = false};
	size_t k = 0, orders = to > 1024 ? 2 : XR_TLB_ORDERS;

	for (double n = from; n <= to && n <= (double)t->pages.pool && t->n_curve + k < XR_TLB_CURVE;
	     n = fmax(n + 1, n * ratio)) {
		bool known = false;

		for (size_t i = 0; i < t->n_curve; i++)
			known |= t->curve[i].n == floor(n);
		if (!known) {
			asked[k] = xr_pages_of(&t->pages, &row, (size_t)n, 1, XR_PAGES_MERGED);
			asked[k++].merge = XR_TLB_MERGE;
		}
	}
	if (k == 0)
		return 0;
	if (xr_tlb_ask_only(t, asked, k, orders, seen) != 0)
		return -1;
	for (size_t i = 0; i < k; i++) {
		double more[XR_TLB_ORDERS], twin[XR_TLB_ORDERS];
		size_t good = 0, at = t->n_curve;

		for (size_t o = 0; o < orders; o++)
			if (seen[i * orders + o].seen > 0) {
				more[good] = seen[i * orders + o].seen - seen[i * orders + o].twin;
				twin[good++] = seen[i * orders + o].twin;
			}
		if (good == 0)
			continue;
		for (; at > 0 && t->curve[at - 1].n > (double)asked[i].n; at--)
			t->curve[at] = t->curve[at - 1];
		t->curve[at] = (struct xr_walk_seen){.n = (double)asked[i].n,
		                                     .sets = 1,
		                                     .seen = xr_median(more, good) + xr_median(twin, good),
		                                     .twin = xr_median(twin, good),
		                                     .error = seen[i * orders].error};
		t->n_curve++;
	}
	return 0;
}

/* Beyond what is known. */
static double known_up_to(const struct xr_tlb *t)
{
	double n = t->n_levels ? (double)t->level[t->n_levels - 1].entries : 0;

	for (size_t i = 0; i < t->n_steps; i++)
		n = fmax(n, t->step[i].size);
	return 1.3 * n;
}

/* The part of the curve that the next level has its say in. */
static size_t own_curve(const struct xr_tlb *t, struct xr_walk_seen *walk)
{
	size_t k = 0;

	for (size_t i = 0; i < t->n_curve; i++)
		if (t->curve[i].n >= known_up_to(t)) {
			walk[k] = t->curve[i];
			walk[k++].twin +=
				xr_tlb_of_nearer(t, t->curve[i].n) - xr_tlb_of_nearer(t, t->curve[i].n / XR_TLB_MERGE);
		}
	return k;
}

/* The end of the next level, as the curve has it so far. */
static struct xr_reach reach_now(const struct xr_tlb *t)
{
	struct xr_walk_seen walk[XR_TLB_CURVE];
	const size_t k = own_curve(t, walk);

	return xr_reach_of(walk, k, least, &t->noise);
}

/* As far as it takes to see the end and twice as many pages, then closer; what a closer look does not show was none. */
static int find_reach(struct xr_tlb *t, struct xr_reach *reach)
{
	const double pool = (double)t->pages.pool, from = fmax(3, known_up_to(t));
	/* Beyond the first level a step may be the caches' or the page tables': most machines have no third. */
	const double believed = t->n_levels ? xr_tlb_clear : 0.5;

	for (double to = fmax(128, 4 * from);; to *= 2) {
		const double beyond = t->n_curve ? t->curve[t->n_curve - 1].n * M_SQRT2 : from;

		if (extend_curve(t, beyond, fmin(to, pool), M_SQRT2) != 0)
			return -1;
		*reach = reach_now(t);
		if (reach->size > 0 && reach->p > believed && (reach->size * xr_tlb_overload <= to || to >= pool)) {
			if (extend_curve(t, reach->size / 1.5, reach->size * 1.5, 1.09) != 0)
				return -1;
			*reach = reach_now(t);
			if (reach->size > 0 && reach->p > believed)
				return 0;
		}
		if (to >= pool) {
			reach->size = 0;
			return 0;
		}
	}
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

static int find_ways(struct xr_tlb *t, struct xr_tlb_level *l, double fit, struct xr_ways *ways)
{
	size_t lo = (size_t)fmax(1, floor(0.6 * fit)), hi = (size_t)ceil(1.6 * fit) + 1;
	const size_t room = t->pages.pool / xr_family_sets(&l->index);
	size_t n[16] = {lo}, k = 1, walks = 0, far = (size_t)ceil(2.2 * fit) + 2;
	struct xr_walk_seen walk[XR_TLB_WALKS];

	for (size_t i = 1; i <= 8; i++) {
		size_t at = lo + (hi + 1 - lo) * i / 8;

		if (at > n[k - 1])
			n[k++] = at;
	}
	far = far < room ? far : room;
	n[k++] = far;
	n[k++] = far - far / 8 - 1;
	for (int round = 0; round < ROUNDS; round++) {
		if (xr_tlb_ask_ways(t, l, n, k, walk, &walks) != 0)
			return -1;
		*ways = xr_ways_of(xr_run_arena(t->run), lo, hi, walk, walks, &t->noise);
		if (ways->p > sure_enough || ways->p == 0)
			break;
		lo = ways->lo;
		hi = ways->hi;
		k = 1;
		for (size_t at = ways->lo; at <= ways->hi + 1 && ways->hi - ways->lo < 5; at++)
			n[k++] = at;
		if (k == 1)
			for (size_t i = 0; i <= 6; i++)
				n[k++] = ways->lo + (ways->hi + 1 - ways->lo) * i / 6;
		n[k++] = ways->ask;
	}
	return 0;
}

/* ---- a level ----------------------------------------------------------------------------------------------------- */

/* Share of the visits to n pages in a row that miss, where somebody else has a place in so many of the sets. */
static double row_share(const struct xr_tlb *t, const struct xr_tlb_level *l, double ways, double taken, double n)
{
	const size_t sets = xr_family_sets(&l->index);
	double *full = xr_arena_array(xr_run_arena(t->run), double, sets), misses = 0;

	for (size_t i = 0; i < sets; i++)
		full[i] = 0;
	for (size_t i = 0; i < (size_t)n; i++)
		full[xr_family_set(&l->index, i)]++;
	for (size_t i = 0; i < sets; i++)
		misses += full[i] * ((1 - taken) * xr_missrate(l->sharp, ways, full[i]) +
		                     taken * xr_missrate(l->sharp, fmax(ways - 1, 0.5), full[i]));
	return misses / n;
}

/* Pages in a row say whether there are as many entries, or rather half or twice as many. */
static bool row_agrees(const struct xr_tlb *t, const struct xr_tlb_level *l)
{
	static const double taken[] = {0, 0.1, 0.3, 1};
	struct xr_walk_seen row[XR_TLB_CURVE];
	double share[XR_TLB_CURVE], best[3], other = -INFINITY;
	const size_t n = own_curve(t, row);

	for (int k = 0; k < 3; k++) {
		best[k] = -INFINITY;
		for (size_t c = 0; c < COUNT(taken); c++) {
			for (size_t i = 0; i < n; i++)
				share[i] = row[i].n > 2.5 * (double)l->entries
				                   ? -1
				                   : row_share(t, l, ldexp((double)l->ways, k - 1), taken[c], row[i].n);
			best[k] = fmax(best[k], xr_reach_log(row, share, n, &t->noise));
		}
		other = k == 1 ? other : fmax(other, best[k]);
	}
	return best[1] >= other - log(10); /* ten to one against it, and something is wrong */
}

static int try_level(struct xr_tlb *t, const struct xr_reach *reach, struct xr_tlb_level *l, struct xr_ways *ways)
{
	double fit = reach->size;

	*l = (struct xr_tlb_level){.reach = reach->size,
	                           .miss = reach->miss,
	                           .p = reach->p,
	                           .visits = t->visited + fmax(VISITS_LEAST, VISITS * reach->size)};
	*ways = (struct xr_ways){0};
	if (xr_tlb_find_index(t, l, &fit) != 0)
		return -1;
	if ((l->doubt || l->unknown) && t->n_levels > 1)
		return 0;
	for (bool again = true; again; again = fit > 0) {
		if (find_ways(t, l, fit, ways) != 0)
			return -1;
		l->miss = ways->p > 0 ? ways->miss : l->miss;
		if (xr_tlb_check_bits(t, l, ways->p > 0 ? ways->ways : 0, &fit) != 0)
			return -1;
	}
	l->ways = ways->ways;
	l->sharp = ways->sharp;
	l->p *= ways->p;
	if (ways->p == 0) {
		l->index = (struct xr_family){0};
		l->ways = (size_t)lround(reach->size);
		l->sharp = reach->sharp;
		l->miss = reach->miss;
		l->doubt = "no ways and no index that are known explain what is seen";
	}
	l->entries = l->ways * xr_family_sets(&l->index);
	if (ways->p > 0 && !row_agrees(t, l))
		l->doubt = "pages of one set and pages in a row contradict each other";
	return 0;
}

static double worth(const struct xr_tlb_level *l)
{
	return l->p - (l->doubt ? 2 : 0) - (l->unknown ? 1 : 0);
}

/* What contradicts itself may be somebody else's doing: once more, unless times repeat exactly. */
int xr_tlb_find_level(struct xr_tlb *t, int *found)
{
	struct xr_tlb_level *l = &t->level[t->n_levels], best = {0};
	const int tries = xr_run_info(t->run)->exact ? 1 : LEVEL_TRIES;
	struct xr_reach reach;
	struct xr_ways ways;

	*found = 0;
	if (find_reach(t, &reach) != 0)
		return -1;
	if (reach.size == 0)
		return 0;
	for (int i = 0; i < tries && (i == 0 || (worth(&best) < 0.8 && t->visited < best.visits)); i++) {
		if (try_level(t, &reach, l, &ways) != 0)
			return -1;
		/* Pages of one set cost nothing, or everything is one set: the caches' doing. Beyond two levels, what
		 * nothing explains are page tables. */
		if ((ways.p > 0.5 ? ways.miss : ways.excess) < least ||
		    ((ways.p == 0 || l->doubt || l->unknown) && t->n_levels > 1) || l->ways > XR_TLB_WAYS_MOST) {
			*found = -1;
			t->step[t->n_steps++] = reach;
			return 0;
		}
		if (i == 0 || worth(l) > worth(&best))
			best = *l;
	}
	*l = best;
	if (t->n_levels == 0 && t->n_steps > 0)
		l->doubt = "an earlier step is not understood";
	t->n_levels++;
	*found = 1;
	return 0;
}
