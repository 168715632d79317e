/* SPDX-License-Identifier: MIT */
/* The parts of the one screen (screen.c) that know how much room is left: screen_doubts.c. */
#ifndef XR_REPORT_SCREEN_H
#define XR_REPORT_SCREEN_H

#include "report/report.h"
#include "util/arena.h"
#include "util/strbuf.h"

struct xr_screen {
	const struct xr_description *d;
	const struct xr_style *style;
	struct xr_arena *arena;
	size_t width;
	struct xr_strbuf text;
	int shed;                /* kinds of detail left out so that it fits; see screen.c */
	bool doubted, less_sure; /* marks were used */
};

size_t xr_screen_lines(const struct xr_screen *s); /* so far */
/* Text from `column` on; further lines begin at `indent`. */
void xr_screen_wrapped(struct xr_screen *s, const char *text, size_t column, size_t indent);
void xr_screen_heading(struct xr_screen *s, const char *title);

/* What differs from what the OS says, and what is in doubt, up to so many lines; at least so many for each. */
enum { XR_SCREEN_PART = 5 };
size_t xr_screen_least(const struct xr_screen *s);
void xr_screen_differences(struct xr_screen *s, size_t lines_max);
void xr_screen_doubts(struct xr_screen *s, size_t lines_max);

#endif
