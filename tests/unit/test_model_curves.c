/* SPDX-License-Identifier: MIT */
/* Simulated cores against curves of the real ones (tests/data/real): with the habits that a core has, the model
 * bends where the core bends, and as far. */
#include "../lib/curves.h"
#include "../lib/start.h"

#include "target/model/model.h"
#include "target/open.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PLACES_MAX = 9000, PAGE = 4096 };

/* ---- asking as the curves were made ---- */

static double chase(struct xr_target *t, enum xr_backing backing, const struct xr_span *span, size_t n)
{
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){1, UINT64_C(64) << 20, backing}, span, n, 11);
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

/* n lines at random of 2048 pages. */
static double random_lines(struct xr_target *t, enum xr_backing backing, double n)
{
	static struct xr_span span[PLACES_MAX];
	static bool taken[2048 * 64];
	struct xr_rng rng = {3};
	size_t k = 0;
	memset(taken, 0, sizeof taken);
	while (k < (size_t)n) {
		const uint64_t line = xr_rng_below(&rng, 2048 * 64);
		if (!taken[line])
			span[k++] = (struct xr_span){line * 64, 0, 1};
		taken[line] = true;
	}
	return chase(t, backing, span, k);
}

/* One line of each of n pages in a row, another one from page to page. */
static double pages(struct xr_target *t, double n)
{
	static struct xr_span span[PLACES_MAX];
	for (size_t i = 0; i < (size_t)n; i++)
		span[i] = (struct xr_span){i * PAGE + i * 7 % 64 * 64, 0, 1};
	return chase(t, XR_SMALL, span, (size_t)n);
}

static double jumps(struct xr_target *t, const struct xr_span *span, size_t n)
{
	struct xr_spec spec = {.kind = XR_WALK};
	spec.walk = (struct xr_walk_spec){
		.kind = XR_PATTERN, .region = 1, .bytes = UINT64_C(64) << 20, .span = span, .n_spans = n, .seed = 5};
	struct xr_reading r = time_one(t, &spec);
	assert_int_equal(r.status, XR_READ_OK);
	return r.cycles;
}

static double code_pages(struct xr_target *t, double n, uint64_t apart)
{
	static struct xr_span span[PLACES_MAX];
	for (size_t i = 0; i < (size_t)n; i++)
		span[i] = (struct xr_span){i * apart * PAGE + i * 7 % 64 * 64, 0, 1};
	return jumps(t, span, (size_t)n);
}

/* n lines a page apart, in each of `sets` sets in a row. */
static double code_lines(struct xr_target *t, double n, uint64_t sets)
{
	struct xr_span span[64];
	for (uint64_t i = 0; i < sets; i++)
		span[i] = (struct xr_span){i * 64, PAGE, (uint32_t)n};
	return jumps(t, span, (size_t)sets);
}

/* ---- the cores ---- */

static void close_to(const char *what, const struct curve *c, size_t i, double got, double off)
{
	if (getenv("XR_SHOW"))
		printf("# %s %g: %.2f, simulated %.2f\n", what, c->x[i], c->y[i], got);
	if (!(fabs(got / c->y[i] - 1) <= off))
		fail_msg("%s, %g: %g, simulated %g", what, c->x[i], c->y[i], got);
}

/* The machine file as it is, but for prefetchers: in a random order a few steps are alike, and what those fetch
 * would bend the curve where the real one has none of it. */
static struct xr_target *zen3(void)
{
	struct xr_machine m = quiet_machine("machines/cores/zen3.ini");
	m.prefetch_stream = m.prefetch_stride = 0;
	return xr_model_open_machine(&m, 2);
}

/* First cache, first TLB, second cache by a hash that includes bits inside a page: one after the other, and no
 * edge where classes of pages would have one (128 lines of one page offset). */
static void lines_and_pages_of_data_bend_where_the_core_bends(void **state)
{
	(void)state;
	struct xr_target *t = zen3();
	struct curve c = curve_read("zen3/data_lines.csv", "lines=random_lines", "n");
	assert_true(c.n > 20);
	for (size_t i = 0; i < c.n && c.x[i] <= 5000; i++)
		close_to("random lines", &c, i, random_lines(t, XR_SMALL, c.x[i]), 0.12);
	c = curve_read("zen3/data_pages.csv", "stride_pages=1,memory=small", "pages");
	assert_true(c.n > 20);
	for (size_t i = 0; i < c.n && c.x[i] <= 2048; i++)
		if (c.x[i] < 65 || c.x[i] > 70) /* just behind the edge a real TLB does not miss every time */
			close_to("pages", &c, i, pages(t, c.x[i]), 0.15);
	xr_target_free(t);
}

/* Foreseen jumps show the first cache of code, its TLBs and the first level of jump targets. */
static void foreseen_code_bends_where_the_core_bends(void **state)
{
	(void)state;
	struct xr_target *t = zen3();
	struct curve c = curve_read("zen3/code_lines_foreseen.csv", "sets=16,filler_bytes=0", "lines_per_set");
	assert_true(c.n > 20);
	for (size_t i = 0; i < c.n && c.x[i] <= 32; i++)
		close_to("16 sets of lines", &c, i, code_lines(t, c.x[i], 16), 0.2);
	c = curve_read("zen3/code_lines_foreseen.csv", "sets=64,filler_bytes=0", "lines_per_set");
	for (size_t i = 0; i < c.n && c.x[i] <= 24; i++)
		close_to("64 sets of lines", &c, i, code_lines(t, c.x[i], 64), 0.4);
	c = curve_read("zen3/code_pages_foreseen.csv", "stride_pages=1", "pages");
	for (size_t i = 0; i < c.n && c.x[i] <= 303; i++)
		if (c.x[i] > 79 || c.x[i] < 65)
			close_to("pages", &c, i, code_pages(t, c.x[i], 1), c.x[i] < 65 ? 0.4 : 0.1);
	xr_target_free(t);
}

/* Another core, on huge pages; its curves are in cycles of a clock that is not its own: 6.55 of them are the 5 of
 * its first cache. */
static void a_second_core_bends_elsewhere(void **state)
{
	(void)state;
	struct xr_machine m = quiet_machine("machines/cores/golden-cove.ini");
	m.prefetch_adjacent = m.prefetch_stream = m.prefetch_stride = 0;
	struct xr_target *t = xr_model_open_machine(&m, 2);
	struct curve c = curve_read("emerald_rapids/data_lines.csv", "lines=random_lines", "n");
	assert_true(c.n > 20);
	for (size_t i = 0; i < c.n && c.x[i] < PLACES_MAX; i++) {
		c.y[i] *= 5 / 6.55;
		close_to("random lines", &c, i, random_lines(t, XR_HUGE, c.x[i]), 0.2);
	}
	xr_target_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_and_pages_of_data_bend_where_the_core_bends),
		cmocka_unit_test(foreseen_code_bends_where_the_core_bends),
		cmocka_unit_test(a_second_core_bends_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
