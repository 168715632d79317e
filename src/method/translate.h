/* SPDX-License-Identifier: MIT */
/* What address translation costs: walks over one line of each of n pages, against walks over as many lines packed into
 * as few pages as they fill. Both have the same footprint in the caches, because the lines are spread
 * over all parts of a page evenly; what remains of the difference is the TLBs'.
 */
#ifndef XR_METHOD_TRANSLATE_H
#define XR_METHOD_TRANSLATE_H

#include "micro/micro.h"

struct xr_translate {
	struct xr_run *run;
	struct xr_buffer buffer;   /* of the pages; the packed lines are in a buffer of id + 1 */
	uint64_t page, line;
	uint64_t stride;           /* from one visited page to the next; 0: the page */
	int orders;                /* of visits, medians taken; 0: 1 */
	struct xr_effort effort;
};

/* cycles[i]: per access, for n[i] pages; negative where it could not be read. raw (may be NULL): the pages' walk
 * itself. */
int xr_translate_cost(const struct xr_translate *t, const size_t *n, size_t k, double *cycles, double *raw);

/* The cost for n pages over time: cycles[i], in the order of the samples, at most `most` of them; *samples: how many. */
int xr_translate_watch(const struct xr_translate *t, size_t n, size_t most, double *cycles, size_t *samples);

/* The cost over numbers of pages, growing, and what the packed lines take. */
enum { XR_CURVE_MAX = 64 };
struct xr_curve {
	size_t n;
	double x[XR_CURVE_MAX], y[XR_CURVE_MAX], packed[XR_CURVE_MAX];
};

size_t xr_curve_points(double from, double to, double ratio, size_t *pages); /* at most XR_CURVE_MAX, this ratio apart */
int xr_curve_add(const struct xr_translate *t, const size_t *pages, size_t k, struct xr_curve *curve);

/* Beyond `from`, where the curve passes this height for good, between points; 0: nowhere. */
double xr_curve_passes(const struct xr_curve *curve, double from, double height);

/* Median of y or packed between two numbers of pages; `otherwise` when no point is there. */
double xr_curve_level(const struct xr_curve *curve, const double *of, double from, double to, double otherwise);

/* A further level: three points or more on a height of xr_curve_further times `base` or more, while the packed lines hardly
 * rise. What page tables cost that leave the caches grows from point to point. False: there is no such height. */
struct xr_curve_step {
	double middle, height; /* pages, cycles */
};
extern const double xr_curve_further;
bool xr_curve_leaves(const struct xr_curve *curve, double base, struct xr_curve_step *step);

#endif
