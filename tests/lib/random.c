/* SPDX-License-Identifier: MIT */
/* Random machines, by seed.
 *
 * Realistic: a template of a known core with one or two fields moved. Uniform: every field drawn from its legal range,
 * as long as the machine makes sense as a whole (levels grow outwards, latencies too). Adversarial: a realistic machine
 * with one trap that broke a published method: a direct-mapped first level, ways of the outer level smaller than the
 * inner one, a TLB that reaches less far than the first cache, random replacement, a clock of a microsecond, and so on.
 */
#include "random.h"
#include "habits.h"

#include "util/rng.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(rng, array) ((array)[xr_rng_below((rng), COUNT(array))])

static uint64_t between(struct xr_rng *rng, uint64_t lo, uint64_t hi)
{
	return lo + xr_rng_below(rng, hi - lo + 1);
}

static bool chance(struct xr_rng *rng, double p)
{
	return xr_rng_unit(rng) < p;
}

/* ---- pieces ---- */

static void set_op(struct xr_machine *m, enum xr_op op, int class, double latency, double busy, const char *unit)
{
	struct xr_machine_op *o = &m->class_op[op][class];
	*o = (struct xr_machine_op){.there = true, .latency = latency, .busy = busy};
	snprintf(o->unit_name, sizeof o->unit_name, "%s", unit);
}

static void set_units(struct xr_machine *m, int alu, int mul, int fp, int div, int mem)
{
	static const char *const names[] = {"alu", "mul", "fp", "div", "mem"};
	const int counts[] = {alu, mul, fp, div, mem};
	m->n_units = 5;
	for (int i = 0; i < 5; i++) {
		snprintf(m->unit[i].name, sizeof m->unit[i].name, "%s", names[i]);
		m->unit[i].count = counts[i];
	}
}

/* ---- templates: latency of add/mul/fadd/fmul/fma, geometry of caches and TLBs as published ---- */

struct template
{
	double mhz;
	int width, alu, mul, fp, mem, registers_int, registers_fp, vector, vector_bytes;
	double imul, fadd, fmul, fma; /* fma 0: none */
	uint64_t l1_sets, l1_ways, line;
	double l1_latency;
	uint64_t l1i_sets, l1i_ways;
	uint64_t l2_sets, l2_ways;
	double l2_latency;
	uint64_t l3_sets, l3_ways; /* 0: no third level */
	double l3_latency, memory;
	uint64_t d1, d1_ways, d2, d2_ways, i1, i1_ways; /* ways 0: full */
	double d1_penalty, walk;
	double mispredict;
};

static const struct template templates[] = {
	{/* like Ice Lake-SP */
         .mhz = 3500,      .width = 5,          .alu = 4,           .mul = 1,        .fp = 2,
         .mem = 2,         .registers_int = 14, .registers_fp = 16, .vector = 32,    .vector_bytes = 64,
         .imul = 3,        .fadd = 4,           .fmul = 4,          .fma = 4,        .l1_sets = 64,
         .l1_ways = 12,    .line = 64,          .l1_latency = 5,    .l1i_sets = 64,  .l1i_ways = 8,
         .l2_sets = 1024,  .l2_ways = 20,       .l2_latency = 14,   .l3_sets = 8192, .l3_ways = 12,
         .l3_latency = 70, .memory = 280,       .d1 = 64,           .d1_ways = 4,    .d1_penalty = 7,
         .d2 = 2048,       .d2_ways = 16,       .walk = 40,         .i1 = 128,       .i1_ways = 8,
         .mispredict = 17},
	{/* like Sapphire Rapids */
         .mhz = 3200,      .width = 6,          .alu = 5,           .mul = 1,         .fp = 2,
         .mem = 3,         .registers_int = 14, .registers_fp = 16, .vector = 32,     .vector_bytes = 64,
         .imul = 3,        .fadd = 3,           .fmul = 4,          .fma = 4,         .l1_sets = 64,
         .l1_ways = 12,    .line = 64,          .l1_latency = 5,    .l1i_sets = 64,   .l1i_ways = 8,
         .l2_sets = 2048,  .l2_ways = 16,       .l2_latency = 15,   .l3_sets = 16384, .l3_ways = 15,
         .l3_latency = 75, .memory = 320,       .d1 = 96,           .d1_ways = 6,     .d1_penalty = 7,
         .d2 = 2048,       .d2_ways = 16,       .walk = 40,         .i1 = 256,        .i1_ways = 8,
         .mispredict = 18},
	{/* like Zen 3 */
         .mhz = 3600,      .width = 6,          .alu = 4,           .mul = 1,         .fp = 2,
         .mem = 3,         .registers_int = 14, .registers_fp = 16, .vector = 16,     .vector_bytes = 32,
         .imul = 3,        .fadd = 3,           .fmul = 3,          .fma = 4,         .l1_sets = 64,
         .l1_ways = 8,     .line = 64,          .l1_latency = 4,    .l1i_sets = 64,   .l1i_ways = 8,
         .l2_sets = 1024,  .l2_ways = 8,        .l2_latency = 12,   .l3_sets = 32768, .l3_ways = 16,
         .l3_latency = 46, .memory = 250,       .d1 = 64,           .d1_penalty = 8,  .d2 = 2048,
         .d2_ways = 8,     .walk = 36,          .i1 = 64,           .mispredict = 14},
	{/* like Zen 4 */
         .mhz = 4500,      .width = 6,          .alu = 4,           .mul = 1,         .fp = 2,
         .mem = 3,         .registers_int = 14, .registers_fp = 16, .vector = 32,     .vector_bytes = 32,
         .imul = 3,        .fadd = 3,           .fmul = 3,          .fma = 4,         .l1_sets = 64,
         .l1_ways = 8,     .line = 64,          .l1_latency = 4,    .l1i_sets = 64,   .l1i_ways = 8,
         .l2_sets = 2048,  .l2_ways = 8,        .l2_latency = 14,   .l3_sets = 32768, .l3_ways = 16,
         .l3_latency = 50, .memory = 300,       .d1 = 72,           .d1_penalty = 8,  .d2 = 3072,
         .d2_ways = 12,    .walk = 36,          .i1 = 64,           .mispredict = 14},
	{/* like Neoverse N1 */
         .mhz = 2600,     .width = 4,          .alu = 3,           .mul = 1,        .fp = 2,
         .mem = 2,        .registers_int = 28, .registers_fp = 32, .vector = 32,    .vector_bytes = 16,
         .imul = 2,       .fadd = 2,           .fmul = 3,          .fma = 4,        .l1_sets = 256,
         .l1_ways = 4,    .line = 64,          .l1_latency = 4,    .l1i_sets = 256, .l1i_ways = 4,
         .l2_sets = 2048, .l2_ways = 8,        .l2_latency = 11,   .memory = 230,   .d1 = 48,
         .d1_penalty = 5, .d2 = 1280,          .d2_ways = 5,       .walk = 30,      .i1 = 48,
         .mispredict = 11},
	{/* like a small in-order core */
         .mhz = 1000,         .width = 2,         .alu = 2,           .mul = 1,        .fp = 1,         .mem = 1,
         .registers_int = 28, .registers_fp = 32, .vector_bytes = 16, .imul = 3,       .fadd = 4,       .fmul = 4,
         .l1_sets = 128,      .l1_ways = 4,       .line = 64,         .l1_latency = 3, .l1i_sets = 256, .l1i_ways = 2,
         .l2_sets = 512,      .l2_ways = 8,       .l2_latency = 12,   .memory = 110,   .d1 = 32,        .d1_penalty = 6,
         .d2 = 512,           .d2_ways = 4,       .walk = 30,         .i1 = 16,        .mispredict = 8},
	{/* like P6 */
         .mhz = 1000,        .width = 3,        .alu = 2,           .mul = 1,        .fp = 1,         .mem = 1,
         .registers_int = 6, .registers_fp = 8, .vector_bytes = 16, .imul = 4,       .fadd = 3,       .fmul = 5,
         .l1_sets = 128,     .l1_ways = 4,      .line = 32,         .l1_latency = 3, .l1i_sets = 128, .l1i_ways = 4,
         .l2_sets = 2048,    .l2_ways = 4,      .l2_latency = 12,   .memory = 120,   .d1 = 64,        .d1_ways = 4,
         .d1_penalty = 20,   .i1 = 32,          .i1_ways = 4,       .mispredict = 12},
	{/* like a PowerPC of the 2000s */
         .mhz = 1800,    .width = 4,          .alu = 2,           .mul = 1,        .fp = 2,
         .mem = 2,       .registers_int = 28, .registers_fp = 32, .vector = 32,    .vector_bytes = 16,
         .imul = 5,      .fadd = 6,           .fmul = 6,          .fma = 6,        .l1_sets = 128,
         .l1_ways = 2,   .line = 128,         .l1_latency = 3,    .l1i_sets = 512, .l1i_ways = 1,
         .l2_sets = 512, .l2_ways = 8,        .l2_latency = 13,   .memory = 220,   .d1 = 128,
         .d1_ways = 4,   .d1_penalty = 12,    .d2 = 1024,         .d2_ways = 4,    .walk = 60,
         .i1 = 128,      .i1_ways = 4,        .mispredict = 16},
};

static void set_costs(struct xr_machine *m, const struct template *t)
{
	static const enum xr_op simple[] = {XR_ADD, XR_SUB, XR_AND, XR_OR, XR_XOR, XR_SHL, XR_SHR, XR_MIN};
	for (size_t i = 0; i < COUNT(simple); i++)
		set_op(m, simple[i], XR_CLASS_INT, 1, 1, "alu");
	set_op(m, XR_MUL, XR_CLASS_INT, t->imul, 1, "mul");
	set_op(m, XR_DIV, XR_CLASS_INT, 12, 6, "div");
	set_op(m, XR_MOD, XR_CLASS_INT, 14, 6, "div");
	set_op(m, XR_ADD, XR_CLASS_FP, t->fadd, 1, "fp");
	set_op(m, XR_SUB, XR_CLASS_FP, t->fadd, 1, "fp");
	set_op(m, XR_MUL, XR_CLASS_FP, t->fmul, 1, "fp");
	set_op(m, XR_DIV, XR_CLASS_FP, 13, 4, "div");
	set_op(m, XR_SQRT, XR_CLASS_FP, 18, 6, "div");
	if (t->fma > 0) {
		set_op(m, XR_FMA, XR_CLASS_FP, t->fma, 1, "fp");
		m->fma_said[XR_F32] = m->fma_said[XR_F64] = m->fma[XR_F32] = m->fma[XR_F64] = 1;
	}
}

static void from_template(struct xr_machine *m, const struct template *t, struct xr_rng *rng)
{
	static const int inner[] = {XR_LRU, XR_PLRU, XR_PLRU, XR_NRU};
	static const int outer[] = {XR_LRU, XR_PLRU, XR_NRU, XR_SRRIP, XR_SRRIP};
	m->mhz = t->mhz;
	m->width = t->width;
	set_units(m, t->alu, t->mul, t->fp, 1, t->mem);
	m->registers_int = t->registers_int;
	m->registers_fp = t->registers_fp;
	m->registers_vector = t->vector;
	m->vector_bytes = t->vector_bytes;
	set_costs(m, t);
	xr_machine_add_cache(m, "l1d", XR_HOLDS_DATA, t->l1_ways, t->l1_sets, t->line, t->l1_latency, PICK(rng, inner),
	                     XR_VIRTUAL);
	xr_machine_add_cache(m, "l1i", XR_HOLDS_CODE, t->l1i_ways, t->l1i_sets, t->line, t->l1_latency,
	                     PICK(rng, inner), XR_VIRTUAL);
	xr_machine_add_cache(m, "l2", XR_HOLDS_BOTH, t->l2_ways, t->l2_sets, t->line, t->l2_latency, PICK(rng, outer),
	                     XR_PHYSICAL);
	if (t->l3_sets) {
		xr_machine_add_cache(m, "l3", XR_HOLDS_BOTH, t->l3_ways, t->l3_sets, t->line, t->l3_latency,
		                     PICK(rng, outer), XR_PHYSICAL);
		m->cache[m->n_caches - 1].shared_by = 4;
		m->cache[m->n_caches - 1].hash = 1;
	}
	m->memory_latency = t->memory;
	xr_machine_add_tlb(m, "d1", XR_HOLDS_DATA, t->d1, t->d1_ways, t->d1_penalty, XR_LRU);
	if (t->d2)
		xr_machine_add_tlb(m, "d2", XR_HOLDS_BOTH, t->d2, t->d2_ways, t->walk, XR_LRU);
	xr_machine_add_tlb(m, "i1", XR_HOLDS_CODE, t->i1, t->i1_ways, t->d1_penalty, XR_LRU);
	m->mispredict = t->mispredict;
	m->prefetch_adjacent = chance(rng, 0.5);
	m->prefetch_stride = chance(rng, 0.7);
	m->prefetch_stream = chance(rng, 0.7);
	m->cores = t->l3_sets ? 4 : 2;
	m->smt = t->width >= 4 && chance(rng, 0.5) ? 2 : 1;
	snprintf(m->shared_names, sizeof m->shared_names, "alu fp mul div mem");
}

/* Moves one field of a realistic machine. */
static void perturb(struct xr_machine *m, struct xr_rng *rng)
{
	static const uint64_t odd_ways[] = {3, 5, 6, 8, 10, 11, 12, 15, 16, 20, 24};
	static const double timeslices[] = {1, 3, 4, 6, 10, 100};
	struct xr_machine_cache *l1 = &m->cache[0], *l2 = &m->cache[2];
	uint64_t sets;
	switch (between(rng, 0, 9)) {
	case 0:
		sets = xr_machine_sets(l1);
		l1->ways = PICK(rng, odd_ways);
		l1->capacity = sets * l1->ways * l1->line_bytes;
		break;
	case 1:
		sets = xr_machine_sets(l2);
		l2->ways = PICK(rng, odd_ways);
		l2->capacity = sets * l2->ways * l2->line_bytes;
		break;
	case 2:
		l1->latency = (double)between(rng, 2, 6);
		break;
	case 3:
		l2->latency = (double)between(rng, 10, 25);
		break;
	case 4:
		m->memory_latency = (double)between(rng, 150, 400);
		break;
	case 5:
		m->registers_int = (int)between(rng, 5, 30);
		break;
	case 6:
		m->unit[0].count = (int)between(rng, 1, (uint64_t)m->width);
		break;
	case 7:
		m->timeslice_ms = PICK(rng, timeslices);
		break;
	case 8:
		m->mhz = (double)between(rng, 600, 5200);
		break;
	default:
		m->tlb[0].entries = (uint64_t)16 << between(rng, 0, 3);
		m->tlb[0].ways = (uint64_t)1 << between(rng, 1, 4);
		break;
	}
	if (l2->capacity < l1->capacity * 2) {
		l2->capacity = xr_machine_ways(l2) * l2->line_bytes * xr_machine_sets(l1) * 4;
	}
}

/* ---- uniform ---- */

static void uniform(struct xr_machine *m, struct xr_rng *rng)
{
	static const uint64_t lines[] = {16, 32, 64, 64, 128};
	static const uint64_t ways[] = {1, 2, 3, 4, 4, 5, 6, 8, 8, 10, 11, 12, 15, 16, 20, 24};
	struct template t = templates[between(rng, 0, COUNT(templates) - 1)];
	t.mhz = (double)between(rng, 300, 5500);
	t.width = (int)between(rng, 1, 6);
	t.alu = (int)between(rng, 1, (uint64_t)t.width);
	t.fp = (int)between(rng, 1, t.width > 2 ? 2 : 1);
	t.mem = (int)between(rng, 1, t.width > 2 ? 3 : 1);
	t.imul = (double)between(rng, 2, 7);
	t.fadd = (double)between(rng, 2, 8);
	t.fmul = (double)between(rng, 2, 8);
	t.fma = chance(rng, 0.5) ? t.fmul + (double)between(rng, 0, 1) : 0;
	t.registers_int = (int)between(rng, 5, 31);
	t.registers_fp = (int)between(rng, 6, 32);
	t.line = PICK(rng, lines);
	t.l1_ways = PICK(rng, ways);
	t.l1_sets = (uint64_t)1 << between(rng, 4, 8);
	while (t.l1_sets * t.l1_ways * t.line < 4096)
		t.l1_sets *= 2;
	while (t.l1_sets * t.line > 16384)
		t.l1_sets /= 2; /* a way not much larger than a page */
	t.l1_latency = (double)between(rng, 2, 6);
	t.l1i_ways = (uint64_t)1 << between(rng, 0, 4);
	t.l1i_sets = (uint64_t)8192 << between(rng, 0, 3);
	t.l1i_sets /= t.l1i_ways * t.line;
	t.l2_ways = PICK(rng, ways);
	uint64_t l2 = t.l1_sets * t.l1_ways * t.line * between(rng, 4, 20);
	t.l2_sets = 16;
	while (t.l2_sets * t.l2_ways * t.line < l2)
		t.l2_sets *= 2;
	t.l2_latency = t.l1_latency * 2 + (double)between(rng, 4, 15);
	t.l3_sets = 0;
	t.memory = t.l2_latency * 4 + (double)between(rng, 40, 250);
	t.d1 = (uint64_t)16 << between(rng, 0, 3);
	t.d1_ways = chance(rng, 0.3) ? 0 : (uint64_t)1 << between(rng, 1, 3);
	t.d1_penalty = (double)between(rng, 4, 20);
	t.d2 = chance(rng, 0.6) ? t.d1 * ((uint64_t)4 << between(rng, 0, 3)) : 0;
	t.d2_ways = (uint64_t)4 << between(rng, 0, 2);
	t.walk = (double)between(rng, 20, 60);
	t.i1 = (uint64_t)16 << between(rng, 0, 3);
	t.i1_ways = (uint64_t)1 << between(rng, 1, 3);
	t.mispredict = (double)between(rng, 5, 25);
	from_template(m, &t, rng);
}

/* ---- adversarial ---- */

static void trap(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_cache *l1 = &m->cache[0], *l2 = &m->cache[2];
	switch (between(rng, 0, 9)) {
	case 0: /* direct-mapped first level */
		l1->ways = 1;
		l1->capacity = 16384;
		break;
	case 1: /* fully associative first level */
		l1->ways = 0;
		l1->capacity = 64 * l1->line_bytes;
		break;
	case 2: /* random replacement */
		l1->policy = l2->policy = XR_RANDOM;
		break;
	case 3: /* the first level outlasts a way of the second */
		l1->ways = 16;
		l1->capacity = 64 * 16 * l1->line_bytes;
		l2->ways = 24;
		l2->capacity = 256 * 24 * l2->line_bytes;
		break;
	case 4: /* TLB that reaches less far than the first level */
		m->tlb[0].entries = 8;
		m->tlb[0].ways = 0;
		break;
	case 5: /* a clock of a microsecond */
		m->timer_ns = 1000;
		break;
	case 6: /* exclusive second level */
		l2->inclusion = XR_EXCLUSIVE;
		break;
	case 7: /* all prefetchers */
		m->prefetch_adjacent = m->prefetch_stride = m->prefetch_stream = 1;
		break;
	case 8: /* no TLB */
		m->n_tlbs = 0;
		break;
	default: /* an inclusive second level of few ways */
		l2->inclusion = XR_INCLUSIVE;
		l2->ways = 4;
		l2->capacity = 4 * l2->line_bytes * 4096;
		break;
	}
}

void xr_machine_set_noise(struct xr_machine *m, uint64_t seed, enum xr_noise noise)
{
	struct xr_rng rng = {seed * 77 + 5};
	m->jitter = m->interrupts_hz = m->interrupt_us = m->drift = m->preempt_hz = m->step = m->ramp = m->low = 0;
	if (noise == XR_QUIET)
		return;
	bool hostile = noise == XR_HOSTILE;
	m->jitter = hostile ? 0.02 : 0.01;
	m->interrupts_hz = (double)between(&rng, hostile ? 1000 : 100, hostile ? 5000 : 1000);
	m->interrupt_us = (double)between(&rng, 1, hostile ? 30 : 10);
	m->drift = hostile ? 0.04 : 0.01;
	if (hostile) {
		m->preempt_hz = (double)between(&rng, 20, 100);
		m->preempt_ms = 4;
		m->step = 0.1;
		m->step_ms = (double)between(&rng, 20, 300);
		m->low = 0.002;
	}
}

/* In a tree over 64 ways and 8 the 8 take nearly all that comes, and 72 pages never come to rest in 72 entries,
 * whatever the order: nothing shows how many there are, and nobody builds that. */
static bool suits_tree(uint64_t ways)
{
	uint64_t larger = 1;
	while (larger * 2 <= ways)
		larger *= 2;
	return ways == larger || (ways - larger) * 4 >= larger;
}

void xr_machine_vary(struct xr_machine *m, uint64_t seed)
{
	static const int shifts[] = {1, 2, 4};
	static const enum xr_policy policies[] = {XR_PLRU, XR_NRU, XR_FIFO, XR_RANDOM};
	struct xr_rng rng = {seed * 31 + 7};
	struct xr_machine before = *m;
	struct xr_error err;
	if (m->page_bytes && chance(&rng, 0.15))
		m->page_bytes <<= PICK(&rng, shifts);
	if (chance(&rng, 0.1))
		for (int i = 2; i < m->n_caches; i++)
			m->cache[i].line_bytes *= 2;
	if (chance(&rng, 0.1))
		m->placement = XR_PLACE_CONTIGUOUS;
	for (int i = 0; i < m->n_tlbs; i++)
		if (chance(&rng, 0.15)) {
			enum xr_policy policy = PICK(&rng, policies);
			if (policy != XR_PLRU || suits_tree(xr_machine_tlb_ways(&m->tlb[i])))
				m->tlb[i].policy = (int)policy;
		}
	if (xr_machine_check(m, m->name, &err))
		*m = before;
	if (chance(&rng, 0.4))
		habit_put(&habits[xr_rng_below(&rng, (uint64_t)n_habits)], m, seed);
}

void xr_machine_random(struct xr_machine *m, uint64_t seed, enum xr_mix mix, enum xr_noise noise)
{
	struct xr_rng rng = {seed};
	struct xr_error err;
	uint64_t draw = between(&rng, 0, 9);
	if (mix == XR_MIXED)
		mix = draw < 6 ? XR_REALISTIC : draw < 9 ? XR_UNIFORM : XR_ADVERSARIAL;
	for (int tries = 0;; tries++) {
		xr_machine_init(m);
		snprintf(m->name, sizeof m->name, "random-%llu", (unsigned long long)seed);
		if (mix == XR_UNIFORM) {
			uniform(m, &rng);
		} else {
			from_template(m, &templates[between(&rng, 0, COUNT(templates) - 1)], &rng);
			for (uint64_t i = between(&rng, 0, 2); i > 0; i--)
				perturb(m, &rng);
			if (mix == XR_ADVERSARIAL)
				trap(m, &rng);
		}
		m->memory_bytes = UINT64_C(2) << 30;
		xr_machine_set_noise(m, seed, noise);
		if (!xr_machine_check(m, m->name, &err) || tries > 100)
			return;
	}
}

int machine_named(const char *name, struct xr_machine *machine, struct xr_error *err)
{
	unsigned long seed;
	if (sscanf(name, "random %lu", &seed) != 1)
		return xr_machine_read(machine, name, err);
	xr_machine_random(machine, seed, XR_MIXED, (enum xr_noise)(seed % 3));
	xr_machine_vary(machine, seed);
	if (seed % 2)
		xr_machine_behave(machine, seed);
	return 0;
}
