/* SPDX-License-Identifier: MIT */
/* A target for tests of the engine: every reading is what the test says, nothing runs. */
#ifndef XR_TESTS_FAKE_H
#define XR_TESTS_FAKE_H

#include "target/backend.h"

struct fake {
	struct xr_target target;
	double ns;              /* of every operation */
	double cycle_ns;        /* of the reference */
	const char *lost;       /* when set: the target stops answering with these words */
	const char *refused;    /* when set: the compiler refuses everything with these words */
	volatile int *raise;    /* when set: becomes 1 while something is timed, as Ctrl-C would */
	int calls;
	int samples_asked;      /* in the first rounds of the last call */
};

void fake_init(struct fake *fake);
void fake_release(struct fake *fake);

#endif
