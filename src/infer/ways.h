/* SPDX-License-Identifier: MIT */
/* How many places of one set fit: a belief over the ways, from walks over n places of a set each beside its twin.
 *
 * Hypotheses: the ways; how sharply the set overflows (share.h), or that its first places too many do as they like (a
 * place beside the array, a policy with whims); the company: in what share of the sets somebody else always keeps a
 * place, and at what share of the moments he has some in all of them (a busy SMT sibling). Others only ever take:
 * that places fit, nobody else can bring about; that they do not may be his doing, in all walks of that moment. What
 * a miss costs follows from the walks over far too many. A walk is predicted to take what its twin takes, and the
 * share of misses times their cost. */
#ifndef XR_INFER_WAYS_H
#define XR_INFER_WAYS_H

#include "infer/belief.h"
#include "infer/noise.h"

/* How like a walk its twin is where both fit, relative, one sigma: other lines of other pages, another order. Where
 * it is less, answers that hang on a few percent become sure too early; what a miss costs is far more. */
#define XR_TWINS_DIFFER 0.01

struct xr_walk_seen {
	double n;       /* places per set */
	double sets;    /* so many of them at once */
	double seen;    /* cycles per visit */
	double twin;    /* of the twin, which fits */
	bool disturbed; /* somebody else used the core, and his places were in the sets, too */
	double error;  /* relative, one sigma: how far twins of the same question are apart, caches being as they are */
	size_t moment; /* walks of one moment have the same company; those of one moment stand together */
};

struct xr_ways {
	size_t ways;
	double p;      /* of the ways; 0: none of these */
	double p_near; /* of the ways, one more or one less */
	double sharp;  /* how the set overflows, likeliest */
	double miss;   /* cycles */
	double excess; /* cycles that the walk over most places takes more than its twin, whatever the hypothesis */
	size_t ask;    /* the number of places on which the likely hypotheses differ most */
	double tells;  /* what it would tell, nats */
	size_t lo, hi; /* ways that are not out of the question */
};

/* lo … hi: ways that come into question; of very many only some, evenly spaced, and the likely ones are told as a range
 * to ask again about. Memory from the arena. */
struct xr_ways xr_ways_of(struct xr_arena *arena, size_t lo, size_t hi, const struct xr_walk_seen *walk, size_t n,
                          const struct xr_noise *noise);

/* Do these places, far fewer than would fit in two sets and more than in one, overflow? The probability that they do.
 * miss: cycles, about. All walks are of the same question. alone: nobody had places at those moments. */
double xr_ways_overflow(const struct xr_walk_seen *walk, size_t n, double miss, bool alone,
                        const struct xr_noise *noise);

/* What is built: a power of two, or three or five times one, before other numbers. Relative. */
double xr_ways_prior(size_t ways);
/* What a probability that took all numbers of ways for equally usual becomes. */
double xr_ways_weigh(double p, size_t ways);

#endif
