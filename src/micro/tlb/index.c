/* SPDX-License-Identifier: MIT */
/* Which pages go to one set, see tlb.h. */
#include "micro/tlb/tlb.h"

#include <math.h>

enum {
	DRAWS = 6,
	FOLD_MOST = 1024, /* pages of a set that folds are looked for in: plain bits have divided all that is larger */
};

/* Do n pages of this choice overflow, where as many of a set of the index that is known do not? *p: the probability;
 * 0.5 where it cannot be asked. */
static int overflows(struct xr_tlb *t, const struct xr_tlb_level *l, const struct xr_pages_choice *choice, size_t n,
                     size_t most, double *p)
{
	const struct xr_pages_choice known = {.index = l->index};
	const struct xr_pages_asked these = xr_tlb_pages(t, l, choice, n, n / 2 + 1, most);
	struct xr_pages_asked fitting = these;

	if (these.n > 0) {
		fitting = xr_pages_of(&t->pages, &known, n, these.copies, these.twin);
		fitting.merge = these.merge;
	}
	return xr_tlb_overflows(t, t->n_levels, l->miss, &these, &fitting, p);
}

#define COUNT(array) (sizeof(array) / sizeof *(array))

int xr_tlb_ask_ways(struct xr_tlb *t, const struct xr_tlb_level *l, const size_t *n, size_t k,
                    struct xr_walk_seen *walk, size_t *walks)
{
	struct xr_pages_asked asked[16];
	struct xr_walk_seen seen[16 * XR_TLB_ORDERS];
	size_t there = 0;

	for (size_t i = 0; i < k && (there + 1) * XR_TLB_ORDERS + *walks <= XR_TLB_WALKS; i++) {
		asked[there] = xr_tlb_pages(t, l, &(struct xr_pages_choice){.index = l->index}, n[i], n[0],
		                            xr_family_sets(&l->index));
		there += asked[there].n > 0;
	}
	if (xr_tlb_ask(t, t->n_levels, asked, there, XR_TLB_ORDERS, seen) != 0)
		return -1;
	for (size_t o = 0; o < XR_TLB_ORDERS; o++) /* moment by moment */
		for (size_t i = 0; i < there; i++)
			if (seen[i * XR_TLB_ORDERS + o].seen > 0)
				walk[(*walks)++] = seen[i * XR_TLB_ORDERS + o];
	return 0;
}

/* What fits in a set of the index as far as it is known, and what a miss costs. */
static int look_closer(struct xr_tlb *t, struct xr_tlb_level *l, double *fit)
{
	static const double part[] = {0.6, 0.8, 1, 1.2, 1.4, 1.7, 2.1, 2.6};
	struct xr_walk_seen walk[COUNT(part) * XR_TLB_ORDERS];
	const size_t room = t->pages.pool / xr_family_sets(&l->index);
	size_t n[COUNT(part)], walks = 0;
	struct xr_ways ways;

	for (size_t i = 0; i < COUNT(part); i++)
		n[i] = (size_t)fmax(1, fmin((double)room, round(part[i] * *fit)));
	if (xr_tlb_ask_ways(t, l, n, COUNT(part), walk, &walks) != 0)
		return -1;
	ways = xr_ways_of(xr_run_arena(t->run), n[0], (size_t)ceil(1.8 * *fit) + 1, walk, walks, &t->noise);
	l->closer = ways.p;
	if (ways.p > 0) {
		*fit = (double)ways.ways;
		l->miss = ways.miss;
	}
	return 0;
}

/* If this is a parity of the index, half as many fit: of three quarters of what fits all do, or half as many again as
 * do. Where that is not xr_tlb_clear, what fits is not known well enough. */
static int try_mask(struct xr_tlb *t, struct xr_tlb_level *l, uint32_t mask, double *fit, double *is)
{
	const struct xr_pages_choice half = {.index = l->index, .fixed = mask};
	double p = 0.5;

	for (size_t i = 0; i < 2 && fmax(p, 1 - p) < xr_tlb_clear && t->visited < l->visits; i++) {
		if (i > 0 && look_closer(t, l, fit) != 0)
			return -1;
		if (overflows(t, l, &half, (size_t)fmax(floor(*fit / 2 + 0.2) + 1, round(*fit * 0.75)),
		              xr_family_sets(&l->index), &p) != 0)
			return -1;
		if (p == 0.5)
			break;
	}
	*is = p;
	if (p != 0.5 && fmax(p, 1 - p) < xr_tlb_clear)
		l->p *= fmax(p, 1 - p);
	if (p <= 0.5)
		return 0;
	l->index = xr_family_with(&l->index, mask);
	*fit /= 2;
	return 0;
}

/* Bits that pages in a row differ in. */
static unsigned bits_of_row(const struct xr_tlb_level *l)
{
	unsigned b = 0;

	while (b < XR_TLB_BITS && (double)(1u << b) < 1.2 * l->reach)
		b++;
	return b;
}

static bool has_bit(const struct xr_family *f, unsigned b)
{
	bool has = false;

	for (size_t i = 0; i < f->n; i++)
		has |= f->mask[i] >> b & 1;
	return has;
}

/* Most indexes are the lowest bits: how many? Of pages that agree in one too many of them more than twice as many
 * fit. From the most down, so that few pages are enough: nearly twice as many as would fit, beside as many in a
 * row. */
static int find_lowest(struct xr_tlb *t, struct xr_tlb_level *l, double *fit)
{
	const struct xr_pages_choice row = {.any = false};
	const double miss = l->miss;

	for (unsigned k = bits_of_row(l); k > 0; k--) {
		const struct xr_pages_choice choice = {.index = xr_family_of_bits((UINT32_C(1) << k) - 1)};
		const double part = l->reach / (double)(1u << k);
		const size_t many = (size_t)fmax(2, round(1.7 * part));
		struct xr_pages_asked these, fitting = {0};
		double p;

		if (part < 0.9 || part > XR_TLB_WAYS_MOST)
			continue;
		/* so few sets that all fit where these are in others, too */
		these = xr_tlb_pages(t, l, &choice, many, many / 2 + 1, (size_t)fmax(1, 0.7 * l->reach / (double)many));
		if (these.n > 0) {
			fitting = xr_pages_of(&t->pages, &row, these.n * these.copies, 1, XR_PAGES_MERGED);
			fitting.merge = XR_TLB_MERGE;
		}
		if (xr_tlb_overflows(t, t->n_levels, l->miss, &these, &fitting, &p) != 0)
			return -1;
		if (p < 1 - xr_tlb_clear)
			continue;
		l->index = choice.index;
		*fit = part;
		/* The reach may be less than what fits by a third, where others have places; half as much, it is
		 * another index. */
		if (p > xr_tlb_clear || (look_closer(t, l, fit) == 0 && l->closer > 0 && *fit < 1.7 * part))
			return 0;
		l->index = (struct xr_family){0};
		l->miss = miss;
		*fit = l->reach;
	}
	return 0;
}

/* Some cannot be asked at first: so many pages, all of one part of the first cache, do not fit there. Fewer do. */
static int try_bits(struct xr_tlb *t, struct xr_tlb_level *l, double *fit)
{
	double is[XR_TLB_BITS] = {0};

	for (int pass = 0; pass < 2; pass++)
		for (unsigned b = 0; b < bits_of_row(l) && *fit > 1.5; b++)
			if (!has_bit(&l->index, b) && (pass == 0 || is[b] == 0.5) &&
			    try_mask(t, l, UINT32_C(1) << b, fit, &is[b]) != 0)
				return -1;
	return 0;
}

/* What the first pages of a set and those of this choice take more than their twins, in misses; how well that is
 * known, by the first, which always do the same. NAN: it cannot be asked. */
struct compared {
	double first, these, error;
};

static int compare(struct xr_tlb *t, const struct xr_tlb_level *l, const struct xr_pages_choice *choice, size_t n,
                   size_t fits, struct compared *c)
{
	const struct xr_pages_choice plain = {.index = l->index};
	const size_t sets = xr_family_sets(&l->index);
	struct xr_pages_asked asked[2 * DRAWS];
	struct xr_walk_seen seen[2 * DRAWS];
	double sum[2] = {0, 0}, squares = 0, k[2] = {0, 0};

	*c = (struct compared){NAN, NAN, NAN};
	for (size_t i = 0; i < DRAWS; i++) { /* other pages each time */
		asked[2 * i] = xr_tlb_pages(t, l, &plain, n, fits, sets);
		asked[2 * i + 1] = xr_tlb_pages(t, l, choice, n, fits, sets);
		if (asked[2 * i].n == 0 || asked[2 * i + 1].n == 0)
			return 0;
	}
	if (xr_tlb_ask(t, t->n_levels, asked, 2 * DRAWS, 1, seen) != 0)
		return -1;
	for (size_t i = 0; i < 2 * DRAWS; i++)
		if (seen[i].seen > 0) {
			const double more = (seen[i].seen - seen[i].twin) / l->miss;

			sum[i % 2] += more;
			squares += i % 2 ? 0 : more * more;
			k[i % 2]++;
		}
	if (k[0] < 2 || k[1] < 2)
		return 0;
	*c = (struct compared){sum[0] / k[0], sum[1] / k[1], 0};
	c->error = sqrt(fmax(0, squares - sum[0] * sum[0] / k[0]) / (k[0] - 1) / k[0]);
	return 0;
}

/* Pages of one set fit wherever they are; those of several sets overflow some of them by chance, the first ones none.
 * Of two sets that nine tenths of what fits are drawn from, a seventh of the visits miss at the least. */
static int is_one_set(struct xr_tlb *t, const struct xr_tlb_level *l, double fit, bool *one)
{
	const struct xr_pages_choice any = {.index = l->index, .any = true, .low = bits_of_row(l)};
	struct compared c;

	*one = true;
	if (fit < 2.5)
		return 0;
	if (compare(t, l, &any, (size_t)(0.9 * fit), (size_t)fit, &c) != 0)
		return -1;
	*one = !(c.these - fmax(0, c.first) > fmax(0.07, 2 * c.error));
	return 0;
}

/* A bit folded with one above it, or with two; first with those as far above it as the last that was found. */
static int try_folds_of(struct xr_tlb *t, struct xr_tlb_level *l, unsigned i, unsigned *by, double *fit)
{
	const unsigned end = XR_TLB_BITS;
	double is = 0;

	if (*by && i + *by < end && try_mask(t, l, UINT32_C(1) << i | UINT32_C(1) << (i + *by), fit, &is) != 0)
		return -1;
	for (unsigned j = i + 1; j < end && !(is > 0.5); j++) {
		if (try_mask(t, l, UINT32_C(1) << i | UINT32_C(1) << j, fit, &is) != 0)
			return -1;
		*by = is > 0.5 ? j - i : *by;
	}
	for (unsigned j = i + 1; j < end && !(is > 0.5); j++)
		for (unsigned k = j + 1; k < end && !(is > 0.5); k++)
			if (try_mask(t, l, UINT32_C(1) << i | UINT32_C(1) << j | UINT32_C(1) << k, fit, &is) != 0)
				return -1;
	return 0;
}

/* As few as there are: the index is known when pages fit wherever they are. */
static int try_folds(struct xr_tlb *t, struct xr_tlb_level *l, double *fit, bool *one)
{
	unsigned by = 0;

	for (unsigned i = 0; i < bits_of_row(l) && !*one && *fit > 1.5 && t->visited < l->visits; i++) {
		const size_t before = l->index.n;

		if (has_bit(&l->index, i))
			continue;
		if (try_folds_of(t, l, i, &by, fit) != 0)
			return -1;
		if (l->index.n > before && (try_bits(t, l, fit) != 0 || is_one_set(t, l, *fit, one) != 0))
			return -1;
	}
	return 0;
}

/* Of a set that so many fit in: more than do, and so few sets that all fit where the index is the plain one, wherever
 * they are. */
static size_t odd_pages(double fit)
{
	return (size_t)ceil(fit * M_SQRT2 + 0.2);
}

static size_t odd_sets(const struct xr_tlb_level *l, double fit)
{
	return (size_t)fmax(1, 0.7 * l->reach / (double)odd_pages(fit));
}

/* Pages as far apart as a divisor of the number of sets overflow as many of them as they meet; others meet three times
 * as many at the least. So its odd part is found factor by factor. */
static int find_odd(struct xr_tlb *t, const struct xr_tlb_level *l, double *fit, struct xr_family *index)
{
	static const size_t prime[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31};

	*index = l->index;
	index->odd = 1;
	for (size_t i = 0; i < l->index.n; i++)
		if (l->index.mask[i] >> l->index.n) /* not the lowest bits */
			return 0;
	for (size_t i = 0; i < COUNT(prime) && t->visited < l->visits;) {
		struct xr_pages_choice next = {.index = *index};
		const double part = *fit / (double)prime[i];
		double p = 0;

		next.index.odd *= prime[i];
		if (part * 1.2 > 1 && overflows(t, l, &next, odd_pages(part), odd_sets(l, part), &p) != 0)
			return -1;
		if (p > xr_tlb_clear) { /* once more: it may be a factor twice */
			*index = next.index;
			*fit = part;
		} else {
			i++;
		}
	}
	return 0;
}

/* Half as many again as fit in one set overflow it, all alike; in two they do not, or only by chance: from a sixth
 * (large sets) to half (sets of one) of the visits miss, where in one set all or, with other policies than LRU, as
 * many as of the first pages do. Half here and half there always fit. */
static int stays(struct xr_tlb *t, const struct xr_tlb_level *l, const struct xr_pages_choice *choice, double fit,
                 bool *in_set)
{
	const double most = choice->any ? 0.7 : 0.4;
	struct compared c;

	if (compare(t, l, choice, 2 * (size_t)fmax(1, round(0.75 * fit)), (size_t)fit, &c) != 0)
		return -1;
	*in_set = !(c.these < most * c.first - 2 * c.error);
	return 0;
}

/* Sets that are no power of two: pages of one set then are others. Some of those overflow an index with gaps or folds as
 * well, but only those that were asked first: pages of one set fit together and overflow together, wherever they are. */
static int try_odd(struct xr_tlb *t, struct xr_tlb_level *l, double *fit, bool *one)
{
	const double all = *fit;
	const struct xr_family plain = l->index;
	struct xr_pages_choice any = {.any = true};
	double p = 1;

	*one = false;
	if (find_odd(t, l, fit, &any.index) != 0)
		return -1;
	for (int i = 0; i < 2 && any.index.odd > 1 && p > xr_tlb_clear; i++)
		if (overflows(t, l, &any, odd_pages(*fit), odd_sets(l, *fit), &p) != 0)
			return -1;
	if (any.index.odd > 1 && p > xr_tlb_clear) {
		l->index = any.index;
		if (is_one_set(t, l, *fit, one) != 0)
			return -1;
	}
	if (!*one) {
		l->index = plain;
		*fit = all;
	}
	return 0;
}

/* Bits that pages in a row do not differ in may count as well: alone (a gap), or folded onto one that does. */
static int try_high_bits(struct xr_tlb *t, struct xr_tlb_level *l, double fit)
{
	const struct xr_family before = l->index;
	struct xr_pages_choice choice;
	bool in_set;

	if (l->index.odd > 1)
		return 0;
	for (int round = 0; round < 2; round++) {
		choice = (struct xr_pages_choice){.index = l->index, .any = true};
		if (stays(t, l, &choice, fit, &in_set) != 0)
			return -1;
		if (in_set)
			return 0;
		for (unsigned b = bits_of_row(l) - 1; b < XR_TLB_BITS && (size_t)1 << b < t->pages.pool && round == 0;
		     b++) {
			size_t with = l->index.n;

			choice = (struct xr_pages_choice){.index = l->index, .apart = UINT32_C(1) << b};
			if (has_bit(&l->index, b))
				continue;
			if (stays(t, l, &choice, fit, &in_set) != 0)
				return -1;
			for (size_t i = 0; i < l->index.n && !in_set; i++) {
				bool folded;

				choice.apart = UINT32_C(1) << b | (l->index.mask[i] & -l->index.mask[i]);
				if (stays(t, l, &choice, fit, &folded) != 0)
					return -1;
				if (folded) {
					with = i;
					break;
				}
			}
			if (!in_set && with < l->index.n)
				l->index.mask[with] |= UINT32_C(1) << b;
			else if (!in_set)
				l->index = xr_family_with(&l->index, UINT32_C(1) << b);
		}
	}
	l->index = before;
	l->unknown = "page number bits enter the index in an unknown way";
	return 0;
}

int xr_tlb_find_index(struct xr_tlb *t, struct xr_tlb_level *l, double *fit)
{
	bool one;

	if (find_lowest(t, l, fit) != 0)
		return -1;
	if (l->index.n == 0 && t->n_levels > 1 && l->reach > XR_TLB_WAYS_MOST) {
		l->doubt = "a step of the caches or of the page tables";
		return 0;
	}
	/* Bits and folds of numbers are no parts of a remainder: where there is one, they only look so. */
	if (is_one_set(t, l, *fit, &one) != 0 || (!one && *fit < FOLD_MOST && try_odd(t, l, fit, &one) != 0))
		return -1;
	if (l->index.odd > 1)
		return 0;
	if (try_bits(t, l, fit) != 0 || is_one_set(t, l, *fit, &one) != 0)
		return -1;
	if (!one && *fit < FOLD_MOST && try_folds(t, l, fit, &one) != 0)
		return -1;
	if (!one)
		l->unknown = "pages anywhere overflow it sooner than pages in a row, and the index is not known";
	return one ? try_high_bits(t, l, *fit) : 0;
}

/* Now that the ways are known exactly, once more: does any other bit halve what fits? *fit: what then does; 0: none. */
int xr_tlb_check_bits(struct xr_tlb *t, struct xr_tlb_level *l, size_t ways, double *fit)
{
	*fit = 0;
	if (ways < 2 || l->index.odd > 1)
		return 0;
	for (unsigned b = 0; b < bits_of_row(l); b++) {
		const struct xr_pages_choice half = {.index = l->index, .fixed = UINT32_C(1) << b};
		const size_t n = ways / 2 + 1 > ways * 3 / 4 ? ways / 2 + 1 : ways * 3 / 4;
		double p;

		if (has_bit(&l->index, b))
			continue;
		if (overflows(t, l, &half, n, xr_family_sets(&l->index), &p) != 0)
			return -1;
		if (p > xr_tlb_clear) {
			l->index = xr_family_with(&l->index, half.fixed);
			*fit = (double)ways / 2;
			return 0;
		}
	}
	return 0;
}
