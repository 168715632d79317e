/* SPDX-License-Identifier: MIT */
#include "target/initext.h"

struct reader {
	const char *at, *end;
};

/* As fgets. */
static char *next_line(char *out, int room, void *self)
{
	struct reader *r = self;
	size_t len = 0;
	if (r->at >= r->end)
		return NULL;
	while (r->at < r->end && len + 1 < (size_t)room) {
		out[len++] = *r->at;
		if (*r->at++ == '\n')
			break;
	}
	out[len] = '\0';
	return out;
}

int xr_ini_text(const char *text, size_t bytes, ini_handler handler, void *self)
{
	struct reader reader = {text, text + bytes};
	return ini_parse_stream(next_line, &reader, handler, self);
}
