/* SPDX-License-Identifier: MIT */
/* Machines that make sense: what single keys of a file cannot say wrong, but several together can. */
#include "target/model/machine.h"

#include "target/model/bits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINES_MAX = 1 << 25, SCAN_WAYS = 64 };

struct checker {
	const char *name;
	struct xr_error *err;
};

static int wrong(const struct checker *k, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int wrong(const struct checker *k, int line, const char *format, ...)
{
	char reason[400];
	va_list args;
	va_start(args, format);
	vsnprintf(reason, sizeof reason, format, args);
	va_end(args);
	return xr_fail(k->err, XR_EXIT_USE, "%s:%d: %s", k->name, line > 0 ? line : 1, reason);
}

static bool is_power(uint64_t n)
{
	return n && !(n & (n - 1));
}

static int check_op(struct xr_machine *machine, struct xr_machine_op *op, enum xr_op which, bool fp, const char *name,
                    struct xr_error *err)
{
	static const char *const fallback[2][3] = {{"alu", "int", "core"}, {"fp", "fpu", "alu"}};
	if (!op->there)
		return 0;
	if (op->unit_name[0]) {
		op->unit = xr_machine_unit(machine, op->unit_name);
		if (op->unit < 0)
			return xr_fail(err, XR_EXIT_USE,
			               "%s:%d: [op %s] uses unit '%s', which [cpu] units does not list", name, op->line,
			               xr_ops[which].name, op->unit_name);
		return 0;
	}
	op->unit = xr_machine_unit(machine, xr_ops[which].name);
	for (int i = 0; i < 3 && op->unit < 0; i++)
		op->unit = xr_machine_unit(machine, fallback[fp][i]);
	if (op->unit < 0)
		op->unit = 0;
	memcpy(op->unit_name, machine->unit[op->unit].name, sizeof op->unit_name);
	return 0;
}

static int check_ops(struct xr_machine *machine, const char *name, struct xr_error *err)
{
	for (int op = 0; op < XR_N_OPS; op++) {
		for (int c = 0; c < XR_N_CLASSES; c++)
			if (check_op(machine, &machine->class_op[op][c], (enum xr_op)op, c == XR_CLASS_FP, name, err))
				return -1;
		for (int t = 0; t < XR_N_TYPES; t++)
			if (check_op(machine, &machine->type_op[op][t], (enum xr_op)op, xr_types[t].fp, name, err))
				return -1;
	}
	return 0;
}

/* ---- caches ---- */

static int check_slices(const struct checker *k, const struct xr_machine_cache *c, uint64_t sets)
{
	const uint64_t slices = (uint64_t)c->slices;
	if (!slices && c->slice_bits.n)
		return wrong(k, c->line, "[cache %s] slice_bits without slices", c->name);
	if (!slices)
		return 0;
	if (sets % slices)
		return wrong(k, c->line, "[cache %s] has %llu sets, which %d slices cannot share evenly", c->name,
		             (unsigned long long)sets, c->slices);
	if (c->slice_bits.n && (!is_power(slices) || log2_of(slices) != (unsigned)c->slice_bits.n))
		return wrong(k, c->line, "[cache %s] slice_bits lists %d bits, which make no number of %d slices",
		             c->name, c->slice_bits.n, c->slices);
	if (!is_power(sets / slices) && !c->modulo)
		return wrong(k, c->line, "[cache %s] has %llu sets a slice, not a power of two: only modulo = yes can",
		             c->name, (unsigned long long)(sets / slices));
	return 0;
}

/* How lines are mapped to sets. */
static int check_index(const struct checker *k, const struct xr_machine_cache *c, uint64_t sets)
{
	const struct xr_index_bits *bits = &c->index_bits;
	const uint64_t inside = c->line_bytes - 1;
	if (c->hash + (c->modulo || c->slices) + (bits->n > 0) > 1)
		return wrong(k, c->line,
		             "[cache %s] has more than one index: hash, index_bits, slices with or without modulo",
		             c->name);
	if (bits->n && (!is_power(sets) || log2_of(sets) != (unsigned)bits->n))
		return wrong(k, c->line, "[cache %s] index_bits lists %d bits, but there are %llu sets", c->name,
		             bits->n, (unsigned long long)sets);
	for (int i = 0; i < bits->n; i++)
		if (bits->mask[i] & inside)
			return wrong(k, c->line, "[cache %s] index_bits: bit %d is inside a line of %llu bytes",
			             c->name, __builtin_ctzll(bits->mask[i] & inside),
			             (unsigned long long)c->line_bytes);
	for (int i = 0; i < c->slice_bits.n; i++)
		if (c->slice_bits.mask[i] & inside)
			return wrong(k, c->line, "[cache %s] slice_bits: bit %d is inside a line of %llu bytes",
			             c->name, __builtin_ctzll(c->slice_bits.mask[i] & inside),
			             (unsigned long long)c->line_bytes);
	if (!is_power(sets) && !c->hash && !c->modulo && !c->slices)
		return wrong(k, c->line,
		             "[cache %s] has %llu sets, not a power of two: only hash = yes or modulo = yes can",
		             c->name, (unsigned long long)sets);
	return check_slices(k, c, sets);
}

static int check_replacement(const struct checker *k, const struct xr_machine_cache *c, uint64_t sets, uint64_t ways)
{
	char name[XR_POLICY_TEXT], rival[XR_POLICY_TEXT];
	xr_policy_text(c->policy, name);
	xr_policy_text(c->rival, rival);
	if (!xr_policy_takes_ways(c->policy, ways) || (c->rival && !xr_policy_takes_ways(c->rival, ways)))
		return wrong(k, c->line, "[cache %s] policy = %s does not go with %llu ways", c->name, name,
		             (unsigned long long)ways);
	if (!c->rival != !c->leaders)
		return wrong(k, c->line, "[cache %s] rival and leaders belong together", c->name);
	if (c->rival && !xr_policy_shares_state(c->policy, c->rival))
		return wrong(k, c->line, "[cache %s] policy = %s and rival = %s: only qlru, srrip and random can duel",
		             c->name, name, rival);
	if (c->rival && sets < 4 * (uint64_t)c->leaders)
		return wrong(k, c->line, "[cache %s] leaders = %d of each policy leave no followers among %llu sets",
		             c->name, c->leaders, (unsigned long long)sets);
	return 0;
}

static bool is_first_of_data(const struct xr_machine *m, const struct xr_machine_cache *c)
{
	for (int i = 0; i < m->n_caches; i++)
		if (m->cache[i].holds & XR_HOLDS_DATA)
			return &m->cache[i] == c;
	return false;
}

static int check_way_predictor(const struct checker *k, const struct xr_machine *m, const struct xr_machine_cache *c)
{
	if (!c->way_bits.n && !(c->same_set_cycles > 0))
		return 0;
	if (!is_first_of_data(m, c))
		return wrong(k, c->line, "[cache %s] way_bits and same_set_cycles are for the first cache of data",
		             c->name);
	for (int i = 0; i < c->way_bits.n; i++)
		if (c->way_bits.mask[i] & (c->line_bytes - 1))
			return wrong(k, c->line, "[cache %s] way_bits: bit %d is inside a line", c->name,
			             __builtin_ctzll(c->way_bits.mask[i] & (c->line_bytes - 1)));
	return 0;
}

static int check_cache(const struct checker *k, const struct xr_machine *machine, const struct xr_machine_cache *c)
{
	if (!c->capacity || !c->line_bytes)
		return wrong(k, c->line, "[cache %s] has no %s", c->name, c->capacity ? "line" : "capacity");
	if (!is_power(c->line_bytes))
		return wrong(k, c->line, "[cache %s] line = %llu is not a power of two", c->name,
		             (unsigned long long)c->line_bytes);
	uint64_t lines = c->capacity / c->line_bytes, ways = c->ways ? c->ways : lines;
	if (!lines || c->capacity % c->line_bytes || ways > lines || lines % ways)
		return wrong(k, c->line, "[cache %s] capacity = %llu is not a multiple of ways x line = %llu", c->name,
		             (unsigned long long)c->capacity, (unsigned long long)(ways * c->line_bytes));
	if (lines > LINES_MAX)
		return wrong(k, c->line, "[cache %s] has %llu lines, more than can be simulated (%d)", c->name,
		             (unsigned long long)lines, LINES_MAX);
	if (check_index(k, c, lines / ways) || check_replacement(k, c, lines / ways, ways) ||
	    check_way_predictor(k, machine, c))
		return -1;
	if (machine->page_bytes && c->line_bytes > machine->page_bytes)
		return wrong(k, c->line, "[cache %s] line = %llu is longer than a page", c->name,
		             (unsigned long long)c->line_bytes);
	if (c->shared_by > machine->cores)
		return wrong(k, c->line, "[cache %s] shared_by = %d, but there are %d cores", c->name, c->shared_by,
		             machine->cores);
	if (c->neighbours_gbs > 0 && !(c->holds & XR_HOLDS_DATA))
		return wrong(k, c->line, "[cache %s] neighbours_gbs = %g, but it holds no data", c->name,
		             c->neighbours_gbs);
	return 0;
}

/* ---- translation ---- */

static int check_tlb_parts(const struct checker *k, const struct xr_machine *m, const struct xr_machine_tlb *t,
                           uint64_t ways)
{
	if (t->pages == XR_PAGES_HUGE && !m->huge_bytes)
		return wrong(k, t->line, "[tlb %s] pages = huge, but [page] has no huge ones", t->name);
	if (t->huge_ways && (t->huge_ways >= ways || t->pages != XR_PAGES_BOTH || !m->huge_bytes))
		return wrong(k, t->line,
		             "[tlb %s] huge_ways = %llu: some ways for huge pages, others for small ones are wanted",
		             t->name, (unsigned long long)t->huge_ways);
	if (t->code_ways && (t->code_ways >= ways || t->holds != XR_HOLDS_BOTH || ways > SCAN_WAYS))
		return wrong(
			k, t->line,
			"[tlb %s] code_ways = %llu: a TLB that holds both, of at most %d ways and more than these, is wanted",
			t->name, (unsigned long long)t->code_ways, SCAN_WAYS);
	if (t->huge_ways && t->code_ways)
		return wrong(k, t->line, "[tlb %s] huge_ways and code_ways do not go together", t->name);
	if (t->coalesce > 1 && (!is_power((uint64_t)t->coalesce) || !m->page_bytes))
		return wrong(k, t->line, "[tlb %s] coalesce = %d: a power of two of pages is wanted", t->name,
		             t->coalesce);
	return 0;
}

static int check_tlb(const struct checker *k, const struct xr_machine *m, const struct xr_machine_tlb *t)
{
	char name[XR_POLICY_TEXT];
	const uint64_t ways = t->ways ? t->ways : t->entries;
	if (!t->entries || ways > t->entries || t->entries % ways)
		return wrong(k, t->line, "[tlb %s] entries = %llu is not a multiple of ways = %llu", t->name,
		             (unsigned long long)t->entries, (unsigned long long)ways);
	const uint64_t sets = t->entries / ways;
	xr_policy_text(t->policy, name);
	if (!xr_policy_takes_ways(t->policy, ways) || (t->huge_ways && xr_policy_kind(t->policy) == XR_LRU_PLRU))
		return wrong(k, t->line, "[tlb %s] policy = %s does not go with %llu ways", t->name, name,
		             (unsigned long long)ways);
	if (t->index_bits.n && t->fold)
		return wrong(k, t->line, "[tlb %s] has two indices: fold and index_bits", t->name);
	if (t->index_bits.n && (!is_power(sets) || log2_of(sets) != (unsigned)t->index_bits.n))
		return wrong(k, t->line, "[tlb %s] index_bits lists %d bits, but there are %llu sets", t->name,
		             t->index_bits.n, (unsigned long long)sets);
	return check_tlb_parts(k, m, t, ways);
}

static int cache_named(const struct xr_machine *m, const char *name)
{
	for (int i = 0; i < m->n_caches; i++)
		if (!strcmp(m->cache[i].name, name))
			return i;
	return -1;
}

static int check_walk(const struct checker *k, const struct xr_machine *m)
{
	const int line = m->section_line[XR_IN_WALK], tables = cache_named(m, m->walk_tables);
	int n = 0;
	for (int i = 0; i < XR_MACHINE_WALK; i++)
		n = m->walk_cache[i] ? i + 1 : n;
	if (!m->walk_levels && (m->walk_step > 0 || m->walk_tables[0] || n))
		return wrong(k, line, "[walk] says how a page table is walked, but levels = 0");
	if (!m->walk_levels)
		return 0;
	if (!m->page_bytes || !m->n_tlbs)
		return wrong(k, line, "[walk] levels = %d, but there are no pages or no TLBs", m->walk_levels);
	if (n >= m->walk_levels)
		return wrong(k, line, "[walk] caches: %d, but %d levels have but %d above the last", n, m->walk_levels,
		             m->walk_levels - 1);
	if (m->walk_tables[0] && (tables < 0 || !(m->cache[tables].holds & XR_HOLDS_DATA)))
		return wrong(k, line, "[walk] tables = %s: no cache of that name holds data", m->walk_tables);
	return 0;
}

static int check_pages(const struct checker *k, struct xr_machine *m)
{
	const int line = m->section_line[XR_IN_PAGE];
	if (m->page_bytes && !is_power(m->page_bytes))
		return wrong(k, line, "[page] size = %llu is not a power of two", (unsigned long long)m->page_bytes);
	if (!m->page_bytes)
		m->huge_bytes = 0;
	if (m->huge_bytes && (!is_power(m->huge_bytes) || m->huge_bytes <= m->page_bytes))
		return wrong(k, line, "[page] huge = %llu is not a power of two above size",
		             (unsigned long long)m->huge_bytes);
	if (!is_power(m->run_pages))
		return wrong(k, line, "[page] run = %llu is not a power of two", (unsigned long long)m->run_pages);
	if (m->host_bytes && (!is_power(m->host_bytes) || !m->page_bytes || m->host_bytes < m->page_bytes))
		return wrong(k, line, "[page] host = %llu is not a power of two from size on",
		             (unsigned long long)m->host_bytes);
	return check_walk(k, m);
}

/* ---- code ---- */

static int check_btb(const struct checker *k, const struct xr_machine_btb *b)
{
	const uint64_t ways = b->ways ? b->ways : b->entries;
	if (!b->entries || ways > b->entries || b->entries % ways)
		return wrong(k, b->line, "[btb %s] entries = %llu is not a multiple of ways = %llu", b->name,
		             (unsigned long long)b->entries, (unsigned long long)ways);
	if (!is_power(b->entries / ways))
		return wrong(k, b->line, "[btb %s] has %llu sets, not a power of two", b->name,
		             (unsigned long long)(b->entries / ways));
	if (b->index_bits.n && log2_of(b->entries / ways) != (unsigned)b->index_bits.n)
		return wrong(k, b->line, "[btb %s] index_bits lists %d bits, but there are %llu sets", b->name,
		             b->index_bits.n, (unsigned long long)(b->entries / ways));
	for (int i = 0; i < b->index_bits.n; i++)
		if (b->index_bits.mask[i] & ((UINT64_C(1) << b->shift) - 1))
			return wrong(k, b->line, "[btb %s] index_bits: a bit below shift = %d", b->name, b->shift);
	return 0;
}

static int check_decoded(const struct checker *k, const struct xr_machine *m)
{
	const int line = m->section_line[XR_IN_DECODED];
	const uint64_t set = m->decoded_ways * (uint64_t)m->decoded_per_line;
	bool code = false;
	for (int i = 0; i < m->n_caches; i++)
		code |= (m->cache[i].holds & XR_HOLDS_CODE) != 0;
	if (!m->decoded_ops)
		return line ? wrong(k, line, "[decoded] has no ops") : 0;
	if (m->decoded_ops % set || !is_power(m->decoded_ops / set))
		return wrong(k, line, "[decoded] ops = %llu is not a power of two times ways x per_line = %llu",
		             (unsigned long long)m->decoded_ops, (unsigned long long)set);
	if (!is_power(m->decoded_window))
		return wrong(k, line, "[decoded] window = %llu is not a power of two",
		             (unsigned long long)m->decoded_window);
	if (m->decoded_inclusive && !code)
		return wrong(k, line, "[decoded] inclusive = yes, but no cache holds code");
	return 0;
}

static int check_code(const struct checker *k, const struct xr_machine *m)
{
	for (int i = 0; i < m->n_btbs; i++)
		if (check_btb(k, &m->btb[i]))
			return -1;
	for (int i = 1; i < m->n_btbs; i++)
		if (m->btb[i].cycles < m->btb[i - 1].cycles || m->btb[i].entries < m->btb[i - 1].entries)
			return wrong(k, m->btb[i].line, "[btb %s] is smaller or quicker than the one before it",
			             m->btb[i].name);
	if (m->n_btbs && m->btb_miss < m->btb[m->n_btbs - 1].cycles)
		return wrong(k, m->section_line[XR_IN_BRANCH],
		             "[branch] btb_miss = %g is less than a hit of [btb %s] takes", m->btb_miss,
		             m->btb[m->n_btbs - 1].name);
	if (!m->n_btbs && m->btb_miss > 0)
		return wrong(k, m->section_line[XR_IN_BRANCH], "[branch] btb_miss = %g, but there is no [btb]",
		             m->btb_miss);
	return check_decoded(k, m);
}

/* ---- the rest ---- */

static int check_system(const struct checker *k, const struct xr_machine *m)
{
	const int cpu = m->section_line[XR_IN_CPU], noise = m->section_line[XR_IN_NOISE];
	if (m->vector_bytes && !is_power((uint64_t)m->vector_bytes))
		return wrong(k, m->section_line[XR_IN_REGISTERS], "[registers] vector_bytes = %d is not a power of two",
		             m->vector_bytes);
	if (m->vector_mhz > m->mhz)
		return wrong(k, cpu, "[cpu] vector_mhz = %g is more than mhz = %g", m->vector_mhz, m->mhz);
	if (m->vector_mhz > 0 && (!m->registers_vector || m->vector_from > m->vector_bytes))
		return wrong(k, cpu, "[cpu] vector_mhz = %g, but no vector has %d bytes", m->vector_mhz,
		             m->vector_from);
	if (m->nodes > m->cores || m->cores % m->nodes)
		return wrong(k, m->section_line[XR_IN_THREADS],
		             "[threads] cores = %d cannot be split evenly over nodes = %d", m->cores, m->nodes);
	double busy = m->interrupts_hz * m->interrupt_us * 1.3e-6 + m->migrate_hz * m->migrate_us * 1.5e-6;
	if (busy > 0.95)
		return wrong(k, noise,
		             "[noise] interrupts and migrations leave the program no time: they last %.3g s a second",
		             busy);
	if (m->sibling > 0 && m->smt < 2)
		return wrong(k, noise, "[noise] sibling = %g, but [threads] smt = 1", m->sibling);
	if (m->lies && !m->counters)
		return wrong(k, m->section_line[XR_IN_COUNTERS], "[counters] lies = %s, but none are available",
		             xr_lies_names[m->lies]);
	return 0;
}

static void find_shared_units(struct xr_machine *machine)
{
	char names[sizeof machine->shared_names];
	char *rest = NULL;
	memcpy(names, machine->shared_names, sizeof names);
	machine->shared_units = 0;
	for (char *word = strtok_r(names, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
		int unit = xr_machine_unit(machine, word);
		if (unit >= 0)
			machine->shared_units |= 1u << unit;
	}
}

/* Files list levels from the core outwards, but may list those of data before those of code: [tlb d2] that holds both,
 * then [tlb i1]. What holds one kind is nearer than what holds both; beyond that the order of the file stands. */
static void put_in_order(struct xr_machine *machine)
{
	for (int i = 1; i < machine->n_caches; i++)
		for (int j = i;
		     j && machine->cache[j].holds != XR_HOLDS_BOTH && machine->cache[j - 1].holds == XR_HOLDS_BOTH;
		     j--) {
			struct xr_machine_cache swap = machine->cache[j];
			machine->cache[j] = machine->cache[j - 1];
			machine->cache[j - 1] = swap;
		}
	for (int i = 1; i < machine->n_tlbs; i++)
		for (int j = i;
		     j && machine->tlb[j].holds != XR_HOLDS_BOTH && machine->tlb[j - 1].holds == XR_HOLDS_BOTH; j--) {
			struct xr_machine_tlb swap = machine->tlb[j];
			machine->tlb[j] = machine->tlb[j - 1];
			machine->tlb[j - 1] = swap;
		}
}

int xr_machine_check(struct xr_machine *machine, const char *name, struct xr_error *err)
{
	const struct checker k = {name, err};
	if (check_ops(machine, name, err))
		return -1;
	for (int i = 0; i < machine->n_caches; i++)
		if (check_cache(&k, machine, &machine->cache[i]))
			return -1;
	for (int i = 0; i < machine->n_tlbs; i++)
		if (check_tlb(&k, machine, &machine->tlb[i]))
			return -1;
	if (check_pages(&k, machine) || check_code(&k, machine) || check_system(&k, machine))
		return -1;
	find_shared_units(machine);
	put_in_order(machine);
	return 0;
}
