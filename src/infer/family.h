/* SPDX-License-Identifier: MIT */
/* Which set a page (or line) goes to, by its number: the indexes that arrays are built with.
 *
 * Each bit of the set is the parity of some bits of the number: one alone (plain), not necessarily the lowest nor
 * next to each other (gaps: VA[18:12] and VA[21] on Zen), or several (folded). Or there is a number of sets that is
 * no power of two: the number modulo odd 2^k, where the masks are the k lowest bits.
 *
 * All are linear: what belongs to one set, moved by the same number, belongs to one set again. So the masks of an
 * unknown index are found one after the other: of numbers that do not differ in a parity of it half as many fit. */
#ifndef XR_INFER_FAMILY_H
#define XR_INFER_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { XR_FAMILY_BITS = 16 /* of a number that may count */ };

struct xr_family {
	size_t n;                      /* masks; none is the parity of others */
	uint32_t mask[XR_FAMILY_BITS]; /* each with a lowest bit that no other has: see xr_family_with() */
	size_t odd;                    /* 0 or 1: a power of two */
};

/* With one parity more; the same family where the others imply it. */
struct xr_family xr_family_with(const struct xr_family *family, uint32_t mask);
struct xr_family xr_family_of_bits(uint32_t bits); /* plain */

size_t xr_family_sets(const struct xr_family *family);
size_t xr_family_set(const struct xr_family *family, size_t number);

/* The i-th number of the c-th set, those that are in a low range first. */
size_t xr_family_member(const struct xr_family *family, size_t c, size_t i);

#endif
