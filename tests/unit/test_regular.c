/* SPDX-License-Identifier: MIT */
/* Arrays with a plain index: every geometry comes out, odd ones among them. */
#include "method/regular.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { SETS_MOST = 4096 };

struct array {
	uint64_t line, sets;
	unsigned ways;
	unsigned asked;
};

/* No set gets more lines than it has ways. */
static int fits(void *self, const struct xr_rows *rows, bool *fit)
{
	static unsigned in[SETS_MOST];
	struct array *a = self;
	memset(in, 0, sizeof in);
	*fit = true;
	for (unsigned i = 0; i < rows->n + rows->more; i++) {
		const uint64_t at = i * rows->stride + (i < rows->n ? 0 : rows->delta);
		if (++in[at / a->line % a->sets] > a->ways)
			*fit = false;
	}
	a->asked++;
	return 0;
}

static struct xr_regular find(struct array *a, uint64_t unit, uint64_t *line)
{
	struct xr_regular r = {.fits = fits, .self = a, .unit = unit, .largest = 1 << 20, .room = 1 << 27, .most = 64};
	assert_int_equal(xr_regular_find(&r), 0);
	*line = 0;
	if (r.ways)
		assert_int_equal(xr_regular_line(&r, 512, line), 0);
	return r;
}

static void every_geometry_comes_out(void **state)
{
	(void)state;
	for (unsigned ways = 1; ways <= 20; ways++)
		for (uint64_t sets = 2; sets <= 1024; sets *= 2)
			for (uint64_t line = 16; line <= 256; line *= 2) {
				struct array a = {.line = line, .sets = sets, .ways = ways};
				uint64_t found;
				struct xr_regular r = find(&a, 16, &found);
				assert_int_equal(r.ways, ways);
				assert_int_equal(r.way, sets * line);
				assert_int_equal(found, line);
				assert_true(a.asked < 400);
			}
}

static void sets_need_be_no_power_of_two(void **state)
{
	static const uint64_t sets[] = {3, 6, 7, 48, 96, 192, 384, 5, 40, 160};
	(void)state;
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
		for (unsigned ways = 1; ways <= 6; ways++) {
			struct array a = {.line = 64, .sets = sets[i], .ways = ways};
			uint64_t line;
			struct xr_regular r = find(&a, 64, &line);
			assert_int_equal(r.ways, ways);
			assert_int_equal(r.way, sets[i] * 64);
		}
}

static void one_set_of_many_ways(void **state)
{
	(void)state;
	for (unsigned ways = 1; ways <= 64; ways++) { /* a TLB: its unit is a page */
		struct array a = {.line = 4096, .sets = 1, .ways = ways};
		struct xr_regular r = {
			.fits = fits, .self = &a, .unit = 4096, .largest = 64 * 4096, .room = 1 << 27, .most = 64};
		assert_int_equal(xr_regular_find(&r), 0);
		assert_int_equal(r.ways, ways);
		assert_int_equal(r.way, 4096);
	}
}

/* ---- a level behind another ---- */

enum { WAYS_MOST = 40 };

/* LRU: the first is the last used; 0: none. */
struct set {
	uint64_t line[WAYS_MOST];
};

struct pair {
	uint64_t sets[2];
	unsigned ways[2];
	bool hands_on; /* the second level gets what the first evicts, and gives back what it needs */
	struct set *set[2];
};

/* Takes the line out, or with `ways` puts it first; returns what had to go. *there: it was in it. */
static uint64_t use(struct set *s, unsigned ways, uint64_t line, bool stays, bool *there)
{
	unsigned at = 0;
	while (at < ways && s->line[at] != line)
		at++;
	*there = at < ways;
	uint64_t gone = *there || !stays ? 0 : s->line[ways - 1];
	if (stays) {
		for (at = *there ? at : ways - 1; at; at--)
			s->line[at] = s->line[at - 1];
		s->line[0] = line;
	} else if (*there) {
		s->line[at] = 0;
	}
	return gone;
}

/* Does one of the two answer? */
static bool answers(struct pair *p, uint64_t line)
{
	struct set *second = &p->set[1][line % p->sets[1]];
	bool first_has, second_has = false, none;
	const uint64_t gone = use(&p->set[0][line % p->sets[0]], p->ways[0], line, true, &first_has);
	if (!first_has)
		use(second, p->ways[1], line, !p->hands_on, &second_has);
	if (gone && p->hands_on)
		use(&p->set[1][gone % p->sets[1]], p->ways[1], gone, true, &none);
	return first_has || second_has;
}

static int pair_fits(void *self, const struct xr_rows *rows, bool *fit)
{
	struct pair *p = self;
	const unsigned groups = rows->groups ? rows->groups : 1;
	for (int i = 0; i < 2; i++)
		memset(p->set[i], 0, p->sets[i] * sizeof *p->set[i]);
	for (int lap = 0; lap < 4; lap++) {
		*fit = true;
		for (unsigned i = 0; i < (rows->n + rows->more) * groups; i++) {
			const unsigned line = i / groups;
			*fit &= answers(p, 1 + (line * rows->stride + (line < rows->n ? 0 : rows->delta) +
			                        i % groups * rows->apart) /
			                                   64);
		}
	}
	return 0;
}

static void a_level_before_hides_nothing(void **state)
{
	static struct set sets[2][SETS_MOST];
	static const struct {
		uint64_t sets[2];
		unsigned ways[2];
	} of[] = {{{32, 512}, {8, 6}}, {{64, 1024}, {4, 2}}, {{64, 1024}, {3, 1}},
	          {{64, 256}, {3, 6}}, {{64, 512}, {8, 8}},  {{16, 512}, {32, 8}}};
	(void)state;
	for (size_t i = 0; i < sizeof of / sizeof *of; i++)
		for (int hands_on = 0; hands_on < 2; hands_on++) {
			struct pair p = {.sets = {of[i].sets[0], of[i].sets[1]},
			                 .ways = {of[i].ways[0], of[i].ways[1]},
			                 .hands_on = hands_on,
			                 .set = {sets[0], sets[1]}};
			struct xr_regular r = {.fits = pair_fits,
			                       .self = &p,
			                       .unit = 64,
			                       .largest = 1 << 20,
			                       .room = 1 << 27,
			                       .most = 64};
			assert_int_equal(xr_regular_find_behind(&r, p.sets[0] * 64), 0);
			if (hands_on && !r.ways)
				continue;
			assert_int_equal(r.ways, p.ways[1]);
			assert_int_equal(r.way, p.sets[1] * 64);
		}
}

static void more_than_can_be_tried_is_nothing(void **state)
{
	struct array a = {.line = 64, .sets = 16, .ways = 100};
	uint64_t line;
	(void)state;
	assert_int_equal(find(&a, 64, &line).ways, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_geometry_comes_out),
		cmocka_unit_test(sets_need_be_no_power_of_two),
		cmocka_unit_test(one_set_of_many_ways),
		cmocka_unit_test(a_level_before_hides_nothing),
		cmocka_unit_test(more_than_can_be_tried_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
