/* SPDX-License-Identifier: MIT */
/* Values as people write them: 48 KiB, 3.49 GHz, yes. Text from files is made safe for terminals. */
#ifndef XR_REPORT_VALUE_H
#define XR_REPORT_VALUE_H

#include "facts/facts.h"
#include "util/arena.h"

const char *xr_value_words(struct xr_arena *arena, const json_t *value, const char *unit); /* "" when NULL */
const char *xr_safe_text(struct xr_arena *arena, const char *text); /* control characters are spelled out */

/* A fact's value with a `?` behind it when it is in doubt, `~` when it is less than `sure` (xr_trust_usual in reports);
 * "" when it has none. */
const char *xr_fact_words(struct xr_arena *arena, const struct xr_fact *fact, double sure);

#endif
