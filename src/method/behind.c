/* SPDX-License-Identifier: MIT */
/* Pages behind the first TLB, see behind.h. */
#include "method/behind.h"

#include "stat/stat.h"

enum {
	WIDE_MAX = 14,
	AT_ONCE = 5,  /* numbers of pages: most sets are small, and large ones take long */
	FOLD_MIN = 4, /* bits */
	FOLDS = 7,
	FOLDED_PAGES = 40, /* of one set: more than ways */
	SOFT_TIMES = 2,    /* as many pages as there are ways push out the others, where what goes is not the oldest */
	ANY_TIMES = 4,     /* where any page goes, one in fifty is still there after that */
	WITH = 8,          /* pages of a set that are asked about with them, or so */
};
static const double overflown = 1.1; /* times what a miss costs: then the others do not fit into the second level */

/* Pages of one set of the first level. `others`: with some between, for too few to push each other out of it. */
static struct xr_page_family pages_behind_first(const struct xr_behind *b, size_t stride, bool others)
{
	const struct xr_tlb_sets *first = b->first;

	return (struct xr_page_family){.in = b->sets,
	                               .stride = stride,
	                               .between = others && stride > first->stride ? b->between : 0,
	                               .step = first->stride};
}

int xr_behind_first(struct xr_behind *b, struct xr_pagesets *sets, const struct xr_tlb_sets *first, double penalty,
                    double hit)
{
	const size_t least = first->ways + 2, one = 1;

	*b = (struct xr_behind){sets, first, penalty, hit, least};
	if (!first->soft)
		return 0;
	for (b->between = (first->goes == XR_GOES_ANY ? ANY_TIMES : SOFT_TIMES) * first->ways + 2; b->between > least;
	     b->between = b->between * 3 / 4) {
		struct xr_page_family f = pages_behind_first(b, 2 * first->stride, true);
		double cycles, each;

		f.between += WITH - one;
		if (2 * f.between * first->stride > sets->pages)
			continue;
		if (xr_pages_excess(&f, &one, 1, &cycles) != 0)
			return -1;
		each = cycles / (double)(f.between + one);
		if (each < overflown * penalty) {
			b->penalty = each < penalty ? each : penalty;
			return 0;
		}
	}
	b->between = least;
	return 0;
}

struct xr_page_family xr_pages_of_fold(const struct xr_behind *b, unsigned bits)
{
	const struct xr_tlb_sets *first = b->first;

	return (struct xr_page_family){.in = b->sets,
	                               .stride = 1,
	                               .between = first->stride * (2 * first->ways + 2),
	                               .fold = bits,
	                               .set = (size_t)xr_rng_below(xr_run_rng(b->sets->run), (uint64_t)1 << bits)};
}

/* What n pages cost each that are as far apart as there is room for; from `least` on. */
static int find_rise(const struct xr_behind *b, size_t least, bool others, struct xr_rise *rise)
{
	/* Many only after few: where the number of sets is no power of two, no stride leads to a single one. */
	static const size_t few[WIDE_MAX] = {3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, XR_BEHIND_MANY},
			    many[] = {96, 128, 192};
	const size_t *numbers = least < XR_BEHIND_MANY ? few : many;
	struct xr_page_family f[WIDE_MAX + 1];
	double cycles[WIDE_MAX + 1], more[WIDE_MAX + 1];
	size_t n[WIDE_MAX + 1], k = 0;

	*rise = (struct xr_rise){0, 0, 0};
	n[k++] = least;
	for (size_t i = 0; i < (least < XR_BEHIND_MANY ? WIDE_MAX : sizeof many / sizeof *many); i++)
		if (numbers[i] > least)
			n[k++] = numbers[i];
	for (size_t i = 0; i < k; i++) {
		size_t s = b->first->stride;

		while (s * 2 * n[i] <= b->sets->pages)
			s *= 2;
		f[i] = pages_behind_first(b, s, others);
		if (n[i] * s > b->sets->pages)
			k = i;
	}
	for (size_t i = 0; i < k && k > 1; i++) {
		double all = (double)(n[i] + f[i].between);

		if (i % AT_ONCE == 0 &&
		    xr_pages_excess(f + i, n + i, k - i < AT_ONCE ? k - i : AT_ONCE, cycles + i) != 0)
			return -1;
		more[i] = cycles[i] / all - b->penalty - 0.02 * (b->hit + b->penalty); /* per page, above noise */
		if (i > 0 && more[i - 1] > 0 && more[i] > 0) {
			/* At the stride of the second: there is room for more, should the first be an accident. */
			*rise = (struct xr_rise){n[i - 1], f[i].stride, (cycles[i] - all * b->penalty) / (double)n[i]};
			break;
		}
	}
	return 0;
}

int xr_pages_behind(const struct xr_behind *b, struct xr_page_family *f, struct xr_rise *rise)
{
	const size_t least = b->first->ways + 2;
	bool others = b->first->soft; /* too many for it do not push each other out, or not all */

	*f = (struct xr_page_family){0};
	if (!others && find_rise(b, least, false, rise) != 0)
		return -1;
	if (others || rise->at <= least) {
		others = true;
		if (find_rise(b, 2, true, rise) != 0 ||
		    (rise->at == 0 && find_rise(b, XR_BEHIND_MANY, true, rise) != 0))
			return -1;
	}
	*f = pages_behind_first(b, rise->stride, others);
	return 0;
}

int xr_pages_fold(const struct xr_behind *b, unsigned *bits, struct xr_rise *rise)
{
	struct xr_page_family f[FOLDS];
	double cycles[FOLDS], visit[FOLDS], hits, best = 0, second = 0;
	size_t n[FOLDS], k = 0;

	for (unsigned w = FOLD_MIN; w < FOLD_MIN + FOLDS; w++, k++) {
		f[k] = xr_pages_of_fold(b, w);
		n[k] = FOLDED_PAGES;
		if (n[k] > (size_t)1 << w)
			n[k] = (size_t)1 << w;
		if (n[k] << w > b->sets->pages)
			break;
	}
	*bits = 0;
	*rise = (struct xr_rise){0, 0, 0};
	if (k < 2)
		return 0;
	if (xr_pages_excess(f, n, k, cycles) != 0)
		return -1;
	/* Of most folds the pages are in many sets and hit: then a visit costs a miss of the first level, no more. */
	for (size_t i = 0; i < k; i++)
		visit[i] = cycles[i] / (double)(n[i] + f[i].between);
	hits = k > 2 ? xr_median(visit, k) : b->penalty;
	for (size_t i = 0; i < k; i++) {
		double each = (visit[i] - hits) * (double)(n[i] + f[i].between) / (double)n[i];

		if (each > best) {
			second = best;
			best = each;
			*bits = f[i].fold;
			*rise = (struct xr_rise){n[i], (size_t)1 << *bits, each};
		} else if (each > second) {
			second = each;
		}
	}
	if (best < 3 * second || best < 0.25 * (b->hit + b->penalty))
		*bits = 0;
	return 0;
}
