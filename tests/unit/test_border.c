/* SPDX-License-Identifier: MIT */
/* What no machine could have said goes no further than the target's border, whoever said it. */
#include "engine/statement.h"
#include "facts/facts.h"
#include "target/backend.h"
#include "target/border.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static const struct xr_raw fair = {
	.long_ns = 20040, .long_ops = 10000, .short_ns = 5040, .short_ops = 2500, .ref_ns = 0.5};

/* A target that gives one sample, over and over. */
struct stubborn {
	struct xr_target target;
	struct xr_raw raw;
	struct xr_reading whole; /* or this, as recordings do */
};

static int prepare(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                   struct xr_reading *out, struct xr_error *err)
{
	(void)target, (void)effort, (void)err;
	for (size_t i = 0; i < n; i++)
		out[i].code_bytes = specs[i].kind == XR_WALK ? 4 : 0;
	return 0;
}

static int rounds(struct xr_target *target, const size_t *idx, size_t k, int n, struct xr_raw_list *lists,
                  struct xr_reading *out, struct xr_error *err)
{
	(void)out, (void)err;
	for (int r = 0; r < n; r++)
		for (size_t j = 0; j < k; j++)
			xr_raw_add(&lists[idx[j]], ((struct stubborn *)target)->raw);
	return 0;
}

static int whole(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
                 struct xr_reading *out, struct xr_error *err)
{
	(void)effort, (void)specs, (void)err;
	for (size_t i = 0; i < n; i++)
		out[i] = ((struct stubborn *)target)->whole;
	return 0;
}

static const struct xr_backend samples = {.prepare = prepare, .rounds = rounds, .free = xr_target_deinit};
static const struct xr_backend readings = {.time = whole, .free = xr_target_deinit};

static struct xr_reading of_raw(struct xr_spec spec, struct xr_raw raw)
{
	struct stubborn s = {.raw = raw};
	struct xr_reading r;
	xr_target_init(&s.target, &samples);
	assert_int_equal(xr_target_time(&s.target, NULL, &spec, 1, &r, NULL), 0);
	if (r.status != XR_READ_OK)
		assert_true(r.reason && *r.reason);
	r.sample = NULL;
	xr_target_free(&s.target);
	return r;
}

static struct xr_reading of_whole(struct xr_spec spec, struct xr_reading reading)
{
	struct stubborn s = {.whole = reading};
	struct xr_reading r;
	xr_target_init(&s.target, &readings);
	assert_int_equal(xr_target_time(&s.target, NULL, &spec, 1, &r, NULL), 0);
	if (r.status != XR_READ_OK)
		assert_true(r.reason && *r.reason);
	xr_target_free(&s.target);
	return r;
}

static void good_samples_pass(void **state)
{
	(void)state;
	struct xr_reading r = of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), fair);
	assert_int_equal(r.status, XR_READ_OK);
	assert_true(fabs(r.cycles - 4) < 1e-9);
}

static void samples_that_cannot_be_are_turned_away(void **state)
{
	const double odd[] = {NAN, INFINITY, -INFINITY, -1, 1e300};
	(void)state;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		for (size_t field = 0; field < 5; field++) {
			struct xr_raw raw = fair;
			double *at[] = {&raw.long_ns, &raw.long_ops, &raw.short_ns, &raw.short_ops, &raw.ref_ns};
			*at[field] = odd[i];
			assert_int_equal(of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), raw).status, XR_READ_FAILED);
		}
	struct xr_raw same = fair, no_reference = fair;
	same.short_ops = same.long_ops; /* would be divided by */
	no_reference.ref_ns = 0;
	assert_int_equal(of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), same).status, XR_READ_FAILED);
	assert_int_equal(of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), no_reference).status, XR_READ_FAILED);
}

/* One that is removed by the compiler takes a little less than nothing as often as a little more. */
static void next_to_nothing_is_the_least_time_and_in_doubt(void **state)
{
	struct xr_raw raw = fair;
	(void)state;
	raw.long_ns = raw.short_ns - 1;
	struct xr_reading r = of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), raw);
	assert_int_equal(r.status, XR_READ_OK);
	assert_true(r.cycles > 0 && r.cycles < 0.01 && r.ns > 0 && r.median_cycles > 0);
	assert_true(r.spread >= 1);
	raw.long_ns = raw.short_ns - 4000;
	r = of_raw(xr_spec_stream(XR_ADD, XR_I32, 1), raw);
	assert_int_equal(r.status, XR_READ_FAILED);
	assert_non_null(strstr(r.reason, "less time"));
}

/* So many samples that are good, so many that are not: the good ones decide. */
static void the_rest_of_the_samples_counts(void **state)
{
	struct xr_raw bad = fair;
	struct xr_spec spec = xr_spec_stream(XR_ADD, XR_I32, 1);
	(void)state;
	bad.ref_ns = NAN;
	assert_true(xr_border_raw(&spec, &fair));
	assert_false(xr_border_raw(&spec, &bad));
}

static void recorded_readings_pass_the_same_border(void **state)
{
	static double sample[] = {4, 4, 5};
	const struct xr_reading good = {.ns = 2,
	                                .cycles = 4,
	                                .median_ns = 2,
	                                .median_cycles = 4,
	                                .cycle_ns = 0.5,
	                                .samples = 3,
	                                .sample = sample};
	const double odd[] = {NAN, INFINITY, -1, 1e300};
	struct xr_spec add = xr_spec_stream(XR_ADD, XR_I32, 1);
	struct xr_reading r;
	(void)state;
	assert_int_equal(of_whole(add, good).status, XR_READ_OK);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		for (size_t field = 0; field < 11; field++) {
			r = good;
			double *at[] = {&r.ns,         &r.cycles,         &r.cycle_ns,
			                &r.median_ns,  &r.median_cycles,  &r.code_bytes,
			                &r.granule_ns, &r.waited_ns,      &r.look.insns,
			                &r.look.calls, &r.look.stack_refs};
			*at[field] = odd[i];
			if (!(odd[i] == -1 && (field == 3 || field == 4))) /* medians are evened out */
				assert_int_equal(of_whole(add, r).status, XR_READ_FAILED);
		}
	r = good;
	r.samples = INT_MIN;
	assert_int_equal(of_whole(add, r).status, XR_READ_FAILED);
	r = good;
	r.n_disturbed = 4;
	assert_int_equal(of_whole(add, r).status, XR_READ_FAILED);
	r = good;
	r.events.tlb_miss[1] = NAN;
	assert_int_equal(of_whole(add, r).status, XR_READ_FAILED);
	sample[1] = INFINITY;
	assert_int_equal(of_whole(add, good).status, XR_READ_FAILED);
	sample[1] = 4;
	r = (struct xr_reading){.status = XR_READ_UNSUPPORTED};
	assert_non_null(of_whole(add, r).reason);
}

/* Engines divide by how long a statement is. */
static void code_has_a_length(void **state)
{
	struct xr_span span = {.count = 4, .stride = 64};
	struct xr_spec walk = {.kind = XR_WALK, .walk = {.bytes = 4096, .span = &span, .n_spans = 1}};
	struct xr_reading r = {.ns = 2, .cycles = 4, .median_ns = 2, .median_cycles = 4, .cycle_ns = 0.5};
	(void)state;
	assert_int_equal(of_whole(walk, r).status, XR_READ_FAILED);
	r.code_bytes = 4;
	assert_int_equal(of_whole(walk, r).status, XR_READ_OK);
}

static void machines_that_cannot_be_are_turned_away(void **state)
{
	int cpu[] = {0, 1};
	const struct xr_target_info good = {.cpu_ids = cpu, .n_cpus = 2, .memory_bytes = 1 << 30, .page_bytes = 4096};
	struct xr_target_info info = good;
	struct xr_error err;
	(void)state;
	assert_int_equal(xr_border_info(&info, &err), 0);
	info.page_bytes = 4097;
	assert_int_equal(xr_border_info(&info, &err), -1);
	info = good;
	info.memory_bytes = UINT64_MAX;
	assert_int_equal(xr_border_info(&info, &err), -1);
	info = good;
	info.cpu_quota = NAN;
	assert_int_equal(xr_border_info(&info, &err), -1);
	cpu[1] = -3;
	assert_int_equal(xr_border_info(&good, &err), -1);
}

enum { TWIN = 11 }; /* the loop around nothing comes after 1 to 14 streams */

/* Times of a statement whose samples disagree are told, and doubted. */
static int scattered(struct xr_target *target, const size_t *idx, size_t k, int n, struct xr_raw_list *lists,
                     struct xr_reading *out, struct xr_error *err)
{
	(void)target, (void)out, (void)err;
	for (int r = 0; r < n; r++)
		for (size_t j = 0; j < k; j++) {
			struct xr_raw raw = fair;
			raw.long_ns *= 1 + 0.1 * (r % 5);
			if (idx[j] == TWIN) {
				raw.long_ns /= 100;
				raw.short_ns /= 100;
			}
			xr_raw_add(&lists[idx[j]], raw);
		}
	return 0;
}

static void statements_of_scattered_samples_are_doubted(void **state)
{
	static const struct xr_backend noisy = {.prepare = prepare, .rounds = scattered, .free = xr_target_deinit};
	const struct xr_statement statement = {.text = "p0 = p0 + p1"};
	const struct xr_plan plan = {0};
	struct stubborn s = {0};
	struct xr_outcome outcome;
	struct xr_error err = {0};
	(void)state;
	xr_target_init(&s.target, &noisy);
	s.target.info = (struct xr_target_info){.kind = "recorded",
	                                        .name = "noisy",
	                                        .cpu = "",
	                                        .compiler = "",
	                                        .cflags = "",
	                                        .os = "",
	                                        .kinds = 1u << XR_OPS | 1u << XR_CLOCK,
	                                        .has_flavour = {true, true}};
	struct xr_description *d = xr_description_new();
	assert_int_equal(xr_statement_run(&s.target, &statement, &plan, 0, d, &outcome, &err), 0);
	const struct xr_fact *latency = xr_description_fact(d, "statement.latency");
	assert_non_null(latency);
	assert_int_equal(xr_fact_status(latency), XR_UNRELIABLE);
	assert_non_null(strstr(xr_fact_reason(latency), "samples differ"));
	xr_description_free(d);
	xr_target_free(&s.target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_samples_pass),
		cmocka_unit_test(samples_that_cannot_be_are_turned_away),
		cmocka_unit_test(next_to_nothing_is_the_least_time_and_in_doubt),
		cmocka_unit_test(the_rest_of_the_samples_counts),
		cmocka_unit_test(recorded_readings_pass_the_same_border),
		cmocka_unit_test(code_has_a_length),
		cmocka_unit_test(machines_that_cannot_be_are_turned_away),
		cmocka_unit_test(statements_of_scattered_samples_are_doubted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
