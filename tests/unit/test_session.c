/* The installed header, used as somebody else's program would: nothing of the house but xray.h. */
#include "xray.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_can_measure),
		cmocka_unit_test(errors_come_back_as_text),
		cmocka_unit_test(a_statement_is_timed_or_refused),
		cmocka_unit_test(the_listing_is_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
