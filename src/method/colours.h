/* SPDX-License-Identifier: MIT */
/* How many classes of pages does a level have?
 *
 * A class with one member less than overflows, and k random pages: it overflows if one of them belongs to the
 * class, so with the chance 1 - (1 - 1 / c)^k where there are c classes (or if too many of the k are of another
 * class, which can be reckoned as well). Yes or no, whatever the policy; numbers of classes are powers of two,
 * and a few dozen answers, of a k that makes both about as likely, tell one from twice as many. Sizes of laps do
 * not grow with the level as those of laps over all of it do.
 */
#ifndef XR_METHOD_COLOURS_H
#define XR_METHOD_COLOURS_H

#include "method/classes.h"

enum { XR_COLOURS_POWERS = 15 };

/* What the answers so far say. All questions about one class draw from the same pages, and how many members these
 * have is chance, the more so the fewer: the likelihoods are those of several such numbers, all as probable. */
enum { XR_COLOURS_DRAWS = 9 };

struct xr_colours {
	/* logarithms of the likelihood of 2^i classes: what other classes said, */
	double before[XR_COLOURS_POWERS];
	double log[XR_COLOURS_POWERS][XR_COLOURS_DRAWS]; /* and what this one says, for each number of members */
	size_t asked;                                    /* about this class */
};

/* What to expect of a level in which one class is full: fits[i][k] is the chance that k random pages do not
 * overflow it where there are 2^i classes. < 0: there cannot be so few, for it holds `flush` other pages and one
 * class. */
struct xr_odds {
	double *fits[XR_COLOURS_POWERS];
	size_t most; /* k */
	double pool; /* pages to draw from */
};

struct xr_odds xr_odds_new(struct xr_arena *arena, size_t ways, size_t flush, size_t most, size_t pool);

/* k random pages did (or did not) overflow it. */
void xr_colours_learn(struct xr_colours *colours, const struct xr_odds *odds, size_t k, bool met);

/* The k whose answer is the most open one. */
size_t xr_colours_next(const struct xr_colours *colours, const struct xr_odds *odds);

/* Of random pages, so many fit and so many did not, beside `flush` others: the more classes there are, the later
 * one of them has more members than ways. */
void xr_colours_begin(struct xr_colours *colours, size_t ways, size_t flush, size_t fits, size_t overflows);

/* Goes on to another class. */
void xr_colours_go_on(struct xr_colours *colours);

/* The likeliest number of classes. *sure: its probability, all having been as likely before. */
double xr_colours_best(const struct xr_colours *colours, double *sure);

/* Asks about pages of `order` (n items, none of them in laps->flush or laps->pad, nor among those that the class
 * was chosen from: the first class that overflows is one with many members there), until the answer is clear or
 * has taken long enough. 0, or -1 as xr_run_time(). */
int xr_colours_ask(const struct xr_laps *laps, const struct xr_class *class, const uint32_t *order, size_t n,
                   struct xr_colours *colours);

#endif
