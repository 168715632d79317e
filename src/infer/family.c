/* SPDX-License-Identifier: MIT */
/* Indexes of arrays; see family.h. */
#include "infer/family.h"

static size_t odd_of(const struct xr_family *family)
{
	return family->odd ? family->odd : 1;
}

static uint32_t lowest(uint32_t mask)
{
	return mask & -mask;
}

static unsigned parity(uint32_t x)
{
	unsigned p = 0;

	for (; x; x &= x - 1)
		p ^= 1;
	return p;
}

/* Each mask keeps a lowest bit that is in no other (Gauss), and these rise: sets next to each other are those of
 * neighbours. */
struct xr_family xr_family_with(const struct xr_family *family, uint32_t mask)
{
	struct xr_family f = *family;

	for (size_t i = 0; i < f.n; i++)
		mask ^= mask & lowest(f.mask[i]) ? f.mask[i] : 0;
	if (mask == 0 || f.n == XR_FAMILY_BITS)
		return f;
	for (size_t i = 0; i < f.n; i++)
		f.mask[i] ^= f.mask[i] & lowest(mask) ? mask : 0;
	size_t at = f.n++;

	for (; at > 0 && lowest(f.mask[at - 1]) > lowest(mask); at--)
		f.mask[at] = f.mask[at - 1];
	f.mask[at] = mask;
	return f;
}

struct xr_family xr_family_of_bits(uint32_t bits)
{
	struct xr_family f = {0};

	for (; bits; bits &= bits - 1)
		f = xr_family_with(&f, lowest(bits));
	return f;
}

size_t xr_family_sets(const struct xr_family *family)
{
	return odd_of(family) << family->n;
}

size_t xr_family_set(const struct xr_family *family, size_t number)
{
	size_t set = 0;

	if (odd_of(family) > 1)
		return number % xr_family_sets(family);
	for (size_t i = 0; i < family->n; i++)
		set |= (size_t)parity((uint32_t)number & family->mask[i]) << i;
	return set;
}

/* A bit that is no mask's lowest is free; the lowest bits of the masks that have it make up for it. */
size_t xr_family_member(const struct xr_family *family, size_t c, size_t i)
{
	size_t number = 0;
	uint32_t taken = 0;

	if (odd_of(family) > 1)
		return i * xr_family_sets(family) + c;
	for (size_t m = 0; m < family->n; m++) {
		taken |= lowest(family->mask[m]);
		number |= c >> m & 1 ? lowest(family->mask[m]) : 0;
	}
	for (unsigned b = 0; i; b++) {
		if (b < 32 && taken >> b & 1)
			continue;
		if (i & 1) {
			number ^= (size_t)1 << b;
			for (size_t m = 0; m < family->n && b < 32; m++)
				number ^= family->mask[m] >> b & 1 ? lowest(family->mask[m]) : 0;
		}
		i >>= 1;
	}
	return number;
}
