/* SPDX-License-Identifier: MIT */
/* Machines that behave differently: what xr_machine_random() leaves as it always was. */
#include "random.h"

#include "util/rng.h"

#include <math.h>

static int pick(struct xr_rng *rng, const int *of, size_t n)
{
	return of[xr_rng_below(rng, n)];
}

#define PICK_ONE(rng, list) pick(rng, list, sizeof(list) / sizeof *(list))

static bool chance(struct xr_rng *rng, double p)
{
	return xr_rng_unit(rng) < p;
}

/* Misses in flight and bytes: memory is wide enough that misses end first, or clearly not. */
static void move_traffic(struct xr_machine *m, struct xr_rng *rng)
{
	static const int in_flight[] = {1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28};
	static const int bytes[] = {0, 0, 16, 32, 64};
	static const int walks[] = {0, 1, 2, 4, 6};
	m->parallelism = PICK_ONE(rng, in_flight);
	double one = 64.0 * m->parallelism / (m->memory_latency / (m->mhz * 1e-3));
	m->bandwidth_gbs = one * (chance(rng, 0.8) ? 1.5 + 4 * xr_rng_unit(rng) : 0.3 + 0.3 * xr_rng_unit(rng));
	for (int i = 0; i < m->n_caches; i++) {
		if (!(m->cache[i].holds & XR_HOLDS_DATA))
			continue;
		m->cache[i].bandwidth = i ? PICK_ONE(rng, bytes) : 0;
		m->cache[i].misses = chance(rng, 0.3) ? PICK_ONE(rng, in_flight) : 0;
	}
	for (int i = 0; i < m->n_tlbs; i++)
		if (m->tlb[i].holds & XR_HOLDS_DATA)
			m->tlb[i].walks = 0;
	for (int i = m->n_tlbs - 1; i >= 0; i--)
		if (m->tlb[i].holds & XR_HOLDS_DATA) {
			m->tlb[i].walks = PICK_ONE(rng, walks);
			break;
		}
}

/* Policies of the first two caches of data and the first TLB, of all that are known. */
static void move_policies(struct xr_machine *m, struct xr_rng *rng)
{
	static const char *const names[] = {"lru",
	                                    "lru",
	                                    "fifo",
	                                    "random",
	                                    "plru",
	                                    "plru",
	                                    "nru",
	                                    "srrip",
	                                    "mru_n",
	                                    "nru_late",
	                                    "lru2plru4",
	                                    "lru3plru4",
	                                    "qlru_h11_m1_r0_u0",
	                                    "qlru_h00_m1_r2_u1"};
	for (int i = 0; i < m->n_caches; i++) {
		int policy = xr_policy_parse(names[xr_rng_below(rng, sizeof names / sizeof *names)]);
		if (m->cache[i].holds & XR_HOLDS_DATA && !m->cache[i].rival &&
		    xr_policy_takes_ways(policy, xr_machine_ways(&m->cache[i])) && chance(rng, 0.7))
			m->cache[i].policy = policy;
	}
}

void xr_machine_behave(struct xr_machine *m, uint64_t seed)
{
	struct xr_rng rng = {seed * UINT64_C(0x9e3779b97f4a7c15) + 17};
	move_traffic(m, &rng);
	move_policies(m, &rng);
	if (chance(&rng, 0.3))
		m->cache[0].write_allocate = 0;
	if (chance(&rng, 0.2))
		m->cache[0].write_back = 0;
	for (int i = 1; i < m->n_caches; i++) /* an inclusive one has room for what it includes */
		if (m->cache[i].holds & XR_HOLDS_DATA && m->cache[i].inclusion == XR_INCLUSION_NONE &&
		    m->cache[i].capacity >= 4 * m->cache[0].capacity && chance(&rng, 0.4))
			m->cache[i].inclusion = XR_INCLUSIVE;
	static const int ahead[] = {2, 3, 4, 6, 8, 12, 16};
	m->prefetch_adjacent = chance(&rng, 0.5);
	m->prefetch_stride = chance(&rng, 0.5);
	m->prefetch_stream = chance(&rng, 0.5);
	m->prefetch_distance = PICK_ONE(&rng, ahead);
	m->counters = chance(&rng, 0.5);
	m->lies = m->counters && chance(&rng, 0.3) ? (int)(1 + xr_rng_below(&rng, 4)) : XR_LIES_NONE;
	m->prefetch_temporal = chance(&rng, 0.2) ? UINT64_C(4096) << xr_rng_below(&rng, 3) : 0;
}
