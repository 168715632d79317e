/* SPDX-License-Identifier: MIT */
#include "util/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local struct xr_memory_guard *guarding;

jmp_buf *xr_memory_guard(struct xr_memory_guard *guard)
{
	guard->outer = guarding;
	guarding = guard;
	return &guard->place;
}

void xr_memory_unguard(struct xr_memory_guard *guard)
{
	guarding = guard->outer;
}

_Noreturn void xr_out_of_memory(void)
{
	if (guarding)
		longjmp(guarding->place, 1);
	fputs("xray: out of memory\n", stderr);
	abort();
}

static void *there(void *p)
{
	if (!p)
		xr_out_of_memory();
	return p;
}

void *xr_calloc(size_t count, size_t size)
{
	return there(calloc(count ? count : 1, size ? size : 1));
}

void *xr_realloc(void *old, size_t count, size_t size)
{
	size_t bytes = count && size ? count * size : 1;
	if (size && count > SIZE_MAX / size)
		there(NULL);
	return there(realloc(old, bytes));
}

char *xr_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	return memcpy(xr_calloc(bytes, 1), text, bytes);
}
