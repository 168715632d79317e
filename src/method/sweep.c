/* SPDX-License-Identifier: MIT */
/* Sweeps, see sweep.h. */
#include "method/sweep.h"

#include "stat/stat.h"

#include <math.h>

enum {
	STEP = 5,          /* lines from one visit to the next: neither neighbours nor pairs */
	PAGE_NONE = 4096,  /* unit where there are no pages */
	APART_LEAST = 128, /* bytes */
	POINTS = 48,       /* of a curve */
	SEEN = 10,         /* steps: as good as a level can be seen */
};
static const double same = 0.02;    /* what random replacement leaves of four times its size */
static const double close_by = 1.2; /* sizes */
/* A level answers sweeps of twice the size as quickly, or, where nothing leaves it by chance, of any size to the
 * last cycle in hundreds. Where physical pages meet in its sets by luck, sweeps get slower with every page. */
static const double wide = 1.9, wide_flat = 1.15, flat = 0.003;

/* Every second line at most, for those of the next level may be longer, and one in 128 bytes: of each set that is
 * visited they are as many as if it were all lines. */
static uint64_t apart(const struct xr_walk *w)
{
	return 2 * w->line > APART_LEAST ? 2 * w->line : APART_LEAST;
}

/* Lines of a page in steps, so many bytes apart, so many pages one after the other. */
static struct xr_span *spans_of(const struct xr_walk *w, uint64_t bytes, uint64_t every, size_t *n)
{
	const uint64_t page = w->page ? w->page : PAGE_NONE, pages = (bytes + page - 1) / page;
	struct xr_span *span = xr_arena_array(xr_run_arena(w->run), struct xr_span, pages * STEP);
	*n = 0;
	for (uint64_t at = 0; at < bytes; at += page) {
		const uint64_t lines = (bytes - at < page ? bytes - at : page) / every;
		for (uint64_t first = 0; first < STEP && first < lines; first++)
			span[(*n)++] = (struct xr_span){at + first * every, STEP * every,
			                                (uint32_t)((lines - first + STEP - 1) / STEP)};
	}
	return span;
}

/* Once a page, as soon as there are more of them than entries. */
static double translation(const struct xr_walk *w, uint64_t bytes)
{
	const double pages = (double)bytes / (double)w->page, lines = (double)(w->page / apart(w));
	double cost = 0;
	for (int i = 0; i < XR_TLB_LEVELS; i++)
		if (w->tlbs.entries[i] > 0 && pages > w->tlbs.entries[i])
			cost = w->tlbs.penalty[i] / lines;
	return cost;
}

/* As it is read; < 0: could not be. */
static int time_raw(const struct xr_walk *w, uint64_t bytes, uint64_t every, double *cycles)
{
	struct xr_reading reading;
	size_t n;
	const struct xr_span *span = spans_of(w, bytes, every, &n);
	struct xr_spec spec = xr_spec_cycle(xr_walk_buffer(w, bytes), span, n, 0);
	if (xr_run_time(w->run, &spec, 1, &reading) != 0)
		return -1;
	*cycles = reading.status == XR_READ_OK ? reading.cycles : -1;
	return 0;
}

int xr_sweep_time(const struct xr_walk *w, uint64_t bytes, double *cycles)
{
	if (time_raw(w, bytes, apart(w), cycles) != 0)
		return -1;
	if (*cycles > 0 && w->page)
		*cycles -= translation(w, bytes);
	return 0;
}

/* A page is translated once, however many of its lines are visited: of half as many lines each bears twice the cost. */
int xr_sweep_latency(const struct xr_walk *w, uint64_t bytes, double *cycles)
{
	double half;
	if (time_raw(w, bytes, apart(w), cycles) != 0)
		return -1;
	if (*cycles < 0 || !w->page || 2 * apart(w) > w->page)
		return 0;
	if (time_raw(w, bytes, 2 * apart(w), &half) != 0)
		return -1;
	/* less by fewer lines: not translation, and not a level that answers all of them */
	if (half > *cycles)
		*cycles = fmax(*cycles - (half - *cycles), 0);
	*cycles = xr_snap_integer(*cycles, flat * *cycles); /* page tables come through the caches, too, and disturb */
	return 0;
}

static int add(const struct xr_walk *w, double bytes, struct xr_staircase *curve)
{
	const double page = (double)(w->page ? w->page : PAGE_NONE), unit = bytes > 8 * page ? page : (double)apart(w);
	const uint64_t whole = (uint64_t)(round(bytes / unit) * unit);
	double cycles;
	size_t at = curve->n;
	for (size_t i = 0; i < curve->n; i++)
		if (curve->pages[i] * page == (double)whole)
			return 0;
	if (curve->n == POINTS || !whole)
		return 0;
	if (xr_sweep_time(w, whole, &cycles) != 0)
		return -1;
	if (cycles < 0)
		return 0;
	for (; at > 0 && curve->pages[at - 1] * page > (double)whole; at--) {
		curve->pages[at] = curve->pages[at - 1];
		curve->cycles[at] = curve->cycles[at - 1];
	}
	curve->pages[at] = (double)whole / page;
	curve->cycles[at] = cycles;
	curve->n++;
	return 0;
}

static bool are_same(const struct xr_staircase *c, size_t i)
{
	return fabs(c->cycles[i] - c->cycles[i - 1]) <= same * c->cycles[i];
}

/* Where two neighbours differ, what is between them; the nearest first, for these cost least. */
static int look_closer(const struct xr_walk *w, struct xr_staircase *c)
{
	const double page = (double)(w->page ? w->page : PAGE_NONE);
	for (size_t i = 1; i < c->n && c->n < POINTS;) {
		const size_t before = c->n;
		if (!are_same(c, i) && c->pages[i] > close_by * c->pages[i - 1] &&
		    add(w, sqrt(c->pages[i] * c->pages[i - 1]) * page, c) != 0)
			return -1;
		i += c->n == before;
	}
	return 0;
}

/* Of the steps from..to, the first of those that are the same to the last cycle in hundreds, and far enough apart in
 * size; to: none. */
static size_t flat_from(const struct xr_staircase *c, size_t from, size_t to)
{
	size_t first = from;
	for (size_t i = from + 1; i <= to; i++) {
		if (fabs(c->cycles[i] - c->cycles[i - 1]) > flat * c->cycles[i])
			first = i;
		else if (c->pages[i] >= wide_flat * c->pages[first])
			return first;
	}
	return to;
}

/* Are these steps a level? The last one is memory, however few they are. */
static bool is_level(const struct xr_staircase *c, size_t from, size_t to)
{
	return to + 1 == c->n || c->pages[to] >= wide * c->pages[from] || flat_from(c, from, to) < to;
}

int xr_sweep_levels(const struct xr_walk *w, uint64_t inner, uint64_t most, double hit, struct xr_staircase *curve,
                    struct xr_level *level, size_t *n)
{
	const double page = (double)(w->page ? w->page : PAGE_NONE);
	*curve = (struct xr_staircase){.far = true, .least = 2};
	for (double bytes = (double)inner; bytes <= (double)most; bytes *= 2)
		if (add(w, bytes, curve) != 0)
			return -1;
	if (add(w, (double)most, curve) != 0 || look_closer(w, curve) != 0)
		return -1;
	level[0] = (struct xr_level){.latency = hit, .items = (double)inner / page, .seen = SEEN, .witnesses = 2};
	*n = 1;
	for (size_t from = 0, to; from < curve->n; from = to + 1) {
		for (to = from; to + 1 < curve->n && are_same(curve, to + 1);)
			to++;
		/* chance in a nearer level makes sweeps the quicker the smaller they are: else it is the largest one */
		const size_t seen = flat_from(curve, from, to);
		double latency = curve->cycles[seen];
		if (!is_level(curve, from, to) || latency <= (1 + same) * level[*n - 1].latency || *n == XR_LEVELS_MAX)
			continue;
		if (to + 1 < curve->n && xr_sweep_latency(w, (uint64_t)(curve->pages[seen] * page), &latency) != 0)
			return -1;
		level[(*n)++] = (struct xr_level){.latency = xr_snap_integer(latency, same * latency),
		                                  .items = curve->pages[to],
		                                  .seen = SEEN,
		                                  .witnesses = 2};
	}
	return 0;
}
