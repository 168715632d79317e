/* SPDX-License-Identifier: MIT */
/* Group testing and cliques: the right answer, few questions, and honesty when answers contradict. */
#include "stat/cliques.h"
#include "stat/grouptest.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

struct crowd {
	int guilty; /* who does it */
	int questions;
	int liar; /* lie at this question; 0: never */
};

static int ask(void *self, const int *item, int n, enum xr_verdict *verdict)
{
	struct crowd *crowd = self;
	*verdict = XR_NO;
	for (int i = 0; i < n; i++)
		if (item[i] == crowd->guilty)
			*verdict = XR_YES;
	if (++crowd->questions == crowd->liar)
		*verdict = *verdict == XR_YES ? XR_NO : XR_YES;
	return 0;
}

static void finds_everyone_with_few_questions(void **state)
{
	(void)state;
	int item[255];
	for (int i = 0; i < 255; i++)
		item[i] = 1000 + i;
	for (int n = 1; n <= 255; n++)
		for (int who = 0; who < n; who++) {
			struct crowd crowd = {.guilty = 1000 + who};
			int found;
			assert_int_equal(xr_find_one(ask, &crowd, item, n, &found), 0);
			assert_int_equal(found, who);
			assert_true(crowd.questions <= 9 + 1);
		}
}

static void a_lie_is_not_an_answer(void **state)
{
	(void)state;
	int item[64], wrong = 0;
	for (int i = 0; i < 64; i++)
		item[i] = i;
	for (int who = 0; who < 64; who++)
		for (int liar = 1; liar <= 6; liar++) {
			struct crowd crowd = {.guilty = who, .liar = liar};
			int found;
			assert_int_equal(xr_find_one(ask, &crowd, item, 64, &found), 0);
			wrong += found >= 0 && found != who;
		}
	assert_int_equal(wrong, 0);
}

/* pairs of siblings at 10 ns in chips at 45 in nodes at 120, +-5 % */
static double distance_of(int i, int j, struct xr_rng *rng)
{
	double ns = i / 8 != j / 8 ? 120 : (i / 2 != j / 2 ? 45 : 10);
	return ns * (0.95 + 0.1 * xr_rng_unit(rng));
}

static void fill(double *d, int n, struct xr_rng *rng)
{
	for (int i = 0; i < n; i++)
		for (int j = i; j < n; j++)
			d[i * n + j] = d[j * n + i] = distance_of(i, j, rng);
}

static void splits_the_coarsest_first(void **state)
{
	(void)state;
	enum { N = 16 };
	double d[N * N], below, above;
	int label[N];
	struct xr_rng rng = {1};
	for (int try = 0; try < 50; try++) {
		fill(d, N, &rng);
		assert_int_equal(xr_cliques(d, N, 0.15, label, &below, &above), 2);
		assert_true(below < 60 && above > 100);
		for (int i = 0; i < N; i++)
			assert_int_equal(label[i], i / 8);
	}
}

static void alike_is_one_group(void **state)
{
	(void)state;
	enum { N = 12 };
	double d[N * N], below, above;
	int label[N];
	struct xr_rng rng = {2};
	for (int try = 0; try < 50; try++) {
		for (int i = 0; i < N; i++)
			for (int j = i; j < N; j++)
				d[i * N + j] = d[j * N + i] = 50 + 8 * xr_rng_unit(&rng);
		assert_int_equal(xr_cliques(d, N, 0.15, label, &below, &above), 1);
		d[3 * N + 7] = d[7 * N + 3] = 90; /* one disturbed pair is no group */
		assert_int_equal(xr_cliques(d, N, 0.15, label, &below, &above), 1);
	}
}

static void few_things_do_not_trip(void **state)
{
	(void)state;
	double d[4] = {0, 5, 5, 0}, below, above;
	int label[2];
	assert_int_equal(xr_cliques(d, 2, 0.15, label, &below, &above), 1);
	assert_int_equal(xr_cliques(d, 1, 0.15, label, &below, &above), 1);
	d[1] = d[2] = INFINITY;
	assert_int_equal(xr_cliques(d, 2, 0.15, label, &below, &above), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_everyone_with_few_questions),
		cmocka_unit_test(a_lie_is_not_an_answer),
		cmocka_unit_test(splits_the_coarsest_first),
		cmocka_unit_test(alike_is_one_group),
		cmocka_unit_test(few_things_do_not_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
