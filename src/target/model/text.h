/* SPDX-License-Identifier: MIT */
/* Statements given as text, on a simulated machine: what its compiler would make of them. */
#ifndef XR_TARGET_MODEL_TEXT_H
#define XR_TARGET_MODEL_TEXT_H

#include "target/model/core.h"

struct xr_text_cost {
	double slots, calls, software;
	double unit[XR_MACHINE_UNITS];
	double latency;   /* from p0 to p0; 0: the statement does not read the p0 it writes */
	bool malformed;   /* no statement, as opposed to one that needs what the machine has not */
};

/* 0, or -1 with the reason: not a statement, or an operation that the machine does not have. */
int xr_text_cost(const struct xr_machine *machine, const char *text, enum xr_type type, struct xr_text_cost *out,
                 char reason[static 128]);

#endif
