/* SPDX-License-Identifier: MIT */
/* Where a curve leaves its floor: roughly how many places a level holds, from walks over more and more of them.
 *
 * Hypotheses: the level ends at none of the places asked, or at one of a row of sizes a quarter octave apart; how
 * sharply it overflows (share.h); what a miss costs follows from the walks over more than fit. Beyond two and a half
 * times the size further levels may have their say, and the twin may overflow, too: nothing is predicted of those
 * walks. */
#ifndef XR_INFER_REACH_H
#define XR_INFER_REACH_H

#include "infer/noise.h"
#include "infer/ways.h"

struct xr_reach {
	double size; /* 0: no end seen */
	double p;    /* that there is one, or that there is none */
	double miss; /* cycles, about */
	double sharp;
};

/* walk[i].n grow; twin: what a walk that misses nothing would take (as many places, nearer levels as they are).
 * least: cycles below which no miss would be called one. */
struct xr_reach xr_reach_of(const struct xr_walk_seen *walk, size_t n, double least, const struct xr_noise *noise);

/* Log-likelihood of the curve if these shares of the visits miss; a share below 0: nothing is predicted of that
 * walk. */
double xr_reach_log(const struct xr_walk_seen *walk, const double *share, size_t n, const struct xr_noise *noise);

#endif
