/* SPDX-License-Identifier: MIT */
/* Laps: pages walked over again and again, and how many visits of a lap miss a level of the hierarchy.
 *
 * All lines of a page go where the page goes, so one line of each page, at the same place in it, says where the
 * page competes. A lap visits that line of a set of pages. As long as no set of the level gets more lines than it
 * has ways, no visit misses it once it has settled; with one line too many at least one visit of every lap does,
 * whatever the policy (there are fewer places than lines). So "does it fit" can be asked of any policy, and a lap
 * repeats so often that nobody else on the machine matters.
 *
 * The first level must not answer: behind the pages a lap visits lines that push all of them out of it and do not
 * compete with them here (flush). What translation costs is taken off by a twin: the same pages in the same
 * order, one line each, spread over the first level so that all of them stay there; or, of more pages than that
 * has lines, so that none does: then lap and twin both end with lines that fill it several times over (pad), and
 * what they differ by is misses.
 */
#ifndef XR_METHOD_LAPS_H
#define XR_METHOD_LAPS_H

#include "method/peace.h"
#include "probe/places.h"

struct xr_laps {
	struct xr_run *run;
	struct xr_buffer buffer, twin;
	uint64_t page; /* granularity of translation and of placement */
	uint64_t item; /* bytes from one item to the next: a page, or as many as lie in one way of the first level */
	uint64_t line; /* of the first level */
	uint64_t at;   /* which bytes of an item are visited */
	size_t most;   /* visits of a lap whose twin stays in the first level; of a larger one, none does */
	size_t sets;   /* of the first level, that lines of a page are in */
	size_t limit;  /* items that surely overflow the level; 0: not known */
	double base;   /* cycles that a visit which hits the level takes more than one that hits the first */
	double miss;   /* and one that misses the level, more than that */
	double noise;  /* standard error of the reading of a lap, cycles per visit */
	double least;  /* misses of a lap: fewer may be somebody else's doing; 0: the usual */
	struct xr_places flush, pad;
	bool inside;    /* flush lines are at another place of their pages, not in the way of any item */
	bool tight;     /* flush lines may compete with what is visited `apart`: those at the same place are left out */
	bool disturbed; /* others use the core: what fits may miss a little, too */
	bool restless;  /* laps that fit need not settle on this machine: unsettled ones tell as much */
	struct xr_peace *peace;  /* NULL: no waiting for it */
	struct xr_effort effort; /* {0}: many short samples, so that some of them are of moments when nobody disturbs */
	double sample_ns;        /* their length, at least */
	double *left; /* visits left; counted down, the caller stops at 0. NULL: no limit */
};

/* One lap: items, of which the last `moved` are visited `apart` bytes further on in their pages (so are the flush
 * lines, once more). step 0: the items are laps' items and flush lines follow; else: bytes from one item to the
 * next, and no flush lines. */
struct xr_lap {
	const uint32_t *item;
	size_t n, moved;
	uint64_t apart, step;
	bool unsettled; /* quicker, but an order may suit the policy badly */
	double excess;  /* result: cycles per visit more than the twin's */
	double misses;  /* result: visits of a lap that miss */
	bool padded;    /* result */
};

/* Fills in the results of n laps, each in a new random order. An order that repeats may suit a policy so badly
 * that a line nobody wants is never evicted, and what fits misses for ever, unless it has settled before. No
 * order makes fit what does not. 0, or -1 as xr_run_time(). */
int xr_laps_ask(const struct xr_laps *laps, struct xr_lap *lap, size_t n);

/* Misses from which on a lap overflows: less may be noise. */
double xr_laps_border(const struct xr_laps *laps, const struct xr_lap *lap);

/* Visits of a lap. */
size_t xr_lap_visits(const struct xr_laps *laps, const struct xr_lap *lap);

/* Lays out the pad: lines of the last pages of the buffer, several times as many as its sets there hold, none at
 * laps->at or beside it. *pages: how many pages it takes; no item may be one of them. */
void xr_laps_pad(struct xr_laps *laps, size_t *pages);

/* From here on so many bytes further on in all pages; the pad has to be laid out again. */
void xr_laps_move(struct xr_laps *laps, uint64_t by);

enum {
	XR_ORDERS = 2,      /* in which what overflows must do so */
	XR_ORDERS_LAST = 6, /* before something rests on it */
	XR_SETTLES = 3, /* times; the more ways, the longer tree-PLRU keeps the last foreign line */
};

static inline struct xr_lap xr_lap_of(const uint32_t *item, size_t n)
{
	return (struct xr_lap){.item = item, .n = n};
}

/* Has it missed so often that it does not fit? */
bool xr_lap_overflows(const struct xr_laps *laps, const struct xr_lap *lap);

/* Asks about laps with yes[] set, one order after the other; leaves it set where all of them overflow. 0, or -1 as
 * xr_run_time(); so all of these. */
int xr_laps_all(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int orders, bool *yes);

/* Of laps with yes[] set, leaves it set where they overflow once they have settled, each so many times: what a
 * lap has driven out stays out. */
int xr_laps_settled(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int times, bool *yes);

/* The one and then the other: which of n laps overflow? */
int xr_laps_overflow(const struct xr_laps *laps, struct xr_lap *lap, size_t n, int orders, bool *yes);

/* xr_laps_all() about one lap over these items. */
int xr_laps_one(const struct xr_laps *laps, const uint32_t *item, size_t n, int orders, bool *yes);

/* rest: the n items without the i-th. */
void xr_without_item(const uint32_t *item, size_t n, size_t i, uint32_t *rest);

void xr_shuffle(uint32_t *item, size_t n, struct xr_rng *rng);

#endif
