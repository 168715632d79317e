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
		cmocka_unit_test(more_than_can_be_tried_is_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
