/* How many ways a set has, by the whole curve of what visits miss over the number of units that go there: question 3 of
 * method/sets.h. Curves are kept from one attempt to the next, so that their samples add up. */
#ifndef XR_METHOD_SETCURVE_H
#define XR_METHOD_SETCURVE_H

#include "method/overflow.h"
#include "method/twins.h"

enum { XR_SET_CURVES = 8 };

extern const double xr_good_misfit; /* of the penalty; a set that overflows in peace stays below half of it */

/* Units at one stride: how a visit's time depends on their number. */
struct xr_set_curve {
	struct xr_twins *pairs;
	uint64_t stride;
	unsigned lo, hi; /* expected */
};

struct xr_set_curves {
	struct xr_set_curve curve[XR_SET_CURVES];
	size_t n;
	struct xr_twins *known;  /* units known_stride apart that were looked at already, in any number; NULL: none */
	uint64_t known_stride;
	struct xr_overflow_memo *memo;
};

/* Ways from the curves at strides of one way and two, rough: bytes that fit. *calm stays true if all was seen in peace.
 * 0; -1 as xr_run_time(). */
int xr_set_ways(const struct xr_sets *probe, struct xr_set_curves *curves, double rough, uint64_t way, bool again,
                struct xr_overflow_fit fit[2], bool *calm);

/* Strides that double see only the power of two in the number of sets: an odd factor goes from the ways to the way. */
int xr_set_odd_factor(const struct xr_sets *probe, struct xr_sets_found *found);

#endif
