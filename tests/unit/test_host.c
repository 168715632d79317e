/* SPDX-License-Identifier: MIT */
/* The host target: whatever a specification does, it costs itself and nothing else. Nothing here looks at times. */
#include "nano/emit.h"
#include "target/host/host.h"
#include "target/host/os.h"
#include "target/open.h"
#include "util/files.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static struct xr_spec text(const char *statement)
{
	struct xr_spec spec = xr_spec_stream(XR_TEXT, XR_I32, 1);
	spec.ops.stream[0].text = statement;
	spec.ops.unroll = 8;
	return spec;
}

static struct xr_spec add(int n)
{
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, n);
	spec.ops.unroll = 8;
	return spec;
}

static struct xr_target *open_host(const struct xr_host_options *changed)
{
	struct xr_host_options options = changed ? *changed : (struct xr_host_options){0};
	struct xr_error err = {0};
	options.cpu = -1;
	options.tmp = getenv("TMPDIR");
	struct xr_target *target = xr_host_open(&options, &err);
	if (!target)
		print_error("%s\n", err.text);
	return target;
}

static const struct xr_effort brief = {.samples = 3, .samples_max = 3};

/* Times them until those of `good`, a bit each, have readings: on a busy machine three samples may be none. */
static void time_all(struct xr_target *target, const struct xr_spec *spec, size_t n, unsigned good,
                     struct xr_reading *r)
{
	struct xr_error err = {0};
	unsigned got = ~good;
	for (int tries = 0; tries < 8 && (got & good) != good; tries++) {
		if (xr_target_time(target, &brief, spec, n, r, &err))
			fail_msg("%s", err.text);
		got = 0;
		for (size_t i = 0; i < n; i++)
			got |= (unsigned)(r[i].status == XR_READ_OK) << i;
	}
	for (size_t i = 0; i < n; i++)
		if (good >> i & 1 && r[i].status != XR_READ_OK)
			fail_msg("%zu: %s", i, r[i].reason);
}

static void only_the_guilty_statement_fails(void **state)
{
	struct xr_target *target = open_host(NULL);
	struct xr_spec spec[] = {add(1), text("p0 = p0 +"),   add(2), text("*(volatile int *)0 = p0"),
	                         add(3), text("p0 = p0 ^ p1")};
	struct xr_reading r[6];
	(void)state;
	assert_non_null(target);
	time_all(target, spec, 6, 1 << 0 | 1 << 2 | 1 << 4 | 1 << 5, r);
	assert_int_equal(r[1].status, XR_READ_FAILED);
	assert_true(r[1].refused);
	assert_non_null(strstr(r[1].reason, "error"));
	assert_int_equal(r[3].status, XR_READ_FAILED);
	assert_false(r[3].refused);
	assert_non_null(strstr(r[3].reason, "SIG"));
	xr_target_free(target);
}

static void a_statement_that_never_ends_is_given_up(void **state)
{
	struct xr_target *target = open_host(NULL);
	struct xr_spec spec[] = {text("for (;;) __asm__ volatile(\"\")"), add(1)};
	struct xr_reading r[2];
	(void)state;
	assert_non_null(target);
	time_all(target, spec, 2, 1 << 1, r);
	assert_int_equal(r[0].status, XR_READ_FAILED);
	assert_non_null(strstr(r[0].reason, "did not end"));
	xr_target_free(target);
}

static void the_resident_agent_survives_a_batch_that_kills_its_own(void **state)
{
	struct xr_target *target = open_host(NULL);
	struct xr_error err = {0};
	struct xr_spec bad = text("__builtin_trap()"), clock = {.kind = XR_CLOCK};
	struct xr_reading r;
	(void)state;
	assert_non_null(target);
	assert_int_equal(xr_target_time(target, &brief, &bad, 1, &r, &err), 0);
	assert_int_equal(r.status, XR_READ_FAILED);
	assert_int_equal(xr_target_time(target, &brief, &clock, 1, &r, &err), 0);
	assert_int_equal(r.status, XR_READ_OK);
	assert_true(r.granule_ns > 0);
	xr_target_free(target);
}

/* It does not run for longer than it may be silent: somebody else has its CPU. */
static void an_agent_that_gets_no_time_is_waited_for(void **state)
{
	struct xr_target *target = open_host(NULL);
	struct xr_error err = {0};
	struct xr_spec clock = {.kind = XR_CLOCK};
	struct xr_reading r;
	(void)state;
	assert_non_null(target);
	const pid_t agent = ((struct xr_host *)target)->resident.pid;
	assert_int_equal(kill(agent, SIGSTOP), 0);
	pid_t waker = fork();
	if (!waker) {
		sleep(4);
		kill(agent, SIGCONT);
		_exit(0);
	}
	assert_int_equal(xr_target_time(target, &brief, &clock, 1, &r, &err), 0);
	if (r.status != XR_READ_OK)
		fail_msg("%s", r.reason);
	assert_int_equal(((struct xr_host *)target)->resident.pid, agent);
	waitpid(waker, NULL, 0);
	xr_target_free(target);
}

static void it_goes_on_on_every_cpu(void **state)
{
	struct xr_target *target = open_host(NULL);
	const struct xr_target_info *info = xr_target_info(target);
	struct xr_error err = {0};
	struct xr_spec spec = add(1);
	struct xr_reading r;
	(void)state;
	for (int i = 0; i < info->n_cpus && i < 4 && info->can_pin; i++) {
		assert_int_equal(xr_target_move(target, info->cpu_ids[i], &err), 0);
		assert_int_equal(info->cpu_used, info->cpu_ids[i]);
		time_all(target, &spec, 1, 1, &r);
	}
	xr_target_free(target);
}

static void both_forms_and_a_baked_program_give_readings(void **state)
{
	const struct xr_host_options options[] = {{.form = "switch"}, {.baked = true}, {.runner = "env XR_TRIED=1"}};
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct xr_target *target = open_host(&options[i]);
		struct xr_spec spec[] = {add(1), xr_spec_stream(XR_MUL, XR_F64, 2)};
		struct xr_reading r[2];
		assert_non_null(target);
		time_all(target, spec, 2, 3, r);
		assert_true(r[0].samples >= 1);
		xr_target_free(target);
	}
}

static void a_cache_is_used_again_and_never_trusted_when_others_can_write_it(void **state)
{
	char dir[4096];
	struct xr_host_options options = {.cache = dir};
	struct xr_spec spec = add(5);
	struct xr_reading r;
	(void)state;
	snprintf(dir, sizeof dir, "%s/kept", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	for (int i = 0; i < 2; i++) {
		struct xr_target *target = open_host(&options);
		assert_non_null(target);
		assert_null(xr_target_info(target)->warning);
		time_all(target, &spec, 1, 1, &r);
		assert_true(r.look.looked);
		xr_target_free(target);
	}
	assert_int_equal(chmod(dir, 0777), 0);
	struct xr_target *target = open_host(&options);
	assert_non_null(target);
	assert_non_null(xr_target_info(target)->warning);
	xr_target_free(target);
	xr_dir_remove(dir);
}

static void no_compiler_is_an_error_of_the_target(void **state)
{
	struct xr_host_options options = {.cc = "no-such-compiler", .cpu = -1};
	struct xr_error err = {0};
	(void)state;
	assert_null(xr_host_open(&options, &err));
	assert_int_equal(err.code, XR_EXIT_TARGET);
	assert_non_null(strstr(err.text, "no-such-compiler"));
	options.cc = "cc 'open";
	assert_null(xr_host_open(&options, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
}

/* Nobody is killed for taking more than a limit allows. */
static void memory_stays_within_limits(void **state)
{
	(void)state;
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these need more than any limit */
	pid_t child = fork();
	if (!child) {
		const struct rlimit limit = {512 << 20, 512 << 20};
		_exit(setrlimit(RLIMIT_AS, &limit) != 0 || xr_os_memory() > 256 << 20 || xr_os_memory() < 1 << 20);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
#endif
	assert_true(xr_os_memory() > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_guilty_statement_fails),
		cmocka_unit_test(a_statement_that_never_ends_is_given_up),
		cmocka_unit_test(the_resident_agent_survives_a_batch_that_kills_its_own),
		cmocka_unit_test(an_agent_that_gets_no_time_is_waited_for),
		cmocka_unit_test(it_goes_on_on_every_cpu),
		cmocka_unit_test(both_forms_and_a_baked_program_give_readings),
		cmocka_unit_test(a_cache_is_used_again_and_never_trusted_when_others_can_write_it),
		cmocka_unit_test(memory_stays_within_limits),
		cmocka_unit_test(no_compiler_is_an_error_of_the_target),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
