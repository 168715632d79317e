/* SPDX-License-Identifier: MIT */
/* The share of misses in a set that overflows; see share.h. */
#include "infer/missrate.h"

#include <math.h>

const double xr_missrate_sharps[XR_MISSRATE_SHARPS] = {1, 2.5, 6, 16, INFINITY};

double xr_missrate(double sharp, double ways, double n)
{
	double s = 1, stays;

	if (!(n > ways))
		return 0;
	if (isinf(sharp) || ways <= 1)
		return 1;
	n = ways + (n - ways) * sharp - 0.5;
	stays = log1p(-1 / ways);
	for (double step = 1; step > 1e-5;) { /* Newton from above, where it cannot miss the root: convex */
		double kept = exp(stays * n * s);

		step = (s - 1 + kept) / (1 + stays * n * kept);
		s -= step;
	}
	return fmin(1, fmax(0, s));
}

double xr_missrate_spread(double sharp, double ways, double n)
{
	const double few = floor(n), more = n - few;

	if (!(n > ways))
		return 0;
	return ((1 - more) * few * xr_missrate(sharp, ways, few) +
	        more * (few + 1) * xr_missrate(sharp, ways, few + 1)) /
	       n;
}
