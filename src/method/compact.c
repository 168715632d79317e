/* is_compact, see compact.h. */
#include "method/compact.h"

#include <math.h>

enum {
	FIRST_ORDERS = 2, /* asked of every set */
	MORE_ORDERS = 2,  /* asked again while the vote is open */
	MOST_ORDERS = 15,
	FAN = 6, /* sets asked about at once while searching */
};
/* What a vote says: log of how much more often compact sets than others are fast, or slow. A compact set is fast in few
 * orders only on a machine with much going on, or where replacement does not find the way that is free. */
static const double says_fast = 2.5, says_slow = -0.6;
static const double default_sure = 2.2;
static const double of_hit = 0.1, of_twin = 0.03;

struct ballot {
	int yes, no, orders;
	double llr;
	double cycles[MOST_ORDERS], twin[MOST_ORDERS];
};

/* A set and its twin, to be read side by side in the same orders. */
static void pair_up(struct xr_compact *c, const struct xr_places *set, const struct xr_places *other,
                    struct xr_spec *pair)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_buffer beside = c->buffer;
	struct xr_places twin = other && other->at ? *other : xr_places_twin(arena, set, c->page);

	beside.id++;
	pair[0] = xr_places_cycle(arena, set, c->buffer, 1);
	pair[1] = xr_places_cycle(arena, &twin, beside, 1);
}

static void draw(struct xr_compact *c, const struct xr_spec *of, struct xr_spec *pair)
{
	uint64_t seed = xr_rng_next(xr_run_rng(c->run)) >> 16 | 1;

	for (int i = 0; i < 2; i++) {
		pair[i] = of[i];
		pair[i].chain.phase[0].seed = seed;
	}
}

static void count(const struct xr_compact *c, size_t places, struct ballot *ballot, const struct xr_reading *pair)
{
	double limit;
	bool fast;

	ballot->orders++;
	if (pair[0].status != XR_READ_OK || pair[1].status != XR_READ_OK)
		return;
	limit = fmax(of_hit * (c->hit > 0 ? c->hit : pair[1].cycles), of_twin * pair[1].cycles);
	if (c->limit > 0)
		limit = c->limit + c->more * (double)(places - c->idle) / (double)places;
	fast = pair[0].cycles - pair[1].cycles <= limit;
	ballot->cycles[ballot->yes + ballot->no] = pair[0].cycles;
	ballot->twin[ballot->yes + ballot->no] = pair[1].cycles;
	*(fast ? &ballot->yes : &ballot->no) += 1;
	ballot->llr += fast ? says_fast : says_slow;
}

static bool is_open(const struct xr_compact *c, const struct ballot *ballot)
{
	return ballot->orders < MOST_ORDERS && fabs(ballot->llr) < (c->sure > 0 ? c->sure : default_sure);
}

static struct xr_compact_answer answer_of(const struct xr_compact *c, const struct ballot *ballot)
{
	struct xr_compact_answer a = {XR_UNDECIDED, ballot->yes, ballot->no, 0, 0};

	if (ballot->yes + ballot->no == 0)
		return a;
	a.cycles = xr_median(ballot->cycles, (size_t)(ballot->yes + ballot->no));
	a.twin = xr_median(ballot->twin, (size_t)(ballot->yes + ballot->no));
	if (!is_open(c, ballot) && ballot->llr != 0)
		a.verdict = ballot->llr > 0 ? XR_YES : XR_NO;
	return a;
}

int xr_are_compact(struct xr_compact *c, const struct xr_places *set, const struct xr_places *twin, size_t n,
                   struct xr_compact_answer *answer)
{
	struct xr_arena *arena = xr_run_arena(c->run);
	struct xr_effort effort = c->effort.samples ? c->effort : (struct xr_effort){.samples = 5, .samples_max = 5};
	struct ballot *ballot = xr_arena_array(arena, struct ballot, n);
	struct xr_spec *model = xr_arena_array(arena, struct xr_spec, n * 2);
	struct xr_spec *spec = xr_arena_array(arena, struct xr_spec, n * 2 * MORE_ORDERS);
	struct xr_reading *reading = xr_arena_array(arena, struct xr_reading, n * 2 * MORE_ORDERS);
	size_t *of = xr_arena_array(arena, size_t, n * MORE_ORDERS);

	for (size_t i = 0; i < n; i++)
		pair_up(c, &set[i], twin ? &twin[i] : NULL, &model[2 * i]);
	for (int asked = 0; asked < MOST_ORDERS;) {
		int orders = asked ? MORE_ORDERS : FIRST_ORDERS;
		size_t k = 0;

		for (size_t i = 0; i < n; i++)
			for (int o = 0; o < orders && is_open(c, &ballot[i]) && ballot[i].orders + o < MOST_ORDERS;
			     o++) {
				draw(c, &model[2 * i], &spec[2 * k]);
				of[k++] = i;
			}
		if (k == 0)
			break;
		if (xr_run_time_with(c->run, &effort, spec, 2 * k, reading) != 0)
			return -1;
		for (size_t j = 0; j < k; j++)
			count(c, set[of[j]].n, &ballot[of[j]], &reading[2 * j]);
		asked += orders;
	}
	for (size_t i = 0; i < n; i++)
		answer[i] = answer_of(c, &ballot[i]);
	return 0;
}

/* Index of the first set that is not compact and whose successor, where there is one, is not either; n: none. */
static size_t first_no(const struct xr_compact_answer *answer, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (answer[i].verdict != XR_YES && (i + 1 == n || answer[i + 1].verdict != XR_YES))
			return i;
	return n;
}

static int ask_lengths(struct xr_compact *c, xr_family_fn *family, void *self, const size_t *length, size_t k,
                       size_t *first)
{
	struct xr_places set[FAN] = {0}, twin[FAN] = {0};
	struct xr_compact_answer answer[FAN];

	for (size_t i = 0; i < k; i++)
		family(self, length[i], &set[i], &twin[i]);
	if (xr_are_compact(c, set, twin, k, answer) != 0)
		return -1;
	*first = first_no(answer, k);
	return 0;
}

int xr_first_not_compact(struct xr_compact *c, xr_family_fn *family, void *self, size_t lo, size_t hi, size_t *result)
{
	size_t length[FAN], first, good = lo ? lo - 1 : 0, bad = hi + 1;

	/* Doubling, so that no set is much larger than it has to be. */
	for (size_t next = lo; next <= hi && bad > hi;) {
		size_t k = 0;

		for (; k < FAN && next <= hi; k++) {
			length[k] = next;
			next = next == hi ? hi + 1 : (next * 2 > hi ? hi : next * 2);
		}
		if (ask_lengths(c, family, self, length, k, &first) != 0)
			return -1;
		if (first > 0)
			good = length[first - 1];
		if (first < k)
			bad = length[first];
	}
	/* Between the last that was and the first that was not. */
	while (bad <= hi && bad - good > 1) {
		size_t gap = bad - good, k = 0;

		for (size_t i = 1; i <= FAN; i++) {
			size_t at = good + gap * i / (FAN + 1);

			if (at > good && at < bad && (k == 0 || at > length[k - 1]))
				length[k++] = at;
		}
		if (k == 0)
			length[k++] = good + 1;
		if (ask_lengths(c, family, self, length, k, &first) != 0)
			return -1;
		if (first < k)
			bad = length[first];
		if (first > 0)
			good = length[first - 1];
	}
	*result = bad;
	return 0;
}
