/* SPDX-License-Identifier: MIT */
/* Flush lines: visited behind the pages of a lap (laps.h), they push these out of the first level, and must not
 * push them out of the level asked about, nor each other.
 */
#ifndef XR_METHOD_FLUSH_H
#define XR_METHOD_FLUSH_H

#include "method/classes.h"

/* Chooses lines that push a place out of the first level; of whole pages, where pages that would compete with
 * each other in this level are exchanged for others from `order` (n items; the first ones are used up: *used). */
int xr_flush_choose(struct xr_laps *laps, const struct xr_first *first, const uint32_t *order, size_t n, size_t *used);

/* Flush pages without which the class (of one more than fit, some of them among the flush pages) would fit belong
 * to it: moves them there. There must be room for them. */
int xr_flush_take(struct xr_laps *laps, const struct xr_first *first, struct xr_class *class);

/* Flush lines again, from pages of `order` that are not of the class; where there are not enough, the old ones
 * stay, and laps are tight. */
int xr_flush_renew(struct xr_laps *laps, const struct xr_first *first, const struct xr_class *class, const uint32_t *order,
                   size_t n);

/* Are the flush lines inside pages members of the class? What is in the same set of the first level is in the
 * same set of a level that has no more sets, too. */
int xr_flush_joins(const struct xr_laps *laps, const struct xr_class *class, bool *joins);

#endif
