/* SPDX-License-Identifier: MIT */
/* A target for tests of the engine: every reading is what the test says, nothing runs. */
#ifndef XR_TESTS_FAKE_H
#define XR_TESTS_FAKE_H

#include "target/backend.h"

struct fake_op {
	double ns;
	double calls; /* in its compiled code */
	double sway;  /* share by which its samples differ, though nobody disturbs */
};

struct fake {
	struct xr_target target;
	double ns;              /* of every operation, */
	void (*tell)(const struct xr_spec *spec, struct fake_op *op); /* unless this says another; NULL: it does not */
	double cycle_ns;        /* of the reference */
	const char *lost;       /* when set: the target stops answering with these words */
	const char *refused;    /* when set: the compiler refuses everything with these words */
	volatile int *raise;    /* when set: becomes 1 while something is timed, as Ctrl-C would */
	const struct xr_spec *specs; /* private: those of this batch */
	int calls;
	int samples_asked;      /* in the first rounds of the last call */
};

void fake_init(struct fake *fake);
void fake_release(struct fake *fake);

#endif
