/* SPDX-License-Identifier: MIT */
/* The port model: predicts as a bottleneck does, and is found again from the times of pairs alone. */
#include "method/ports.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { PAIRS = XR_PORT_OPS * (XR_PORT_OPS - 1) / 2 };

/* A published port map (Ice Lake): add p0156, shift p06, mul p1, load p23, fadd p01, logic p015, shuffle p5. */
static const struct xr_ports ice_lake = {
	.op = {{.ports = 0x63},
               {.ports = 0x41},
               {.ports = 0x02},
               {.ports = 0x0c},
               {.ports = 0x03},
               {.ports = 0x23},
               {.ports = 0x20}},
	.n_ops = 7,
	.width = 5,
};

static struct xr_ports with_times(struct xr_ports m)
{
	for (int i = 0; i < m.n_ops; i++) {
		m.op[i].cycles = 1.0 / xr_port_count(m.op[i].ports);
		m.op[i].slots = 1;
	}
	return m;
}

/* All pairs at equal time, as a core of this model would take them; noise is relative. */
static size_t time_pairs(const struct xr_ports *truth, struct xr_mix *mix, double noise, struct xr_rng *rng)
{
	size_t n = 0;
	for (int i = 0; i < truth->n_ops; i++)
		for (int j = 0; j < i; j++) {
			struct xr_mix m = {
				.n = 2, .op = {j, i}, .count = {12 / truth->op[j].cycles, 12 / truth->op[i].cycles}};
			m.cycles = xr_ports_predict(truth, &m) * (1 + noise * (xr_rng_unit(rng) - 0.3));
			mix[n++] = m;
		}
	return n;
}

static bool same_sharing(const struct xr_ports *a, const struct xr_ports *b)
{
	for (int i = 0; i < a->n_ops; i++)
		for (int j = 0; j <= i; j++)
			if (xr_port_count(a->op[i].ports & a->op[j].ports) !=
			    xr_port_count(b->op[i].ports & b->op[j].ports))
				return false;
	return true;
}

static void predicts_the_worst_bottleneck(void **state)
{
	struct xr_ports m = with_times(ice_lake);
	struct xr_mix alone = {.n = 1, .op = {0}, .count = {8}};
	struct xr_mix pair = {.n = 2, .op = {0, 4}, .count = {8, 4}};
	struct xr_mix apart = {.n = 2, .op = {3, 4}, .count = {4, 4}};
	struct xr_mix front = {.n = 2, .op = {0, 3}, .count = {8, 4}};
	(void)state;
	assert_true(fabs(xr_ports_predict(&m, &alone) - 2) < 1e-9);
	assert_true(fabs(xr_ports_predict(&m, &pair) - 3) < 1e-9);
	assert_true(fabs(xr_ports_predict(&m, &apart) - 2) < 1e-9);
	assert_true(fabs(xr_ports_predict(&m, &front) - 2.4) < 1e-9);
}

static void finds_a_published_map_again(void **state)
{
	struct xr_ports truth = with_times(ice_lake);
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct xr_rng rng = {seed};
		struct xr_mix mix[PAIRS];
		size_t n = time_pairs(&truth, mix, seed > 10 ? 0.03 : 0, &rng);
		struct xr_ports found = truth;
		xr_ports_fit(&found, mix, n, &rng);
		assert_true(same_sharing(&found, &truth));
		assert_true(xr_ports_hits(&found, mix, n, 0.06) == 1);
	}
}

static void one_bad_pair_does_not_bend_it(void **state)
{
	struct xr_ports truth = with_times(ice_lake), found = truth;
	struct xr_rng rng = {7};
	struct xr_mix mix[PAIRS];
	size_t n = time_pairs(&truth, mix, 0, &rng);
	(void)state;
	for (size_t i = 0; i < n; i++) /* add and mul: seen at 3.7 where 2.5 was expected */
		if (mix[i].op[0] == 0 && mix[i].op[1] == 2)
			mix[i].cycles *= 1.5;
	xr_ports_fit(&found, mix, n, &rng);
	for (int i = 1; i < truth.n_ops; i++)
		for (int j = 1; j <= i; j++)
			assert_int_equal(xr_port_count(found.op[i].ports & found.op[j].ports),
			                 xr_port_count(truth.op[i].ports & truth.op[j].ports));
}

static void a_slow_unit_stands_apart(void **state)
{
	struct xr_ports truth = with_times(ice_lake), found;
	struct xr_rng rng = {3};
	struct xr_mix mix[PAIRS];
	(void)state;
	truth.op[truth.n_ops++] = (struct xr_port_op){.cycles = 6, .slots = 1, .ports = 0x02, .apart = 2};
	size_t n = time_pairs(&truth, mix, 0, &rng);
	found = truth;
	xr_ports_fit(&found, mix, n, &rng);
	assert_true(xr_ports_hits(&found, mix, n, 0.03) > 0.95);
	assert_int_equal(found.op[7].apart, 2);
	assert_int_equal(xr_port_count(found.op[7].ports & found.op[2].ports), 1);
}

static void unshared_where_nothing_says_otherwise(void **state)
{
	struct xr_ports truth = {.op = {{.ports = 1}, {.ports = 2}, {.ports = 4}}, .n_ops = 3, .width = 1}, found;
	struct xr_rng rng = {1};
	struct xr_mix mix[PAIRS];
	(void)state;
	truth = with_times(truth);
	size_t n = time_pairs(&truth, mix, 0, &rng); /* the width of one hides everything */
	found = truth;
	xr_ports_fit(&found, mix, n, &rng);
	assert_true(same_sharing(&found, &truth));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(predicts_the_worst_bottleneck),         cmocka_unit_test(finds_a_published_map_again),
		cmocka_unit_test(one_bad_pair_does_not_bend_it),         cmocka_unit_test(a_slow_unit_stands_apart),
		cmocka_unit_test(unshared_where_nothing_says_otherwise),
	};
	return cmocka_run_group_tests_name("ports", tests, NULL, NULL);
}
