/* SPDX-License-Identifier: MIT */
/* The installed header, used as somebody else's program would: nothing of the house but xray.h. */
#include "xray.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct xr_session *simulated(void)
{
	struct xr_error err;
	const struct xr_options options = {.target = "machines/p6.ini", .cpu = -1, .seed = 3};
	struct xr_session *session = xr_session_open(&options, &err);
	if (!session)
		fail_msg("%s", err.text);
	return session;
}

static void a_program_can_measure(void **state)
{
	const char *const want[] = {"timer", "cpu.frequency"};
	const struct xr_plan plan = {.select = want, .n_select = 2};
	struct xr_outcome outcome;
	struct xr_error err;
	struct xr_session *session = simulated();
	struct xr_description *d = xr_session_measure(session, &plan, &outcome, &err);
	(void)state;
	assert_non_null(d);
	assert_int_equal(outcome.exit, XR_EXIT_OK);
	assert_int_equal(outcome.failed, 0);
	const struct xr_fact *fact = xr_description_fact(d, "cpu.frequency");
	assert_non_null(fact);
	assert_int_equal(xr_fact_status(fact), XR_OK);
	assert_string_equal(xr_fact_id(fact), "cpu.frequency");
	assert_string_equal(xr_fact_unit(fact), "Hz");
	assert_true(xr_fact_value(fact, 0) > 1e6);
	assert_true(xr_fact_confidence(fact) > 0.5);
	assert_null(xr_fact_string(fact));
	assert_true(xr_description_number(d, "cpu.frequency", 0) > 1e6);
	assert_float_equal(xr_description_number(d, "no.such", 7), 7, 0);
	xr_description_free(d);
	d = xr_session_measure(session, &plan, NULL, NULL); /* again, and nobody wants to know how it went */
	assert_non_null(d);
	xr_description_free(d);
	xr_session_free(session);
	xr_session_free(NULL);
}

static void errors_come_back_as_text(void **state)
{
	const char *const want[] = {"nonsense.entirely"};
	const struct xr_plan plan = {.select = want, .n_select = 1};
	const struct xr_options missing = {.target = "machines/none.ini", .cpu = -1};
	const struct xr_options bare = {.cc = "/nonexistent/cc", .cpu = -1};
	struct xr_error err = {0};
	(void)state;
	assert_null(xr_session_open(&missing, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_non_null(strstr(err.text, "none.ini"));
	assert_null(xr_session_open(&bare, &err));
	assert_int_equal(err.code, XR_EXIT_TARGET);
	assert_null(xr_session_open(&bare, NULL));
	struct xr_session *session = simulated();
	assert_null(xr_session_measure(session, &plan, NULL, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_int_equal(xr_plan_check(&plan, &err), -1);
	xr_session_free(session);
}

static void a_statement_is_timed_or_refused(void **state)
{
	const struct xr_statement good = {.text = "p0 = p0 * p1", .type = "f64"},
				  bad = {.text = "p0 = sin(p0)", .type = "f64"};
	struct xr_outcome outcome;
	struct xr_error err;
	struct xr_session *session = simulated();
	struct xr_description *d = xr_session_time(session, &good, NULL, &outcome, &err);
	(void)state;
	assert_non_null(d);
	assert_int_equal(outcome.exit, XR_EXIT_OK);
	assert_true(xr_description_number(d, "statement.latency", 0) > 0);
	xr_description_free(d);
	assert_null(xr_session_time(session, &bad, NULL, &outcome, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	xr_session_free(session);
}

/* Descriptors: ids sorted, each finds something, and needs are ids of others or of facts somebody finds. */
static void the_listing_is_whole(void **state)
{
	struct xr_listing one, other;
	size_t n = 0;
	(void)state;
	for (; xr_listing_at(n, &one); n++) {
		assert_true(*one.title && one.cost_s > 0);
		assert_non_null(one.finds[0]);
		for (const char *const *need = one.needs; need && *need; need++) {
			const struct xr_plan plan = {.select = need, .n_select = 1};
			struct xr_error err = {0};
			if (xr_plan_check(&plan, &err))
				fail_msg("%s needs %s: %s", one.id, *need, err.text);
		}
		if (n && xr_listing_at(n - 1, &other))
			assert_true(strcmp(other.id, one.id) < 0);
	}
	assert_true(n > 3);
	const struct xr_plan everything = {0};
	assert_int_equal(xr_plan_check(&everything, NULL), 0); /* no circle */
	/* a selection costs what it and its needs cost, much less than all */
	static const char *const l1d[] = {"cache.l1d.capacity"}, *const timer[] = {"timer"};
	const struct xr_plan first = {.select = l1d, .n_select = 1}, clock = {.select = timer, .n_select = 1};
	assert_true(xr_plan_cost_s(&first) > xr_plan_cost_s(&clock));
	assert_true(xr_plan_cost_s(&first) < 2 && xr_plan_cost_s(NULL) > 10 * xr_plan_cost_s(&first));
}

/* Whatever a caller leaves out: an error or an empty answer. */
static void null_is_no_reason_to_crash(void **state)
{
	struct xr_session *session = simulated();
	struct xr_error err = {0};
	const char *const hole[] = {"timer", NULL};
	const struct xr_plan holes = {.select = hole, .n_select = 2}, nothing = {.select = NULL, .n_select = 3};
	const struct xr_statement empty = {0};
	size_t files;
	uint64_t bytes;
	(void)state;
	assert_null(xr_session_warning(NULL));
	assert_null(xr_session_measure(NULL, NULL, NULL, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_null(xr_session_measure(NULL, NULL, NULL, NULL));
	assert_null(xr_session_measure(session, &holes, NULL, &err));
	assert_null(xr_session_measure(session, &nothing, NULL, &err));
	assert_null(xr_session_time(NULL, &empty, NULL, NULL, &err));
	assert_null(xr_session_time(session, NULL, NULL, NULL, &err));
	assert_null(xr_session_time(session, &empty, NULL, NULL, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	assert_int_equal(xr_session_conditions(NULL, 0, NULL), -1);
	assert_int_equal(xr_session_conditions(session, 0, NULL), -1);
	assert_int_equal(xr_plan_check(NULL, &err), 0);
	assert_true(xr_plan_cost_s(&holes) < 0);
	assert_int_equal(xr_plan_check(&holes, &err), -1);
	assert_int_equal(xr_plan_check(&nothing, NULL), -1);
	assert_int_equal(xr_description_count(NULL), 0);
	assert_null(xr_description_at(NULL, 0));
	assert_null(xr_description_fact(NULL, "a"));
	assert_float_equal(xr_description_number(NULL, NULL, 7), 7, 0);
	assert_string_equal(xr_fact_id(NULL), "");
	assert_int_equal(xr_fact_status(NULL), XR_FAILED);
	assert_float_equal(xr_fact_value(NULL, 7), 7, 0);
	assert_null(xr_fact_string(NULL));
	assert_string_equal(xr_fact_unit(NULL), "");
	assert_float_equal(xr_fact_confidence(NULL), 0, 0);
	assert_string_equal(xr_fact_reason(NULL), "");
	struct xr_points points;
	struct xr_blocking blocking = {0};
	assert_int_equal(xr_fact_kind(NULL), XR_VALUE_NONE);
	assert_string_equal(xr_fact_method(NULL), "");
	assert_float_equal(xr_fact_claimed(NULL, 7), 7, 0);
	assert_int_equal(xr_fact_groups(NULL), 0);
	assert_int_equal(xr_fact_group_size(NULL, 0), 0);
	assert_float_equal(xr_fact_group_number(NULL, 0, 0, 7), 7, 0);
	assert_null(xr_fact_group_text(NULL, 0, 0));
	assert_int_equal(xr_fact_matrix_size(NULL), 0);
	assert_int_equal(xr_fact_matrix_cpu(NULL, 0), -1);
	assert_float_equal(xr_fact_matrix_at(NULL, 0, 0, 7), 7, 0);
	assert_int_equal(xr_fact_points(NULL), 0);
	assert_null(xr_fact_points_id(NULL, 0));
	assert_false(xr_description_points(NULL, "a", &points));
	assert_false(xr_description_points_at(NULL, 0, &points));
	assert_int_equal(xr_description_blocking(NULL, 8, false, &blocking), -1);
	assert_null(xr_description_text(NULL));
	assert_null(xr_description_parse(NULL, 7, "x", &err));
	assert_null(xr_description_read(NULL, &err));
	assert_null(xr_description_read("/no/such/file", NULL));
	assert_int_equal(xr_description_write(NULL, "x", &err), -1);
	xr_description_free(NULL);
	assert_false(xr_listing_at(0, NULL));
	assert_null(xr_suggest(NULL, hole, 2));
	assert_null(xr_suggest("x", NULL, 2));
	assert_string_equal(xr_suggest("tiner", hole, 2), "timer");
	assert_int_equal(xr_cache_clear(NULL, NULL, NULL, NULL), -1);
	assert_int_equal(xr_cache_clear("/no/such/cache", NULL, NULL, NULL), 0);
	assert_int_equal(xr_cache_clear("/no/such/cache", &files, &bytes, &err), 0);
	const char *const want[] = {"timer"};
	const struct xr_plan plan = {.select = want, .n_select = 1};
	struct xr_description *d = xr_session_measure(session, &plan, NULL, &err);
	assert_null(xr_description_fact(d, NULL));
	assert_null(xr_description_at(d, (size_t)-1));
	assert_int_equal(xr_description_write(d, NULL, &err), -1);
	assert_int_equal(xr_description_write(d, "/no/such/folder/x", NULL), -1);
	xr_description_free(d);
	xr_session_free(session);
}

static void two_sessions_live_side_by_side(void **state)
{
	const char *const want[] = {"timer", "cpu.frequency"};
	const struct xr_plan plan = {.select = want, .n_select = 2};
	struct xr_session *one = simulated(), *two = simulated();
	struct xr_error err;
	(void)state;
	struct xr_description *a = xr_session_measure(one, &plan, NULL, &err);
	struct xr_description *b = xr_session_measure(two, &plan, NULL, &err);
	assert_non_null(a);
	assert_non_null(b);
	xr_session_free(one);
	struct xr_description *c = xr_session_measure(two, &plan, NULL, &err);
	assert_non_null(c);
	assert_float_equal(xr_description_number(a, "cpu.frequency", 0), xr_description_number(b, "cpu.frequency", 1),
	                   0);
	assert_true(xr_description_number(c, "cpu.frequency", 0) > 1e6);
	xr_description_free(a);
	xr_description_free(b);
	xr_description_free(c);
	xr_session_free(two);
}

/* Less and less memory: each call fails with an error or does its work, and the session can be freed. */
static void no_memory_is_an_error(void **state)
{
	(void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these need more than any limit */
	const char *const want[] = {"timer", "cpu.frequency", "cache.l1d"};
	const struct xr_plan plan = {.select = want, .n_select = 3};
	int failed = 0;
	for (size_t more = 64 << 10; more < 256 << 20; more *= 2) {
		pid_t child = fork();
		if (!child) {
			struct xr_error err = {0};
			const struct xr_options options = {.target = "machines/p6.ini", .cpu = -1};
			char line[256];
			long pages = 0;
			FILE *f = fopen("/proc/self/statm", "r");
			if (f && fgets(line, sizeof line, f))
				pages = atol(line);
			if (f)
				fclose(f);
			const rlim_t all = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
			const struct rlimit limit = {all, all};
			setrlimit(RLIMIT_AS, &limit);
			struct xr_session *session = xr_session_open(&options, &err);
			if (!session)
				_exit(err.code == XR_EXIT_TARGET || err.code == XR_EXIT_USE ? 10 : 1);
			struct xr_description *d = xr_session_measure(session, &plan, NULL, &err);
			bool good = d || (err.code == XR_EXIT_TARGET && strstr(err.text, "memory"));
			if (!d) /* no second chance, but no crash either */
				good = good && !xr_session_measure(session, &plan, NULL, &err);
			xr_description_free(d);
			xr_session_free(session);
			_exit(!good ? 1 : d ? 0 : 10);
		}
		int status = -1;
		assert_int_equal(waitpid(child, &status, 0), child);
		if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 10))
			fail_msg("with %zu KiB: status %d", more >> 10, status);
		failed += WEXITSTATUS(status) == 10;
	}
	assert_true(failed > 0);
#endif
}

/* In a child, where files may not grow beyond so many bytes, and a signal that nobody handles comes with it. */
static int on_a_full_disk(rlim_t most_bytes, const char *dir)
{
	static const char *const want[] = {"timer"};
	const struct xr_plan plan = {.select = want, .n_select = 1};
	struct xr_options options = {.target = "machines/p6.ini", .cpu = -1};
	const struct rlimit limit = {most_bytes, most_bytes};
	char path[600];
	struct xr_error err = {0};
	struct xr_session *session = xr_session_open(&options, &err);
	struct xr_description *d = session ? xr_session_measure(session, &plan, NULL, &err) : NULL;
	if (!d)
		return 1;
	signal(SIGXFSZ, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	setrlimit(RLIMIT_FSIZE, &limit);
	snprintf(path, sizeof path, "%s/old.json", dir);
	if (!xr_description_write(d, path, &err) || err.code != XR_EXIT_USE || !strstr(err.text, "too large"))
		return 2; /* the one before stays */
	if (!access("/dev/full", W_OK) &&
	    (!xr_description_write(d, "/dev/full", &err) || !strstr(err.text, "No space")))
		return 3;
	xr_description_free(d);
	xr_session_free(session);
	/* what cannot be kept is measured all the same */
	snprintf(path, sizeof path, "%s/store", dir);
	if (!(d = xr_description_stored(path, 0, &options, &plan, &err)))
		return 4;
	xr_description_free(d);
	/* a recording that cannot be written is an error */
	snprintf(path, sizeof path, "%s/recording", dir);
	options.record = path;
	session = xr_session_open(&options, &err);
	d = session ? xr_session_measure(session, &plan, NULL, &err) : NULL;
	bool refused = !d && strstr(err.text, "too large");
	xr_session_free(session);
	return refused ? 0 : 5;
}

static void a_full_disk_is_an_error(void **state)
{
	char dir[300], command[1000];
	(void)state;
	snprintf(dir, sizeof dir, "%s/full", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	for (rlim_t most = 0; most <= 600; most += 200) {
		snprintf(command, sizeof command, "rm -rf '%s'; mkdir -m 700 '%s'; echo old > '%s/old.json'", dir, dir,
		         dir);
		assert_int_equal(system(command), 0);
		pid_t child = fork();
		if (!child)
			_exit(on_a_full_disk(most, dir));
		int status = -1;
		assert_int_equal(waitpid(child, &status, 0), child);
		if (status)
			fail_msg("with %d bytes a file: status %#x", (int)most, (unsigned)status);
		/* nothing half-written is left */
		snprintf(
			command, sizeof command,
			"cd '%s' && grep -qx old old.json && test -z \"$(ls -A store)\" && test \"$(ls -A | grep -c new)\" = 0",
			dir);
		assert_int_equal(system(command), 0);
	}
	snprintf(command, sizeof command, "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_can_measure),           cmocka_unit_test(errors_come_back_as_text),
		cmocka_unit_test(a_statement_is_timed_or_refused), cmocka_unit_test(the_listing_is_whole),
		cmocka_unit_test(null_is_no_reason_to_crash),      cmocka_unit_test(two_sessions_live_side_by_side),
		cmocka_unit_test(no_memory_is_an_error),           cmocka_unit_test(a_full_disk_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
