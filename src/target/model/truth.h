/* What a machine file implies for each fact: the answer a measurement must find. */
#ifndef XR_TARGET_MODEL_TRUTH_H
#define XR_TARGET_MODEL_TRUTH_H

#include "target/model/machine.h"

#include <jansson.h>

/* A new reference (json_decref it), or NULL: the file says nothing about this fact, or nobody could find it out on that
 * machine (a level hidden behind a larger one, a latency that equals the next level's, …). */
json_t *xr_model_truth(const struct xr_machine *machine, const char *fact_id);

#endif
