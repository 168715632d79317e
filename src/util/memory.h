/* SPDX-License-Identifier: MIT */
/* Memory that is there. When the system has none left, whoever stands guard gets control back: the library's
 * entry points do, and return an error; what was being built is lost. Without a guard the process aborts with a
 * message. Released with free(). */
#ifndef XR_UTIL_MEMORY_H
#define XR_UTIL_MEMORY_H

#include <setjmp.h>
#include <stddef.h>

void *xr_calloc(size_t count, size_t size);  /* zeroed; never NULL, also for 0 bytes */
void *xr_realloc(void *old, size_t count, size_t size);
char *xr_strdup(const char *text);
_Noreturn void xr_out_of_memory(void);

/* A guard of this thread: `if (setjmp(*xr_memory_guard(&guard))) { there is none left }`, and xr_memory_unguard()
 * at the end of what it guards, in either case. Guards nest. */
struct xr_memory_guard {
	jmp_buf place;
	struct xr_memory_guard *outer;
};
jmp_buf *xr_memory_guard(struct xr_memory_guard *guard);
void xr_memory_unguard(struct xr_memory_guard *guard);

#endif
