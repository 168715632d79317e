/* SPDX-License-Identifier: MIT */
/* Translation on a simulated machine: TLBs, one after the other, and the walk through the page table when none knows.
 *
 * A walk reads one entry of each level of the table, from the root down; walk caches know entries of upper levels and
 * save the steps above them. Entries are lines of the data caches where the machine has it so. Below a hypervisor each
 * entry, and at last the page itself, has an address that the host's table translates in turn: one more entry to read.
 */
#include "target/model/mem_inside.h"

#include "util/memory.h"

#include <stdlib.h>

/* A translation as TLBs see it. */
struct want {
	uint64_t page, key;
	bool huge, code;
	struct xr_mem_buffer *b;
	uint64_t address;
};

void xr_mem_make_tlbs(struct xr_mem *mem, struct core *core)
{
	for (int i = 0; i < mem->machine->n_tlbs; i++) {
		const struct xr_machine_tlb *t = &mem->machine->tlb[i];
		const uint64_t ways = xr_machine_tlb_ways(t), sets = t->entries / ways;
		struct tlb *tlb = core->tlb[i] = xr_calloc(1, sizeof *tlb);
		tlb->tlb = t;
		tlb->coalesce_shift = log2_of((uint64_t)t->coalesce);
		xr_array_init(&tlb->array, sets, ways - t->huge_ways, t->policy, &mem->rng);
		if (t->huge_ways)
			xr_array_init(&tlb->huge, sets, t->huge_ways, t->policy, &mem->rng);
		if (t->index_bits.n) {
			tlb->linear = xr_calloc(1, sizeof *tlb->linear);
			xr_index_table_init(tlb->linear, &t->index_bits);
		}
	}
	for (int i = 0; i < XR_MACHINE_WALK && mem->machine->walk_levels; i++)
		if (mem->machine->walk_cache[i])
			xr_array_init(&core->walk[i], 1, mem->machine->walk_cache[i], XR_LRU, &mem->rng);
}

void xr_mem_free_tlbs(struct xr_mem *mem, struct core *core)
{
	for (int i = 0; i < mem->machine->n_tlbs; i++)
		if (core->tlb[i]) {
			xr_array_release(&core->tlb[i]->array);
			xr_array_release(&core->tlb[i]->huge);
			free(core->tlb[i]->linear);
			free(core->tlb[i]);
		}
	for (int i = 0; i < XR_MACHINE_WALK; i++)
		xr_array_release(&core->walk[i]);
}

/* ---- the table ---- */

/* Reads an entry of a table: of level `level` (the host's: 0), the `index`-th. */
static double read_entry(struct xr_mem *mem, struct core *core, int level, uint64_t index)
{
	const struct path *path = &mem->data;
	if (!mem->tables)
		return mem->machine->walk_step;
	const uint64_t at = index * (uint64_t)mem->machine->walk_entry_bits / 8 & ((UINT64_C(1) << TABLE_SHIFT) - 1);
	struct spot spot = {.b = mem->tables, .address = mem->tables->address + ((uint64_t)level << TABLE_SHIFT) + at};
	int found = xr_mem_bring(mem, core, path, &spot, mem->tables_level, true, NULL);
	return mem->machine->walk_step + xr_mem_latency(mem, XR_USE_READ, found);
}

/* The host's entry for a guest-physical page. */
static double read_host(struct xr_mem *mem, struct core *core, uint64_t guest_page)
{
	return mem->host_shift ? read_entry(mem, core, 0, guest_page) : 0;
}

static double walk(struct xr_mem *mem, struct core *core, const struct want *want)
{
	const struct xr_machine *m = mem->machine;
	const unsigned bits = m->walk_bits ? (unsigned)m->walk_bits : mem->page_shift > 3 ? mem->page_shift - 3 : 1;
	const uint64_t page = want->address >> mem->page_shift;
	const int leaf = want->b->huge ? 1 + (int)((mem->huge_shift - mem->page_shift) / bits) : 1;
	int level = m->walk_levels;
	double cycles = 0;
	/* walk_cache[0] has entries of level 2 */
	for (int l = leaf + 1; l <= m->walk_levels && l < 2 + XR_MACHINE_WALK; l++) {
		struct xr_array *cache = &core->walk[l - 2];
		uint64_t *line = cache->ways ? xr_array_find(cache, 0, page >> bits * (unsigned)(l - 1)) : NULL;
		if (!line)
			continue;
		xr_array_use(cache, 0, line);
		level = l - 1;
		break;
	}
	for (; level >= leaf; level--) {
		const uint64_t index = page >> bits * (unsigned)(level - 1);
		struct xr_array *cache = level >= 2 ? &core->walk[level - 2] : NULL;
		struct xr_victim victim;
		cycles += read_host(
			mem, core, mixed(index >> bits ^ (uint64_t)level << 50) % (m->memory_bytes >> mem->host_shift));
		cycles += read_entry(mem, core, level, index);
		if (cache && cache->ways && level > leaf)
			xr_array_put(cache, 0, index, &victim);
	}
	return cycles + read_host(mem, core, xr_mem_physical(mem, want->b, want->address) >> mem->host_shift);
}

/* ---- TLBs ---- */

/* What a TLB files a translation under: with coalescing the number of a group of pages. */
static uint64_t number_in(const struct xr_mem *mem, const struct tlb *tlb, const struct want *want, uint64_t *key)
{
	uint64_t number = want->page;
	const bool group =
		tlb->coalesce_shift && !want->huge && xr_mem_in_a_row(mem, want->b, UINT64_C(1) << tlb->coalesce_shift);
	if (group)
		number >>= tlb->coalesce_shift;
	*key = number << 3 | (want->code ? 4 : 0) | (group ? 2 : 0) | (want->huge ? 1 : 0);
	return number;
}

static uint64_t set_in(const struct tlb *tlb, uint64_t number)
{
	const uint64_t sets = tlb->array.sets;
	if (tlb->linear)
		return xr_index_look(tlb->linear, number);
	if (sets & (sets - 1))
		return number % sets;
	if (tlb->tlb->fold)
		number ^= number / sets;
	return number & (sets - 1);
}

static struct xr_array *array_in(struct tlb *tlb, const struct want *want)
{
	return want->huge && tlb->huge.ways ? &tlb->huge : &tlb->array;
}

/* Where a TLB has, or would have, a translation. */
struct place {
	struct xr_array *array;
	uint64_t set, key;
};

static bool find_in(const struct xr_mem *mem, struct tlb *tlb, const struct want *want, struct place *at)
{
	at->set = set_in(tlb, number_in(mem, tlb, want, &at->key));
	at->array = array_in(tlb, want);
	uint64_t *line = xr_array_find(at->array, at->set, at->key);
	if (line)
		xr_array_use(at->array, at->set, line);
	return line;
}

static void put_in(const struct tlb *tlb, const struct want *want, const struct place *at)
{
	struct xr_victim victim;
	if (want->code && tlb->tlb->code_ways) {
		uint32_t n;
		uint64_t *oldest = xr_array_oldest_of(at->array, at->set, 4, 4, &n);
		if (n >= tlb->tlb->code_ways)
			xr_array_drop(at->array, at->set, oldest);
	}
	xr_array_put(at->array, at->set, at->key, &victim);
}

void xr_mem_translate(struct xr_mem *mem, struct core *core, const struct path *path, struct xr_mem_buffer *b,
                      uint64_t address, struct xr_met *met)
{
	/* Of a huge page whose parts the host keeps apart, or that no TLB takes as a whole, TLBs know the parts. */
	const bool scattered = mem->host_shift && mem->host_shift < mem->huge_shift;
	const unsigned part = scattered ? mem->host_shift : mem->page_shift;
	const bool huge = b->huge && !scattered && path->n_tlbs[1];
	const uint64_t page = address >> (huge ? mem->huge_shift : b->huge ? part : mem->page_shift);
	uint64_t *last = &core->last_page[path == &mem->code], now = (page << 1 | huge) + 1;
	if (*last == now)
		return;
	*last = now;
	const struct want want = {.page = page, .huge = huge, .code = path == &mem->code, .b = b, .address = address};
	const int n = path->n_tlbs[huge], *tlb = path->tlb[huge];
	struct place at[XR_MACHINE_TLBS];
	int found = 0;
	while (found < n && !find_in(mem, core->tlb[tlb[found]], &want, &at[found]))
		found++;
	for (int i = 0; i < found; i++)
		put_in(core->tlb[tlb[i]], &want, &at[i]);
	met->tlb_level = found;
	if (!found)
		return;
	met->tlb = mem->machine->tlb[tlb[found - 1]].penalty;
	met->walked = found == n;
	if (met->walked && mem->machine->walk_levels)
		met->tlb += walk(mem, core, &want);
}
