/* SPDX-License-Identifier: MIT */
#include "stat/cliques.h"

#include "util/memory.h"

#include <stdbool.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Labels by connection through pairs at most `limit` apart. Returns the number of groups. */
static int connect(const double *distance, int n, double limit, int *label, int *queue)
{
	int groups = 0;
	for (int i = 0; i < n; i++)
		label[i] = -1;
	for (int i = 0; i < n; i++) {
		if (label[i] >= 0)
			continue;
		int head = 0, tail = 0;
		queue[tail++] = i;
		label[i] = groups;
		while (head < tail) {
			int at = queue[head++];
			for (int j = 0; j < n; j++)
				if (label[j] < 0 && distance[at * n + j] <= limit) {
					label[j] = groups;
					queue[tail++] = j;
				}
		}
		groups++;
	}
	return groups;
}

static bool near_cliques(const double *distance, int n, double limit, const int *label, int groups)
{
	long *pairs = xr_calloc((size_t)groups, sizeof *pairs), *close = xr_calloc((size_t)groups, sizeof *close);
	bool all = true;
	for (int i = 0; i < n; i++)
		for (int j = i + 1; j < n; j++)
			if (label[i] == label[j]) {
				pairs[label[i]]++;
				close[label[i]] += distance[i * n + j] <= limit;
			}
	for (int g = 0; g < groups; g++)
		all = all && close[g] * 10 >= pairs[g] * 9;
	free(pairs);
	free(close);
	return all;
}

int xr_cliques(const double *distance, int n, double gap, int *label, double *below, double *above)
{
	size_t n_pairs = (size_t)n * (size_t)(n > 0 ? n - 1 : 0) / 2, k = 0;
	int groups = 1, *queue = xr_calloc((size_t)n + 1, sizeof *queue),
	    *trial = xr_calloc((size_t)n + 1, sizeof *trial);
	double *pair = xr_calloc(n_pairs + 1, sizeof *pair);
	for (int i = 0; i < n; i++) {
		label[i] = 0;
		for (int j = i + 1; j < n; j++)
			pair[k++] = distance[i * n + j];
	}
	qsort(pair, n_pairs, sizeof *pair, by_value);
	for (size_t i = n_pairs; i-- > 1 && groups == 1;) {
		if (!(pair[i] >= (1 + gap) * pair[i - 1]))
			continue;
		int found = connect(distance, n, pair[i - 1], trial, queue);
		if (found < 2 || !near_cliques(distance, n, pair[i - 1], trial, found))
			continue;
		groups = found;
		*below = pair[i - 1];
		*above = pair[i];
		for (int j = 0; j < n; j++)
			label[j] = trial[j];
	}
	free(queue);
	free(trial);
	free(pair);
	return groups;
}
