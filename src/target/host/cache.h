/* SPDX-License-Identifier: MIT */
/* What was compiled before, kept as ccache keeps it.
 *
 * The directory is held by a descriptor, once it is sure that nobody else can have a hand in it (util/trusted.h);
 * its files are opened from there, never through a link. Each entry is one file with a checksum over its name and
 * content: one that is damaged, cut short or under another's name is removed and compiled anew, and nobody hears
 * of it. When there is more than the limit, what was not used for longest goes.
 */
#ifndef XR_TARGET_HOST_CACHE_H
#define XR_TARGET_HOST_CACHE_H

#include "util/error.h"
#include "util/strbuf.h"

#include <stdbool.h>
#include <stdint.h>

struct xr_cache {
	int dir;             /* -1: there is none */
	uint64_t most_bytes; /* that it may take; from xr_cache_open() 512 MiB */
	unsigned n_put;      /* entries written: part of the names of files that are not ready */
};

/* 0; -1: cannot be used, why says why. NULL path: none, which is no error. */
int xr_cache_open(struct xr_cache *cache, const char *path, struct xr_strbuf *why);
void xr_cache_close(struct xr_cache *cache);  /* also removes what is too much */

bool xr_cache_get(const struct xr_cache *cache, uint64_t key, const char *suffix, struct xr_strbuf *out);
void xr_cache_put(struct xr_cache *cache, uint64_t key, const char *suffix, const void *data, size_t len);

#endif
