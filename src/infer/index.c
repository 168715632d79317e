/* SPDX-License-Identifier: MIT */
#include "infer/index.h"

static uint32_t parity(uint64_t x)
{
	return (uint32_t)__builtin_parityll(x);
}

uint32_t xr_index_of(const struct xr_index_bits *bits, uint64_t address)
{
	uint32_t index = 0;
	for (int i = 0; i < bits->n; i++)
		index |= parity(address & bits->mask[i]) << i;
	return index;
}

int xr_index_rank(const struct xr_index_bits *bits)
{
	uint64_t row[XR_INDEX_BITS];
	int rank = 0;
	for (int i = 0; i < bits->n; i++)
		row[i] = bits->mask[i];
	for (int i = 0; i < bits->n; i++) {
		if (!row[i])
			continue;
		uint64_t lowest = row[i] & -row[i];
		for (int k = i + 1; k < bits->n; k++)
			if (row[k] & lowest)
				row[k] ^= row[i];
		rank++;
	}
	return rank;
}

void xr_index_table_init(struct xr_index_table *table, const struct xr_index_bits *bits)
{
	uint64_t used = 0;
	for (int i = 0; i < bits->n; i++)
		used |= bits->mask[i];
	table->first = used ? __builtin_ctzll(used) / 8 : 0;
	table->end = used ? (63 - __builtin_clzll(used)) / 8 + 1 : 0;
	for (int i = 0; i < XR_INDEX_BYTES; i++) {
		table->part[i][0] = 0;
		for (uint32_t bit = 1; bit < 256; bit *= 2) {
			const uint32_t alone = xr_index_of(bits, (uint64_t)bit << 8 * i);
			for (uint32_t below = 0; below < bit; below++)
				table->part[i][bit + below] = alone ^ table->part[i][below];
		}
	}
}
