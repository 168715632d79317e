/* Ways of a level, see ways.h. */
#include "method/ways.h"

#include "method/places.h"
#include "stat/stat.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 3, ORDERS = 3, LINES = 4, FAN = 9 };
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

/* Misses per lap with each of n sets of members: the least of several orders, for some orders do not suit some policies,
 * but no order makes a set fit that does not. */
static int misses_with(const struct xr_ways *w, const struct xr_items *set, size_t n, double *misses)
{
	const struct xr_class *c = w->class;
	struct xr_arena *arena = xr_run_arena(c->evict->run);
	struct xr_places *places = xr_arena_array(arena, struct xr_places, ORDERS * n);
	double *cycles = xr_arena_array(arena, double, ORDERS *n);
	size_t strangers = 0;

	for (size_t k = 0; k < ORDERS * n; k++) {
		struct walk walk = draw(w);

		walk.member = xr_arena_copy(arena, set[k / ORDERS].item, set[k / ORDERS].n * sizeof *walk.member);
		shuffle(walk.member, set[k / ORDERS].n, xr_run_rng(c->evict->run));
		strangers = walk.n_strangers;
		places[k] = lay(w, &walk, set[k / ORDERS].n, 0);
	}
	if (excess(w, places, ORDERS * n, lines_of(c->evict, 0), cycles) != 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		misses[i] = misses_of(w, xr_min(cycles + ORDERS * i, ORDERS), (double)(set[i].n + strangers));
	return 0;
}

/* The shortest beginning of `order` that does not fit; 0: none. *always: misses that are there with any of them. */
static int shortest_too_long(const struct xr_ways *w, const uint32_t *order, size_t most, size_t *result,
                             double *always)
{
	struct xr_items set[FAN] = {{NULL, 0}};
	size_t good = 1, bad = most + 1, k = 0;
	double misses[FAN] = {0};

	*result = 0;
	for (size_t n = 1; n <= most && k < FAN; n = n * 2 < most || n == most ? n * 2 : most)
		set[k++] = (struct xr_items){order, n};
	if (misses_with(w, set, k, misses) != 0)
		return -1;
	/* Strangers may be in each other's way; that much is there with any number of members. */
	*always = misses[0];
	for (size_t i = 1; i < k && set[i].n * 2 <= w->class->n_core; i++)
		*always = misses[i];
	for (;;) {
		for (size_t i = k; i-- > 0 && misses[i] - *always >= one_miss;)
			bad = set[i].n;
		for (size_t i = 0; i < k && set[i].n < bad; i++)
			good = set[i].n;
		if (bad > most || bad == 1)
			return 0;
		if (bad - good == 1)
			break;
		k = 0;
		for (size_t i = 1; i <= FAN; i++) {
			size_t at = good + (bad - good) * i / (FAN + 1);

			if (at > good && at < bad && (k == 0 || at > set[k - 1].n))
				set[k++] = (struct xr_items){order, at};
		}
		if (misses_with(w, set, k, misses) != 0)
			return -1;
	}
	*result = bad;
	return 0;
}

int xr_ways_count(const struct xr_ways *w, size_t *ways, size_t *strangers)
{
	struct xr_arena *arena = xr_run_arena(w->class->evict->run);
	struct walk walk = draw(w);
	struct xr_items *set;
	double *misses, always;
	size_t n, needed = 0;

	*ways = *strangers = 0;
	if (shortest_too_long(w, walk.member, walk.n_members, &n, &always) != 0)
		return -1;
	if (n < 2)
		return 0;
	/* One more than fits, and perhaps some that should not be there: without one of the former, the rest does fit. */
	set = xr_arena_array(arena, struct xr_items, n);
	misses = xr_arena_array(arena, double, n);
	for (size_t i = 0; i < n; i++) {
		uint32_t *rest = xr_arena_array(arena, uint32_t, n);

		memcpy(rest, walk.member, i * sizeof *rest);
		memcpy(rest + i, walk.member + i + 1, (n - i - 1) * sizeof *rest);
		set[i] = (struct xr_items){rest, n - 1};
	}
	if (misses_with(w, set, n, misses) != 0)
		return -1;
	/* Who seems not to be needed is asked about again: noise adds misses, nothing takes them away. */
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < n; i++) {
			double once_more = misses[i];

			if (misses[i] - always >= one_miss && misses_with(w, &set[i], 1, &once_more) != 0)
				return -1;
			misses[i] = fmin(misses[i], once_more);
		}
	for (size_t i = 0; i < n; i++)
		needed += misses[i] - always < one_miss;
	*ways = needed > 1 ? needed - 1 : 0;
	*strangers = n - needed;
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
