/* SPDX-License-Identifier: MIT */
/* One line on standard error that says where the run is; nothing when that is no terminal. */
#include "cli.h"
#include "report/value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 24 };
static const double least_s = 0.05; /* between two changes: drawing must not disturb what is timed */

/* Of the process's one standard error. */
static bool line_shown;
static double shown_at_s, shown_left_s = -1, looked_at_s;

static double steady(double elapsed_s, double left_s)
{
	shown_left_s = xr_value_left_s(shown_left_s, elapsed_s - looked_at_s, left_s);
	looked_at_s = elapsed_s;
	return shown_left_s;
}

void cli_progress_clear(void)
{
	if (line_shown)
		fputs("\r\033[K", stderr);
	line_shown = false;
}

static void remaining_words(char *words, size_t size, double seconds)
{
	if (seconds < 1)
		snprintf(words, size, "about done");
	else if (seconds < 90)
		snprintf(words, size, "%.0f s left", ceil(seconds));
	else
		snprintf(words, size, "%.0f min left", ceil(seconds / 60));
}

void cli_progress(void *self, const struct xr_progress *p)
{
	const struct settings *s = self;
	struct xr_style style = cli_style(STDERR_FILENO);
	char left[32], line[512], bar[BAR * 3 + 1] = "";
	if (s->verbose && p->finished) {
		cli_progress_clear();
		fprintf(stderr, "xray: %6.2f s  %s done (%d of %d)\n", p->elapsed_s, p->micro, p->index, p->count);
	}
	if (!style.width || p->finished || (line_shown && p->elapsed_s - shown_at_s < least_s)) /* 0: no terminal */
		return;
	shown_at_s = p->elapsed_s;
	double left_s = steady(p->elapsed_s, p->remaining_s);
	double fraction = p->elapsed_s + left_s > 0 ? p->elapsed_s / (p->elapsed_s + left_s) : 1;
	int full = (int)(fraction * BAR + 0.5);
	for (int i = 0; i < BAR; i++)
		strcat(bar, style.unicode ? (i < full ? "━" : "╌") : i < full ? "#" : ".");
	remaining_words(left, sizeof left, left_s);
	int used = BAR + 30;
	int room = style.width > used ? style.width - used : 0;
	snprintf(line, sizeof line, "%s%s%s", p->title, *p->what ? ": " : "", p->what);
	fprintf(stderr, "\r%s%s%s %3.0f %%  %-12s %.*s\033[K", style.colour ? "\033[36m" : "", bar,
	        style.colour ? "\033[0m" : "", fraction * 100, left, room, line);
	fflush(stderr);
	line_shown = true;
}
