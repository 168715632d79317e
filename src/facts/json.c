/* SPDX-License-Identifier: MIT */
/* Descriptions as JSON, schema 1.
 *
 * What is read may come from anywhere: every member is checked for its type, ids for their characters, series for equal
 * lengths. Members nobody knows are ignored, so that a later version may add some.
 */
#include "facts/facts.h"

#include "util/memory.h"
#include "util/output.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA = 1, ID_MAX_CHARS = 120, FILE_MAX_BYTES = 256 << 20 };

/* ---- out ------------------------------------------------------------------------------------------------------- */

static void set_string(json_t *object, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(object, key, json_string(text));
}

static json_t *fact_to_json(const struct xr_fact *fact)
{
	json_t *json = json_object();
	json_object_set_new(json, "status", json_string(xr_status_names[fact->status]));
	if (fact->value)
		json_object_set(json, "value", fact->value);
	set_string(json, "unit", fact->unit);
	if (fact->value)
		json_object_set_new(json, "confidence", json_real(fact->confidence));
	set_string(json, "method", fact->method);
	set_string(json, "reason", fact->reason);
	if (fact->claimed)
		json_object_set(json, "claimed", fact->claimed);
	if (fact->n_series) {
		json_t *list = json_array();
		for (size_t i = 0; i < fact->n_series; i++)
			json_array_append_new(list, json_string(fact->series[i]));
		json_object_set_new(json, "series", list);
	}
	set_string(json, "micro", fact->micro);
	return json;
}

static json_t *axis_to_json(const char *name, const char *unit, const double *values, size_t n)
{
	json_t *json = json_object();
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, isfinite(values[i]) ? json_real(values[i]) : json_null());
	set_string(json, "name", name);
	set_string(json, "unit", unit);
	json_object_set_new(json, "values", list);
	return json;
}

static json_t *series_to_json(const struct xr_series *series)
{
	json_t *json = json_object();
	json_object_set_new(json, "x", axis_to_json(series->x_name, series->x_unit, series->x, series->n));
	json_object_set_new(json, "y", axis_to_json(series->y_name, series->y_unit, series->y, series->n));
	return json;
}

json_t *xr_description_to_json(const struct xr_description *d)
{
	json_t *facts = json_object(), *series = json_object(), *tool = json_object(), *json = json_object();
	for (size_t i = 0; i < xr_description_count(d); i++) {
		const struct xr_fact *fact = xr_description_at(d, i);
		json_object_set_new(facts, fact->id, fact_to_json(fact));
	}
	for (size_t i = 0; i < xr_description_series_count(d); i++) {
		const struct xr_series *one = xr_description_series_at(d, i);
		json_object_set_new(series, one->id, series_to_json(one));
	}
	json_object_set_new(tool, "name", json_string("xray"));
	json_object_set_new(tool, "version", json_string(XR_VERSION));
	json_object_set_new(json, "schema", json_integer(SCHEMA));
	json_object_set_new(json, "tool", tool);
	json_object_set_new(json, "target", json_deep_copy(xr_description_target_const(d)));
	json_object_set_new(json, "facts", facts);
	json_object_set_new(json, "series", series);
	return json;
}

/* One member a line: good to read, to grep and to compare. */
static void write_members(FILE *out, json_t *object)
{
	const char *key, *comma = "";
	json_t *value;
	fputc('{', out);
	json_object_foreach(object, key, value)
	{
		json_t *name = json_string(key);
		fprintf(out, "%s\n    ", comma);
		json_dumpf(name, out, JSON_ENCODE_ANY);
		fputs(": ", out);
		json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
		json_decref(name);
		comma = ",";
	}
	fputs(*comma ? "\n  }" : "}", out);
}

static void write_to(FILE *out, const struct xr_description *d)
{
	json_t *json = xr_description_to_json(d);
	const char *key, *comma = "";
	json_t *value;
	fputs("{", out);
	json_object_foreach(json, key, value)
	{
		fprintf(out, "%s\n  \"%s\": ", comma, key);
		if (!strcmp(key, "facts") || !strcmp(key, "series"))
			write_members(out, value);
		else
			json_dumpf(value, out, JSON_ENCODE_ANY | JSON_REAL_PRECISION(10));
		comma = ",";
	}
	fputs("\n}\n", out);
	json_decref(json);
}

static char *description_text(const struct xr_description *d)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		xr_out_of_memory();
	write_to(out, d);
	if (fclose(out))
		xr_out_of_memory();
	return text;
}

static int close_written(FILE *out, const char *path, struct xr_error *err)
{
	bool bad = ferror(out) != 0;
	int why = errno;
	if (out == stdout ? fflush(out) : fclose(out)) {
		bad = true;
		why = errno;
	}
	return bad ? xr_fail(err, XR_EXIT_USE, "cannot write %s: %s", path, strerror(why ? why : EIO)) : 0;
}

int xr_description_write(const struct xr_description *d, const char *path, struct xr_error *err)
{
	if (!d || !path)
		return xr_fail(err, XR_EXIT_USE, "nothing to write, or nowhere to write it");
	if (!strcmp(path, "-")) {
		write_to(stdout, d);
		return close_written(stdout, "standard output", err);
	}
	char *text = xr_description_text(d);
	if (!text)
		return xr_fail(err, XR_EXIT_TARGET, "cannot write %s: out of memory", path);
	int rc = xr_output_write(path, text, strlen(text), err);
	free(text);
	return rc;
}

/* ---- in -------------------------------------------------------------------------------------------------------- */

static bool good_id(const char *id)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.*+:/-");
	return n > 0 && n <= ID_MAX_CHARS && !id[n];
}

/* A text of any characters in a message: the first few that are safe to print. */
static const char *printable(const char *text, char buffer[48])
{
	size_t n = 0;
	for (; text[n] && n < 44; n++)
		buffer[n] = text[n] >= ' ' && text[n] < 127 ? text[n] : '?';
	strcpy(buffer + n, text[n] ? "..." : "");
	return buffer;
}

/* A text member; "" when absent. NULL: it is there and no text. */
static const char *text_member(const json_t *object, const char *key)
{
	const json_t *member = json_object_get(object, key);
	return member ? json_string_value(member) : "";
}

static int bad_member(struct xr_error *err, const char *id, const char *what)
{
	char safe[48];
	return xr_fail(err, XR_EXIT_USE, "fact %s: %s", printable(id, safe), what);
}

static int status_by_name(const char *name)
{
	for (int i = XR_OK; i <= XR_FAILED; i++)
		if (!strcmp(name, xr_status_names[i]))
			return i;
	return -1;
}

static int series_list(struct xr_fact *fact, const json_t *list, struct xr_error *err)
{
	size_t i;
	json_t *one;
	if (!list)
		return 0;
	if (!json_is_array(list))
		return bad_member(err, fact->id, "\"series\" must be a list of ids");
	json_array_foreach(list, i, one)
	{
		if (!json_is_string(one) || !good_id(json_string_value(one)))
			return bad_member(err, fact->id, "\"series\" must be a list of ids");
		xr_fact_add_series(fact, json_string_value(one));
	}
	return 0;
}

static int fact_from_json(struct xr_description *d, const char *id, const json_t *json, struct xr_error *err)
{
	if (!good_id(id))
		return bad_member(err, id, "not an id (letters, digits, dots, at most 120)");
	if (!json_is_object(json))
		return bad_member(err, id, "must be an object");
	const char *status_name = text_member(json, "status"), *unit = text_member(json, "unit");
	const char *method = text_member(json, "method"), *reason = text_member(json, "reason");
	const char *micro = text_member(json, "micro");
	int status = status_name ? status_by_name(status_name) : -1;
	if (status < 0)
		return bad_member(err, id, "\"status\" must be ok, unsupported, unreliable or failed");
	if (!unit || !method || !reason || !micro)
		return bad_member(err, id, "\"unit\", \"method\", \"reason\" and \"micro\" must be texts");
	json_t *value = json_object_get(json, "value"), *claimed = json_object_get(json, "claimed");
	const json_t *confidence = json_object_get(json, "confidence");
	double share = confidence ? json_number_value(confidence) : 0;
	if (confidence && !(json_is_number(confidence) && share >= 0 && share <= 1))
		return bad_member(err, id, "\"confidence\" must be a number from 0 to 1");
	if (status == XR_OK && (!value || json_is_null(value)))
		return bad_member(err, id, "is ok but has no \"value\"");

	struct xr_fact *fact = xr_fact_put(d, id, value ? json_deep_copy(value) : json_null(), unit, share, method);
	if (!value) {
		json_decref(fact->value);
		fact->value = NULL;
	}
	fact->status = (enum xr_status)status;
	if (*reason)
		xr_fact_note(fact, "%s", reason);
	if (claimed && !json_is_null(claimed))
		xr_fact_claim(fact, json_deep_copy(claimed));
	if (*micro) {
		free(fact->micro);
		fact->micro = xr_strdup(micro);
	}
	return series_list(fact, json_object_get(json, "series"), err);
}

static double *axis_values(const json_t *axis, size_t *n)
{
	const json_t *list = json_object_get(axis, "values");
	if (!json_is_array(list) || !text_member(axis, "name") || !text_member(axis, "unit"))
		return NULL;
	*n = json_array_size(list);
	double *values = xr_calloc(*n, sizeof *values);
	for (size_t i = 0; i < *n; i++) {
		const json_t *one = json_array_get(list, i);
		if (!json_is_number(one) && !json_is_null(one)) {
			free(values);
			return NULL;
		}
		values[i] = json_is_null(one) ? NAN : json_number_value(one);
	}
	return values;
}

static int series_from_json(struct xr_description *d, const char *id, const json_t *json, struct xr_error *err)
{
	const json_t *x_axis = json_object_get(json, "x"), *y_axis = json_object_get(json, "y");
	size_t nx = 0, ny = 0;
	char safe[48];
	double *x = axis_values(x_axis, &nx), *y = axis_values(y_axis, &ny);
	int rc = 0;
	if (!good_id(id) || !x || !y || nx != ny)
		rc = xr_fail(err, XR_EXIT_USE,
		             "series %s: must have \"x\" and \"y\" with equally many numbers in \"values\"",
		             printable(id, safe));
	else
		xr_series_put(d, id, text_member(x_axis, "name"), text_member(x_axis, "unit"), x,
		              text_member(y_axis, "name"), text_member(y_axis, "unit"), y, nx);
	free(x);
	free(y);
	return rc;
}

struct xr_description *xr_description_from_json(const json_t *json, struct xr_error *err)
{
	json_t *facts = json_object_get(json, "facts"), *series = json_object_get(json, "series");
	const json_t *schema = json_object_get(json, "schema");
	json_t *target = json_object_get(json, "target");
	const char *id;
	json_t *one;
	if (!json_is_object(json) || !json_is_integer(schema) || !json_is_object(facts)) {
		xr_fail(err, XR_EXIT_USE, "not a description of a machine: \"schema\" and \"facts\" are missing");
		return NULL;
	}
	if (json_integer_value(schema) != SCHEMA) {
		xr_fail(err, XR_EXIT_USE, "schema %lld is not known to this version (it reads schema %d)",
		        (long long)json_integer_value(schema), SCHEMA);
		return NULL;
	}
	struct xr_description *d = xr_description_new();
	int rc = 0;
	if (json_is_object(target)) {
		json_t *target_copy = json_deep_copy(target);
		json_object_update(xr_description_target(d), target_copy);
		json_decref(target_copy);
	}
	json_object_foreach(facts, id, one) if ((rc = fact_from_json(d, id, one, err))) goto out;
	if (series && !json_is_object(series)) {
		rc = xr_fail(err, XR_EXIT_USE, "\"series\" must be an object");
		goto out;
	}
	json_object_foreach(series, id, one) if ((rc = series_from_json(d, id, one, err))) goto out;
out:
	if (rc) {
		xr_description_free(d);
		return NULL;
	}
	return d;
}

static struct xr_description *parse_description(const char *text, size_t bytes, const char *name, struct xr_error *err)
{
	json_error_t why;
	struct xr_error inner = {0};
	json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
	if (!json) {
		char safe[48];
		xr_fail(err, XR_EXIT_USE, "%s:%d: not JSON: %s", name, why.line < 1 ? 1 : why.line,
		        printable(why.text, safe));
		return NULL;
	}
	struct xr_description *d = xr_description_from_json(json, &inner);
	if (!d)
		xr_fail(err, inner.code, "%s: %.900s", name, inner.text);
	json_decref(json);
	return d;
}

static char *slurp(FILE *in, size_t *bytes)
{
	size_t room = 1 << 16;
	char *text = xr_calloc(room, 1);
	*bytes = 0;
	for (;;) {
		*bytes += fread(text + *bytes, 1, room - *bytes, in);
		if (*bytes < room || room >= FILE_MAX_BYTES)
			return text;
		room *= 2;
		text = xr_realloc(text, room, 1);
	}
}

static struct xr_description *read_description(const char *path, struct xr_error *err)
{
	bool standard = !strcmp(path, "-");
	FILE *in = standard ? stdin : fopen(path, "r");
	struct xr_description *d = NULL;
	size_t bytes = 0;
	if (!in) {
		xr_fail(err, XR_EXIT_USE, "cannot read %s: %s", path, strerror(errno));
		return NULL;
	}
	errno = 0;
	char *text = slurp(in, &bytes);
	if (ferror(in))
		xr_fail(err, XR_EXIT_USE, "cannot read %s: %s", path, strerror(errno ? errno : EIO));
	else if (bytes >= FILE_MAX_BYTES)
		xr_fail(err, XR_EXIT_USE, "%s: larger than any description (%d MiB)", path, FILE_MAX_BYTES >> 20);
	else
		d = parse_description(text, bytes, standard ? "standard input" : path, err);
	free(text);
	if (!standard)
		fclose(in);
	return d;
}

/* ---- with a guard for memory ------------------------------------------------------------------------------------ */

struct xr_description *xr_description_read(const char *path, struct xr_error *err)
{
	struct xr_memory_guard guard;
	struct xr_description *volatile d = NULL;
	if (!path) {
		xr_fail(err, XR_EXIT_USE, "no file is named");
		return NULL;
	}
	if (setjmp(*xr_memory_guard(&guard)))
		xr_fail(err, XR_EXIT_USE, "cannot read %s: out of memory", path);
	else
		d = read_description(path, err);
	xr_memory_unguard(&guard);
	return d;
}

struct xr_description *xr_description_parse(const char *text, size_t bytes, const char *name, struct xr_error *err)
{
	struct xr_memory_guard guard;
	struct xr_description *volatile d = NULL;
	if (!text || !name) {
		xr_fail(err, XR_EXIT_USE, "nothing to read");
		return NULL;
	}
	if (setjmp(*xr_memory_guard(&guard)))
		xr_fail(err, XR_EXIT_USE, "cannot read %s: out of memory", name);
	else
		d = parse_description(text, bytes, name, err);
	xr_memory_unguard(&guard);
	return d;
}

char *xr_description_text(const struct xr_description *d)
{
	struct xr_memory_guard guard;
	char *volatile text = NULL;
	if (!d)
		return NULL;
	if (!setjmp(*xr_memory_guard(&guard)))
		text = description_text(d);
	xr_memory_unguard(&guard);
	return text;
}
