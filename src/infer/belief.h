/* SPDX-License-Identifier: MIT */
/* A belief over explicit hypotheses, "none of these" among them.
 *
 * Hypotheses are numbered 0 … n - 1; number n is "none of these", which predicts nothing much: it wins where
 * nothing fits, and then the honest answer is a refusal. Evidence adds as log-likelihoods. Readings that share a
 * cause (one buffer, one moment) are not independent: they are added as one group, with the weight
 * xr_belief_independent() finds.
 *
 *   struct xr_belief b = xr_belief_new(arena, n, NULL);
 *   while (xr_belief_best(&b, &p) … p too low, and budget left) {
 *           question = the one with the highest xr_belief_tells() per microsecond
 *           ask it; for each hypothesis log[h] = xr_noise_log(…its prediction…)
 *           xr_belief_add(&b, log, log_none, weight);
 *   }
 */
#ifndef XR_INFER_BELIEF_H
#define XR_INFER_BELIEF_H

#include "util/arena.h"

#include <stdbool.h>
#include <stddef.h>

struct xr_belief {
	size_t n;    /* hypotheses; log[n] is "none of these" */
	double *log; /* unnormalised log posterior */
};

/* prior: relative weights of the n hypotheses, NULL: all alike. "None of these" begins with XR_BELIEF_NONE of the
 * whole. */
#define XR_BELIEF_NONE 0.02 /* so many machines do what nobody has thought of; wrong by ten, it moves one answer in hundreds */
struct xr_belief xr_belief_new(struct xr_arena *arena, size_t n, const double *prior);

/* Evidence: log[h] for each hypothesis, and what "none of these" gives it. weight: 1 for independent evidence. */
void xr_belief_add(struct xr_belief *belief, const double *log, double log_none, double weight);

/* The likeliest hypothesis (n: none of these), *p its probability. */
size_t xr_belief_best(const struct xr_belief *belief, double *p);
double xr_belief_p(const struct xr_belief *belief, size_t h);
/* The same of all n + 1 at once: that takes no longer than one. */
const double *xr_belief_all(struct xr_arena *arena, const struct xr_belief *belief);

/* The likeliest value of something that hypotheses say, value[h] for each of n, and its probability: hypotheses
 * may differ in what nobody asks. *best: NAN where none of these is likelier. */
double xr_belief_of(const struct xr_belief *belief, const double *value, double *best);

/* What a question would tell, in nats, at most: hypotheses predict predicted[h] (logarithms), and the answer is
 * known to sigma. 0: whatever the answer, nothing changes. */
double xr_belief_tells(const struct xr_belief *belief, const double *predicted, double sigma);

/* Of m answers of ±1 in groups of `size` that share a cause: how much one answer counts, 1 (independent) … 1 /
 * size (one cause decides them all). From the variance between groups against that within. */
double xr_belief_independent(const double *answer, size_t m, size_t size);

#endif
