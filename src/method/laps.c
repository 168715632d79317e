/* SPDX-License-Identifier: MIT */
/* Laps, see laps.h. */
#include "method/laps.h"

#include <math.h>
#include <string.h>

enum {
	BATCH = 32, /* walks and their twins in one call */
	WORD = 8,
	PAD = 3,  /* times the first level */
	PAIR = 2, /* lines: prefetchers bring the other one, too */
	GAP = 5,  /* and between lines of a pad */
	PAGE_MASK = 0xffffff,
	SAMPLES = 9,
	LAPS = 3, /* of the longest walk, in a sample */
};
static const double visit_ns = 8;
static const double short_lap = 300;       /* visits: shorter ones repeat, and take as long */
static const double one_miss = 0.7;        /* per lap: less is noise */
static const double one_miss_padded = 1.5; /* prefetchers may do something in the one pad and not in the other */
static const double clear = 4;             /* standard errors */
static const double waits = 0.05;          /* of the patience left, one call */

void xr_shuffle(uint32_t *item, size_t n, struct xr_rng *rng)
{
	for (size_t i = n; i > 1; i--) {
		size_t j = (size_t)xr_rng_below(rng, i);
		uint32_t swap = item[i - 1];

		item[i - 1] = item[j];
		item[j] = swap;
	}
}

void xr_without_item(const uint32_t *item, size_t n, size_t i, uint32_t *rest)
{
	memcpy(rest, item, i * sizeof *rest);
	memcpy(rest + i, item + i + 1, (n - i - 1) * sizeof *rest);
}

/* How often flush lines are visited: also those as far apart, if these are others. */
static size_t flushes(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return lap->apart >= laps->line ? 2 : 1;
}

static bool is_padded(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return lap->n + (lap->step ? 0 : laps->flush.n * flushes(laps, lap)) > laps->most;
}

/* Lines of a page that pads have: none is the neighbour of another, or else prefetchers would take them for a
 * stream and bring those in between, nor of the line that is visited. The k-th: */
static uint64_t pad_line(const struct xr_laps *laps, uint64_t k)
{
	return (laps->at / laps->line / PAIR * PAIR + GAP / 2 + 1) % GAP + k * GAP;
}

static uint64_t pad_lines(const struct xr_laps *laps)
{
	uint64_t lines = laps->page / laps->line, first = pad_line(laps, 0);

	return lines > first ? (lines - first - 1) / GAP + 1 : 0;
}

/* A pad does what flush lines do, if it has lines in all the sets that they may be in. */
static bool is_flushed(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return !lap->step && !(laps->inside && is_padded(laps, lap) && pad_lines(laps) >= laps->sets);
}

size_t xr_lap_visits(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return lap->n + (is_flushed(laps, lap) ? laps->flush.n * flushes(laps, lap) : 0) +
	       (is_padded(laps, lap) ? laps->pad.n : 0);
}

void xr_laps_pad(struct xr_laps *laps, size_t *pages)
{
	uint64_t last = laps->buffer.bytes / laps->item, lines = pad_lines(laps);
	/* All ways, several times over, of the sets that it has lines in. */
	size_t sets = laps->sets ? laps->sets : 1, items = 0;
	size_t n = PAD * laps->most * (lines < sets ? (size_t)lines : sets) / sets;

	laps->pad = xr_places_new(xr_run_arena(laps->run), n);
	while (lines > 0 && laps->pad.n < n && items < last / 2) {
		uint64_t page = (last - ++items) * laps->item;

		for (uint64_t k = 0; k < lines; k++)
			xr_places_add(&laps->pad, page + pad_line(laps, k) * laps->line);
	}
	*pages = items * (size_t)(laps->item / laps->page);
}

double xr_laps_border(const struct xr_laps *laps, const struct xr_lap *lap)
{
	double visits = (double)xr_lap_visits(laps, lap);

	return fmax(fmax(is_padded(laps, lap) ? one_miss_padded : one_miss, laps->least),
	            clear * laps->noise * visits / laps->miss);
}

/* So many bytes further on, in the same page. */
static uint64_t moved(const struct xr_laps *laps, uint64_t place, uint64_t by)
{
	return place / laps->page * laps->page + (place + by) % laps->page;
}

void xr_laps_move(struct xr_laps *laps, uint64_t by)
{
	struct xr_places flush = xr_places_new(xr_run_arena(laps->run), laps->flush.n);

	for (size_t i = 0; i < laps->flush.n; i++)
		xr_places_add(&flush, moved(laps, laps->flush.at[i], by));
	laps->flush = flush;
	laps->at = (laps->at + by) % laps->page;
}

static bool is_visited(const struct xr_laps *laps, const struct xr_lap *lap, uint64_t place)
{
	return place % laps->page == laps->at || place % laps->page == (laps->at + lap->apart) % laps->page;
}

/* A walk in the making, and its twin. */
struct walk {
	const struct xr_laps *laps;
	bool padded;
	struct xr_places all, twin;
	uint32_t *seen, n_seen; /* pages, numbered from 1 in the order in which they were first visited */
};

/* Which line of its page the n-th page of a twin is visited in: all in turn; behind a pad, only those that the pad has,
 * too, for others would stay in the first level. */
static uint64_t twin_line(const struct walk *w, uint64_t n)
{
	const struct xr_laps *laps = w->laps;
	const uint64_t lines = w->padded ? pad_lines(laps) : laps->page / laps->line;
	const uint64_t at = lines ? n % lines : 0;

	return w->padded ? pad_line(laps, at) : at;
}

/* Adds these places in random order. The twin's: in the same pages, spread evenly over the lines of a page. */
static void add(struct walk *w, struct xr_places *some)
{
	const struct xr_laps *laps = w->laps;

	xr_places_shuffle(some, xr_run_rng(laps->run));
	for (size_t i = 0; i < some->n; i++) {
		uint64_t page = some->at[i] / laps->page;

		if (!w->seen[page])
			w->seen[page] = ++w->n_seen;
		xr_places_add(&w->all, some->at[i]);
		xr_places_add(&w->twin, page * laps->page + twin_line(w, w->seen[page] & PAGE_MASK) * laps->line +
		                                w->seen[page] / (PAGE_MASK + 1) * WORD % laps->line);
		w->seen[page] += PAGE_MASK + 1; /* visited again: the next word */
	}
}

static void add_items(struct walk *w, const struct xr_lap *lap, struct xr_places *some)
{
	uint64_t step = lap->step ? lap->step : w->laps->item;

	some->n = 0;
	for (size_t i = 0; i < lap->n; i++) {
		uint64_t place = lap->item[i] * step + w->laps->at;

		xr_places_add(some, i + lap->moved < lap->n ? place : moved(w->laps, place, lap->apart));
	}
	add(w, some);
}

static void add_flush(struct walk *w, const struct xr_lap *lap, uint64_t by, struct xr_places *some)
{
	const struct xr_laps *laps = w->laps;

	some->n = 0;
	for (size_t i = 0; i < laps->flush.n; i++) {
		uint64_t place = moved(laps, laps->flush.at[i], by);

		if (!laps->tight || !lap->apart || !is_visited(laps, lap, place))
			xr_places_add(some, place);
	}
	add(w, some);
}

/* Visits to neighbouring lines of a page, one after the other, would have a prefetcher bring those that follow,
 * and with them the lines that the pad leaves out: such are exchanged for later ones. */
static void no_streams(const struct xr_laps *laps, struct xr_places *some, uint64_t *last)
{
	for (size_t i = 0; i < some->n; i++)
		last[some->at[i] / laps->page] = 0;
	for (size_t i = 0; i < some->n; i++) {
		uint64_t *before = &last[some->at[i] / laps->page], line = some->at[i] / laps->line;

		for (int tries = 0; tries < 8 && (line + 1 == *before || line == *before + 1); tries++) {
			size_t j = i + (size_t)xr_rng_below(xr_run_rng(laps->run), some->n - i);
			uint64_t swap = some->at[i];

			some->at[i] = some->at[j];
			some->at[j] = swap;
			before = &last[some->at[i] / laps->page];
			line = some->at[i] / laps->line;
		}
		*before = line;
	}
}

static void add_pad(struct walk *w, struct xr_places *some, struct xr_arena *arena)
{
	uint64_t *last = xr_arena_array(arena, uint64_t, w->laps->buffer.bytes / w->laps->page + 1);

	some->n = 0;
	for (size_t i = 0; i < w->laps->pad.n; i++)
		xr_places_add(some, w->laps->pad.at[i]);
	xr_places_shuffle(some, xr_run_rng(w->laps->run));
	no_streams(w->laps, some, last);
	for (size_t i = 0; i < some->n; i++) {
		xr_places_add(&w->all, some->at[i]);
		xr_places_add(&w->twin, some->at[i]);
	}
}

static struct walk lay(const struct xr_laps *laps, const struct xr_lap *lap, struct xr_arena *arena)
{
	size_t visits = xr_lap_visits(laps, lap);
	struct walk w = {laps,
	                 is_padded(laps, lap),
	                 xr_places_new(arena, visits),
	                 xr_places_new(arena, visits),
	                 xr_arena_array(arena, uint32_t, laps->buffer.bytes / laps->page + 1),
	                 0};
	struct xr_places some = xr_places_new(arena, visits);

	add_items(&w, lap, &some);
	if (is_flushed(laps, lap))
		add_flush(&w, lap, 0, &some);
	if (is_flushed(laps, lap) && flushes(laps, lap) > 1)
		add_flush(&w, lap, lap->apart, &some);
	if (is_padded(laps, lap))
		add_pad(&w, &some, arena);
	return w;
}

static int ask_batch(const struct xr_laps *laps, struct xr_lap *lap, size_t n)
{
	struct xr_arena arena = {0};
	struct xr_spec spec[2 * BATCH];
	struct xr_reading reading[2 * BATCH];
	struct xr_effort effort;
	size_t most = 0;
	int status;

	for (size_t i = 0; i < n; i++) {
		struct walk w = lay(laps, &lap[i], &arena);

		most = w.all.n > most ? w.all.n : most;

		if (laps->left)
			*laps->left -= fmax(short_lap, (double)w.all.n);

		spec[2 * i] = xr_places_cycle(&arena, &w.all, laps->buffer, 0);
		spec[2 * i].chain.unsettled = lap[i].unsettled;
		spec[2 * i + 1] = xr_places_cycle(&arena, &w.twin, laps->twin, 0);
		spec[2 * i + 1].chain.unsettled = true;
	}
	effort = laps->effort;
	if (effort.samples == 0)
		effort = (struct xr_effort){.samples = SAMPLES,
		                            .samples_max = SAMPLES,
		                            .sample_ns = fmax(laps->sample_ns, LAPS * visit_ns * (double)most)};
	status = xr_time_in_peace(laps->peace, waits, laps->run, effort, spec, 2 * n, reading);
	xr_arena_release(&arena);
	for (size_t i = 0; i < n && status == 0; i++) {
		lap[i].padded = is_padded(laps, &lap[i]);
		lap[i].excess = reading[2 * i].cycles - reading[2 * i + 1].cycles;
		lap[i].misses = (lap[i].excess - (lap[i].padded ? 0 : laps->base)) / laps->miss *
		                (double)xr_lap_visits(laps, &lap[i]);
	}
	return status;
}

/* What could not be read is read once more; misses stay NaN where that fails, too. */
int xr_laps_ask(const struct xr_laps *laps, struct xr_lap *lap, size_t n)
{
	for (size_t done = 0; done < n; done += BATCH)
		if (ask_batch(laps, lap + done, n - done < BATCH ? n - done : BATCH) != 0)
			return -1;
	for (size_t i = 0; i < n; i++)
		if (isnan(lap[i].misses) && ask_batch(laps, &lap[i], 1) != 0)
			return -1;
	return 0;
}

/* ---- does it fit? ---------------------------------------------------------------------------------------------------- */

bool xr_lap_overflows(const struct xr_laps *laps, const struct xr_lap *lap)
{
	return lap->misses >= xr_laps_border(laps, lap);
}

int xr_laps_all(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int orders, bool *yes)
{
	struct xr_arena *arena = xr_run_arena(laps->run);
	struct xr_lap *open = xr_arena_array(arena, struct xr_lap, n);
	size_t *of = xr_arena_array(arena, size_t, n);

	for (int order = 0; order < orders; order++) {
		size_t k = 0;

		for (size_t i = 0; i < n; i++)
			if (yes[i]) {
				of[k] = i;
				open[k++] = lap[i];
			}
		if (k == 0)
			return 0;
		for (size_t i = 0; i < k; i++)
			open[i].unsettled = order == 0 || laps->restless;
		if (xr_laps_ask(laps, open, k) != 0)
			return -1;
		for (size_t i = 0; i < k; i++) {
			yes[of[i]] = xr_lap_overflows(laps, &open[i]);
			lap[of[i]].padded = open[i].padded;
			lap[of[i]].misses = order ? fmin(lap[of[i]].misses, open[i].misses) : open[i].misses;
		}
	}
	return 0;
}

int xr_laps_settled(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int times, bool *yes)
{
	struct xr_lap *open = xr_arena_array(xr_run_arena(laps->run), struct xr_lap, n);

	for (int time = 0; time < times; time++) {
		size_t k = 0;

		for (size_t i = 0; i < n; i++)
			if (yes[i]) {
				open[k] = lap[i];
				open[k++].unsettled = false;
			}
		if (k > 0 && xr_laps_ask(laps, open, k) != 0)
			return -1;
		for (size_t i = n; i-- > 0;)
			if (yes[i])
				yes[i] = xr_lap_overflows(laps, &open[--k]);
	}
	return 0;
}

int xr_laps_one(const struct xr_laps *laps, const uint32_t *item, size_t n, int orders, bool *yes)
{
	struct xr_lap lap = xr_lap_of(item, n);

	*yes = true;
	return xr_laps_all(laps, &lap, 1, orders, yes);
}

int xr_laps_overflow(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int orders, bool *yes)
{
	memset(yes, true, n * sizeof *yes);
	return xr_laps_all(laps, lap, n, orders, yes) != 0 || xr_laps_settled(laps, lap, n, 1, yes) != 0 ? -1 : 0;
}
