/* Wild machines: what no test author would have thought of.
 *
 * Wider than the random machines that the suite counts on: every number from its legal range, every policy, every kind
 * of inclusion, operations and levels missing, types emulated; or the shape of a machine that was built, with a thing
 * or two changed, or with one trap that once fooled somebody.
 */
#include "target/model/machine.h"

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

static struct xr_machine_cache *add_cache(struct xr_machine *m, const char *name, int holds, uint64_t ways,
                                          uint64_t sets, uint64_t line, double latency, int policy, int index)
{
	struct xr_machine_cache *c = &m->cache[m->n_caches++];
	*c = (struct xr_machine_cache){.holds = holds,
	                               .capacity = ways * sets * line,
	                               .ways = ways,
	                               .line_bytes = line,
	                               .latency = latency,
	                               .policy = policy,
	                               .index = index,
	                               .write_allocate = 1,
	                               .write_back = 1,
	                               .shared_by = 1};
	snprintf(c->name, sizeof c->name, "%s", name);
	return c;
}

static void add_tlb(struct xr_machine *m, const char *name, int holds, uint64_t entries, uint64_t ways, double penalty,
                    int policy)
{
	struct xr_machine_tlb *t = &m->tlb[m->n_tlbs++];
	*t = (struct xr_machine_tlb){
		.holds = holds, .entries = entries, .ways = ways, .penalty = penalty, .policy = policy};
	snprintf(t->name, sizeof t->name, "%s", name);
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

static const struct shape shapes[] = {
	{"icelake",
         3500,
         5,
         4,
         1,
         2,
         1,
         2,
         14,
         16,
         32,
         64,
         3,
         14,
         4,
         4,
         4,
         14,
         4096,
         {12, 64, 5, XR_PLRU},
         {8, 64, 5, XR_PLRU},
         {20, 1024, 14, XR_SRRIP},
         {12, 24576, 70, XR_SRRIP},
         64,
         1,
         XR_INCLUSION_NONE,
         XR_INCLUSION_NONE,
         64,
         4,
         7,
         1536,
         12,
         30,
         128,
         8,
         280,
         12,
         7,
         2},
	{"zen",
         3400,
         6,
         4,
         1,
         2,
         1,
         3,
         14,
         16,
         16,
         32,
         3,
         12,
         3,
         3,
         4,
         13,
         4096,
         {8, 64, 4, XR_PLRU},
         {8, 64, 4, XR_PLRU},
         {8, 1024, 12, XR_LRU},
         {16, 32768, 46, XR_SRRIP},
         64,
         1,
         XR_INCLUSIVE,
         XR_EXCLUSIVE,
         64,
         0,
         7,
         2048,
         8,
         25,
         64,
         0,
         260,
         24,
         6,
         2},
	{"neoverse",
         2600,
         4,
         3,
         1,
         2,
         1,
         2,
         28,
         32,
         32,
         16,
         3,
         12,
         2,
         3,
         4,
         12,
         4096,
         {4, 256, 4, XR_PLRU},
         {4, 256, 4, XR_PLRU},
         {8, 2048, 11, XR_SRRIP},
         {16, 8192, 60, XR_RANDOM},
         64,
         1,
         XR_INCLUSION_NONE,
         XR_EXCLUSIVE,
         48,
         0,
         6,
         1280,
         5,
         35,
         48,
         0,
         300,
         20,
         6,
         1},
	{"apple",
         3200,
         8,
         6,
         2,
         4,
         1,
         3,
         28,
         32,
         32,
         16,
         3,
         8,
         3,
         4,
         4,
         10,
         16384,
         {8, 128, 3, XR_LRU},
         {6, 256, 3, XR_LRU},
         {12, 8192, 15, XR_SRRIP},
         {0, 0, 0, 0},
         128,
         0,
         XR_INCLUSION_NONE,
         XR_INCLUSION_NONE,
         160,
         5,
         5,
         3072,
         12,
         25,
         192,
         6,
         330,
         24,
         4,
         1},
	{"p6",
         1000,
         3,
         2,
         1,
         1,
         1,
         1,
         6,
         8,
         0,
         0,
         4,
         20,
         3,
         5,
         0,
         32,
         4096,
         {4, 128, 3, XR_LRU},
         {4, 128, 3, XR_LRU},
         {8, 1024, 12, XR_LRU},
         {0, 0, 0, 0},
         32,
         0,
         XR_INCLUSION_NONE,
         XR_INCLUSION_NONE,
         64,
         4,
         20,
         0,
         0,
         0,
         32,
         4,
         120,
         4,
         0,
         1},
	{"opteron",
         2000,
         3,
         3,
         1,
         2,
         1,
         2,
         14,
         16,
         16,
         16,
         3,
         20,
         4,
         4,
         0,
         20,
         4096,
         {2, 512, 3, XR_LRU},
         {2, 512, 3, XR_LRU},
         {16, 1024, 12, XR_PLRU},
         {0, 0, 0, 0},
         64,
         0,
         XR_EXCLUSIVE,
         XR_INCLUSION_NONE,
         32,
         0,
         3,
         512,
         4,
         25,
         32,
         0,
         200,
         8,
         1,
         1},
	{"rocket",
         1200,
         1,
         1,
         1,
         1,
         1,
         1,
         28,
         32,
         0,
         0,
         4,
         32,
         4,
         4,
         5,
         20,
         4096,
         {4, 64, 2, XR_RANDOM},
         {4, 64, 2, XR_RANDOM},
         {8, 1024, 14, XR_RANDOM},
         {0, 0, 0, 0},
         64,
         0,
         XR_INCLUSIVE,
         XR_INCLUSION_NONE,
         32,
         0,
         12,
         0,
         0,
         0,
         32,
         0,
         90,
         2,
         0,
         1},
	{"client",
         4000,
         4,
         4,
         1,
         2,
         1,
         2,
         14,
         16,
         16,
         32,
         3,
         18,
         4,
         4,
         4,
         13,
         4096,
         {8, 64, 4, XR_PLRU},
         {8, 64, 4, XR_PLRU},
         {4, 1024, 12, XR_PLRU},
         {16, 8192, 40, XR_NRU},
         64,
         1,
         XR_INCLUSION_NONE,
         XR_INCLUSIVE,
         64,
         4,
         7,
         1536,
         12,
         25,
         128,
         8,
         220,
         10,
         7,
         2},
	{"a9",
         800,
         2,
         2,
         1,
         1,
         1,
         1,
         12,
         32,
         16,
         16,
         3,
         25,
         4,
         5,
         0,
         15,
         4096,
         {4, 256, 4, XR_RANDOM},
         {4, 256, 2, XR_RANDOM},
         {8, 2048, 25, XR_FIFO},
         {0, 0, 0, 0},
         32,
         0,
         XR_INCLUSION_NONE,
         XR_INCLUSION_NONE,
         32,
         0,
         8,
         128,
         2,
         40,
         32,
         0,
         110,
         4,
         2,
         1},
};

static void put_level(struct xr_machine *m, const char *name, int holds, const struct level *l, int line, int index)
{
	if (l->ways)
		add_cache(m, name, holds, (uint64_t)l->ways, (uint64_t)l->sets, (uint64_t)line, l->latency, l->policy,
		          index);
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
	add_tlb(m, "d1", XR_HOLDS_DATA, (uint64_t)s->d1, (uint64_t)s->d1_ways, s->d1_penalty, XR_LRU);
	if (s->d2)
		add_tlb(m, "d2", XR_HOLDS_BOTH, (uint64_t)s->d2, (uint64_t)s->d2_ways, s->d2_penalty, XR_LRU);
	add_tlb(m, "i1", XR_HOLDS_CODE, (uint64_t)s->i1, (uint64_t)s->i1_ways, s->d1_penalty, XR_LRU);
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
		c->policy = range(rng, 0, XR_N_POLICIES - 1);
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
	add_cache(m, "l1d", split ? XR_HOLDS_DATA : XR_HOLDS_BOTH, (uint64_t)pick(rng, odd_ways), sets, line,
	          range(rng, 1, 6), pick(rng, policies), XR_VIRTUAL);
	if (split)
		add_cache(m, "l1i", XR_HOLDS_CODE, (uint64_t)pick(rng, odd_ways), sets, line, range(rng, 1, 5),
		          pick(rng, policies), XR_VIRTUAL);
	for (int i = 0; i < levels && i < (int)(sizeof names / sizeof *names); i++) {
		bool hash = i == levels - 1 && i > 0 && chance(rng, 0.5);
		sets <<= range(rng, 2, 4);
		uint64_t odd = hash && chance(rng, 0.5) ? 3 : 1;
		struct xr_machine_cache *c =
			add_cache(m, names[i], XR_HOLDS_BOTH, (uint64_t)pick(rng, odd_ways), sets * odd, line,
		                  range(rng, 8, 20) << i, pick(rng, policies), XR_PHYSICAL);
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
	add_tlb(m, "d1", XR_HOLDS_DATA, e, w, range(rng, 3, 20), chance(rng, 0.7) ? XR_LRU : XR_PLRU);
	if (chance(rng, 0.6)) {
		w = (uint64_t)range(rng, 2, 16);
		add_tlb(m, "d2", chance(rng, 0.5) ? XR_HOLDS_BOTH : XR_HOLDS_DATA, w << range(rng, 5, 7), w,
		        range(rng, 20, 60), XR_LRU);
	}
	w = (uint64_t)pick(rng, ways);
	add_tlb(m, "i1", XR_HOLDS_CODE, (w ? w : (uint64_t)range(rng, 2, 12)) << range(rng, 2, 4), w, range(rng, 3, 20),
	        XR_LRU);
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
