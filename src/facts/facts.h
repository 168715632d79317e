/* SPDX-License-Identifier: MIT */
/* Facts, series, and the description that holds them.
 *
 * A description owns everything in it. Values are JSON (jansson): a number, a bool, a text, a list or a tree, so that
 * `units.groups` and `topology.tree` are facts like any other.
 */
#ifndef XR_FACTS_FACTS_H
#define XR_FACTS_FACTS_H

#include "util/error.h"
#include "xray.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

extern const char *const xr_status_names[]; /* "ok", "unsupported", "unreliable", "failed" */

struct xr_fact {
	char *id;
	enum xr_status status;
	json_t *value;       /* NULL: none. An unreliable fact may carry its doubtful value */
	char *unit;          /* "" : none */
	double confidence;   /* 0..1; how often such an answer is right */
	char *method;
	char *reason;        /* why not ok, or a caveat of an ok one; NULL: nothing to say */
	json_t *claimed;     /* what the OS says; NULL: it says nothing. Filled in after measuring, by the engine */
	char **series;       /* ids */
	size_t n_series;
	char *micro;         /* the micro-benchmark that found it */
};

struct xr_series {
	char *id;
	char *x_name, *x_unit, *y_name, *y_unit;
	double *x, *y;
	size_t n;
};

struct xr_description;

struct xr_description *xr_description_new(void);
void xr_description_free(struct xr_description *d);

/* Facts, in the order they were found. A second put of the same id replaces the first. NULL: no such fact. */
size_t xr_description_count(const struct xr_description *d);
const struct xr_fact *xr_description_at(const struct xr_description *d, size_t i);
const struct xr_fact *xr_description_fact(const struct xr_description *d, const char *id);
size_t xr_description_series_count(const struct xr_description *d);
const struct xr_series *xr_description_series_at(const struct xr_description *d, size_t i);
const struct xr_series *xr_description_series(const struct xr_description *d, const char *id);

/* Finding facts. Each returns the stored fact for xr_fact_* refinements. The value is taken over (stolen). */
struct xr_fact *xr_fact_put(struct xr_description *d, const char *id, json_t *value, const char *unit,
                            double confidence, const char *method);
struct xr_fact *xr_fact_number(struct xr_description *d, const char *id, double value, const char *unit,
                               double confidence, const char *method);
struct xr_fact *xr_fact_count(struct xr_description *d, const char *id, long long value, const char *unit,
                              double confidence, const char *method); /* a JSON integer */
struct xr_fact *xr_fact_bool(struct xr_description *d, const char *id, bool value, double confidence,
                             const char *method);
struct xr_fact *xr_fact_text(struct xr_description *d, const char *id, const char *value, double confidence,
                             const char *method);
struct xr_fact *xr_fact_none(struct xr_description *d, const char *id, enum xr_status status, const char *reason_format,
                             ...) __attribute__((format(printf, 4, 5)));

/* Refinements. */
void xr_fact_doubt(struct xr_fact *fact, const char *reason_format, ...) __attribute__((format(printf, 2, 3)));
	/* status becomes unreliable, confidence at most 0.5 */
void xr_fact_note(struct xr_fact *fact, const char *reason_format, ...) __attribute__((format(printf, 2, 3)));
	/* a caveat beside an ok value (reason) */
void xr_fact_add_series(struct xr_fact *fact, const char *series_id);

/* The same fact in another description, all of it. */
struct xr_fact *xr_fact_copy(struct xr_description *to, const struct xr_fact *fact);

/* Copies n points. */
void xr_series_put(struct xr_description *d, const char *id, const char *x_name, const char *x_unit, const double *x,
                   const char *y_name, const char *y_unit, const double *y, size_t n);

/* Numeric value of an ok fact, else `otherwise`. Bools count as 0 and 1. */
double xr_description_number(const struct xr_description *d, const char *id, double otherwise);

/* The "target" object of the JSON; owned by the description, filled in by the engine. */
json_t *xr_description_target(struct xr_description *d);
const json_t *xr_description_target_const(const struct xr_description *d);
const char *xr_description_target_text(const struct xr_description *d, const char *key); /* "" when it is no text */
double xr_description_target_number(const struct xr_description *d, const char *key); /* 0 when it is no number */

/* Facts put from now on belong to this micro-benchmark (a static text; NULL: to none). For the engine. */
void xr_description_set_micro(struct xr_description *d, const char *micro);
/* Facts that can still be changed, for the engine; NULL: no such fact. The claim is stolen. */
struct xr_fact *xr_description_edit(struct xr_description *d, const char *id);
void xr_fact_claim(struct xr_fact *fact, json_t *claimed);

/* Does `id` fall under selector `sel`? A selector is an id, or a prefix of whole dotted words ("cache",
 * "op.add"). The word `*` on either side stands for any one word, so that `id` may be a pattern of a
 * micro-benchmark's finds. Facts of other types of cores ("type.1.cache.l1d.ways") also fall under what the same
 * fact of the first type falls under. */
bool xr_id_matches(const char *id, const char *sel);
/* The same, and all words of both are used up: `sel` names this id alone. */
bool xr_id_is(const char *id, const char *sel);

/* JSON, schema 1. The order of facts is kept. */
json_t *xr_description_to_json(const struct xr_description *d);
struct xr_description *xr_description_from_json(const json_t *json, struct xr_error *err);
int xr_description_write(const struct xr_description *d, const char *path, struct xr_error *err); /* "-": stdout */
struct xr_description *xr_description_read(const char *path, struct xr_error *err);             /* "-": stdin */

#endif
