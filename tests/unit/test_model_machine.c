/* SPDX-License-Identifier: MIT */
/* Machine files: what is legal is read, what is not is refused with file, line and reason. */
#include "../lib/write.h"

#include "target/model/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char head[] = "[target]\nkind = simulated\n";

static int parse(struct xr_machine *machine, const char *text, struct xr_error *err)
{
	return xr_machine_parse(machine, "m.ini", text, strlen(text), err);
}

static void refused(const char *body, const char *want)
{
	struct xr_machine machine;
	struct xr_error err = {0};
	char text[4096];
	snprintf(text, sizeof text, "%s%s", head, body);
	assert_int_equal(parse(&machine, text, &err), -1);
	assert_int_equal(err.code, XR_EXIT_USE);
	if (!strstr(err.text, want))
		fail_msg("'%s' does not say '%s'", err.text, want);
}

static void left_out_keys_take_their_defaults(void **state)
{
	(void)state;
	struct xr_machine m;
	struct xr_error err;
	assert_int_equal(parse(&m, head, &err), 0);
	assert_int_equal(m.width, 4);
	assert_int_equal(m.n_caches, 0);
	assert_int_equal(m.page_bytes, 4096);
	assert_null(xr_machine_op(&m, XR_ADD, XR_I32));
	assert_true(m.jitter == 0);
}

static void sizes_take_letters(void **state)
{
	(void)state;
	struct xr_machine m;
	struct xr_error err;
	assert_int_equal(parse(&m,
	                       "[target]\nkind = simulated\n[cache l1d]\ncapacity = 48K\nways = 12 ; twelve\nline=64\n"
	                       "  latency = 5\n[memory]\nsize = 2G\n[page]\nhuge = none\n",
	                       &err),
	                 0);
	assert_int_equal(m.cache[0].capacity, 49152);
	assert_int_equal(xr_machine_sets(&m.cache[0]), 64);
	assert_int_equal(m.memory_bytes, UINT64_C(2) << 30);
	assert_int_equal(m.huge_bytes, 0);
}

static void a_type_overrides_its_class(void **state)
{
	(void)state;
	struct xr_machine m;
	struct xr_error err;
	char text[1024];
	snprintf(
		text, sizeof text, "%s%s", head,
		"[op mul fp]\nlatency = 4\nunit = fp\n[op mul f64]\nlatency = 6\nunit = fp\n[op mul v32f64]\nlatency = 7\nunit = fp\n"
		"[fma]\nf32 = yes\n[emulated]\ni64 = 20\n[op add int]\n");
	assert_int_equal(parse(&m, text, &err), 0);
	assert_true(xr_machine_op(&m, XR_MUL, XR_F32)->latency == 4);
	assert_true(xr_machine_op(&m, XR_MUL, XR_F64)->latency == 6);
	assert_true(xr_machine_op(&m, XR_MUL, XR_V16F64)->latency == 6);
	assert_true(xr_machine_op(&m, XR_MUL, XR_V32F64)->latency == 7);
	assert_true(xr_machine_op(&m, XR_FMA, XR_F32)->latency == 4);
	assert_null(xr_machine_op(&m, XR_FMA, XR_F64));
	assert_null(xr_machine_op(&m, XR_ADD, XR_I64));
	assert_string_equal(xr_machine_op(&m, XR_ADD, XR_I32)->unit_name, "alu");
}

static void what_is_wrong_is_named_with_its_line(void **state)
{
	(void)state;
	refused("[cpu]\nspeed = 3\n", "m.ini:4: unknown key 'speed' in [cpu]");
	refused("[cpus]\n", "m.ini:3: unknown section [cpus]");
	refused("[cache l1d]\ncapacity = 48K\nways = 7\nline = 64\n",
	        "m.ini:3: [cache l1d] capacity = 49152 is not a multiple");
	refused("[cache l1d]\ncapacity = 48K\nways = 4\nline = 64\n", "m.ini:3: [cache l1d] has 192 sets");
	refused("[cache l1d]\ncapacity = 48K\nways = 12\nline = 48\n", "not a power of two");
	refused("[cache l1d]\nways = 12\n", "has no capacity");
	refused("[cpu]\nmhz = -3\n", "m.ini:4: mhz = -3: must be from");
	refused("[cpu]\nwidth = 99999999999999999999\n", "m.ini:4: width");
	refused("[cpu]\nwidth = 1e999\n", "m.ini:4: width");
	refused("[cpu]\nwidth = nan\n", "m.ini:4: width = nan: not a number");
	refused("[cpu]\nwidth = 2.5\n", "whole number");
	refused("[cpu]\nwidth = 4x\n", "not a number");
	refused("[cpu]\nwidth =\n", "m.ini:4: width has no value");
	refused("[cpu]\nwidth = 4\nwidth = 5\n", "m.ini:5: width a second time");
	refused("[cpu]\n[cpu]\n", "m.ini:4: [cpu] a second time");
	refused("[tlb d1]\nentries = 64\nways = 5\n", "m.ini:3: [tlb d1] entries = 64 is not a multiple of ways = 5");
	refused("[cache l1i]\nholds = code\ncapacity = 8K\nneighbours_gbs = 2\n",
	        "m.ini:3: [cache l1i] neighbours_gbs");
	refused("[op add i33]\n", "no such type");
	refused("[op frobnicate int]\n", "no such operation");
	refused("[op add int]\nunit = gpu\n", "m.ini:3: [op add] uses unit 'gpu'");
	refused("[op add]\n", "must be [op OPERATION TYPE]");
	refused("[cache]\n", "must be [cache NAME]");
	refused("[cache l1d\n", "not a [section] line");
	refused("hello\n", "neither");
	refused("[threads]\ncores = 5\nnodes = 2\n", "evenly");
	refused("[page]\nsize = 5000\n", "power of two");
	refused("[noise]\njitter = \001\n", "not a text file");
	refused("[cache l1d]\npolicy = clock\n", "must be one of lru plru nru fifo random srrip");
	char line[3000] = "[cpu]\nmhz = ";
	memset(line + strlen(line), '7', 1000);
	refused(line, "m.ini:4: line too long");
}

static void empty_and_binary_files_are_refused(void **state)
{
	(void)state;
	struct xr_machine m;
	struct xr_error err;
	assert_int_equal(parse(&m, "", &err), -1);
	assert_non_null(strstr(err.text, "m.ini:1: empty"));
	assert_int_equal(parse(&m, "[cpu]\nmhz = 5\n", &err), -1);
	assert_non_null(strstr(err.text, "no [target]"));
	assert_int_equal(xr_machine_parse(&m, "m.ini",
	                                  "\x7f"
	                                  "ELF\2\1\1\0\0\0\0",
	                                  11, &err),
	                 -1);
	assert_non_null(strstr(err.text, "m.ini:1:"));
	assert_int_equal(xr_machine_read(&m, "/nonexistent/m.ini", &err), -1);
	assert_int_equal(err.code, XR_EXIT_USE);
}

static void a_written_machine_reads_back_the_same(void **state)
{
	(void)state;
	static const char *const files[] = {"machines/p6.ini", "machines/server.ini", "machines/microcontroller.ini",
	                                    "machines/shared.ini"};
	for (int i = 0; i < 4; i++) {
		struct xr_machine m, again;
		struct xr_error err;
		char *text[2] = {NULL, NULL};
		size_t bytes[2];
		if (xr_machine_read(&m, files[i], &err))
			fail_msg("%s", err.text);
		FILE *out = open_memstream(&text[0], &bytes[0]);
		machine_write(&m, out);
		fclose(out);
		if (xr_machine_parse(&again, "again", text[0], bytes[0], &err))
			fail_msg("%s\n%s", err.text, text[0]);
		out = open_memstream(&text[1], &bytes[1]);
		machine_write(&again, out);
		fclose(out);
		assert_string_equal(text[0], text[1]);
		for (int k = 0; k < m.n_caches; k++)
			assert_true(m.cache[k].neighbours_gbs == again.cache[k].neighbours_gbs);
		free(text[0]);
		free(text[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(left_out_keys_take_their_defaults),
		cmocka_unit_test(sizes_take_letters),
		cmocka_unit_test(a_type_overrides_its_class),
		cmocka_unit_test(what_is_wrong_is_named_with_its_line),
		cmocka_unit_test(empty_and_binary_files_are_refused),
		cmocka_unit_test(a_written_machine_reads_back_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
