#include "util/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *there(void *p)
{
	if (!p) {
		fputs("xray: out of memory\n", stderr);
		abort();
	}
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
