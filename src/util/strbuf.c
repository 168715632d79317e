/* SPDX-License-Identifier: MIT */
#include "util/strbuf.h"
#include "util/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void grow(struct xr_strbuf *buf, size_t more)
{
	if (buf->room - buf->len > more)
		return;
	size_t room = (buf->room ? buf->room * 2 : 256) + more + 1;
	buf->data = xr_realloc(buf->data, room, 1);
	buf->room = room;
}

void xr_strbuf_add(struct xr_strbuf *buf, const void *data, size_t len)
{
	grow(buf, len);
	if (len)
		memcpy(buf->data + buf->len, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void xr_strbuf_printf(struct xr_strbuf *buf, const char *format, ...)
{
	va_list ap;
	grow(buf, 128);
	va_start(ap, format);
	int n = vsnprintf(buf->data + buf->len, buf->room - buf->len, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= buf->room - buf->len) {
		grow(buf, (size_t)n);
		va_start(ap, format);
		vsnprintf(buf->data + buf->len, buf->room - buf->len, format, ap);
		va_end(ap);
	}
	buf->len += (size_t)n;
}

void xr_strbuf_clear(struct xr_strbuf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

const char *xr_strbuf_text(const struct xr_strbuf *buf)
{
	return buf->len ? buf->data : "";
}

void xr_strbuf_release(struct xr_strbuf *buf)
{
	free(buf->data);
	*buf = (struct xr_strbuf){0};
}
