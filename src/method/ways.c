/* Ways of a level, see ways.h. */
#include "method/ways.h"

#include "method/places.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 5, LINES = 4, FAN = 9 };
static const double one_miss = 0.8; /* per lap: less is noise */

struct walk {
	uint32_t *member, *stranger; /* in the order of this draw */
	size_t n_members, n_strangers;
};

static void shuffle(uint32_t *item, size_t n, struct xr_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(rng, i);
		uint32_t swap = item[i - 1];

		item[i - 1] = item[j];
		item[j] = swap;
	}
}

static struct walk draw(const struct xr_ways *w)
{
	const struct xr_class *c = w->class;
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	struct xr_rng *rng = xr_run_rng(c->evict->run);
	struct walk walk = {xr_arena_array(arena, uint32_t, c->n_members + 1), NULL, c->n_members + 1, 0};

	memcpy(walk.member, c->member, c->n_members * sizeof *walk.member);
	walk.member[c->n_members] = c->x;
	shuffle(walk.member, walk.n_members, rng);
	walk.stranger = xr_arena_copy(arena, c->stranger, c->n_strangers * sizeof *walk.stranger);
	shuffle(walk.stranger, c->n_strangers, rng);
	walk.n_strangers = w->strangers < c->n_strangers ? w->strangers : c->n_strangers;
	return walk;
}

static void lay_line(const struct xr_evict *e, const uint32_t *item, size_t n, uint64_t at, struct xr_places *places)
{
	for (size_t i = 0; i < n; i++)
		xr_places_add(places, item[i] * e->item + at % (e->page ? e->page : e->item));
}

/* Two sets of lines must not meet each other's: then only two lines are used, both even, never a power of two apart. */
static uint32_t lines_of(const struct xr_evict *e, uint64_t apart)
{
	return apart ? 1 + (e->lines > 3) : e->lines < LINES ? e->lines : LINES;
}

static uint64_t line_for(const struct xr_evict *e, uint64_t apart, uint32_t i)
{
	uint32_t which = apart && i ? e->lines - 1 : i;

	while (apart && xr_evict_line(e, which) / e->line % 2)
		which--;
	return xr_evict_line(e, which);
}

/* The first n members and the strangers, line after line; with apart > 0, the next n members too, and the strangers again,
 * that many bytes further into their pages. */
static struct xr_places lay(const struct xr_ways *w, const struct walk *walk, size_t n, uint64_t apart)
{
	const struct xr_evict *e = w->class->evict;
	uint32_t lines = lines_of(e, apart);
	struct xr_places places = xr_places_new(xr_run_arena(e->run), lines * 2 * (n + walk->n_strangers));

	for (uint32_t l = 0; l < lines; l++) {
		uint64_t at = line_for(e, apart, l);

		lay_line(e, walk->member, n, at, &places);
		if (apart)
			lay_line(e, walk->member + n, n, at + apart, &places);
		lay_line(e, walk->stranger, walk->n_strangers, at, &places);
		if (apart)
			lay_line(e, walk->stranger, walk->n_strangers, at + apart, &places);
	}
	return places;
}

/* Excess of each walk over its twin, in cycles per lap and line. */
static int excess(const struct xr_ways *w, const struct xr_places *places, size_t n, uint32_t lines, double *cycles)
{
	const struct xr_evict *e = w->class->evict;
	struct xr_arena *arena = xr_run_arena(e->run);
	struct xr_effort effort = {.samples = 5, .samples_max = 5};
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, 2 * n);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, 2 * n);

	for (size_t i = 0; i < n; i++) {
		struct xr_places twin = xr_places_twin(arena, &places[i], e->page);

		spec[2 * i] = xr_places_cycle(arena, &places[i], e->buffer, 0);
		spec[2 * i + 1] = xr_places_cycle(arena, &twin, w->twin, 0);
	}
	if (xr_run_time_with(e->run, &effort, spec, 2 * n, reading) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		cycles[i] = (reading[2 * i].cycles - reading[2 * i + 1].cycles) * (double)places[i].n / lines;
	return 0;
}

/* Misses per lap, from the excess: of `visits` per lap and line, all take the level's latency when they hit. */
static double misses_of(const struct xr_ways *w, double cycles, double visits)
{
	const struct xr_class *c = w->class;

	return (cycles - visits * (c->near - w->nearer)) / (c->far - c->near);
}

/* Misses per lap with each of these numbers of members: medians over the draws. */
static int misses_with(const struct xr_ways *w, const size_t *members, size_t n, double *misses)
{
	struct xr_arena *arena = xr_run_arena(w->class->evict->run);
	struct xr_places *places = xr_arena_array(arena, struct xr_places, n);
	double *all = xr_arena_array(arena, double, DRAWS *n), *cycles = xr_arena_array(arena, double, n),
	       column[DRAWS];

	for (size_t d = 0; d < DRAWS; d++) {
		struct walk walk = draw(w);

		for (size_t i = 0; i < n; i++)
			places[i] = lay(w, &walk, members[i], 0);
		if (excess(w, places, n, lines_of(w->class->evict, 0), cycles) != 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			all[d * n + i] = misses_of(w, cycles[i], (double)(members[i] + walk.n_strangers));
	}
	for (size_t i = 0; i < n; i++) {
		for (size_t d = 0; d < DRAWS; d++)
			column[d] = all[d * n + i];
		misses[i] = xr_median(column, DRAWS);
	}
	return 0;
}

int xr_ways_count(const struct xr_ways *w, size_t most, size_t *ways)
{
	size_t members[FAN + 1] = {0}, good = 1, bad = most + 1, k = 0;
	double misses[FAN + 1], always;

	*ways = 0;
	for (size_t n = 1; n <= most && k < FAN; n = n * 2 < most || n == most ? n * 2 : most)
		members[k++] = n;
	if (misses_with(w, members, k, misses) != 0)
		return -1;
	/* Strangers may be in each other's way; that much is there with any number of members. */
	always = misses[0];
	for (size_t i = 1; i < k && members[i] * 2 <= w->class->n_core; i++)
		always = misses[i];
	for (size_t i = k; i-- > 0 && misses[i] - always >= one_miss;)
		bad = members[i];
	if (bad > most || bad == 1)
		return 0;
	for (size_t i = 0; i < k && members[i] < bad; i++)
		good = members[i];
	while (bad - good > 1) {
		k = 0;
		for (size_t i = 1; i <= FAN; i++) {
			size_t at = good + (bad - good) * i / (FAN + 1);

			if (at > good && at < bad && (k == 0 || at > members[k - 1]))
				members[k++] = at;
		}
		if (misses_with(w, members, k, misses) != 0)
			return -1;
		for (size_t i = k; i-- > 0 && misses[i] - always >= one_miss;)
			bad = members[i];
		for (size_t i = 0; i < k && members[i] < bad; i++)
			good = members[i];
	}
	*ways = good;
	return 0;
}

int xr_ways_meet(const struct xr_ways *w, size_t ways, size_t n, bool *meets)
{
	struct xr_arena *arena = xr_run_arena(w->class->evict->run);
	size_t half = ways - ways / 4;
	struct xr_places *places = xr_arena_array(arena, struct xr_places, n);
	double *cycles = xr_arena_array(arena, double, n);
	int *votes = xr_arena_array(arena, int, n);

	for (int d = 0; d < DRAWS; d++) {
		struct walk walk = draw(w);

		for (size_t i = 0; i < n; i++)
			places[i] = lay(w, &walk, half, UINT64_C(8) << i);
		if (excess(w, places, n, lines_of(w->class->evict, 1), cycles) != 0)
			return -1;
		for (size_t i = 0; i < n; i++)
			votes[i] += misses_of(w, cycles[i], (double)(2 * (half + walk.n_strangers))) >
			            fmax(one_miss, 0.3 * (double)half);
	}
	for (size_t i = 0; i < n; i++)
		meets[i] = votes[i] * 2 > DRAWS;
	return 0;
}
