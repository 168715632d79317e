/* SPDX-License-Identifier: MIT */
/* A look at the compiled loop: is the timed code the asked code? */
#ifndef XR_TARGET_HOST_LOOK_H
#define XR_TARGET_HOST_LOOK_H

#include "target/target.h"

/* Counts, in GNU assembler text, what lies between two marks around the middle of the body (labels xr_middle_ID and
 * xr_last_ID, `middle` statements), or in the whole loop where there are none (xr_begin_ID, xr_end_ID, `body`
 * statements); per statement. At the ends of a loop compilers shuffle variables from register to register, which is not
 * the statements'. looked is false when the labels are not there. */
struct xr_look xr_look_at(const char *assembly, const char *id, int body, int middle);

#endif
