/* SPDX-License-Identifier: MIT */
/* The second generator. It shares no code and no tables with the first, and nobody looks at its single machines while
 * an engine is made: only its rates and its calibration are looked at, so that they say what happens on cores nobody
 * has met.
 *
 * Where the first moves one thing of a template, this one grows a core from a budget: how large and how quick it is
 * decides what the rest is likely to be, and everything else is drawn. Habits are drawn one by one, each with a chance
 * of its own, so that most machines have several.
 */
#include "second.h"

#include "util/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- chance ---- */

struct dice {
	struct xr_rng rng;
};

static double unit(struct dice *d)
{
	return xr_rng_unit(&d->rng);
}

static bool one_in(struct dice *d, double n)
{
	return unit(d) * n < 1;
}

static int roll(struct dice *d, int low, int high)
{
	return low + (int)xr_rng_below(&d->rng, (uint64_t)(high - low + 1));
}

/* Evenly on a logarithmic scale. */
static double scale(struct dice *d, double low, double high)
{
	return low * pow(high / low, unit(d));
}

static uint64_t power(struct dice *d, double low, double high)
{
	return UINT64_C(1) << (int)lround(log2(scale(d, low, high)));
}

/* ---- the core ---- */

static void add_unit(struct xr_machine *m, const char *name, int count)
{
	struct xr_machine_unit *u = &m->unit[m->n_units++];
	snprintf(u->name, sizeof u->name, "%s", name);
	u->count = count < 1 ? 1 : count;
}

static void cost(struct xr_machine *m, enum xr_op op, int class, double latency, double busy, const char *on)
{
	struct xr_machine_op *o = &m->class_op[op][class];
	o->there = true;
	o->latency = latency < busy ? busy : latency;
	o->busy = busy;
	snprintf(o->unit_name, sizeof o->unit_name, "%s", on);
}

static void grow_core(struct xr_machine *m, struct dice *d, double size)
{
	const int width = 1 + (int)lround(size * 7 * (0.6 + 0.4 * unit(d)));
	const bool fp_apart = one_in(d, 2);
	m->mhz = round(scale(d, 150 + 900 * size, 1200 + 4300 * size));
	m->width = width;
	m->n_units = 0;
	add_unit(m, "alu", roll(d, (width + 1) / 2, width));
	add_unit(m, "mul", 1 + (int)(size * 2 * unit(d)));
	add_unit(m, "fp", 1 + (int)(size * 3 * unit(d)));
	add_unit(m, "div", 1);
	add_unit(m, "mem", 1 + (int)(size * 3 * unit(d)));
	if (fp_apart)
		add_unit(m, "fadd", 1 + (int)(size * 2 * unit(d)));
	static const enum xr_op plain[] = {XR_ADD, XR_SUB, XR_AND, XR_OR, XR_XOR, XR_SHL, XR_SHR, XR_MIN};
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		cost(m, plain[i], XR_CLASS_INT, 1, 1, "alu");
	cost(m, XR_MUL, XR_CLASS_INT, roll(d, 1, 5), 1, "mul");
	double divide = roll(d, 7, 30), slow = one_in(d, 3) ? divide : roll(d, 2, 8);
	cost(m, XR_DIV, XR_CLASS_INT, divide, slow, "div");
	cost(m, XR_MOD, XR_CLASS_INT, divide + roll(d, 0, 3), slow, "div");
	double add = roll(d, 2, 6), multiply = add + roll(d, 0, 2);
	cost(m, XR_ADD, XR_CLASS_FP, add, 1, fp_apart ? "fadd" : "fp");
	cost(m, XR_SUB, XR_CLASS_FP, add, 1, fp_apart ? "fadd" : "fp");
	cost(m, XR_MUL, XR_CLASS_FP, multiply, 1, "fp");
	cost(m, XR_DIV, XR_CLASS_FP, roll(d, 9, 28), roll(d, 3, 9), "div");
	cost(m, XR_SQRT, XR_CLASS_FP, roll(d, 12, 35), roll(d, 4, 12), "div");
	if (!one_in(d, 3)) {
		cost(m, XR_FMA, XR_CLASS_FP, multiply + roll(d, 0, 1), 1, "fp");
		for (int t = XR_F32; t <= XR_F64; t++)
			m->fma_said[t] = m->fma[t] = 1;
	}
	m->registers_int = roll(d, 6, 30);
	m->registers_fp = roll(d, 8, 32);
	m->vector_bytes = 16 << roll(d, 0, 2);
	m->registers_vector = one_in(d, 4) ? 0 : one_in(d, 2) ? 16 : 32;
	m->spill_cycles = roll(d, 2, 6);
	m->mispredict = roll(d, 3, 22);
}

/* ---- caches ---- */

static int policy_near(struct dice *d)
{
	static const char *const names[] = {"lru",  "plru",  "plru",      "nru",     "random",
	                                    "fifo", "mru_n", "lru3plru4", "nru_late"};
	return xr_policy_parse(names[roll(d, 0, 8)]);
}

static int policy_far(struct dice *d)
{
	static const char *const names[] = {"plru",
	                                    "srrip",
	                                    "random",
	                                    "lru",
	                                    "qlru_h00_m1_r2_u1",
	                                    "qlru_h11_m1_r0_u0",
	                                    "qlru_h11_m1_r1_u2",
	                                    "nru",
	                                    "qlru_h00_m1_r0_u1"};
	return xr_policy_parse(names[roll(d, 0, 8)]);
}

/* Ways that are not only powers of two, and a power of two of sets, near to so many bytes. */
static struct xr_machine_cache *put_cache(struct xr_machine *m, struct dice *d, const char *name, int holds,
                                          double bytes, uint64_t line, double latency, int policy)
{
	static const uint64_t ways[] = {1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 8, 9, 10, 11, 12, 14, 15, 16, 16, 18, 20, 24};
	uint64_t w = ways[xr_rng_below(&d->rng, sizeof ways / sizeof *ways)];
	if (xr_policy_kind(policy) == XR_LRU_PLRU)
		w = 12;
	uint64_t sets = UINT64_C(1) << (int)fmax(2, round(log2(bytes / (double)(w * line))));
	struct xr_machine_cache *c = &m->cache[m->n_caches++];
	*c = (struct xr_machine_cache){.holds = holds,
	                               .capacity = w * sets * line,
	                               .line_bytes = line,
	                               .ways = w,
	                               .latency = latency,
	                               .policy = policy,
	                               .write_allocate = !one_in(d, 12),
	                               .write_back = !one_in(d, 12),
	                               .index = XR_VIRTUAL,
	                               .shared_by = 1};
	snprintf(c->name, sizeof c->name, "%s", name);
	return c;
}

static int bits_of(uint64_t n)
{
	int bits = 0;
	for (; n > 1; n >>= 1)
		bits++;
	return bits;
}

/* Any linear map of full rank: each bit of the index is its own address bit and a few of those above all of them. */
static void scramble(struct xr_machine_cache *c, struct dice *d, int from)
{
	int line = bits_of(c->line_bytes), n = bits_of(c->capacity / c->ways / c->line_bytes);
	c->index_bits.n = n;
	for (int i = 0; i < n; i++) {
		uint64_t mask = UINT64_C(1) << (line + i);
		for (int more = line + i >= from ? roll(d, 0, 3) : 0; more > 0; more--)
			mask |= UINT64_C(1) << (line + n + roll(d, 0, 11));
		c->index_bits.mask[i] = mask;
	}
}

static void choose_sets(struct xr_machine_cache *c, struct dice *d)
{
	double way = unit(d);
	if (way < 0.45)
		return;
	if (way < 0.6) {
		scramble(c, d, roll(d, 6, 8));
	} else if (way < 0.75) {
		scramble(c, d, 12);
	} else if (way < 0.85) {
		c->modulo = 1;
		c->capacity = c->capacity / 8 * (uint64_t)roll(d, 5, 11);
	} else if (way < 0.95) {
		c->slices = one_in(d, 2) ? roll(d, 2, 6) : 2 << roll(d, 0, 2);
		c->capacity *= (uint64_t)c->slices;
	} else {
		c->hash = 1;
	}
}

static void grow_caches(struct xr_machine *m, struct dice *d, double size)
{
	const uint64_t line = UINT64_C(16) << (one_in(d, 2) ? 2 : roll(d, 1, 3));
	double latency = roll(d, 2, 6), bytes = scale(d, 4096, 16384 + 131072 * size);
	put_cache(m, d, "l1d", XR_HOLDS_DATA, bytes, line, latency, policy_near(d));
	put_cache(m, d, "l1i", XR_HOLDS_CODE, bytes * scale(d, 0.5, 2), line, latency, policy_near(d));
	int levels = one_in(d, 12) ? 1 : size > 0.4 && !one_in(d, 3) ? 3 : 2;
	for (int i = 2; i <= levels; i++) {
		char name[16];
		bytes *= scale(d, 5, 24);
		latency = latency * scale(d, 2, 3.5) + roll(d, 2, 6);
		snprintf(name, sizeof name, "l%d", i);
		struct xr_machine_cache *c = put_cache(m, d, name, XR_HOLDS_BOTH, bytes, line << (one_in(d, 8) ? 1 : 0),
		                                       round(latency), policy_far(d));
		c->index = XR_PHYSICAL;
		c->inclusion = one_in(d, 5) ? XR_INCLUSIVE : one_in(d, 6) ? XR_EXCLUSIVE : XR_INCLUSION_NONE;
		choose_sets(c, d);
		c->shared_by = i == levels && i > 1 && one_in(d, 2) ? m->cores : 1;
	}
	m->memory_latency = round(latency * scale(d, 2.5, 6) + 60);
	m->parallelism = roll(d, 2, 24);
	m->bandwidth_gbs = scale(d, 2, 60);
	m->memory_bytes = UINT64_C(4) << 30;
}

/* ---- pages and TLBs ---- */

static void put_tlb(struct xr_machine *m, const char *name, int holds, uint64_t sets, uint64_t ways, double penalty,
                    int policy)
{
	struct xr_machine_tlb *t = &m->tlb[m->n_tlbs++];
	*t = (struct xr_machine_tlb){.holds = holds,
	                             .entries = sets * ways,
	                             .ways = sets == 1 ? 0 : ways,
	                             .penalty = penalty,
	                             .policy = policy,
	                             .coalesce = 1};
	snprintf(t->name, sizeof t->name, "%s", name);
}

static void grow_tlbs(struct xr_machine *m, struct dice *d)
{
	static const int policies[] = {XR_LRU, XR_LRU, XR_LRU, XR_PLRU, XR_RANDOM, XR_NRU};
	const double penalty = roll(d, 4, 14);
	const bool full = one_in(d, 2);
	m->page_bytes = one_in(d, 6) ? power(d, 8192, 65536) : 4096;
	m->huge_bytes = one_in(d, 4) ? 0 : m->page_bytes * 512;
	for (int side = 0; side < 2; side++) {
		uint64_t sets = full ? 1 : power(d, 4, 32), ways = (uint64_t)(full ? roll(d, 10, 100) : roll(d, 2, 8));
		put_tlb(m, side ? "i1" : "d1", side ? XR_HOLDS_CODE : XR_HOLDS_DATA, sets, ways, penalty,
		        full ? XR_LRU : policies[roll(d, 0, 5)]);
	}
	if (one_in(d, 4))
		return;
	static const uint64_t ways[] = {1, 2, 4, 4, 5, 6, 7, 8, 8, 12, 16};
	put_tlb(m, "d2", one_in(d, 3) ? XR_HOLDS_DATA : XR_HOLDS_BOTH, power(d, 64, 256),
	        ways[xr_rng_below(&d->rng, sizeof ways / sizeof *ways)], penalty + roll(d, 15, 60),
	        policies[roll(d, 0, 5)]);
}

/* ---- habits: each with a chance of its own ---- */

static void habits_of_tlbs(struct xr_machine *m, struct dice *d)
{
	for (int i = 0; i < m->n_tlbs; i++) {
		struct xr_machine_tlb *t = &m->tlb[i];
		int n = t->ways ? bits_of(t->entries / t->ways) : 0;
		if (n > 1 && one_in(d, 4)) {
			int gap = roll(d, 1, n - 1), wide = roll(d, 1, 4);
			t->index_bits.n = n;
			for (int b = 0; b < n; b++)
				t->index_bits.mask[b] = UINT64_C(1) << (b < gap ? b : b + wide);
		} else if (n > 1 && one_in(d, 5)) {
			t->fold = 1;
		}
		if (one_in(d, 8))
			t->coalesce = 4;
		if (i == 2 && t->ways >= 4 && m->huge_bytes && one_in(d, 6))
			t->huge_ways = (uint64_t)roll(d, 1, (int)t->ways / 2);
		else if (i == 2 && t->ways >= 4 && t->holds == XR_HOLDS_BOTH && one_in(d, 5))
			t->code_ways = t->ways / 2;
	}
	if (one_in(d, 5)) {
		m->walk_levels = roll(d, 3, 4);
		m->walk_step = roll(d, 4, 16);
		for (int i = 0; i < m->walk_levels - 1; i++)
			m->walk_cache[i] = UINT64_C(64) >> (2 * i);
		if (one_in(d, 2) && m->n_caches > 2)
			snprintf(m->walk_tables, sizeof m->walk_tables, "%s", m->cache[2].name);
	}
	if (m->huge_bytes && one_in(d, 10))
		m->host_bytes = m->page_bytes;
	m->placement = one_in(d, 6) ? XR_PLACE_CONTIGUOUS : one_in(d, 4) ? XR_PLACE_RUNS : XR_PLACE_RANDOM;
	if (m->placement == XR_PLACE_RUNS)
		m->run_pages = power(d, 2, 64);
	m->resizing = m->huge_bytes && one_in(d, 8);
}

static void habits_of_code(struct xr_machine *m, struct dice *d)
{
	if (one_in(d, 4)) {
		m->decoded_per_line = roll(d, 4, 8);
		m->decoded_ways = 8;
		m->decoded_ops = 8 * (uint64_t)m->decoded_per_line * power(d, 16, 128);
		m->decoded_window = UINT64_C(32) << roll(d, 0, 1);
		m->decode = roll(d, 1, 6);
	}
	if (one_in(d, 3)) {
		m->n_btbs = 1;
		m->btb[0] =
			(struct xr_machine_btb){.name = "near", .entries = power(d, 16, 2048), .shift = roll(d, 1, 5)};
		m->btb_miss = roll(d, 1, 10);
	}
	m->lines_ahead = one_in(d, 3) ? roll(d, 2, 10) : 1;
	m->pages_ahead = one_in(d, 5) ? roll(d, 2, 4) : 1;
	m->prefetch_code_lines = one_in(d, 6) ? roll(d, 1, 3) : 0;
	m->learns = one_in(d, 6) ? (uint64_t)roll(d, 50, 5000) : 0;
	m->prefetch_code = one_in(d, 4);
}

static void habits_of_data(struct xr_machine *m, struct dice *d)
{
	m->prefetch_adjacent = one_in(d, 3);
	m->prefetch_stride = one_in(d, 2);
	m->prefetch_stream = one_in(d, 2);
	m->prefetch_distance = roll(d, 1, 16);
	m->prefetch_temporal = one_in(d, 8) ? power(d, 128, 8192) : 0;
	m->value_prediction = one_in(d, 12);
	if (m->cache[0].ways > 1 && one_in(d, 7)) {
		int low = bits_of(m->page_bytes);
		m->cache[0].way_bits.n = roll(d, 6, 8);
		for (int i = 0; i < m->cache[0].way_bits.n; i++)
			m->cache[0].way_bits.mask[i] = UINT64_C(1) << (low + i) | UINT64_C(1)
			                                                                  << (low + 8 + roll(d, 0, 7));
		m->cache[0].same_set_cycles = roll(d, 0, 4);
	}
	struct xr_machine_cache *last = &m->cache[m->n_caches - 1];
	if (last->holds == XR_HOLDS_BOTH && one_in(d, 7)) {
		last->policy = xr_policy_parse("qlru_h11_m1_r0_u0");
		last->rival = xr_policy_parse("qlru_h11_mr31_r0_u0");
		last->leaders = 8;
	}
}

static void habits_of_time(struct xr_machine *m, struct dice *d)
{
	if (one_in(d, 4)) {
		m->timer_ns = scale(d, 1, 1000);
		m->timer_cost_ns = scale(d, 10, 600);
		m->timer_spread = one_in(d, 3) ? 0.2 * unit(d) : 0;
	}
	m->jitter = 0.012 * unit(d);
	m->interrupts_hz = scale(d, 50, 1500);
	m->interrupt_us = scale(d, 1, 12);
	m->drift = 0.012 * unit(d);
	if (m->smt > 1 && one_in(d, 5)) {
		m->sibling = 0.1 + 0.6 * unit(d);
		m->sibling_ms = scale(d, 1, 100);
		m->sibling_takes = 0.5;
	}
	if (m->registers_vector && one_in(d, 8)) {
		m->vector_from = m->vector_bytes;
		m->vector_mhz = round(m->mhz * (0.65 + 0.3 * unit(d)));
		m->vector_ms = 0.1 + unit(d);
	}
	if (one_in(d, 10)) {
		m->migrate_hz = scale(d, 2, 60);
		m->migrate_us = scale(d, 10, 200);
	}
	if (one_in(d, 6)) {
		m->counters = 1;
		m->lies = one_in(d, 2) ? roll(d, XR_LIES_ZERO, XR_LIES_SWAPPED) : XR_LIES_NONE;
	}
}

static void grow(struct xr_machine *m, struct dice *d)
{
	const double size = unit(d);
	xr_machine_init(m);
	m->cores = 1 << roll(d, 0, size > 0.3 ? 4 : 2);
	m->smt = size > 0.4 && one_in(d, 2) ? 2 : 1;
	m->nodes = m->cores > 4 && one_in(d, 5) ? 2 : 1;
	grow_core(m, d, size);
	if (m->smt > 1)
		snprintf(m->shared_names, sizeof m->shared_names, "alu mul fp div mem");
	m->near_ns = scale(d, 15, 90);
	m->far_ns = m->near_ns * scale(d, 1.8, 4);
	m->timeslice_ms = scale(d, 1, 20);
	m->switch_us = scale(d, 0.8, 6);
	m->timer_ns = 1;
	m->timer_cost_ns = scale(d, 8, 60);
	grow_caches(m, d, size);
	grow_tlbs(m, d);
	habits_of_tlbs(m, d);
	habits_of_code(m, d);
	habits_of_data(m, d);
	habits_of_time(m, d);
}

void second_machine(struct xr_machine *m, uint64_t seed)
{
	struct dice d = {{seed ^ UINT64_C(0x5ec0d6e4e7a70f)}};
	struct xr_error err;
	do { /* what contradicts itself is drawn anew */
		grow(m, &d);
		snprintf(m->name, sizeof m->name, "second-%llu", (unsigned long long)seed);
	} while (xr_machine_check(m, m->name, &err));
}
