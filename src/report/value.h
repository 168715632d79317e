/* Values as people write them: 48 KiB, 3.49 GHz, yes. Text from files is made safe for terminals. */
#ifndef XR_REPORT_VALUE_H
#define XR_REPORT_VALUE_H

#include "facts/facts.h"
#include "util/arena.h"

const char *xr_value_words(struct xr_arena *arena, const json_t *value, const char *unit); /* "" when NULL */
const char *xr_safe_text(struct xr_arena *arena, const char *text); /* control characters become blanks */

/* The confidence below which a value is marked: 0.9, or less when on a busy machine hardly any reaches it, for marks on
 * everything mark nothing. */
double xr_sure_enough(const struct xr_description *d);
double xr_middle_confidence(const struct xr_description *d); /* the median of what is ok; 1 when nothing is */
extern const double xr_usual_confidence;

/* A fact's value with a `?` behind it when it is in doubt, `~` when it is less than `sure`; "" when it has none. */
const char *xr_fact_words(struct xr_arena *arena, const struct xr_fact *fact, double sure);

#endif
