/* SPDX-License-Identifier: MIT */
/* A description for other programs: one function per form, all in one table. Only facts that are at least `least` sure
 * are used; what a form cannot do without makes it fail with a line that says what is missing. */
#ifndef XR_REPORT_EXPORTS_H
#define XR_REPORT_EXPORTS_H

#include "facts/facts.h"
#include "util/arena.h"

#include <stdio.h>

struct xr_export {
	FILE *out;
	const struct xr_description *d;
	struct xr_arena *arena;
	double least;
	bool claimed; /* sizes and ways of caches as the OS claims them */
};

struct xr_export_form {
	const char *name, *summary;
	int (*write)(const struct xr_export *e, struct xr_error *err);
};
extern const struct xr_export_form xr_export_forms[]; /* ended by a NULL name */

/* -1: no such form (the nearest is in the error), or it needs facts that are not there. Nothing was written then. */
int xr_report_export(FILE *out, const struct xr_description *d, const char *form, double least, struct xr_error *err);

/* For the forms. The value of a fact that is sure enough. */
const struct xr_fact *xr_export_fact(const struct xr_export *e, const char *id);
double xr_export_number(const struct xr_export *e, const char *id, double otherwise);
int xr_export_count(const struct xr_export *e, const char *id, int otherwise); /* the same, below a million */
int xr_export_needs(const char *what, struct xr_error *err); /* -1, with a line on what is missing */

int xr_export_gcc(const struct xr_export *e, struct xr_error *err);
int xr_export_glibc(const struct xr_export *e, struct xr_error *err);
int xr_export_openblas(const struct xr_export *e, struct xr_error *err);
int xr_export_blis(const struct xr_export *e, struct xr_error *err);
int xr_export_hwloc(const struct xr_export *e, struct xr_error *err);
int xr_export_kerncraft(const struct xr_export *e, struct xr_error *err);
int xr_export_roofline(const struct xr_export *e, struct xr_error *err);
int xr_export_cmake(const struct xr_export *e, struct xr_error *err);
int xr_export_csv(const struct xr_export *e, struct xr_error *err);
int xr_export_markdown(const struct xr_export *e, struct xr_error *err);
int xr_export_prometheus(const struct xr_export *e, struct xr_error *err);

#endif
