/* The share of misses of a set that overflows, and the number of ways read back from noisy curves of policies that the fit
 * does not know. */
#include "method/overflow.h"

#include "infer/array.h"
#include "util/rng.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

static void nothing_misses_that_fits(void **state)
{
	struct xr_overflow_memo *memo = *state;
	for (int policy = XR_OVERFLOW_LRU; policy <= XR_OVERFLOW_RANDOM; policy++)
		for (unsigned ways = 1; ways <= 24; ways++)
			for (unsigned n = 1; n <= ways; n++)
				assert_true(xr_overflow_share(memo, (enum xr_overflow)policy, ways, n) == 0.0);
}

/* One way, two lines: a visit hits only when the line comes last in one permutation and first in the next. */
static void one_way_misses_three_times_in_four(void **state)
{
	struct xr_overflow_memo *memo = *state;
	for (int policy = XR_OVERFLOW_LRU; policy <= XR_OVERFLOW_RANDOM; policy++)
		assert_true(fabs(xr_overflow_share(memo, (enum xr_overflow)policy, 1, 2) - 0.75) < 0.03);
}

static void the_share_rises_most_at_first(void **state)
{
	struct xr_overflow_memo *memo = *state;
	for (int policy = XR_OVERFLOW_LRU; policy <= XR_OVERFLOW_RANDOM; policy++)
		for (unsigned ways = 2; ways <= 16; ways += 7) {
			double first = xr_overflow_share(memo, (enum xr_overflow)policy, ways, ways + 1), last = first;
			for (unsigned n = ways + 2; n <= 2 * ways + 2; n++) {
				double now = xr_overflow_share(memo, (enum xr_overflow)policy, ways, n);
				assert_true(now > last - 0.02);
				assert_true(now - last < first + 0.02);
				last = now;
			}
			assert_true(last > 0.6);
		}
}

/* Misses of a simulated set, visited in fresh random permutations. */
static double simulated_share(enum xr_policy policy, unsigned ways, unsigned n, struct xr_rng *rng)
{
	struct xr_array set;
	unsigned order[64];
	int misses = 0;
	enum { LAPS = 400, SETTLE = 20 };

	xr_array_init(&set, 1, ways, policy, rng);
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (int lap = 0; lap < LAPS + SETTLE; lap++)
		for (unsigned i = 0; i < n; i++) {
			unsigned j = i + (unsigned)xr_rng_below(rng, n - i), line = order[j];
			order[j] = order[i];
			order[i] = line;
			uint64_t *there = xr_array_find(&set, 0, line);
			struct xr_victim victim;
			misses += lap >= SETTLE && !there;
			if (there)
				xr_array_use(&set, 0, there);
			else
				xr_array_put(&set, 0, line, &victim);
		}
	xr_array_release(&set);
	return misses / (double)(LAPS * n);
}

static void shares_are_those_of_simulated_sets(void **state)
{
	static const enum xr_policy policies[] = {XR_LRU, XR_FIFO, XR_RANDOM};
	struct xr_overflow_memo *memo = *state;
	struct xr_rng rng = {.state = 3};
	for (int policy = XR_OVERFLOW_LRU; policy <= XR_OVERFLOW_RANDOM; policy++)
		for (unsigned ways = 1; ways <= 24; ways += 3)
			for (unsigned n = ways + 1; n <= 2 * ways + 2; n += 4) {
				double share = xr_overflow_share(memo, (enum xr_overflow)policy, ways, n);
				double want = simulated_share(policies[policy], ways, n, &rng);
				assert_true(fabs(share - want) < 0.03);
				assert_true(xr_overflow_share(memo, (enum xr_overflow)policy, ways, n) == share);
			}
}

static void ways_are_read_back_from_noisy_curves(void **state)
{
	struct xr_overflow_memo *memo = *state;
	struct xr_rng rng = {.state = 7};
	int wrong = 0, tried = 0;
	for (int policy = 0; policy <= XR_SRRIP; policy++)
		for (unsigned ways = 1; ways <= 16; ways++) {
			unsigned n[40];
			double excess[40];
			size_t points = 0;
			for (unsigned k = ways > 4 ? ways - 4 : 1; k <= ways * 8 / 5 + 4; k++, points++) {
				n[points] = k;
				excess[points] = 12 * simulated_share((enum xr_policy)policy, ways, k, &rng) +
				                 0.3 * (xr_rng_unit(&rng) - 0.5);
			}
			unsigned lo = ways * 3 / 4 > 1 ? ways * 3 / 4 : 1;
			struct xr_overflow_fit fit = xr_overflow_fit(memo, n, excess, points, lo, ways * 5 / 4 + 1);
			tried++;
			wrong += fit.ways != ways;
			if (fit.ways == ways)
				assert_true(fabs(fit.penalty - 12) < 2);
		}
	assert_true(wrong * 50 <= tried);
}

static struct xr_arena arena;

static int make_memo(void **state)
{
	xr_arena_init(&arena);
	*state = xr_overflow_memo(&arena);
	return 0;
}

static int drop_arena(void **state)
{
	(void)state;
	xr_arena_release(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_misses_that_fits),
		cmocka_unit_test(one_way_misses_three_times_in_four),
		cmocka_unit_test(the_share_rises_most_at_first),
		cmocka_unit_test(shares_are_those_of_simulated_sets),
		cmocka_unit_test(ways_are_read_back_from_noisy_curves),
	};
	return cmocka_run_group_tests_name("overflow", tests, make_memo, drop_arena);
}
