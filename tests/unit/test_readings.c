/* SPDX-License-Identifier: MIT */
/* From raw samples to readings, and from readings to recordings and back. */
#include "nano/ops.h"
#include "target/backend.h"
#include "target/open.h"
#include "target/recording.h"
#include "util/files.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* A target whose samples the test makes up: work of 2 ns an operation, 40 ns to look at the clock, a cycle of 0.5
 * ns. */
struct made_up {
	struct xr_target target;
	double slow_share; /* of samples that are hit and take twice as long */
	double drift;      /* the clock slows down by this share over the rounds */
	bool say_hit;
	int stalled; /* so many rounds at first whose shorter run takes longer than the longer one */
	int round;
};

static int prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	(void)target, (void)effort, (void)specs, (void)n, (void)out, (void)err;
	return 0;
}

static int rounds(struct xr_target *target, const size_t *idx, size_t k, int n, struct xr_raw_list *lists,
                  struct xr_reading *out, struct xr_error *err)
{
	struct made_up *m = (struct made_up *)target;
	(void)out, (void)err;
	for (int r = 0; r < n; r++, m->round++)
		for (size_t j = 0; j < k; j++) {
			double stretch = 1 + m->drift * m->round / 9;
			bool hit = fmod(m->round * 0.37, 1) < m->slow_share;
			double slow = hit ? 2 : 1;
			xr_raw_add(&lists[idx[j]], (struct xr_raw){.long_ns = (40 + 2 * 10000) * stretch * slow,
			                                           .long_ops = 10000,
			                                           .short_ns = (40 + 2 * 2500) * stretch *
			                                                       (m->round < m->stalled ? 10 : 1),
			                                           .short_ops = 2500,
			                                           .ref_ns = 0.5 * stretch,
			                                           .hit = hit && m->say_hit});
		}
	return 0;
}

static void release(struct xr_target *target)
{
	xr_target_deinit(target);
}

static const struct xr_backend backend = {.prepare = prepare, .rounds = rounds, .free = release};

static struct xr_reading reading_of(struct made_up *m)
{
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 1);
	struct xr_reading r;
	xr_target_init(&m->target, &backend);
	assert_int_equal(xr_target_time(&m->target, NULL, &spec, 1, &r, NULL), 0);
	return r;
}

static void two_lengths_cancel_the_clock(void **state)
{
	struct made_up m = {0};
	(void)state;
	struct xr_reading r = reading_of(&m);
	assert_true(fabs(r.ns - 2) < 1e-9);
	assert_true(fabs(r.cycles - 4) < 1e-9);
	assert_true(r.nonlinear < 0.01);
	assert_int_equal(r.samples, 9);
	xr_target_free(&m.target);
}

static void the_reference_cancels_a_drifting_clock(void **state)
{
	struct made_up m = {.drift = 0.3};
	(void)state;
	struct xr_reading r = reading_of(&m);
	assert_true(fabs(r.cycles - 4) < 0.01);
	xr_target_free(&m.target);
}

static void disturbed_samples_do_not_decide(void **state)
{
	struct made_up known = {.slow_share = 0.4, .say_hit = true}, unknown = {.slow_share = 0.6};
	(void)state;
	struct xr_reading r = reading_of(&known);
	assert_true(fabs(r.cycles - 4) < 0.01);
	assert_true(r.dropped > 0);
	xr_target_free(&known.target);
	r = reading_of(&unknown);
	assert_true(fabs(r.cycles - 4) < 0.01);
	assert_true(r.spread > 0.01);
	assert_true(r.samples > 9); /* more rounds, since they disagree */
	xr_target_free(&unknown.target);
}

/* Times less than nothing: more rounds may mend it; when nothing does, there is no reading. */
static void a_time_that_cannot_be_is_asked_for_again(void **state)
{
	struct made_up once = {.stalled = 9}, always = {.stalled = 1000};
	(void)state;
	struct xr_reading r = reading_of(&once);
	assert_int_equal(r.status, XR_READ_OK);
	assert_true(fabs(r.cycles - 4) < 0.01);
	assert_true(r.samples > 9);
	xr_target_free(&once.target);
	r = reading_of(&always);
	assert_int_equal(r.status, XR_READ_FAILED);
	assert_true(*r.reason && always.round == 45);
	xr_target_free(&always.target);
}

static void a_recording_answers_as_the_machine_did(void **state)
{
	struct made_up m = {.slow_share = 0.2};
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 1), other = xr_spec_stream(XR_ADD, XR_I32, 2);
	struct xr_reading was, is;
	struct xr_error err = {0};
	char dir[4000], file[4096];
	(void)state;
	snprintf(dir, sizeof dir, "%s/recording", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	snprintf(file, sizeof file, "%s/machine.ini", dir);
	xr_target_init(&m.target, &backend);
	m.target.info.kind = m.target.info.name = "made up";
	assert_int_equal(xr_target_record(&m.target, dir, &err), 0);
	assert_int_equal(xr_target_time(&m.target, NULL, &spec, 1, &was, &err), 0);
	struct xr_target *replay = xr_target_open(file, NULL, 0, &err);
	assert_non_null(replay);
	assert_int_equal(xr_target_time(replay, NULL, &spec, 1, &is, &err), 0);
	assert_int_equal(is.status, XR_READ_OK);
	assert_true(fabs(is.cycles - was.cycles) < 1e-6 && fabs(is.ns - was.ns) < 1e-6);
	assert_int_equal(is.samples, was.samples);
	for (int i = 0; i < is.samples; i++)
		assert_true(fabs(is.sample[i] - was.sample[i]) < 1e-6);
	assert_int_equal(xr_target_time(replay, NULL, &other, 1, &is, &err), 0);
	assert_int_equal(is.status, XR_READ_FAILED);
	assert_non_null(strstr(is.reason, "add i32 2")); /* says which */
	xr_target_free(replay);
	xr_target_free(&m.target);
	xr_dir_remove(dir);
}

static void write_text(const char *path, const char *text)
{
	assert_int_equal(xr_file_write(path, text, strlen(text)), 0);
}

/* An engine that asks less when it has waited long enough, or when the compiler refused, must do so in the replay. */
static void a_recording_keeps_what_engines_look_at(void **state)
{
	struct made_up m = {0};
	double sample[] = {4, 5, 9};
	struct xr_reading was = {.ns = 2,
	                         .cycles = 4,
	                         .waited_ns = 3e8,
	                         .samples = 3,
	                         .n_disturbed = 1,
	                         .sample = sample,
	                         .disturbed = true,
	                         .look = {.looked = true, .stack_refs = 2},
	                         .code_bytes = 64};
	was.events.counted = true;
	was.events.cache_miss[1] = 0.25;
	struct xr_reading refused = {.status = XR_READ_FAILED, .refused = true, .reason = "no such type"};
	(void)state;
	xr_target_init(&m.target, &backend);
	json_t *json = xr_recording_from_reading(&was);
	struct xr_reading is = xr_recording_to_reading(&m.target, json);
	assert_true(is.status == was.status && is.ns == was.ns && is.cycles == was.cycles &&
	            is.waited_ns == was.waited_ns);
	assert_true(is.disturbed && !is.bimodal && !is.refused && is.look.looked && is.look.stack_refs == 2);
	assert_true(is.n_disturbed == 1 && is.dropped == 0 && is.code_bytes == 64 && is.samples == 3);
	assert_memory_equal(is.sample, sample, sizeof sample);
	assert_true(is.events.counted && is.events.cache_miss[1] == 0.25 && is.events.tlb_miss[1] == 0);
	json_decref(json);
	json = xr_recording_from_reading(&refused);
	is = xr_recording_to_reading(&m.target, json);
	assert_true(is.status == XR_READ_FAILED && is.refused);
	assert_string_equal(is.reason, "no such type");
	json_decref(json);
	xr_target_free(&m.target);
}

static void long_specifications_have_short_names_of_their_own(void **state)
{
	enum { MANY = 400 };
	struct xr_span place[MANY];
	struct xr_arena arena = {0};
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		place[i] = (struct xr_span){.base = 100 * i * i, .stride = 64, .count = 1};
	struct xr_spec spec = xr_spec_cycle((struct xr_buffer){.bytes = 1 << 26}, place, MANY, 1);
	const char *one = xr_recording_key(&arena, &spec), *same = xr_recording_key(&arena, &spec);
	place[MANY - 1].base += 64;
	const char *other = xr_recording_key(&arena, &spec);
	assert_true(strlen(one) < 300);
	assert_string_equal(one, same);
	assert_string_not_equal(one, other);
	xr_arena_release(&arena);
}

static void a_broken_recording_names_file_and_line(void **state)
{
	char dir[4000], ini[4096], lines[4096];
	struct xr_error err = {0};
	(void)state;
	snprintf(dir, sizeof dir, "%s/broken", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	snprintf(ini, sizeof ini, "%s/machine.ini", dir);
	snprintf(lines, sizeof lines, "%s/r", dir);
	assert_int_equal(xr_dir_make(dir), 0);
	write_text(ini, "[target]\nkind = recorded\nreadings = r\n");
	assert_null(xr_target_open(ini, NULL, 0, &err));
	assert_int_equal(err.code, XR_EXIT_USE);
	write_text(lines, "{\"cpus\":[0]}\n{nonsense\n");
	assert_null(xr_target_open(ini, NULL, 0, &err));
	assert_non_null(strstr(err.text, "r:2:"));
	write_text(lines, "");
	assert_null(xr_target_open(ini, NULL, 0, &err));
	write_text(ini, "[target]\nkind = recorded\nreadings = r\ncolour = red\n");
	assert_null(xr_target_open(ini, NULL, 0, &err));
	assert_non_null(strstr(err.text, "colour"));
	xr_dir_remove(dir);
}

static void names_of_operations_and_types_are_exact(void **state)
{
	(void)state;
	for (int i = 0; i < XR_N_OPS; i++)
		assert_int_equal(xr_op_by_name(xr_ops[i].name), i);
	for (int i = 0; i < XR_N_TYPES; i++)
		assert_int_equal(xr_type_by_name(xr_types[i].name), i);
	assert_int_equal(xr_op_by_name("nonsense"), -1);
	assert_int_equal(xr_type_by_name("nonsense"), -1);
	assert_int_equal(xr_op_by_name(""), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_operations_and_types_are_exact),
		cmocka_unit_test(two_lengths_cancel_the_clock),
		cmocka_unit_test(the_reference_cancels_a_drifting_clock),
		cmocka_unit_test(disturbed_samples_do_not_decide),
		cmocka_unit_test(a_time_that_cannot_be_is_asked_for_again),
		cmocka_unit_test(a_recording_answers_as_the_machine_did),
		cmocka_unit_test(a_recording_keeps_what_engines_look_at),
		cmocka_unit_test(long_specifications_have_short_names_of_their_own),
		cmocka_unit_test(a_broken_recording_names_file_and_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
