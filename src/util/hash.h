/* SPDX-License-Identifier: MIT */
/* 64-bit FNV-1a, finished by a mixer: names for content that we wrote ourselves; no defence against forgery. */
#ifndef XR_UTIL_HASH_H
#define XR_UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t xr_hash(uint64_t seed, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < len; i++)
		/* bytes of larger numbers are unknown to the analyser */
		h = (h ^ p[i]) * UINT64_C(0x100000001b3); /* NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return h ^ (h >> 32);
}

#endif
