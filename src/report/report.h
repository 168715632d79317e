/* SPDX-License-Identifier: MIT */
/* Descriptions in the forms people read: one file per form. All write to a stream and print nothing else; -1 never
 * happens for a description that could be read. */
#ifndef XR_REPORT_REPORT_H
#define XR_REPORT_REPORT_H

#include "facts/facts.h"

#include <stdbool.h>
#include <stdio.h>

struct xr_style {
	bool colour;   /* ANSI colours */
	bool unicode;  /* lines and dots beyond ASCII */
	int width;     /* columns; 0: 100 */
};

/* The machine on one screen: at most 40 lines, whatever was found; the rest is for the full report. */
void xr_report_screen(FILE *out, const struct xr_description *d, const struct xr_style *style);
/* Everything, as tables. verbose: also how each fact was found, and how sure it is. */
void xr_report_terminal(FILE *out, const struct xr_description *d, const struct xr_style *style, bool verbose);
/* Only facts under these selectors, and those of micro-benchmarks named by them. */
void xr_report_facts(FILE *out, const struct xr_description *d, const struct xr_style *style, const char *const *select,
                     size_t n_select, bool verbose);

/* Who disturbed the run: a line for each, with these words in front; nothing where nobody did. */
void xr_report_disturbed(FILE *out, const struct xr_description *d, const char *front);

/* A C header, C89 and C++: #define PREFIX_HAS_…, PREFIX_… and PREFIX_CONF_… for each fact that is at least
 * `least` sure. -1: the prefix is no C name. */
int xr_report_header(FILE *out, const struct xr_description *d, const char *prefix, double least, struct xr_error *err);

/* Pictures: the hierarchy, latency over size, matrices (sel NULL); the curves behind the facts under a selector;
 * a series. Returns how many were drawn. */
size_t xr_report_plot(FILE *out, const struct xr_description *d, const struct xr_style *style, const char *sel);

/* One page for a browser: the template (see web/), with this description in it. -1: the template is empty. */
int xr_report_page(FILE *out, const struct xr_description *d, const char *page, size_t bytes, struct xr_error *err);

/* A form for a file: written whole or not at all, the old one stays when something goes wrong, links are not followed
 * (util/output.h). NULL and "-": standard output. -1: err says why. */
int xr_report_save(const char *path, const char *text, size_t len, struct xr_error *err);
int xr_report_savable(const char *path, struct xr_error *err); /* before: could it be? */

struct xr_verdict_counts {
	size_t agree, differ;
	size_t unknown;  /* nothing to compare: no claim, or not measured */
	size_t missing;  /* diff: known in one of the two only */
};
/* Measured beside what the OS claims. all: also facts it claims nothing about. */
struct xr_verdict_counts xr_report_check(FILE *out, const struct xr_description *d, const struct xr_style *style, bool all);
/* Beside another description. all: also what agrees, or is in neither. */
struct xr_verdict_counts xr_report_diff(FILE *out, const struct xr_description *a, const struct xr_description *b,
                                        const char *a_name, const char *b_name, const struct xr_style *style, bool all);
/* The same, where only what the second knows counts, and with a verdict. */
struct xr_verdict_counts xr_report_against(FILE *out, const struct xr_description *d, const struct xr_description *golden,
                                           const char *name, const char *golden_name, const struct xr_style *style, bool all);

#endif
