/* SPDX-License-Identifier: MIT */
#include "util/escape.h"

#include <stdbool.h>
#include <stdint.h>

/* The character at `text` and its length; 0: no UTF-8. */
static int decode(const unsigned char *text, uint32_t *c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	int n = 0;
	if (text[0] < 0x80)
		n = 1;
	else if (text[0] >= 0xc0 && text[0] < 0xf8)
		n = text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : 4;
	else
		return 0;
	*c = n == 1 ? text[0] : text[0] & (0x7fu >> n);
	for (int i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (text[i] & 0x3f);
	}
	bool surrogate = *c >= 0xd800 && *c < 0xe000;
	return *c < least[n] || *c > 0x10ffff || surrogate ? 0 : n;
}

static bool harmless(uint32_t c)
{
	bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
	bool turns = c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	             (c >= 0x2066 && c <= 0x2069);
	return !control && !turns && c != 0xfeff;
}

void xr_escape_terminal(struct xr_strbuf *out, const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		uint32_t c = 0;
		int n = decode(at, &c);
		if (n && harmless(c))
			xr_strbuf_add(out, at, (size_t)n);
		else if (n > 1)
			xr_strbuf_printf(out, "\\u{%x}", (unsigned)c);
		else
			xr_strbuf_printf(out, "\\x%02x", *at);
		at += n ? n : 1;
	}
}
