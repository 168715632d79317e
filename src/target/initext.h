/* SPDX-License-Identifier: MIT */
/* inih over text at hand: a target file is read once, for it may be a pipe. */
#ifndef XR_TARGET_INITEXT_H
#define XR_TARGET_INITEXT_H

#include <ini.h>
#include <stddef.h>

int xr_ini_text(const char *text, size_t bytes, ini_handler handler, void *self); /* as ini_parse() */

#endif
