/* SPDX-License-Identifier: MIT */
#include "start.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct xr_machine machine_of(const char *path)
{
	struct xr_machine m;
	struct xr_error err;
	if (xr_machine_read(&m, path, &err))
		fail_msg("%s", err.text);
	return m;
}

struct xr_machine quiet_machine(const char *path)
{
	struct xr_machine m = machine_of(path);
	m.jitter = m.interrupts_hz = m.drift = 0;
	return m;
}

struct xr_reading time_one(struct xr_target *target, const struct xr_spec *spec)
{
	struct xr_reading out;
	struct xr_error err;
	assert_int_equal(xr_target_time(target, NULL, spec, 1, &out, &err), 0);
	return out;
}

struct xr_description *measure_here(const struct xr_options *options, const char *const *select, size_t n)
{
	struct xr_error err = {0};
	struct xr_session *session = xr_session_open(options, &err);
	if (!session)
		fail_msg("%s", err.text);
	struct xr_plan plan = {.select = select, .n_select = n};
	struct xr_description *d = xr_session_measure(session, &plan, NULL, &err);
	if (!d)
		fail_msg("%s", err.text);
	xr_session_free(session);
	return d;
}

int words_of(const char *text, char **words)
{
	static char copy[4096];
	int n = 0;
	snprintf(copy, sizeof copy, "%s", text);
	for (char *w = strtok(copy, " "); w && n < 256; w = strtok(NULL, " "))
		words[n++] = w;
	return n;
}
