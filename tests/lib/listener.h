/* SPDX-License-Identifier: MIT */
/* A target that stands before another one and listens: it passes every question on, and the test sees it first. */
#ifndef XR_TESTS_LISTENER_H
#define XR_TESTS_LISTENER_H

#include "target/backend.h"

struct listener {
	struct xr_target target;
	struct xr_target *behind; /* who answers; the caller's */
	/* Called before a question is passed on. 0: pass it on; 1: out[] holds the answer; -1: the target is lost, err
	 * says why. May be NULL. */
	int (*heard)(void *self, const struct xr_spec *specs, size_t n, struct xr_reading *out, struct xr_error *err);
	void *self;
	unsigned long questions;
};

void listener_init(struct listener *listener, struct xr_target *behind);
void listener_release(struct listener *listener);

#endif
