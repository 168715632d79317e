/* SPDX-License-Identifier: MIT */
/* The papers' way of measuring, put in by the linker (--wrap) in place of ours: one sample of a quarter second, the
 * elements of a chain in a constant stride, the minimum for a statistic. The suite must notice. */
#include "stat/stat.h"
#include "target/target.h"
#include "util/memory.h"

#include <stdlib.h>
#include <string.h>

double __wrap_xr_lower(const double *x, size_t n);
int __wrap_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err);
int __real_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err);

double __wrap_xr_lower(const double *x, size_t n)
{
	return xr_min(x, n);
}

int __wrap_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err)
{
	static const struct xr_effort papers = {.samples = 1, .samples_max = 1, .sample_ns = 0.25e9};
	struct xr_spec *copy = xr_calloc(n, sizeof *copy);
	(void)effort;
	memcpy(copy, specs, n * sizeof *copy);
	for (size_t i = 0; i < n; i++)
		if (copy[i].kind == XR_CHAIN)
			for (unsigned p = 0; p < copy[i].chain.n_phases; p++)
				copy[i].chain.phase[p].seed = 0; /* as listed: (i + 1) mod n */
	int status = __real_xr_target_time(target, &papers, copy, n, out, err);
	free(copy);
	return status;
}
