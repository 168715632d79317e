/* SPDX-License-Identifier: MIT */
/* Staircases, see stairs.h. */
#include "method/stairs.h"

#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum {
	FINE = 1024, /* bytes of a block, at least */
	FINE_MAX = 128,
	FINE_PAGES = 8,     /* are reached by blocks: so few may overflow a level */
	CLIMB_FIRST = 2048, /* pages; more only as long as the end of the staircase is not flat */
	STEPS_MOST = XR_STAIRS_MAX - 8,
	SINGLES = 3, /* looks at a line, and */
	EVERY = 2,   /* at each so many-th */
	LOOKS = 9,   /* at all of them together */
	ZEROS = 3,   /* times that nothing is visited in between */
	BASES = 6,   /* and that x is at hand all the same */
	EXTRA = ZEROS + BASES,
	LONG = 3,          /* steps */
	FEW = 400,         /* pages */
	CLOSER = 10,       /* walks between others */
	PAGES_NONE = 4096, /* unit where there are no pages */
};

static const double coarse = 1.5, fine = 1.2;
static const double differs = 1.25, closest = 1.2; /* steps to look between: in cycles, in pages */
static const double gap_least = 1.5;               /* sizes of walks that differ lie no further apart */
static const double beyond = 2.5;                  /* times the latency of a level: not that level any more */
static const double steep = 1.2;                   /* they differ by this factor */
static const double grows = 1.25;                  /* as long as a walk of twice the size does, there is more to come */
static const double looking_most = 4; /* times the first latency, per line; more, and it was something else */
static const double single_most = 20; /* cycles that a look at a single access may be wrong by */
static const double by_chance = 0.5;  /* of what chance would make of looks, at least, if it does */
static const double fine_ns = 2;      /* resolution of a clock that can time a single access */

static size_t grid(const uint32_t *order, size_t n, double factor, double hit, struct xr_items *set,
                   struct xr_staircase *stairs)
{
	double items = 1;

	*stairs = (struct xr_staircase){.hit = hit};
	stairs->least = factor < coarse ? 4 : 2;
	while ((size_t)items <= n && stairs->n + 1 < XR_STAIRS_MAX) {
		set[stairs->n] = (struct xr_items){order, (size_t)items, false};
		stairs->pages[stairs->n++] = floor(items);
		items = fmax(items + 1, items * factor);
	}
	return stairs->n;
}

/* Reads k steps, each call with its own zero (there must be room for as many as ZEROS and BASES more). With no
 * others at all x stays in the first level: how much that varies is what the steps may vary. What looking itself
 * takes grows with the others, for they push out what the program that looks needs, and with what else the core
 * is busy with: so some of the steps are taken again with x at hand, and what that takes more than the first
 * level is taken off. */
static int read_steps(struct xr_evict *e, uint32_t x, struct xr_items *set, size_t k, double *cycles,
                      struct xr_staircase *stairs)
{
	double *zero = cycles + k, *base = zero + ZEROS;
	size_t bases = k < 3 ? k : k / 3 + 2 < BASES ? k / 3 + 2 : BASES, of[BASES] = {0};
	struct xr_peace before = e->peace ? *e->peace : (struct xr_peace){0};

	if (k == 0)
		return 0;
	for (size_t i = 0; i < ZEROS; i++)
		set[k + i] = (struct xr_items){NULL, 0, false};
	for (size_t i = 0; i < bases; i++) {
		of[i] = bases > 1 ? (k - 1) * i / (bases - 1) : 0;
		set[k + ZEROS + i] = set[of[i]];
		set[k + ZEROS + i].warm = true;
	}
	if (xr_evict_values(e, x, set, k + ZEROS + bases, cycles) != 0)
		return -1;
	if (e->peace && 2 * (e->peace->disturbed - before.disturbed) > e->peace->readings - before.readings)
		stairs->disturbed = true;
	stairs->noise = fmax(stairs->noise, xr_mad(zero, ZEROS));
	stairs->range = fmax(stairs->range, xr_max(zero, ZEROS) - xr_min(zero, ZEROS));
	for (size_t i = 0, b = 0; i < k; i++) {
		double part, shift;

		while (b + 2 < bases && i > of[b + 1])
			b++;
		part = b + 1 < bases ? (double)(i - of[b]) / (double)(of[b + 1] - of[b]) : 0;
		shift = stairs->hit - base[b] - (part > 0 ? part * (base[b + 1] - base[b]) : 0);
		cycles[i] += fabs(shift) > looking_most * stairs->hit ? 0 : shift;
	}
	return 0;
}

static void insert(struct xr_staircase *s, size_t at, double pages, double cycles)
{
	for (size_t i = s->n; i > at; i--) {
		s->pages[i] = s->pages[i - 1];
		s->cycles[i] = s->cycles[i - 1];
	}
	s->pages[at] = pages;
	s->cycles[at] = cycles;
	s->n++;
}

/* Steps between those that differ, as long as they are cheap: a level hardly larger than the nearer one has few
 * steps. */
static int look_closer(struct xr_evict *e, uint32_t x, const uint32_t *order, struct xr_staircase *s)
{
	struct xr_items set[XR_STAIRS_MAX + EXTRA] = {{NULL, 0, false}};
	double cycles[XR_STAIRS_MAX + EXTRA];
	size_t k = 0;

	for (size_t i = 1; i < s->n && s->n + k < XR_STAIRS_MAX && s->pages[i] <= FEW; i++)
		if (s->cycles[i] > differs * s->cycles[i - 1] && s->pages[i] >= closest * s->pages[i - 1] &&
		    s->pages[i] >= s->pages[i - 1] + 2)
			set[k++] = (struct xr_items){order, (size_t)ceil(sqrt(s->pages[i] * s->pages[i - 1])), false};
	if (read_steps(e, x, set, k, cycles, s) != 0)
		return -1;
	for (size_t j = 0; j < k; j++) {
		size_t at = 0;

		while (at < s->n && s->pages[at] < (double)set[j].n)
			at++;
		insert(s, at, (double)set[j].n, cycles[j]);
	}
	return 0;
}

/* The middle one of the steps at this level; n: none. */
static size_t step_at(const struct xr_staircase *s, double level)
{
	size_t first = s->n, last = s->n;

	for (size_t i = 0; i < s->n; i++)
		if (fabs(s->cycles[i] - level) <= XR_STAIRS_FLAT * level + 3 * s->noise) {
			first = first == s->n ? i : first;
			last = i;
		}
	return first == s->n ? first : (first + last) / 2;
}

/* Where a clock can time a single line once: of a few looks at lines of x, how many find them at the level? A line that
 * is now nearer and now farther is at neither end of a mean. */
static int check_singly(struct xr_evict *e, uint32_t x, struct xr_items others, const struct xr_staircase *stairs,
                        double near, double far, size_t *there, size_t *all)
{
	struct xr_items set[2 * SINGLES] = {{NULL, 0, false}};
	double value[2 * SINGLES];

	e->effort = (struct xr_effort){.samples = 1, .samples_max = 1, .sample_ns = 1};
	for (size_t i = 0; i < SINGLES; i++)
		set[SINGLES + i] = others;
	*there = *all = 0;
	for (e->only = 1; e->only <= e->lines; e->only += EVERY) {
		if (xr_evict_values(e, x, set, 2 * SINGLES, value) != 0)
			return -1;
		for (size_t i = 0; i < SINGLES; i++) {
			double cycles = value[SINGLES + i] + stairs->hit - xr_median(value, SINGLES);

			*there += cycles > near && cycles < far;
			++*all;
		}
	}
	return 0;
}

/* Else: of each line, the mean of many. */
static int check_lines(struct xr_evict *e, uint32_t x, struct xr_items others, const struct xr_staircase *stairs,
                       double near, double far, size_t *there, size_t *all)
{
	struct xr_items set[2] = {{NULL, 0, false}, others};

	*there = *all = 0;
	for (e->only = 1; e->only <= e->lines; e->only++) {
		double value[2];

		if (xr_evict_values(e, x, set, 2, value) != 0)
			return -1;
		value[1] += stairs->hit - value[0]; /* what looking adds */
		*there += value[1] > near && value[1] < far;
		++*all;
	}
	return 0;
}

/* How far looks are from their median, but for the farthest one, which may be somebody else's doing. */
static double scatter_of(const double *value, size_t n)
{
	double middle = xr_median(value, n), sum = 0, farthest = 0;

	for (size_t i = 0; i < n; i++) {
		sum += (value[i] - middle) * (value[i] - middle);
		farthest = fmax(farthest, fabs(value[i] - middle));
	}
	return sqrt(fmax(0, sum - farthest * farthest) / (double)(n - 1));
}

/* Where lines leave a level one after the other by chance, the mean of many looks is between levels for every
 * line of x; but each look finds another number of them gone, and so it varies as that number does. */
static int check_together(struct xr_evict *e, uint32_t x, struct xr_items others, double near, double level, double far,
                          bool *torn)
{
	struct xr_items set[2 * LOOKS] = {{NULL, 0, false}};
	double value[2 * LOOKS], part = (level - near) / (far - near);
	double chance = (far - near) * sqrt(part * (1 - part) / e->lines);

	e->effort = (struct xr_effort){.samples = 1, .samples_max = 1, .sample_ns = 1};
	e->only = 0;
	for (size_t i = 0; i < LOOKS; i++)
		set[LOOKS + i] = others;
	if (xr_evict_values(e, x, set, 2 * LOOKS, value) != 0)
		return -1;
	*torn = chance > 3 * xr_mad(value, LOOKS) && scatter_of(value + LOOKS, LOOKS) > by_chance * chance;
	return 0;
}

int xr_staircase_check(const struct xr_evict *evict, uint32_t x, const uint32_t *order,
                       const struct xr_staircase *stairs, double near, double level, double far, bool calm, int *vote)
{
	struct xr_evict e = *evict;
	size_t at = step_at(stairs, level), there, all;
	double unit = (double)(e.page ? e.page : e.item);
	bool fine_clock = xr_run_number(e.run, "timer.resolution", 1) <= fine_ns;
	struct xr_items others = {order, 0, false};
	bool torn = false;

	*vote = 0;
	if (at == stairs->n)
		return 0;
	e.exact = true;
	e.passes = stairs->block ? 0 : 1;
	e.block = stairs->block;
	others.n = (size_t)lround(stairs->pages[at] * (stairs->block ? unit / (double)stairs->block : 1));
	if (fine_clock && calm && check_together(&e, x, others, near, level, far, &torn) != 0)
		return -1;
	if (torn) {
		*vote = -1;
		return 0;
	}
	e.effort = evict->effort;
	if ((fine_clock && level - near > single_most ? check_singly : check_lines)(
		    &e, x, others, stairs, (near + level) / 2, (level + far) / 2, &there, &all) != 0)
		return -1;
	*vote = there * 2 > all ? 1 : -1;
	return 0;
}

/* How many of the last steps are alike. In peace they are so to a few percent; else lines still leave, one after
 * the other. */
static size_t steps_at_end(const struct xr_staircase *s)
{
	const double flat = s->range > 0.05 * s->hit ? XR_STAIRS_FLAT : 0.05;
	size_t k = 1;

	while (k < s->n && fabs(s->cycles[s->n - 1 - k] / s->cycles[s->n - k] - 1) <= flat)
		k++;
	return k;
}

/* Has it arrived, and stayed for a while? */
static bool is_at(const struct xr_staircase *s, double top)
{
	return top > 0 && steps_at_end(s) >= LONG && fabs(s->cycles[s->n - 1] / top - 1) <= XR_STAIRS_FLAT;
}

int xr_staircase_climb(const struct xr_evict *evict, uint32_t x, const uint32_t *order, size_t n, double hit,
                       double top, struct xr_staircase *stairs)
{
	struct xr_evict e = *evict;
	struct xr_items set[XR_STAIRS_MAX + EXTRA], rest[XR_STAIRS_MAX + EXTRA];
	double cycles[XR_STAIRS_MAX + EXTRA];
	size_t k = grid(order, n < CLIMB_FIRST ? n : CLIMB_FIRST, coarse, hit, set, stairs), near = 0;
	double end = 0, pages = stairs->pages[k - 1];

	e.exact = true;
	e.passes = 1;
	while (near < k && stairs->pages[near] <= FEW)
		near++;
	memcpy(rest, set + near, (k - near) * sizeof *set);
	/* From both ends: what is between the end and where it has been reached is the same. */
	if (near < k && !(top > 0)) {
		struct xr_items last[1 + EXTRA] = {rest[k - near - 1]};

		if (read_steps(&e, x, last, 1, cycles, stairs) != 0)
			return -1;
		top = end = cycles[0];
		k--;
	}
	if (read_steps(&e, x, set, near, cycles, stairs) != 0)
		return -1;
	memcpy(stairs->cycles, cycles, near * sizeof *cycles);
	stairs->n = near;
	if (!is_at(stairs, top)) {
		if (read_steps(&e, x, rest, k - near, cycles, stairs) != 0)
			return -1;
		memcpy(stairs->cycles + near, cycles, (k - near) * sizeof *cycles);
		stairs->n = k;
	}
	if (end > 0)
		insert(stairs, stairs->n, pages, end);
	/* Has it only just left a level? */
	while (steps_at_end(stairs) < LONG && stairs->n < STEPS_MOST &&
	       coarse * stairs->pages[stairs->n - 1] <= (double)n) {
		set[0] = (struct xr_items){order, (size_t)(coarse * stairs->pages[stairs->n - 1]), false};
		if (read_steps(&e, x, set, 1, cycles, stairs) != 0)
			return -1;
		insert(stairs, stairs->n, (double)set[0].n, cycles[0]);
	}
	return look_closer(&e, x, order, stairs) != 0 || look_closer(&e, x, order, stairs) != 0 ? -1 : 0;
}

static int add_walk(const struct xr_walk *walk, double bytes, struct xr_staircase *s, bool *added)
{
	double page = (double)(walk->page ? walk->page : PAGES_NONE), pages = floor(bytes / page), cycles;
	size_t at = s->n;

	*added = false;
	if (s->n == XR_STAIRS_MAX || pages < 1)
		return 0;
	if (xr_walk_time(walk, (uint64_t)(pages * page), &cycles, NULL) != 0)
		return -1;
	if (cycles < 0)
		return 0;
	while (at > 0 && s->pages[at - 1] > pages)
		at--;
	insert(s, at, pages, cycles);
	*added = true;
	return 0;
}

/* The widest gap between neighbours that differ; 0: none is left. */
static size_t widest_gap(const struct xr_staircase *s)
{
	double widest = gap_least;
	size_t gap = 0;

	for (size_t i = 1; i < s->n; i++) {
		double wide = s->pages[i] / s->pages[i - 1];

		if (s->cycles[i] > steep * s->cycles[i - 1] && wide > widest) {
			widest = wide;
			gap = i;
		}
	}
	return gap;
}

static bool still_grows(const struct xr_staircase *s)
{
	return s->n > 1 && s->cycles[s->n - 1] > grows * s->cycles[s->n - 2];
}

/* The last walk once more: it may have been somebody else who made it slow. */
static int walk_again(const struct xr_walk *walk, struct xr_staircase *s)
{
	double page = (double)(walk->page ? walk->page : PAGES_NONE), cycles;

	if (xr_walk_time(walk, (uint64_t)(s->pages[s->n - 1] * page), &cycles, NULL) != 0)
		return -1;
	if (cycles > 0)
		s->cycles[s->n - 1] = fmin(s->cycles[s->n - 1], cycles);
	return 0;
}

int xr_staircase_far(const struct xr_walk *walk, uint64_t from, uint64_t to, uint64_t most, double known,
                     struct xr_staircase *stairs)
{
	double page = (double)(walk->page ? walk->page : PAGES_NONE), bytes;
	bool added = true;
	size_t gap;

	*stairs = (struct xr_staircase){.far = true, .least = 2};
	for (bytes = (double)from; bytes < (double)to / 2.5; bytes *= 16)
		if (add_walk(walk, bytes, stairs, &added) != 0)
			return -1;
	if (add_walk(walk, (double)to / 2, stairs, &added) != 0 || add_walk(walk, (double)to, stairs, &added) != 0)
		return -1;
	/* Far beyond the levels known it is memory that is walked over; page tables that leave the caches make
	 * that slower and slower, too. */
	for (bytes = 2 * (double)to; added && bytes <= (double)most; bytes *= 2) {
		if (stairs->n > 1 && stairs->cycles[stairs->n - 2] > beyond * known)
			break;
		if (still_grows(stairs) && walk_again(walk, stairs) != 0)
			return -1;
		if (!still_grows(stairs))
			break;
		if (add_walk(walk, bytes, stairs, &added) != 0)
			return -1;
	}
	for (int i = 0; i < CLOSER && added && (gap = widest_gap(stairs)) > 0; i++) {
		bytes = sqrt(stairs->pages[gap] * stairs->pages[gap - 1]) * page;
		if (add_walk(walk, bytes, stairs, &added) != 0)
			return -1;
	}
	return 0;
}

int xr_staircase_near(const struct xr_evict *evict, uint64_t reach, double hit, struct xr_staircase *stairs)
{
	struct xr_evict e = *evict;
	struct xr_items set[XR_STAIRS_MAX + EXTRA];
	double cycles[XR_STAIRS_MAX + EXTRA];
	uint64_t page = e.page ? e.page : e.item;
	uint32_t order[FINE_MAX] = {0}, n = 0;
	size_t k;

	e.exact = true;
	for (e.block = FINE; FINE_MAX * e.block < FINE_PAGES * page || FINE_MAX * e.block < reach;)
		e.block *= 2;
	while (n < FINE_MAX && e.item + (n + 1) * e.block <= e.buffer.bytes) {
		order[n] = n;
		n++;
	}
	k = grid(order, n, fine, hit, set, stairs);
	if (read_steps(&e, 0, set, k, cycles, stairs) != 0)
		return -1;
	stairs->block = e.block;
	for (size_t i = 0; i < k; i++) {
		stairs->pages[i] *= (double)e.block / (double)page;
		stairs->cycles[i] = cycles[i];
	}
	return 0;
}
