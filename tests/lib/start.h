/* SPDX-License-Identifier: MIT */
/* What several tests begin with: a machine file without its noise, one reading, one description. They fail the test. */
#ifndef XR_TESTS_LIB_START_H
#define XR_TESTS_LIB_START_H

#include "target/model/machine.h"
#include "target/target.h"

#include "xray.h"

struct xr_machine machine_of(const char *path); /* as it is */
struct xr_machine quiet_machine(const char *path);
struct xr_reading time_one(struct xr_target *target, const struct xr_spec *spec);
struct xr_description *measure_here(const struct xr_options *options, const char *const *select, size_t n);

/* The words of a line for the agent, as its own reader gives them. At most 256; valid until the next call. */
int words_of(const char *text, char **words);

#endif
