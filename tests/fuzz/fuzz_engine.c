/* Control engines must survive whatever readings pass the target's border: each byte of the input spoils some. The first
 * byte picks the machine under it, or none: then every reading is made up. The engines must end, too: the clock of this
 * test is the number of specifications asked for. */
#include "engine/engine.h"
#include "facts/facts.h"
#include "micro/table.h"
#include "target/backend.h"
#include "target/open.h"
#include "util/hash.h"
#include "util/rng.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ASKED_MAX = 20000, ASKED_AFTER = 4000, SAMPLES = 9, MACHINES = 4 };
static const char *const machines[MACHINES] = {NULL, "machines/p6.ini", NULL, "machines/microcontroller.ini"};

struct liar {
	struct xr_target base;
	struct xr_target *honest; /* NULL: there is none */
	const uint8_t *data;
	size_t size, at;
	long asked, asked_after; /* specifications, and calls after the interrupt */
	volatile int interrupt;
	struct xr_rng rng;
};

static unsigned next(struct liar *l)
{
	return l->at < l->size ? l->data[l->at++] : 0;
}

static const double odd[] = {0,    -0.0,  1,   -1, 0.001, 1e-9, 1e9,      1e18, 1e300, -1e300, DBL_MIN,
                             4096, 65536, 0.5, 3,  1e15,  64,   INFINITY, NAN,  100,   2,      1e6};

static void spoil(struct liar *l, struct xr_reading *r)
{
	double *field[] = {&r->ns,         &r->cycles,     &r->median_ns, &r->median_cycles, &r->spread,
	                   &r->nonlinear,  &r->cycle_ns,   &r->waited_ns, &r->look.insns,    &r->look.stack_refs,
	                   &r->look.calls, &r->code_bytes, &r->granule_ns};
	unsigned what = next(l), how = next(l);
	if (what < 192) {
		double x = odd[how % (sizeof odd / sizeof *odd)];
		*field[what % (sizeof field / sizeof *field)] = x;
		if (what & 64)
			r->cycles = r->ns = r->median_cycles = r->median_ns = x;
	} else if (what < 208) {
		r->status = how & 1 ? XR_READ_FAILED : XR_READ_UNSUPPORTED;
		r->reason = how & 2 ? "spoilt" : NULL;
	} else if (what < 216) {
		r->samples = r->samples ? (int)(how % (unsigned)r->samples) : 0;
	} else if (what < 232 && r->samples) {
		((double *)(size_t)r->sample)[how % (unsigned)r->samples] = odd[next(l) % (sizeof odd / sizeof *odd)];
	} else if (what < 240) {
		r->look.looked = how & 1;
		r->bimodal = how & 2;
		r->disturbed = how & 4;
		r->refused = how & 8;
	} else {
		r->cycles *= 1 + how / 16.0;
		r->ns *= 1 + how / 16.0;
	}
}

static void make_up(struct liar *l, struct xr_reading *r)
{
	unsigned how = next(l);
	double cycles = how < 128 ? 1 + how % 16 : exp2((int)(how % 64) - 8) * (1 + xr_rng_unit(&l->rng));
	double *sample = xr_arena_array(&l->base.samples, double, SAMPLES);
	r->cycle_ns = 0.5;
	r->cycles = r->median_cycles = cycles;
	r->ns = r->median_ns = cycles * r->cycle_ns;
	r->code_bytes = 4 + how % 61;
	r->granule_ns = how % 64;
	r->samples = SAMPLES;
	r->sample = sample;
	for (int i = 0; i < SAMPLES; i++)
		sample[i] = cycles * (1 + (how & 1) * xr_rng_unit(&l->rng));
}

/* Simulating takes its time; what was asked once is remembered, by machine and specification. */
enum { MEMORY = 1 << 16 };
static struct {
	uint64_t key;
	struct xr_reading reading;
} memory[MEMORY];

static int ask(struct liar *l, const struct xr_effort *effort, const struct xr_spec *spec, struct xr_reading *out,
               struct xr_error *err)
{
	struct xr_arena scratch = {0};
	const char *text = xr_spec_text(&scratch, spec);
	uint64_t key = xr_hash(l->data[0] % MACHINES + 1, text, strlen(text)) | 1;
	xr_arena_release(&scratch);
	size_t slot = key % MEMORY;
	if (memory[slot].key != key) {
		if (xr_target_time(l->honest, effort, spec, 1, out, err))
			return -1;
		free((void *)(size_t)memory[slot].reading.sample);
		memory[slot].key = key;
		memory[slot].reading = *out;
		memory[slot].reading.reason = out->reason ? "the model's reason" : NULL;
		size_t bytes = (size_t)out->samples * sizeof *out->sample;
		double *copy = malloc(bytes + 1);
		if (!copy)
			abort();
		if (bytes)
			memcpy(copy, out->sample, bytes);
		memory[slot].reading.sample = copy;
	}
	*out = memory[slot].reading;
	out->sample = xr_arena_copy(&l->base.samples, out->sample, (size_t)out->samples * sizeof *out->sample);
	return 0;
}

static int lie(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs, size_t n,
               struct xr_reading *out, struct xr_error *err)
{
	struct liar *l = (struct liar *)target;
	for (size_t i = 0; i < n; i++) {
		if (!l->honest)
			make_up(l, &out[i]);
		else if (ask(l, effort, &specs[i], &out[i], err))
			return -1;
		if (l->at < l->size && !(next(l) & 7))
			spoil(l, &out[i]);
	}
	l->asked += (long)n;
	if (l->asked > ASKED_MAX)
		l->interrupt = 1;
	if (l->interrupt && ++l->asked_after > ASKED_AFTER)
		abort(); /* an engine that does not listen */
	return 0;
}

static const struct xr_backend liars = {.time = lie, .free = xr_target_deinit};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	struct xr_error err;
	struct xr_outcome outcome;
	const char *machine = machines[data[0] % MACHINES];
	struct liar l = {.data = data, .size = size, .at = 3, .rng.state = data[1]};
	static const int cpus[] = {0, 1, 2, 3};
	l.honest = machine ? xr_model_open(machine, data[1], &err) : NULL;
	if (machine && !l.honest)
		abort();
	xr_target_init(&l.base, &liars);
	if (l.honest)
		l.base.info = *xr_target_info(l.honest);
	else
		l.base.info = (struct xr_target_info){.kind = "recorded",
		                                      .name = "liar",
		                                      .cpu = "",
		                                      .compiler = "",
		                                      .cflags = "",
		                                      .os = "",
		                                      .cpu_ids = cpus,
		                                      .n_cpus = 1 + data[0] / 64,
		                                      .can_pin = true,
		                                      .memory_bytes = UINT64_C(1) << (20 + data[1] % 20),
		                                      .page_bytes = UINT64_C(1) << (8 + data[2] % 23),
		                                      .has_flavour = {true, true},
		                                      .kinds = 0x1f};
	const struct xr_plan plan = {.interrupt = &l.interrupt, .quick = data[2] & 1};
	struct xr_description *d = xr_description_new();
	xr_engine_run(&l.base, xr_micro_table, &plan, data[1], NULL, d, &outcome, &err);
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (!isfinite(xr_fact_value(xr_description_at(d, i), 0)))
			abort();
	xr_description_free(d);
	xr_target_free(l.honest);
	xr_target_free(&l.base);
	return 0;
}
