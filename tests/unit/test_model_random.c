/* SPDX-License-Identifier: MIT */
/* Random machines are legal, the same everywhere, and their truths are what their files say. */
#include "../lib/start.h"

#include "../lib/random.h"
#include "../lib/second.h"
#include "../lib/truth.h"
#include "../lib/write.h"
#include "target/model/model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *written(const struct xr_machine *m)
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	machine_write(m, out);
	fclose(out);
	return text;
}

static void every_random_machine_is_a_legal_file(void **state)
{
	(void)state;
	for (int mix = XR_REALISTIC; mix <= XR_MIXED + 2; mix++)
		for (uint64_t seed = 0; seed < 400; seed++) {
			struct xr_machine m, again;
			struct xr_error err;
			if (mix > XR_MIXED + 1)
				second_machine(&m, seed);
			else if (mix > XR_MIXED)
				xr_machine_wild(&m, seed, (enum xr_noise)(seed % 3));
			else
				xr_machine_random(&m, seed, (enum xr_mix)mix, (enum xr_noise)(seed % 3));
			char *text = written(&m), *second;
			if (xr_machine_parse(&again, "random", text, strlen(text), &err))
				fail_msg("seed %d mix %d: %s", (int)seed, mix, err.text);
			second = written(&again);
			assert_string_equal(text, second);
			free(text);
			free(second);
		}
}

static void the_same_seed_is_the_same_machine(void **state)
{
	(void)state;
	struct xr_machine a, b, c;
	xr_machine_random(&a, 77, XR_MIXED, XR_STANDARD);
	xr_machine_random(&b, 77, XR_MIXED, XR_STANDARD);
	xr_machine_random(&c, 78, XR_MIXED, XR_STANDARD);
	char *x = written(&a), *y = written(&b), *z = written(&c);
	assert_string_equal(x, y);
	assert_string_not_equal(x, z);
	free(x);
	free(y);
	free(z);
}

static void value(const struct xr_machine *m, const char *id, const char *json)
{
	struct xr_truth t = xr_model_truth_of(m, id);
	json_t *want = json_loads(json, JSON_DECODE_ANY, NULL);
	assert_non_null(want);
	if (t.kind != XR_TRUTH_VALUE || !xr_truth_agrees(m, id, &t, want))
		fail_msg("%s: kind %d, not %s", id, (int)t.kind, json);
	json_decref(want);
	xr_truth_release(&t);
}

static void kind(const struct xr_machine *m, const char *id, enum xr_truth_kind want)
{
	struct xr_truth t = xr_model_truth_of(m, id);
	if (t.kind != want)
		fail_msg("%s: kind %d, not %d", id, (int)t.kind, (int)want);
	xr_truth_release(&t);
}

static void truths_follow_the_file(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	kind(&m, "cpu.frequency", XR_TRUTH_UNSAID); /* the clock wanders by 3 % */
	m.drift = 0.01;
	value(&m, "cpu.frequency", "2.8e9");
	value(&m, "op.mul.i32.latency", "3");
	value(&m, "op.div.f64.throughput", "4");
	value(&m, "op.add.i64.throughput", "0.25");
	value(&m, "op.add.f64.in_flight", "8");
	value(&m, "isa.fma.f64", "true");
	value(&m, "isa.simd.width", "64");
	value(&m, "registers.v32", "32");
	value(&m, "units.add.i32", "4");
	value(&m, "cache.levels", "3");
	value(&m, "cache.l1d.capacity", "49152");
	value(&m, "cache.l2.ways", "20");
	value(&m, "cache.l1d.policy", "\"plru\"");
	kind(&m, "cache.l2.policy", XR_TRUTH_HIDDEN); /* its sets cannot be chosen where pages lie anywhere */
	value(&m, "cache.l3.shared_by", "8");
	value(&m, "tlb.d2.entries", "1536");
	value(&m, "tlb.i1.ways", "8");
	value(&m, "threads.siblings", "[[0,8],[1,9],[2,10],[3,11],[4,12],[5,13],[6,14],[7,15]]");
	value(&m, "threads.contexts.fp", "8");
	value(&m, "os.timeslice", "0.003");
	kind(&m, "op.sub.i32.latency", XR_TRUTH_ABSENT);
	kind(&m, "cache.l1d.index", XR_TRUTH_HIDDEN);
	value(&m, "cache.l2.index", "\"physical\"");
	kind(&m, "cache.l3.ways", XR_TRUTH_VALUE);
	kind(&m, "cache.l3.capacity", XR_TRUTH_VALUE);
	kind(&m, "cache.l4.ways", XR_TRUTH_ABSENT);
	kind(&m, "code.uop_cache", XR_TRUTH_UNSAID);

	m = machine_of("machines/microcontroller.ini");
	value(&m, "op.add.f32.latency", "110");
	value(&m, "isa.fpu.f32", "false");
	kind(&m, "registers.v16", XR_TRUTH_ABSENT);
	kind(&m, "memory.page_size", XR_TRUTH_ABSENT);
	kind(&m, "os.timeslice", XR_TRUTH_ABSENT);
	kind(&m, "tlb.d1.entries", XR_TRUTH_ABSENT);
}

static void agreeing_knows_nothing_from_something(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	struct xr_truth t = xr_model_truth_of(&m, "cache.l1d.index");
	json_t *right = json_string("virtual"), *wrong = json_string("physical");
	assert_true(xr_truth_agrees(&m, "cache.l1d.index", &t, NULL));
	assert_true(xr_truth_agrees(&m, "cache.l1d.index", &t, right));
	assert_false(xr_truth_agrees(&m, "cache.l1d.index", &t, wrong));
	json_decref(right);
	json_decref(wrong);
	xr_truth_release(&t);
	m.cache[0].ways = 2;
	m.cache[0].capacity = 64 * 64 * 2;
	t = xr_model_truth_of(&m, "cache.l1d.policy");
	right = json_string("lru");
	wrong = json_string("fifo");
	assert_true(xr_truth_agrees(&m, "cache.l1d.policy", &t, right)); /* two ways: the same as plru */
	assert_false(xr_truth_agrees(&m, "cache.l1d.policy", &t, wrong));
	json_decref(right);
	json_decref(wrong);
	xr_truth_release(&t);
}

static void count_one(void *self, const char *id)
{
	(void)id;
	++*(int *)self;
}

static void a_full_run_has_something_to_find(void **state)
{
	(void)state;
	struct xr_machine m = machine_of("machines/server.ini");
	int n = 0;
	xr_model_truth_ids(&m, count_one, &n);
	assert_true(n > 150);
}

/* Whatever the machine, questions get answers: no crash, no NaN, no endless walk. */
static void any_machine_answers_any_question(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct xr_machine m;
		struct xr_error err;
		xr_machine_wild(&m, seed, XR_HOSTILE);
		struct xr_target *t = xr_model_open_machine(&m, seed);
		struct xr_span dense = {0, 64, 3000}, pages = {0, 65536 + 64, 60}, block = {0, 128, 500};
		struct xr_buffer b = {1, 4 << 20, XR_ANY};
		struct xr_spec spec[8] = {{.kind = XR_CLOCK},
		                          xr_spec_stream(XR_ADD, XR_I32, 40),
		                          xr_spec_stream(XR_FMA, XR_F64, 9),
		                          xr_spec_cycle(b, &dense, 1, 3),
		                          xr_spec_cycle(b, &pages, 1, 0)};
		spec[5] = spec[3];
		spec[5].chain.phase[0].access = XR_WRITE;
		spec[6] = (struct xr_spec){.kind = XR_WALK};
		spec[6].walk = (struct xr_walk_spec){
			.kind = XR_JUMPS, .bytes = 1 << 20, .span = &block, .n_spans = 1, .seed = 1};
		struct xr_member member[2] = {{0, &spec[1]}, {m.cores * m.smt - 1, &spec[3]}};
		spec[7] = (struct xr_spec){.kind = XR_TEAM};
		spec[7].team = (struct xr_team_spec){.kind = XR_TOGETHER, .member = member, .n_members = 2};
		struct xr_reading r[8];
		assert_int_equal(xr_target_time(t, NULL, spec, 8, r, &err), 0);
		for (int i = 0; i < 8; i++) {
			if (r[i].status == XR_READ_OK && !(r[i].ns > 0 && r[i].ns < 1e9))
				fail_msg("%s: specification %d took %g ns", m.name, i, r[i].ns);
			if (r[i].status != XR_READ_OK && !r[i].reason)
				fail_msg("%s: specification %d has no reason", m.name, i);
		}
		xr_target_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_random_machine_is_a_legal_file),
		cmocka_unit_test(the_same_seed_is_the_same_machine),
		cmocka_unit_test(truths_follow_the_file),
		cmocka_unit_test(agreeing_knows_nothing_from_something),
		cmocka_unit_test(a_full_run_has_something_to_find),
		cmocka_unit_test(any_machine_answers_any_question),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
