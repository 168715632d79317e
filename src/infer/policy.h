/* SPDX-License-Identifier: MIT */
/* Replacement policies: one number names a policy, parameters included.
 *
 * The low byte is the kind (enum xr_policy); kinds without parameters are just that, so `policy == XR_LRU` works.
 * Two families have parameters above it:
 *
 *   lruGplruT   G groups of T ways: tree-PLRU within a group, LRU among the groups (lru3plru4: 12 ways)
 *   qlru_…      two bits of age a way, in the notation of uops.info: qlru_h11_m1_r0_u0, with _umo at the end or not.
 *               hXY  a hit makes age 3 X, age 2 Y, and younger ones 0
 *               mX   a new line has age X; mrXY: age X, one time in 16 age Y
 *               r0   victim: the first of age 3; a new line takes the first empty way
 *               r1   the same, but the first way when none has age 3
 *               r2   as r0, but a new line takes the last empty way
 *               u0   afterwards all grow older alike until one has age 3
 *               u1   the same, but the one just used does not count and does not age
 *               u2   when none has age 3, all grow older by one
 *               u3   the same, but not the one just used
 *               umo  that is done at misses only, before the victim is chosen
 */
#ifndef XR_INFER_POLICY_H
#define XR_INFER_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xr_policy {
	XR_LRU,
	XR_PLRU,
	XR_NRU,      /* also known as MRU or bit-PLRU */
	XR_FIFO,
	XR_RANDOM,
	XR_SRRIP,
	XR_MRU_N,    /* nru, but uses only count once the set is full */
	XR_NRU_LATE, /* nru whose bits are cleared by a miss that finds none clear */
	XR_N_POLICIES,
	XR_LRU_PLRU = XR_N_POLICIES, /* with parameters, as the next one */
	XR_QLRU,
};

enum { XR_POLICY_TEXT = 32 }; /* bytes of a name, with its end */

extern const char *const xr_policy_names[]; /* of those without parameters, by enum xr_policy; NULL ends */

static inline enum xr_policy xr_policy_kind(int policy)
{
	return (enum xr_policy)(policy & 0xff);
}

/* The policy of a name, or -1. */
int xr_policy_parse(const char *name);
void xr_policy_text(int policy, char name[static XR_POLICY_TEXT]);

/* ---- parameters ---- */

static inline uint32_t xr_policy_groups(int policy) /* XR_LRU_PLRU */
{
	return (uint32_t)policy >> 8 & 0xff;
}

static inline uint32_t xr_policy_leaves(int policy)
{
	return (uint32_t)policy >> 16 & 0xff;
}

/* -1: no such groups: at most 16 of them and 64 ways, leaves a power of two from 2 on */
int xr_policy_lru_plru(uint32_t groups, uint32_t leaves);

struct xr_qlru {
	uint8_t hit3, hit2;   /* age after a hit of age 3, of age 2 */
	uint8_t miss, rarely; /* age of a new line; one time in 16, where it differs */
	uint8_t replace, update;
	bool misses_only;
};
int xr_policy_qlru(const struct xr_qlru *qlru); /* -1: no such policy */
static inline struct xr_qlru xr_policy_qlru_of(int policy)
{
	const uint32_t p = (uint32_t)policy;
	return (struct xr_qlru){.hit3 = p >> 8 & 3,
	                        .hit2 = p >> 10 & 3,
	                        .miss = p >> 12 & 3,
	                        .rarely = p >> 14 & 3,
	                        .replace = p >> 16 & 3,
	                        .update = p >> 18 & 3,
	                        .misses_only = p >> 20 & 1};
}

/* What a policy needs: false with the number of ways it cannot have. */
bool xr_policy_takes_ways(int policy, uint64_t ways);
/* Does its state fit that of another, so that a set can pass from one to the other? (adaptive caches) */
bool xr_policy_shares_state(int policy, int other);

static inline bool xr_policy_by_age(int policy) /* the oldest leaves, by use or by fill */
{
	return policy == XR_LRU || policy == XR_FIFO;
}

bool xr_policy_is_random(int policy); /* the same uses may evict different lines */

#endif
