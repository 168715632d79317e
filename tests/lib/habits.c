/* SPDX-License-Identifier: MIT */
#include "habits.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define PICK(rng, array) ((array)[xr_rng_below((rng), COUNT(array))])

static uint64_t between(struct xr_rng *rng, uint64_t low, uint64_t high)
{
	return low + xr_rng_below(rng, high - low + 1);
}

static int log2_of(uint64_t n)
{
	int bits = 0;
	while (n > 1) {
		n >>= 1;
		bits++;
	}
	return bits;
}

/* ---- places ---- */

static struct xr_machine_cache *cache_named(struct xr_machine *m, const char *name)
{
	for (int i = 0; i < m->n_caches; i++)
		if (!strcmp(m->cache[i].name, name))
			return &m->cache[i];
	return NULL;
}

static struct xr_machine_cache *last_cache(struct xr_machine *m)
{
	return m->n_caches ? &m->cache[m->n_caches - 1] : NULL;
}

static struct xr_machine_tlb *tlb_named(struct xr_machine *m, const char *name)
{
	for (int i = 0; i < m->n_tlbs; i++)
		if (!strcmp(m->tlb[i].name, name))
			return &m->tlb[i];
	return NULL;
}

/* What a habit cannot be put on makes a machine that check refuses. */
static void refuse(struct xr_machine *m)
{
	m->page_bytes = 3;
}

/* ---- set indices of caches ---- */

/* Every bit of the plain index, those from `from` on with `more` upper ones mixed in. */
static void mix_index(struct xr_machine *m, struct xr_machine_cache *c, int from, struct xr_rng *rng)
{
	if (!c)
		return refuse(m);
	uint64_t sets = xr_machine_sets(c);
	int line = log2_of(c->line_bytes), n = log2_of(sets);
	c->hash = 0;
	c->index_bits.n = n;
	for (int i = 0; i < n; i++) {
		c->index_bits.mask[i] = UINT64_C(1) << (line + i);
		if (line + i < from)
			continue;
		for (uint64_t k = between(rng, 1, 2); k > 0; k--)
			c->index_bits.mask[i] ^= UINT64_C(1) << (line + n + (int)xr_rng_below(rng, 10));
	}
}

static void index_offset(struct xr_machine *m, struct xr_rng *rng)
{
	mix_index(m, cache_named(m, "l2"), (int)between(rng, 6, 9), rng);
}

static void index_upper(struct xr_machine *m, struct xr_rng *rng)
{
	mix_index(m, cache_named(m, "l2"), m->page_bytes ? log2_of(m->page_bytes) : 12, rng);
}

static void any_sets(struct xr_machine *m, struct xr_rng *rng)
{
	static const uint64_t of_four[] = {3, 5, 6, 7};
	struct xr_machine_cache *c = cache_named(m, "l2");
	if (!c)
		return refuse(m);
	c->capacity = c->capacity / 4 * PICK(rng, of_four);
	c->modulo = 1;
	c->hash = 0;
}

static void slice(struct xr_machine *m, int slices, struct xr_rng *rng, bool known)
{
	struct xr_machine_cache *c = last_cache(m);
	if (!c || c->holds != XR_HOLDS_BOTH)
		return refuse(m);
	uint64_t each = UINT64_C(1) << log2_of(xr_machine_sets(c) / (uint64_t)slices);
	c->hash = 0;
	c->slices = slices;
	c->capacity = each * (uint64_t)slices * xr_machine_ways(c) * c->line_bytes;
	if (!known)
		return;
	c->slice_bits.n = log2_of((uint64_t)slices);
	for (int i = 0; i < c->slice_bits.n; i++) {
		c->slice_bits.mask[i] = UINT64_C(1) << (log2_of(c->line_bytes) + i);
		for (int bit = 10 + i; bit < 30; bit++)
			if (xr_rng_below(rng, 2))
				c->slice_bits.mask[i] ^= UINT64_C(1) << bit;
	}
}

static void sliced_linear(struct xr_machine *m, struct xr_rng *rng)
{
	slice(m, 2 << xr_rng_below(rng, 3), rng, true);
}

static void sliced_odd(struct xr_machine *m, struct xr_rng *rng)
{
	static const int slices[] = {3, 5, 6, 10, 12};
	slice(m, PICK(rng, slices), rng, false);
}

static void way_predictor(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_cache *c = cache_named(m, "l1d");
	int low = m->page_bytes ? log2_of(m->page_bytes) : 12;
	if (!c || c->ways < 2)
		return refuse(m);
	c->way_bits.n = 8;
	for (int i = 0; i < 8; i++)
		c->way_bits.mask[i] = UINT64_C(1) << (low + i) | UINT64_C(1) << (low + 15 - i);
	c->same_set_cycles = (double)between(rng, 1, 4);
}

/* ---- replacement ---- */

static void qlru(struct xr_machine *m, struct xr_rng *rng)
{
	static const char *const names[] = {"qlru_h00_m1_r2_u1", "qlru_h00_m1_r0_u1", "qlru_h11_m1_r0_u0",
	                                    "qlru_h11_m1_r1_u2", "qlru_h11_m2_r0_u0"};
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds == XR_HOLDS_BOTH)
			m->cache[i].policy = xr_policy_parse(PICK(rng, names));
}

static void adaptive(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_cache *c = last_cache(m);
	if (!c || c->holds != XR_HOLDS_BOTH)
		return refuse(m);
	c->policy = xr_policy_parse("qlru_h11_m1_r0_u0");
	c->rival = xr_policy_parse("qlru_h11_mr31_r0_u0");
	c->leaders = 8 << xr_rng_below(rng, 2);
}

static void lru_of_plru(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_cache *c = cache_named(m, "l1d");
	uint32_t groups = (uint32_t)between(rng, 2, 4), leaves = 2u << xr_rng_below(rng, 2);
	if (!c)
		return refuse(m);
	uint64_t sets = xr_machine_sets(c);
	c->ways = (uint64_t)groups * leaves;
	c->capacity = sets * c->ways * c->line_bytes;
	c->policy = xr_policy_lru_plru(groups, leaves);
}

static void mru(struct xr_machine *m, struct xr_rng *rng)
{
	static const int policies[] = {XR_MRU_N, XR_NRU_LATE};
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds != XR_HOLDS_BOTH || xr_rng_below(rng, 2))
			m->cache[i].policy = PICK(rng, policies);
}

static void random_everywhere(struct xr_machine *m, struct xr_rng *rng)
{
	(void)rng;
	for (int i = 0; i < m->n_caches; i++)
		m->cache[i].policy = XR_RANDOM;
	for (int i = 0; i < m->n_tlbs; i++)
		m->tlb[i].policy = XR_RANDOM;
}

/* ---- TLBs, pages ---- */

static void tlb_gap(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_tlb *t = tlb_named(m, "d2");
	if (!t || !t->ways)
		return refuse(m);
	int n = log2_of(t->entries / t->ways), hole = (int)between(rng, 2, 3);
	t->index_bits.n = n;
	for (int i = 0; i < n; i++)
		t->index_bits.mask[i] = UINT64_C(1) << (i + (i == n - 1 ? hole : 0));
}

static void tlb_folded(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_tlb *t = tlb_named(m, xr_rng_below(rng, 2) ? "d2" : "d1");
	if (!t || !t->ways)
		return refuse(m);
	int n = log2_of(t->entries / t->ways);
	t->index_bits.n = n;
	for (int i = 0; i < n; i++)
		t->index_bits.mask[i] = UINT64_C(1) << i | UINT64_C(1) << (i + n);
}

static void tlb_odd(struct xr_machine *m, struct xr_rng *rng)
{
	static const uint64_t ways[] = {3, 5, 6, 7, 9, 12};
	for (int i = 0; i < m->n_tlbs; i++)
		if (m->tlb[i].ways) {
			uint64_t sets = m->tlb[i].entries / m->tlb[i].ways;
			m->tlb[i].ways = PICK(rng, ways);
			m->tlb[i].entries = sets * m->tlb[i].ways;
		}
}

static void tlb_any_sets(struct xr_machine *m, struct xr_rng *rng)
{
	static const uint64_t of_eight[] = {3, 5, 6, 7};
	struct xr_machine_tlb *t = tlb_named(m, "d2");
	if (!t || !t->ways || t->entries / t->ways < 16)
		return refuse(m);
	const uint64_t times = PICK(rng, of_eight);
	t->entries = t->entries / t->ways / 8 * times * PICK(rng, of_eight) / 4 * t->ways;
}

static void tlb_split(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_tlb *t = tlb_named(m, "d2");
	if (!t || t->ways < 4 || !m->huge_bytes)
		return refuse(m);
	t->huge_ways = between(rng, 1, t->ways / 2);
}

static void tlb_coalesce(struct xr_machine *m, struct xr_rng *rng)
{
	for (int i = 0; i < m->n_tlbs; i++)
		m->tlb[i].coalesce = 4 << xr_rng_below(rng, 2);
	m->placement = XR_PLACE_RUNS;
	m->run_pages = UINT64_C(4) << xr_rng_below(rng, 4);
}

static void tlb_half_for_code(struct xr_machine *m, struct xr_rng *rng)
{
	struct xr_machine_tlb *t = tlb_named(m, "d2");
	(void)rng;
	if (!t || t->ways < 2 || t->holds != XR_HOLDS_BOTH)
		return refuse(m);
	t->code_ways = t->ways / 2;
}

static void walk_caches(struct xr_machine *m, struct xr_rng *rng)
{
	m->walk_levels = (int)between(rng, 3, 4);
	m->walk_step = (double)between(rng, 6, 20);
	m->walk_cache[0] = UINT64_C(16) << xr_rng_below(rng, 3);
	m->walk_cache[1] = UINT64_C(4) << xr_rng_below(rng, 3);
}

static void walk_tables(struct xr_machine *m, struct xr_rng *rng)
{
	walk_caches(m, rng);
	m->walk_step = 2;
	snprintf(m->walk_tables, sizeof m->walk_tables, "%s", cache_named(m, "l2") ? "l2" : "l1d");
}

static void nested(struct xr_machine *m, struct xr_rng *rng)
{
	walk_caches(m, rng);
	m->host_bytes = m->page_bytes;
}

static void pages_in_runs(struct xr_machine *m, struct xr_rng *rng)
{
	m->placement = XR_PLACE_RUNS;
	m->run_pages = UINT64_C(2) << xr_rng_below(rng, 6);
}

/* ---- code ---- */

static void decoded(struct xr_machine *m, struct xr_rng *rng)
{
	m->decoded_per_line = (int)between(rng, 6, 9);
	m->decoded_ways = UINT64_C(4) << xr_rng_below(rng, 2);
	m->decoded_ops = (UINT64_C(32) << xr_rng_below(rng, 3)) * m->decoded_ways * (uint64_t)m->decoded_per_line;
	m->decoded_window = UINT64_C(32) << xr_rng_below(rng, 2);
	m->decode = (double)between(rng, 2, 5);
}

static void jump_targets(struct xr_machine *m, struct xr_rng *rng)
{
	m->n_btbs = 2;
	m->btb[0] = (struct xr_machine_btb){.name = "b1", .entries = UINT64_C(32) << xr_rng_below(rng, 6), .shift = 4};
	m->btb[1] = (struct xr_machine_btb){.name = "b2",
	                                    .entries = UINT64_C(2048) << xr_rng_below(rng, 3),
	                                    .ways = 4,
	                                    .cycles = (double)between(rng, 1, 4),
	                                    .shift = 4};
	m->btb_miss = m->btb[1].cycles + (double)between(rng, 2, 8);
}

static void fetched_ahead(struct xr_machine *m, struct xr_rng *rng)
{
	m->lines_ahead = 2 << xr_rng_below(rng, 3);
	m->pages_ahead = 1 << xr_rng_below(rng, 3);
	m->prefetch_code_lines = (int)between(rng, 0, 2);
}

static void hardly_learns(struct xr_machine *m, struct xr_rng *rng)
{
	m->learns = between(rng, 32, 2000);
}

/* ---- what foresees ---- */

static void temporal(struct xr_machine *m, struct xr_rng *rng)
{
	m->prefetch_temporal = UINT64_C(256) << xr_rng_below(rng, 6);
}

static void value_prediction(struct xr_machine *m, struct xr_rng *rng)
{
	(void)rng;
	m->value_prediction = 1;
}

/* ---- time and neighbours ---- */

static void coarse_timer(struct xr_machine *m, struct xr_rng *rng)
{
	static const double ns[] = {10, 41.7, 52, 100, 1000};
	m->timer_ns = PICK(rng, ns);
	m->timer_cost_ns = (double)between(rng, 30, 800);
	m->timer_spread = 0.3 * xr_rng_unit(rng);
}

static void sibling(struct xr_machine *m, struct xr_rng *rng)
{
	m->smt = 2;
	m->sibling = 0.2 + 0.6 * xr_rng_unit(rng);
	m->sibling_ms = (double)between(rng, 2, 100);
	m->sibling_takes = 0.3 + 0.3 * xr_rng_unit(rng);
}

static void vector_clock(struct xr_machine *m, struct xr_rng *rng)
{
	if (!m->registers_vector)
		return refuse(m);
	m->vector_from = m->vector_bytes;
	m->vector_mhz = m->mhz * (0.7 + 0.2 * xr_rng_unit(rng));
	m->vector_ms = 0.2 + xr_rng_unit(rng);
}

static void migrations(struct xr_machine *m, struct xr_rng *rng)
{
	m->migrate_hz = (double)between(rng, 5, 100);
	m->migrate_us = (double)between(rng, 10, 200);
}

static void lying_counters(struct xr_machine *m, struct xr_rng *rng)
{
	m->counters = 1;
	m->lies = (int)between(rng, XR_LIES_ZERO, XR_LIES_SWAPPED);
}

/* Whole families: a part of one would leave out what other micro-benchmarks find of it. */
/* clang-format off */
#define CACHES {"cache", "memory", NULL}
#define TLBS {"tlb", "memory", NULL}
#define CODE {"cache", "tlb", "code", "branch", NULL}
/* clang-format on */

const struct habit habits[] = {
	{"index_offset", "L2 sets by XOR, page-offset bits included", CACHES, index_offset},
	{"index_upper", "L2 sets by XOR of bits above the page", CACHES, index_upper},
	{"any_sets", "L2 with any number of sets", CACHES, any_sets},
	{"sliced_linear", "last cache in 2 to 8 slices, by XOR", CACHES, sliced_linear},
	{"sliced_odd", "last cache in 3 to 12 slices, by an unknown hash", CACHES, sliced_odd},
	{"way_predictor", "L1 way predictor", CACHES, way_predictor},
	{"qlru", "QLRU in the outer caches", CACHES, qlru},
	{"adaptive", "two policies that duel in the last cache", CACHES, adaptive},
	{"lru_of_plru", "L1: LRU among groups of tree-PLRU", CACHES, lru_of_plru},
	{"mru", "MRU variants", CACHES, mru},
	{"random", "random replacement everywhere", {"cache", "tlb", "memory", NULL}, random_everywhere},
	{"tlb_gap", "second TLB: index bits with a gap", TLBS, tlb_gap},
	{"tlb_folded", "TLB index folded by XOR", TLBS, tlb_folded},
	{"tlb_odd", "TLBs of 3, 5, 7 … ways", TLBS, tlb_odd},
	{"tlb_any_sets", "second TLB with any number of sets", TLBS, tlb_any_sets},
	{"tlb_split", "second TLB: ways split by page size", TLBS, tlb_split},
	{"tlb_coalesce", "one entry for neighbouring pages", TLBS, tlb_coalesce},
	{"tlb_half_for_code", "second TLB: half of it closed to code", TLBS, tlb_half_for_code},
	{"walk_caches", "page-walk caches", TLBS, walk_caches},
	{"walk_tables", "page tables in the data caches", TLBS, walk_tables},
	{"nested", "nested paging on small host pages", TLBS, nested},
	{"pages_in_runs", "pages that lie in runs", {"tlb", "cache", "memory", NULL}, pages_in_runs},
	{"decoded", "cache of decoded code", CODE, decoded},
	{"jump_targets", "jump-target buffers of two levels", CODE, jump_targets},
	{"fetched_ahead", "foreseen jumps hide instruction misses", CODE, fetched_ahead},
	{"hardly_learns", "only short orders of jumps are foreseen", CODE, hardly_learns},
	{"temporal", "temporal prefetcher", CACHES, temporal},
	{"value_prediction", "load value prediction", CACHES, value_prediction},
	{"coarse_timer", "timer of 10 ns to 1 us, costly", {NULL}, coarse_timer},
	{"sibling", "an SMT sibling that comes and goes", {NULL}, sibling},
	{"vector_clock", "wide vectors lower the clock", {"op", "isa", "registers", "units", NULL}, vector_clock},
	{"migrations", "a hypervisor moves the CPU", {NULL}, migrations},
	{"lying_counters", "counters that lie", {"cache", "tlb", NULL}, lying_counters},
};
const int n_habits = COUNT(habits);

bool habit_put(const struct habit *habit, struct xr_machine *machine, uint64_t seed)
{
	struct xr_rng rng = {seed * 131 + 17};
	struct xr_error err;
	struct xr_machine before = *machine;
	habit->put(machine, &rng);
	if (!xr_machine_check(machine, machine->name, &err))
		return true;
	*machine = before;
	return false;
}
