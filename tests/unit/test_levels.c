/* SPDX-License-Identifier: MIT */
/* Levels from staircases: made up ones, and some as a machine beside busy neighbours gave them. */
#include "method/hierarchy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static struct xr_staircase stairs_of(const double *cycles, size_t n, double jitter, struct xr_rng *rng)
{
	struct xr_staircase s = {.n = n, .least = 2, .noise = jitter};

	for (size_t i = 0; i < n; i++) {
		s.pages[i] = (double)(i + 1);
		s.cycles[i] = cycles[i] + jitter * (xr_rng_unit(rng) - 0.5);
	}
	return s;
}

static void levels_are_the_steps_that_staircases_agree_on(void **state)
{
	static const double one[] = {5, 5, 5, 9, 14, 14, 14, 14, 40, 70, 70, 70, 70},
			    two[] = {5, 5, 5, 5, 14, 14, 14, 70, 70, 70, 70, 70, 70};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;

	(void)state;
	for (int i = 0; i < 50; i++) {
		struct xr_staircase s[3] = {stairs_of(one, 13, 0.2, &rng), stairs_of(two, 13, 0.2, &rng), {.n = 0}};
		static const double far[] = {14, 20, 50, 70, 70, 180, 270, 275, 280};

		s[2] = stairs_of(far, 9, 0.2, &rng);
		s[2].far = true;
		assert_int_equal(xr_levels_from(s, 3, 5, level, &unsettled), 4);
		assert_true(level[1].latency > 13.5 && level[1].latency < 14.5);
		assert_true(level[2].latency > 69 && level[2].latency < 71);
		assert_true(level[3].latency > 260 && level[3].latency < 290);
	}
}

static void a_page_between_levels_is_no_level(void **state)
{
	static const double torn[] = {5, 5, 5, 9.5, 9.5, 9.5, 14, 14, 14, 14},
			    plain[] = {5, 5, 5, 5, 14, 14, 14, 14, 14, 14};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;
	struct xr_staircase s[3] = {stairs_of(torn, 10, 0, &rng), stairs_of(plain, 10, 0, &rng),
	                            stairs_of(plain, 10, 0, &rng)};

	(void)state;
	assert_int_equal(xr_levels_from(s, 3, 5, level, &unsettled), 2);
}

/* A far level takes longer from some pages than from others: no staircase has been on both, so it is one. */
static void what_no_staircase_tells_apart_is_one_level(void **state)
{
	static const double quick[] = {5, 5, 5, 14, 14, 14, 79, 79, 79}, slow[] = {5, 5, 5, 14, 14, 14, 103, 103, 103},
			    both[] = {5, 5, 14, 14, 14, 79, 79, 79, 79, 103, 103, 103, 103};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;
	struct xr_staircase s[2] = {stairs_of(quick, 9, 0, &rng), stairs_of(slow, 9, 0, &rng)},
			    t[2] = {stairs_of(both, 13, 0, &rng), stairs_of(both, 13, 0, &rng)};

	(void)state;
	s[0].range = t[0].range = 1; /* a machine with neighbours */
	assert_int_equal(xr_levels_from(s, 2, 5, level, &unsettled), 3);
	assert_int_equal(level[2].witnesses, 2);
	assert_int_equal(xr_levels_from(t, 2, 5, level, &unsettled), 4);
}

static void flat_memory_is_one_level(void **state)
{
	static const double flat[] = {2, 2, 2, 2, 2, 2};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;
	struct xr_staircase s[2] = {stairs_of(flat, 6, 0, &rng), stairs_of(flat, 6, 0, &rng)};

	(void)state;
	assert_int_equal(xr_levels_from(s, 2, 2, level, &unsettled), 1);
}

/* Staircases and walks of one machine with a first level of 5 cycles, a second of 14 and a third of 75 to 105, which
 * others use, too: as they were taken, with the noise they came with. */
struct taken {
	double noise, range;
	size_t least;
	bool far, disturbed;
	uint64_t block;
	double at[2 * XR_STAIRS_MAX]; /* pages, cycles, … */
};

static const struct taken slope[] = {
	{.noise = 0.0136,
         .range = 0.0605,
         .least = 4,
         .block = 1024,
         .at = {0.25,  4.98,  0.5,   4.901, 0.75,  4.98,  1,     4.931, 1.25,  4.935, 1.5,   5.024, 1.75,  5.206, 2,
                5.163, 2.5,   6.016, 3,     5.089, 3.5,   5.201, 4.25,  5.162, 5.25,  5.024, 6.25,  5.109, 7.5,   5.1,
                9.25,  8.567, 11,    15.08, 13.25, 15.48, 16,    15.26, 19.25, 14.97, 23,    17.49, 27.5,  15.59}},
	{.noise = 0, .range = 0, .least = 2, .far = true, .at = {64,    13.96, 128,   14.07, 181,       15.66, 256,
                                                                 124.6, 362,   123.2, 512,   250.3,     724,   338.1,
                                                                 1024,  371.2, 8192,  399.5, 1.638e+04, 424.3}},
	{.noise = 0.236,
         .range = 1.18,
         .least = 2,
         .at = {1,   5.04,  2,   4.905, 3,    5.145, 4,    5.106, 6,    5.038, 10,   4.946, 12,   9.32,
                13,  12.29, 15,  14.82, 22,   13.74, 34,   13.99, 51,   14.78, 76,   15.21, 115,  14.9,
                172, 14.79, 212, 14.84, 235,  14.84, 259,  35.47, 287,  51.95, 318,  88.27, 389,  76.59,
                583, 78.54, 875, 78.98, 1313, 77.45, 1970, 90.3,  2955, 119.4, 4432, 98.84, 6648, 99.27}},
	{.noise = 0.0164,
         .range = 0.134,
         .least = 2,
         .at = {1,   4.952, 2,   4.683, 3,   5.113, 4,   5.061, 6,   4.964, 10,  5.197, 12,   9.747, 13,   11.48,
                15,  13.36, 22,  13.88, 34,  15.99, 51,  15.08, 76,  14.95, 115, 14.85, 172,  14.97, 259,  15.1,
                287, 44.72, 318, 59.2,  352, 79.97, 389, 105,   583, 96.01, 875, 88.16, 1313, 93.28, 1970, 98.41}},
};

static const struct taken wavers[] = {
	{.noise = 0.00031,
         .range = 0.907,
         .least = 4,
         .block = 1024,
         .at = {0.25, 4.991, 0.5,   4.968, 0.75,  4.952, 1,     4.987, 1.25,  5.006, 1.5,  5.185, 1.75, 5.107, 2,
                5.24, 2.5,   5.218, 3,     5.246, 3.5,   5.284, 4.25,  5.234, 5.25,  5.27, 6.25,  5.18, 7.5,   5.555,
                9.25, 7.502, 11,    14.44, 13.25, 14.85, 16,    14.66, 19.25, 14.4,  23,   14.79, 27.5, 15.26}},
	{.noise = 0, .range = 0, .least = 2, .far = true, .at = {64,   13.9,  128,  16.1,  181,       38.49,
                                                                 256,  72.47, 362,  205,   512,       245.3,
                                                                 1024, 258.8, 1327, 408,   1722,      375.7,
                                                                 2896, 423.9, 8192, 469.4, 1.638e+04, 392.4}},
	{.noise = 0.0452,
         .range = 0.139,
         .least = 2,
         .at = {1,   5.057, 2,   4.785, 3,   5.111, 4,   5.194, 6,   5.034, 10,   4.949, 12,   9.153,
                13,  12.61, 15,  13.03, 22,  15.02, 34,  14.02, 51,  14.01, 76,   14.82, 115,  13.99,
                141, 15.06, 156, 16,    172, 22.2,  191, 20.49, 212, 31.94, 235,  21.6,  259,  45.26,
                287, 38.45, 318, 59.05, 389, 70.36, 583, 84.2,  875, 91.21, 1313, 84.44, 1970, 77.46}},
	{.noise = 0.0512,
         .range = 0.278,
         .least = 2,
         .at = {1,   4.913, 2,   4.682, 3,   5.111, 4,   5.025, 6,   5.03,  10,   5.25,  12,   9.607, 13,  11.4,
                15,  14.02, 22,  13.98, 34,  16.25, 51,  14.03, 76,  14.91, 115,  13.99, 172,  13.93, 259, 13.96,
                318, 14.89, 352, 55.08, 389, 83.66, 583, 88.8,  875, 87.71, 1313, 97.86, 1970, 103.6}},
};

static const struct taken crowded[] = {
	{.noise = 0.128,
         .range = 0.179,
         .least = 4,
         .block = 1024,
         .at = {0.25,  4.99,  0.5,   5.078, 0.75,  5.162, 1,     5.136, 1.25,  5.123, 1.5,   5.145, 1.75,  5.297, 2,
                5.167, 2.5,   5.087, 3,     5.222, 3.5,   5.402, 4.25,  5.018, 5.25,  5.243, 6.25,  4.855, 7.5,   4.978,
                9.25,  8.983, 11,    16.95, 13.25, 16.03, 16,    16.68, 19.25, 16.41, 23,    17.05, 27.5,  15.91}},
	{.noise = 0, .range = 0, .least = 2, .far = true, .at = {64,        17.56, 128,       17.04, 181,  16.97,
                                                                 256,       32.89, 362,       85.01, 512,  169.9,
                                                                 724,       229.7, 1024,      351.8, 8192, 343.4,
                                                                 1.158e+04, 439.9, 1.638e+04, 413.5}},
	{.noise = 0.112,
         .range = 0.174,
         .least = 2,
         .disturbed = true,
         .at = {1,     4.964, 2,     4.601, 3,     4.234, 4,     4.396, 6,     4.906, 10,    6.077, 12,
                10.99, 13,    13.68, 15,    14.6,  22,    15.72, 34,    15.74, 51,    15,    76,    14.99,
                115,   14.48, 172,   14.62, 259,   14.51, 318,   14.72, 352,   14.02, 389,   22.03, 583,
                84.04, 875,   83.12, 1313,  102.3, 1970,  80.91, 2955,  93.28, 4432,  100.2, 6648,  86.57}},
	{.noise = 0.0364,
         .range = 0.214,
         .least = 2,
         .at = {1,   5.025, 2,   5.027, 3,   5.146, 4,   5.079, 6,   5.066, 10,   5.836, 12,   11.21,
                13,  12.94, 15,  14.32, 22,  14.32, 34,  15.42, 51,  14.54, 76,   16.8,  115,  15.12,
                172, 15.43, 259, 15.52, 389, 13.73, 583, 83.97, 875, 84.28, 1313, 84.56, 1970, 84.42}},
};

static size_t levels_of(const struct taken *taken, size_t n, struct xr_level *level, struct xr_unsettled *unsettled)
{
	struct xr_staircase s[8];

	for (size_t k = 0; k < n; k++) {
		size_t i = 0;

		s[k] = (struct xr_staircase){.noise = taken[k].noise,
		                             .range = taken[k].range,
		                             .least = taken[k].least,
		                             .far = taken[k].far,
		                             .block = taken[k].block,
		                             .disturbed = taken[k].disturbed};
		for (; i < XR_STAIRS_MAX && taken[k].at[2 * i] > 0; i++) {
			s[k].pages[i] = taken[k].at[2 * i];
			s[k].cycles[i] = taken[k].at[2 * i + 1];
		}
		s[k].n = i;
	}
	return xr_levels_from(s, n, 5, level, unsettled);
}

/* A walk half in one level and half in the next stays nowhere; what it shows there must not make two levels one.
 * A level that others use, too, wavers, and pages that seem to come nearer again tell by how much. */
static void neighbours_hide_no_level(void **state)
{
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;

	(void)state;
	assert_int_equal(levels_of(slope, COUNT(slope), level, &unsettled), 4);
	assert_int_equal(levels_of(wavers, COUNT(wavers), level, &unsettled), 4);
	assert_int_equal(levels_of(crowded, COUNT(crowded), level, &unsettled), 4);
	assert_true(level[1].latency > 13 && level[1].latency < 16);
	assert_true(level[2].latency > 70 && level[2].latency < 105);
}

/* Where staircases stay that is none of the levels, that is said. */
static void what_is_left_out_is_told(void **state)
{
	static const double one[] = {5, 5, 7, 7, 7, 14, 14, 14, 14, 14, 70, 70, 70, 70},
			    two[] = {5, 5, 7.3, 7.3, 7.3, 14, 14, 14, 14, 14, 70, 70, 70, 70};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;
	struct xr_staircase s[2] = {stairs_of(one, 14, 0, &rng), stairs_of(two, 14, 0, &rng)};

	(void)state;
	assert_int_equal(xr_levels_from(s, 2, 5, level, &unsettled), 3);
	assert_true(unsettled.between > 0);
}

/* A level hardly larger than the first has a step or two in each staircase, but they are the same in all. */
static void few_steps_that_repeat_are_weak(void **state)
{
	static const double one[] = {3, 3, 3, 3, 3, 8.6, 6.4, 12, 12, 110, 110, 110, 110},
			    two[] = {3, 3, 3, 3, 4.1, 8.6, 10.9, 12, 12, 110, 110, 110, 110},
			    other[] = {3, 3, 3, 3, 3, 3, 9.7, 12, 60, 110, 110, 110, 110};
	struct xr_rng rng = {3};
	struct xr_level level[XR_LEVELS_MAX];
	struct xr_unsettled unsettled;
	struct xr_staircase s[3] = {stairs_of(one, 13, 0, &rng), stairs_of(two, 13, 0, &rng),
	                            stairs_of(other, 13, 0, &rng)};

	(void)state;
	assert_int_equal(xr_levels_from(s, 3, 3, level, &unsettled), 3);
	assert_true(level[1].weak && level[1].latency == 12);
	s[0].range = 1; /* beside neighbours what is the same may be so by chance */
	assert_int_equal(xr_levels_from(s, 3, 3, level, &unsettled), 2);
}

/* Where lines leave a level by chance, one after the other, pages stay between it and the next for a while. */
static void a_level_hardly_larger_than_the_nearer_one_is_doubted(void **state)
{
	struct xr_hierarchy h = {.hit = 3,
	                         .n = 4,
	                         .level = {{.latency = 3, .items = 10},
	                                   {.latency = 20, .items = 32, .seen = 20, .witnesses = 3},
	                                   {.latency = 45, .items = 50, .seen = 20, .witnesses = 3},
	                                   {.latency = 100}}};

	(void)state;
	assert_true(!xr_hierarchy_is_narrow(&h, 1) && xr_hierarchy_is_narrow(&h, 2));
	assert_true(xr_hierarchy_sure(&h) < 0.9);
	h.level[2].items = 100;
	assert_true(!xr_hierarchy_is_narrow(&h, 2));
	h.evict.effort.samples = 5; /* means of many looks alone, which tell nothing of single lines */
	assert_true(xr_hierarchy_is_narrow(&h, 2));
	h.evict.effort.samples = 0;
	assert_true(!xr_hierarchy_is_narrow(&h, 2) && xr_hierarchy_sure(&h) > 0.9);
	h.noise = 10; /* more than half of what lies between two levels */
	assert_true(xr_hierarchy_is_narrow(&h, 1) && xr_hierarchy_sure(&h) < 0.9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(levels_are_the_steps_that_staircases_agree_on),
		cmocka_unit_test(a_page_between_levels_is_no_level),
		cmocka_unit_test(what_no_staircase_tells_apart_is_one_level),
		cmocka_unit_test(flat_memory_is_one_level),
		cmocka_unit_test(neighbours_hide_no_level),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(few_steps_that_repeat_are_weak),
		cmocka_unit_test(a_level_hardly_larger_than_the_nearer_one_is_doubted),
	};

	return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
