/* Levels from staircases, see levels.h. */
#include "method/levels.h"

#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	FINE = 1024,
	FINE_MAX = 128,
	LONG = 3,          /* steps */
	ALONE = 5,         /* steps, of a level that only one staircase has seen */
	FEW = 400,         /* pages */
	CLOSER = 10,       /* walks between others */
	PAGES_NONE = 4096, /* unit where there are no pages */
};

static const double coarse = 1.5, fine = 1.2;
static const double differs = 1.25, closest = 1.2; /* steps to look between: in cycles, in pages */
static const double reach = 1.3;                   /* in pages, a level reaches at least so far */
static const double gap_least = 1.5;               /* sizes of walks that differ lie no further apart */
static const double steep = 1.2;                   /* they differ by this factor */
static const double grows = 1.25;                  /* as long as a walk of twice the size does, there is more to come */
static const double flat_least = 0.03, flat_most = 0.11; /* steps of one level differ by at most this */
static const double apart = 1.14;                        /* levels differ by at least this factor */
static const double apart_far = 1.5;                     /* those that only a walk has seen */
static const double alone = 1.5;                         /* one that a single staircase has seen, long enough */
static const double same_as_hit = 1.2;

static size_t grid(const uint32_t *order, size_t n, double factor, struct xr_items *set, struct xr_staircase *stairs)
{
	double items = 1;

	*stairs = (struct xr_staircase){.n = 0};
	stairs->least = factor < coarse ? 4 : 2;
	while ((size_t)items <= n && stairs->n + 1 < XR_STAIRS_MAX) {
		set[stairs->n] = (struct xr_items){order, (size_t)items};
		stairs->pages[stairs->n++] = floor(items);
		items = fmax(items + 1, items * factor);
	}
	return stairs->n;
}

/* With no others at all x stays in the first level; what that reads too little or too much is the looking's doing, and
 * how much it varies is what the steps may vary. */
static int calibrate(struct xr_evict *e, uint32_t x, double hit, double *shift, struct xr_staircase *stairs)
{
	enum { TIMES = 7 };
	struct xr_items nothing[TIMES] = {{NULL, 0}};
	double value[TIMES];

	if (xr_evict_values(e, x, nothing, TIMES, value) != 0)
		return -1;
	*shift = hit - xr_median(value, TIMES);
	stairs->hit = hit;
	stairs->noise = xr_mad(value, TIMES);
	stairs->range = xr_max(value, TIMES) - xr_min(value, TIMES);
	if (fabs(*shift) > hit)
		*shift = 0;
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

/* Steps between those that differ, as long as they are cheap: a level hardly larger than the nearer one has few steps. */
static int look_closer(struct xr_evict *e, uint32_t x, const uint32_t *order, struct xr_staircase *s)
{
	struct xr_items set[XR_STAIRS_MAX] = {{NULL, 0}};
	double cycles[XR_STAIRS_MAX];
	size_t k = 0;

	for (size_t i = 1; i < s->n && s->n + k < XR_STAIRS_MAX && s->pages[i] <= FEW; i++)
		if (s->cycles[i] > differs * s->cycles[i - 1] && s->pages[i] >= closest * s->pages[i - 1] &&
		    s->pages[i] >= s->pages[i - 1] + 2)
			set[k++] = (struct xr_items){order, (size_t)ceil(sqrt(s->pages[i] * s->pages[i - 1]))};
	if (xr_evict_values(e, x, set, k, cycles) != 0)
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
		if (fabs(s->cycles[i] - level) <= flat_most * level + 3 * s->noise) {
			first = first == s->n ? i : first;
			last = i;
		}
	return first == s->n ? first : (first + last) / 2;
}

int xr_staircase_check(const struct xr_evict *evict, uint32_t x, const uint32_t *order,
                       const struct xr_staircase *stairs, double near, double level, double far, bool *real)
{
	struct xr_evict e = *evict;
	size_t at = step_at(stairs, level), there = 0;
	struct xr_items set[2] = {{NULL, 0}, {NULL, 0}};
	double unit = (double)(e.page ? e.page : e.item);

	*real = true;
	if (at == stairs->n)
		return 0;
	e.exact = true;
	e.passes = stairs->near ? 0 : 1;
	e.block = stairs->near ? FINE : 0;
	set[1] = (struct xr_items){order, (size_t)lround(stairs->pages[at] * (stairs->near ? unit / FINE : 1))};
	for (e.only = 1; e.only <= e.lines; e.only++) {
		double value[2];

		if (xr_evict_values(&e, x, set, 2, value) != 0)
			return -1;
		value[1] += stairs->hit - value[0]; /* what looking adds */
		there += value[1] > (near + level) / 2 && value[1] < (level + far) / 2;
	}
	*real = there * 2 > evict->lines;
	return 0;
}

int xr_staircase_climb(const struct xr_evict *evict, uint32_t x, const uint32_t *order, size_t n, double hit,
                       struct xr_staircase *stairs)
{
	struct xr_evict e = *evict;
	struct xr_items set[XR_STAIRS_MAX];
	double shift;

	e.exact = true;
	e.passes = 1;
	if (xr_evict_values(&e, x, set, grid(order, n, coarse, set, stairs), stairs->cycles) != 0 ||
	    look_closer(&e, x, order, stairs) != 0 || look_closer(&e, x, order, stairs) != 0 ||
	    calibrate(&e, x, hit, &shift, stairs) != 0)
		return -1;
	for (size_t i = 0; i < stairs->n; i++)
		stairs->cycles[i] += shift;
	return 0;
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

/* The widest gap between neighbours that differ; 0: there is none left. */
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

int xr_staircase_far(const struct xr_walk *walk, uint64_t from, uint64_t to, uint64_t most, struct xr_staircase *stairs)
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
	for (bytes = 2 * (double)to; added && bytes <= (double)most && stairs->n > 1 &&
	                             stairs->cycles[stairs->n - 1] > grows * stairs->cycles[stairs->n - 2];
	     bytes *= 2)
		if (add_walk(walk, bytes, stairs, &added) != 0)
			return -1;
	for (int i = 0; i < CLOSER && added && (gap = widest_gap(stairs)) > 0; i++) {
		bytes = sqrt(stairs->pages[gap] * stairs->pages[gap - 1]) * page;
		if (add_walk(walk, bytes, stairs, &added) != 0)
			return -1;
	}
	return 0;
}

int xr_staircase_near(const struct xr_evict *evict, double hit, struct xr_staircase *stairs)
{
	struct xr_evict e = *evict;
	double shift;
	struct xr_items set[XR_STAIRS_MAX];
	uint64_t page = e.page ? e.page : e.item;
	uint32_t order[FINE_MAX] = {0}, n = 0;

	e.exact = true;
	e.block = FINE;
	while (n < FINE_MAX && e.item + (n + 1) * (uint64_t)FINE <= e.buffer.bytes) {
		order[n] = n;
		n++;
	}
	if (xr_evict_values(&e, 0, set, grid(order, n, fine, set, stairs), stairs->cycles) != 0 ||
	    calibrate(&e, 0, hit, &shift, stairs) != 0)
		return -1;
	stairs->near = true;
	for (size_t i = 0; i < stairs->n; i++) {
		stairs->pages[i] *= FINE / (double)page;
		stairs->cycles[i] += shift;
	}
	return 0;
}

struct step {
	double cycles;
	int weight;
	double span; /* of pages, the last step's over the first's */
	bool far;    /* from a walk over all lines, whose steps are rounded */
	bool last;   /* the staircase ends on it */
	size_t from; /* number of its staircase */
};

static int by_cycles(const void *a, const void *b)
{
	double x = ((const struct step *)a)->cycles, y = ((const struct step *)b)->cycles;

	return x < y ? -1 : x > y;
}

/* How much neighbours on one level may differ: a few times as much as neighbours that are about the same do on average. */
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
	return fmin(flat_most, flat_least + (count > 0 ? 4 * sum / count : 0));
}

/* The flat stretches of one staircase: neighbours that agree. */
static size_t flat_steps(const struct xr_staircase *s, size_t from, double flat, struct step *step)
{
	size_t k = 0;

	for (size_t i = 0; i < s->n;) {
		size_t end = i + 1;

		while (end < s->n &&
		       fabs(s->cycles[end] - s->cycles[end - 1]) <= flat * s->cycles[end - 1] + 3 * s->noise)
			end++;
		if (s->cycles[i] > 0 && end - i >= s->least) {
			step[k].cycles = xr_median(&s->cycles[i], end - i);
			step[k].far = s->far;
			step[k].last = end == s->n;
			step[k].span = s->pages[end - 1] / s->pages[i];
			step[k].from = from;
			step[k++].weight = (int)(end - i);
		}
		i = end;
	}
	return k;
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

/* Where the steps of the next level begin. Behind the caches, a walk grows slower with its size for other reasons too. */
static size_t next_group(const struct step *step, size_t i, size_t n, double noise)
{
	size_t end = i + 1;

	while (end < n &&
	       step[end].cycles <=
	               step[end - 1].cycles * (step[end - 1].far && step[end].far ? apart_far : apart) + 3 * noise)
		end++;
	return end;
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

/* Weighted median of the steps of one level. */
static struct xr_level level_of(const struct step *step, size_t n)
{
	struct xr_level level = {0};
	int half = 0;

	for (size_t i = 0; i < n; i++)
		level.seen += step[i].weight;
	for (size_t i = 0; i < n && half * 2 < level.seen; i++) {
		half += step[i].weight;
		level.latency = step[i].cycles;
	}
	return level;
}

static bool is_far(const struct step *step, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!step[i].far)
			return false;
	return true;
}

size_t xr_levels_from(const struct xr_staircase *stairs, size_t n, double hit, struct xr_level *level)
{
	struct step *step = calloc(n * XR_STAIRS_MAX + 1, sizeof *step);
	struct xr_level memory = {0};
	size_t n_steps = 0, k = 1;
	double noise = 0;

	memset(level, 0, XR_LEVELS_MAX * sizeof *level);
	if (!step)
		return 0;
	for (size_t i = 0; i < n; i++)
		noise = fmax(noise, stairs[i].noise);
	for (size_t i = 0; i < n; i++)
		n_steps += flat_steps(&stairs[i], i, stairs[i].far ? flat_most : flat_of(stairs, n), step + n_steps);
	qsort(step, n_steps, sizeof *step, by_cycles);
	level[0].latency = hit;
	for (size_t i = 0, end; i < n_steps && k < XR_LEVELS_MAX - 1; i = end) {
		struct xr_level next;

		end = next_group(step, i, n_steps, noise);
		next = level_of(step + i, end - i);
		if (next.latency <= hit * same_as_hit + 2 * noise)
			level[0].seen += next.seen;
		else if (is_far(step + i, end - i)) /* pages can be pushed into every level but the last, memory */
			memory = next;
		else if (next.seen >= 3 && is_shared(step + i, end - i))
			level[k++] = next;
		else if (next.seen >= ALONE && next.latency > alone * level[k - 1].latency &&
		         (end == n_steps || step[end].cycles > alone * next.latency))
			level[k++] = next;
	}
	/* What is quicker than a level that pages were pushed into was none; the end of a walk that never stays the same for
	 * long is memory, too. */
	if (memory.latency <= level[k - 1].latency * apart)
		memory = (struct xr_level){0};
	for (size_t i = 0; i < n && memory.latency == 0; i++)
		if (stairs[i].far && stairs[i].n > 3)
			memory.latency = xr_median(stairs[i].cycles + stairs[i].n - 3, 3);
	if (memory.latency > level[k - 1].latency * (memory.seen ? apart : apart_far))
		level[k++] = memory;
	free(step);
	xr_levels_sizes(stairs, n, level, k);
	return k;
}
