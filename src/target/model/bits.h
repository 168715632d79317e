/* SPDX-License-Identifier: MIT */
#ifndef XR_TARGET_MODEL_BITS_H
#define XR_TARGET_MODEL_BITS_H

#include <stdint.h>

static inline unsigned log2_of(uint64_t n)
{
	unsigned shift = 0;
	while (n > 1) {
		n /= 2;
		shift++;
	}
	return shift;
}

#endif
