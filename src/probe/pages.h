/* SPDX-License-Identifier: MIT */
/* Walks over one cell of each of many pages, beside a twin: the questions to a TLB. Asks, decides nothing.
 *
 * A cell is a few lines, so that no line brings the next one's neighbour. Which cell of a page is visited changes
 * from page to page such that all parts of pages are visited and the sets of the first cache fill evenly. The
 * twin visits as many cells and meets the caches as the walk does; what the walk takes more is translation:
 *
 *   packed   as many cells side by side, in as few pages as hold them
 *   merged   the same cells in half of the pages (or fewer): page i takes the cell of page i + n / 2, too. Its two cells
 *            come half a lap apart, so that a nearer TLB that misses the walk misses the twin as well
 *   spread   as many pages, next to each other as far as these go to the same sets of the first cache as those of the walk:
 *            the same for nearer TLBs, and evenly spread over the sets of this one
 *
 * Memory comes from the run's arena. */
#ifndef XR_PROBE_PAGES_H
#define XR_PROBE_PAGES_H

#include "infer/family.h"
#include "infer/ways.h"
#include "micro/micro.h"

struct xr_pages {
	struct xr_run *run;
	struct xr_buffer buffer; /* the packed twin is in a buffer of id + 1 */
	uint64_t page, cell;     /* bytes */
	size_t pool;             /* pages of the buffer */
	size_t way;              /* cells of one way of the first cache: what is so far apart goes to one set */
	struct xr_effort effort;
	size_t *moments;     /* that were asked at so far */
	size_t *unread;      /* walks that could not be timed */
	double *patience_ns; /* to be spent on waiting for moments in which nobody else uses the core */
};

enum xr_pages_twin { XR_PAGES_PACKED, XR_PAGES_MERGED, XR_PAGES_SPREAD };

/* Pages by number, of one or more sets: n pages a set, `copies` such sets. */
struct xr_pages_asked {
	size_t n, copies;
	size_t *page; /* n * copies */
	enum xr_pages_twin twin;
	size_t *beside; /* spread: the twin's pages */
	size_t merge;   /* merged: cells of a page */
	uint64_t step;  /* bytes from one page to the next; 0: the page. Smaller ones ask how large a page is */
	/* Where else the same may be asked: at page ^ k * moves, or page + k * moves, for k < n_moves. */
	size_t moves, n_moves;
	bool add;
};

/* Which pages of a set. */
struct xr_pages_choice {
	struct xr_family index;
	bool any;       /* any of them, drawn anew each time; else the first */
	unsigned low;   /* any: of those that are below 2^low; 0: of all */
	uint32_t fixed; /* not 0: only of those in which this parity is 0 */
	uint32_t apart; /* not 0: half of them, and the others this far (exclusive or) from those */
};

/* n pages of each of so many sets of an index. Sets beyond the last, or of which the pool does not hold n pages, are
 * left out; n 0: not even one holds as many. */
struct xr_pages_asked xr_pages_of(const struct xr_pages *pages, const struct xr_pages_choice *choice, size_t n,
                                  size_t copies, enum xr_pages_twin twin);

/* Pages that go to different sets of the first cache, and how many of these the question is in. */
size_t xr_pages_colours(const struct xr_pages *pages);
size_t xr_pages_coloured(const struct xr_pages *pages, const struct xr_pages_asked *asked);

/* Of the i-th of n * copies visits, the page that the twin is in (merged, spread). */
size_t xr_pages_twin_page(const struct xr_pages_asked *asked, size_t i);

/* Each question in `orders` orders, places and moments, those of one moment interleaved: seen[i * orders + o]; seen 0
 * where it could not be read. 0, or -1 as xr_run_time(). */
int xr_pages_ask(const struct xr_pages *pages, const struct xr_pages_asked *asked, size_t k, size_t orders,
                 struct xr_walk_seen *seen);

#endif
