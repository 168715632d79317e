/* SPDX-License-Identifier: MIT */
/* Asking, see tlb.h. */
#include "micro/tlb/tlb.h"

#include "infer/missrate.h"

#include <math.h>

enum { OWN = 2, TRIES = 8 /* moments at which somebody else may be there */ };
const double xr_tlb_overload = 2.5;
const double xr_tlb_clear = 0.9;
static const double missed = 1.2; /* times what a nearer level holds: so many pages must miss it at the least */

/* Where one order met nobody else, the others are not needed. */
static void drop_disturbed(struct xr_walk_seen *seen, size_t orders)
{
	bool quiet = false;

	for (size_t o = 0; o < orders; o++)
		quiet |= seen[o].seen > 0 && !seen[o].disturbed;
	for (size_t o = 0; o < orders && quiet; o++)
		if (seen[o].disturbed)
			seen[o].seen = 0;
}

/* Where lines meet in caches by chance, twins differ from place to place, and so do walks. */
static void find_errors(struct xr_walk_seen *seen, size_t k, size_t orders)
{
	double all = 0, n = 0;

	for (size_t i = 0; i < k; i++) {
		double sum = 0, squares = 0, good = 0;

		for (size_t o = 0; o < orders; o++)
			if (seen[i * orders + o].seen > 0) {
				const double x = log(seen[i * orders + o].twin);

				sum += x;
				squares += x * x;
				good++;
			}
		if (good < 2)
			continue;
		sum = fmax(0, squares - sum * sum / good) / (good - 1);
		all += sum;
		n++;
		for (size_t o = 0; o < orders; o++)
			seen[i * orders + o].error = sqrt(sum);
	}
	for (size_t i = 0; i < k * orders && n > 0; i++)
		seen[i].error = fmax(seen[i].error, sqrt(all / n));
}

/* Share of the visits that miss a level that is known. */
static double share_of(const struct xr_tlb *t, const struct xr_tlb_level *l, const struct xr_pages_asked *a, bool twin)
{
	const size_t sets = xr_family_sets(&l->index), n = a->n * a->copies;
	unsigned char *seen = xr_arena_array(xr_run_arena(t->run), unsigned char, t->pages.pool);
	double *full = xr_arena_array(xr_run_arena(t->run), double, sets), misses = 0;
	double pages = 0;

	for (size_t i = 0; i < t->pages.pool; i++)
		seen[i] = 0;
	for (size_t i = 0; i < sets; i++)
		full[i] = 0;
	for (size_t i = 0; i < n; i++) {
		const size_t page = twin ? xr_pages_twin_page(a, i) : a->page[i];

		full[xr_family_set(&l->index, page)] += !seen[page];
		seen[page] = 1;
	}
	for (size_t i = 0; i < sets; i++) {
		misses += full[i] * xr_missrate(l->sharp, (double)l->ways, full[i]);
		pages += full[i];
	}
	return pages > 0 ? misses / pages : 0;
}

/* What the walk misses of nearer levels more than its twin does. */
double xr_tlb_nearer_more(const struct xr_tlb *t, size_t nearer, const struct xr_pages_asked *a)
{
	double sum = 0;

	for (size_t i = 0; i < nearer && a->twin != XR_PAGES_PACKED && !a->step; i++)
		sum += t->level[i].miss * (share_of(t, &t->level[i], a, false) - share_of(t, &t->level[i], a, true));
	return sum;
}

/* Twins in several orders are repetitions: they tell what noise is here. */
int xr_tlb_ask_only(struct xr_tlb *t, const struct xr_pages_asked *asked, size_t k, size_t orders,
                    struct xr_walk_seen *seen)
{
	for (size_t i = 0; i < k; i++)
		t->visited += 2 * (double)(asked[i].n * asked[i].copies * orders);
	if (xr_pages_ask(&t->pages, asked, k, orders, seen) != 0)
		return -1;
	find_errors(seen, k, orders);
	for (size_t i = 0; i < k * orders && orders > 1 && t->n_readings < XR_TLB_READINGS; i++) {
		t->reading[t->n_readings] = seen[i].twin;
		t->group[t->n_readings++] = t->n_groups + i / orders;
	}
	for (size_t i = 0; i < k; i++)
		drop_disturbed(seen + i * orders, orders);
	t->n_groups += k;
	t->noise = xr_noise_fit(t->reading, t->group, t->n_readings);
	return 0;
}

/* The twin as it would be if nearer levels missed as much of it. */
int xr_tlb_ask(struct xr_tlb *t, size_t nearer, const struct xr_pages_asked *asked, size_t k, size_t orders,
               struct xr_walk_seen *seen)
{
	if (xr_tlb_ask_only(t, asked, k, orders, seen) != 0)
		return -1;
	for (size_t i = 0; i < k && nearer > 0; i++) {
		const double more = xr_tlb_nearer_more(t, nearer, &asked[i]);

		for (size_t o = 0; o < orders; o++)
			seen[i * orders + o].twin += seen[i * orders + o].seen > 0 ? more : 0;
	}
	return 0;
}

/* What misses of nearer levels add to a walk over n pages in a row. */
double xr_tlb_of_nearer(const struct xr_tlb *t, double n)
{
	double sum = 0;

	for (size_t i = 0; i < t->n_levels; i++) {
		const struct xr_tlb_level *l = &t->level[i];
		double sets = (double)l->entries / (double)l->ways;

		sum += l->miss * xr_missrate_spread(l->sharp, (double)l->ways, n / sets);
	}
	for (size_t i = 0; i < t->n_steps; i++)
		sum += t->step[i].miss * xr_missrate(t->step[i].sharp, t->step[i].size, n);
	return sum;
}

struct xr_pages_asked xr_tlb_pages(const struct xr_tlb *t, const struct xr_tlb_level *l,
                                   const struct xr_pages_choice *choice, size_t n, size_t fits, size_t most)
{
	const double nearer = l > t->level ? (double)l[-1].entries : 0;
	size_t copies = (size_t)fmax(1, ceil(fmax(24, xr_tlb_overload * nearer) / (double)n)), merge;
	struct xr_pages_asked a;

	copies = copies < most ? copies : most;
	for (int i = 0; i < 2 && nearer > 0 && copies > 0 && (double)(n * copies) < 0.8 * l->reach; i++) {
		double all, room;

		a = xr_pages_of(&t->pages, choice, n, copies, XR_PAGES_SPREAD);
		all = (double)(a.n * a.copies);
		if (all < missed * nearer)
			a.n = 0;
		if (a.n == 0)
			return a;
		room = 0.8 * l->reach * (double)xr_pages_coloured(&t->pages, &a) / (double)xr_pages_colours(&t->pages);
		if (all < room)
			return a;
		copies = (size_t)(room / (double)n);
		if ((double)(n * copies) < missed * nearer)
			copies = 0;
	}
	copies = (size_t)fmax(1, ceil(fmax(24, xr_tlb_overload * nearer) / (double)n));
	copies = copies < most ? copies : most;
	merge = (size_t)fmax(2, ceil((double)n / (0.7 * fmax(1, (double)fits))));
	if (nearer > 0)
		copies = copies * merge < most ? copies * merge : most;
	a = xr_pages_of(&t->pages, choice, n, copies, XR_PAGES_MERGED);
	a.merge = merge;
	if ((double)(a.n * a.copies / merge) < missed * nearer)
		a.n = 0;
	return a;
}

/* Somebody is there: longer samples until he goes, for as long as there is patience. */
static void linger(struct xr_tlb *t)
{
	const double next_ns = fmax(1e5, 2 * t->pages.effort.sample_ns),
		     takes_ns = 4 * next_ns * t->pages.effort.samples;

	if (takes_ns > t->patience_ns / 4)
		return;
	t->patience_ns -= takes_ns;
	t->pages.effort.sample_ns = next_ns;
}

/* That they fit nobody else brings about; that they do not is believed only beside pages that do. */
int xr_tlb_overflows(struct xr_tlb *t, size_t nearer, double miss, const struct xr_pages_asked *these,
                     const struct xr_pages_asked *fitting, double *p)
{
	const struct xr_pages_asked both[2] = {*these, *fitting};
	struct xr_walk_seen seen[2], own[OWN];
	size_t good = 0;

	*p = 0.5;
	if (these->n == 0)
		return 0;
	if (xr_tlb_ask(t, nearer, these, 1, OWN, own) != 0)
		return -1;
	for (size_t o = 0; o < OWN; o++)
		if (own[o].seen > 0)
			own[good++] = own[o];
	*p = xr_ways_overflow(own, good, miss, false, &t->noise);
	if (*p < 1 - xr_tlb_clear || fitting->n == 0)
		return 0;
	good = 0;
	*p = 0.5;
	for (size_t i = 0; i < TRIES && good < OWN && fmax(*p, 1 - *p) < xr_tlb_clear; i++) {
		if (xr_tlb_ask(t, nearer, both, 2, 1, seen) != 0)
			return -1;
		seen[0].error = seen[1].error = own[0].error;
		if (seen[0].seen > 0 && seen[1].seen > 0 &&
		    xr_ways_overflow(&seen[1], 1, miss, true, &t->noise) < 0.5) {
			own[good++] = seen[0];
			*p = xr_ways_overflow(own, good, miss, true, &t->noise);
		} else {
			linger(t);
		}
	}
	t->pages.effort.sample_ns = 0;
	return 0;
}
