/* Many cores on the machine at hand: the same answers again, in order, or an honest doubt. Never a time. */
#include "xray.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct xr_description *measure(const char *const *select, size_t n)
{
	struct xr_error err = {0};
	struct xr_session *session = xr_session_open(NULL, &err);
	if (!session)
		fail_msg("%s", err.text);
	struct xr_plan plan = {.select = select, .n_select = n};
	struct xr_description *d = xr_session_measure(session, &plan, NULL, &err);
	if (!d)
		fail_msg("%s", err.text);
	xr_session_free(session);
	return d;
}

static double number(const struct xr_description *d, const char *id)
{
	return xr_description_number(d, id, NAN);
}

static void the_time_slot_is_the_same_again(void **state)
{
	(void)state;
	static const char *const slot[] = {"os.timeslice"};
	double low = INFINITY, high = 0;
	for (int i = 0; i < 5; i++) {
		struct xr_description *d = measure(slot, 1);
		double s = number(d, "os.timeslice");
		if (!isnan(s)) {
			low = fmin(low, s);
			high = fmax(high, s);
		}
		xr_description_free(d);
	}
	if (high > 0)
		assert_true(high <= 1.1 * low);
}

static void cores_fit_cpus(void **state)
{
	(void)state;
	static const char *const threads[] = {"threads", "sharing.granule"};
	struct xr_description *d = measure(threads, 2);
	double logical = number(d, "threads.logical"), cores = number(d, "threads.cores"),
	       smt = number(d, "threads.smt");
	double granule = number(d, "sharing.granule");
	assert_true(logical >= 1);
	if (!isnan(cores))
		assert_true(cores >= 1 && cores <= logical);
	if (!isnan(cores) && !isnan(smt))
		assert_true(cores * smt >= logical);
	if (!isnan(granule))
		assert_true(granule >= 16 && granule <= 512 && log2(granule) == floor(log2(granule)));
	for (int i = 0; i < 3; i++) {
		static const char *const ids[] = {"threads.contexts.int", "threads.contexts.fp",
		                                  "threads.contexts.mem"};
		double contexts = number(d, ids[i]);
		if (!isnan(contexts))
			assert_true(contexts >= 1 && contexts <= logical);
	}
	xr_description_free(d);
}

static void one_cpu_says_what_it_cannot_know(void **state)
{
	(void)state;
	static const char *const all[] = {"threads.siblings", "comm", "topology", "sharing.granule", "os.timeslice"};
	cpu_set_t before, one;
	if (sched_getaffinity(0, sizeof before, &before)) {
		skip();
		return;
	}
	CPU_ZERO(&one);
	for (size_t i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &before))
			CPU_SET(i, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
	struct xr_description *d = measure(all, 5);
	sched_setaffinity(0, sizeof before, &before);
	assert_true(number(d, "threads.logical") == 1);
	static const char *const none[] = {"threads.siblings", "comm.latency", "topology.tree", "sharing.granule"};
	for (int i = 0; i < 4; i++) {
		const struct xr_fact *fact = xr_description_fact(d, none[i]);
		assert_non_null(fact);
		assert_int_equal(xr_fact_status(fact), XR_UNSUPPORTED);
		assert_true(strlen(xr_fact_reason(fact)) > 0);
	}
	xr_description_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_time_slot_is_the_same_again),
		cmocka_unit_test(cores_fit_cpus),
		cmocka_unit_test(one_cpu_says_what_it_cannot_know),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
