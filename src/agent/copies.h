/* SPDX-License-Identifier: MIT */
/* Regions of memory tiled with copies of one compiled block.
 *
 * The block is ordinary C: step along a list of offsets, go on at the place it names. Compiled as a tail call it
 * is a handful of instructions without a frame and without a relative address, so that its bytes run wherever
 * they are copied. A region is tiled with copies once, while it is writable, and is executable and no longer
 * writable from then on; a walk only chooses which copies are visited, in which order. So two walks over the same
 * region never disturb each other's code, and nothing is compiled on the way.
 *
 * A block may begin with additions, so that the cache of decoded code has room for few of them: three sizes are
 * compiled. Straight-line code (paper 003) is the same with a longer block: a piece of many independent additions
 * that goes on at the next piece.
 *
 * Landing pads (endbr, bti) are part of the compiled block and are copied with it; pointer authentication does
 * not come in, because a tail call saves no return address.
 */
#ifndef XR_AGENT_COPIES_H
#define XR_AGENT_COPIES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && defined(__ELF__) && (defined(__unix__) || defined(__linux__))
#define XR_CAN_COPY_CODE 1
#else
#define XR_CAN_COPY_CODE 0
#endif

enum {
	XR_COPIES_STATEMENTS = 128, /* of a piece of straight-line code */
	XR_COPIES_MOST = 1 << 30,   /* bytes of a region */
};

#ifdef __thumb__
enum { XR_COPIES_ENTRY = 1 }; /* a jump to an odd address stays in this instruction set */
#else
enum { XR_COPIES_ENTRY = 0 };
#endif

/* A copy at base + *at; returns where a walk ended. */
typedef const uint32_t *xr_copies_visit(const uint32_t *at, uintptr_t base);

struct xr_copies {
	unsigned id;
	uint64_t bytes;
	int straight;
	uint64_t statements; /* additions before the jump of a block */
	char *base;
	uint32_t grid;   /* a copy begins at every multiple of it */
	uint32_t finish; /* offset of the block that ends a walk */
	int lazy;        /* copies are made when they are first visited */
};

/* The same arguments name the same memory for as long as the agent lives. exact: every instruction is simulated,
 * so only what is visited gets copied. NULL with error[] filled in. */
struct xr_copies *xr_copies_find(unsigned id, uint64_t bytes, int straight, uint64_t statements, int exact, char *error,
                                 size_t error_size);

/* Before these blocks are visited: makes the copies that are not there yet. Offsets with XR_COPIES_ENTRY. */
void xr_copies_need(const struct xr_copies *region, const uint32_t *blocks, size_t n);

#endif
