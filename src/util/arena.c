/* SPDX-License-Identifier: MIT */
#include "util/arena.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_BYTES = 64 * 1024 };

struct xr_arena_block {
	struct xr_arena_block *next;
	size_t used, size;
	_Alignas(max_align_t) unsigned char data[];
};

void xr_arena_init(struct xr_arena *arena)
{
	arena->head = NULL;
}

void xr_arena_release(struct xr_arena *arena)
{
	struct xr_arena_block *block = arena->head;
	while (block) {
		struct xr_arena_block *next = block->next;
		free(block);
		block = next;
	}
	arena->head = NULL;
}

void *xr_arena_alloc(struct xr_arena *arena, size_t bytes)
{
	const size_t align = _Alignof(max_align_t);
	struct xr_arena_block *block = arena->head;

	if (bytes > (size_t)-1 / 2)
		xr_out_of_memory();
	bytes = (bytes + align - 1) / align * align;
	if (!block || block->size - block->used < bytes) {
		size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		block = xr_calloc(1, sizeof *block + size);
		block->size = size;
		if (bytes > BLOCK_BYTES / 2 && arena->head) { /* keep filling the block at hand */
			block->next = arena->head->next;
			arena->head->next = block;
		} else {
			block->next = arena->head;
			arena->head = block;
		}
	}
	void *p = block->data + block->used;
	block->used += bytes;
	return p;
}

void *xr_arena_copy(struct xr_arena *arena, const void *data, size_t bytes)
{
	void *p = xr_arena_alloc(arena, bytes);
	if (bytes)
		memcpy(p, data, bytes);
	return p;
}

char *xr_arena_strdup(struct xr_arena *arena, const char *text)
{
	return xr_arena_copy(arena, text, strlen(text) + 1);
}

char *xr_arena_printf(struct xr_arena *arena, const char *format, ...)
{
	va_list ap, again;
	va_start(ap, format);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	char *text = xr_arena_alloc(arena, (size_t)(n < 0 ? 0 : n) + 1);
	vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
	va_end(again);
	return text;
}
