/* SPDX-License-Identifier: MIT */
/* Were lines fetched ahead? See spared.h. */
#include "infer/spared.h"

#include "infer/belief.h"
#include "infer/noise.h"
#include "stat/stat.h"

#include <math.h>

static const double shares[] = {0, 1, 0.8, 0.6, 0.4, XR_SPARED_LEAST};
enum { N_SHARES = sizeof shares / sizeof *shares };
/* Strangers are as far away as others within this; a share is known to half of what lies between two of them. */
static const double alike = 0.03, between = 0.15;

struct xr_spared xr_spared_find(struct xr_arena *arena, const struct xr_spared_times *times)
{
	const size_t n = times->n;
	double all[2 * XR_SPARED_MOST];
	size_t group[2 * XR_SPARED_MOST];

	if (n == 0)
		return (struct xr_spared){.none = 1};
	for (size_t i = 0; i < 2 * n; i++) {
		all[i] = i < n ? times->asked[i] : times->strangers[i - n];
		group[i] = i / n;
	}
	const struct xr_noise noise = xr_noise_fit(all, group, 2 * n);
	const double without = xr_median(times->strangers, n), away = times->away > 0 ? times->away : without;
	const double most = times->part * (away - times->nearest); /* at best they come from the first cache */
	const double least = times->hit / 4;                       /* quicker than that, nothing was read */
	struct xr_belief belief = xr_belief_new(arena, N_SHARES, NULL);
	for (size_t turn = 0; turn < n; turn++) {
		const double seen = times->asked[turn];
		double log[N_SHARES];
		for (int h = 0; h < N_SHARES; h++)
			log[h] = xr_noise_log(&noise, fmax(without - shares[h] * most, least), seen,
			                      h ? between * most / without : alike);
		xr_belief_add(&belief, log, xr_noise_log_none(&noise, least, 4 * without, seen), 1);
	}
	const double none = xr_belief_p(&belief, N_SHARES);
	return (struct xr_spared){.p = 1 - xr_belief_p(&belief, 0) - none,
	                          .none = none,
	                          .share = (without - xr_median(times->asked, n)) / most,
	                          .without = without};
}
