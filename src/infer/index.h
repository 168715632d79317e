/* SPDX-License-Identifier: MIT */
/* Which set a line belongs to: linear maps from address bits to the bits of a set's number.
 *
 * Every bit of the result is the exclusive or of some bits of the address. A plain index is such a map, and so are
 * folded ones and the slice hashes whose number of slices is a power of two.
 */
#ifndef XR_INFER_INDEX_H
#define XR_INFER_INDEX_H

#include <stdint.h>

enum { XR_INDEX_BITS = 24, XR_INDEX_BYTES = 8 };

/* As it is written down: bit i of the result is the parity of address & mask[i]. n = 0: none is given. */
struct xr_index_bits {
	int n;
	uint64_t mask[XR_INDEX_BITS];
};

uint32_t xr_index_of(const struct xr_index_bits *bits, uint64_t address);
int xr_index_rank(const struct xr_index_bits *bits); /* how many of the bits say something that the others do not */

/* The same map made quick: one look into a table for each byte of the address. */
struct xr_index_table {
	int first, end; /* bytes that count */
	uint32_t part[XR_INDEX_BYTES][256];
};
void xr_index_table_init(struct xr_index_table *table, const struct xr_index_bits *bits);

static inline uint32_t xr_index_look(const struct xr_index_table *table, uint64_t address)
{
	uint32_t index = 0;
	for (int i = table->first; i < table->end; i++)
		index ^= table->part[i][address >> 8 * i & 0xff];
	return index;
}

#endif
