/* SPDX-License-Identifier: MIT */
/* Places: addresses to visit, as bytes from the start of a buffer, in order; and the patterns that engines draw.
 *
 * Memory comes from the arena. A set of places becomes spans of a specification by xr_places_spans().
 */
#ifndef XR_PROBE_PLACES_H
#define XR_PROBE_PLACES_H

#include "nano/spec.h"
#include "util/arena.h"
#include "util/rng.h"

#include <stddef.h>
#include <stdint.h>

struct xr_places {
	uint64_t *at;
	size_t n, room;
};

struct xr_places xr_places_new(struct xr_arena *arena, size_t room);
void xr_places_add(struct xr_places *places, uint64_t at); /* there must be room */
void xr_places_add_stride(struct xr_places *places, uint64_t base, uint64_t stride, size_t count);
void xr_places_shuffle(struct xr_places *places, struct xr_rng *rng);

/* The papers' sequence <base, stride, count>. */
struct xr_places xr_places_stride(struct xr_arena *arena, uint64_t base, uint64_t stride, size_t count);

/* The twin of a set: as many places, in the same pages and visited in the same order of pages, but packed into as few
 * lines as can be, in different parts of each page. It costs a TLB what the set costs it, and the caches (next to)
 * nothing; so what the set takes more than its twin is the caches' doing. page 0: no pages, all packed together. */
struct xr_places xr_places_twin(struct xr_arena *arena, const struct xr_places *places, uint64_t page);

/* `count` places in as many pages, one line each: line number i + i / L of page i, where L = page / line. Every line
 * number is used equally often, also within every power-of-two-strided share of the pages. */
struct xr_places xr_places_rotated(struct xr_arena *arena, uint64_t page, uint64_t stride, uint64_t line, size_t count);

/* The spans, in order; *n gets their number. */
struct xr_span *xr_places_spans(struct xr_arena *arena, const struct xr_places *places, size_t *n);

/* A seed for the order of visits, drawn anew on every call: of several, that whose order has the fewest steps in
 * a row by the same distance. Such steps wake prefetchers, which bring lines that nobody asked for, or just those
 * that are asked for next; of few places many an order has them. */
uint64_t xr_places_seed(struct xr_arena *arena, const struct xr_places *places, struct xr_rng *rng);

/* All places moved by so many bytes. */
struct xr_places xr_places_moved(struct xr_arena *arena, const struct xr_places *places, uint64_t by);
uint64_t xr_places_end(const struct xr_places *places); /* of the highest word; 0: there is none */

/* The endless walk over these places; seed 0: in the order given. */
struct xr_spec xr_places_cycle(struct xr_arena *arena, const struct xr_places *places, struct xr_buffer buffer,
                               uint64_t seed);

#endif
