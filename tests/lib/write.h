/* SPDX-License-Identifier: MIT */
#ifndef XR_TESTS_LIB_WRITE_H
#define XR_TESTS_LIB_WRITE_H

#include "target/model/machine.h"

#include <stdio.h>

/* A legal machine file that reads back as the same machine. */
void machine_write(const struct xr_machine *machine, FILE *out);

#endif
