/* SPDX-License-Identifier: MIT */
#include "facts/facts.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct xr_description *sample(void)
{
	struct xr_description *d = xr_description_new();
	const double x[] = {1, 2, 3}, y[] = {4.5, 5, NAN};
	xr_description_set_micro(d, "demo");
	struct xr_fact *fact = xr_fact_count(d, "cache.l1d.capacity", 49152, "bytes", 0.99, "compact sets");
	xr_fact_claim(fact, json_integer(32768));
	xr_fact_add_series(fact, "cache.l1d.stride4096");
	xr_fact_number(d, "op.mul.f64.latency", 4, "cycles", 0.99, "chain");
	xr_fact_bool(d, "isa.fma.f64", true, 1, "value");
	xr_fact_text(d, "cache.l1d.policy", "plru", 0.8, "sequences");
	xr_fact_none(d, "tlb.d1.entries", XR_UNSUPPORTED, "no pages on %s", "this target");
	xr_fact_doubt(xr_fact_number(d, "os.timeslice", 0.004, "s", 0.99, "gaps"), "too few gaps");
	xr_series_put(d, "cache.l1d.stride4096", "elements", "", x, "latency", "cycles", y, 3);
	json_object_set_new(xr_description_target(d), "name", json_string("demo"));
	return d;
}

static struct xr_description *parse(const char *text, struct xr_error *err)
{
	return xr_description_parse(text, strlen(text), "test", err);
}

static void a_fact_put_twice_is_the_second(void **state)
{
	(void)state;
	struct xr_description *d = xr_description_new();
	xr_fact_number(d, "a.b", 1, "ns", 0.5, "first");
	xr_fact_count(d, "c", 3, "count", 1, "");
	xr_fact_number(d, "a.b", 2, "cycles", 0.7, "second");
	assert_int_equal(xr_description_count(d), 2);
	assert_string_equal(xr_description_at(d, 0)->id, "a.b");
	assert_string_equal(xr_description_fact(d, "a.b")->unit, "cycles");
	assert_float_equal(xr_description_number(d, "a.b", 0), 2, 0);
	assert_null(xr_description_fact(d, "a"));
	xr_description_free(d);
	xr_description_free(NULL);
}

static void only_ok_facts_have_numbers(void **state)
{
	(void)state;
	struct xr_description *d = sample();
	assert_float_equal(xr_description_number(d, "isa.fma.f64", 7), 1, 0);
	assert_float_equal(xr_description_number(d, "os.timeslice", 7), 7, 0);
	assert_float_equal(xr_fact_value(xr_description_fact(d, "os.timeslice"), 7), 0.004, 1e-12);
	assert_float_equal(xr_fact_confidence(xr_description_fact(d, "os.timeslice")), 0.5, 0);
	assert_float_equal(xr_description_number(d, "tlb.d1.entries", 7), 7, 0);
	assert_float_equal(xr_description_number(d, "cache.l1d.policy", 7), 7, 0);
	assert_float_equal(xr_description_number(d, "none.such", 7), 7, 0);
	assert_float_equal(xr_description_number(NULL, "none.such", 7), 7, 0);
	assert_string_equal(xr_fact_string(xr_description_fact(d, "cache.l1d.policy")), "plru");
	assert_string_equal(xr_description_fact(d, "os.timeslice")->micro, "demo");
	xr_description_free(d);
}

static void what_is_not_a_number_has_failed(void **state)
{
	(void)state;
	struct xr_description *d = xr_description_new();
	struct xr_fact *fact = xr_fact_number(d, "a", NAN, "ns", 0.99, "");
	assert_int_equal(fact->status, XR_FAILED);
	assert_non_null(fact->reason);
	assert_int_equal(xr_fact_number(d, "b", INFINITY, "ns", 0.99, "")->status, XR_FAILED);
	assert_float_equal(xr_fact_number(d, "c", 1, "ns", NAN, "")->confidence, 0, 0);
	assert_float_equal(xr_fact_number(d, "c", 1, "ns", 3, "")->confidence, 1, 0);
	xr_description_free(d);
}

static void json_comes_back_as_it_went(void **state)
{
	(void)state;
	struct xr_error err;
	struct xr_description *d = sample();
	char *text = xr_description_text(d);
	struct xr_description *again = parse(text, &err);
	assert_non_null(again);
	char *text_again = xr_description_text(again);
	assert_string_equal(text, text_again);
	assert_true(isnan(xr_description_series(again, "cache.l1d.stride4096")->y[2]));
	assert_int_equal(json_integer_value(xr_description_fact(again, "cache.l1d.capacity")->claimed), 32768);
	assert_string_equal(xr_description_target_text(again, "name"), "demo");
	free(text);
	free(text_again);
	xr_description_free(d);
	xr_description_free(again);
}

static void a_file_comes_back_as_it_went(void **state)
{
	(void)state;
	char dir[] = "/tmp/xray-test-XXXXXX", path[64];
	struct xr_error err;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/d.json", dir);
	struct xr_description *d = sample();
	assert_int_equal(xr_description_write(d, path, &err), 0);
	assert_int_equal(xr_description_write(d, path, &err), 0); /* over the old one */
	struct xr_description *again = xr_description_read(path, &err);
	assert_non_null(again);
	assert_int_equal(xr_description_count(again), xr_description_count(d));
	xr_description_free(again);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(dir), 0); /* nothing left behind */
	snprintf(path, sizeof path, "%s/none/d.json", dir);
	assert_int_equal(xr_description_write(d, path, &err), -1);
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_non_null(strstr(err.text, path));
	if (!access("/dev/full", W_OK)) {
		assert_int_equal(xr_description_write(d, "/dev/full", &err), -1);
		assert_non_null(strstr(err.text, strerror(ENOSPC)));
	}
	assert_null(xr_description_read(path, &err));
	xr_description_free(d);
}

static void selectors_are_prefixes_of_whole_words(void **state)
{
	(void)state;
	assert_true(xr_id_matches("cache.l1d.capacity", "cache"));
	assert_true(xr_id_matches("cache.l1d.capacity", "cache.l1d"));
	assert_true(xr_id_matches("cache.l1d.capacity", "cache.l1d.capacity"));
	assert_false(xr_id_matches("cache.l1d.capacity", "cache.l1"));
	assert_false(xr_id_matches("cache.l1d", "cache.l1d.capacity"));
	assert_false(xr_id_matches("cache", ""));
	assert_false(xr_id_matches("", "cache"));
	assert_false(xr_id_matches("cache", "cache."));
	assert_true(xr_id_matches("op.*.*.latency", "op.add.i32.latency"));
	assert_true(xr_id_matches("op.*.*.latency", "op.add"));
	assert_false(xr_id_matches("op.*.*.latency", "op.add.i32.throughput"));
	assert_true(xr_id_matches("op.add.i32.latency", "op.*.i32"));
	assert_true(xr_id_is("cache.l2.ways", "cache.*.ways"));
	assert_false(xr_id_is("cache.l2.ways", "cache.*"));
}

static void bad_descriptions_are_refused_with_a_reason(void **state)
{
	static const char *const bad[][2] = {
		{"", "not JSON"},
		{"{", "not JSON"},
		{"[]", "facts"},
		{"{}", "schema"},
		{"{\"schema\": 2, \"facts\": {}}", "schema 2"},
		{"{\"schema\": \"1\", \"facts\": {}}", "schema"},
		{"{\"schema\": 1, \"facts\": []}", "facts"},
		{"{\"schema\": 1, \"facts\": {\"a\": 1}}", "object"},
		{"{\"schema\": 1, \"facts\": {\"a\": {}}}", "status"},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"great\"}}}", "status"},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\"}}}", "no \"value\""},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\", \"value\": null}}}", "no \"value\""},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\", \"value\": 1, \"confidence\": 2}}}",
	         "confidence"},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\", \"value\": 1, \"unit\": 2}}}", "unit"},
		{"{\"schema\": 1, \"facts\": {\"a\": {\"status\": \"ok\", \"value\": 1, \"series\": 2}}}", "series"},
		{"{\"schema\": 1, \"facts\": {\"a\\u001b[31m\": {\"status\": \"ok\", \"value\": 1}}}", "not an id"},
		{"{\"schema\": 1, \"facts\": {}, \"series\": {\"a\": {}}}", "series"},
		{"{\"schema\": 1, \"facts\": {}, \"series\": {\"a\": {\"x\": {\"values\": [1]}, \"y\": {\"values\": []}}}}",
	         "equally"},
		{"{\"schema\": 1, \"facts\": {}, \"series\": {\"a\": {\"x\": {\"values\": [\"\"]}, \"y\": {\"values\": [1]}}}}",
	         "numbers"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct xr_error err = {0};
		assert_null(parse(bad[i][0], &err));
		assert_int_equal(err.code, XR_EXIT_USE);
		if (!strstr(err.text, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.text);
		assert_null(strpbrk(err.text, "\033\n"));
	}
}

static void what_is_not_known_is_ignored(void **state)
{
	(void)state;
	struct xr_error err;
	struct xr_description *d = parse(
		"{\"schema\": 1, \"later\": [1], \"facts\": {\"a\": {\"status\": \"failed\", \"later\": {}}}}", &err);
	assert_non_null(d);
	assert_int_equal(xr_fact_status(xr_description_fact(d, "a")), XR_FAILED);
	xr_description_free(d);
}

static void suggestions_are_near(void **state)
{
	static const char *const known[] = {"cache", "cpu.frequency", "op.add"};
	(void)state;
	assert_string_equal(xr_suggest("cahce", known, 3), "cache");
	assert_string_equal(xr_suggest("cpu.freqency", known, 3), "cpu.frequency");
	assert_null(xr_suggest("entirely else", known, 3));
	static const char *const words[] = {"help", "op", "report", "show"};
	assert_string_equal(xr_suggest("rep", words, 4), "report"); /* begun, not mistyped */
	assert_null(xr_suggest("foo", words, 4));                   /* two of three letters are no slip */
	assert_string_equal(xr_suggest("shwo", words, 4), "show");
	assert_null(xr_suggest("", known, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fact_put_twice_is_the_second),
		cmocka_unit_test(only_ok_facts_have_numbers),
		cmocka_unit_test(what_is_not_a_number_has_failed),
		cmocka_unit_test(json_comes_back_as_it_went),
		cmocka_unit_test(a_file_comes_back_as_it_went),
		cmocka_unit_test(selectors_are_prefixes_of_whole_words),
		cmocka_unit_test(bad_descriptions_are_refused_with_a_reason),
		cmocka_unit_test(what_is_not_known_is_ignored),
		cmocka_unit_test(suggestions_are_near),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
