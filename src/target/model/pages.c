/* SPDX-License-Identifier: MIT */
/* Pages of a simulated machine: which frame each has, and where that is in memory.
 *
 * Below a hypervisor frames are only guest-physical: pages of the host, scattered in their turn, are what memory has.
 */
#include "target/model/mem_inside.h"

#include "util/memory.h"

#include <stdlib.h>

/* The i-th frame of a random order of n frames: a Feistel network over the next even power of two, walked until the
 * result is in range, so that no two pages get the same frame. */
static uint64_t shuffled(uint64_t i, uint64_t n, uint64_t key)
{
	unsigned half = 1;
	while (half < 31 && UINT64_C(1) << 2 * half < n)
		half++;
	uint64_t mask = (UINT64_C(1) << half) - 1;
	do {
		uint64_t left = i >> half & mask, right = i & mask;
		for (unsigned round = 0; round < 4; round++) {
			struct xr_rng mix = {key + right * 4 + round};
			uint64_t swap = left ^ (xr_rng_next(&mix) & mask);
			left = right;
			right = swap;
		}
		i = left << half | right;
	} while (i >= n);
	return i;
}

static uint64_t frame_count(const struct xr_mem *mem, uint64_t page)
{
	uint64_t n = mem->machine->memory_bytes / page;
	return n ? n < UINT32_MAX ? n : UINT32_MAX - 1 : 1;
}

static uint64_t new_frame(const struct xr_mem *mem, const struct xr_mem_buffer *b, uint64_t page_bytes, uint64_t page,
                          uint64_t base, uint64_t given)
{
	uint64_t n = frame_count(mem, page_bytes);
	if (mem->machine->placement == XR_PLACE_CONTIGUOUS && b->backing != XR_SHUFFLED)
		return (base + page) % n;
	return shuffled(given % n, n, mem->place_key);
}

/* Gives a whole run of small pages its frames. */
static void new_run(struct xr_mem *mem, struct xr_mem_buffer *b, uint64_t page)
{
	const uint64_t run = mem->machine->run_pages, first = page / run * run;
	const uint64_t pages = b->bytes / mem->machine->page_bytes + 1;
	uint64_t n = frame_count(mem, mem->machine->page_bytes) / run;
	n = n ? n : 1;
	const uint64_t base = shuffled(mem->frames_given++ % n, n, mem->place_key) * run;
	for (uint64_t i = first; i < first + run && i < pages; i++)
		b->frame[i] = 1 + (uint32_t)(base + i - first);
}

static bool has_runs(const struct xr_mem *mem, const struct xr_mem_buffer *b)
{
	return mem->machine->placement == XR_PLACE_RUNS && b->backing != XR_SHUFFLED;
}

struct xr_mem_buffer *xr_mem_buffer(struct xr_mem *mem, const struct xr_buffer *want, bool code)
{
	const struct xr_machine *m = mem->machine;
	for (uint64_t i = 0; i < mem->n_buffers; i++) {
		struct xr_mem_buffer *b = mem->buffer[i];
		if (b->id == want->id && b->bytes == want->bytes && b->backing == want->backing && b->code == code &&
		    b != mem->tables) {
			b->huge = b->same ? b->same->huge : b->huge;
			return b;
		}
	}
	if (want->bytes > m->memory_bytes)
		return NULL;
	struct xr_mem_buffer *b = xr_calloc(1, sizeof *b);
	*b = (struct xr_mem_buffer){.id = want->id, .bytes = want->bytes, .backing = want->backing, .code = code};
	mem->buffer = xr_realloc(mem->buffer, (size_t)mem->n_buffers + 1, sizeof(struct xr_mem_buffer *));
	mem->buffer[mem->n_buffers++] = b;
	b->address = mem->n_buffers << SLOT_SHIFT;
	if (mem->under) { /* whoever looks later sees what was there */
		b->same = xr_mem_buffer(mem->under, want, code);
		b->frame = b->same->frame;
		b->huge = b->same->huge;
		return b;
	}
	if (m->page_bytes) {
		uint64_t pages = want->bytes / m->page_bytes + 1, align = (UINT64_C(1) << 26) / m->page_bytes;
		b->frame = xr_calloc((size_t)pages, sizeof *b->frame);
		b->small_base = xr_rng_below(&mem->rng, 64) * (align ? align : 1);
	}
	if (m->huge_bytes) {
		b->huge_frame = xr_calloc((size_t)(want->bytes / m->huge_bytes + 1), sizeof *b->huge_frame);
		b->huge = want->backing == XR_HUGE && want->bytes >= m->huge_bytes;
	}
	return b;
}

void xr_mem_promote(struct xr_mem *mem, struct xr_mem_buffer *buffer)
{
	buffer->huge = mem->machine->huge_bytes != 0;
}

static uint64_t guest_physical(struct xr_mem *mem, struct xr_mem_buffer *b, uint64_t offset)
{
	unsigned shift = b->huge ? mem->huge_shift : mem->page_shift;
	uint64_t page = offset >> shift;
	uint32_t *frame = b->huge ? &b->huge_frame[page] : &b->frame[page];
	if (!*frame && !b->huge && has_runs(mem, b))
		new_run(mem, b, page);
	if (!*frame)
		*frame = 1 + (uint32_t)(b->huge ? new_frame(mem, b, mem->machine->huge_bytes, page, b->huge_base,
		                                            mem->huge_given++)
		                                : new_frame(mem, b, mem->machine->page_bytes, page, b->small_base,
		                                            mem->frames_given++));
	return (uint64_t)(*frame - 1) << shift | (offset & ((UINT64_C(1) << shift) - 1));
}

uint64_t xr_mem_physical(struct xr_mem *mem, struct xr_mem_buffer *b, uint64_t address)
{
	uint64_t offset = address - b->address;
	if (b == mem->tables) { /* each table where there was room for it */
		uint64_t in_page = offset & ((UINT64_C(1) << mem->page_shift) - 1);
		return mixed(mem->place_key ^ offset >> mem->page_shift) % frame_count(mem, mem->machine->page_bytes)
		               << mem->page_shift |
		       in_page;
	}
	if (b->same)
		return xr_mem_physical(mem->under, b->same, b->same->address + offset);
	if (!b->frame)
		return offset;
	uint64_t guest = guest_physical(mem, b, offset);
	if (!mem->host_shift)
		return guest;
	const uint64_t page = guest >> mem->host_shift;
	struct host_frame *known = &mem->host_frame[page % HOST_FRAMES];
	if (known->page != page + 1) {
		const uint64_t n = frame_count(mem, mem->machine->host_bytes);
		*known = (struct host_frame){page + 1, shuffled(page % n, n, mem->place_key + 1)};
	}
	return known->frame << mem->host_shift | (guest & ((UINT64_C(1) << mem->host_shift) - 1));
}

bool xr_mem_physical_known(const struct xr_mem *mem, const struct xr_mem_buffer *b, uint64_t address,
                           uint64_t *physical)
{
	const uint64_t offset = address - b->address;
	const unsigned shift = b->huge ? mem->huge_shift : mem->page_shift;
	if (b == mem->tables || b->same || mem->host_shift)
		return false;
	*physical = offset;
	if (!b->frame)
		return true;
	const uint32_t frame = b->huge ? b->huge_frame[offset >> shift] : b->frame[offset >> shift];
	*physical = (uint64_t)(frame - 1) << shift | (offset & ((UINT64_C(1) << shift) - 1));
	return frame;
}

bool xr_mem_in_a_row(const struct xr_mem *mem, const struct xr_mem_buffer *b, uint64_t pages)
{
	const struct xr_machine *m = mem->machine;
	if (b->huge || b->backing == XR_SHUFFLED || (m->host_bytes && m->host_bytes < pages * m->page_bytes))
		return false;
	return m->placement == XR_PLACE_CONTIGUOUS || (m->placement == XR_PLACE_RUNS && m->run_pages >= pages);
}

void xr_mem_add_tables(struct xr_mem *mem)
{
	struct xr_mem_buffer *b = xr_calloc(1, sizeof *b);
	mem->buffer = xr_realloc(mem->buffer, (size_t)mem->n_buffers + 1, sizeof(struct xr_mem_buffer *));
	mem->buffer[mem->n_buffers++] = b;
	*b = (struct xr_mem_buffer){.bytes = UINT64_C(1) << SLOT_SHIFT, .address = mem->n_buffers << SLOT_SHIFT};
	mem->tables = b;
}

void xr_mem_back(struct xr_mem *mem, struct xr_mem_buffer *b)
{
	uint64_t step = b->huge ? mem->machine->huge_bytes : mem->machine->page_bytes;
	for (uint64_t offset = 0; b->frame && step && offset < b->bytes; offset += step)
		(void)xr_mem_physical(mem, b, b->address + offset);
}
