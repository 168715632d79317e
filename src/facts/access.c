/* SPDX-License-Identifier: MIT */
/* What programs may look at: values by their kind, claims, methods, series. */
#include "facts/facts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL, where there is no fact. */
static const json_t *value_of(const struct xr_fact *fact)
{
	return fact ? fact->value : NULL;
}

enum xr_value_kind xr_fact_kind(const struct xr_fact *fact)
{
	const json_t *value = value_of(fact);
	if (json_is_number(value))
		return XR_VALUE_NUMBER;
	if (json_is_boolean(value))
		return XR_VALUE_BOOL;
	if (json_is_string(value))
		return XR_VALUE_TEXT;
	if (json_is_array(value))
		return XR_VALUE_LIST;
	if (json_is_array(json_object_get(value, "rows")))
		return XR_VALUE_MATRIX;
	return json_is_object(value) ? XR_VALUE_TREE : XR_VALUE_NONE;
}

const char *xr_fact_method(const struct xr_fact *fact)
{
	return fact && fact->method ? fact->method : "";
}

double xr_fact_claimed(const struct xr_fact *fact, double otherwise)
{
	const json_t *claimed = fact ? fact->claimed : NULL;
	if (json_is_boolean(claimed))
		return json_is_true(claimed);
	return json_is_number(claimed) ? json_number_value(claimed) : otherwise;
}

/* ---- lists ---- */

static const json_t *group_of(const struct xr_fact *fact, size_t group)
{
	const json_t *first = json_array_get(value_of(fact), 0);
	if (!json_is_array(first))
		return group == 0 && json_is_array(value_of(fact)) ? value_of(fact) : NULL;
	return json_array_get(value_of(fact), group);
}

size_t xr_fact_groups(const struct xr_fact *fact)
{
	if (!json_is_array(value_of(fact)) || !json_array_size(value_of(fact)))
		return 0;
	return json_is_array(json_array_get(value_of(fact), 0)) ? json_array_size(value_of(fact)) : 1;
}

size_t xr_fact_group_size(const struct xr_fact *fact, size_t group)
{
	return json_array_size(group_of(fact, group));
}

double xr_fact_group_number(const struct xr_fact *fact, size_t group, size_t i, double otherwise)
{
	const json_t *one = json_array_get(group_of(fact, group), i);
	return json_is_number(one) ? json_number_value(one) : otherwise;
}

const char *xr_fact_group_text(const struct xr_fact *fact, size_t group, size_t i)
{
	return json_string_value(json_array_get(group_of(fact, group), i));
}

/* ---- matrices ---- */

size_t xr_fact_matrix_size(const struct xr_fact *fact)
{
	return json_array_size(json_object_get(value_of(fact), "rows"));
}

int xr_fact_matrix_cpu(const struct xr_fact *fact, size_t i)
{
	const json_t *cpu = json_array_get(json_object_get(value_of(fact), "cpus"), i);
	return json_is_integer(cpu) ? (int)json_integer_value(cpu) : -1;
}

double xr_fact_matrix_at(const struct xr_fact *fact, size_t row, size_t column, double otherwise)
{
	const json_t *one = json_array_get(json_array_get(json_object_get(value_of(fact), "rows"), row), column);
	return json_is_number(one) ? json_number_value(one) : otherwise;
}

/* ---- series ---- */

size_t xr_fact_points(const struct xr_fact *fact)
{
	return fact ? fact->n_series : 0;
}

const char *xr_fact_points_id(const struct xr_fact *fact, size_t i)
{
	return fact && i < fact->n_series ? fact->series[i] : NULL;
}

static bool give(const struct xr_series *s, struct xr_points *points)
{
	if (!s || !points)
		return false;
	*points = (struct xr_points){s->id, s->x_name, s->x_unit, s->y_name, s->y_unit, s->x, s->y, s->n};
	return true;
}

bool xr_description_points(const struct xr_description *d, const char *id, struct xr_points *points)
{
	return give(xr_description_series(d, id), points);
}

bool xr_description_points_at(const struct xr_description *d, size_t i, struct xr_points *points)
{
	return i < xr_description_series_count(d) && give(xr_description_series_at(d, i), points);
}
