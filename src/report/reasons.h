/* SPDX-License-Identifier: MIT */
/* What is to be said about facts, at the end of a report: notes, doubts, what is not there and why. Facts that
 * share a reason share a paragraph; a family with many reasons gets a line. */
#ifndef XR_REPORT_REASONS_H
#define XR_REPORT_REASONS_H

#include "report/report.h"

struct xr_reasons {
	FILE *out;
	const struct xr_description *d;
	const struct xr_style *style;
	struct xr_arena *arena;
	bool verbose; /* all ids, all reasons */
	bool *said;   /* by place in the description: not to be said, or said; set as it is */
};

void xr_reasons_print(const struct xr_reasons *reasons);

#endif
