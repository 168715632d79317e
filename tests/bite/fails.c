/* SPDX-License-Identifier: MIT */
/* A target of which some readings fail, put in by the linker (--wrap): one specification in fifty always, one reading
 * in thirty now and then. Facts may be missing then, but nothing may be sure and wrong. */
#include "target/target.h"

#include <math.h>
#include <string.h>

int __wrap_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err);
int __real_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err);

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ (x >> 32);
}

int __wrap_xr_target_time(struct xr_target *target, const struct xr_effort *effort, const struct xr_spec *specs,
                          size_t n, struct xr_reading *out, struct xr_error *err)
{
	static uint64_t calls;
	int status = __real_xr_target_time(target, effort, specs, n, out, err);
	for (size_t i = 0; i < n && !status; i++) {
		bool always =
			specs[i].kind == XR_CHAIN && specs[i].chain.n_phases &&
			mix(specs[i].chain.phase[0].n_spans * 977 + (uint64_t)specs[i].chain.buffer.bytes) % 50 == 0;
		if (!always && mix(++calls) % 30)
			continue;
		double nan = NAN;
		out[i] = (struct xr_reading){.status = XR_READ_FAILED,
		                             .reason = "as the test wants it",
		                             .ns = nan,
		                             .cycles = nan,
		                             .median_ns = nan,
		                             .median_cycles = nan,
		                             .spread = nan,
		                             .nonlinear = nan,
		                             .cycle_ns = nan};
	}
	return status;
}
