/* SPDX-License-Identifier: MIT */
/* A small seedable generator (splitmix64): the same seed gives the same sequence on every machine. */
#ifndef XR_UTIL_RNG_H
#define XR_UTIL_RNG_H

#include <stdint.h>

struct xr_rng {
	uint64_t state;
};

static inline uint64_t xr_rng_next(struct xr_rng *rng)
{
	uint64_t z = (rng->state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The upper half of a product: the same with and without a type of 128 bits. */
static inline uint64_t xr_high_product(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
	return (uint64_t)(((unsigned __int128)a * b) >> 64);
#else
	uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
	uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
	uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
	return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
#endif
}

/* Uniform in [0, n); n > 0. The bias of the multiplication is below n / 2^64. */
static inline uint64_t xr_rng_below(struct xr_rng *rng, uint64_t n)
{
	return xr_high_product(xr_rng_next(rng), n);
}

/* Uniform in [0, 1). */
static inline double xr_rng_unit(struct xr_rng *rng)
{
	return (double)(xr_rng_next(rng) >> 11) * 0x1p-53;
}

#endif
