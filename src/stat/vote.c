/* SPDX-License-Identifier: MIT */
/* Wald's sequential probability ratio test on yes and no votes: ask until one answer is 99 % sure, no longer. */
#include "stat/stat.h"

#include <math.h>

void xr_vote_init(struct xr_vote *vote)
{
	*vote = (struct xr_vote){0};
}

enum xr_verdict xr_vote_cast(struct xr_vote *vote, bool yes)
{
	const double p0 = 0.2, p1 = 0.8, error = 0.01;
	const double bound = log((1 - error) / error);

	if (yes)
		vote->yes++;
	else
		vote->no++;
	/* From the counts, so that rounding does not add up over a long vote. */
	vote->llr = vote->yes * log(p1 / p0) + vote->no * log((1 - p1) / (1 - p0));
	if (vote->llr >= bound)
		return XR_YES;
	return vote->llr <= -bound ? XR_NO : XR_UNDECIDED;
}
