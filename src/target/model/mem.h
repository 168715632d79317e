/* SPDX-License-Identifier: MIT */
/* The memory side of a simulated machine: pages, TLBs, caches, prefetchers; one access after the other.
 *
 * Lines are known by virtual address: buffers never share pages, so that is as unique as the physical one; the
 * physical address serves to find the set where a cache is indexed by it.
 */
#ifndef XR_TARGET_MODEL_MEM_H
#define XR_TARGET_MODEL_MEM_H

#include "nano/spec.h"
#include "infer/array.h"
#include "target/model/machine.h"

struct xr_mem;

/* A piece of virtual memory. Its address is a multiple of everything; frames are given to pages at first use. */
struct xr_mem_buffer {
	unsigned id;
	uint64_t bytes;
	enum xr_backing backing;
	bool code;
	bool huge;              /* backed by huge pages now */
	uint64_t address;
	uint64_t small_base, huge_base; /* first frame, where placement is contiguous */
	uint32_t *frame;        /* + 1; per small page */
	uint32_t *huge_frame;
	double used_ns;         /* how long it was in use: the OS may take notice */
	struct xr_mem_buffer *same; /* the memory under it: see xr_mem_new_over() */
};

/* What an access met. */
struct xr_met {
	int level;           /* how many caches on the path had to pass: 0 first level, … n_levels: memory */
	double latency;      /* of the level that had it */
	double tlb;          /* added for translation */
	int tlb_level;       /* how many TLBs missed */
	bool walked;         /* all of them: the page table was asked */
	double down;         /* stores: latencies of the levels that the store, or what it threw out, went down to */
};

/* `machine` must outlive it. */
struct xr_mem *xr_mem_new(const struct xr_machine *machine, uint64_t seed);
void xr_mem_free(struct xr_mem *mem);
/* The same memory behind caches and TLBs of their own: pages lie where they lie in `under`, which must outlive it. */
struct xr_mem *xr_mem_new_over(const struct xr_machine *machine, struct xr_mem *under, uint64_t seed);

/* The buffer of that name, made when new. NULL: larger than memory. */
struct xr_mem_buffer *xr_mem_buffer(struct xr_mem *mem, const struct xr_buffer *buffer, bool code);
void xr_mem_back(struct xr_mem *mem, struct xr_mem_buffer *buffer); /* gives all its pages frames, in order, now */
void xr_mem_promote(struct xr_mem *mem, struct xr_mem_buffer *buffer); /* to huge pages */

enum xr_use { XR_USE_READ, XR_USE_WRITE, XR_USE_FETCH };
struct xr_met xr_mem_access(struct xr_mem *mem, int core, struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use);

/* That access will come soon: the machine at hand may begin to fetch what simulating it will touch. Changes nothing. */
bool xr_mem_is_far(const struct xr_mem *mem, enum xr_use use); /* else it need not be told */
void xr_mem_expect(const struct xr_mem *mem, int core, const struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use);

/* The same for who only needs the translation. */
struct xr_met xr_mem_translation(struct xr_mem *mem, int core, struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use);

/* An interrupt on a core: `lines` random lines leave its first level, data and code. */
void xr_mem_interrupt(struct xr_mem *mem, int core, int lines);

/* So much time passes on a core: neighbours bring their lines into the caches that they use, too. */
void xr_mem_pass(struct xr_mem *mem, int core, double cycles);

int xr_mem_levels(const struct xr_mem *mem, enum xr_use use); /* caches on the path */
double xr_mem_latency(const struct xr_mem *mem, enum xr_use use, int level); /* of level, or of memory behind the last */
uint64_t xr_mem_first_line(const struct xr_mem *mem, enum xr_use use); /* of the first cache; 64 without */
uint64_t xr_mem_line(const struct xr_mem *mem, enum xr_use use); /* of the last cache, what memory moves; 64 without caches */
bool xr_mem_throws_out_by_age(const struct xr_mem *mem, enum xr_use use, int level, bool tlb); /* lru, fifo */
uint64_t xr_mem_accesses(const struct xr_mem *mem); /* simulated so far */

/* Is a line in the cache that is `level`-th on the path of `use`? For tests. */
bool xr_mem_holds(struct xr_mem *mem, int core, struct xr_mem_buffer *buffer, uint64_t offset, enum xr_use use, int level);

#endif
