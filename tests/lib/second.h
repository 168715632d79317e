/* SPDX-License-Identifier: MIT */
/* The second generator of machines, see second.c: development looks at its rates, not at its machines. */
#ifndef XR_TESTS_LIB_SECOND_H
#define XR_TESTS_LIB_SECOND_H

#include "target/model/machine.h"

/* Noise is part of the machine. The same seed gives the same machine everywhere. */
void second_machine(struct xr_machine *machine, uint64_t seed);

#endif
