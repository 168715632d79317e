/* SPDX-License-Identifier: MIT */
/* What a machine file implies for each fact: the answers that control engines are tested against.
 *
 * Not every fact that a file implies can be found out by timing: a cache whose way fits a page has an index nobody can
 * see. Such truths are hidden: an engine must say that it does not know, or be right.
 */
#ifndef XR_TESTS_LIB_TRUTH_H
#define XR_TESTS_LIB_TRUTH_H

#include "target/model/machine.h"

#include <jansson.h>

enum xr_truth_kind {
	XR_TRUTH_UNSAID,  /* the file says nothing about such a fact */
	XR_TRUTH_VALUE,   /* so it is, and an engine can find it */
	XR_TRUTH_ABSENT,  /* the machine has no such thing: no value, or false, or 0 */
	XR_TRUTH_HIDDEN,  /* so it is, but cannot be told by timing */
};

struct xr_truth {
	enum xr_truth_kind kind;
	json_t *value;          /* NULL: none */
	double relative, absolute; /* numbers: how far off still counts as found; the larger of the two */
	const char *why;        /* hidden or absent: why; never freed */
};

struct xr_truth xr_model_truth_of(const struct xr_machine *machine, const char *fact_id);
void xr_truth_release(struct xr_truth *truth);

/* Is what was found (NULL: nothing) what the file implies? Unsaid: always. Hidden: only the value or nothing. Texts and
 * lists must be equal; texts of replacement policies only as far as the policies differ at this number of ways. */
bool xr_truth_agrees(const struct xr_machine *machine, const char *fact_id, const struct xr_truth *truth,
                     const json_t *found);

/* The value alone, new reference (json_decref it); NULL: the file does not say, there is none, or it cannot be found
 * out. */
json_t *xr_model_truth(const struct xr_machine *machine, const char *fact_id);

/* Calls `each` for every id that has a truth of kind value on this machine: what a full run should find. */
void xr_model_truth_ids(const struct xr_machine *machine, void (*each)(void *self, const char *fact_id), void *self);

#endif
