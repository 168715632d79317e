/* SPDX-License-Identifier: MIT */
/* Values as people write them: 48 KiB, 3.49 GHz, yes. Text from files is made safe for terminals. */
#ifndef XR_REPORT_VALUE_H
#define XR_REPORT_VALUE_H

#include "facts/facts.h"
#include "util/arena.h"

const char *xr_value_words(struct xr_arena *arena, const json_t *value, const char *unit); /* "" when NULL */

/* Time left, for people. Estimates jump when a micro-benchmark ends early or late; a person wants to see the time run
 * down. What was said before (shown_s, -1: nothing yet) less what has passed since counts for nine parts, the new
 * estimate for one, and the time stands still rather than rise a little. An estimate half as long again is news: the
 * machine is slower than thought. */
double xr_value_left_s(double shown_s, double passed_s, double left_s);

const char *xr_safe_text(struct xr_arena *arena, const char *text); /* control characters are spelled out */

/* A fact's value with a `?` behind it when it is in doubt, `~` when it is less than `sure` (xr_trust_usual in reports);
 * "" when it has none. */
const char *xr_fact_words(struct xr_arena *arena, const struct xr_fact *fact, double sure);

#endif
