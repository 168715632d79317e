/* SPDX-License-Identifier: MIT */
/* Text from outside, made harmless for a terminal: the one function for that form. (JSON is escaped by jansson, C
 * by report/header.c.)
 *
 * What a terminal would obey does not reach it: control characters of both halves, what is no UTF-8, and what
 * changes the direction of writing come out as \xNN or \u{NNNN}. Everything else stays as it is. So the result is
 * one line.
 */
#ifndef XR_UTIL_ESCAPE_H
#define XR_UTIL_ESCAPE_H

#include "util/strbuf.h"

void xr_escape_terminal(struct xr_strbuf *out, const char *text);

#endif
