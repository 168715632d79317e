/* SPDX-License-Identifier: MIT */
/* The memory side from inside: what mem.c (caches), pages.c (frames), translate.c (TLBs and walks) and prefetch.c
 * share. */
#ifndef XR_TARGET_MODEL_MEM_INSIDE_H
#define XR_TARGET_MODEL_MEM_INSIDE_H

#include "target/model/bits.h"
#include "target/model/mem.h"

enum {
	TRACKERS = 16,   /* pages in which streams are followed */
	SLOT_SHIFT = 42, /* of virtual addresses: every buffer has a slot of its own, strangers the first one */
	TABLE_SHIFT = 39, /* in the slot of page tables: each level has a part of its own, the host's table the first one */
};

/* How the lines of a cache find their sets. */
struct map {
	enum { MAP_PLAIN, MAP_HASH, MAP_LINEAR, MAP_MODULO, MAP_SLICES } how;
	uint64_t slice_sets; /* sets of a slice */
	bool slice_known;
	struct xr_index_table linear, slice;
	struct xr_index_table way; /* tag of the way predictor */
};

/* A cache, of one core or of the cores that share it. */
struct box {
	struct xr_array array;
	const struct xr_machine_cache *cache;
	const struct map *map;
	uint32_t *twin; /* of each line, where ways stay ways: its tag of the way predictor; NULL: worked out when asked */
	int group;
	unsigned line_shift;
	bool physical, plain; /* index: by the physical address; a plain part of it */
	bool exclusive, inclusive, predicts; /* predicts: it has a way predictor */
	double due; /* lines that neighbours are about to bring */
};

struct tlb {
	struct xr_array array, huge; /* huge: where some ways are for huge pages alone */
	const struct xr_machine_tlb *tlb;
	struct xr_index_table *linear; /* NULL: plain or folded */
	unsigned coalesce_shift;
};

struct successor { /* of a line (+ 1) that missed, as far as remembered */
	uint64_t line, next;
};

struct core {
	bool there;
	struct box *cache[XR_MACHINE_CACHES];
	struct tlb *tlb[XR_MACHINE_TLBS];
	struct xr_array walk[XR_MACHINE_WALK]; /* walk caches, by level; no ways: none */
	uint64_t last_page[2]; /* + 1, of data and code: using a translation twice in a row changes nothing */
	uint64_t last_set;     /* + 1, of the first cache of data */
	uint64_t last_address;
	int64_t last_delta;
	struct {
		uint64_t page, line;
		bool there;
	} tracker[TRACKERS];
	struct successor *successor;
	uint64_t last_miss; /* + 1 */
};

struct host_frame { /* of a guest-physical page (+ 1), to look up rather than work out */
	uint64_t page, frame;
};
enum { HOST_FRAMES = 8192 };

struct path {
	int n, cache[XR_MACHINE_CACHES];
	int n_far, far[XR_MACHINE_CACHES]; /* of these, the ones too large to stay near in the machine at hand */
	int n_tlbs[2], tlb[2][XR_MACHINE_TLBS]; /* for small pages, for huge ones */
};

struct xr_mem {
	const struct xr_machine *machine;
	struct xr_mem *under; /* whose frames these are: the same memory, seen with other caches; NULL: its own */
	struct xr_rng rng;
	struct path data, code;
	struct map *map; /* per cache */
	struct core *core;
	struct box **boxes;
	size_t n_boxes;
	struct xr_mem_buffer **buffer; /* the i-th lies at (i + 1) << SLOT_SHIFT */
	struct xr_mem_buffer *tables;  /* of pages; NULL: not in caches */
	uint64_t n_buffers, frames_given, huge_given, place_key;
	uint64_t accesses, strangers;
	bool prefetches;
	uint64_t adjacent_bytes; /* from a line to the other one that is prefetched with it */
	unsigned page_shift, huge_shift, host_shift;
	uint64_t successors_mask; /* of the temporal prefetcher */
	struct host_frame *host_frame;
	int tables_level;         /* nearest cache of data that has lines of page tables */
};

/* A place in memory on its way through the caches; the physical address is worked out when first asked for. */
struct spot {
	struct xr_mem_buffer *b;
	uint64_t address, physical;
	bool known;
};

static inline uint64_t mixed(uint64_t line)
{
	struct xr_rng mix = {line};
	return xr_rng_next(&mix);
}

static inline struct xr_mem_buffer *buffer_at(const struct xr_mem *mem, uint64_t address)
{
	return mem->buffer[(address >> SLOT_SHIFT) - 1];
}

/* pages.c */
uint64_t xr_mem_physical(struct xr_mem *mem, struct xr_mem_buffer *buffer, uint64_t address);
/* The same of a place that has its frame already, where that is quickly said; gives none. */
bool xr_mem_physical_known(const struct xr_mem *mem, const struct xr_mem_buffer *buffer, uint64_t address, uint64_t *physical);
/* Do the `pages` pages around an address, aligned, lie in a row in memory? */
bool xr_mem_in_a_row(const struct xr_mem *mem, const struct xr_mem_buffer *buffer, uint64_t pages);
void xr_mem_add_tables(struct xr_mem *mem);

/* translate.c */
void xr_mem_make_tlbs(struct xr_mem *mem, struct core *core);
void xr_mem_free_tlbs(struct xr_mem *mem, struct core *core);
void xr_mem_translate(struct xr_mem *mem, struct core *core, const struct path *path, struct xr_mem_buffer *buffer,
                      uint64_t address, struct xr_met *met); /* its tlb, tlb_level, walked */

/* mem.c. Brings a line to the level `nearest` of a path and those behind; returns where it was. Not wanted: somebody
 * guesses that it will be; finding it where it is to go then is no use of it. */
int xr_mem_bring(struct xr_mem *mem, struct core *core, const struct path *path, struct spot *spot, int nearest,
                 bool wanted, double *down);
bool xr_mem_is_in(struct xr_mem *mem, struct core *core, const struct path *path, int level, struct spot *spot);

/* prefetch.c */
void xr_mem_run_prefetchers(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *buffer, uint64_t address,
                            bool missed);
void xr_mem_fetch_along(struct xr_mem *mem, struct core *core, struct xr_mem_buffer *buffer, uint64_t address);

#endif
