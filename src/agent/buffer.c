/* SPDX-License-Identifier: MIT */
/* Memory for address chains, see buffer.h. Every OS call of the agent's memory is in here. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#if defined(__unix__) || defined(__APPLE__)
#include <sys/mman.h>
#define HAVE_MMAP 1
#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#endif

enum {
	ALIGN_MIN = 16,             /* of buffers elsewhere: no line is smaller */
	PAGE_MIN = 4096,            /* no page is smaller */
	ALIGNMENT = 2 << 20,        /* of buffers, where there is virtual memory */
	ALIGNMENT_LARGE = 64 << 20, /* of large ones: sets of TLBs may depend on more bits of an address */
};

static struct {
	unsigned long long limit, total;
	struct xr_agent_buffer *buffers;
	unsigned long clock;
} kept;

void xr_buffer_limit(unsigned long long bytes)
{
	kept.limit = bytes;
}

static uint64_t rng_next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* High word of the 64 x 64 bit product, without 128-bit integers: n < 2^32 here. */
uint64_t xr_random_below(uint64_t *state, uint64_t n)
{
	uint64_t r = rng_next(state);

	return ((r >> 32) * n + (((r & 0xffffffffu) * n) >> 32)) >> 32;
}

void xr_shuffle32(uint32_t *x, size_t n, uint64_t seed)
{
	uint64_t state = seed;

	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_random_below(&state, i);
		uint32_t swap = x[i - 1];

		x[i - 1] = x[j];
		x[j] = swap;
	}
}

static void buffer_unmap(struct xr_agent_buffer *b)
{
#ifdef HAVE_MMAP
	munmap(b->map, b->map_bytes);
#else
	free(b->map);
#endif
	kept.total -= b->bytes;
	free(b);
}

/* Gives back the buffer that has been of no use for longest; 0: all are in use. */
static int buffer_drop_one(void)
{
	struct xr_agent_buffer **oldest = NULL;

	for (struct xr_agent_buffer **b = &kept.buffers; *b; b = &(*b)->next)
		if ((*b)->users == 0 && (!oldest || (*b)->used < (*oldest)->used))
			oldest = b;
	if (!oldest)
		return 0;
	struct xr_agent_buffer *gone = *oldest;
	*oldest = gone->next;
	buffer_unmap(gone);
	return 1;
}

#ifdef HAVE_MMAP
/* Physical pages are handed out in the order of first touch, so a shuffled touch makes neighbours in the address space
 * strangers in memory, without one mapping per page. */
static void touch_pages(struct xr_agent_buffer *b)
{
	size_t n = (size_t)((b->bytes + PAGE_MIN - 1) / PAGE_MIN);
	uint32_t *order = b->backing == XR_BUFFER_SHUFFLED ? malloc(n * sizeof *order) : NULL;

	if (order) {
		for (size_t i = 0; i < n; i++)
			order[i] = (uint32_t)i;
		xr_shuffle32(order, n, b->id + 1);
	}
	for (size_t i = 0; i < n; i++)
		*(volatile unsigned char *)(b->base + (order ? order[i] : i) * PAGE_MIN) = 1;
	free(order);
}

static int buffer_map(struct xr_agent_buffer *b)
{
	size_t alignment = b->bytes >= ALIGNMENT_LARGE / 2 ? ALIGNMENT_LARGE : ALIGNMENT;

	b->map_bytes = (size_t)b->bytes + alignment;
	b->map = mmap(NULL, b->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (b->map == MAP_FAILED)
		return -1;
	b->base = (unsigned char *)(((uintptr_t)b->map + alignment - 1) & ~(uintptr_t)(alignment - 1));
#ifdef MADV_NOHUGEPAGE
	if (b->backing == XR_BUFFER_SMALL || b->backing == XR_BUFFER_SHUFFLED)
		madvise(b->base, (size_t)b->bytes, MADV_NOHUGEPAGE);
#endif
#ifdef MADV_HUGEPAGE
	if (b->backing == XR_BUFFER_HUGE)
		madvise(b->base, (size_t)b->bytes, MADV_HUGEPAGE);
#endif
	touch_pages(b);
#ifdef __linux__
	if (b->backing == XR_BUFFER_HUGE)
		madvise(b->base, (size_t)b->bytes, 25 /* MADV_COLLAPSE, since Linux 6.1 */);
#endif
	return 0;
}
#else
static int buffer_map(struct xr_agent_buffer *b)
{
	size_t alignment = ALIGN_MIN;

	while (alignment < PAGE_MIN && alignment < b->bytes)
		alignment *= 2;
	b->map = malloc((size_t)b->bytes + alignment);
	if (!b->map)
		return -1;
	b->base = (unsigned char *)(((uintptr_t)b->map + alignment - 1) & ~(uintptr_t)(alignment - 1));
	memset(b->base, 1, (size_t)b->bytes);
	return 0;
}
#endif

struct xr_agent_buffer *xr_buffer_get(unsigned id, unsigned long long bytes, enum xr_buffer_backing backing)
{
	struct xr_agent_buffer *b;

	for (b = kept.buffers; b; b = b->next)
		if (b->id == id && b->bytes == bytes && b->backing == backing)
			break;
	if (!b) {
		while (kept.limit && kept.total + bytes > kept.limit)
			if (!buffer_drop_one())
				return NULL;
		b = calloc(1, sizeof *b);
		if (!b)
			return NULL;
		b->id = id;
		b->bytes = bytes;
		b->backing = backing;
		while (buffer_map(b) != 0)
			if (!buffer_drop_one()) {
				free(b);
				return NULL;
			}
		kept.total += bytes;
		b->next = kept.buffers;
		kept.buffers = b;
	}
	b->users++;
	xr_buffer_use(b);
	return b;
}

void xr_buffer_use(struct xr_agent_buffer *buffer)
{
	buffer->used = ++kept.clock;
}

void xr_buffer_release(void)
{
	while (buffer_drop_one())
		;
}
