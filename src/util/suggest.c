/* SPDX-License-Identifier: MIT */
/* "Did you mean": the known word with the fewest slips of the finger (Damerau-Levenshtein, neighbours swapped count
 * one), if there are few for its length. A word that was only begun counts as one slip. */
#include "xray.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 64, BEGUN = 3 };

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int slips(const char *a, size_t na, const char *b, size_t nb)
{
	int row[3][WORD_MAX + 1];
	int *before = row[0], *last = row[1], *now = row[2];
	for (size_t j = 0; j <= nb; j++)
		last[j] = (int)j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = (int)i;
		for (size_t j = 1; j <= nb; j++) {
			int change = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = least(change, least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		int *spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

const char *xr_suggest(const char *word, const char *const *known, size_t n_known)
{
	if (!word || !known)
		return NULL;
	size_t n = strlen(word);
	const char *best = NULL;
	int fewest = (int)(n < 4 ? 1 : n < 6 ? 2 : n / 3) + 1;
	if (n > WORD_MAX)
		return NULL;
	for (size_t i = 0; i < n_known; i++) {
		size_t m = known[i] ? strlen(known[i]) : WORD_MAX + 1;
		if (m > WORD_MAX)
			continue;
		int count = n >= BEGUN && m > n && !strncmp(word, known[i], n) ? 1 : slips(word, n, known[i], m);
		if (count < fewest) {
			fewest = count;
			best = known[i];
		}
	}
	return best;
}
