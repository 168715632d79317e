/* SPDX-License-Identifier: MIT */
/* The keys of machine files: what each is, and its value read into a machine. */
#ifndef XR_TARGET_MODEL_KEYS_H
#define XR_TARGET_MODEL_KEYS_H

#include "target/model/machine.h"

enum { XR_KEY_REASON = 400 };

bool xr_keys_section(const char *section); /* has a key? */

/* Reads `text` as the value of a key of a section into the struct at `base` (the machine, or what the section lists).
 * 1, or with the reason 0; -1: there is no such key. */
int xr_keys_set(const char *section, const char *name, void *base, const char *text,
                char reason[static XR_KEY_REASON]);

/* A number from min to max; `whole`: no fractions. */
bool xr_keys_number(const char *name, const char *text, double min, double max, bool whole, double *out,
                    char reason[static XR_KEY_REASON]);
bool xr_keys_yes(const char *name, const char *text, int *out, char reason[static XR_KEY_REASON]);

#endif
