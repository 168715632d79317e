/* SPDX-License-Identifier: MIT */
/* Curves of real machines (tests/data/real): rows of a CSV that fit, as points. */
#ifndef XR_TESTS_LIB_CURVES_H
#define XR_TESTS_LIB_CURVES_H

#include <stddef.h>

enum { CURVE_POINTS = 128 };

struct curve {
	double x[CURVE_POINTS], y[CURVE_POINTS];
	size_t n;
};

/* Rows of tests/data/real/`file` whose columns have the given texts, e.g. "stride_pages=1,memory=small": column
 * `x` and the last one. No such file or column: no points. */
struct curve curve_read(const char *file, const char *where, const char *x);

#endif
