/* SPDX-License-Identifier: MIT */
/* Text from a file, made safe for each form: none of it may end a quotation, open a tag, or run as a formula. All take
 * any bytes; control characters become blanks. */
#ifndef XR_REPORT_QUOTE_H
#define XR_REPORT_QUOTE_H

#include "util/arena.h"

const char *xr_quote_csv(struct xr_arena *arena, const char *text);        /* a cell, in quotes where it needs them */
const char *xr_quote_markdown(struct xr_arena *arena, const char *text);   /* a cell of a table */
const char *xr_quote_label(struct xr_arena *arena, const char *text);      /* between the quotes of a Prometheus label */
const char *xr_quote_yaml(struct xr_arena *arena, const char *text);       /* with its double quotes */
const char *xr_quote_cmake(struct xr_arena *arena, const char *text);      /* with its double quotes */

#endif
