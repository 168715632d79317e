/* SPDX-License-Identifier: MIT */
/* An engine that counts one too many, put in by the linker (--wrap). The suite must notice. */
#include "facts/facts.h"

#include <string.h>

struct xr_fact *__wrap_xr_fact_count(struct xr_description *d, const char *id, long long value, const char *unit,
                                     double confidence, const char *method);
struct xr_fact *__real_xr_fact_count(struct xr_description *d, const char *id, long long value, const char *unit,
                                     double confidence, const char *method);

struct xr_fact *__wrap_xr_fact_count(struct xr_description *d, const char *id, long long value, const char *unit,
                                     double confidence, const char *method)
{
	bool planted = !strcmp(id, "registers.int") || !strcmp(id, "cache.l1d.ways");
	return __real_xr_fact_count(d, id, value + planted, unit, confidence, method);
}
