/* SPDX-License-Identifier: MIT */
/* All micro-benchmarks, NULL-terminated, sorted by id; generated from the files in this folder. */
#ifndef XR_MICRO_TABLE_H
#define XR_MICRO_TABLE_H

struct xr_micro;
extern const struct xr_micro *const xr_micro_table[];

#endif
