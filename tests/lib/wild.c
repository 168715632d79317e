/* SPDX-License-Identifier: MIT */
/* Wild machines: what no test author would have thought of.
 *
 * Wider than the random machines that the suite counts on: every number from its legal range, every policy, every kind
 * of inclusion, operations and levels missing, types emulated; or the shape of a machine that was built, with a thing
 * or two changed, or with one trap that once fooled somebody.
 */
#include "random.h"

#include "util/rng.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t below(struct xr_rng *rng, uint64_t n)
{
	return xr_rng_below(rng, n);
}

static int range(struct xr_rng *rng, int from, int to)
{
	return from + (int)below(rng, (uint64_t)(to - from + 1));
}

static bool chance(struct xr_rng *rng, double p)
{
	return xr_rng_unit(rng) < p;
}

#define pick(rng, array) ((array)[below((rng), sizeof(array) / sizeof *(array))])

/* ---- pieces ---- */

static void set_op(struct xr_machine *m, enum xr_op op, int class, const char *unit, double latency, double busy)
{
	struct xr_machine_op *o = &m->class_op[op][class];
	*o = (struct xr_machine_op){.there = true, .latency = latency, .busy = busy};
	snprintf(o->unit_name, sizeof o->unit_name, "%s", unit);
}

static void set_units(struct xr_machine *m, int alu, int mul, int fp, int div, int mem)
{
	const struct xr_machine_unit unit[] = {{"alu", alu}, {"mul", mul}, {"fp", fp}, {"div", div}, {"mem", mem}};
	m->n_units = 0;
	for (int i = 0; i < 5; i++)
		if (unit[i].count)
			m->unit[m->n_units++] = unit[i];
}

/* Integer operations of an ordinary core. */
static void set_integer(struct xr_machine *m, double mul, double div, double div_busy)
{
	static const enum xr_op simple[] = {XR_ADD, XR_SUB, XR_AND, XR_OR, XR_XOR, XR_SHL, XR_SHR, XR_MIN};
	for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
		set_op(m, simple[i], XR_CLASS_INT, "alu", 1, 1);
	set_op(m, XR_MUL, XR_CLASS_INT, "mul", mul, 1);
	set_op(m, XR_DIV, XR_CLASS_INT, "div", div, div_busy);
	set_op(m, XR_MOD, XR_CLASS_INT, "div", div, div_busy);
}

static void set_floating(struct xr_machine *m, double add, double mul, double fma, double div, double div_busy)
{
	set_op(m, XR_ADD, XR_CLASS_FP, "fp", add, 1);
	set_op(m, XR_SUB, XR_CLASS_FP, "fp", add, 1);
	set_op(m, XR_MUL, XR_CLASS_FP, "fp", mul, 1);
	set_op(m, XR_DIV, XR_CLASS_FP, "div", div, div_busy);
	set_op(m, XR_SQRT, XR_CLASS_FP, "div", div + 4, div_busy + 2);
	set_op(m, XR_MIN, XR_CLASS_FP, "fp", add, 1);
	if (fma > 0)
		set_op(m, XR_FMA, XR_CLASS_FP, "fp", fma, 1);
	m->fma_said[XR_F32] = m->fma_said[XR_F64] = 1;
	m->fma[XR_F32] = m->fma[XR_F64] = fma > 0;
}

/* ---- shapes of machines that were built ---- */

struct shape {
	const char *name;
	double mhz;
	int width, alu, mul, fp, div, mem;
	int r_int, r_fp, r_vector, vector_bytes;
	double i_mul, i_div, f_add, f_mul, f_fma, f_div;
	int page;
	struct level {
		int ways, sets, latency, policy;
	} l1d, l1i, l2, l3; /* l3 with 0 ways: none */
	int line, l3_hash, l2_inclusion, l3_inclusion;
	int d1, d1_ways, d1_penalty, d2, d2_ways, d2_penalty, i1, i1_ways;
	int memory, parallelism, prefetch; /* prefetch: bits adjacent, stride, stream */
	int smt;
};

/* clang-format off */
static const struct shape shapes[] = {
	{.name = "icelake", .mhz = 3500, .width = 5, .alu = 4, .mul = 1, .fp = 2, .div = 1, .mem = 2,
	 .r_int = 14, .r_fp = 16, .r_vector = 32, .vector_bytes = 64, .page = 4096,
	 .i_mul = 3, .i_div = 14, .f_add = 4, .f_mul = 4, .f_fma = 4, .f_div = 14,
	 .line = 64, .l1d = {12, 64, 5, XR_PLRU}, .l1i = {8, 64, 5, XR_PLRU},
	 .l2 = {20, 1024, 14, XR_SRRIP}, .l3 = {12, 24576, 70, XR_SRRIP}, .l3_hash = 1,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 64, .d1_ways = 4, .d1_penalty = 7, .d2 = 1536, .d2_ways = 12, .d2_penalty = 30, .i1 = 128, .i1_ways = 8,
	 .memory = 280, .parallelism = 12, .prefetch = 7, .smt = 2},
	{.name = "zen", .mhz = 3400, .width = 6, .alu = 4, .mul = 1, .fp = 2, .div = 1, .mem = 3,
	 .r_int = 14, .r_fp = 16, .r_vector = 16, .vector_bytes = 32, .page = 4096,
	 .i_mul = 3, .i_div = 12, .f_add = 3, .f_mul = 3, .f_fma = 4, .f_div = 13,
	 .line = 64, .l1d = {8, 64, 4, XR_PLRU}, .l1i = {8, 64, 4, XR_PLRU},
	 .l2 = {8, 1024, 12, XR_LRU}, .l3 = {16, 32768, 46, XR_SRRIP}, .l3_hash = 1,
	 .l2_inclusion = XR_INCLUSIVE, .l3_inclusion = XR_EXCLUSIVE,
	 .d1 = 64, .d1_ways = 0, .d1_penalty = 7, .d2 = 2048, .d2_ways = 8, .d2_penalty = 25, .i1 = 64, .i1_ways = 0,
	 .memory = 260, .parallelism = 24, .prefetch = 6, .smt = 2},
	{.name = "neoverse", .mhz = 2600, .width = 4, .alu = 3, .mul = 1, .fp = 2, .div = 1, .mem = 2,
	 .r_int = 28, .r_fp = 32, .r_vector = 32, .vector_bytes = 16, .page = 4096,
	 .i_mul = 3, .i_div = 12, .f_add = 2, .f_mul = 3, .f_fma = 4, .f_div = 12,
	 .line = 64, .l1d = {4, 256, 4, XR_PLRU}, .l1i = {4, 256, 4, XR_PLRU},
	 .l2 = {8, 2048, 11, XR_SRRIP}, .l3 = {16, 8192, 60, XR_RANDOM}, .l3_hash = 1,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_EXCLUSIVE,
	 .d1 = 48, .d1_ways = 0, .d1_penalty = 6, .d2 = 1280, .d2_ways = 5, .d2_penalty = 35, .i1 = 48, .i1_ways = 0,
	 .memory = 300, .parallelism = 20, .prefetch = 6, .smt = 1},
	{.name = "apple", .mhz = 3200, .width = 8, .alu = 6, .mul = 2, .fp = 4, .div = 1, .mem = 3,
	 .r_int = 28, .r_fp = 32, .r_vector = 32, .vector_bytes = 16, .page = 16384,
	 .i_mul = 3, .i_div = 8, .f_add = 3, .f_mul = 4, .f_fma = 4, .f_div = 10,
	 .line = 128, .l1d = {8, 128, 3, XR_LRU}, .l1i = {6, 256, 3, XR_LRU},
	 .l2 = {12, 8192, 15, XR_SRRIP}, .l3 = {0, 0, 0, 0}, .l3_hash = 0,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 160, .d1_ways = 5, .d1_penalty = 5, .d2 = 3072, .d2_ways = 12, .d2_penalty = 25, .i1 = 192, .i1_ways = 6,
	 .memory = 330, .parallelism = 24, .prefetch = 4, .smt = 1},
	{.name = "p6", .mhz = 1000, .width = 3, .alu = 2, .mul = 1, .fp = 1, .div = 1, .mem = 1,
	 .r_int = 6, .r_fp = 8, .r_vector = 0, .vector_bytes = 0, .page = 4096,
	 .i_mul = 4, .i_div = 20, .f_add = 3, .f_mul = 5, .f_fma = 0, .f_div = 32,
	 .line = 32, .l1d = {4, 128, 3, XR_LRU}, .l1i = {4, 128, 3, XR_LRU},
	 .l2 = {8, 1024, 12, XR_LRU}, .l3 = {0, 0, 0, 0}, .l3_hash = 0,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 64, .d1_ways = 4, .d1_penalty = 20, .d2 = 0, .d2_ways = 0, .d2_penalty = 0, .i1 = 32, .i1_ways = 4,
	 .memory = 120, .parallelism = 4, .prefetch = 0, .smt = 1},
	{.name = "opteron", .mhz = 2000, .width = 3, .alu = 3, .mul = 1, .fp = 2, .div = 1, .mem = 2,
	 .r_int = 14, .r_fp = 16, .r_vector = 16, .vector_bytes = 16, .page = 4096,
	 .i_mul = 3, .i_div = 20, .f_add = 4, .f_mul = 4, .f_fma = 0, .f_div = 20,
	 .line = 64, .l1d = {2, 512, 3, XR_LRU}, .l1i = {2, 512, 3, XR_LRU},
	 .l2 = {16, 1024, 12, XR_PLRU}, .l3 = {0, 0, 0, 0}, .l3_hash = 0,
	 .l2_inclusion = XR_EXCLUSIVE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 32, .d1_ways = 0, .d1_penalty = 3, .d2 = 512, .d2_ways = 4, .d2_penalty = 25, .i1 = 32, .i1_ways = 0,
	 .memory = 200, .parallelism = 8, .prefetch = 1, .smt = 1},
	{.name = "rocket", .mhz = 1200, .width = 1, .alu = 1, .mul = 1, .fp = 1, .div = 1, .mem = 1,
	 .r_int = 28, .r_fp = 32, .r_vector = 0, .vector_bytes = 0, .page = 4096,
	 .i_mul = 4, .i_div = 32, .f_add = 4, .f_mul = 4, .f_fma = 5, .f_div = 20,
	 .line = 64, .l1d = {4, 64, 2, XR_RANDOM}, .l1i = {4, 64, 2, XR_RANDOM},
	 .l2 = {8, 1024, 14, XR_RANDOM}, .l3 = {0, 0, 0, 0}, .l3_hash = 0,
	 .l2_inclusion = XR_INCLUSIVE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 32, .d1_ways = 0, .d1_penalty = 12, .d2 = 0, .d2_ways = 0, .d2_penalty = 0, .i1 = 32, .i1_ways = 0,
	 .memory = 90, .parallelism = 2, .prefetch = 0, .smt = 1},
	{.name = "client", .mhz = 4000, .width = 4, .alu = 4, .mul = 1, .fp = 2, .div = 1, .mem = 2,
	 .r_int = 14, .r_fp = 16, .r_vector = 16, .vector_bytes = 32, .page = 4096,
	 .i_mul = 3, .i_div = 18, .f_add = 4, .f_mul = 4, .f_fma = 4, .f_div = 13,
	 .line = 64, .l1d = {8, 64, 4, XR_PLRU}, .l1i = {8, 64, 4, XR_PLRU},
	 .l2 = {4, 1024, 12, XR_PLRU}, .l3 = {16, 8192, 40, XR_NRU}, .l3_hash = 1,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_INCLUSIVE,
	 .d1 = 64, .d1_ways = 4, .d1_penalty = 7, .d2 = 1536, .d2_ways = 12, .d2_penalty = 25, .i1 = 128, .i1_ways = 8,
	 .memory = 220, .parallelism = 10, .prefetch = 7, .smt = 2},
	{.name = "a9", .mhz = 800, .width = 2, .alu = 2, .mul = 1, .fp = 1, .div = 1, .mem = 1,
	 .r_int = 12, .r_fp = 32, .r_vector = 16, .vector_bytes = 16, .page = 4096,
	 .i_mul = 3, .i_div = 25, .f_add = 4, .f_mul = 5, .f_fma = 0, .f_div = 15,
	 .line = 32, .l1d = {4, 256, 4, XR_RANDOM}, .l1i = {4, 256, 2, XR_RANDOM},
	 .l2 = {8, 2048, 25, XR_FIFO}, .l3 = {0, 0, 0, 0}, .l3_hash = 0,
	 .l2_inclusion = XR_INCLUSION_NONE, .l3_inclusion = XR_INCLUSION_NONE,
	 .d1 = 32, .d1_ways = 0, .d1_penalty = 8, .d2 = 128, .d2_ways = 2, .d2_penalty = 40, .i1 = 32, .i1_ways = 0,
	 .memory = 110, .parallelism = 4, .prefetch = 2, .smt = 1},
};
/* clang-format on */

static void put_level(struct xr_machine *m, const char *name, int holds, const struct level *l, int line, int index)
{
	if (l->ways)
		xr_machine_add_cache(m, name, holds, (uint64_t)l->ways, (uint64_t)l->sets, (uint64_t)line, l->latency,
		                     l->policy, index);
}

static void from_shape(struct xr_machine *m, const struct shape *s, struct xr_rng *rng)
{
	xr_machine_init(m);
	m->mhz = s->mhz;
	m->width = s->width;
	set_units(m, s->alu, s->mul, s->fp, s->div, s->mem);
	m->registers_int = s->r_int;
	m->registers_fp = s->r_fp;
	m->registers_vector = s->r_vector;
	m->vector_bytes = s->vector_bytes;
	m->spill_cycles = range(rng, 3, 6);
	set_integer(m, s->i_mul, s->i_div, fmax(1, s->i_div - 6));
	set_floating(m, s->f_add, s->f_mul, s->f_fma, s->f_div, fmax(1, s->f_div / 3));
	m->page_bytes = (uint64_t)s->page;
	put_level(m, "l1d", XR_HOLDS_DATA, &s->l1d, s->line, XR_VIRTUAL);
	put_level(m, "l1i", XR_HOLDS_CODE, &s->l1i, s->line, XR_VIRTUAL);
	put_level(m, "l2", XR_HOLDS_BOTH, &s->l2, s->line, XR_PHYSICAL);
	m->cache[m->n_caches - 1].inclusion = s->l2_inclusion;
	m->cores = 1 << range(rng, 0, 3);
	if (s->l3.ways) {
		put_level(m, "l3", XR_HOLDS_BOTH, &s->l3, s->line, XR_PHYSICAL);
		m->cache[m->n_caches - 1].hash = s->l3_hash;
		m->cache[m->n_caches - 1].inclusion = s->l3_inclusion;
		m->cache[m->n_caches - 1].shared_by = m->cores;
	}
	xr_machine_add_tlb(m, "d1", XR_HOLDS_DATA, (uint64_t)s->d1, (uint64_t)s->d1_ways, s->d1_penalty, XR_LRU);
	if (s->d2)
		xr_machine_add_tlb(m, "d2", XR_HOLDS_BOTH, (uint64_t)s->d2, (uint64_t)s->d2_ways, s->d2_penalty,
		                   XR_LRU);
	xr_machine_add_tlb(m, "i1", XR_HOLDS_CODE, (uint64_t)s->i1, (uint64_t)s->i1_ways, s->d1_penalty, XR_LRU);
	m->memory_latency = s->memory;
	m->parallelism = s->parallelism;
	m->bandwidth_gbs = range(rng, 4, 40);
	m->memory_bytes = UINT64_C(1) << range(rng, 31, 34);
	m->prefetch_adjacent = s->prefetch & 1;
	m->prefetch_stride = s->prefetch >> 1 & 1;
	m->prefetch_stream = s->prefetch >> 2 & 1;
	m->smt = s->smt;
	snprintf(m->shared_names, sizeof m->shared_names, "alu mul fp div");
	m->timeslice_ms = range(rng, 1, 10);
	m->mispredict = range(rng, 8, 22);
	snprintf(m->name, sizeof m->name, "%s", s->name);
}

/* ---- changing a thing or two ---- */

static const int odd_ways[] = {1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 15, 16, 20, 24};

static void new_ways(struct xr_machine_cache *c, uint64_t ways)
{
	c->capacity = c->capacity / c->ways * ways;
	c->ways = ways;
}

static void perturb(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_cache *c = &m->cache[below(rng, (uint64_t)m->n_caches)];
	struct xr_machine_tlb *t = &m->tlb[below(rng, (uint64_t)m->n_tlbs)];
	switch (below(rng, 14)) {
	case 0:
		new_ways(c, (uint64_t)pick(rng, odd_ways));
		break;
	case 1:
		c->policy = range(rng, 0, XR_SRRIP);
		break;
	case 2:
		c->latency += range(rng, 0, 2);
		break;
	case 3:
		m->registers_int = range(rng, 5, 31);
		break;
	case 4:
		m->registers_fp = range(rng, 6, 32);
		break;
	case 5:
		m->width = range(rng, 1, 8);
		break;
	case 6:
		t->entries = t->ways ? t->ways << range(rng, 2, 7) : (uint64_t)range(rng, 8, 160);
		break;
	case 7:
		t->penalty += range(rng, 0, 10);
		break;
	case 8:
		m->prefetch_adjacent = m->prefetch_stride = m->prefetch_stream = 0;
		break;
	case 9:
		m->memory_latency = range(rng, 100, 500);
		break;
	case 10:
		m->mhz = range(rng, 400, 5000);
		break;
	case 11:
		c->write_allocate = chance(rng, 0.5);
		break;
	case 12:
		m->smt = range(rng, 1, 2);
		break;
	default:
		m->placement = XR_PLACE_CONTIGUOUS;
	}
}

/* Keeps what was drawn legal and every level visible: farther levels hold more and answer later. */
static void put_in_order(struct xr_machine *m)
{
	double latency[2] = {0, 0}, penalty[2] = {0, 0};
	uint64_t capacity[2] = {0, 0}, entries[2] = {0, 0};
	for (int i = 0; i < m->n_caches; i++) {
		struct xr_machine_cache *c = &m->cache[i];
		for (int side = 0; side < 2; side++) {
			if (!(c->holds >> side & 1))
				continue;
			c->latency = fmax(c->latency, ceil(latency[side] * 1.5) + (latency[side] > 0));
			while (c->capacity < 2 * capacity[side])
				c->capacity *= 2;
			latency[side] = c->latency;
			capacity[side] = c->capacity;
		}
		if (c->shared_by > m->cores)
			c->shared_by = m->cores;
		/* what passes a level that writes through is no victim of it */
		if (i && c->inclusion == XR_EXCLUSIVE && !m->cache[i - 1].write_back)
			c->inclusion = XR_INCLUSION_NONE;
	}
	for (int i = 0; i < m->n_tlbs; i++) {
		struct xr_machine_tlb *t = &m->tlb[i];
		for (int side = 0; side < 2; side++) {
			if (!(t->holds >> side & 1))
				continue;
			t->penalty = fmax(t->penalty, penalty[side] > 0 ? penalty[side] + 5 : 0);
			while (t->entries < 2 * entries[side])
				t->entries *= 2;
			penalty[side] = t->penalty;
			entries[side] = t->entries;
		}
	}
	m->memory_latency = fmax(m->memory_latency, ceil(1.5 * fmax(latency[0], latency[1])));
	while (m->memory_bytes < 8 * capacity[0] || m->memory_bytes < 8 * m->page_bytes * entries[0])
		m->memory_bytes *= 2;
	if (m->timer_ns >= 1000)
		m->timer_cost_ns = fmax(m->timer_cost_ns, 10);
}

/* ---- uniform ---- */

static void draw_caches(struct xr_machine *m, struct xr_rng *rng)
{
	static const int lines[] = {16, 32, 64, 128};
	static const int policies[] = {XR_LRU, XR_PLRU, XR_NRU, XR_FIFO, XR_RANDOM, XR_SRRIP};
	static const char *const names[] = {"l2", "l3", "l4"};
	uint64_t line = (uint64_t)pick(rng, lines);
	int levels = range(rng, 0, 3);
	bool split = chance(rng, 0.8);
	uint64_t sets = UINT64_C(1) << range(rng, 4, 8);
	xr_machine_add_cache(m, "l1d", split ? XR_HOLDS_DATA : XR_HOLDS_BOTH, (uint64_t)pick(rng, odd_ways), sets, line,
	                     range(rng, 1, 6), pick(rng, policies), XR_VIRTUAL);
	if (split)
		xr_machine_add_cache(m, "l1i", XR_HOLDS_CODE, (uint64_t)pick(rng, odd_ways), sets, line,
		                     range(rng, 1, 5), pick(rng, policies), XR_VIRTUAL);
	for (int i = 0; i < levels && i < (int)(sizeof names / sizeof *names); i++) {
		bool hash = i == levels - 1 && i > 0 && chance(rng, 0.5);
		sets <<= range(rng, 2, 4);
		uint64_t odd = hash && chance(rng, 0.5) ? 3 : 1;
		struct xr_machine_cache *c =
			xr_machine_add_cache(m, names[i], XR_HOLDS_BOTH, (uint64_t)pick(rng, odd_ways), sets * odd,
		                             line, range(rng, 8, 20) << i, pick(rng, policies), XR_PHYSICAL);
		c->hash = hash;
		c->inclusion = range(rng, XR_INCLUSION_NONE, XR_EXCLUSIVE);
		c->shared_by = chance(rng, 0.5) ? m->cores : 1;
		if (i + 1 < levels)
			c->shared_by = 1;
	}
	for (int i = 0; i < m->n_caches; i++) {
		m->cache[i].write_allocate = chance(rng, 0.8);
		m->cache[i].write_back = chance(rng, 0.8);
	}
}

static void draw_tlbs(struct xr_machine *m, struct xr_rng *rng)
{
	static const int ways[] = {0, 1, 2, 3, 4, 6, 8, 12};
	uint64_t w = (uint64_t)pick(rng, ways), e = (w ? w : (uint64_t)range(rng, 2, 12)) << range(rng, 2, 5);
	xr_machine_add_tlb(m, "d1", XR_HOLDS_DATA, e, w, range(rng, 3, 20), chance(rng, 0.7) ? XR_LRU : XR_PLRU);
	if (chance(rng, 0.6)) {
		w = (uint64_t)range(rng, 2, 16);
		xr_machine_add_tlb(m, "d2", chance(rng, 0.5) ? XR_HOLDS_BOTH : XR_HOLDS_DATA, w << range(rng, 5, 7), w,
		                   range(rng, 20, 60), XR_LRU);
	}
	w = (uint64_t)pick(rng, ways);
	xr_machine_add_tlb(m, "i1", XR_HOLDS_CODE, (w ? w : (uint64_t)range(rng, 2, 12)) << range(rng, 2, 4), w,
	                   range(rng, 3, 20), XR_LRU);
}

static void draw_core(struct xr_machine *m, struct xr_rng *rng)
{
	m->mhz = range(rng, 100, 5000);
	m->width = range(rng, 1, 8);
	set_units(m, range(rng, 1, 6), 1, range(rng, 1, 4), 1, range(rng, 1, 3));
	m->registers_int = range(rng, 5, 31);
	m->registers_fp = range(rng, 4, 32);
	m->registers_vector = chance(rng, 0.7) ? range(rng, 8, 32) : 0;
	m->vector_bytes = 16 << range(rng, 0, 2);
	m->spill_cycles = range(rng, 1, 8);
	int div = range(rng, 5, 40), f_div = range(rng, 5, 40);
	set_integer(m, range(rng, 2, 8), div, range(rng, 1, div));
	set_floating(m, range(rng, 2, 8), range(rng, 2, 8), chance(rng, 0.6) ? range(rng, 3, 6) : 0, f_div,
	             range(rng, 1, f_div));
	for (int op = 0; op < XR_N_OPS; op++) /* some machines lack some */
		if (op != XR_ADD && op != XR_MUL && chance(rng, 0.15))
			m->class_op[op][XR_CLASS_INT].there = m->class_op[op][XR_CLASS_FP].there = false;
	if (chance(rng, 0.1)) {
		for (int op = 0; op < XR_N_OPS; op++)
			m->class_op[op][XR_CLASS_FP].there = false;
		m->fma_said[XR_F32] = m->fma_said[XR_F64] = 0;
		m->registers_fp = 0;
		m->registers_vector = 0;
		m->emulated[XR_F32] = range(rng, 40, 150);
		m->emulated[XR_F64] = range(rng, 60, 300);
	}
}

static void draw_uniform(struct xr_machine *m, struct xr_rng *rng)
{
	static const int pages[] = {4096, 4096, 4096, 16384, 65536};
	xr_machine_init(m);
	draw_core(m, rng);
	m->cores = range(rng, 1, 8);
	m->smt = range(rng, 1, 2);
	m->page_bytes = (uint64_t)pick(rng, pages);
	m->huge_bytes = chance(rng, 0.5) ? m->page_bytes * 512 : 0;
	m->placement = chance(rng, 0.8) ? XR_PLACE_RANDOM : XR_PLACE_CONTIGUOUS;
	m->resizing = m->huge_bytes && chance(rng, 0.2);
	draw_caches(m, rng);
	draw_tlbs(m, rng);
	m->memory_latency = range(rng, 80, 500);
	m->parallelism = range(rng, 1, 24);
	m->bandwidth_gbs = range(rng, 1, 60);
	m->memory_bytes = UINT64_C(1) << range(rng, 28, 34);
	m->prefetch_adjacent = chance(rng, 0.4);
	m->prefetch_stride = chance(rng, 0.4);
	m->prefetch_stream = chance(rng, 0.4);
	m->prefetch_distance = range(rng, 1, 8);
	snprintf(m->shared_names, sizeof m->shared_names, "%s", chance(rng, 0.5) ? "fp mul div" : "alu fp mul div");
	m->nodes = m->cores % 2 == 0 && chance(rng, 0.4) ? 2 : 1;
	m->near_ns = range(rng, 15, 80);
	m->far_ns = m->near_ns * (1.5 + 2 * xr_rng_unit(rng));
	m->timeslice_ms = range(rng, 1, 20);
	m->mispredict = range(rng, 3, 25);
	m->timer_ns = chance(rng, 0.2) ? range(rng, 2, 100) : 1;
	m->timer_cost_ns = range(rng, 5, 80);
	snprintf(m->name, sizeof m->name, "uniform");
}

/* ---- traps ---- */

static void trap_direct_mapped(struct xr_machine *m)
{
	new_ways(&m->cache[0], 1);
}

static void trap_more_ways_than_the_next(struct xr_machine *m)
{
	new_ways(&m->cache[0], 16);
	new_ways(&m->cache[2], 4);
}

static void trap_l1_as_large_as_a_way_of_l2(struct xr_machine *m)
{
	new_ways(&m->cache[2], 3);
}

static void trap_way_larger_than_a_page(struct xr_machine *m)
{
	m->cache[0].capacity = m->cache[0].ways * 4 * m->page_bytes;
}

static void trap_physical_way_larger_than_a_page(struct xr_machine *m)
{
	trap_way_larger_than_a_page(m);
	m->cache[0].index = XR_PHYSICAL;
}

static void trap_all_prefetchers(struct xr_machine *m)
{
	m->prefetch_adjacent = m->prefetch_stride = m->prefetch_stream = 1;
	m->prefetch_distance = 8;
}

static void trap_tlb_reaches_less_than_l1(struct xr_machine *m)
{
	m->tlb[0].entries = 8;
	m->tlb[0].ways = 0;
}

static void trap_exclusive(struct xr_machine *m)
{
	m->cache[2].inclusion = XR_EXCLUSIVE;
}

static void trap_inclusive(struct xr_machine *m)
{
	m->cache[2].inclusion = XR_INCLUSIVE;
	new_ways(&m->cache[2], 4);
}

static void trap_random_everywhere(struct xr_machine *m)
{
	for (int i = 0; i < m->n_caches; i++)
		m->cache[i].policy = XR_RANDOM;
}

static void trap_coarse_timer(struct xr_machine *m)
{
	m->timer_ns = 1000;
}

static void trap_full(struct xr_machine *m)
{
	m->cache[0].capacity = 4096;
	m->cache[0].ways = 0;
	m->cache[0].policy = XR_LRU;
}

static void trap_free_spills(struct xr_machine *m)
{
	m->spill_cycles = 0;
}

static void trap_even_latencies(struct xr_machine *m)
{
	for (int op = 0; op < XR_N_OPS; op++)
		for (int c = 0; c < XR_N_CLASSES; c++)
			if (m->class_op[op][c].there && m->class_op[op][c].latency > 1)
				m->class_op[op][c].latency = ceil(m->class_op[op][c].latency / 2) * 2;
}

static void trap_no_cache(struct xr_machine *m)
{
	m->n_caches = 0;
	m->memory_latency = 8;
	m->prefetch_adjacent = m->prefetch_stride = m->prefetch_stream = 0;
}

static void trap_one_level(struct xr_machine *m)
{
	m->n_caches = 2;
}

static void trap_lines_grow_outwards(struct xr_machine *m)
{
	m->cache[2].capacity *= 2;
	m->cache[2].line_bytes *= 2;
	if (m->n_caches > 3) {
		m->cache[3].capacity *= 2;
		m->cache[3].line_bytes *= 2;
	}
}

static void trap_write_through(struct xr_machine *m)
{
	m->cache[0].write_back = m->cache[0].write_allocate = 0;
}

static void (*const traps[])(struct xr_machine *m) = {
	trap_direct_mapped,
	trap_more_ways_than_the_next,
	trap_l1_as_large_as_a_way_of_l2,
	trap_way_larger_than_a_page,
	trap_physical_way_larger_than_a_page,
	trap_all_prefetchers,
	trap_tlb_reaches_less_than_l1,
	trap_exclusive,
	trap_inclusive,
	trap_random_everywhere,
	trap_coarse_timer,
	trap_full,
	trap_free_spills,
	trap_even_latencies,
	trap_no_cache,
	trap_one_level,
	trap_lines_grow_outwards,
	trap_write_through,
};

/* ---- the interface ---- */

void xr_machine_wild(struct xr_machine *m, uint64_t seed, enum xr_noise noise)
{
	struct xr_rng rng = {seed};
	struct xr_error err;
	enum xr_mix mix = (enum xr_mix)below(&rng, XR_MIXED);
	uint64_t trap = below(&rng, sizeof traps / sizeof *traps);
	if (mix == XR_UNIFORM) {
		draw_uniform(m, &rng);
	} else {
		from_shape(m, &pick(&rng, shapes), &rng);
		for (int i = range(&rng, 1, 2); i > 0; i--)
			perturb(m, &rng);
	}
	if (mix == XR_ADVERSARIAL)
		traps[trap](m);
	put_in_order(m);
	xr_machine_set_noise(m, seed, noise);
	size_t n = strlen(m->name);
	if (mix == XR_ADVERSARIAL)
		n += (size_t)snprintf(m->name + n, sizeof m->name - n, " trap %d", (int)trap);
	snprintf(m->name + n, sizeof m->name - n, " %llu", (unsigned long long)seed);
	int wrong = xr_machine_check(m, m->name, &err);
	assert(!wrong);
	(void)wrong;
}
