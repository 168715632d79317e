/* SPDX-License-Identifier: MIT */
/* Operand values: chosen so that nothing is folded, specialised, denormal or overflowing within one sample. */
#ifndef XR_NANO_VALUES_H
#define XR_NANO_VALUES_H

#include "nano/spec.h"

/* The chain's start value and its two constants, as C literals of the type's element. */
void xr_op_values(enum xr_op op, enum xr_type type, enum xr_values values, char p[static 40], char q[static 40],
                  char r[static 40]);

/* The C type that XR_CVT converts to and back from. */
const char *xr_cvt_through(enum xr_type type);

#endif
