/* SPDX-License-Identifier: MIT */
#include "target/model/machine.h"

#include "target/model/bits.h"

#include <stdio.h>
#include <string.h>

const char *const xr_inclusion_names[] = {"none", "inclusive", "exclusive", NULL};
const char *const xr_holds_names[] = {"-", "data", "code", "both", NULL};
const char *const xr_placement_names[] = {"random", "contiguous", "runs", NULL};
const char *const xr_pages_names[] = {"both", "small", "huge", NULL};
const char *const xr_lies_names[] = {"none", "zero", "scaled", "random", "swapped", NULL};
const char *const xr_section_names[] = {"cpu",    "registers", "page",     "walk",  "code", "decoded",
                                        "branch", "threads",   "counters", "noise", NULL};

void xr_machine_init(struct xr_machine *machine)
{
	*machine = (struct xr_machine){
		.name = "unnamed",
		.mhz = 3000,
		.width = 4,
		.unit = {{"alu", 4}, {"mul", 1}, {"fp", 2}, {"div", 1}, {"mem", 2}},
		.n_units = 5,
		.timer_ns = 1,
		.timer_cost_ns = 20,
		.registers_int = 14,
		.registers_fp = 16,
		.registers_vector = 16,
		.vector_bytes = 32,
		.spill_cycles = 4,
		.memory_latency = 250,
		.parallelism = 12,
		.bandwidth_gbs = 20,
		.memory_bytes = UINT64_C(8) << 30,
		.page_bytes = 4096,
		.huge_bytes = 2 << 20,
		.placement = XR_PLACE_RANDOM,
		.resizing_ms = 5,
		.run_pages = 16,
		.vector_ms = 0.7,
		.vector_from = 64,
		.walk_entry_bits = 64,
		.lines_ahead = 1,
		.pages_ahead = 1,
		.decoded_ways = 8,
		.decoded_window = 64,
		.decoded_per_line = 8,
		.sibling_ms = 20,
		.sibling_takes = 0.5,
		.migrate_us = 20,
		.prefetch_distance = 4,
		.cores = 4,
		.smt = 1,
		.nodes = 1,
		.shared_names = "fp mul div",
		.near_ns = 40,
		.far_ns = 110,
		.timeslice_ms = 4,
		.switch_us = 2,
		.mispredict = 16,
		.preempt_ms = 4,
		.step_ms = 100,
		.ramp_ms = 50,
	};
}

struct xr_machine_cache *xr_machine_add_cache(struct xr_machine *m, const char *name, int holds, uint64_t ways,
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

void xr_machine_add_tlb(struct xr_machine *m, const char *name, int holds, uint64_t entries, uint64_t ways,
                        double penalty, int policy)
{
	struct xr_machine_tlb *t = &m->tlb[m->n_tlbs++];
	*t = (struct xr_machine_tlb){
		.holds = holds, .entries = entries, .ways = ways, .penalty = penalty, .policy = policy};
	snprintf(t->name, sizeof t->name, "%s", name);
}

int xr_machine_unit(const struct xr_machine *machine, const char *name)
{
	for (int i = 0; i < machine->n_units; i++)
		if (!strcmp(machine->unit[i].name, name))
			return i;
	return -1;
}

bool xr_machine_replaces_data_randomly(const struct xr_machine *machine)
{
	for (int i = 0; i < machine->n_caches; i++)
		if (machine->cache[i].holds & XR_HOLDS_DATA &&
		    (xr_policy_is_random(machine->cache[i].policy) || xr_policy_is_random(machine->cache[i].rival)))
			return true;
	for (int i = 0; i < machine->n_tlbs; i++)
		if (machine->tlb[i].holds & XR_HOLDS_DATA && xr_policy_is_random(machine->tlb[i].policy))
			return true;
	return false;
}

bool xr_machine_has_neighbours(const struct xr_machine *machine)
{
	for (int i = 0; i < machine->n_caches; i++)
		if (machine->cache[i].neighbours_gbs > 0)
			return true;
	return false;
}

uint64_t xr_machine_ways(const struct xr_machine_cache *cache)
{
	return cache->ways ? cache->ways : cache->capacity / cache->line_bytes;
}

uint64_t xr_machine_sets(const struct xr_machine_cache *cache)
{
	return cache->capacity / cache->line_bytes / xr_machine_ways(cache);
}

uint64_t xr_machine_tlb_ways(const struct xr_machine_tlb *tlb)
{
	return tlb->ways ? tlb->ways : tlb->entries;
}

int xr_machine_pieces(const struct xr_machine *machine, enum xr_type type)
{
	const struct xr_type_info *t = &xr_types[type];
	if (!t->vector)
		return 1;
	if (!machine->registers_vector || !machine->vector_bytes || machine->emulated[t->element] > 0)
		return 0;
	return t->bytes <= machine->vector_bytes ? 1 : t->bytes / machine->vector_bytes;
}

/* The section that says what an operation costs: of the type itself, of its element, of its class. */
static const struct xr_machine_op *section_of(const struct xr_machine *machine, enum xr_op op, enum xr_type type)
{
	const struct xr_machine_op *o = &machine->type_op[op][type];
	if (!o->there)
		o = &machine->type_op[op][xr_types[type].element];
	if (!o->there)
		o = &machine->class_op[op][xr_types[type].fp ? XR_CLASS_FP : XR_CLASS_INT];
	return o->there ? o : NULL;
}

const struct xr_machine_op *xr_machine_op(const struct xr_machine *machine, enum xr_op op, enum xr_type type)
{
	enum xr_type element = xr_types[type].element;
	if (!xr_op_has_type(op, type) || !xr_machine_pieces(machine, type) || machine->emulated[element] > 0)
		return NULL;
	if (op == XR_FMA) {
		if (machine->fma_said[element] && !machine->fma[element])
			return NULL;
		const struct xr_machine_op *fma = section_of(machine, XR_FMA, type);
		if (fma || !machine->fma_said[element])
			return fma;
		return section_of(machine, XR_MUL,
		                  type); /* [fma] says yes and nothing else: costs what a multiply does */
	}
	return section_of(machine, op, type);
}

/* ---- machines made smaller ---- */

static void scale(uint64_t *total, uint64_t *ways, uint64_t unit, uint64_t by)
{
	uint64_t lines = *total / unit, w = *ways ? *ways : lines, sets = w ? lines / w : 0;
	if (by < 2)
		return;
	if (sets >= by) {
		sets /= by;
	} else {
		w = w * sets / by ? w * sets / by : 1;
		sets = 1;
	}
	*total = sets * w * unit;
	*ways = w;
}

/* Only n bits of an index are left: those of the lowest address bits, since a smaller walk has no others. */
static void scale_bits(struct xr_index_bits *bits, uint64_t sets)
{
	const int n = (int)log2_of(sets);
	while (bits->n > n) {
		int highest = 0;
		for (int i = 1; i < bits->n; i++)
			if (__builtin_ctzll(bits->mask[i]) >= __builtin_ctzll(bits->mask[highest]))
				highest = i;
		for (int i = highest; i + 1 < bits->n; i++)
			bits->mask[i] = bits->mask[i + 1];
		bits->n--;
	}
}

/* Groups of ways that are no longer there. */
static int scaled_policy(int policy, uint64_t ways)
{
	return xr_policy_takes_ways(policy, ways) ? policy : XR_LRU;
}

static void scale_cache(struct xr_machine_cache *c, uint64_t by)
{
	scale(&c->capacity, &c->ways, c->line_bytes, by);
	const uint64_t sets = xr_machine_sets(c);
	scale_bits(&c->index_bits, sets);
	c->policy = scaled_policy(c->policy, xr_machine_ways(c));
	if (c->slices && sets % (uint64_t)c->slices) {
		c->slices = 0;
		c->modulo = 1;
	}
	if (c->leaders && 4 * (uint64_t)c->leaders > sets)
		c->leaders = (int)(sets / 4);
	c->rival = c->leaders ? c->rival : 0;
}

static uint64_t part(uint64_t some, uint64_t of, uint64_t now)
{
	uint64_t left = of ? some * now / of : 0;
	return !some || now < 2 ? 0 : !left ? 1 : left < now ? left : now - 1;
}

static void scale_tlb(struct xr_machine_tlb *t, uint64_t by)
{
	const uint64_t ways = xr_machine_tlb_ways(t);
	scale(&t->entries, &t->ways, 1, by);
	const uint64_t now = xr_machine_tlb_ways(t) ? xr_machine_tlb_ways(t) : 1;
	t->huge_ways = part(t->huge_ways, ways, now);
	t->code_ways = part(t->code_ways, ways, now);
	t->policy = scaled_policy(t->policy, now);
	scale_bits(&t->index_bits, t->entries / now);
}

static uint64_t divided(uint64_t n, uint64_t by)
{
	return n && n / by == 0 ? 1 : n / by;
}

/* What foresees code. */
static void scale_code(struct xr_machine *m, uint64_t by)
{
	const uint64_t per_line = (uint64_t)m->decoded_per_line;
	for (int i = 0; i < m->n_btbs; i++) {
		scale(&m->btb[i].entries, &m->btb[i].ways, 1, by);
		scale_bits(&m->btb[i].index_bits, m->btb[i].entries / m->btb[i].ways);
	}
	if (m->decoded_ops)
		scale(&m->decoded_ops, &m->decoded_ways, per_line, by);
	m->learns = divided(m->learns, by);
}

struct xr_machine xr_machine_scaled(const struct xr_machine *machine, uint64_t by, uint64_t stride)
{
	/* A page has many places left: of few, in an order that repeats, none would be met again soon by chance. */
	const uint64_t places = 16;
	struct xr_machine small = *machine;
	uint64_t least = places * stride, pages_by = 1;
	if (by < 2)
		return small;
	for (int i = 0; i < small.n_caches; i++) {
		scale_cache(&small.cache[i], by);
		least = small.cache[i].line_bytes > least ? small.cache[i].line_bytes : least;
	}
	while (pages_by < by && small.page_bytes >= 2 * pages_by * least)
		pages_by *= 2;
	/* tables keep their shape, and take the same share of the caches as before */
	const unsigned page_shift = log2_of(small.page_bytes);
	small.walk_bits = small.walk_bits ? small.walk_bits : page_shift > 3 ? (int)page_shift - 3 : 1;
	small.walk_entry_bits = (int)divided((uint64_t)small.walk_entry_bits, pages_by);
	small.page_bytes /= pages_by;
	small.huge_bytes /= pages_by;
	small.host_bytes /= pages_by;
	for (int i = 0; i < small.n_tlbs; i++)
		scale_tlb(&small.tlb[i], by / pages_by);
	for (int i = 0; i < XR_MACHINE_WALK; i++)
		small.walk_cache[i] = divided(small.walk_cache[i], by / pages_by);
	small.prefetch_temporal = divided(small.prefetch_temporal, by);
	scale_code(&small, by);
	return small;
}

/* ---- beside a busy sibling ---- */

static uint64_t left_of(uint64_t ways, double takes)
{
	const uint64_t left = (uint64_t)((double)ways * (1 - takes) + 0.5);
	return left ? left : 1;
}

struct xr_machine xr_machine_beside(const struct xr_machine *machine)
{
	struct xr_machine m = *machine;
	int seen = 0;
	m.unit_left = 1 - m.sibling_takes;
	for (int i = 0; i < m.n_caches; i++) {
		struct xr_machine_cache *c = &m.cache[i];
		if (!(c->holds & ~seen))
			continue;
		const uint64_t sets = xr_machine_sets(c), ways = left_of(xr_machine_ways(c), m.sibling_takes);
		seen |= c->holds;
		c->ways = ways;
		c->capacity = sets * ways * c->line_bytes;
		c->policy = scaled_policy(c->policy, ways);
	}
	seen = 0;
	for (int i = 0; i < m.n_tlbs; i++) {
		struct xr_machine_tlb *t = &m.tlb[i];
		if (!(t->holds & ~seen))
			continue;
		const uint64_t before = xr_machine_tlb_ways(t), sets = t->entries / before,
			       ways = left_of(before, m.sibling_takes);
		if (t->pages != XR_PAGES_HUGE)
			seen |= t->holds;
		t->ways = ways;
		t->entries = sets * ways;
		t->huge_ways = part(t->huge_ways, before, ways);
		t->code_ways = part(t->code_ways, before, ways);
		t->policy = scaled_policy(t->policy, ways);
	}
	return m;
}
