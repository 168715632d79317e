/* SPDX-License-Identifier: MIT */
#include "target/model/front.h"

enum { PARTS_MAX = 64 }; /* lines of decoded code that one window may take: more than any file can ask for */

void xr_front_init(struct xr_front *front, const struct xr_machine *m)
{
	*front = (struct xr_front){.machine = m, .rng = {1}};
	for (int i = 0; i < m->n_btbs; i++) {
		const uint64_t ways = m->btb[i].ways ? m->btb[i].ways : m->btb[i].entries;
		xr_array_init(&front->btb[i], m->btb[i].entries / ways, ways, XR_LRU, &front->rng);
	}
	if (m->decoded_ops)
		xr_array_init(&front->decoded, m->decoded_ops / (uint64_t)m->decoded_per_line / m->decoded_ways,
		              m->decoded_ways, XR_LRU, &front->rng);
}

void xr_front_release(struct xr_front *front)
{
	for (int i = 0; i < front->machine->n_btbs; i++)
		xr_array_release(&front->btb[i]);
	if (front->decoded.ways)
		xr_array_release(&front->decoded);
}

bool xr_front_knows(struct xr_front *front, uint64_t address, double *cycles)
{
	const struct xr_machine *m = front->machine;
	int found = m->n_btbs;
	uint64_t key[XR_MACHINE_BTBS], set[XR_MACHINE_BTBS];
	*cycles = 0;
	for (int i = 0; i < m->n_btbs; i++) {
		key[i] = address >> m->btb[i].shift;
		set[i] = m->btb[i].index_bits.n ? xr_index_of(&m->btb[i].index_bits, address)
		                                : key[i] & (front->btb[i].sets - 1);
		uint64_t *line = xr_array_find(&front->btb[i], set[i], key[i]);
		if (!line)
			continue;
		xr_array_use(&front->btb[i], set[i], line);
		*cycles = m->btb[i].cycles;
		found = i;
		break;
	}
	for (int i = 0; i < found; i++) {
		struct xr_victim victim;
		xr_array_put(&front->btb[i], set[i], key[i], &victim);
	}
	return !m->n_btbs || found < m->n_btbs;
}

/* One window of code; its lines are all in one set. */
static bool has_window(struct xr_front *front, uint64_t window, int parts, bool stale)
{
	const uint64_t set = window & (front->decoded.sets - 1);
	bool all = !stale;
	for (int i = 0; i < parts; i++) {
		const uint64_t key = window * PARTS_MAX + (uint64_t)i;
		uint64_t *line = xr_array_find(&front->decoded, set, key);
		struct xr_victim victim;
		all &= line != NULL;
		if (line)
			xr_array_use(&front->decoded, set, line);
		else
			xr_array_put(&front->decoded, set, key, &victim);
	}
	return all;
}

bool xr_front_decoded(struct xr_front *front, struct xr_mem *mem, struct xr_mem_buffer *buffer, uint64_t offset,
                      uint64_t bytes, double ops)
{
	const struct xr_machine *m = front->machine;
	if (!front->decoded.ways)
		return false;
	const uint64_t start = buffer->address + offset, first = start / m->decoded_window,
		       last = (start + bytes - 1) / m->decoded_window;
	const double each = ops / (double)(last - first + 1) / m->decoded_per_line;
	const int parts = each <= 1 ? 1 : each < PARTS_MAX ? (int)(each + 0.999) : PARTS_MAX;
	/* what left the first cache of code has left here, too */
	const bool stale = m->decoded_inclusive && !xr_mem_holds(mem, 0, buffer, offset, XR_USE_FETCH, 0);
	bool all = true;
	for (uint64_t window = first; window <= last; window++)
		all &= has_window(front, window, parts, stale);
	return all;
}
