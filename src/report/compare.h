/* SPDX-License-Identifier: MIT */
/* Two values beside each other: the common ground of check and diff. */
#ifndef XR_REPORT_COMPARE_H
#define XR_REPORT_COMPARE_H

#include "report/report.h"
#include "report/table.h"

enum xr_agreement { XR_AGREE, XR_DIFFER, XR_UNKNOWN, XR_MISSING };

/* Are two values of this fact the same? Counts exactly; what a clock or a busy machine has a say in, within the
 * difference that two honest runs on one machine show. */
bool xr_values_agree(const json_t *a, const json_t *b, const char *unit, const char *id);

/* "3.1 times as much", "1/15 of it", "4 % more": how a relates to b; "" when they are no numbers. */
const char *xr_ratio_words(struct xr_arena *arena, const json_t *a, const json_t *b);

/* Why a machine may give something else than its OS says of this fact; NULL: nothing to add. */
const char *xr_claim_explanation(const struct xr_description *d, const struct xr_fact *fact);

void xr_count_verdict(struct xr_verdict_counts *counts, enum xr_agreement agreement);
const char *xr_paint_verdict(struct xr_arena *arena, const struct xr_style *style, enum xr_agreement agreement,
                             const char *words);

#endif
