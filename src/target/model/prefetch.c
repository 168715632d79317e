/* SPDX-License-Identifier: MIT */
/* Prefetchers of a simulated machine: they look at misses and guess. */
#include "target/model/mem_inside.h"

#include "util/memory.h"

#include <stdlib.h>

enum {
	STRIDE_MAX = 8192, /* bytes: longer strides are not recognised */
	PLACES = 4,        /* that a line's successor may be remembered in */
};

static void prefetch_on(struct xr_mem *mem, struct core *core, const struct path *path, struct xr_mem_buffer *b,
                        uint64_t address, int level)
{
	struct spot spot = {.b = b, .address = address};
	if (address < b->address || address >= b->address + b->bytes)
		return;
	if (level >= path->n)
		level = 0;
	for (int i = 0; i < level; i++)
		if (xr_mem_is_in(mem, core, path, i, &spot))
			return;
	xr_mem_bring(mem, core, path, &spot, level, false, NULL);
}

static void prefetch(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address, int level)
{
	prefetch_on(mem, core, &mem->data, b, address, level);
}

/* Where the successor of a line is remembered: one of a few places, the last one given up when all are taken.
 * NULL: nowhere. */
static struct successor *successor_of(struct xr_mem *mem, struct core *core, uint64_t line, bool make)
{
	struct successor *place = core->successor + (mixed(line) & mem->successors_mask & ~(uint64_t)(PLACES - 1));
	for (int i = 0; i < PLACES; i++)
		if (place[i].line == line + 1)
			return place + i;
	if (!make)
		return NULL;
	for (int i = PLACES - 1; i > 0; i--)
		place[i] = place[i - 1];
	*place = (struct successor){line + 1, 0};
	return place;
}

/* Remembers that this line missed after that one, and brings those that came next the last time. */
static void temporal_prefetch(struct xr_mem *mem, struct core *core, uint64_t address)
{
	const unsigned shift = core->cache[mem->data.cache[0]]->line_shift;
	uint64_t line = address >> shift;
	if (!core->successor)
		core->successor = xr_calloc((size_t)mem->successors_mask + 1, sizeof *core->successor);
	if (core->last_miss && core->last_miss != line + 1)
		successor_of(mem, core, core->last_miss - 1, true)->next = line;
	core->last_miss = line + 1;
	for (int i = 0; i < mem->machine->prefetch_distance; i++) {
		const struct successor *s = successor_of(mem, core, line, false);
		if (!s)
			return;
		line = s->next;
		prefetch(mem, core, buffer_at(mem, line << shift), line << shift, 1);
	}
}

static void stream_prefetch(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address)
{
	unsigned page_shift = mem->page_shift ? mem->page_shift : 12;
	unsigned line_shift = core->cache[mem->data.cache[mem->data.n > 1]]->line_shift;
	uint64_t page = address >> page_shift, line = address >> line_shift;
	int slot = (int)(mixed(page) % TRACKERS);
	int64_t step = 0;
	if (core->tracker[slot].there && core->tracker[slot].page == page)
		step = line == core->tracker[slot].line + 1 ? 1 : line + 1 == core->tracker[slot].line ? -1 : 0;
	core->tracker[slot].there = true;
	core->tracker[slot].page = page;
	core->tracker[slot].line = line;
	for (int k = 1; step && k <= mem->machine->prefetch_distance; k++) {
		uint64_t next = (line + (uint64_t)(step * k)) << line_shift;
		if (next >> page_shift != page)
			break;
		prefetch(mem, core, b, next, 1);
	}
}

void xr_mem_run_prefetchers(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address,
                            bool missed)
{
	const struct xr_machine *m = mem->machine;
	if (m->prefetch_adjacent && missed)
		prefetch(mem, core, b, address ^ mem->adjacent_bytes, 1);
	if (m->prefetch_stream && missed)
		stream_prefetch(mem, core, b, address);
	if (m->prefetch_temporal && missed)
		temporal_prefetch(mem, core, address);
	if (m->prefetch_stride) {
		int64_t delta = (int64_t)(address - core->last_address);
		if (delta && delta == core->last_delta && llabs(delta) <= STRIDE_MAX)
			prefetch(mem, core, b, address + (uint64_t)delta, 0);
		core->last_delta = delta;
		core->last_address = address;
	}
}

void xr_mem_fetch_along(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *b, uint64_t address)
{
	const uint64_t bytes = core->cache[mem->code.cache[0]]->cache->line_bytes;
	for (int i = 1; i <= mem->machine->prefetch_code_lines; i++)
		prefetch_on(mem, core, &mem->code, b, address + (uint64_t)i * bytes, 0);
}
