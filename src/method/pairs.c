/* SPDX-License-Identifier: MIT */
#include "method/pairs.h"

#include "method/teams.h"
#include "stat/stat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 48, BIG_BATCH = 8, PROBES = 6, PROBES_EACH = 2 };
static const uint64_t big_bytes = 1u << 20; /* takes milliseconds to hand over */
static const double odd = 1.5;              /* a pair this much off the median is read once more */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

int xr_pairs_read(const struct xr_pairs *p, struct xr_pair *pair, int n, uint64_t bytes)
{
	struct xr_spec spec[BATCH];
	struct xr_reading r[BATCH];
	bool big = bytes > big_bytes;
	struct xr_effort effort = {.samples = big ? 3 : 7};
	effort.samples_max = big || xr_run_quick(p->run) ? effort.samples : 2 * effort.samples;
	for (int done = 0, k; done < n; done += k) {
		k = n - done < (big ? BIG_BATCH : BATCH) ? n - done : (big ? BIG_BATCH : BATCH);
		for (int i = 0; i < k; i++)
			spec[i] = xr_spec_pair(xr_run_arena(p->run), bytes == XR_ONE_LINE ? XR_PINGPONG : XR_PIPE,
			                       p->cpu[pair[done + i].from], p->cpu[pair[done + i].to], bytes);
		if (xr_run_time_with(p->run, &effort, spec, (size_t)k, r))
			return -1;
		for (int i = 0; i < k; i++) {
			pair[done + i].ns = r[i].status == XR_READ_OK ? r[i].ns : 0;
			pair[done + i].disturbed = r[i].disturbed;
		}
	}
	return 0;
}

int xr_pairs_read_well(const struct xr_pairs *p, struct xr_pair *pair, int n, uint64_t bytes)
{
	double *ns = xr_arena_array(xr_run_arena(p->run), double, n);
	struct xr_pair *again = xr_arena_array(xr_run_arena(p->run), struct xr_pair, n);
	int n_again = 0;
	if (xr_pairs_read(p, pair, n, bytes))
		return -1;
	for (int i = 0; i < n; i++)
		ns[i] = pair[i].ns;
	double middle = xr_median(ns, (size_t)n);
	for (int i = 0; i < n; i++)
		if (pair[i].ns > odd * middle || pair[i].ns < middle / odd)
			again[n_again++] = pair[i];
	if (!n_again || n_again > n / 4) /* many are not odd */
		return 0;
	if (xr_pairs_read(p, again, n_again, bytes))
		return -1;
	for (int i = 0, k = 0; i < n; i++)
		if (k < n_again && pair[i].from == again[k].from && pair[i].to == again[k].to) {
			if (again[k].ns > 0 &&
			    (pair[i].ns <= 0 || again[k].ns < pair[i].ns || pair[i].ns < middle / odd))
				pair[i] = again[k];
			k++;
		}
	return 0;
}

/* ---- near and far ------------------------------------------------------------------------------------------------ */

static int by_ns(const void *a, const void *b)
{
	const struct xr_pair *x = a, *y = b;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Sorts the pairs and says how many are near: all below the limit; without one, all below the largest distance that has
 * a gap below it, and the limit is put into the gap. */
static int count_near(const struct xr_pairs *p, struct xr_pair *pair, int n, double *limit)
{
	int near = 0;
	qsort(pair, (size_t)n, sizeof *pair, by_ns);
	if (*limit > 0) {
		while (near < n && pair[near].ns <= *limit)
			near++;
		return near;
	}
	for (near = n - 1; near > 0; near--)
		if (pair[near - 1].ns > 0 && pair[near].ns > (1 + p->gap) * pair[near - 1].ns) {
			*limit = sqrt(pair[near - 1].ns * pair[near].ns);
			return near;
		}
	return n;
}

/* Marks who is far of the first. Read twice: far only when both say so. */
static int find_far(const struct xr_pairs *p, struct xr_pair *pair, int n, uint64_t bytes, double *limit, bool *far)
{
	struct xr_pair *again = xr_arena_copy(xr_run_arena(p->run), pair, (size_t)n * sizeof *pair);
	double found = *limit;
	if (xr_pairs_read_well(p, pair, n, bytes))
		return -1;
	int near = count_near(p, pair, n, &found);
	if (near == n)
		return 0;
	if (xr_pairs_read(p, again, n, bytes))
		return -1;
	*limit = found;
	for (int i = near; i < n; i++)
		far[pair[i].to] = true;
	for (int i = 0; i < n; i++)
		far[again[i].to] &= again[i].ns > found;
	return 0;
}

/* CPUs by how far lines have to go from the first one: the same number, about the same way. */
static int classes_by_lines(const struct xr_pairs *p, const int *cpu, int n, int *class, int *n_classes)
{
	struct xr_pair *row = xr_arena_array(xr_run_arena(p->run), struct xr_pair, n);
	for (int i = 1; i < n; i++) {
		row[i - 1] = (struct xr_pair){.from = cpu[0], .to = cpu[i]};
		if (p->latency)
			row[i - 1].ns = p->latency[cpu[0] * p->n + cpu[i]];
	}
	if (!p->latency && xr_pairs_read_well(p, row, n - 1, XR_ONE_LINE))
		return -1;
	qsort(row, (size_t)n - 1, sizeof *row, by_ns);
	*n_classes = 0;
	for (int i = 0; i < n - 1; i++) {
		*n_classes += i > 0 && row[i].ns > (1 + p->gap) * row[i - 1].ns;
		class[row[i].to] = *n_classes;
	}
	++*n_classes;
	return 0;
}

/* A few CPUs of each class, spread over it, hand blocks over for all of it. *known: false when two of a class
 * disagree. */
static int find_far_by_probes(const struct xr_pairs *p, const int *cpu, int n, uint64_t bytes, double *limit, bool *far,
                              bool *known)
{
	struct xr_arena *arena = xr_run_arena(p->run);
	int *class = xr_arena_array(arena, int, p->n), n_classes, k = 0;
	struct xr_pair *probe = xr_arena_array(arena, struct xr_pair, n);
	if (classes_by_lines(p, cpu, n, class, &n_classes))
		return -1;
	int each = PROBES / n_classes > PROBES_EACH ? PROBES / n_classes : PROBES_EACH;
	for (int c = 0; c < n_classes; c++) {
		int size = 0, seen = 0, taken = 0;
		for (int i = 1; i < n; i++)
			size += class[cpu[i]] == c;
		for (int i = 1; i < n; i++)
			if (class[cpu[i]] == c && seen++ * each >= taken * size && taken < each) {
				probe[k++] = (struct xr_pair){.from = cpu[0], .to = cpu[i]};
				taken++;
			}
	}
	if (find_far(p, probe, k, bytes, limit, far))
		return -1;
	*known = true;
	for (int c = 0; c < n_classes; c++) {
		int asked = 0, n_far = 0;
		for (int i = 0; i < k; i++) {
			asked += class[probe[i].to] == c;
			n_far += class[probe[i].to] == c && far[probe[i].to];
		}
		*known &= !n_far || n_far == asked;
		for (int i = 1; i < n; i++)
			far[cpu[i]] = class[cpu[i]] == c ? n_far > 0 : far[cpu[i]];
	}
	return 0;
}

int xr_pairs_split(const struct xr_pairs *p, int *cpu, int n, uint64_t bytes, double *limit, int *n_near)
{
	struct xr_arena *arena = xr_run_arena(p->run);
	bool *far = xr_arena_array(arena, bool, p->n), known = false;
	double by_probes = *limit;
	*n_near = n;
	if (n < 2)
		return 0;
	if (bytes != XR_ONE_LINE && n - 1 > PROBES) {
		if (find_far_by_probes(p, cpu, n, bytes, &by_probes, far, &known))
			return -1;
		if (known)
			*limit = by_probes;
	}
	if (!known) {
		struct xr_pair *all = xr_arena_array(arena, struct xr_pair, n);
		for (int i = 1; i < n; i++)
			all[i - 1] = (struct xr_pair){.from = cpu[0], .to = cpu[i]};
		memset(far, 0, (size_t)p->n * sizeof *far);
		if (find_far(p, all, n - 1, bytes, limit, far))
			return -1;
	}
	int *sorted = xr_arena_array(arena, int, n), k = 0;
	for (int side = 0; side < 2; side++) {
		for (int i = 0; i < n; i++)
			if (far[cpu[i]] == (side == 1))
				sorted[k++] = cpu[i];
		if (side == 0)
			*n_near = k;
	}
	memcpy(cpu, sorted, (size_t)n * sizeof *cpu);
	return 0;
}
