/* A look at the compiled loop: is the timed code the asked code? */
#ifndef XR_TARGET_HOST_LOOK_H
#define XR_TARGET_HOST_LOOK_H

#include "target/target.h"

/* Counts, in GNU assembler text, what lies between the labels xr_begin_ID and xr_end_ID; per statement of a body of
 * `statements`. looked is false when the labels are not there. */
struct xr_look xr_look_at(const char *assembly, const char *id, int statements);

#endif
