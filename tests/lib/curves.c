/* SPDX-License-Identifier: MIT */
#include "curves.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 8, TEXT = 256 };

static int split(char *line, char *column[COLUMNS])
{
	int n = 0;
	line[strcspn(line, "\r\n")] = 0;
	for (char *rest = line; rest && n < COLUMNS;)
		column[n++] = strsep(&rest, ",");
	return n;
}

/* Does a row have every NAME=TEXT of `where`? */
static int fits(char *const *name, char *const *column, int n, const char *where)
{
	char copy[TEXT], *rest = copy;
	snprintf(copy, sizeof copy, "%s", where);
	for (char *want; (want = strsep(&rest, ",")) != NULL;) {
		char *text = strchr(want, '=');
		int found = 0;
		if (!text)
			continue;
		*text++ = 0;
		for (int i = 0; i < n; i++)
			found |= !strcmp(name[i], want) && !strcmp(column[i], text);
		if (!found)
			return 0;
	}
	return 1;
}

struct curve curve_read(const char *file, const char *where, const char *x)
{
	struct curve curve = {.n = 0};
	char path[TEXT], head[TEXT], line[TEXT], *name[COLUMNS], *column[COLUMNS];
	snprintf(path, sizeof path, "tests/data/real/%s", file);
	FILE *in = fopen(path, "r");
	int n = in && fgets(head, sizeof head, in) ? split(head, name) : 0, of_x = -1;
	for (int i = 0; i < n; i++)
		if (!strcmp(name[i], x))
			of_x = i;
	while (of_x >= 0 && fgets(line, sizeof line, in) && curve.n < CURVE_POINTS)
		if (split(line, column) == n && fits(name, column, n, where)) {
			curve.x[curve.n] = strtod(column[of_x], NULL);
			curve.y[curve.n++] = strtod(column[n - 1], NULL);
		}
	if (in)
		fclose(in);
	return curve;
}
