/* SPDX-License-Identifier: MIT */
/* Which array makes a curve: misses of one set, arrays of every policy and number of ways, decoded code before
 * the cache, a level behind it; none of these where nothing fits; and curves of real cores. */
#include "../lib/start.h"

#include "infer/array.h"
#include "infer/policy.h"
#include "infer/stack.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { UNITS = 32 /* of the first stride */, POINTS = 400 };

struct lab {
	struct xr_arena arena;
	struct xr_misses *misses;
	struct xr_rng rng;
	struct xr_conflict_point point[POINTS];
	size_t n;
};

static void lab_init(struct lab *lab, uint64_t seed)
{
	xr_arena_init(&lab->arena);
	lab->misses = xr_misses_new(&lab->arena);
	lab->rng.state = seed;
	lab->n = 0;
}

/* Units `stride` apart; seen: cycles beyond the base, 1 % of noise between looks. */
static struct xr_conflict_point *put(struct lab *lab, unsigned curve, bool full, uint64_t stride, unsigned count)
{
	assert_true(lab->n < POINTS);
	struct xr_conflict_point *p = &lab->point[lab->n++];
	uint64_t *place = xr_arena_array(&lab->arena, uint64_t, count);
	for (unsigned i = 0; i < count; i++)
		place[i] = i * stride;
	*p = (struct xr_conflict_point){.curve = curve, .full = full, .count = count, .place = place, .n = count};
	return p;
}

static void see(struct lab *lab, struct xr_conflict_point *p, double base, double excess, double noise)
{
	for (p->looks = 0; p->looks < 4; p->looks++) {
		p->base[p->looks] = base * (1 + noise * (xr_rng_unit(&lab->rng) - 0.5));
		p->cycles[p->looks] = (base + excess) * (1 + noise * (xr_rng_unit(&lab->rng) - 0.5));
	}
}

/* As infer/conflict.h says it. */
static uint64_t set_of(const struct xr_conflict_array *a, uint64_t unit)
{
	return (a->fold ? unit ^ unit / a->sets : unit) % a->sets;
}

static double share(struct lab *lab, const struct xr_conflict_array *a, const struct xr_conflict_point *p)
{
	double sum = 0;
	for (unsigned i = 0; i < p->n; i++) {
		unsigned there = 0;
		for (unsigned k = 0; k < p->n; k++)
			there += set_of(a, p->place[k]) == set_of(a, p->place[i]);
		sum += xr_misses_share(lab->misses, a->policy, a->ways, there);
	}
	return sum / p->n;
}

/* ---- misses ---- */

static void nothing_misses_while_it_fits(void **state)
{
	(void)state;
	struct lab lab;
	lab_init(&lab, 1);
	for (int policy = 0; policy < XR_N_POLICIES; policy++)
		for (unsigned ways = 1; ways <= 16; ways++) {
			double before = 0;
			assert_true(xr_misses_share(lab.misses, policy, ways, ways) == 0);
			for (unsigned n = ways + 1; n < 4 * ways + 2; n += ways) {
				const double now = xr_misses_share(lab.misses, policy, ways, n);
				assert_true(now > before && now <= 1);
				assert_true(xr_misses_share(lab.misses, policy, ways, n) == now);
				before = now;
			}
		}
	assert_true(fabs(xr_misses_share(lab.misses, XR_LRU, 1, 2) - 0.75) < 1e-9);
	assert_true(xr_misses_share(lab.misses, XR_RANDOM, 0, 1) == 1);
	xr_arena_release(&lab.arena);
}

/* ---- one array ---- */

static void ask_all(struct lab *lab, const struct xr_conflict_array *a, uint64_t stride, unsigned curve, double penalty)
{
	const unsigned fits = xr_conflict_overflows(a, stride, 1000) - 1;
	for (unsigned count = 1; count <= 2 * fits + 2; count += count < 12 ? 1 : count / 8) {
		struct xr_conflict_point *p = put(lab, curve, false, stride, count);
		see(lab, p, 20, penalty * share(lab, a, p), 0.01);
	}
	if (fits > 12) /* exactly there, too */
		for (unsigned count = fits; count <= fits + 1; count++) {
			struct xr_conflict_point *p = put(lab, curve, false, stride, count);
			see(lab, p, 20, penalty * share(lab, a, p), 0.01);
		}
}

static void check_array(const struct xr_conflict_array *a, uint64_t seed)
{
	struct lab lab;
	struct xr_stack s = {.stride = UNITS};
	double p, p_capacity;
	lab_init(&lab, seed);
	ask_all(&lab, a, UNITS, 0, 12);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	ask_all(&lab, a, UNITS / 2, 1, 12);
	ask_all(&lab, a, UNITS / 4, 5, 12);
	ask_all(&lab, a, UNITS * 2, 2, 12);
	ask_all(&lab, a, UNITS * 3, 3, 12); /* sets that are no power of two, and ways, make the same steps otherwise */
	ask_all(&lab, a, UNITS * 5, 4, 12);
	xr_stack_geometry(&s, 256);
	xr_stack_again(&s, lab.point, lab.n);
	const size_t best = xr_stack_best(&s, &p, &p_capacity);
	if (best == s.n || xr_stack_array(&s.h[best])->ways != a->ways || xr_stack_array(&s.h[best])->sets != a->sets)
		fail_msg("%u ways of %d sets, policy %d: found %u of %d", a->ways, (int)a->sets, a->policy,
		         best < s.n ? xr_stack_array(&s.h[best])->ways : 0,
		         best < s.n ? (int)xr_stack_array(&s.h[best])->sets : 0);
	if (!(p > 0.7 && p_capacity >= p - 1e-9))
		fail_msg("%u ways of %d sets, policy %d: believed with %g", a->ways, (int)a->sets, a->policy, p);
	xr_arena_release(&lab.arena);
}

/* A folded index puts other units into the set of the first than into its neighbours: any of them may overflow. */
static void the_first_set_that_overflows_counts(void **state)
{
	(void)state;
	for (uint64_t sets = 1; sets <= 64; sets *= 2)
		for (unsigned ways = 1; ways <= 9; ways += 2)
			for (uint64_t stride = 1; stride <= 2 * sets; stride++)
				for (int fold = 0; fold < 2; fold++) {
					const struct xr_conflict_array a = {.sets = sets, .fold = fold, .ways = ways};
					unsigned there[64] = {0}, n = 0;
					while (++there[set_of(&a, n++ * stride)] <= ways)
						;
					assert_int_equal(xr_conflict_overflows(&a, stride, 5000), n);
				}
}

/* Pages of a folded TLB: rows of every power of two spread over its sets as in one with fewer sets, or none. */
static void a_folded_index_shows_at_one_more_than_its_sets(void **state)
{
	(void)state;
	static const struct xr_conflict_array tlb[] = {
		{16, true, 3, XR_LRU}, {16, true, 8, XR_LRU}, {8, true, 4, XR_PLRU}};
	for (size_t i = 0; i < sizeof tlb / sizeof *tlb; i++) {
		struct lab lab;
		struct xr_stack s = {.stride = 1};
		double p, p_capacity;
		lab_init(&lab, 40 + i);
		ask_all(&lab, &tlb[i], 1, 0, 12);
		xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
		for (uint64_t stride = tlb[i].sets / 2; stride <= 2 * tlb[i].sets; stride *= 2)
			ask_all(&lab, &tlb[i], stride, (unsigned)stride, 12);
		ask_all(&lab, &tlb[i], tlb[i].sets + 1, 1, 12);
		xr_stack_geometry(&s, 256);
		xr_stack_again(&s, lab.point, lab.n);
		const size_t best = xr_stack_best(&s, &p, &p_capacity);
		assert_true(best < s.n && p > 0.7);
		assert_int_equal(xr_stack_array(&s.h[best])->ways, tlb[i].ways);
		assert_int_equal(xr_stack_array(&s.h[best])->sets, tlb[i].sets);
		xr_arena_release(&lab.arena);
	}
}

static void every_policy_and_number_of_ways_is_found(void **state)
{
	(void)state;
	static const unsigned ways[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 16};
	for (int policy = 0; policy < XR_N_POLICIES; policy++)
		for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
			if (xr_policy_takes_ways(policy, ways[i]))
				check_array(&(struct xr_conflict_array){.sets = 32, .ways = ways[i], .policy = policy},
				            i + 1);
	check_array(&(struct xr_conflict_array){.sets = 64, .ways = 4}, 5);
	check_array(&(struct xr_conflict_array){.sets = 16, .ways = 8, .policy = XR_PLRU}, 6);
}

static void what_no_array_makes_is_none_of_these(void **state)
{
	(void)state;
	struct lab lab;
	struct xr_stack s = {.stride = UNITS};
	lab_init(&lab, 3);
	for (unsigned count = 1; count <= 20; count++) /* up and down again: others come and go */
		see(&lab, put(&lab, 0, false, UNITS, count), 20, count > 6 ? (count * 7 % 5) * 3 : 0, 0.002);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	assert_int_equal(xr_belief_best(&s.belief, NULL), s.n);
	xr_arena_release(&lab.arena);
}

static void every_curve_counts_against_none_of_these(void **state)
{
	(void)state;
	struct lab lab;
	struct xr_conflict c = {0};
	lab_init(&lab, 3);
	for (unsigned count = 1; count <= 8; count++) {
		see(&lab, put(&lab, 0, false, UNITS, count), 20, count > 4 ? 5 : 0, 0.01);
		see(&lab, put(&lab, 1, true, UNITS, count), 20, count > 6 ? 9 : 0, 0.01);
	}
	xr_conflict_init(&c, &lab.arena, lab.point, lab.n);
	const double lean = xr_conflict_none(&c, XR_CONFLICT_LEAN), full = xr_conflict_none(&c, XR_CONFLICT_FULL);
	assert_true(lean != 0 && full != 0);
	assert_true(fabs(xr_conflict_none(&c, XR_CONFLICT_ALL) - lean - full) < 1e-9);
	xr_arena_release(&lab.arena);
}

static void a_flat_curve_fits_everything(void **state)
{
	(void)state;
	struct lab lab;
	struct xr_stack s = {.stride = UNITS};
	lab_init(&lab, 4);
	for (unsigned count = 1; count <= 24; count++)
		see(&lab, put(&lab, 0, false, UNITS, count), 20, 0, 0.01);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	const size_t best = xr_belief_best(&s.belief, NULL);
	assert_true(best < s.n && xr_stack_capacity(&s, best) >= 12);
	xr_arena_release(&lab.arena);
}

static void thoughts_end_when_the_watch_is_over(void **state)
{
	(void)state;
	const struct xr_conflict_array a = {.sets = 32, .ways = 8};
	const volatile int enough = 1;
	const struct xr_watch over = {.interrupt = &enough};
	struct lab lab;
	struct xr_stack s = {.stride = UNITS, .may_decode = true, .c.watch = &over};
	lab_init(&lab, 3);
	ask_all(&lab, &a, UNITS, 0, 12);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	assert_int_equal(xr_belief_best(&s.belief, NULL), s.n); /* nothing was thought of, so it is none of these */
	assert_null(s.c.known);                                 /* and no set was counted */
	assert_true(xr_stack_tells(&s, &lab.point[0]) == 0);
	xr_arena_release(&lab.arena);
}

/* Pages of one set, each of them `times` in a lap of any order: as many misses as an array has that is visited so. */
static void lines_that_come_several_times_a_lap_are_drawn(void **state)
{
	(void)state;
	enum { LINES = 24, WAYS = 16, LAPS = 400 };
	for (unsigned times = 1; times <= 8; times *= 2) {
		struct xr_conflict_model m = {.first = {.sets = 1, .ways = WAYS, .policy = XR_LRU}};
		struct xr_conflict c = {0};
		struct lab lab;
		struct xr_array array;
		struct xr_victim victim;
		uint64_t place[8 * LINES];
		const unsigned n = times * LINES;
		double misses = 0;
		lab_init(&lab, times);
		c.arena = &lab.arena;
		c.misses = lab.misses;
		xr_array_init(&array, 1, WAYS, XR_LRU, &lab.rng);
		for (unsigned i = 0; i < n; i++)
			place[i] = i % LINES;
		for (unsigned lap = 0; lap < LAPS; lap++)
			for (unsigned i = 0; i < n; i++) {
				const unsigned j = i + (unsigned)xr_rng_below(&lab.rng, n - i);
				const uint64_t now = place[j];
				place[j] = place[i];
				place[i] = now;
				uint64_t *line = xr_array_find(&array, 0, now);
				misses += !line;
				line ? xr_array_use(&array, 0, line) : xr_array_put(&array, 0, now, &victim);
			}
		const struct xr_conflict_point p = {.count = LINES, .place = place, .n = n};
		const double share = xr_conflict_share(&c, &m, &p, 0), seen = misses / n / LAPS;
		if (fabs(share - seen) > 0.015)
			fail_msg("%u times: %.3f of the visits miss, not %.3f", times, seen, share);
		xr_array_release(&array);
		xr_arena_release(&lab.arena);
	}
}

/* The second lowest of four looks is long where three of them are, the third lowest of eight where six are. */
static void so_many_long_looks_mislead(void **state)
{
	(void)state;
	const struct xr_conflict c = {.noise.tail = 0.5};
	assert_true(fabs(xr_conflict_misled(&c, 4) - 5 / 16.0) < 1e-9);
	assert_true(fabs(xr_conflict_misled(&c, 8) - 37 / 256.0) < 1e-9);
	assert_true(xr_conflict_misled(&c, 0) == 1);
}

/* A TLB of 20 entries that decoded code does without: lean rows show how much of that is kept, full ones the TLB. */
static void lean(struct lab *lab, unsigned kept)
{
	for (unsigned count = 2; count <= 64; count++) {
		struct xr_conflict_point *p = put(lab, 0, false, 1, count);
		see(lab, p, 20, 8 * xr_misses_share(lab->misses, XR_LRU, kept, count), 0.01);
		p = put(lab, 1, true, 1, count);
		see(lab, p, 25, 8 * xr_misses_share(lab->misses, XR_LRU, 20, count), 0.01);
	}
}

static void full_blocks_show_what_decoded_code_hides(void **state)
{
	(void)state;
	for (unsigned kept = 20; kept <= 40; kept += 20) {
		struct lab lab;
		struct xr_stack s = {.stride = 1, .may_hide = true};
		lab_init(&lab, kept);
		lean(&lab, kept);
		xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
		const size_t best = xr_belief_best(&s.belief, NULL);
		assert_true(best < s.n);
		assert_int_equal(xr_stack_capacity(&s, best), 20);
		assert_int_equal(s.h[best].hidden, kept > 20); /* where both say the same, nothing is hidden */
		xr_arena_release(&lab.arena);
	}
}

/* ---- what is seen on real cores ---- */

struct curve {
	unsigned count;
	double excess;
};

static void put_curve(struct lab *lab, bool full, uint64_t stride, double base, const struct curve *c, size_t n)
{
	for (size_t i = 0; i < n; i++)
		see(lab, put(lab, full, full, stride, c[i].count), base, c[i].excess, 0.01);
}
#define CURVE(lab, full, stride, base, c) put_curve(lab, full, stride, base, c, sizeof c / sizeof *c)

/* Zen 4: 8 ways of 4096 bytes, behind decoded code that has 12 entries in a set: a lean block takes one, a full
 * one three. */
static void decoded_code_does_not_pass_for_the_cache(void **state)
{
	(void)state;
	static const struct curve lean[] = {{2, -0.07}, {3, -0.14}, {4, 0.1},    {5, 0},      {6, -0.06}, {7, 0.07},
	                                    {8, 0.01},  {9, 0.04},  {10, -0.04}, {11, -0.07}, {12, 0},    {13, 0.92},
	                                    {14, 2.19}, {15, 3.23}, {16, 3.98},  {18, 5.4},   {20, 6.53}};
	static const struct curve full[] = {{2, 0.12},   {3, 0.13},   {4, -0.32},  {5, 3.84},   {6, 4.35},
	                                    {7, 4.93},   {8, 5.16},   {9, 7.66},   {10, 8.61},  {11, 9.82},
	                                    {12, 10.65}, {13, 11.23}, {14, 11.23}, {15, 11.79}, {16, 12.22},
	                                    {18, 12.93}, {20, 13.77}};
	struct lab lab;
	struct xr_stack s = {.stride = UNITS, .may_decode = true};
	lab_init(&lab, 7);
	CURVE(&lab, false, UNITS, 18.5, lean);
	CURVE(&lab, true, UNITS, 23.4, full);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	const size_t best = xr_belief_best(&s.belief, NULL);
	assert_true(best < s.n);
	assert_true(s.h[best].decoded);
	assert_int_equal(xr_stack_capacity(&s, best), 8);
	assert_int_equal(s.h[best].model.first.ways, 4);
	assert_in_range(s.h[best].model.lean_ways, 12, 13);
	xr_arena_release(&lab.arena);
}

/* Zen 4: 64 entries, full; pages of unforeseen jumps. */
static void a_tlb_of_64_entries_is_no_other(void **state)
{
	(void)state;
	static const struct curve pages[] = {
		{8, -0.3}, {16, -0.2}, {24, 0},    {33, 0},     {42, -0.05}, {47, 0},     {52, -0.1},  {56, 0},
		{58, 0},   {62, 0},    {63, 0.02}, {64, -0.08}, {65, 0.45},  {66, 0.59},  {67, 0.81},  {68, 1.1},
		{70, 1.6}, {73, 1.95}, {83, 2.91}, {93, 3.61},  {104, 3.99}, {117, 4.44}, {131, 4.66}, {147, 5.12}};
	struct lab lab;
	struct xr_stack s = {.stride = 1};
	double p, p_capacity;
	lab_init(&lab, 9);
	CURVE(&lab, false, 1, 18.6, pages);
	xr_stack_begin(&s, &lab.arena, lab.point, lab.n);
	xr_stack_geometry(&s, 147);
	const size_t best = xr_stack_best(&s, &p, &p_capacity);
	assert_true(best < s.n);
	assert_int_equal(xr_stack_capacity(&s, best), 64);
	xr_arena_release(&lab.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_misses_while_it_fits),
		cmocka_unit_test(the_first_set_that_overflows_counts),
		cmocka_unit_test(every_policy_and_number_of_ways_is_found),
		cmocka_unit_test(lines_that_come_several_times_a_lap_are_drawn),
		cmocka_unit_test(so_many_long_looks_mislead),
		cmocka_unit_test(full_blocks_show_what_decoded_code_hides),
		cmocka_unit_test(a_folded_index_shows_at_one_more_than_its_sets),
		cmocka_unit_test(what_no_array_makes_is_none_of_these),
		cmocka_unit_test(every_curve_counts_against_none_of_these),
		cmocka_unit_test(a_flat_curve_fits_everything),
		cmocka_unit_test(thoughts_end_when_the_watch_is_over),
		cmocka_unit_test(decoded_code_does_not_pass_for_the_cache),
		cmocka_unit_test(a_tlb_of_64_entries_is_no_other),
	};
	return cmocka_run_group_tests_name("infer stack", tests, NULL, NULL);
}
