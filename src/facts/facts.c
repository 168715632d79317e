/* SPDX-License-Identifier: MIT */
#include "facts/facts.h"

#include "util/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const xr_status_names[] = {"ok", "unsupported", "unreliable", "failed"};

/* Facts and series are found by id through two JSON objects (hash tables from id to place), so that a description
 * read from a hostile file with a million facts still loads in linear time. */
struct xr_description {
	struct xr_fact **fact;
	size_t n_facts, facts_room;
	struct xr_series **series;
	size_t n_series, series_room;
	json_t *fact_index, *series_index, *target;
	const char *micro;
};

/* ---- small helpers ----------------------------------------------------------------------------------------------- */

static json_t *must(json_t *json)
{
	if (!json)
		xr_out_of_memory();
	return json;
}

static char *copy(const char *text)
{
	return xr_strdup(text ? text : "");
}

static void set_text(char **field, const char *text)
{
	char *old = *field;
	*field = text ? copy(text) : NULL;
	free(old);
}

static void set_format(char **field, const char *format, va_list ap)
{
	char *text;
	if (vasprintf(&text, format, ap) < 0)
		xr_out_of_memory();
	free(*field);
	*field = text;
}

static void *grow(void *array, size_t n, size_t *room, size_t size)
{
	if (n < *room)
		return array;
	*room = *room ? 2 * *room : 64;
	return xr_realloc(array, *room, size);
}

/* ---- life ---------------------------------------------------------------------------------------------------- */

struct xr_description *xr_description_new(void)
{
	struct xr_description *d = xr_calloc(1, sizeof *d);
	d->fact_index = must(json_object());
	d->series_index = must(json_object());
	d->target = must(json_object());
	return d;
}

static void clear_fact(struct xr_fact *fact)
{
	for (size_t i = 0; i < fact->n_series; i++)
		free(fact->series[i]);
	free(fact->series);
	free(fact->id);
	free(fact->unit);
	free(fact->method);
	free(fact->reason);
	free(fact->micro);
	json_decref(fact->value);
	json_decref(fact->claimed);
	memset(fact, 0, sizeof *fact);
}

static void clear_series(struct xr_series *series)
{
	free(series->id);
	free(series->x_name);
	free(series->x_unit);
	free(series->y_name);
	free(series->y_unit);
	free(series->x);
	free(series->y);
	memset(series, 0, sizeof *series);
}

void xr_description_free(struct xr_description *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->n_facts; i++) {
		clear_fact(d->fact[i]);
		free(d->fact[i]);
	}
	for (size_t i = 0; i < d->n_series; i++) {
		clear_series(d->series[i]);
		free(d->series[i]);
	}
	free(d->fact);
	free(d->series);
	json_decref(d->fact_index);
	json_decref(d->series_index);
	json_decref(d->target);
	free(d);
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

static long place_of(const json_t *index, const char *id)
{
	const json_t *place = json_object_get(index, id);
	return place ? (long)json_integer_value(place) : -1;
}

size_t xr_description_count(const struct xr_description *d)
{
	return d ? d->n_facts : 0;
}

const struct xr_fact *xr_description_at(const struct xr_description *d, size_t i)
{
	return d && i < d->n_facts ? d->fact[i] : NULL;
}

struct xr_fact *xr_description_edit(struct xr_description *d, const char *id)
{
	long place = place_of(d->fact_index, id);
	return place < 0 ? NULL : d->fact[place];
}

const struct xr_fact *xr_description_fact(const struct xr_description *d, const char *id)
{
	long place = d && id ? place_of(d->fact_index, id) : -1;
	return place < 0 ? NULL : d->fact[place];
}

size_t xr_description_series_count(const struct xr_description *d)
{
	return d ? d->n_series : 0;
}

const struct xr_series *xr_description_series_at(const struct xr_description *d, size_t i)
{
	return d && i < d->n_series ? d->series[i] : NULL;
}

const struct xr_series *xr_description_series(const struct xr_description *d, const char *id)
{
	long place = d && id ? place_of(d->series_index, id) : -1;
	return place < 0 ? NULL : d->series[place];
}

double xr_description_number(const struct xr_description *d, const char *id, double otherwise)
{
	const struct xr_fact *fact = d ? xr_description_fact(d, id) : NULL;
	return fact && fact->status == XR_OK ? xr_fact_value(fact, otherwise) : otherwise;
}

json_t *xr_description_target(struct xr_description *d)
{
	return d->target;
}

const json_t *xr_description_target_const(const struct xr_description *d)
{
	return d->target;
}

const char *xr_description_target_text(const struct xr_description *d, const char *key)
{
	const char *text = json_string_value(json_object_get(d->target, key));
	return text ? text : "";
}

double xr_description_target_number(const struct xr_description *d, const char *key)
{
	return json_number_value(json_object_get(d->target, key));
}

/* ---- one fact, as the installed header shows it ------------------------------------------------------------------ */

const char *xr_fact_id(const struct xr_fact *fact)
{
	return fact ? fact->id : "";
}

enum xr_status xr_fact_status(const struct xr_fact *fact)
{
	return fact ? fact->status : XR_FAILED;
}

double xr_fact_value(const struct xr_fact *fact, double otherwise)
{
	if (!fact)
		return otherwise;
	if (json_is_number(fact->value))
		return json_number_value(fact->value);
	if (json_is_boolean(fact->value))
		return json_is_true(fact->value) ? 1 : 0;
	return otherwise;
}

const char *xr_fact_string(const struct xr_fact *fact)
{
	return fact ? json_string_value(fact->value) : NULL;
}

const char *xr_fact_unit(const struct xr_fact *fact)
{
	return fact ? fact->unit : "";
}

double xr_fact_confidence(const struct xr_fact *fact)
{
	return fact ? fact->confidence : 0;
}

const char *xr_fact_reason(const struct xr_fact *fact)
{
	return fact && fact->reason ? fact->reason : "";
}

/* ---- finding facts ----------------------------------------------------------------------------------------------- */

/* The fact of this id, emptied when it was there already. */
static struct xr_fact *place_fact(struct xr_description *d, const char *id)
{
	struct xr_fact *fact = xr_description_edit(d, id);
	if (fact) {
		char *kept = copy(id); /* id may point into the fact itself */
		clear_fact(fact);
		fact->id = kept;
	} else {
		d->fact = grow(d->fact, d->n_facts, &d->facts_room, sizeof *d->fact);
		fact = xr_calloc(1, sizeof *fact);
		fact->id = copy(id);
		if (json_object_set_new(d->fact_index, id, json_integer((json_int_t)d->n_facts)))
			abort(); /* an id that is not UTF-8: ids are made by the program, and checked by the reader */
		d->fact[d->n_facts++] = fact;
	}
	fact->unit = copy("");
	fact->method = copy("");
	fact->micro = d->micro ? copy(d->micro) : NULL;
	return fact;
}

static double clamp_share(double share)
{
	return share > 0 ? (share < 1 ? share : 1) : 0; /* NaN: 0 */
}

struct xr_fact *xr_fact_put(struct xr_description *d, const char *id, json_t *value, const char *unit,
                            double confidence, const char *method)
{
	struct xr_fact *fact = place_fact(d, id);
	fact->status = value ? XR_OK : XR_FAILED;
	fact->value = value;
	set_text(&fact->unit, unit ? unit : "");
	set_text(&fact->method, method ? method : "");
	fact->confidence = value ? clamp_share(confidence) : 0;
	if (!value)
		set_text(&fact->reason, "the result is not a number"); /* json_real() of NaN or infinity */
	return fact;
}

struct xr_fact *xr_fact_number(struct xr_description *d, const char *id, double value, const char *unit,
                               double confidence, const char *method)
{
	/* there are no parts of a byte, and programs want to count with them */
	bool whole = unit && !strcmp(unit, "bytes") && fabs(value) < 9e15;
	return xr_fact_put(d, id, whole ? json_integer(llround(value)) : json_real(value), unit, confidence, method);
}

struct xr_fact *xr_fact_count(struct xr_description *d, const char *id, long long value, const char *unit,
                              double confidence, const char *method)
{
	return xr_fact_put(d, id, json_integer(value), unit, confidence, method);
}

struct xr_fact *xr_fact_bool(struct xr_description *d, const char *id, bool value, double confidence,
                             const char *method)
{
	return xr_fact_put(d, id, json_boolean(value), "", confidence, method);
}

struct xr_fact *xr_fact_text(struct xr_description *d, const char *id, const char *value, double confidence,
                             const char *method)
{
	return xr_fact_put(d, id, json_string(value), "", confidence, method);
}

struct xr_fact *xr_fact_none(struct xr_description *d, const char *id, enum xr_status status, const char *reason_format,
                             ...)
{
	struct xr_fact *fact = place_fact(d, id);
	va_list ap;
	fact->status = status;
	va_start(ap, reason_format);
	set_format(&fact->reason, reason_format, ap);
	va_end(ap);
	return fact;
}

void xr_fact_doubt(struct xr_fact *fact, const char *reason_format, ...)
{
	va_list ap;
	fact->status = XR_UNRELIABLE;
	if (fact->confidence > 0.5)
		fact->confidence = 0.5;
	va_start(ap, reason_format);
	set_format(&fact->reason, reason_format, ap);
	va_end(ap);
}

void xr_fact_note(struct xr_fact *fact, const char *reason_format, ...)
{
	va_list ap;
	va_start(ap, reason_format);
	set_format(&fact->reason, reason_format, ap);
	va_end(ap);
}

struct xr_fact *xr_fact_copy(struct xr_description *to, const struct xr_fact *fact)
{
	struct xr_fact *own = place_fact(to, fact->id);
	own->status = fact->status;
	own->value = fact->value ? json_deep_copy(fact->value) : NULL;
	own->claimed = fact->claimed ? json_deep_copy(fact->claimed) : NULL;
	own->confidence = fact->confidence;
	set_text(&own->unit, fact->unit);
	set_text(&own->method, fact->method);
	if (fact->reason)
		set_text(&own->reason, fact->reason);
	if (fact->micro)
		set_text(&own->micro, fact->micro);
	for (size_t i = 0; i < fact->n_series; i++)
		xr_fact_add_series(own, fact->series[i]);
	return own;
}

void xr_fact_add_series(struct xr_fact *fact, const char *series_id)
{
	fact->series = xr_realloc(fact->series, fact->n_series + 1, sizeof *fact->series);
	fact->series[fact->n_series++] = copy(series_id);
}

void xr_fact_claim(struct xr_fact *fact, json_t *claimed)
{
	json_decref(fact->claimed);
	fact->claimed = claimed;
}

void xr_description_set_micro(struct xr_description *d, const char *micro)
{
	d->micro = micro;
}

void xr_series_put(struct xr_description *d, const char *id, const char *x_name, const char *x_unit, const double *x,
                   const char *y_name, const char *y_unit, const double *y, size_t n)
{
	long place = place_of(d->series_index, id);
	struct xr_series made = {
		.id = copy(id),
		.x_name = copy(x_name),
		.x_unit = copy(x_unit),
		.y_name = copy(y_name),
		.y_unit = copy(y_unit),
		.x = xr_calloc(n, sizeof *x),
		.y = xr_calloc(n, sizeof *y),
		.n = n,
	};
	if (n) {
		memcpy(made.x, x, n * sizeof *x);
		memcpy(made.y, y, n * sizeof *y);
	}
	if (place < 0) {
		d->series = grow(d->series, d->n_series, &d->series_room, sizeof *d->series);
		if (json_object_set_new(d->series_index, id, json_integer((json_int_t)d->n_series)))
			xr_out_of_memory();
		place = (long)d->n_series;
		d->series[d->n_series++] = xr_calloc(1, sizeof made);
	} else {
		clear_series(d->series[place]);
	}
	*d->series[place] = made;
}

/* ---- selectors --------------------------------------------------------------------------------------------------- */

/* Steps over one word on both sides when they agree. */
static bool same_word(const char **id, const char **sel)
{
	size_t a = strcspn(*id, "."), b = strcspn(*sel, ".");
	bool wild = (a == 1 && **id == '*') || (b == 1 && **sel == '*');
	if (!a || !b || (!wild && (a != b || memcmp(*id, *sel, a))))
		return false;
	*id += a;
	*sel += b;
	return true;
}

static bool matches(const char *id, const char *sel, bool whole)
{
	for (;;) {
		if (!same_word(&id, &sel))
			return false;
		if (!*sel)
			return !whole || !*id;
		if (!*id)
			return false;
		id++;
		sel++;
	}
}

/* What follows "type.N." in the id of a fact of another type of cores; NULL: it is none. */
static const char *of_any_type(const char *id)
{
	const char *dot = strncmp(id, "type.", 5) ? NULL : strchr(id + 5, '.');
	return dot ? dot + 1 : NULL;
}

bool xr_id_matches(const char *id, const char *sel)
{
	return matches(id, sel, false) || (of_any_type(id) && matches(of_any_type(id), sel, false));
}

bool xr_id_is(const char *id, const char *sel)
{
	return matches(id, sel, true);
}
