/* SPDX-License-Identifier: MIT */
#include "method/teams.h"

#include <string.h>

/* The member's own copy of a work: chains need a buffer of their own. */
static const struct xr_spec *own_work(struct xr_arena *arena, const struct xr_spec *work, int place)
{
	if (!work || work->kind != XR_CHAIN)
		return work;
	struct xr_spec *own = xr_arena_copy(arena, work, sizeof *work);
	own->chain.buffer.id += (unsigned)place;
	return own;
}

struct xr_spec xr_spec_team(struct xr_arena *arena, enum xr_team_kind kind, const int *cpu, const int *place,
                            unsigned n, const struct xr_spec *first, const struct xr_spec *others)
{
	struct xr_spec spec;
	memset(&spec, 0, sizeof spec);
	struct xr_member *member = xr_arena_array(arena, struct xr_member, n);
	for (unsigned i = 0; i < n; i++) {
		member[i].cpu = cpu[i];
		member[i].work = own_work(arena, i ? others : first, place ? place[i] : (int)i);
	}
	spec.kind = XR_TEAM;
	spec.team.kind = kind;
	spec.team.member = member;
	spec.team.n_members = n;
	return spec;
}

struct xr_spec xr_spec_pair(struct xr_arena *arena, enum xr_team_kind kind, int cpu0, int cpu1, uint64_t bytes)
{
	struct xr_spec spec = xr_spec_team(arena, kind, (const int[]){cpu0, cpu1}, NULL, 2, NULL, NULL);
	spec.team.bytes = bytes;
	return spec;
}

struct xr_spec xr_spec_walkabout(struct xr_arena *arena, unsigned id, uint64_t bytes, uint64_t stride,
                                 enum xr_access access, enum xr_backing backing)
{
	struct xr_span *span = xr_arena_array(arena, struct xr_span, 1);
	*span = (struct xr_span){.base = 0, .stride = stride, .count = (uint32_t)(bytes / stride)};
	struct xr_buffer buffer = {.id = id, .bytes = bytes, .backing = backing};
	struct xr_spec spec = xr_spec_cycle(buffer, span, 1, 1 + id);
	spec.chain.phase[0].access = access;
	return spec;
}
