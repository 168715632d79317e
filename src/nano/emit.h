/* SPDX-License-Identifier: MIT */
/* From a specification of operation streams to C that a person can read.
 *
 * Two forms of the same body. XR_FORM_BARRIER: straight lines, each variable passed through an empty asm so that the
 * compiler must keep every statement in order (GNU-like compilers). XR_FORM_SWITCH: the papers' switch over a volatile,
 * in plain C89: any case might be entered from outside, so no statement can be moved or merged (any compiler).
 *
 * The same specification gives the same bytes.
 */
#ifndef XR_NANO_EMIT_H
#define XR_NANO_EMIT_H

#include "nano/spec.h"
#include "util/strbuf.h"

enum xr_form { XR_FORM_BARRIER, XR_FORM_SWITCH };

/* The name of the function that holds a specification's loop: "xr_nano_" and 16 digits that depend on its text. */
void xr_emit_name(const struct xr_spec *spec, char name[static 32]);

/* One translation unit with a function `void NAME(unsigned long reps)` for each. All must be XR_OPS. */
void xr_emit_unit(struct xr_strbuf *out, const struct xr_spec *specs, size_t n, enum xr_form form);

/* The table by which the agent finds the functions, and their number. */
void xr_emit_table(struct xr_strbuf *out, const struct xr_spec *specs, size_t n);

/* Statements in the body: unroll rounded up to whole rounds. */
int xr_ops_body(const struct xr_ops_spec *ops);
/* Of so many, those between the marks around the middle of the body; 0: too few for marks. */
int xr_ops_middle(int body);

#endif
