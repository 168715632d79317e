/* SPDX-License-Identifier: MIT */
#include "stat/grouptest.h"

int xr_find_one(xr_ask_fn *ask, void *self, const int *item, int n, int *found)
{
	int lo = 0, hi = n; /* somebody in [lo, hi) does it */
	enum xr_verdict verdict;
	*found = -1;
	while (hi - lo > 1) {
		int mid = lo + (hi - lo) / 2;
		if (ask(self, item + lo, mid - lo, &verdict))
			return -1;
		if (verdict == XR_UNDECIDED)
			return 0;
		if (verdict == XR_YES)
			hi = mid;
		else
			lo = mid;
	}
	if (n > 1) { /* the one left over may have been found by exclusion only: see it do it */
		if (ask(self, item + lo, 1, &verdict))
			return -1;
		if (verdict != XR_YES)
			return 0;
	}
	*found = lo;
	return 0;
}
