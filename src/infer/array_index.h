/* SPDX-License-Identifier: MIT */
/* For sets of many ways: lines are found by a hash table and kept in order of age by a list. Of infer/array.c alone. */
#ifndef XR_INFER_ARRAY_INDEX_H
#define XR_INFER_ARRAY_INDEX_H

#include "infer/array.h"

#include <stddef.h>

struct xr_array_index *xr_array_index_new(size_t sets, size_t lines);
void xr_array_index_release(struct xr_array_index *index);

/* The line at this place is in the array now, … */
void xr_array_index_add(struct xr_array *array, uint32_t at);
/* … and is about to leave. */
void xr_array_index_remove(struct xr_array *array, uint32_t at);

/* By age: where it comes in, leaves, and who is the oldest. */
void xr_array_index_link(struct xr_array_index *index, uint64_t set, uint32_t at);
void xr_array_index_unlink(struct xr_array_index *index, uint64_t set, uint32_t at);
uint32_t xr_array_index_oldest(const struct xr_array_index *index, uint64_t set);

#endif
