/* SPDX-License-Identifier: MIT */
/* What real cores do and simple models do not: one habit at a time, put on a machine. */
#ifndef XR_TESTS_LIB_HABITS_H
#define XR_TESTS_LIB_HABITS_H

#include "target/model/machine.h"
#include "util/rng.h"

struct habit {
	const char *name;
	const char *what;      /* a few words */
	const char *select[6]; /* selectors of the facts that it may touch; NULL ends */
	void (*put)(struct xr_machine *machine, struct xr_rng *rng);
};

extern const struct habit habits[];
extern const int n_habits;

/* Puts the habit on the machine; false: this machine cannot have it (it stays as it was). */
bool habit_put(const struct habit *habit, struct xr_machine *machine, uint64_t seed);

#endif
