/* SPDX-License-Identifier: MIT */
/* Reports: what people and compilers read. */
#include "report/compare.h"
#include "report/report.h"
#include "report/table.h"
#include "report/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct xr_style plain = {0}, coloured = {.colour = true, .unicode = true, .width = 80};

struct page {
	FILE *out;
	char *text;
	size_t bytes;
};

static FILE *open_page(struct page *page)
{
	*page = (struct page){0};
	page->out = open_memstream(&page->text, &page->bytes);
	assert_non_null(page->out);
	return page->out;
}

static const char *close_page(struct page *page)
{
	fclose(page->out);
	return page->text;
}

static bool says(const char *text, const char *what)
{
	return strstr(text, what) != NULL;
}

static void values_are_written_as_people_do(void **state)
{
	static const struct {
		double value;
		const char *unit, *words;
	} cases[] = {
		{49152, "bytes", "48 KiB"},  {1310720, "bytes", "1.25 MiB"}, {64, "bytes", "64 B"},
		{3.491e9, "Hz", "3.49 GHz"}, {0.004, "s", "4 ms"},           {16.3, "ns", "16.3 ns"},
		{1.2e10, "B/s", "12 GB/s"},  {4, "cycles", "4.00"},          {391.7, "cycles", "392"},
		{12, "count", "12"},         {0.001, "ns", "0.001 ns"},      {0, "count", "0"},
	};
	struct xr_arena arena = {0};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *value = json_real(cases[i].value);
		assert_string_equal(xr_value_words(&arena, value, cases[i].unit), cases[i].words);
		json_decref(value);
	}
	json_t *groups = json_loads("[[0, 1], [2, 3]]", 0, NULL);
	assert_string_equal(xr_value_words(&arena, groups, ""), "{0 1} {2 3}");
	assert_string_equal(xr_value_words(&arena, json_true(), ""), "yes");
	assert_string_equal(xr_value_words(&arena, NULL, ""), "");
	json_decref(groups);
	xr_arena_release(&arena);
}

static void text_from_files_cannot_steer_the_terminal(void **state)
{
	struct xr_arena arena = {0};
	struct page page;
	(void)state;
	assert_string_equal(xr_safe_text(&arena, "a\033[31m\nb\xc2\x9b"
	                                         "c"),
	                    "a\\x1b[31m\\x0ab\\u{9b}c");
	struct xr_description *d = xr_description_new();
	json_object_set_new(xr_description_target(d), "cpu", json_string("evil\033]0;title\007"));
	xr_fact_text(d, "a.b", "x\033[2Jy", 0.99, "m\033[2J");
	xr_fact_note(xr_description_edit(d, "a.b"), "%s", "because\033[2J");
	open_page(&page);
	xr_report_terminal(page.out, d, &plain, true);
	assert_null(strchr(close_page(&page), '\033'));
	free(page.text);
	xr_description_free(d);
	xr_arena_release(&arena);
}

static struct xr_description *machine(void)
{
	struct xr_error err;
	struct xr_description *d = xr_description_read("tests/data/icelake.json", &err);
	if (!d)
		fail_msg("%s", err.text);
	return d;
}

/* Every fact with a value is somewhere in the report, every reason too. */
static void the_report_leaves_nothing_out(void **state)
{
	struct xr_description *d = machine();
	struct page page;
	(void)state;
	open_page(&page);
	xr_report_terminal(page.out, d, &plain, true);
	const char *text = close_page(&page);
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		if (!says(text, fact->id))
			fail_msg("%s is not there", fact->id);
		if (fact->reason && !says(text, fact->reason))
			fail_msg("%s: its reason is not there", fact->id);
	}
	free(page.text);
	open_page(&page);
	xr_report_terminal(page.out, d, &plain, false);
	text = close_page(&page);
	assert_true(says(text, "3.10 MiB (OS: 48 MiB)"));
	assert_true(says(text, "3.00 / 1.00?"));
	assert_null(strchr(text, '\033'));
	free(page.text);
	xr_description_free(d);
}

static void colours_come_only_when_asked_for(void **state)
{
	struct xr_description *d = machine();
	struct page page;
	(void)state;
	open_page(&page);
	xr_report_terminal(page.out, d, &coloured, false);
	assert_non_null(strchr(close_page(&page), '\033'));
	free(page.text);
	xr_description_free(d);
}

static void a_table_fits_its_width(void **state)
{
	struct xr_description *d = machine();
	struct page page;
	(void)state;
	for (int width = 50; width <= 200; width += 50) {
		struct xr_style style = {.width = width};
		open_page(&page);
		xr_report_terminal(page.out, d, &style, false);
		close_page(&page);
		bool in_table = false;
		for (char *line = strtok(page.text, "\n"); line; line = strtok(NULL, "\n")) {
			if (line[0] != ' ')
				in_table = !strncmp(line, "Operations", 10);
			if (in_table && xr_text_columns(line) > (size_t)width)
				fail_msg("%d: %s", width, line);
			if (*line)
				assert_int_not_equal(line[strlen(line) - 1], ' ');
		}
		free(page.text);
	}
	xr_description_free(d);
}

static void check_gives_a_verdict(void **state)
{
	struct xr_description *d = machine();
	struct page page;
	(void)state;
	open_page(&page);
	struct xr_verdict_counts counts = xr_report_check(page.out, d, &plain, false);
	const char *text = close_page(&page);
	assert_int_equal(counts.differ, 4);
	assert_true(counts.agree > 8);
	assert_true(says(text, "not what the OS says"));
	assert_true(says(text, "differ: 1/15.5 of it"));
	assert_true(says(text, "cache.l3.capacity: a partition of the cache, neighbours"));
	assert_true(says(text, "cpu.frequency: the OS may name the base rate"));
	assert_false(says(text, "op.add.i32.latency"));
	free(page.text);
	xr_description_free(d);
}

static void a_machine_is_like_itself(void **state)
{
	struct xr_description *a = machine(), *b = machine();
	struct page page;
	(void)state;
	open_page(&page);
	struct xr_verdict_counts counts = xr_report_diff(page.out, a, b, "a", "b", &plain, false);
	assert_int_equal(counts.differ + counts.missing, 0);
	xr_fact_count(b, "cache.l2.ways", 16, "count", 0.99, "");
	xr_fact_number(b, "op.mul.f64.latency", 4.1, "cycles", 0.99, "");
	xr_fact_count(b, "new.fact", 1, "count", 0.99, "");
	counts = xr_report_diff(page.out, a, b, "a", "b", &plain, false);
	assert_int_equal(counts.differ, 1);
	assert_int_equal(counts.missing, 1);
	counts = xr_report_against(page.out, b, a, "b", "a", &plain, false); /* a does not know new.fact */
	assert_int_equal(counts.differ, 1);
	assert_int_equal(counts.missing, 0);
	const char *text = close_page(&page);
	assert_true(says(text, "differ: 25 % more"));
	free(page.text);
	xr_description_free(a);
	xr_description_free(b);
}

/* ---- the C header ------------------------------------------------------------------------------------------------ */

static int shell(const char *format, const char *path)
{
	char command[512];
	snprintf(command, sizeof command, format, path);
	return system(command);
}

static struct xr_description *nasty(void)
{
	struct xr_description *d = machine();
	xr_fact_text(d, "evil.text", "\"; */ ?\?/ \\ \n caf\xc3\xa9 /* 1\x7f", 0.99, "");
	xr_fact_note(xr_fact_none(d, "evil.reason", XR_FAILED, "x"), "%s",
	             "*/ #error \\\n#error ?\?/ /* */ caf\xc3\xa9 \\");
	xr_fact_count(d, "big.u32", 4294967295, "bytes", 0.99, "");
	xr_fact_count(d, "big.u64", 1LL << 40, "bytes", 0.99, "");
	xr_fact_count(d, "negative.count", -7, "", 0.99, "");
	xr_fact_number(d, "negative.real", -1, "", 0.99, "");
	xr_fact_count(d, "clash.a", 1, "", 0.99, "");
	xr_fact_count(d, "clash_a", 2, "", 0.99, "");
	xr_fact_count(d, "has.clash.a", 2, "", 0.99, "");
	xr_fact_none(d, "op.*.*.latency", XR_FAILED, "interrupted");
	char longer[2000];
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = 0;
	xr_fact_text(d, "long.text", longer, 0.99, "");
	return d;
}

static void the_header_compiles_as_c89_and_cpp(void **state)
{
	char dir[] = "/tmp/xray-test-XXXXXX", path[64];
	struct xr_error err;
	struct xr_description *d = nasty();
	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/facts.h", dir);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(xr_report_header(out, d, "XRAY", 0.8, &err), 0);
	fclose(out);
	snprintf(path, sizeof path, "%s/use.c", dir);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs("#include \"facts.h\"\n#include \"facts.h\"\n" /* a second time does no harm */
	      "#if !XRAY_HAS_CACHE_L1D_CAPACITY || XRAY_CACHE_L1D_CAPACITY != 49152 || XRAY_HAS_CACHE_L3_WAYS\n#error\n#endif\n"
	      "#ifdef XRAY_CACHE_L3_WAYS\n#error\n#endif\n"
	      "static const double all[] = {XRAY_OP_MUL_F64_LATENCY, XRAY_BIG_U32, XRAY_BIG_U64, XRAY_NEGATIVE_COUNT};\n"
	      "static const char *const text = XRAY_EVIL_TEXT XRAY_CACHE_L1D_POLICY;\n"
	      "int main(void) { return all[0] != 4.0 || all[2] != 1099511627776.0 || all[1] != 4294967295.0 || all[3] != -7 || !*text; }\n",
	      out); /* each condition is one promise of the header */
	fclose(out);
	assert_int_equal(
		shell("cc -std=c89 -Wall -Wextra -pedantic -Werror -trigraphs %1$s -o %1$s.out && %1$s.out", path), 0);
	if (!system("command -v c++ > /dev/null 2>&1"))
		assert_int_equal(shell("c++ -std=c++98 -Wall -Wextra -pedantic -Werror -x c++ %s -fsyntax-only", path),
		                 0);
	shell("rm -rf \"$(dirname %s)\"", path);
	assert_int_equal(xr_report_header(stderr, d, "0 bad", 0.8, &err), -1);
	assert_int_equal(err.code, XR_EXIT_USE);
	xr_description_free(d);
}

/* A trigraph at the end of a comment's line would be a backslash to a C89 compiler, and the next line part of the
 * comment. */
static void headers_have_no_trigraphs(void **state)
{
	struct page page;
	struct xr_error err;
	(void)state;
	struct xr_description *d = xr_description_new();
	json_object_set_new(xr_description_target(d), "cpu", json_string("what?\?/ */ /* ?\?= \\\\"));
	xr_fact_text(d, "a.b", "x?\?/y\\", 0.99, "method?\?/");
	xr_fact_note(xr_description_edit(d, "a.b"), "%s", "because?\?/");
	xr_fact_none(d, "a.c", XR_FAILED, "%s", "never?\?/ */");
	open_page(&page);
	assert_int_equal(xr_report_header(page.out, d, "X", 0, &err), 0);
	const char *text = close_page(&page);
	assert_null(strstr(text, "?\?"));
	int opened = 0, closed = 0;
	for (const char *c = text; (c = strstr(c, "/*")); c += 2)
		opened++;
	for (const char *c = text; (c = strstr(c, "*/")); c += 2)
		closed++;
	assert_int_equal(opened, closed);
	free(page.text);
	xr_description_free(d);
}

/* A tenth of a cycle is what loops can tell apart: less is agreement, whatever share it is. */
static void a_tenth_of_a_cycle_is_no_difference(void **state)
{
	json_t *a = json_real(0.20), *near = json_real(0.29), *far = json_real(0.40);
	(void)state;
	assert_true(xr_values_agree(a, near, "cycles", "op.add.i32.throughput"));
	assert_false(xr_values_agree(a, far, "cycles", "op.add.i32.throughput"));
	assert_false(xr_values_agree(a, far, "ns", "x.y"));
	json_decref(a);
	json_decref(near);
	json_decref(far);
}

/* Whatever texts say, they end no block of the page and make no markup: what stands there is JSON, with the same
 * in it. */
static void the_page_has_the_description_and_no_markup_of_it(void **state)
{
	static const char page_text[] = "<html>@DESCRIPTION@</html>";
	static const char evil[] = "</script><img src=x onerror=y>&<!--\xe2\x80\xa8";
	struct xr_description *d = xr_description_new();
	struct xr_error err;
	struct page page;
	(void)state;
	json_object_set_new(xr_description_target(d), "cpu", json_string(evil));
	xr_fact_note(xr_fact_count(d, "cache.l1d.capacity", 49152, "bytes", 0.85, evil), "%s", evil);
	assert_int_equal(xr_report_page(open_page(&page), d, page_text, strlen(page_text), &err), 0);
	const char *text = close_page(&page);
	assert_true(!strncmp(text, "<html>{", 7) && !strcmp(text + strlen(text) - 8, "}</html>"));
	char *inside = strndup(text + 6, strlen(text) - 13);
	for (const char *at = inside; *at; at++)
		assert_true(*at >= ' ' && *at < 127 && *at != '<' && *at != '>' && *at != '&');
	json_t *json = json_loads(inside, 0, NULL);
	json_t *description = json_object_get(json, "description");
	json_t *fact = json_object_get(json_object_get(description, "facts"), "cache.l1d.capacity");
	assert_string_equal(json_string_value(json_object_get(json_object_get(description, "target"), "cpu")), evil);
	assert_string_equal(json_string_value(json_object_get(fact, "reason")), evil);
	assert_int_equal(json_integer_value(json_object_get(fact, "value")), 49152);
	json_t *words = json_object_get(json_object_get(json, "words"), "cache.l1d.capacity");
	assert_string_equal(json_string_value(json_object_get(words, "value")), "48 KiB~");
	json_decref(json);
	free(inside);
	free(page.text);
	assert_int_equal(xr_report_page(open_page(&page), d, "", 0, &err), -1);
	assert_string_equal(close_page(&page), "");
	assert_true(says(err.text, "built without the page"));
	free(page.text);
	xr_description_free(d);
}

static size_t widest_line(const char *text)
{
	size_t widest = 0;
	for (const char *end; *text; text = end + (*end == '\n')) {
		end = text + strcspn(text, "\n");
		char *line = strndup(text, (size_t)(end - text));
		size_t columns = xr_text_columns(line);
		widest = columns > widest ? columns : widest;
		free(line);
	}
	return widest;
}

static void reports_fit_narrow_terminals(void **state)
{
	const struct xr_style narrow = {.colour = true, .unicode = true, .width = 45},
			      usual = {.unicode = true, .width = 80};
	struct xr_error err;
	struct xr_description *d = xr_description_read("tests/data/genoa.json", &err);
	struct page page;
	(void)state;
	assert_non_null(d);
	xr_report_screen(open_page(&page), d, &narrow);
	assert_true(widest_line(close_page(&page)) <= 45);
	free(page.text);
	xr_report_terminal(open_page(&page), d, &usual, false);
	assert_true(widest_line(close_page(&page)) <= 80);
	free(page.text);
	xr_description_free(d);
}

/* Selections have no head: who disturbed the run is said apart. */
static void who_disturbed_is_said_and_nothing_else(void **state)
{
	static const char busy[] = "{\"schema\": 1, \"target\": {\"conditions\": {\"words\": [\"cc1 used 41 %\", 7, "
				   "\"a\\u001b[31mb\"]}}, \"facts\": {}}",
			  quiet[] = "{\"schema\": 1, \"target\": {\"conditions\": {\"words\": []}}, \"facts\": {}}";
	static const struct {
		const char *text, *said;
	} cases[] = {{busy, "xray: cc1 used 41 %\nxray: a\\x1b[31mb\n"}, {quiet, ""}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct xr_error err = {0};
		struct page page;
		struct xr_description *d = xr_description_parse(cases[i].text, strlen(cases[i].text), "test", &err);
		assert_non_null(d);
		xr_report_disturbed(open_page(&page), d, "xray: ");
		assert_string_equal(close_page(&page), cases[i].said);
		free(page.text);
		xr_description_free(d);
	}
}

/* The time left runs down; it stands still over small steps up, and tells of large ones. */
static void time_left_runs_down_unless_there_is_news(void **state)
{
	(void)state;
	assert_float_equal(xr_value_left_s(-1, 0, 40), 40, 1e-9);
	assert_float_equal(xr_value_left_s(40, 1, 39), 39, 1e-9);
	double early_s = xr_value_left_s(40, 1, 20), late_s = xr_value_left_s(40, 1, 55);
	assert_true(early_s < 39 && early_s > 30);
	assert_true(late_s > 39 && late_s <= 40);
	assert_float_equal(xr_value_left_s(40, 1, 80), 80, 1e-9);
	assert_true(xr_value_left_s(2, 0.5, 6) <= 2); /* a few seconds are no news */
	assert_float_equal(xr_value_left_s(3, 9, 0), 0, 1e-9);
	/* a run that takes three times as long as the first estimate: told long before that has passed */
	double shown_s = 43, at_s = 0;
	for (; at_s < 43 && shown_s < 60; at_s += 0.1)
		shown_s = xr_value_left_s(shown_s, 0.1, 43 + at_s);
	assert_true(at_s < 43);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_written_as_people_do),
		cmocka_unit_test(text_from_files_cannot_steer_the_terminal),
		cmocka_unit_test(the_report_leaves_nothing_out),
		cmocka_unit_test(colours_come_only_when_asked_for),
		cmocka_unit_test(a_table_fits_its_width),
		cmocka_unit_test(check_gives_a_verdict),
		cmocka_unit_test(a_machine_is_like_itself),
		cmocka_unit_test(the_header_compiles_as_c89_and_cpp),
		cmocka_unit_test(headers_have_no_trigraphs),
		cmocka_unit_test(a_tenth_of_a_cycle_is_no_difference),
		cmocka_unit_test(the_page_has_the_description_and_no_markup_of_it),
		cmocka_unit_test(reports_fit_narrow_terminals),
		cmocka_unit_test(who_disturbed_is_said_and_nothing_else),
		cmocka_unit_test(time_left_runs_down_unless_there_is_news),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
