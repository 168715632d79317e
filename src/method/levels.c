/* Levels from staircases, see levels.h. */
#include "method/levels.h"

#include "method/translate.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FINE = 1024, FINE_MAX = 128 };

static const double flat = 0.08;      /* steps of one level differ by at most this */
static const double apart = 1.14;     /* levels differ by at least this factor */
static const double same_as_hit = 1.2;

static size_t grid(const uint32_t *order, size_t n, struct xr_items *set, struct xr_staircase *stairs)
{
	double items = 1;

	stairs->n = 0;
	while ((size_t)items <= n && stairs->n + 1 < XR_STAIRS_MAX) {
		set[stairs->n] = (struct xr_items){order, (size_t)items};
		stairs->pages[stairs->n++] = floor(items);
		items = fmax(items + 1, items * 1.5);
	}
	return stairs->n;
}

/* With no others at all x stays in the first level; what that reads too little or too much is the looking's doing. */
static int calibrate(struct xr_evict *e, uint32_t x, double hit, double *shift)
{
	struct xr_items nothing = {NULL, 0};
	double value;

	*shift = 0;
	if (xr_evict_values(e, x, &nothing, 1, &value) != 0)
		return -1;
	if (value > 0 && fabs(value - hit) < hit)
		*shift = hit - value;
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
	if (xr_evict_values(&e, x, set, grid(order, n, set, stairs), stairs->cycles) != 0 ||
	    calibrate(&e, x, hit, &shift) != 0)
		return -1;
	for (size_t i = 0; i < stairs->n; i++)
		stairs->cycles[i] += shift;
	return 0;
}

int xr_staircase_far(const struct xr_evict *evict, uint64_t line, uint64_t from, uint64_t to,
                     struct xr_staircase *stairs)
{
	struct xr_arena *arena = xr_run_arena(evict->run);
	struct xr_translate t = {.run = evict->run, .buffer = {evict->buffer.id + 1, to, XR_SMALL}, .page = evict->page,
	                         .line = line, .effort = {.samples = 5, .samples_max = 5}};
	uint64_t page = evict->page ? evict->page : evict->item;
	double translation[XR_STAIRS_MAX];
	size_t pages[XR_STAIRS_MAX];

	stairs->n = 0;
	for (double bytes = (double)from; bytes <= (double)to && stairs->n < XR_STAIRS_MAX; bytes *= sqrt(2)) {
		size_t i = stairs->n++;
		struct xr_span *all = xr_arena_array(arena, struct xr_span, 1);
		struct xr_spec spec;
		struct xr_reading reading;

		pages[i] = (size_t)(bytes / (double)page);
		stairs->pages[i] = (double)pages[i];
		*all = (struct xr_span){0, line, (uint32_t)(pages[i] * page / line)};
		spec = xr_spec_cycle((struct xr_buffer){evict->buffer.id + 3, to, XR_SMALL}, all, 1,
		                     xr_rng_next(xr_run_rng(evict->run)) >> 16 | 1);
		if (xr_run_time_with(evict->run, &t.effort, &spec, 1, &reading) != 0)
			return -1;
		stairs->cycles[i] = reading.status == XR_READ_OK ? reading.median_cycles : -1;
	}
	if (evict->page == 0)
		return 0;
	if (xr_translate_cost(&t, pages, stairs->n, translation, NULL) != 0)
		return -1;
	for (size_t i = 0; i < stairs->n; i++)
		if (stairs->cycles[i] > 0 && translation[i] > 0)
			stairs->cycles[i] -= translation[i];
	return 0;
}

int xr_staircase_near(const struct xr_evict *evict, uint64_t line, double hit, struct xr_staircase *stairs)
{
	struct xr_evict e = *evict;
	double shift;
	struct xr_items set[XR_STAIRS_MAX];
	uint64_t page = e.page ? e.page : e.item;
	uint32_t order[FINE_MAX], n = 0;

	e.exact = true;
	e.item = FINE;
	e.lines = (uint32_t)(FINE / line > 8 ? 8 : FINE / line);
	e.line_stride = line;
	e.offset = 0;
	e.dense = (uint32_t)(FINE / line);
	/* x is the first block; the others follow it. */
	for (uint32_t i = 1; n < FINE_MAX && (i + 1) * (uint64_t)FINE <= e.buffer.bytes; i++)
		order[n++] = i;
	if (e.lines == 0)
		return 0;
	if (xr_evict_values(&e, 0, set, grid(order, n, set, stairs), stairs->cycles) != 0 ||
	    calibrate(&e, 0, hit, &shift) != 0)
		return -1;
	for (size_t i = 0; i < stairs->n; i++) {
		stairs->pages[i] *= FINE / (double)page;
		stairs->cycles[i] += shift;
	}
	return 0;
}

struct step {
	double cycles;
	int weight;
};

static int by_cycles(const void *a, const void *b)
{
	double x = ((const struct step *)a)->cycles, y = ((const struct step *)b)->cycles;

	return x < y ? -1 : x > y;
}

/* The flat stretches of one staircase: neighbours that agree. */
static size_t flat_steps(const struct xr_staircase *s, struct step *step)
{
	size_t k = 0;

	for (size_t i = 0; i < s->n;) {
		size_t end = i + 1;

		while (end < s->n && fabs(s->cycles[end] - s->cycles[end - 1]) <= flat * s->cycles[end - 1])
			end++;
		if (s->cycles[i] > 0 && end - i >= 2) {
			step[k].cycles = xr_median(&s->cycles[i], end - i);
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

static void find_sizes(const struct xr_staircase *stairs, size_t n, struct xr_level *level, size_t k)
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

size_t xr_levels_from(const struct xr_staircase *stairs, size_t n, double hit, struct xr_level *level)
{
	struct step *step = calloc(n * XR_STAIRS_MAX + 1, sizeof *step);
	size_t n_steps = 0, k = 0;

	memset(level, 0, XR_LEVELS_MAX * sizeof *level);
	if (!step)
		return 0;
	for (size_t i = 0; i < n; i++)
		n_steps += flat_steps(&stairs[i], step + n_steps);
	qsort(step, n_steps, sizeof *step, by_cycles);
	for (size_t i = 0; i < n_steps && k < XR_LEVELS_MAX;) {
		size_t end = i + 1;
		int weight = step[i].weight, half = 0;
		bool first;

		while (end < n_steps && step[end].cycles <= step[end - 1].cycles * apart)
			weight += step[end++].weight;
		for (size_t j = i; j < end; j++) {
			level[k].latency = step[j].cycles;
			if ((half += step[j].weight) * 2 >= weight)
				break;
		}
		level[k].seen = weight;
		first = level[k].latency <= hit * same_as_hit;
		if (first)
			level[k].latency = hit;
		if (weight >= 3 || end == n_steps)
			k += !(first && k > 0 && level[k - 1].latency == hit);
		i = end;
	}
	if (k > 0 && level[0].latency > hit) { /* no step was short enough to stay in the first level */
		if (k == XR_LEVELS_MAX)
			k--;
		memmove(level + 1, level, k * sizeof *level);
		level[0] = (struct xr_level){hit, 0, 0};
		k++;
	}
	free(step);
	find_sizes(stairs, n, level, k);
	return k;
}
