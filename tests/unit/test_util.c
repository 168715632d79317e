/* SPDX-License-Identifier: MIT */
#include "util/arena.h"
#include "util/error.h"
#include "util/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

static void arena_gives_zeroed_aligned_memory_that_does_not_overlap(void **state)
{
	(void)state;
	enum { N = 200 };
	struct xr_arena arena;
	unsigned char *piece[N];
	xr_arena_init(&arena);
	for (size_t i = 0; i < N; i++) {
		size_t bytes = i % 7 == 0 ? 70000 + i : i;
		piece[i] = xr_arena_alloc(&arena, bytes);
		assert_int_equal((uintptr_t)piece[i] % _Alignof(max_align_t), 0);
		for (size_t k = 0; k < bytes; k++)
			assert_int_equal(piece[i][k], 0);
		memset(piece[i], (int)i, bytes);
	}
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < (i % 7 == 0 ? 70000 + i : i); k++)
			assert_int_equal(piece[i][k], (unsigned char)i);
	xr_arena_release(&arena);
	assert_null(arena.head);
	xr_arena_release(&arena); /* an empty one too */
}

static void arena_copies_and_prints(void **state)
{
	(void)state;
	struct xr_arena arena = {0};
	assert_string_equal(xr_arena_strdup(&arena, ""), "");
	assert_string_equal(xr_arena_printf(&arena, "%d-%s", 42, "x"), "42-x");
	int numbers[3] = {1, 2, 3};
	int *copy = xr_arena_copy(&arena, numbers, sizeof numbers);
	assert_memory_equal(copy, numbers, sizeof numbers);
	xr_arena_release(&arena);
}

#ifdef __SANITIZE_ADDRESS__ /* which then sees what reads beyond the end of an array */
static void arena_pieces_end_where_they_end(void **state)
{
	(void)state;
	struct xr_arena arena = {0};
	for (size_t bytes = 1; bytes < 40; bytes++) {
		const char *piece = xr_arena_alloc(&arena, bytes);
		assert_false(__asan_address_is_poisoned(piece + bytes - 1));
		assert_true(__asan_address_is_poisoned(piece + bytes));
	}
	xr_arena_release(&arena);
}
#endif

static void fail_returns_minus_one_and_keeps_the_words(void **state)
{
	(void)state;
	struct xr_error err;
	assert_int_equal(xr_fail(&err, XR_EXIT_TARGET, "no %s", "compiler"), -1);
	assert_int_equal(err.code, XR_EXIT_TARGET);
	assert_string_equal(err.text, "no compiler");
	assert_int_equal(xr_fail(NULL, XR_EXIT_USE, "nobody listens"), -1);
	char wide[3000];
	memset(wide, 'w', sizeof wide - 1);
	wide[sizeof wide - 1] = 0;
	xr_fail(&err, XR_EXIT_USE, "%s", wide);
	assert_int_equal(strlen(err.text), sizeof err.text - 1);
}

static void rng_is_the_same_everywhere_and_stays_in_range(void **state)
{
	(void)state;
	struct xr_rng rng = {0};
	assert_true(xr_rng_next(&rng) == UINT64_C(0xe220a8397b1dcdaf)); /* as published */
	int seen[10] = {0};
	for (int i = 0; i < 10000; i++) {
		seen[xr_rng_below(&rng, 10)]++;
		double unit = xr_rng_unit(&rng);
		assert_true(unit >= 0 && unit < 1);
	}
	for (int i = 0; i < 10; i++)
		assert_in_range(seen[i], 800, 1200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_zeroed_aligned_memory_that_does_not_overlap),
		cmocka_unit_test(arena_copies_and_prints),
#ifdef __SANITIZE_ADDRESS__
		cmocka_unit_test(arena_pieces_end_where_they_end),
#endif
		cmocka_unit_test(fail_returns_minus_one_and_keeps_the_words),
		cmocka_unit_test(rng_is_the_same_everywhere_and_stays_in_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
