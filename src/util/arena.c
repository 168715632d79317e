/* SPDX-License-Identifier: MIT */
#include "util/arena.h"
#include "util/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Under the address sanitizer only what was asked for may be touched: what follows each piece is poisoned. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
enum { GAP_BYTES = 16 };
#define POISON(at, bytes) ASAN_POISON_MEMORY_REGION(at, bytes)
#define UNPOISON(at, bytes) ASAN_UNPOISON_MEMORY_REGION(at, bytes)
#else
enum { GAP_BYTES = 0 };
#define POISON(at, bytes) ((void)0)
#define UNPOISON(at, bytes) ((void)0)
#endif

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
	size_t taken = (bytes + align - 1) / align * align + GAP_BYTES;
	if (!block || block->size - block->used < taken) {
		size_t size = taken > BLOCK_BYTES ? taken : BLOCK_BYTES;
		block = xr_calloc(1, sizeof *block + size);
		block->size = size;
		POISON(block->data, size);
		if (taken > BLOCK_BYTES / 2 && arena->head) { /* keep filling the block at hand */
			block->next = arena->head->next;
			arena->head->next = block;
		} else {
			block->next = arena->head;
			arena->head = block;
		}
	}
	void *p = block->data + block->used;
	UNPOISON(p, bytes);
	block->used += taken;
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
