/* SPDX-License-Identifier: MIT */
/* Patience, see peace.h. */
#include "method/peace.h"

#include <math.h>

enum { ENOUGH = 3 };
static const double in_vain_ns = 3e8; /* so long, and still most samples were taken beside somebody */
static const double most = 0.75;

int xr_time_in_peace(struct xr_peace *peace, double share, struct xr_run *run, struct xr_effort effort,
                     const struct xr_spec *spec, size_t n, struct xr_reading *reading)
{
	double waited = 0;

	effort.quiet_ns = peace ? share * peace->left_ns : 0;
	if (xr_run_time_with(run, &effort, spec, n, reading) != 0)
		return -1;
	for (size_t i = 0; i < n && peace; i++)
		if (reading[i].status == XR_READ_OK) {
			waited = fmax(waited, reading[i].waited_ns); /* all of them together */
			peace->readings++;
			peace->disturbed += reading[i].disturbed;
		}
	if (peace) {
		peace->left_ns = fmax(0, peace->left_ns - waited);
		peace->waited_ns += waited;
		if (peace->waited_ns > in_vain_ns && (double)peace->disturbed > most * (double)peace->readings)
			peace->left_ns = 0;
	}
	return 0;
}

size_t xr_quiet_samples(const struct xr_reading *reading)
{
	int quiet = reading->samples - reading->n_disturbed;

	return (size_t)(quiet >= ENOUGH ? quiet : reading->samples);
}
