/* SPDX-License-Identifier: MIT */
/* The agent's flows move the bytes that the specification says, and refuse what is not legal. */
#include "../lib/start.h"

#include "../../src/agent/buffer.c"
#include "../../src/agent/flow.c"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static struct xr_agent_flow *make(const char *text, char *error, size_t error_size)
{
	char *words[256];
	return xr_flow_make(words, words_of(text, words), error, error_size);
}

static void a_copy_moves_every_byte_whatever_its_width(void **state)
{
	static const char *const width[] = {"0", "32", "16", "8"};
	(void)state;
	for (int w = 0; w < 4; w++) {
		char text[128], error[200] = "";
		snprintf(text, sizeof text, "%d 36864 small copy 32768 %s 1 0", w, width[w]);
		struct xr_agent_flow *f = make(text, error, sizeof error);
		if (!f)
			fail_msg("%s: %s", text, error);
		assert_true(xr_flow_width(f) >= 1 && (w == 0 || xr_flow_width(f) <= atoi(width[w])));
		unsigned char *base = f->buffer->base;
		for (int i = 0; i < 16384; i++)
			base[i] = (unsigned char)(i * 7 + i / 256 + w);
		double moved = 0;
		while (moved < 2 * 16384 / 64)
			moved += xr_flow_run(f, 16);
		assert_true(moved == 2 * 16384 / 64); /* loads and stores, in whole blocks */
		assert_memory_equal(base, base + 16384 + APART, 16384 - APART);
		xr_flow_free(f);
	}
	xr_buffer_release();
}

static void writes_reach_the_last_byte_and_none_beyond(void **state)
{
	static const char *const kind[] = {"write", "past"};
	(void)state;
	for (int k = 0; k < 2; k++) {
		char text[128], error[200] = "";
		snprintf(text, sizeof text, "9 12288 small %s 4096 0 1 3", kind[k]);
		struct xr_agent_flow *f = make(text, error, sizeof error);
		if (!f) {
			assert_true(k == 1 && !strncmp(error, "unsupported: ", 13));
			continue;
		}
		memset(f->buffer->base, 0, 12288);
		assert_true(xr_flow_run(f, 63) == 64);
		for (int i = 0; i < 12288; i++)
			assert_int_equal(f->buffer->base[i] != 0, i < 4096);
		xr_flow_free(f);
	}
	xr_buffer_release();
}

static void a_flow_goes_on_where_the_one_before_ended(void **state)
{
	char error[200] = "";
	(void)state;
	struct xr_agent_flow *f = make("3 33554432 small read 33554432 0 1 0", error, sizeof error);
	struct xr_agent_flow *g = make("3 33554432 small read 33554432 8 4 0", error, sizeof error);
	assert_non_null(f);
	assert_non_null(g);
	xr_flow_run(f, 1);
	assert_int_equal(f->way.at, 1024);
	xr_flow_run(g, 1);
	assert_int_equal(g->way.at, 1024 + 256); /* of each of four lanes */
	xr_flow_free(f);
	xr_flow_free(g);
	xr_buffer_release();
}

static void what_is_no_flow_is_refused(void **state)
{
	static const char *const wrong[] = {
		"0 4096 small read 8192 0 1 0", /* larger than its buffer */
		"0 8192 small copy 8192 0 1 0", /* no room to be out of step */
		"0 8192 small read 8192 1 1 0", /* narrower than anything there is */
		"0 8192 small write 8192 0 4 0", "0 8192 small read 512 0 1 0", "0 8192 small take 8192 0 1 0",
		"0 8192 small read 8192 0 1",    "0 8192 tall read 8192 0 1 0",
	};
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char error[200] = "";
		assert_null(make(wrong[i], error, sizeof error));
		assert_true(error[0] != 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_moves_every_byte_whatever_its_width),
		cmocka_unit_test(writes_reach_the_last_byte_and_none_beyond),
		cmocka_unit_test(a_flow_goes_on_where_the_one_before_ended),
		cmocka_unit_test(what_is_no_flow_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
