/* SPDX-License-Identifier: MIT */
/* Control engines must survive whatever readings pass the target's border: each byte of the input spoils some.
 * The first byte picks the machine under it, or none: then every reading is made up. The engines must end, too:
 * after so many specifications, or so much time of thought, the first signal comes, and who does not listen is
 * caught. */
#include "engine/engine.h"
#include "facts/facts.h"
#include "micro/table.h"
#include "target/backend.h"
#include "target/open.h"
#include "util/hash.h"
#include "util/rng.h"

#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ASKED_MAX = 20000, ASKED_AFTER = 4000, SAMPLES = 9, MACHINES = 4, THINK_US = 40000, DEEP = 8, DEAF_S = 20 };
static const char *const machines[MACHINES] = {NULL, "machines/p6.ini", NULL, "machines/microcontroller.ini"};

struct liar {
	struct xr_target base;
	struct xr_target *honest; /* NULL: there is none */
	const uint8_t *data;
	size_t size, at;
	long asked, asked_after; /* specifications, and calls after the interrupt */
	struct xr_rng rng;
};

static volatile int interrupted;

static void on_alarm(int signal)
{
	(void)signal;
	if (interrupted)
		abort(); /* an engine that thinks and thinks */
	interrupted = 1;
}

static void alarm_after(long us, long next_s)
{
	const struct itimerval timer = {.it_value = {.tv_usec = us}, .it_interval = {.tv_sec = next_s}};
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
}

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
		interrupted = 1;
	if (interrupted && ++l->asked_after > ASKED_AFTER)
		abort(); /* an engine that does not listen */
	return 0;
}

static const struct xr_backend liars = {.time = lie, .free = xr_target_deinit};

/* What engines know of one another, as far as they ask: a byte each picks none of it, or a value that one might
 * have found. */
static void tell(struct liar *l, struct xr_description *d)
{
	static const struct {
		const char *id, *unit;
		double least, factor;
		unsigned steps;
	} known[] = {
		{"timer.resolution", "ns", 1, 4, 8},
		{"cpu.frequency", "Hz", 1e6, 10, 5},
		{"noise.lost", "", 0.001, 10, 4},
		{"cache.l1d.capacity", "bytes", 64, 2, 12},
		{"cache.l1d.ways", "count", 1, 2, 8},
		{"cache.l1d.line", "bytes", 8, 2, 7},
		{"cache.l1d.latency", "cycles", 1, 2, 6},
		{"cache.l1i.capacity", "bytes", 64, 2, 12},
		{"cache.l1i.ways", "count", 1, 2, 8},
		{"cache.l1i.line", "bytes", 8, 2, 7},
		{"cache.l1i.miss_penalty", "cycles", 1, 3, 5},
		{"cache.l2.capacity", "bytes", 1024, 3, 12},
		{"cache.l2.ways", "count", 1, 3, 5},
		{"cache.l2.latency", "cycles", 4, 3, 5},
		{"cache.l3.capacity", "bytes", 65536, 3, 8},
		{"cache.l3.latency", "cycles", 20, 2, 5},
		{"cache.levels", "count", 1, 2, 3},
		{"memory.latency", "cycles", 5, 3, 6},
		{"memory.page_size", "bytes", 256, 4, 9},
		{"tlb.d1.entries", "count", 1, 3, 7},
		{"tlb.d1.ways", "count", 1, 3, 6},
		{"tlb.d1.penalty", "cycles", 1, 3, 5},
		{"tlb.d2.entries", "count", 16, 3, 6},
		{"code.unroll_limit", "bytes", 64, 4, 8},
		{"branch.mispredict", "cycles", 1, 3, 5},
		{"threads.logical", "count", 1, 2, 3},
		{"os.timeslice", "s", 1e-4, 10, 4},
		{"threads.smt", "count", 1, 2, 2},
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		unsigned step = next(l);
		if (step % 4 != 3)
			xr_fact_number(d, known[i].id, known[i].least * pow(known[i].factor, step % known[i].steps),
			               known[i].unit, 0.95, "told");
	}
}

/* One micro-benchmark alone: all of them would think for seconds about each input. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	struct xr_error err;
	struct xr_outcome outcome;
	const char *machine = machines[data[0] % MACHINES];
	struct liar l = {.data = data, .size = size, .at = 4, .rng.state = data[1]};
	static const int cpus[] = {0, 1, 2, 3};
	size_t micros = 0;
	while (xr_micro_table[micros])
		micros++;
	struct xr_micro alone = *xr_micro_table[data[3] % micros];
	alone.needs = NULL;
	const struct xr_micro *const table[] = {&alone, NULL};
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
		                                      .kinds = 0x3f};
	const struct xr_plan plan = {.interrupt = &interrupted, .quick = data[2] & 1};
	struct xr_description *d = xr_description_new();
	tell(&l, d);
	interrupted = 0;
	signal(SIGVTALRM, on_alarm);
	alarm_after(data[2] / 16 == 7 ? DEEP * THINK_US : THINK_US, DEAF_S);
	xr_engine_run(&l.base, table, &plan, data[1], NULL, d, &outcome, &err);
	alarm_after(0, 0);
	for (size_t i = 0; i < xr_description_count(d); i++)
		if (!isfinite(xr_fact_value(xr_description_at(d, i), 0)))
			abort();
	xr_description_free(d);
	xr_target_free(l.honest);
	xr_target_free(&l.base);
	return 0;
}
