/* SPDX-License-Identifier: MIT */
/* A growing string. {0} is a valid empty one; text is always NUL-terminated; out of memory: see memory.h. */
#ifndef XR_UTIL_STRBUF_H
#define XR_UTIL_STRBUF_H

#include <stddef.h>

struct xr_strbuf {
	char *data;
	size_t len, room;
};

void xr_strbuf_printf(struct xr_strbuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void xr_strbuf_add(struct xr_strbuf *buf, const void *data, size_t len);
void xr_strbuf_clear(struct xr_strbuf *buf);
const char *xr_strbuf_text(const struct xr_strbuf *buf); /* "" when empty; valid until the next change */
void xr_strbuf_release(struct xr_strbuf *buf);

#endif
