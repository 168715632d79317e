/* SPDX-License-Identifier: MIT */
/* Directories that nobody else can have a hand in. */
#ifndef XR_UTIL_TRUSTED_H
#define XR_UTIL_TRUSTED_H

#include "util/strbuf.h"

#include <stdbool.h>

/* A descriptor of the directory `path`, made with mode 0700 where it is missing (with its parents), if it is ours
 * and nobody else can write to it or put something else in its place: each directory on the way belongs to us or
 * to root, and others can write to it only where they cannot touch what is not theirs (/tmp). Links on the way
 * are followed by the same rule. From then on the directory is held by its descriptor, whatever happens to its
 * name. -1: no; why gets one line. make: false, and a missing directory is an error. */
int xr_trusted_open(const char *path, bool make, struct xr_strbuf *why);

/* Will what we put into the directory `path` stay what it is? The same rule, but others may own it as root owns /tmp. 0:
 * yes; -1: no, and why gets one line. */
int xr_trusted_place(const char *path, struct xr_strbuf *why);

#endif
