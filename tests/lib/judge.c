/* SPDX-License-Identifier: MIT */
#include "judge.h"
#include "truth.h"
#include "write.h"

#include "micro/micro.h"
#include "micro/table.h"
#include "xray.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Relative and absolute error that a fact of this unit may have. Counts and sizes: none. */
static void tolerance(const char *id, const char *unit, double *relative, double *absolute)
{
	*relative = *absolute = 0;
	if (!strcmp(unit, "cycles")) {
		*relative = 0.02;
		*absolute = 0.1;
	} else if (!strcmp(unit, "Hz")) {
		*relative = 0.02;
	} else if (!strcmp(unit, "ns")) {
		*relative = 0.05;
		*absolute = 1;
	} else if (!strcmp(unit, "s")) {
		*relative = 0.10;
	} else if (!strcmp(unit, "B/s")) {
		*relative = 0.25;
	}
	const char *last = strrchr(id, '.');
	if (last && !strcmp(last, ".in_flight")) /* a quotient of two latencies, rounded */
		*absolute = 0.5;
}

static bool same_number(const char *id, const char *unit, double found, double truth)
{
	double relative, absolute;
	tolerance(id, unit, &relative, &absolute);
	return fabs(found - truth) <= fmax(relative * fabs(truth), absolute) + 1e-9;
}

bool same_value(const char *id, const char *unit, const json_t *found, const json_t *truth)
{
	if (json_is_number(found) && json_is_number(truth))
		return same_number(id, unit, json_number_value(found), json_number_value(truth));
	return json_equal(found, truth);
}

enum verdict judge(const struct xr_machine *machine, const struct xr_fact *fact, bool *sure)
{
	struct xr_truth truth = xr_model_truth_of(machine, fact->id);
	/* What is only below the border of ok is an answer, too, and judged as one; what an engine doubts itself
	 * has 0.5 at most, and is none. */
	bool leans = fact->status == XR_UNRELIABLE && fact->confidence > 0.5;
	bool given = fact->value && (fact->status == XR_OK || leans);
	enum verdict v = NO_TRUTH;
	*sure = fact->status == XR_OK && fact->confidence >= 0.9;
	if (given && !xr_truth_agrees(machine, fact->id, &truth, fact->value))
		v = WRONG; /* also where nothing could be known, or nothing is there: it should have said so */
	else if (truth.kind == XR_TRUTH_VALUE)
		v = given ? RIGHT : MISSED;
	xr_truth_release(&truth);
	return v;
}

enum { MICROS_MAX = 128 };

/* Everything but pictures, which decide nothing and take their time where each access is simulated. */
static size_t all_that_decide(const char *ids[static MICROS_MAX])
{
	size_t n = 0;
	for (size_t i = 0; xr_micro_table[i] && n < MICROS_MAX; i++)
		if (!xr_micro_table[i]->late)
			ids[n++] = xr_micro_table[i]->id;
	return n;
}

struct xr_description *measure_machine(const struct xr_machine *machine, const char *const *select, size_t n_select,
                                       uint64_t seed, struct xr_error *err)
{
	const char *tmp = getenv("TMPDIR");
	char path[4096];
	snprintf(path, sizeof path, "%s/machine.XXXXXX", tmp ? tmp : "/tmp");
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		xr_fail(err, XR_EXIT_USE, "cannot write %s", path);
		return NULL;
	}
	machine_write(machine, file);
	fclose(file);
	struct xr_options options = {.target = path, .cpu = -1, .seed = seed};
	const char *all[MICROS_MAX];
	struct xr_plan plan = {.select = select, .n_select = n_select};
	if (!n_select) {
		plan.select = all;
		plan.n_select = all_that_decide(all);
	}
	struct xr_session *session = xr_session_open(&options, err);
	struct xr_description *d = session ? xr_session_measure(session, &plan, NULL, err) : NULL;
	xr_session_free(session);
	unlink(path);
	return d;
}
