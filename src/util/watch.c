/* SPDX-License-Identifier: MIT */
#include "util/watch.h"

static bool interrupted(const struct xr_watch *watch)
{
	return watch && watch->interrupt && *watch->interrupt;
}

bool xr_watch_over(const struct xr_watch *watch)
{
	return interrupted(watch) || (watch && watch->end_s > 0 && xr_clock_s() >= watch->end_s);
}

double xr_watch_left_s(const struct xr_watch *watch, double most)
{
	if (!watch)
		return most;
	if (interrupted(watch))
		return 0;
	double left = watch->end_s > 0 ? watch->end_s - xr_clock_s() : most;
	return left < 0 ? 0 : left < most ? left : most;
}

const char *xr_watch_why(const struct xr_watch *watch)
{
	return interrupted(watch) ? "interrupted" : "the time allowed was used up";
}
