/* Memory that is there: when the system has none left the process aborts with a message, for no caller could do
 * anything better with a half-built experiment. Released with free(). */
#ifndef XR_UTIL_MEMORY_H
#define XR_UTIL_MEMORY_H

#include <stddef.h>

void *xr_calloc(size_t count, size_t size);  /* zeroed; never NULL, also for 0 bytes */
void *xr_realloc(void *old, size_t count, size_t size);
char *xr_strdup(const char *text);

#endif
