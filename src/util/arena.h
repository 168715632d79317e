/* SPDX-License-Identifier: MIT */
/* Arena: memory that lives as long as one run.
 *
 * Everything allocated from an arena is released at once by xr_arena_release(). Allocations are zeroed, aligned for
 * any type, and never fail: when the system has no memory left the call of xray.h fails (memory.h), for no
 * caller in between could do anything better with a half-built experiment.
 */
#ifndef XR_UTIL_ARENA_H
#define XR_UTIL_ARENA_H

#include <stdarg.h>
#include <stddef.h>

struct xr_arena_block;

struct xr_arena {
	struct xr_arena_block *head; /* NULL: empty, so {0} is a valid arena */
};

void xr_arena_init(struct xr_arena *arena);
void xr_arena_release(struct xr_arena *arena);

void *xr_arena_alloc(struct xr_arena *arena, size_t bytes);
void *xr_arena_copy(struct xr_arena *arena, const void *data, size_t bytes);
char *xr_arena_strdup(struct xr_arena *arena, const char *text);
char *xr_arena_printf(struct xr_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define xr_arena_array(arena, type, count) ((type *)xr_arena_alloc((arena), sizeof(type) * (size_t)(count)))

#endif
