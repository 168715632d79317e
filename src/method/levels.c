/* SPDX-License-Identifier: MIT */
/* Levels from staircases, see levels.h. */
#include "method/levels.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	LONG = 3,  /* steps */
	OFTEN = 8, /* steps of a level that is close to another */
	ALONE = 5, /* steps, of a level that only one staircase has seen */
};

static const double reach = 1.3;       /* in pages, a level reaches at least so far */
static const double flat_least = 0.03; /* steps of one level differ by this, or more, up to XR_STAIRS_FLAT */
static const double equal = 0.005, exact = 0.02;
static const double apart = 1.14;    /* levels differ by at least this factor */
static const double apart_far = 1.5; /* those that only a walk has seen */
static const double alone = 1.5;     /* one that a single staircase has seen, long enough */
static const double same_as_hit = 1.2;
static const double same_quiet = 1.4; /* pages of one level differ by no more on a quiet machine: ways through a mesh */
static const double same_at_most = 1.6;              /* what two staircases find of one level differs by no more */
static const double noise_most = 0.15;               /* of the first latency: more would make one of two levels */
static const double own = 5;                         /* times the first latency: what is farther may be shared */
static const double around = 1.3, rough_most = 0.25; /* how far a level may vary, beside others */
static const double restless = 0.05;                 /* of the first latency: on a quiet machine it varies by less */

struct step {
	double cycles;
	int weight;
	double span;    /* of pages, the last step's over the first's */
	double scatter; /* of its points, cycles */
	bool far;       /* from a walk over all lines, whose steps are rounded */
	bool last;      /* the staircase ends on it */
	size_t from;    /* number of its staircase */
};

/* Staircases, and their flat stretches, by time. */
struct view {
	const struct xr_staircase *stairs;
	size_t n_stairs, climbs;
	double hit, noise, flat;
	bool restless; /* others use the core, or the caches behind it */
	struct step *step;
	size_t n;
};

static int by_cycles(const void *a, const void *b)
{
	double x = ((const struct step *)a)->cycles, y = ((const struct step *)b)->cycles;

	return x < y ? -1 : x > y;
}

/* How much neighbours on one level may differ: a few times as much as neighbours that are about the same do on
 * average. */
static double flat_of(const struct xr_staircase *stairs, size_t n)
{
	double sum = 0, count = 0;

	for (size_t k = 0; k < n; k++)
		for (size_t i = 1; i < stairs[k].n && !stairs[k].far; i++) {
			double apart_by = fabs(stairs[k].cycles[i] / stairs[k].cycles[i - 1] - 1);

			if (apart_by < apart - 1) {
				sum += apart_by;
				count++;
			}
		}
	return fmin(XR_STAIRS_FLAT, flat_least + (count > 0 ? 4 * sum / count : 0));
}

/* How far staircases go down around this time, as a share. Visiting more others never brings a page nearer: that
 * is what a level varies by while others use it, too. (Not one of the core's own.) */
static double rough_at(const struct view *v, double cycles)
{
	double rough = 0;

	if (cycles < own * v->hit)
		return 0;

	for (size_t k = 0; k < v->n_stairs && v->restless; k++)
		for (size_t i = 1; i < v->stairs[k].n && !v->stairs[k].far; i++) {
			double before = v->stairs[k].cycles[i - 1], now = v->stairs[k].cycles[i];

			if (now < before && now * around > cycles && before < cycles * around)
				rough = fmax(rough, 2 * (1 - now / before)); /* from the one end to the other */
		}
	return fmin(rough, rough_most);
}

/* The flat stretches of one staircase: neighbours that agree. */
static size_t flat_steps(const struct view *v, size_t from, struct step *step)
{
	const struct xr_staircase *s = &v->stairs[from];
	const double flat = s->far ? XR_STAIRS_FLAT : v->flat;
	size_t k = 0;

	for (size_t i = 0; i < s->n;) {
		size_t end = i + 1;

		while (end < s->n &&
		       fabs(s->cycles[end] - s->cycles[end - 1]) <=
		               fmax(flat, rough_at(v, s->cycles[end - 1])) * s->cycles[end - 1] + 3 * s->noise)
			end++;
		/* Fewer, if they are the same: what is between levels is not. */
		if (s->cycles[i] > 0 &&
		    (end - i >= s->least || (end - i >= LONG && fabs(s->cycles[end - 1] / s->cycles[i] - 1) < equal)))
			step[k++] = (struct step){.cycles = xr_median(&s->cycles[i], end - i),
			                          .far = s->far,
			                          .last = end == s->n,
			                          .span = s->pages[end - 1] / s->pages[i],
			                          .scatter = xr_mad(&s->cycles[i], end - i),
			                          .from = from,
			                          .weight = (int)(end - i)};
		i = end;
	}
	return k;
}

static bool view_init(struct view *v, const struct xr_staircase *stairs, size_t n, double hit)
{
	*v = (struct view){.stairs = stairs, .n_stairs = n, .hit = hit, .flat = flat_of(stairs, n)};
	v->step = calloc(n * XR_STAIRS_MAX + 1, sizeof *v->step);
	if (!v->step)
		return false;
	for (size_t i = 0; i < n; i++) {
		v->noise = fmin(noise_most * hit, fmax(v->noise, stairs[i].noise));
		v->restless = v->restless || stairs[i].range > restless * hit || stairs[i].disturbed;
		v->climbs += !stairs[i].far && !stairs[i].block;
	}
	for (size_t i = 0; i < n; i++)
		v->n += flat_steps(v, i, v->step + v->n);
	qsort(v->step, v->n, sizeof *v->step, by_cycles);
	return true;
}

/* Where a staircase leaves a level: the number of others at the last step below the middle to the next one. */
static double leaves_at(const struct xr_staircase *s, double border)
{
	for (size_t i = 1; i < s->n; i++)
		if (s->cycles[i] > border && (i + 1 >= s->n || s->cycles[i + 1] > border))
			return sqrt(s->pages[i] * s->pages[i - 1]);
	return 0;
}

void xr_levels_sizes(const struct xr_staircase *stairs, size_t n, struct xr_level *level, size_t k)
{
	for (size_t l = 0; l + 1 < k; l++) {
		double at[64];
		size_t found = 0;

		for (size_t i = 0; i < n && found < 64; i++) {
			double pages = leaves_at(&stairs[i], (level[l].latency + level[l + 1].latency) / 2);

			if (pages > 0)
				at[found++] = pages;
		}
		level[l].items = found * 2 > n ? xr_median(at, found) : 0;
	}
}

/* Where the steps of the next level begin. Behind the caches, a walk grows slower with its size for other reasons
 * too. */
static size_t next_group(const struct view *v, size_t i)
{
	size_t end = i + 1;

	for (; end < v->n; end++) {
		const struct step *before = &v->step[end - 1], *now = &v->step[end];
		double factor = before->far && now->far ? apart_far : fmax(apart, 1 + rough_at(v, before->cycles));

		if (now->cycles > before->cycles * factor + 3 * v->noise)
			break;
	}
	return end;
}

static bool has_seen(const struct step *step, size_t n, size_t from)
{
	for (size_t i = 0; i < n; i++)
		if (step[i].from == from)
			return true;
	return false;
}

/* Has one staircase been on both of these? Else they may be one level that took longer at one time, or for one
 * page, than for another. */
static bool told_apart(const struct step *a, size_t n, const struct step *b, size_t m)
{
	for (size_t i = 0; i < n; i++)
		if (has_seen(b, m, a[i].from))
			return true;
	return false;
}

/* Seen by more than one, and by one of them for long (as far as it goes)? A page whose lines go different ways stays
 * between levels for a while. */
static bool is_shared(const struct step *step, size_t n)
{
	bool more = false, solid = false;

	for (size_t i = 0; i < n; i++) {
		more = more || step[i].from != step[0].from;
		solid = solid || (step[i].weight >= LONG && step[i].span >= reach) || (step[i].last && !step[i].far);
	}
	return more && solid;
}

static bool is_far(const struct step *step, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!step[i].far)
			return false;
	return true;
}

/* Weighted median of the steps of one level; those of walks, which are rounded, only where there are no others. */
static struct xr_level level_of(const struct step *step, size_t n)
{
	struct xr_level level = {0};
	bool far = is_far(step, n);
	double least = INFINITY, most = 0, scatter = 0;
	int half = 0, all = 0;

	for (size_t i = 0; i < n; i++) {
		level.seen += step[i].weight;
		level.witnesses += step[i].far == far && !has_seen(step, i, step[i].from);
		if (step[i].far != far)
			continue;
		all += step[i].weight;
		scatter += step[i].weight * step[i].scatter;
		least = fmin(least, step[i].cycles);
		most = fmax(most, step[i].cycles);
	}
	for (size_t i = 0; i < n && half * 2 < all; i++)
		if (step[i].far == far) {
			half += step[i].weight;
			level.latency = step[i].cycles;
		}
	level.spread = fmax(most - least, scatter / all / sqrt(all)) / level.latency;
	return level;
}

/* Far enough from its neighbours not to be a page between two levels? */
static bool stands_alone(double cycles, double nearer, double farther)
{
	return cycles > alone * nearer && farther > alone * cycles;
}

/* Close to another one it must be seen by all and often: pages of which some lines are nearer and some farther
 * stay between levels for a while, and look alike. */
static bool is_level(const struct xr_level *l, const struct step *step, size_t n, size_t climbs, bool stands)
{
	return l->seen >= LONG && is_shared(step, n) &&
	       (stands || ((size_t)l->witnesses >= climbs && l->seen >= OFTEN));
}

/* Seen by a single one perhaps, but for long enough, and always the same: what is between levels is not, on a quiet
 * machine. */
static bool is_exact(const struct xr_level *l, const struct step *step, size_t n)
{
	bool reaches = false;

	for (size_t i = 0; i < n; i++)
		reaches = reaches || step[i].span >= reach;
	return l->spread < exact && (l->seen >= ALONE || (l->seen >= LONG && reaches));
}

/* Where the steps of one level, from i on, end: with groups that may be the same. */
static size_t level_end(const struct view *v, size_t i)
{
	const double same = v->restless ? same_at_most : same_quiet;
	size_t end = next_group(v, i);

	while (end < v->n && v->step[end].cycles < same * v->step[end - 1].cycles) {
		size_t more = next_group(v, end);

		if (is_far(v->step + i, end - i) || is_far(v->step + end, more - end) ||
		    told_apart(v->step + i, end - i, v->step + end, more - end))
			break;
		end = more;
	}
	return end;
}

/* Few steps, of several staircases, but all the same: what is between levels may be so, too, where lines of one
 * page leave one after the other, so each line must say so as well (xr_staircase_check()). */
static bool is_repeated(const struct view *v, const struct xr_level *l)
{
	size_t points = 0, from = 0;

	for (size_t k = 0; k < v->n_stairs; k++) {
		size_t before = points;

		for (size_t i = 0; i < v->stairs[k].n && !v->stairs[k].far; i++)
			points += fabs(v->stairs[k].cycles[i] / l->latency - 1) < equal;
		from += points > before;
	}
	return !v->restless && points >= ALONE && from > 1;
}

/* What comes next behind a level: not where a walk has part of its lines in one level and part in another. */
static double next_behind(const struct view *v, size_t end)
{
	while (end < v->n && v->step[end].far && !v->step[end].last)
		end++;
	return end < v->n ? v->step[end].cycles : INFINITY;
}

/* What is quicker than a level that pages were pushed into was none; the end of a walk that never stays the same for
 * long is memory, too. */
static size_t add_memory(const struct xr_staircase *stairs, size_t n, struct xr_level memory, struct xr_level *level,
                         size_t k)
{
	if (memory.latency <= level[k - 1].latency * apart)
		memory = (struct xr_level){0};
	for (size_t i = 0; i < n && memory.latency == 0; i++)
		if (stairs[i].far && stairs[i].n > 3)
			memory.latency = xr_median(stairs[i].cycles + stairs[i].n - 3, 3);
	if (memory.latency > level[k - 1].latency * (memory.seen ? apart : apart_far))
		level[k++] = memory;
	return k;
}

size_t xr_levels_from(const struct xr_staircase *stairs, size_t n, double hit, struct xr_level *level,
                      struct xr_unsettled *unsettled)
{
	struct xr_level memory = {0};
	struct view v;
	size_t k = 1;

	*unsettled = (struct xr_unsettled){0};
	memset(level, 0, XR_LEVELS_MAX * sizeof *level);
	if (!view_init(&v, stairs, n, hit))
		return 0;
	level[0].latency = hit;
	for (size_t i = 0, end; i < v.n && k < XR_LEVELS_MAX - 1; i = end) {
		struct step *here = v.step + i;
		struct xr_level next;
		bool stands;

		end = level_end(&v, i);
		next = level_of(here, end - i);
		stands = stands_alone(next.latency, level[k - 1].latency, next_behind(&v, end));
		if (next.latency <= hit * same_as_hit + 2 * v.noise)
			level[0].seen += next.seen;
		else if (is_far(here, end - i)) /* pages can be pushed into every level but the last, memory */
			memory = next;
		else if (is_level(&next, here, end - i, v.climbs, stands) ||
		         (stands && !v.restless && is_exact(&next, here, end - i)))
			level[k++] = next;
		else if (is_repeated(&v, &next))
			level[k++] = next, level[k - 1].weak = true;
		else if (stands)
			unsettled->dropped += next.seen >= LONG;
		else
			unsettled->between += is_shared(here, end - i);
	}
	k = add_memory(stairs, n, memory, level, k);
	free(v.step);
	xr_levels_sizes(stairs, n, level, k);
	return k;
}
