/* SPDX-License-Identifier: MIT */
#include "method/witness.h"

#include "method/teams.h"

#include <string.h>

/* Steps of 64 bytes over most of the largest footprint that is as fast as a tiny one: fits once, not twice, since the
 * sizes tried are a factor of 1.5 apart. The sweep goes over twice the next size: it fills the cache whatever the
 * policy, and also one that looked smaller than it is. The cache facts are not needed for that. */
static int make_walk(struct xr_run *run, struct xr_witnesses *w, bool *have)
{
	static const int kib[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512};
	enum { N = sizeof kib / sizeof *kib, AT_ONCE = 6 };
	struct xr_spec spec[AT_ONCE + 1];
	struct xr_reading r[AT_ONCE + 1];
	int fits = -1;
	spec[0] = xr_spec_walkabout(xr_run_arena(run), XR_WITNESS_BUFFER, 1024, 64, XR_READ, XR_ANY);
	for (int from = 0; from < N && fits == from - 1; from += AT_ONCE) {
		int n = N - from < AT_ONCE ? N - from : AT_ONCE;
		for (int i = 0; i < n; i++)
			spec[i + 1] = xr_spec_walkabout(xr_run_arena(run), XR_WITNESS_BUFFER,
			                                (uint64_t)kib[from + i] << 10, 64, XR_READ, XR_ANY);
		if (xr_run_time(run, spec, (size_t)n + 1, r))
			return -1;
		for (int i = 1; i <= n && fits == from + i - 2; i++)
			if (r[i].status == XR_READ_OK && r[i].cycles < 1.15 * r[0].cycles)
				fits = from + i - 1;
	}
	*have = fits >= 0 && fits < N - 1;
	if (!*have)
		return 0;
	w->spec[w->n_streams] = xr_spec_walkabout(xr_run_arena(run), XR_WITNESS_BUFFER,
	                                          (uint64_t)kib[fits] * 870 / 64 * 64, 64, XR_READ, XR_ANY);
	/* not waiting for each other: of two dependent walks the one that hits would starve the other one */
	w->sweep = xr_spec_walkabout(xr_run_arena(run), XR_WITNESS_BUFFER, (uint64_t)kib[fits + 1] << 11, 64, XR_TOUCH,
	                             XR_ANY);
	return 0;
}

/* Streams of every unit that this machine has, wide enough to saturate it and narrow enough not to spill. */
int xr_witnesses_make(struct xr_run *run, bool walk, struct xr_witnesses *w)
{
	bool have_walk = false;
	static const struct {
		enum xr_op op;
		enum xr_type type;
	} candidates[] = {{XR_ADD, XR_I64}, {XR_MUL, XR_I64}, {XR_ADD, XR_F64},
	                  {XR_DIV, XR_I64}, {XR_DIV, XR_F64}, {XR_LOAD, XR_I64}};
	enum { N = sizeof candidates / sizeof *candidates };
	struct xr_spec spec[N];
	struct xr_reading r[N];
	for (int i = 0; i < N; i++) {
		const char *registers = xr_types[candidates[i].type].fp ? "registers.f64" : "registers.int";
		int n = (int)xr_run_number(run, registers, 10) - 2;
		spec[i] = xr_spec_stream(candidates[i].op, candidates[i].type, n < 2 ? 2 : (n > 8 ? 8 : n));
	}
	memset(w, 0, sizeof *w);
	struct xr_effort once = {.samples = 3, .samples_max = 3};
	if (xr_run_time_with(run, &once, spec, N, r))
		return -1;
	for (int i = 0; i < N; i++)
		if (r[i].status == XR_READ_OK && r[i].cycles > 0)
			w->spec[w->n_streams++] = spec[i];
	if (walk && make_walk(run, w, &have_walk))
		return -1;
	w->n = w->n_streams + have_walk;
	return 0;
}

struct xr_spec xr_witness_attacked(struct xr_arena *arena, const struct xr_witnesses *w, int k, const int *cpu,
                                   const int *place, int n)
{
	return xr_spec_team(arena, XR_TOGETHER, cpu, place, (unsigned)n, &w->spec[k],
	                    k < w->n_streams ? &w->spec[k] : &w->sweep);
}
